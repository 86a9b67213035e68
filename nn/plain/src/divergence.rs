//! KL, JS, entropy and consistency: log probabilities in rows of `width` -> value for each row and
//! gradients.
//!
//! Values of rows are summed; a mean over rows is the sum times one over their number.

use crate::{Answer, norm, sign, sum};

/// A term of a divergence: its value and its derivatives with respect to both log probabilities.
fn kl_term(p: f64, q: f64) -> (f64, f64, f64) {
    if p <= 1e-10_f64.ln() {
        return (0.0, 0.0, 0.0);
    }
    let difference = p - q;
    let mass = p.exp();
    if difference.abs() > 100.0 {
        let clipped = 100.0 * difference.signum();
        return (mass * clipped, mass * clipped, 0.0);
    }
    (mass * difference, mass * (difference + 1.0), -mass)
}

/// $\mathrm{KL}(P\Vert Q)$, summed over rows; gradients with respect to $\log P$ and $\log Q$.
#[must_use]
pub fn kl(p: &[f64], q: &[f64]) -> Answer {
    let terms: Vec<_> = p.iter().zip(q).map(|(p, q)| kl_term(*p, *q)).collect();
    Answer {
        value: sum(terms.iter().map(|t| t.0)),
        gradients: vec![terms.iter().map(|t| t.1).collect(), terms.iter().map(|t| t.2).collect()],
    }
}

/// Half of the divergences of both directions.
#[must_use]
pub fn symmetric(p: &[f64], q: &[f64]) -> Answer {
    let (forward, reverse) = (kl(p, q), kl(q, p));
    let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect();
    Answer {
        value: 0.5 * (forward.value + reverse.value),
        gradients: vec![
            add(&forward.gradients[0], &reverse.gradients[1]),
            add(&forward.gradients[1], &reverse.gradients[0]),
        ],
    }
}

/// Jensen–Shannon divergence, summed over rows.
#[must_use]
pub fn js(p: &[f64], q: &[f64]) -> Answer {
    let mut values = Vec::new();
    let mut gradients = vec![Vec::new(), Vec::new()];
    for (&p, &q) in p.iter().zip(q) {
        let (pe, qe) = (p.exp(), q.exp());
        let middle = 0.5 * (pe + qe);
        let kept = middle >= 1e-10;
        let m = if kept { middle } else { 1e-10 }.ln();
        let (a, b) = (kl_term(p, m), kl_term(q, m));
        values.push(0.5 * (a.0 + b.0));
        // m depends on both: dm/dp = p/2m in probabilities.
        let through = if kept { 0.5 * (a.2 + b.2) } else { 0.0 };
        gradients[0].push(0.5 * a.1 + if kept { through * 0.5 * pe / middle } else { 0.0 });
        gradients[1].push(0.5 * b.1 + if kept { through * 0.5 * qe / middle } else { 0.0 });
    }
    Answer { value: sum(values), gradients }
}

/// $H$ at a temperature, summed over rows of `width`.
#[must_use]
pub fn entropy(log_p: &[f64], width: usize, temperature: f64) -> Answer {
    let mut values = Vec::new();
    let mut gradient = Vec::new();
    for row in log_p.chunks(width) {
        let mut l: Vec<f64> = row.to_vec();
        if temperature != 1.0 {
            let top = l.iter().copied().fold(f64::NEG_INFINITY, f64::max) / temperature;
            let total = sum(l.iter().map(|l| (l / temperature - top).exp())).ln();
            l.iter_mut().for_each(|l| *l = (*l / temperature - top) - total);
        }
        let kept = |l: f64| l > -50.0 || l.is_nan();
        values.extend(l.iter().map(|l| if kept(*l) { -l.exp() * l } else { 0.0 }));
        let slope: Vec<f64> =
            l.iter().map(|l| if kept(*l) { -l.exp() * (l + 1.0) } else { 0.0 }).collect();
        if temperature == 1.0 {
            gradient.extend(slope);
        } else {
            // Through l/T less the log of the sum: (s - softmax * sum of s)/T.
            let all = sum(slope.iter().copied());
            gradient.extend(slope.iter().zip(&l).map(|(s, l)| (s - l.exp() * all) / temperature));
        }
    }
    Answer::one(sum(values), gradient)
}

/// $\sum(a - b)^2$.
#[must_use]
pub fn squared_difference(a: &[f64], b: &[f64]) -> Answer {
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    Answer {
        value: sum(d.iter().map(|d| d * d)),
        gradients: vec![d.iter().map(|d| 2.0 * d).collect(), d.iter().map(|d| -2.0 * d).collect()],
    }
}

/// $\sum|a - b|$.
#[must_use]
pub fn absolute_difference(a: &[f64], b: &[f64]) -> Answer {
    let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    Answer {
        value: sum(d.iter().map(|d| d.abs())),
        gradients: vec![
            d.iter().map(|d| sign(*d)).collect(),
            d.iter().map(|d| sign(-*d)).collect(),
        ],
    }
}

/// $1 - \cos(a, b)$ with lengths of at least $10^{-8}$.
#[must_use]
pub fn cosine_distance(a: &[f64], b: &[f64]) -> Answer {
    let (la, lb) = (norm(a), norm(b));
    let (da, db) = (la.max(1e-8), lb.max(1e-8));
    let cosine = sum(a.iter().zip(b).map(|(a, b)| (a / da) * (b / db)));
    let slope = |x: &[f64], y: &[f64], lx: f64, dx: f64, dy: f64| -> Vec<f64> {
        let through = if lx >= 1e-8 { cosine / dx } else { 0.0 };
        x.iter().zip(y).map(|(x, y)| through * (x / dx) - y / dy / dx).collect()
    };
    Answer {
        value: 1.0 - cosine,
        gradients: vec![slope(a, b, la, da, db), slope(b, a, lb, db, da)],
    }
}
