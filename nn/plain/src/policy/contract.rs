//! What a policy was trained as <-> JSON: everything that play has to agree with.

use std::ops::RangeInclusive;

use features::{Discretiser, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::CheckpointError;

/// The version of the contract and of the formulas in `docs/policy.md`.
pub const FORMAT: u32 = 1;

/// What a checkpoint promises. Two that differ in anything but `step` and `build` do not fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// [`FORMAT`].
    pub format: u32,
    /// The network.
    pub architecture: Architecture,
    /// The features, [`Schema::text`].
    pub schema: String,
    /// [`schema_hash`] of the features.
    pub schema_hash: String,
    /// Classes of axes and of the trigger.
    pub classes: Classes,
    /// Frames from the observed frame to the one whose inputs are predicted.
    pub delay: usize,
    /// Steps of training.
    pub step: u64,
    /// The build that wrote it, see [`build_id`].
    pub build: String,
}

/// The network's sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Numbers for each row of a table, such as a number of an action.
    pub embedding: usize,
    /// The part that sees the frames.
    pub backbone: Backbone,
    /// The part that gives the logits.
    pub heads: Heads,
}

/// The part that sees the frames. `hidden` is the width of what the heads see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the sizes are those of the formulas in `docs/policy.md`")]
pub enum Backbone {
    /// Layers of rectified units that see one frame.
    Mlp { hidden: usize, layers: usize },
    /// Gated recurrent units.
    Gru { hidden: usize, layers: usize },
    /// Long short-term memory.
    Lstm { hidden: usize, layers: usize },
    /// Attention of `heads` heads to the last `window` frames, and rectified units.
    Attention { hidden: usize, layers: usize, heads: usize, window: usize, feed_forward: usize },
    /// Selective scans of `expand * hidden` channels with `state` numbers each, behind a
    /// convolution over `convolution` frames; step sizes come from `rank` numbers.
    SelectiveScan {
        hidden: usize,
        layers: usize,
        state: usize,
        expand: usize,
        convolution: usize,
        rank: usize,
    },
}

impl Backbone {
    /// Width of what the heads see.
    #[must_use]
    pub fn hidden(&self) -> usize {
        match self {
            Self::Mlp { hidden, .. }
            | Self::Gru { hidden, .. }
            | Self::Lstm { hidden, .. }
            | Self::Attention { hidden, .. }
            | Self::SelectiveScan { hidden, .. } => *hidden,
        }
    }

    /// Number of layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        match self {
            Self::Mlp { layers, .. }
            | Self::Gru { layers, .. }
            | Self::Lstm { layers, .. }
            | Self::Attention { layers, .. }
            | Self::SelectiveScan { layers, .. } => *layers,
        }
    }
}

/// The part that gives the logits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heads {
    /// Whether components see those before them.
    pub kind: HeadKind,
    /// Width of the residual that they share.
    pub residual: usize,
}

/// Whether components see those before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// Each component sees the classes of those before it.
    Autoregressive,
    /// No component sees another.
    Independent,
}

/// Classes of axes and of the trigger, as in [`Discretiser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classes {
    /// Of each axis.
    pub axis: u16,
    /// Of the trigger.
    pub trigger: u16,
}

impl From<Discretiser> for Classes {
    fn from(discretiser: Discretiser) -> Self {
        Self { axis: discretiser.axis, trigger: discretiser.trigger }
    }
}

impl From<Classes> for Discretiser {
    fn from(classes: Classes) -> Self {
        Self { axis: classes.axis, trigger: classes.trigger }
    }
}

/// [`Schema::hash`] as 16 hexadecimal digits: JSON's numbers do not hold 64 bits everywhere.
#[must_use]
pub fn schema_hash(schema: &Schema) -> String {
    format!("{:016x}", schema.hash())
}

/// Which build this is: version, profile, and the commit that the build script read from the
/// repository's files, or that the environment variable `EXMC_COMMIT` gave it.
#[must_use]
pub fn build_id() -> String {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let commit = option_env!("EXMC_COMMIT").unwrap_or("unknown");
    format!("{} {profile} {commit}", env!("CARGO_PKG_VERSION"))
}

impl Contract {
    /// A contract of this build for features, sizes and a delay, before any step of training.
    #[must_use]
    pub fn new(
        architecture: Architecture,
        schema: &Schema,
        discretiser: Discretiser,
        delay: usize,
    ) -> Self {
        Self {
            format: FORMAT,
            architecture,
            schema: schema.text(),
            schema_hash: schema_hash(schema),
            classes: discretiser.into(),
            delay,
            step: 0,
            build: build_id(),
        }
    }

    /// The features.
    ///
    /// # Errors
    /// A text that is no schema, by the field `schema`.
    pub fn features(&self) -> Result<Schema, CheckpointError> {
        Schema::parse(&self.schema)
            .map_err(|e| CheckpointError::mismatch("schema", e, "the text of a schema"))
    }

    /// Classes of each component.
    #[must_use]
    pub fn components(&self) -> [usize; 13] {
        Discretiser::from(self.classes).classes()
    }

    /// Checks that sizes are within bounds, that fields agree with each other, and that this build
    /// computes features and networks as the contract says.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(&self) -> Result<(), CheckpointError> {
        if self.format != FORMAT {
            return Err(CheckpointError::mismatch("format", self.format, FORMAT));
        }
        let Architecture { embedding, backbone, heads } = &self.architecture;
        within("architecture.embedding", *embedding, 1..=1024)?;
        let size = |name: &str, value: usize, range: RangeInclusive<usize>| {
            within(&format!("architecture.backbone.{name}"), value, range)
        };
        size("hidden", backbone.hidden(), 1..=4096)?;
        size("layers", backbone.layers(), 1..=64)?;
        match *backbone {
            Backbone::Mlp { .. } | Backbone::Gru { .. } | Backbone::Lstm { .. } => {}
            Backbone::Attention { hidden, heads, window, feed_forward, .. } => {
                size("heads", heads, 1..=hidden)?;
                if hidden % heads != 0 {
                    return Err(CheckpointError::mismatch(
                        "architecture.backbone.heads",
                        heads,
                        format!("a divisor of `hidden`, which is {hidden}"),
                    ));
                }
                size("window", window, 1..=4096)?;
                size("feed_forward", feed_forward, 1..=16_384)?;
            }
            Backbone::SelectiveScan { state, expand, convolution, rank, .. } => {
                size("state", state, 1..=256)?;
                size("expand", expand, 1..=8)?;
                size("convolution", convolution, 1..=64)?;
                size("rank", rank, 1..=4096)?;
            }
        }
        within("architecture.heads.residual", heads.residual, 1..=4096)?;
        within("classes.axis", self.classes.axis.into(), 2..=256)?;
        within("classes.trigger", self.classes.trigger.into(), 2..=256)?;
        within("delay", self.delay, 1..=120)?;
        let schema = self.features()?;
        within("the schema's width", schema.width(), 1..=65_536)?;
        let expected = schema_hash(&schema);
        if self.schema_hash != expected {
            let expected = format!("{expected}, the hash of its own `schema` in this build");
            return Err(CheckpointError::mismatch("schema_hash", &self.schema_hash, expected));
        }
        Ok(())
    }

    /// Checks that another contract is the same but for `step` and `build`, as for resuming.
    ///
    /// # Errors
    /// The first field in which this contract differs from what `expected` says.
    pub fn same_as(&self, expected: &Self) -> Result<(), CheckpointError> {
        let text = |contract: &Self| {
            let ignored = Self { step: 0, build: String::new(), ..contract.clone() };
            serde_json::to_value(ignored).map_err(|e| CheckpointError::damaged(0, e.to_string()))
        };
        difference("", &text(self)?, &text(expected)?)
    }

    /// Checks that the game's side computes these features.
    ///
    /// # Errors
    /// Another schema, by the field `schema_hash`.
    pub fn check_schema(&self, schema: &Schema) -> Result<(), CheckpointError> {
        let expected = schema_hash(schema);
        if self.schema_hash == expected {
            return Ok(());
        }
        Err(CheckpointError::mismatch("schema_hash", &self.schema_hash, expected))
    }

    /// Checks that the game's side plays with this delay.
    ///
    /// # Errors
    /// Another delay, by the field `delay`.
    pub fn check_delay(&self, delay: usize) -> Result<(), CheckpointError> {
        if self.delay == delay {
            return Ok(());
        }
        Err(CheckpointError::mismatch("delay", self.delay, delay))
    }
}

fn within(field: &str, value: usize, range: RangeInclusive<usize>) -> Result<(), CheckpointError> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!("{} to {}", range.start(), range.end());
    Err(CheckpointError::mismatch(field, value, expected))
}

/// The first place in which two values differ.
fn difference(path: &str, found: &Value, expected: &Value) -> Result<(), CheckpointError> {
    if let (Value::Object(a), Value::Object(b)) = (found, expected) {
        // `kind` says which fields there are, so it comes first.
        let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
        names.sort_by_key(|name| *name != "kind");
        for name in names {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let value_of = |object: &serde_json::Map<String, Value>| {
                object.get(name).cloned().unwrap_or(Value::Null)
            };
            difference(&inner, &value_of(a), &value_of(b))?;
        }
        return Ok(());
    }
    if found == expected {
        return Ok(());
    }
    // The hash, which comes next, says the same shortly.
    if path == "schema" {
        return Err(CheckpointError::mismatch("schema", "another", "the same list of features"));
    }
    Err(CheckpointError::mismatch(path, found, expected))
}
