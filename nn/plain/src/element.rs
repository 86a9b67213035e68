//! L1, L2 and elastic net: elements -> value and gradient.

use crate::{Answer, sign, sum};

/// Where L2 measures from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Centre {
    /// A number.
    At(f64),
    /// The mean of all elements.
    Mean,
}

/// $\sum|x|$.
#[must_use]
pub fn l1(x: &[f64]) -> Answer {
    Answer::one(sum(x.iter().map(|x| x.abs())), x.iter().map(|x| sign(*x)).collect())
}

/// $\sum\operatorname{clip}(x - c, \pm k)^2$.
#[must_use]
pub fn l2(x: &[f64], centre: Centre, clip: Option<f64>) -> Answer {
    let count = x.len() as f64;
    let c = match centre {
        Centre::At(c) => c,
        Centre::Mean => sum(x.iter().copied()) / count,
    };
    let limit = clip.unwrap_or(f64::INFINITY);
    let away: Vec<f64> = x.iter().map(|x| x - c).collect();
    let value = sum(away.iter().map(|d| if d.abs() > limit { limit * limit } else { d * d }));
    let mut slope: Vec<f64> =
        away.iter().map(|d| if d.abs() > limit { 0.0 } else { 2.0 * d }).collect();
    if centre == Centre::Mean {
        // The centre moves by 1/n with each element.
        let back = sum(slope.iter().copied()) / count;
        slope.iter_mut().for_each(|s| *s -= back);
    }
    Answer::one(value, slope)
}

/// $\alpha\sum|x| + (1 - \alpha)\sum x^2$.
#[must_use]
pub fn elastic_net(x: &[f64], ratio: f64) -> Answer {
    let value = sum(x.iter().map(|x| ratio * x.abs() + (1.0 - ratio) * x * x));
    let slope = x.iter().map(|x| ratio * sign(*x) + 2.0 * (1.0 - ratio) * x).collect();
    Answer::one(value, slope)
}
