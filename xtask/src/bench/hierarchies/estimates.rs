//! A run's directory -> means and standard deviations of recorded values with their Monte Carlo
//! errors, and what was chosen.
//!
//! Written without the crates that made the run: files are read as `docs/cli.md` has their layout,
//! and the errors are of one's own (Geyer 1992, initial monotone sequence, over halves of chains).

use std::path::Path;

use serde_json::Value;

use super::super::posteriordb::chains;

/// What draws say of one scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) mean_error: f64,
    pub(super) sd: f64,
    pub(super) sd_error: f64,
}

/// What is read from a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Stored {
    /// Recorded variables with the estimates of their elements.
    pub(super) variables: Vec<(String, Vec<Estimate>)>,
    /// Variables whose shares of centring were chosen, with these: one for all elements, or one an
    /// element.
    pub(super) shares: Vec<(String, Vec<f64>)>,
}

/// Estimates of the variables that are named.
///
/// # Errors
/// When a file cannot be read or is not what the documentation says.
pub(super) fn stored(directory: &Path, names: &[String]) -> Result<Stored, String> {
    let path = directory.join("run.json");
    let say = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|e| say(&e))?;
    let run: Value = serde_json::from_str(&text).map_err(|e| say(&e))?;
    let mut all = Vec::new();
    for number in 0.. {
        let path = directory.join(format!("chain-{number}.draws"));
        if !path.exists() {
            break;
        }
        let bytes = std::fs::read(&path).map_err(|e| say(&e))?;
        all.push(chains::values(&bytes).ok_or_else(|| say(&"no header of a file of draws"))?);
    }
    let mut found = Stored { variables: Vec::new(), shares: shares(&run) };
    let mut first = 0;
    for variable in run.get("variables").and_then(Value::as_array).into_iter().flatten() {
        let name = variable.get("name").and_then(Value::as_str).unwrap_or("");
        let lengths = variable.get("shape").and_then(Value::as_array).into_iter().flatten();
        let len: u64 = lengths.filter_map(Value::as_u64).product();
        if names.iter().any(|chosen| chosen == name) {
            let columns = first..first + len as usize;
            let elements = columns.map(|k| {
                let draws_of_column =
                    |chain: &Vec<Vec<f64>>| chain.iter().map(|draw| draw[k]).collect();
                estimate(&all.iter().map(draws_of_column).collect::<Vec<Vec<f64>>>())
            });
            found.variables.push((name.to_owned(), elements.collect()));
        }
        first += len as usize;
    }
    match names
        .iter()
        .find(|name| !found.variables.iter().any(|(stored_name, _)| stored_name == *name))
    {
        Some(name) => Err(say(&format!("`{name}` is not recorded"))),
        None => Ok(found),
    }
}

fn shares(run: &Value) -> Vec<(String, Vec<f64>)> {
    let all = run.get("coordinates").and_then(Value::as_array).into_iter().flatten();
    let name_and_shares = |coordinate: &Value| {
        let shares =
            coordinate.get("centred")?.as_array()?.iter().filter_map(Value::as_f64).collect();
        Some((coordinate.get("name")?.as_str()?.to_owned(), shares))
    };
    all.filter_map(name_and_shares).collect()
}

/// Of the draws of one scalar, chain by chain.
fn estimate(chains: &[Vec<f64>]) -> Estimate {
    let (mean, mean_error) = mean_and_error(chains);
    let square = |x: &f64| (x - mean) * (x - mean);
    let squares: Vec<Vec<f64>> = chains.iter().map(|c| c.iter().map(square).collect()).collect();
    let (variance, error) = mean_and_error(&squares);
    let sd = variance.sqrt();
    // The derivative of a square root.
    Estimate { mean, mean_error, sd, sd_error: error / (2.0 * sd) }
}

/// Least variance of a mean, in units of that of independent draws: below, sums of alternating
/// autocorrelations are mostly noise.
const ANTITHETIC: f64 = 0.25;

/// The mean of all chains and its Monte Carlo error.
fn mean_and_error(chains: &[Vec<f64>]) -> (f64, f64) {
    let halves: Vec<&[f64]> = chains
        .iter()
        .flat_map(|chain| {
            let half = chain.len() / 2;
            [&chain[..half], &chain[chain.len() - half..]]
        })
        .collect();
    let n = halves.iter().map(|half| half.len()).min().unwrap_or(0);
    let (many, of_half) = (halves.len() as f64, n as f64);
    let means: Vec<f64> = halves.iter().map(|half| half.iter().sum::<f64>() / of_half).collect();
    let mean = means.iter().sum::<f64>() / many;
    let between = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (many - 1.0);
    let covariance = |lag: usize| {
        let product_sum = |(half, mean): (&&[f64], &f64)| {
            let ahead = half[lag..].iter();
            half.iter().zip(ahead).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
        };
        halves.iter().zip(&means).map(product_sum).sum::<f64>() / (many * of_half)
    };
    let within = covariance(0);
    let total_variance = within + between;
    // Chains that are apart count as dependence at every lag.
    let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / total_variance;
    let (mut sum, mut last) = (0.0, f64::INFINITY);
    for lag in (0..n.saturating_sub(1)).step_by(2) {
        let pair = correlation(lag) + correlation(lag + 1);
        if !pair.is_finite() || pair <= 0.0 {
            break;
        }
        last = pair.min(last);
        sum += last;
    }
    let times = (2.0 * sum - 1.0).max(ANTITHETIC);
    (mean, (total_variance * times / (many * of_half)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Normal numbers enough for a test: sums of twelve uniform ones of a linear congruential
    /// generator.
    fn autoregression(rho: f64, seed: u64, n: usize) -> Vec<f64> {
        let mut state = seed;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut x = 0.0;
        let mut all = Vec::new();
        for k in 0..n + 100 {
            let noise: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            x = rho * x + (1.0 - rho * rho).sqrt() * noise;
            if k >= 100 {
                all.push(x);
            }
        }
        all
    }

    /// The mean of an autoregression has the variance (1 + rho) / (1 - rho) / n, that of its square
    /// the same with rho squared, twice.
    #[test]
    fn errors_are_those_of_autoregressions() {
        for rho in [0.0, 0.5, 0.8] {
            let chains: Vec<Vec<f64>> =
                (1..=4).map(|seed| autoregression(rho, seed, 20_000)).collect();
            let found = estimate(&chains);
            let times = |rho: f64| (1.0 + rho) / (1.0 - rho);
            let mean_error = (times(rho) / 80_000.0).sqrt();
            let sd_error = (2.0 * times(rho * rho) / 80_000.0).sqrt() / 2.0;
            // Estimates of errors from 80 000 draws are within some percent; twelve uniform numbers
            // have lighter tails than a normal one (kurtosis 2.9), which the error of the deviation
            // sees.
            assert!((found.mean_error / mean_error - 1.0).abs() < 0.12, "{rho}: {found:?}");
            assert!((found.sd_error / sd_error - 1.0).abs() < 0.12, "{rho}: {found:?}");
            assert!((found.mean / mean_error).abs() < 4.0, "{rho}: {found:?}");
            assert!(((found.sd - 1.0) / sd_error).abs() < 4.0, "{rho}: {found:?}");
        }
    }

    #[test]
    fn chains_that_are_apart_have_large_errors() {
        let mut chains: Vec<Vec<f64>> =
            (1..=4).map(|seed| autoregression(0.0, seed, 1000)).collect();
        chains[3].iter_mut().for_each(|x| *x += 3.0);
        assert!(estimate(&chains).mean_error > 0.3, "{:?}", estimate(&chains));
    }

    #[test]
    fn shares_are_those_that_were_chosen() {
        let run = json!({ "coordinates": [
            { "name": "mu", "length": 1 }, { "name": "theta", "length": 2, "centred": [0.0, 0.5] },
        ] });
        assert_eq!(shares(&run), [("theta".to_owned(), vec![0.0, 0.5])]);
    }
}
