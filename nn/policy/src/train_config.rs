//! A run's settings <-> JSON; settings from the command line change single values by their paths.

use penalties::Recipe;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::data::DataConfig;
use crate::error::Error;
use crate::loss::LossConfig;
use crate::network_config::NetworkConfig;

/// Settings of the optimiser: AdamW with a clipped gradient and a learning rate that warms up and
/// then falls along a cosine over the run's own length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OptimiserConfig {
    /// Largest learning rate (1e-3).
    pub learning_rate: f64,
    /// The last learning rate as a share of the largest (0.01).
    pub final_share: f64,
    /// Steps over which the rate rises from 0, as a share of the run (0.02).
    pub warm_up_share: f64,
    /// Decoupled weight decay (1e-5).
    pub weight_decay: f64,
    /// Decay of the mean of gradients (0.9).
    pub beta_1: f64,
    /// Decay of the mean of squared gradients (0.999).
    pub beta_2: f64,
    /// Added to the root of the second mean (1e-8).
    pub epsilon: f64,
    /// Largest norm of the gradient of all parameters together (1).
    pub clip: f64,
    /// Batches whose gradients one step takes the mean of (1).
    pub accumulate: usize,
    /// Decay of the moving average of weights (0.99); it is what is evaluated and played.
    pub average: f64,
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            final_share: 0.01,
            warm_up_share: 0.02,
            weight_decay: 1e-5,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            clip: 1.0,
            accumulate: 1,
            average: 0.99,
        }
    }
}

impl OptimiserConfig {
    /// The learning rate of a step, counted from 0, in a run of `steps`.
    #[must_use]
    pub fn rate(&self, step: u64, steps: u64) -> f64 {
        let warm_up = (self.warm_up_share * steps as f64).round();
        let step = step as f64;
        if step < warm_up {
            return self.learning_rate * (step + 1.0) / warm_up;
        }
        let progress = (step - warm_up) / (steps as f64 - warm_up - 1.0).max(1.0);
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress.min(1.0)).cos());
        self.learning_rate * (self.final_share + (1.0 - self.final_share) * cosine)
    }

    fn check(&self) -> Result<(), Error> {
        let share = |x: f64| (0.0..1.0).contains(&x);
        let numbers = [
            ("learning_rate", self.learning_rate, self.learning_rate > 0.0, "a positive number"),
            ("final_share", self.final_share, (0.0..=1.0).contains(&self.final_share), "0 to 1"),
            ("warm_up_share", self.warm_up_share, share(self.warm_up_share), "from 0 to below 1"),
            ("weight_decay", self.weight_decay, self.weight_decay >= 0.0, "0 or more"),
            ("beta_1", self.beta_1, share(self.beta_1), "from 0 to below 1"),
            ("beta_2", self.beta_2, share(self.beta_2), "from 0 to below 1"),
            ("epsilon", self.epsilon, self.epsilon > 0.0, "a positive number"),
            ("clip", self.clip, self.clip > 0.0, "a positive number"),
            ("accumulate", self.accumulate as f64, self.accumulate > 0, "at least 1"),
            ("average", self.average, share(self.average), "from 0 to below 1"),
        ];
        for (name, value, is_fine, expected) in numbers {
            if !is_fine || !value.is_finite() {
                let message = format!("`optimiser.{name}` is {value}; expected {expected}");
                return Err(Error::usage(message));
            }
        }
        Ok(())
    }
}

/// All settings of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TrainConfig {
    /// The replays and how batches are made of them.
    pub data: DataConfig,
    /// The network.
    pub network: NetworkConfig,
    /// The loss.
    pub loss: LossConfig,
    /// The optimiser.
    pub optimiser: OptimiserConfig,
    /// Penalties: lines of a recipe about parameters, or about the output `trunk`.
    pub penalties: Recipe,
    /// Steps of the run (2000).
    pub steps: u64,
    /// Steps between lines of metrics (50).
    pub log_every: u64,
    /// Steps between evaluations on held-out frames (200).
    pub evaluate_every: u64,
    /// Most batches of one evaluation (50).
    pub evaluate_batches: usize,
    /// Evaluations without improvement after which the run ends; 0: never (0).
    pub patience: u64,
    /// Steps between states from which the run can be resumed (200).
    pub save_every: u64,
    /// Seed of the initial weights (0).
    pub seed: u64,
    /// The device: `flex`, or another that was compiled in.
    pub device: String,
    /// Whether recurrent layers are part of the device's graph too (false): on a processor it is
    /// quicker when they are not, and the numbers are the same but for rounding.
    pub on_graph: bool,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            data: DataConfig::default(),
            network: NetworkConfig::default(),
            loss: LossConfig::default(),
            optimiser: OptimiserConfig::default(),
            penalties: Recipe::default(),
            steps: 2000,
            log_every: 50,
            evaluate_every: 200,
            evaluate_batches: 50,
            patience: 0,
            save_every: 200,
            seed: 0,
            device: "flex".to_owned(),
            on_graph: false,
        }
    }
}

impl TrainConfig {
    /// Settings of a JSON text; what is left out has its default.
    ///
    /// # Errors
    /// A text that is no JSON, or a setting that does not exist or has a wrong type, with its line.
    pub fn parse(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|e| Error::usage(format!("the settings: {e}")))
    }

    /// The same with single settings changed, each as `path.of.setting=value`; a value that is no
    /// JSON is a text.
    ///
    /// # Errors
    /// A path that does not exist or a value of a wrong type, with the text of the change.
    pub fn with(self, changes: &[String]) -> Result<Self, Error> {
        let mut config = self;
        for change in changes {
            let wrong = |why: String| Error::usage(format!("`--set {change}`: {why}"));
            let (path, value) = change
                .split_once('=')
                .ok_or_else(|| wrong("expected `path.of.setting=value`".to_owned()))?;
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            let mut all = serde_json::to_value(&config).map_err(|e| wrong(e.to_string()))?;
            let mut place = &mut all;
            for key in path.split('.') {
                let known: Vec<String> = match &*place {
                    Value::Object(map) => map.keys().cloned().collect(),
                    _ => Vec::new(),
                };
                place = place.get_mut(key).ok_or_else(|| {
                    let known = known.join(", ");
                    wrong(format!("there is no setting `{key}` (there are {known})"))
                })?;
            }
            *place = value;
            config = serde_json::from_value(all).map_err(|e| wrong(e.to_string()))?;
        }
        Ok(config)
    }

    /// Checks the settings that need no data.
    ///
    /// # Errors
    /// The first that is out of range.
    pub fn check(&self) -> Result<(), Error> {
        self.optimiser.check()?;
        self.loss.check(self.data.window)?;
        self.network.contract(0)?;
        crate::data::parse_players(&self.data.players)?;
        let counts = [
            ("steps", self.steps),
            ("log_every", self.log_every),
            ("evaluate_every", self.evaluate_every),
            ("evaluate_batches", self.evaluate_batches as u64),
            ("save_every", self.save_every),
            ("data.batch", self.data.batch as u64),
            ("data.window", self.data.window as u64),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(Error::usage(format!("`{name}` is 0; expected at least 1")));
        }
        let shares = [
            ("data.held_out_files", self.data.held_out_files),
            ("data.held_out_frames", self.data.held_out_frames),
        ];
        for (name, share) in shares {
            if !(0.0..1.0).contains(&share) {
                let message = format!("`{name}` is {share}; expected a share from 0 to below 1");
                return Err(Error::usage(message));
            }
        }
        Ok(())
    }
}
