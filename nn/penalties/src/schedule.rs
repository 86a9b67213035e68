//! How a weight changes with the step: a schedule and a step, counted from 0 -> a weight.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::fault;

/// A weight for each step (or epoch), counted from 0.
///
/// A number converts into a constant schedule. With `steps` = $E$, progress at step $e$ is
/// $s = \min(e/\max(E - 1, 1), 1)$, so the last of $E$ steps has the last value, which then stays.
///
/// ```
/// use penalties::Schedule;
///
/// let ramp = Schedule::Linear { from: 0.0, to: 1.0, steps: 10 };
/// assert!((ramp.at(4) - 4.0 / 9.0).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// The same weight always.
    Constant(f64),
    /// $a + (b - a)s$.
    Linear {
        /// Weight of step 0, $a$.
        from: f64,
        /// Weight of the last step and after it, $b$.
        to: f64,
        /// How many steps, $E$.
        steps: u64,
    },
    /// $v\,e/w$ until step $w$, then $v$.
    WarmUp {
        /// The weight in the end, $v$.
        to: f64,
        /// How many steps it takes, $w$.
        steps: u64,
    },
    /// $v\,r^e$.
    Decay {
        /// Weight of step 0, $v$.
        from: f64,
        /// Factor of each step, $r$.
        rate: f64,
    },
    /// $b + \tfrac12(a - b)(1 + \cos\pi s)$.
    Cosine {
        /// Weight of step 0, $a$.
        from: f64,
        /// Weight of the last step and after it, $b$.
        to: f64,
        /// How many steps, $E$.
        steps: u64,
    },
    /// Weight 0 before the first step of the list; from each step on, its weight.
    Piecewise(Vec<(u64, f64)>),
}

impl Schedule {
    /// The weight of a step.
    #[must_use]
    pub fn at(&self, step: u64) -> f64 {
        let progress = |steps: u64| {
            let last =
                steps.saturating_sub(1).max(1) + u64::from(fault::planted("schedule-off-by-one"));
            (step as f64 / last as f64).min(1.0)
        };
        match self {
            Self::Constant(weight) => *weight,
            Self::Linear { from, to, steps } => from + (to - from) * progress(*steps),
            Self::WarmUp { to, steps } if step < *steps => to * step as f64 / *steps as f64,
            Self::WarmUp { to, .. } => *to,
            Self::Decay { from, rate } => from * rate.powf(step as f64),
            Self::Cosine { from, to, steps } => {
                to + 0.5 * (from - to) * (1.0 + (std::f64::consts::PI * progress(*steps)).cos())
            }
            Self::Piecewise(pieces) => {
                let past = pieces.iter().take_while(|(first, _)| *first <= step);
                past.last().map_or(0.0, |(_, weight)| *weight)
            }
        }
    }

    /// Checks that all weights are finite and that pieces are in order.
    ///
    /// # Errors
    /// The number or the piece that is wrong.
    pub fn check(&self) -> Result<(), Error> {
        let numbers = match self {
            Self::Constant(weight) => vec![*weight],
            Self::Linear { from, to, .. } | Self::Cosine { from, to, .. } => vec![*from, *to],
            Self::WarmUp { to, .. } => vec![*to],
            Self::Decay { from, rate } => vec![*from, *rate],
            Self::Piecewise(pieces) => {
                if let Some(pair) = pieces.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
                    return Err(Error::Setting {
                        name: "schedule",
                        value: format!("step {} after step {}", pair[1].0, pair[0].0),
                        expected: "pieces in the order of their steps",
                    });
                }
                pieces.iter().map(|(_, weight)| *weight).collect()
            }
        };
        match numbers.iter().find(|number| !number.is_finite()) {
            Some(number) => Err(Error::Setting {
                name: "schedule",
                value: number.to_string(),
                expected: "finite weights",
            }),
            None => Ok(()),
        }
    }
}

impl From<f64> for Schedule {
    fn from(weight: f64) -> Self {
        Self::Constant(weight)
    }
}
