//! Inputs of the table: a size and a seed -> numbers that are the same everywhere.

/// What an input holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers of either sign, $0.1 \le |x| \le 1$: away from kinks, where rounding would decide.
    Signed,
    /// Numbers from 0.25 to 1: correlated rows, so that no sum cancels.
    Positive,
    /// Log probabilities in rows.
    LogProbabilities,
}

/// Numbers in (0, 1), by a linear congruential generator's upper bits.
fn uniforms(count: usize, seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    })
    .take(count)
}

/// Elements of an input in row-major order, rows of `width`.
#[must_use]
pub fn make(kind: Kind, count: usize, width: usize, seed: u64) -> Vec<f64> {
    let raw = uniforms(count, seed);
    match kind {
        Kind::Signed => {
            raw.map(|u| if u < 0.5 { -0.1 - 1.8 * u } else { 0.1 + 1.8 * (u - 0.5) }).collect()
        }
        Kind::Positive => raw.map(|u| 0.25 + 0.75 * u).collect(),
        Kind::LogProbabilities => {
            let raw: Vec<f64> = raw.map(|u| 4.0 * u).collect();
            raw.chunks(width)
                .flat_map(|row| {
                    let total = row.iter().map(|x| x.exp()).sum::<f64>().ln();
                    row.iter().map(move |x| x - total).collect::<Vec<_>>()
                })
                .collect()
        }
    }
}
