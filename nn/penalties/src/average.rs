//! A moving average of a model's parameters: a model after each step -> a smoother model to
//! evaluate.

use std::collections::BTreeMap;

use burn::module::Module;

use crate::error::Error;
use crate::parameters::{parameters, replace};

/// An exponential moving average: $\bar w \leftarrow d\,\bar w + (1 - d)\,w$ after each step.
///
/// With `warm_up`, the decay of update $t$ (from 0) is $\min(d, (1 + t)/(10 + t))$, so that the
/// first weights do not linger. Parameters keep their identities; the average has no graph.
/// **Reference**: Polyak and Juditsky 1992; warm-up as in TensorFlow.
#[derive(Clone, Debug)]
pub struct Average<M: Module> {
    model: M,
    decay: f64,
    warm_up: bool,
    updates: u64,
}

impl<M: Module> Average<M> {
    /// An average that starts at the model.
    ///
    /// # Errors
    /// A decay outside of [0, 1).
    pub fn new(model: &M, decay: f64, warm_up: bool) -> Result<Self, Error> {
        if !(0.0..1.0).contains(&decay) {
            return Err(Error::Setting {
                name: "decay",
                value: decay.to_string(),
                expected: "a number from 0 to less than 1",
            });
        }
        Ok(Self { model: model.valid(), decay, warm_up, updates: 0 })
    }

    /// An average that goes on: `model` is what [`Average::model`] gave after `updates` models.
    ///
    /// # Errors
    /// A decay outside of [0, 1).
    pub fn resumed(model: &M, decay: f64, warm_up: bool, updates: u64) -> Result<Self, Error> {
        Ok(Self { updates, ..Self::new(model, decay, warm_up)? })
    }

    /// Takes the model after a step in.
    pub fn update(&mut self, model: &M) {
        let t = self.updates as f64;
        let warm = (1.0 + t) / (10.0 + t);
        let decay = if self.warm_up { self.decay.min(warm) } else { self.decay };
        let decay = if crate::fault::planted("average-of-tracked") { 1.0 - decay } else { decay };
        let now: BTreeMap<String, _> =
            parameters(&model.valid()).into_iter().map(|p| (p.path, p.flat)).collect();
        self.model = replace(self.model.clone(), &mut |average| {
            let now = now.get(&average.path)?.clone();
            Some(average.flat.clone().mul_scalar(decay) + now.mul_scalar(1.0 - decay))
        });
        self.updates += 1;
    }

    /// The average.
    #[must_use]
    pub fn model(&self) -> &M {
        &self.model
    }

    /// How many models it has taken in.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates
    }
}
