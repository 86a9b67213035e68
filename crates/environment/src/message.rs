//! Messages between a policy and a bridge <-> lines of JSON.
//!
//! Numbers of single precision are written as the decimal of the same double, so that they come
//! back with equal bits.

use exmc_fault::{Fault, planted};
use features::{CharacterState, Controller, FrameState, ItemState, PortState, View};
use replay::PORTS;
use serde_json::{Map, Value, json};

use crate::{EnvironmentError, Step};

/// Version of the protocol.
pub const PROTOCOL: u64 = 1;

/// What either side says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    Hello { protocol: u64, view: View },
    Reset { seed: u64 },
    Input { frame: i32, controller: Controller },
    Frame(Box<Step>),
    Error { message: String },
    Close,
}

impl Message {
    /// The line, without its end.
    pub(crate) fn to_line(&self) -> String {
        let value = match self {
            Self::Hello { protocol, view } => json!({
                "type": "hello", "protocol": protocol, "own": view.own_port + 1,
                "opponent": view.opponent + 1, "name": view.name,
            }),
            Self::Reset { seed } => json!({"type": "reset", "seed": seed}),
            Self::Input { frame, controller } => {
                json!({"type": "input", "frame": frame, "controller": controller_to(controller)})
            }
            Self::Frame(step) => frame_to(step),
            Self::Error { message } => json!({"type": "error", "message": message}),
            Self::Close => json!({"type": "close"}),
        };
        value.to_string()
    }

    /// The message of a line.
    pub(crate) fn parse(line: &str) -> Result<Self, EnvironmentError> {
        let value: Value = serde_json::from_str(line)
            .map_err(|e| EnvironmentError::new(format!("a line is no JSON: {e}: `{line}`")))?;
        let root = At { value: &value, path: "message".to_owned() };
        Ok(match root.text("type")? {
            "hello" => Self::Hello {
                protocol: root.integer("protocol")?,
                view: View {
                    own_port: root.port("own")?,
                    opponent: root.port("opponent")?,
                    name: root.integer("name").unwrap_or(0),
                },
            },
            "reset" => Self::Reset { seed: root.integer("seed")? },
            "input" => Self::Input {
                frame: root.integer("frame")?,
                controller: controller_of(&root.field("controller")?)?,
            },
            "frame" => Self::Frame(Box::new(frame_of(&root)?)),
            "error" => Self::Error { message: root.text("message")?.to_owned() },
            "close" => Self::Close,
            other => {
                let known = "hello, reset, input, frame, error or close";
                let message = format!("`type` is `{other}`; expected {known}");
                return Err(EnvironmentError::new(message));
            }
        })
    }
}

/// A value and where it stands in its message.
struct At<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> At<'a> {
    fn wrong(&self, name: &str, expected: &str) -> EnvironmentError {
        EnvironmentError::new(format!("{}.{name}: expected {expected}", self.path))
    }

    fn field(&self, name: &str) -> Result<At<'a>, EnvironmentError> {
        let value = self.value.get(name).ok_or_else(|| self.wrong(name, "a value"))?;
        Ok(At { value, path: format!("{}.{name}", self.path) })
    }

    fn text(&self, name: &str) -> Result<&'a str, EnvironmentError> {
        let text = self.value.get(name).and_then(Value::as_str);
        text.ok_or_else(|| self.wrong(name, "a text"))
    }

    fn integer<T: TryFrom<i128>>(&self, name: &str) -> Result<T, EnvironmentError> {
        let value = self.value.get(name);
        let number = value.and_then(|v| v.as_i64().map(i128::from).or(v.as_u64().map(i128::from)));
        let number = number.and_then(|n| T::try_from(n).ok());
        number.ok_or_else(|| self.wrong(name, "an integer within its range"))
    }

    fn port(&self, name: &str) -> Result<usize, EnvironmentError> {
        let port: usize = self.integer(name)?;
        if (1..=PORTS).contains(&port) { Ok(port - 1) } else { Err(self.wrong(name, "1 to 4")) }
    }

    fn number(&self, name: &str) -> Result<f32, EnvironmentError> {
        let number = self.value.get(name).and_then(Value::as_f64).map(|n| n as f32);
        number.filter(|n| n.is_finite()).ok_or_else(|| self.wrong(name, "a finite number"))
    }

    fn items(&self, name: &str) -> Result<Vec<At<'a>>, EnvironmentError> {
        let items = self.value.get(name).and_then(Value::as_array);
        let items = items.ok_or_else(|| self.wrong(name, "an array"))?;
        let item_at = |(k, value)| At { value, path: format!("{}.{name}[{k}]", self.path) };
        Ok(items.iter().enumerate().map(item_at).collect())
    }
}

fn controller_to(c: &Controller) -> Value {
    json!({
        "buttons": c.buttons, "stick_x": f64::from(c.stick_x), "stick_y": f64::from(c.stick_y),
        "c_stick_x": f64::from(c.c_stick_x), "c_stick_y": f64::from(c.c_stick_y),
        "trigger": f64::from(c.trigger),
    })
}

fn controller_of(object: &At<'_>) -> Result<Controller, EnvironmentError> {
    Ok(Controller {
        buttons: object.integer("buttons")?,
        stick_x: object.number("stick_x")?,
        stick_y: object.number("stick_y")?,
        c_stick_x: object.number("c_stick_x")?,
        c_stick_y: object.number("c_stick_y")?,
        trigger: object.number("trigger")?,
    })
}

/// Fields of a record by their names, both ways: integers and numbers apart.
macro_rules! record {
    ($ty:ident, $to:ident, $of:ident, integers: $($integer:ident)*, numbers: $($number:ident)*) => {
        fn $to(record: &$ty) -> Value {
            let mut map = Map::new();
            $(map.insert(stringify!($integer).to_owned(), json!(record.$integer));)*
            $(map.insert(stringify!($number).to_owned(), json!(f64::from(record.$number)));)*
            Value::Object(map)
        }

        fn $of(object: &At<'_>) -> Result<$ty, EnvironmentError> {
            Ok($ty {
                $($integer: object.integer(stringify!($integer))?,)*
                $($number: object.number(stringify!($number))?,)*
            })
        }
    };
}

record! {
    CharacterState, character_to, character_of,
    integers: character action stocks state_bits_4 airborne jumps hurtbox,
    numbers: x y facing percent shield action_age action_number speed_x_air speed_y knockback_x
        knockback_y speed_x_ground hitlag
}

record! {
    ItemState, item_to, item_of,
    integers: kind owner,
    numbers: x y speed_x speed_y
}

fn frame_to(step: &Step) -> Value {
    let state = &step.state;
    let ports = state.ports.iter().enumerate().filter_map(|(number, port)| {
        let port = port.as_ref()?;
        let mut value = json!({
            "port": number + 1, "controller": controller_to(&port.controller),
            "leader": character_to(&port.leader),
        });
        if let Some(follower) = &port.follower {
            value["follower"] = character_to(follower);
        }
        Some(value)
    });
    json!({
        "type": "frame", "frame": state.frame, "stage": state.stage,
        "ports": ports.collect::<Vec<_>>(),
        "items": state.items.iter().map(item_to).collect::<Vec<_>>(),
        "reward": step.reward, "done": step.is_done,
    })
}

fn frame_of(object: &At<'_>) -> Result<Step, EnvironmentError> {
    let mut state = FrameState {
        frame: object.integer("frame")?,
        stage: object.integer("stage")?,
        ..FrameState::default()
    };
    for port in object.items("ports")? {
        let follower = match port.field("follower") {
            Ok(follower) => Some(character_of(&follower)?),
            Err(_) => None,
        };
        let seen = PortState {
            controller: controller_of(&port.field("controller")?)?,
            leader: character_of(&port.field("leader")?)?,
            follower,
        };
        let number = port.port("port")?;
        if state.ports[number].replace(seen).is_some() {
            return Err(port.wrong("port", "each port once"));
        }
    }
    if planted(Fault::LiveSidesSwapped) {
        state.ports.swap(0, 1);
    }
    state.items = object.items("items")?.iter().map(item_of).collect::<Result<_, _>>()?;
    let reward = object.value.get("reward").map_or(Some(0.0), Value::as_f64);
    let is_done = object.value.get("done").map_or(Some(false), Value::as_bool);
    Ok(Step {
        state,
        reward: reward.ok_or_else(|| object.wrong("reward", "a number"))?,
        is_done: is_done.ok_or_else(|| object.wrong("done", "true or false"))?,
    })
}
