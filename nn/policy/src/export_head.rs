//! A policy and replays -> what one component's last layer sees, as data of a Stan program; and
//! weights that were sampled for it -> the policy with that layer.
//!
//! Component $c$'s logits are $\operatorname{relu}(\rho)\,O_c + o_c$. The data hold
//! $\operatorname{relu}(\rho)$ of each frame as `x` (`N` rows of `K`) and the true class as `y`: 0
//! or 1 of a button, for `bernoulli_logit_glm`; from 1 on of an axis or the trigger, for
//! `categorical_logit_glm`.

use std::collections::BTreeMap;

use features::{COMPONENTS, Controller, Discretiser, FrameState};
use plain::policy::{Checkpoint, Live, Tensor};
use replay::Game;
use serde_json::{Value, json};

use crate::data::{parse_players, read_replay};
use crate::error::Error;
use crate::loss::BUTTONS;

/// The number of a component by its name.
///
/// # Errors
/// A name that does not exist, with those that do.
pub fn component_of(name: &str) -> Result<usize, Error> {
    COMPONENTS.iter().position(|component| *component == name).ok_or_else(|| {
        let known = COMPONENTS.join(", ");
        Error::usage(format!("there is no component `{name}` (there are {known})"))
    })
}

/// The data of a component's last layer, from every `every`-th frame of replays.
///
/// # Errors
/// No frame at all, or a replay that cannot be read.
pub fn export_head(
    checkpoint: &Checkpoint,
    names: &[String],
    players: &str,
    component: usize,
    every: usize,
) -> Result<Value, Error> {
    let contract = checkpoint.contract();
    let (schema, delay) = (contract.features()?, contract.delay);
    let discretiser = Discretiser::from(contract.classes);
    let players = parse_players(players)?;
    let mut live = Live::<f32>::new(checkpoint)?;
    let mut numbers = vec![0.0; schema.width()];
    let (mut x, mut y): (Vec<Vec<f64>>, Vec<u8>) = (Vec::new(), Vec::new());
    for name in names {
        let bytes = read_replay(name).map_err(|why| Error::data(format!("`{name}`: {why}")))?;
        let game = Game::read(&bytes).map_err(|e| Error::data(format!("`{name}`: {e}")))?;
        let first = usize::try_from(-i64::from(game.first_frame)).unwrap_or(0);
        for view in features::views(&game, players) {
            let Some(port) = &game.ports[view.own_port] else { continue };
            live.reset();
            for row in first..game.len().saturating_sub(delay) {
                let state = FrameState::of(&game, row);
                schema.compute(&[state], view, &mut numbers)?;
                let target = discretiser.action(&Controller::of(&port.leader, row + delay));
                live.step(&numbers, |c, _| target.0[c])?;
                if (row - first) % every.max(1) == 0 {
                    x.push(seen(checkpoint, live.trunk(), &target.0[..component]));
                    y.push(target.0[component] + u8::from(component >= BUTTONS));
                }
            }
        }
    }
    if y.is_empty() {
        return Err(Error::data("no frame of the replays has a target").hint("see `--players`"));
    }
    let columns = x[0].len();
    Ok(json!({"N": y.len(), "K": columns, "x": x, "y": y}))
}

/// $\operatorname{relu}(\rho)$ behind the classes of the components before.
fn seen(checkpoint: &Checkpoint, trunk: &[f32], before: &[u8]) -> Vec<f64> {
    let weight = checkpoint.values("heads.input.weight");
    let bias = checkpoint.values("heads.input.bias");
    let width = bias.len();
    let mut residual: Vec<f64> = bias.iter().map(|b| f64::from(*b)).collect();
    for (row, h) in weight.chunks(width).zip(trunk) {
        residual.iter_mut().zip(row).for_each(|(r, w)| *r += f64::from(*w) * f64::from(*h));
    }
    for (component, class) in before.iter().enumerate() {
        // Independent heads have no such tensor.
        let rows = checkpoint.values(&format!("heads.embedding.{component}"));
        let row = rows.chunks(width).nth(usize::from(*class)).unwrap_or(&[]);
        residual.iter_mut().zip(row).for_each(|(r, e)| *r += f64::from(*e));
    }
    residual.iter().map(|r| r.max(0.0)).collect()
}

/// The policy with the last layer of a button from `alpha` and `beta`, such as their posterior
/// means: the logit of pressing is `alpha + x * beta`.
///
/// # Errors
/// A component that is no button, values that are missing, or another number of them.
pub fn with_head(
    checkpoint: &Checkpoint,
    component: usize,
    values: &Value,
) -> Result<Checkpoint, Error> {
    if component >= BUTTONS {
        return Err(Error::usage("only heads of buttons can be replaced"));
    }
    let residual = checkpoint.values("heads.input.bias").len();
    let alpha = values.get("alpha").and_then(Value::as_f64);
    let alpha = alpha.ok_or_else(|| Error::data("`alpha`: expected a number"))?;
    let beta = values.get("beta").and_then(Value::as_array);
    let beta: Option<Vec<f64>> = beta.and_then(|b| b.iter().map(Value::as_f64).collect());
    let beta = beta
        .filter(|beta| beta.len() == residual)
        .ok_or_else(|| Error::data(format!("`beta`: expected an array of {residual} numbers")))?;
    let mut tensors: BTreeMap<String, Tensor> =
        checkpoint.tensors().map(|(name, tensor)| (name.to_owned(), tensor.clone())).collect();
    let mut put = |name: &str, values: Vec<f32>| {
        if let Some(tensor) = tensors.get_mut(&format!("heads.output.{component}.{name}")) {
            tensor.values = values;
        }
    };
    put("weight", beta.iter().flat_map(|b| [0.0, *b as f32]).collect());
    put("bias", vec![0.0, alpha as f32]);
    Ok(Checkpoint::new(checkpoint.contract().clone(), tensors)?)
}
