//! Logits of each component and the classes that were played -> the loss and its parts.
//!
//! For a frame, component $c$ with logits $z$ and true class $y$ costs $-\log p_y$ with
//! $p = \operatorname{softmax}(z)$; the loss is the sum over components of the (weighted) mean over
//! frames. The rest are options that change this:
//!
//! | option | what it does |
//! |---|---|
//! | `label_smoothing` $\epsilon$ | axes and trigger: $-(1-\epsilon)\log p_y - \frac{\epsilon}{K-1}\sum_{k \ne y}\log p_k$ |
//! | `focal` $\gamma$ | times $(1 - p_y)^\gamma$ |
//! | `positive_weight` $w$ | buttons: times $w$ where the button is pressed |
//! | `edge_weight` $w$ | axes: times $1 + (w - 1)\lvert y - m\rvert / m$, where $m$ is the neutral class |
//! | `button_weight` | the weight of each button's part |
//! | `entropy_bonus` $\beta$ | less $\beta H(p)$ |
//! | `normalise_heads` | each part divided by the larger of its own value and 0.1, as a constant |
//!
//! Buttons have two classes, so their part is the binary cross entropy of $z_1 - z_0$.

use burn::tensor::{Int, Tensor, activation::log_softmax};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Buttons among the components; axes follow, and the trigger is the last.
pub(crate) const BUTTONS: usize = 8;
/// Axes among the components.
const AXES: std::ops::Range<usize> = 8..12;

/// Settings of the loss; the defaults are the negative log likelihood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LossConfig {
    /// $\gamma$ of the focal factor, 0 (none) or at least 1.
    pub focal: f64,
    /// Weight of pressed buttons: 0 (none), a number, or `auto` for $\sqrt{(1-r)/r}$ of each
    /// button's share $r$ of pressed frames, between 1 and 30.
    pub positive_weight: PositiveWeight,
    /// $\epsilon$ of axes and the trigger, from 0 to less than 1; never of buttons.
    pub label_smoothing: f64,
    /// Weight of an axis at its end relative to neutral, at least 1.
    pub edge_weight: f64,
    /// Weight of each button's part (1); 0.125 takes the mean over buttons.
    pub button_weight: f64,
    /// $\beta$ of the entropy bonus, 0 or more.
    pub entropy_bonus: f64,
    /// Whether parts are divided by their own size.
    pub normalise_heads: bool,
    /// Weight of frames whose inputs differ from those of the frame before (1).
    pub change_weight: f64,
    /// First frames of each window that do not count, while a recurrent state warms up (0).
    pub warm_frames: usize,
}

/// How pressed buttons are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PositiveWeight {
    /// One weight for all buttons.
    Fixed(f64),
    /// From the share of pressed frames.
    Auto(Auto),
}

/// The word `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auto {
    /// The word itself.
    Auto,
}

impl Default for LossConfig {
    fn default() -> Self {
        Self {
            focal: 0.0,
            positive_weight: PositiveWeight::Fixed(1.0),
            label_smoothing: 0.0,
            edge_weight: 1.0,
            button_weight: 1.0,
            entropy_bonus: 0.0,
            normalise_heads: false,
            change_weight: 1.0,
            warm_frames: 0,
        }
    }
}

/// The weight of a button that is pressed in a share of the frames: $\sqrt{(1-r)/r}$ with
/// $r \ge 10^{-4}$, between 1 and 30.
#[must_use]
pub fn positive_weight(share: f64) -> f64 {
    let share = share.clamp(1e-4, 1.0);
    ((1.0 - share) / share).sqrt().clamp(1.0, 30.0)
}

/// The loss of a batch.
#[derive(Clone, Debug)]
pub struct Loss {
    /// What is minimised, `[1]`.
    pub total: Tensor<1>,
    /// Parts of the components in their order, without weights of parts, `[1]` each.
    pub parts: Vec<Tensor<1>>,
}

impl LossConfig {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first that is out of range.
    pub fn check(&self, window: usize) -> Result<(), Error> {
        let positive = match self.positive_weight {
            PositiveWeight::Fixed(weight) => weight,
            PositiveWeight::Auto(_) => 1.0,
        };
        let numbers = [
            ("focal", self.focal, self.focal == 0.0 || self.focal >= 1.0, "0 or at least 1"),
            ("positive_weight", positive, positive > 0.0, "a positive number or \"auto\""),
            (
                "label_smoothing",
                self.label_smoothing,
                (0.0..1.0).contains(&self.label_smoothing),
                "from 0 to less than 1",
            ),
            ("edge_weight", self.edge_weight, self.edge_weight >= 1.0, "at least 1"),
            ("button_weight", self.button_weight, self.button_weight > 0.0, "a positive number"),
            ("entropy_bonus", self.entropy_bonus, self.entropy_bonus >= 0.0, "0 or more"),
            ("change_weight", self.change_weight, self.change_weight > 0.0, "a positive number"),
        ];
        for (name, value, is_fine, expected) in numbers {
            if !is_fine || !value.is_finite() {
                return Err(Error::usage(format!("`loss.{name}` is {value}; expected {expected}")));
            }
        }
        if self.warm_frames >= window {
            return Err(Error::usage(format!(
                "`loss.warm_frames` is {}, but a window has {window} frames; expected fewer",
                self.warm_frames
            )));
        }
        Ok(())
    }

    /// Weights of frames, by window and frame: 0 for the first `warm_frames`, `change_weight` where
    /// the classes differ from those of the frame before; nothing where all are 1. The first frame
    /// of a window counts as unchanged.
    #[must_use]
    pub fn frame_weights(&self, targets: &[u8], window: usize) -> Option<Vec<f32>> {
        if self.change_weight == 1.0 && self.warm_frames == 0 {
            return None;
        }
        let components = features::COMPONENTS.len();
        let mut weights = Vec::with_capacity(targets.len() / components);
        for window in targets.chunks(window * components) {
            for k in 0..window.len() / components {
                let classes_at = |k: usize| &window[k * components..(k + 1) * components];
                let is_changed = k > 0 && classes_at(k) != classes_at(k - 1);
                weights.push(match (k < self.warm_frames, is_changed) {
                    (true, _) => 0.0,
                    (false, true) => self.change_weight as f32,
                    (false, false) => 1.0,
                });
            }
        }
        Some(weights)
    }

    /// The loss of logits `[frames, classes]` and true classes `[frames, 1]` of each component.
    /// `weights` are those of frames, `pressed` those of pressed buttons.
    #[must_use]
    pub fn of(
        &self,
        logits: &[Tensor<2>],
        targets: &[Tensor<2, Int>],
        weights: Option<&Tensor<1>>,
        pressed: &[f64; BUTTONS],
    ) -> Loss {
        let mut parts = Vec::with_capacity(logits.len());
        let mut total: Option<Tensor<1>> = None;
        for (component, (logits, target)) in logits.iter().zip(targets).enumerate() {
            let is_button = component < BUTTONS;
            let pressed = if is_button { pressed[component] } else { 1.0 };
            let log_p = log_softmax(logits.clone(), 1);
            let cost = self.cost(component, &log_p, target, pressed);
            let part = mean(cost, weights);
            let scale = if is_button { self.button_weight } else { 1.0 };
            let mut term = part.clone().mul_scalar(scale);
            if self.normalise_heads {
                term = term * part.clone().detach().clamp_min(0.1).recip();
            }
            if self.entropy_bonus > 0.0 {
                let plogp = (log_p.clone().exp() * log_p).sum_dim(1).squeeze_dim(1);
                term = term + mean(plogp, weights).mul_scalar(self.entropy_bonus);
            }
            total = Some(match total {
                Some(sum) => sum + term,
                None => term,
            });
            parts.push(part);
        }
        let none = || Tensor::zeros([1], &burn::tensor::Device::default());
        Loss { total: total.unwrap_or_else(none), parts }
    }

    /// What each frame costs, `[frames]`.
    fn cost(
        &self,
        component: usize,
        log_p: &Tensor<2>,
        target: &Tensor<2, Int>,
        pressed: f64,
    ) -> Tensor<1> {
        let [_, classes] = log_p.dims();
        let of_true: Tensor<1> = log_p.clone().gather(1, target.clone()).squeeze_dim(1);
        let mut cost = of_true.clone().neg();
        if self.label_smoothing > 0.0 && component >= BUTTONS {
            let spread = self.label_smoothing / (classes - 1) as f64;
            let all: Tensor<1> = log_p.clone().sum_dim(1).squeeze_dim(1);
            let true_share = 1.0 - self.label_smoothing - spread;
            cost = (of_true.clone().mul_scalar(true_share) + all.mul_scalar(spread)).neg();
        }
        if self.focal > 0.0 {
            // 1 - p, not below 0 whatever rounding does.
            let miss = of_true.exp().neg().add_scalar(1.0).clamp_min(0.0);
            cost = cost
                * if self.focal == 2.0 {
                    miss.clone() * miss
                } else {
                    miss.powf_scalar(self.focal)
                };
        }
        let target = || target.clone().squeeze_dim::<1>(1).float().cast(log_p.dtype());
        if pressed != 1.0 {
            cost = cost * target().mul_scalar(pressed - 1.0).add_scalar(1.0);
        }
        if self.edge_weight != 1.0 && AXES.contains(&component) {
            let middle = (classes - 1) as f64 / 2.0;
            let away = target().add_scalar(-middle).abs();
            cost = cost * away.mul_scalar((self.edge_weight - 1.0) / middle).add_scalar(1.0);
        }
        cost
    }
}

/// The mean over frames, weighted where there are weights.
fn mean(values: Tensor<1>, weights: Option<&Tensor<1>>) -> Tensor<1> {
    match weights {
        None => values.mean(),
        Some(weights) => {
            (values * weights.clone()).sum() * weights.clone().sum().clamp_min(1e-12).recip()
        }
    }
}
