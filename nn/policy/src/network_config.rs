//! Settings of the network -> the contract that a policy file holds.

use features::{Discretiser, Schema};
use plain::policy::{Architecture, Backbone, Contract, HeadKind, Heads};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::Error;

/// The network's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct NetworkConfig {
    /// The backbone and its sizes (a GRU of 128 units), or a kind for its usual sizes.
    #[serde(deserialize_with = "backbone")]
    pub backbone: Backbone,
    /// The heads (autoregressive, a residual of 64).
    pub heads: Heads,
    /// Numbers for each row of a table, such as an action (16).
    pub embedding: usize,
    /// The features: `egocentric`, `full`, or the lines of a schema.
    pub schema: String,
    /// Frames from the observed frame to the one whose inputs are predicted (1).
    pub delay: usize,
    /// Classes of each axis (17).
    pub axis_classes: u16,
    /// Classes of the trigger (5).
    pub trigger_classes: u16,
}

/// A backbone by its sizes, or by a kind's name, which stands for [`NetworkConfig::usual`] sizes.
fn backbone<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Backbone, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(kind) => NetworkConfig::usual(&kind).map_err(D::Error::custom),
        sizes => serde_json::from_value(sizes).map_err(D::Error::custom),
    }
}

impl Default for NetworkConfig {
    fn default() -> Self {
        let discretiser = Discretiser::default();
        Self {
            backbone: Backbone::Gru { hidden: 128, layers: 1 },
            heads: Heads { kind: HeadKind::Autoregressive, residual: 64 },
            embedding: 16,
            schema: "egocentric".to_owned(),
            delay: 1,
            axis_classes: discretiser.axis,
            trigger_classes: discretiser.trigger,
        }
    }
}

impl NetworkConfig {
    /// Usual sizes of a kind of backbone.
    ///
    /// # Errors
    /// A kind that does not exist.
    pub fn usual(kind: &str) -> Result<Backbone, Error> {
        Ok(match kind {
            "mlp" => Backbone::Mlp { hidden: 256, layers: 2 },
            "gru" => Backbone::Gru { hidden: 128, layers: 1 },
            "lstm" => Backbone::Lstm { hidden: 128, layers: 1 },
            "attention" => Backbone::Attention {
                hidden: 128,
                layers: 2,
                heads: 4,
                window: 32,
                feed_forward: 256,
            },
            "selective_scan" => Backbone::SelectiveScan {
                hidden: 64,
                layers: 2,
                state: 8,
                expand: 2,
                convolution: 4,
                rank: 4,
            },
            other => {
                let known = "mlp, gru, lstm, attention, selective_scan";
                return Err(Error::usage(format!("no backbone is `{other}` (there are {known})")));
            }
        })
    }

    /// The contract of a network that took `step` steps.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn contract(&self, step: u64) -> Result<Contract, Error> {
        let architecture = Architecture {
            embedding: self.embedding,
            backbone: self.backbone.clone(),
            heads: self.heads.clone(),
        };
        let schema = self.features()?;
        let mut contract = Contract::new(architecture, &schema, self.discretiser(), self.delay);
        contract.step = step;
        contract.check().map_err(|e| match e.field() {
            Some(_) => Error::usage(format!("`network`: {e}")),
            None => e.into(),
        })?;
        Ok(contract)
    }

    /// The features.
    ///
    /// # Errors
    /// A text that is no schema.
    pub fn features(&self) -> Result<Schema, Error> {
        match self.schema.as_str() {
            "egocentric" => Ok(Schema::egocentric()),
            "full" => Ok(Schema::full()),
            text => Schema::parse(text).map_err(|e| Error::usage(format!("`network.schema`: {e}"))),
        }
    }

    /// Classes of axes and the trigger.
    #[must_use]
    pub fn discretiser(&self) -> Discretiser {
        Discretiser { axis: self.axis_classes, trigger: self.trigger_classes }
    }
}
