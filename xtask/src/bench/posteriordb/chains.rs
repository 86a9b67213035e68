//! A run's directory -> the log density and the time of each chain, and which chains are stuck.
//!
//! Files of draws are read as `docs/cli.md` has their layout, without the crate that writes them.

use std::path::Path;

use serde_json::Value;

/// What is known of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chain {
    /// Mean log density of its draws.
    pub(super) mean: f64,
    /// Their standard deviation.
    pub(super) sd: f64,
    /// Wall seconds of warmup and sampling; 0 where it did not end.
    pub(super) seconds: f64,
}

/// Distance of mean log densities, in standard deviations of the best chain's, from which on a
/// chain is stuck: even a mean over strongly dependent draws of the same posterior lies within a
/// few.
const APART: f64 = 10.0;

/// How many chains are stuck: their mean log density lies far below the best chain's.
pub(super) fn stuck(chains: &[Chain]) -> usize {
    let known = chains.iter().filter(|chain| chain.mean.is_finite());
    let Some(best) = known.max_by(|a, b| a.mean.total_cmp(&b.mean)) else { return 0 };
    chains.iter().filter(|chain| best.mean - chain.mean > APART * best.sd).count()
}

/// The chains of a stored run.
///
/// # Errors
/// When a file cannot be read or is not what the documentation says.
pub(super) fn chains(directory: &Path) -> Result<Vec<Chain>, String> {
    let path = directory.join("run.json");
    let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
    let run: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let ended = run.get("chains").and_then(Value::as_array);
    let mut all = Vec::new();
    for number in 0.. {
        let path = directory.join(format!("chain-{number}.draws"));
        if !path.exists() {
            break;
        }
        let bytes = std::fs::read(&path).map_err(|e| e.to_string())?;
        let (mean, sd) = moments(
            &log_densities(&bytes)
                .ok_or_else(|| format!("{}: no header of a file of draws", path.display()))?,
        );
        let chain_end = ended.and_then(|all| all.get(number));
        let seconds_of =
            |key: &str| chain_end.and_then(|chain_end| chain_end.get(key)?.as_f64()).unwrap_or(0.0);
        let seconds = seconds_of("warmup_seconds") + seconds_of("sampling_seconds");
        all.push(Chain { mean, sd, seconds });
    }
    Ok(all)
}

const HEADER: usize = 32;
/// Bytes of a record before its values.
const STATISTICS: usize = 72;

/// The log densities of the draws after warmup.
fn log_densities(bytes: &[u8]) -> Option<Vec<f64>> {
    after_warmup(bytes)?.map(|record| number(record, 24)).collect()
}

/// The recorded values of the draws after warmup, draw by draw.
pub(in crate::bench) fn values(bytes: &[u8]) -> Option<Vec<Vec<f64>>> {
    let row_of = |record: &[u8]| {
        record[STATISTICS..].chunks_exact(8).map(|value| number(value, 0)).collect()
    };
    after_warmup(bytes)?.map(row_of).collect()
}

fn after_warmup(bytes: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    if bytes.get(..8)? != b"exmcdraw" {
        return None;
    }
    let columns = u64::from_le_bytes(bytes.get(16..24)?.try_into().ok()?) as usize;
    let records = bytes.get(HEADER..)?.chunks_exact(STATISTICS + 8 * columns);
    Some(records.filter(|record| record[16] & 1 == 0))
}

fn number(record: &[u8], offset: usize) -> Option<f64> {
    Some(f64::from_le_bytes(record.get(offset..offset + 8)?.try_into().ok()?))
}

fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, (square / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, flags: u32, lp: f64, columns: usize) -> Vec<u8> {
        let mut bytes = vec![0_u8; STATISTICS + 8 * columns];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[16..20].copy_from_slice(&flags.to_le_bytes());
        bytes[24..32].copy_from_slice(&lp.to_le_bytes());
        bytes
    }

    #[test]
    fn log_densities_are_those_after_warmup() {
        let mut bytes = b"exmcdraw".to_vec();
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(3_u64.to_le_bytes());
        bytes.extend([0; 8]);
        for (k, flags, lp) in [(0, 1, -9.0), (0, 2, -1.5), (1, 6, -2.5)] {
            let mut record = record(k, flags, lp, 3);
            record[STATISTICS + 8..STATISTICS + 16].copy_from_slice(&(2.0 * lp).to_le_bytes());
            bytes.extend(record);
        }
        // A record that is cut short is none.
        bytes.extend([0; 40]);
        assert_eq!(log_densities(&bytes), Some(vec![-1.5, -2.5]));
        assert_eq!(values(&bytes), Some(vec![vec![0.0, -3.0, 0.0], vec![0.0, -5.0, 0.0]]));
        assert_eq!(moments(&[-1.5, -2.5]), (-2.0, 0.5_f64.sqrt()));
        assert_eq!(log_densities(b"something else that is long enough"), None);
    }

    #[test]
    fn a_chain_far_below_the_best_is_stuck() {
        let chain = |mean: f64| Chain { mean, sd: 2.0, seconds: 1.0 };
        assert_eq!(stuck(&[chain(-5.0), chain(-6.0), chain(-24.9)]), 0);
        assert_eq!(stuck(&[chain(-5.0), chain(-25.1), chain(-300.0), chain(-6.0)]), 2);
        assert_eq!(stuck(&[chain(f64::NAN), chain(-5.0)]), 0);
        assert_eq!(stuck(&[]), 0);
    }
}
