//! Reference draws of posteriordb and our own posterior -> whether both have the same means and
//! deviations.

use std::collections::BTreeMap;
use std::path::Path;

use exmc::runs::Posterior;
use exmc_diagnose::{Draws, Summariser};

use crate::archive::read_json;

/// What a column's draws say of one expectation: value and Monte Carlo standard error.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// Estimate.
    pub value: f64,
    /// Its standard error.
    pub mcse: f64,
}

/// Mean and standard deviation of one column.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The mean.
    pub mean: Expectation,
    /// The standard deviation; its error by the delta method from that of the mean square about the
    /// mean.
    pub sd: Expectation,
    /// Rank-normalised R-hat.
    pub rhat: f64,
    /// The smaller of bulk and tail effective sample size.
    pub ess: f64,
}

/// The comparison of all columns that both have.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Columns compared.
    pub columns: usize,
    /// Largest difference of means, in standard errors of both.
    pub mean_z: f64,
    /// Largest difference of standard deviations, in standard errors of both.
    pub sd_z: f64,
    /// Largest R-hat of ours.
    pub rhat: f64,
    /// Smallest effective sample size of ours.
    pub ess: f64,
    /// The column with the largest difference.
    pub worst: String,
}

impl Verdict {
    /// Within 4 standard errors on mean and deviation, R-hat below 1.01.
    pub fn holds(&self) -> bool {
        self.columns > 0 && self.mean_z <= 4.0 && self.sd_z <= 4.0 && self.rhat < 1.01
    }
}

/// Moments of one column of draws, a slice a chain.
pub fn moments(chains: &[&[f64]]) -> Option<Moments> {
    let mut summariser = Summariser::new();
    let summary = summariser.summary(&Draws::new(chains).ok()?);
    let squares: Vec<Vec<f64>> = chains
        .iter()
        .map(|chain| chain.iter().map(|x| (x - summary.mean).powi(2)).collect())
        .collect();
    let squares: Vec<&[f64]> = squares.iter().map(Vec::as_slice).collect();
    let spread = summariser.summary(&Draws::new(&squares).ok()?);
    let sd_mcse = if summary.sd > 0.0 { spread.mcse_mean / (2.0 * summary.sd) } else { 0.0 };
    Some(Moments {
        mean: Expectation { value: summary.mean, mcse: summary.mcse_mean },
        sd: Expectation { value: summary.sd, mcse: sd_mcse },
        rhat: summary.rhat,
        ess: summary.ess_bulk.min(summary.ess_tail),
    })
}

/// Columns of a file of reference draws: a list of chains, each an object of names and draws.
pub fn read_reference(path: &Path) -> Result<BTreeMap<String, Moments>, String> {
    let document = read_json(path)?;
    let chains = document.as_array().ok_or("reference draws are a list of chains")?;
    let names = chains.first().and_then(|c| c.as_object()).ok_or("a chain is an object")?;
    let mut columns = BTreeMap::new();
    for name in names.keys() {
        let mut draws: Vec<Vec<f64>> = Vec::new();
        for chain in chains {
            let values = chain[name].as_array().ok_or_else(|| format!("no draws of `{name}`"))?;
            draws.push(values.iter().filter_map(serde_json::Value::as_f64).collect());
        }
        let slices: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
        if let Some(moments) = moments(&slices) {
            columns.insert(name.clone(), moments);
        }
    }
    Ok(columns)
}

/// How reference draws were made.
#[derive(Clone, Copy, Debug)]
pub struct DrawnWith {
    /// Target acceptance statistic; 0 where none is written down.
    pub target_accept: f64,
    /// Largest number of doublings; 0 where none is written down.
    pub max_depth: u32,
}

/// The sampler's settings beside reference draws.
pub fn read_settings(path: &Path) -> Result<DrawnWith, String> {
    let document = read_json(path)?;
    let control = &document["inference"]["method_arguments"]["control"];
    let depth = control["max_treedepth"].as_u64().unwrap_or(0);
    Ok(DrawnWith {
        target_accept: control["adapt_delta"].as_f64().unwrap_or(0.0),
        max_depth: u32::try_from(depth).map_err(|_| "a tree depth is out of range")?,
    })
}

/// Compares what both have; a reference column that the posterior lacks is an error.
pub fn compare(
    reference: &BTreeMap<String, Moments>,
    posterior: &Posterior,
) -> Result<Verdict, String> {
    let names = posterior.column_names();
    let mut verdict = Verdict { ess: f64::INFINITY, ..Verdict::default() };
    for (name, theirs) in reference {
        let column = names
            .iter()
            .position(|candidate| candidate == name)
            .ok_or_else(|| format!("the posterior has no column `{name}`"))?;
        let columns = posterior.column(column);
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let ours = moments(&slices).ok_or("too few draws")?;
        let z = |a: Expectation, b: Expectation| {
            let error = (a.mcse * a.mcse + b.mcse * b.mcse).sqrt();
            let difference = (a.value - b.value).abs();
            // Constants (a correlation matrix's diagonal) have no error.
            if difference <= 1e-9 * a.value.abs().max(1e-9) { 0.0 } else { difference / error }
        };
        let (mean_z, sd_z) = (z(ours.mean, theirs.mean), z(ours.sd, theirs.sd));
        if mean_z.max(sd_z) > verdict.mean_z.max(verdict.sd_z) || verdict.worst.is_empty() {
            verdict.worst.clone_from(name);
        }
        verdict.columns += 1;
        verdict.mean_z = verdict.mean_z.max(mean_z);
        verdict.sd_z = verdict.sd_z.max(sd_z);
        if ours.sd.value > 0.0 {
            verdict.rhat = verdict.rhat.max(ours.rhat);
            verdict.ess = verdict.ess.min(ours.ess);
        }
    }
    Ok(verdict)
}
