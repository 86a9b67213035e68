//! Lists of features: their text, and what they compute against the formulas written once more.

use features::{
    CharacterState, Controller, FrameState, ItemState, PortState, Quantity, Schema, View,
    action_category,
};

const VIEW: View = View { own_port: 1, opponent: 0, name: 3 };

/// Numbers that look random in [-1, 1) (an xorshift generator).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn byte(&mut self, end: u8) -> u8 {
        ((self.next() + 1.0) / 2.0 * f32::from(end)) as u8
    }

    fn character(&mut self) -> CharacterState {
        CharacterState {
            character: self.byte(40),
            action: u16::from(self.byte(250)) * 2,
            x: self.next() * 250.0,
            y: self.next() * 250.0,
            facing: if self.next() < 0.0 { -1.0 } else { 1.0 },
            percent: self.next() * 600.0,
            shield: self.next() * 60.0,
            stocks: self.byte(6),
            action_age: self.next() * 150.0,
            state_bits_4: self.byte(255),
            action_number: self.next() * 150.0,
            airborne: self.byte(2),
            jumps: self.byte(8),
            hurtbox: self.byte(3),
            speed_x_air: self.next() * 30.0,
            speed_y: self.next() * 3.0,
            knockback_x: self.next() * 3.0,
            knockback_y: self.next() * 3.0,
            speed_x_ground: self.next() * 3.0,
            hitlag: self.next() * 30.0,
        }
    }

    fn port(&mut self) -> PortState {
        PortState {
            controller: Controller {
                buttons: (self.next() * 40_000.0) as i32 as u16,
                stick_x: self.next(),
                stick_y: self.next(),
                c_stick_x: self.next(),
                c_stick_y: self.next(),
                trigger: self.next().abs(),
            },
            leader: self.character(),
            follower: (self.next() < 0.0).then(|| self.character()),
        }
    }

    fn state(&mut self) -> FrameState {
        let mut state = FrameState {
            frame: (self.next() * 40_000.0) as i32,
            stage: u16::from(self.byte(35)),
            ..FrameState::default()
        };
        state.ports[0] = Some(self.port());
        state.ports[1] = (self.next() < 0.8).then(|| self.port());
        for _ in 0..self.byte(8) {
            state.items.push(ItemState {
                kind: u16::from(self.byte(200)),
                owner: self.byte(4).cast_signed() - 1,
                x: self.next() * 300.0,
                y: self.next() * 300.0,
                speed_x: self.next() * 30.0,
                speed_y: self.next() * 30.0,
            });
        }
        state
    }
}

fn compute(schema: &Schema, state: &FrameState) -> Vec<f32> {
    let mut out = vec![f32::NAN; schema.width()];
    schema.compute(std::slice::from_ref(state), VIEW, &mut out).expect("the widths agree");
    out
}

/// The full layout as the requirements list it, written apart from the schema.
fn full_by_hand(state: &FrameState) -> Vec<f32> {
    let mut out: Vec<f32> = Vec::new();
    let is = |is: bool| if is { 1.0 } else { 0.0 };
    let side = |facing: f32| {
        if facing > 0.0 {
            1.0
        } else if facing < 0.0 {
            -1.0
        } else {
            0.0
        }
    };
    let ten = |x: f32| x.clamp(-10.0, 10.0);
    let hitstun = |c: &CharacterState| if c.state_bits_4 & 2 > 0 { c.action_number } else { 0.0 };
    for port in [1, 0] {
        let Some(PortState { leader: c, follower, .. }) = &state.ports[port] else {
            out.extend([0.0; 56]);
            continue;
        };
        out.extend([
            (c.percent * 0.01).clamp(0.0, 5.0),
            side(c.facing),
            ten(c.x * 0.05),
            ten(c.y * 0.05),
            is(c.hurtbox > 0),
            (f32::from(c.jumps) * (1.0 / 6.0)).min(1.0),
            (c.shield * 0.01).clamp(0.0, 1.0),
            is(c.airborne == 0),
        ]);
        let speeds = [c.speed_x_air, c.speed_x_ground, c.speed_y, c.knockback_x, c.knockback_y];
        out.extend(speeds.map(|v| ten(v * 0.5)));
        out.push((hitstun(c) * (1.0 / 120.0)).clamp(0.0, 1.0));
        out.push((c.action_age * (1.0 / 60.0)).clamp(0.0, 2.0));
        out.push((f32::from(c.stocks) / 4.0).min(1.0));
        out.push((85.0 - c.x.abs()) / 85.0);
        let Some(f) = follower else {
            out.extend([0.0; 39]);
            continue;
        };
        let kind = action_category(f.action);
        out.extend([
            1.0,
            ten(f.x * 0.05),
            ten(f.y * 0.05),
            side(f.facing),
            is(f.airborne == 0),
            (f.percent * 0.01).clamp(0.0, 5.0),
            (f32::from(f.stocks) / 4.0).min(1.0),
            (hitstun(f) * (1.0 / 120.0)).clamp(0.0, 1.0),
            (f.action_age * (1.0 / 60.0)).clamp(0.0, 2.0),
            is(f.hurtbox > 0),
        ]);
        out.extend((0..25).map(|k| is(k == kind)));
        out.extend([
            is((10..17).contains(&kind)),
            is(kind == 17 || kind == 18),
            is([2, 3, 4, 6, 7, 9].contains(&kind)),
            is(kind == action_category(c.action)),
        ]);
    }
    let stage = [2, 3, 8, 28, 31, 32].iter().position(|s| *s == state.stage).unwrap_or(6);
    out.extend((0..7).map(|k| is(k == stage)));
    let inputs = state.ports[1].map(|p| p.controller).unwrap_or_default();
    let pressed = [0x100, 0x200, 0x400, 0x800, 0x10, 0x40, 0x20, 0x8];
    out.extend(pressed.map(|bit| is(inputs.buttons & bit > 0)));
    out.extend([inputs.stick_x, inputs.stick_y, inputs.c_stick_x, inputs.c_stick_y]);
    out.push(inputs.trigger);
    out.extend((0..112).map(|k| is(k == 3)));
    let (dx, dy) = match (&state.ports[1], &state.ports[0]) {
        (Some(player), Some(other)) => {
            (other.leader.x - player.leader.x, other.leader.y - player.leader.y)
        }
        _ => (0.0, 0.0),
    };
    out.push(((dx * dx + dy * dy).sqrt() * (1.0 / 200.0)).min(1.5));
    out.push(dx * (1.0 / 200.0));
    out.push(dy * (1.0 / 100.0));
    out.push((state.frame as f32 * (1.0 / 28_800.0)).clamp(0.0, 1.0));
    for k in 0..5 {
        let Some(item) = state.items.get(k) else {
            out.extend([0.0; 7]);
            continue;
        };
        let owner = if item.owner < 0 {
            0.0
        } else if item.owner == 1 {
            0.5
        } else {
            1.0
        };
        out.extend([1.0, owner]);
        out.extend([item.x * 0.05, item.y * 0.05, f32::from(item.kind) * 0.01].map(ten));
        out.extend([item.speed_x * 0.5, item.speed_y * 0.5].map(ten));
    }
    let leader = |port: usize| state.ports[port].map(|p| p.leader).unwrap_or_default();
    out.extend([1, 0].map(|port| f32::from(leader(port).action.min(398))));
    out.extend([1, 0].map(|port| f32::from(leader(port).character.min(32))));
    out.push(0.0);
    out
}

#[test]
fn the_full_layout_is_the_list_of_the_requirements() {
    let schema = Schema::full();
    assert_eq!(schema.width(), 288);
    let random = &mut Random(88_172_645_463_325_252);
    let states: Vec<FrameState> = (0..500).map(|_| random.state()).collect();
    // Many frames at once are the frames one by one.
    let mut together = vec![0.0; 500 * 288];
    schema.compute(&states, VIEW, &mut together).expect("the widths agree");
    let one_by_one: Vec<f32> = states.iter().flat_map(|state| compute(&schema, state)).collect();
    assert_eq!(together, one_by_one);
    for state in states {
        let (ours, by_hand) = (compute(&schema, &state), full_by_hand(&state));
        assert_eq!(by_hand.len(), 288);
        for (column, (a, b)) in ours.iter().zip(&by_hand).enumerate() {
            assert_eq!(a.to_bits(), (b + 0.0).to_bits(), "column {column}: {a} and {b}");
        }
    }
}

#[test]
fn left_is_not_right() {
    for schema in [Schema::full(), Schema::egocentric()] {
        let mut states = [Random(7).state(), Random(7).state(), Random(7).state()];
        for (state, facing) in states.iter_mut().zip([-1.0, 1.0, 0.0]) {
            let port = state.ports[0].as_mut().expect("there is a player");
            port.leader.facing = facing;
        }
        let [left, right, none] = states.map(|state| compute(&schema, &state));
        let different: Vec<_> = (0..left.len()).filter(|k| left[*k] != right[*k]).collect();
        let [column] = different[..] else { panic!("{different:?} differ") };
        assert_eq!((left[column], right[column], none[column]), (-1.0, 1.0, 0.0));
    }
}

#[test]
fn a_schema_is_its_text() {
    let (full, compact) = (Schema::full(), Schema::egocentric());
    for schema in [&full, &compact] {
        assert_eq!(Schema::parse(&schema.text()).as_ref(), Ok(schema));
        for field in schema.fields() {
            assert_eq!(Quantity::parse(&field.quantity.to_string()), Some(field.quantity));
        }
    }
    assert!(compact.text().starts_with("own.x * 0.05 in [-10, 10]\n"), "{}", compact.text());
    assert_eq!(compact.width(), 44 + 4);
    assert_eq!(compact.tables().collect::<Vec<_>>(), [(44, 399), (45, 399), (46, 33), (47, 33)]);
    assert_eq!(full.tables().map(|(column, _)| column).collect::<Vec<_>>(), [283, 284, 285, 286]);
    assert_ne!(full.hash(), compact.hash());

    // Every number counts: another scale, bound or order is another schema.
    let text = compact.text();
    for (from, to) in [("0.05", "0.06"), ("10]", "9]"), ("own.x", "own.y")] {
        let other = Schema::parse(&text.replacen(from, to, 1)).expect("a schema");
        assert_ne!(other.hash(), compact.hash(), "{from}");
    }
}

/// A hash in a checkpoint must mean the same in every build: these were computed by a program of
/// its own (FNV-1a, then SplitMix64's finish) from the text.
#[test]
fn hashes_are_the_same_in_every_build() {
    let by_hand = |text: &str| {
        let mut hash: u64 = 14_695_981_039_346_656_037;
        for byte in text.as_bytes() {
            hash ^= u64::from(*byte);
            hash = hash.wrapping_mul(1_099_511_628_211);
        }
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ hash >> 31
    };
    for schema in [Schema::full(), Schema::egocentric()] {
        assert_eq!(schema.hash(), by_hand(&schema.text()));
    }
}

#[test]
fn wrong_texts_and_wrong_widths_are_refused() {
    for (text, line) in [
        ("own.x * 1 in [0, 1]\nown.z * 1 in [0, 1]", "line 2 of the schema is `own.z"),
        ("own.x * 1 in [1, 0]", "line 1"),
        ("own.x * NaN in [0, 1]", "line 1"),
        ("own.x", "line 1"),
        ("item.x.y * 1 in [0, 1]", "line 1"),
    ] {
        let error = Schema::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(line), "{error}");
    }
    let error = Schema::full().compute(&[FrameState::default()], VIEW, &mut [0.0; 287]);
    assert_eq!(
        error.expect_err("a place is missing").to_string(),
        "287 places for 288 features of each of 1 frames"
    );
}

#[test]
fn all_features_are_finite() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        let mut state = Random(3).state();
        for port in state.ports.iter_mut().flatten() {
            for character in [Some(&mut port.leader), port.follower.as_mut()].into_iter().flatten()
            {
                (character.x, character.percent, character.facing) = (value, value, value);
                (character.speed_y, character.action_number) = (value, value);
            }
            port.controller.stick_x = value;
        }
        for schema in [Schema::full(), Schema::egocentric()] {
            assert!(compute(&schema, &state).iter().all(|x| x.is_finite()), "{value}");
        }
    }
    // A frame without players, and one whose view is of no port.
    let schema = Schema::egocentric();
    assert!(compute(&schema, &FrameState::default()).iter().all(|x| *x == 0.0));
}
