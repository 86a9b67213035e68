//! A bound density and positions -> do several positions at once have the bits of single ones?

use exmc_density::{BATCH, DensityModel, LogDensity};

/// What elements of positions are multiplied by: ordinary, zeros, at the ends of what numbers can
/// be.
const SIZES: [f64; 8] = [1.0, -1.0, 0.0, -0.0, 1e3, 1e300, 1e-310, f64::INFINITY];

/// Positions: some near each other, then some with elements that are far, subnormal, infinite or no
/// number.
pub(crate) fn positions(position: &[f64]) -> Vec<Vec<f64>> {
    let turned = |k: usize| position.iter().map(move |x| x + 0.1 * k as f64);
    let near = (0..4).map(|k| turned(k).collect());
    let far = (0..SIZES.len()).map(|k| {
        let sizes = SIZES.iter().cycle().skip(k);
        turned(k).zip(sizes).map(|(x, by)| x * by).collect()
    });
    let no_numbers = vec![f64::NAN; position.len()];
    near.chain(far).chain([no_numbers]).collect()
}

/// Bits; every NaN is one.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN } else { *v }.to_bits()).collect()
}

/// Compares some positions at once, beginning at each, with all lanes active and with some, if the
/// density has lanes at all; whether it has.
///
/// # Errors
/// The first difference.
pub(crate) fn lanes_agree<M: DensityModel>(
    bound: &M,
    positions: &[Vec<f64>],
) -> Result<bool, String> {
    const ALL: [bool; BATCH] = [true; BATCH];
    const SOME: [bool; BATCH] = [true, false, false, true];
    let mut single = bound.instance();
    let Some(mut lanes) = bound.lane_instance() else { return Ok(false) };
    let dim = bound.dim();
    let expected: Vec<Vec<f64>> = positions
        .iter()
        .map(|position| {
            let mut found = vec![0.0; dim + 1];
            let logp = single.logp_grad(position, &mut found[..dim]);
            found[dim] = logp.unwrap_or(f64::NAN);
            found
        })
        .collect();
    for first in 0..positions.len() {
        let lane_positions: [usize; BATCH] =
            std::array::from_fn(|lane| (first + lane) % positions.len());
        let together: Vec<[f64; BATCH]> =
            (0..dim).map(|k| lane_positions.map(|position| positions[position][k])).collect();
        for active in [ALL, SOME] {
            let mut found = vec![[0.0; BATCH]; dim + 1];
            let (gradients, logps) = found.split_at_mut(dim);
            let errors = lanes.logp_grads(&together, gradients, &mut logps[0], active);
            for (lane, _) in errors {
                logps[0][lane] = f64::NAN;
            }
            for (lane, position) in (0..BATCH).zip(lane_positions).filter(|&(lane, _)| active[lane])
            {
                let found: Vec<f64> = found.iter().map(|element| element[lane]).collect();
                let (found, expected) = (bits(&found), bits(&expected[position]));
                if let Some(index) = (0..=dim).find(|&index| found[index] != expected[index]) {
                    let [found, expected] = [found[index], expected[index]].map(f64::from_bits);
                    return Err(format!(
                        "position {position} in lane {lane} of {active:?}, element {index} of {dim}: {found:e}, alone {expected:e}"
                    ));
                }
            }
        }
    }
    Ok(true)
}
