//! One scalar's draws by chain, and where they come from: a stored run's posterior.

use std::fmt;

use exmc_diagnose::Draws;
use exmc_draws::Posterior;

/// The draws of one scalar, owned: what most figures are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    name: String,
    chains: Vec<Vec<f64>>,
}

impl Parameter {
    /// Draws by chain under a name.
    ///
    /// **Shapes**: `chains[c][t]` is draw `t` of chain `c`.
    ///
    /// # Errors
    /// No chain, no draws, or chains of different lengths.
    pub fn new(name: impl Into<String>, chains: Vec<Vec<f64>>) -> Result<Self, PlotError> {
        let name = name.into();
        let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        match Draws::new(&slices) {
            Ok(_) => Ok(Self { name, chains }),
            Err(error) => Err(PlotError::new(format!("`{name}`: {error}"))),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Draws by chain.
    pub fn chains(&self) -> &[Vec<f64>] {
        &self.chains
    }

    /// All draws, chain after chain.
    pub fn pooled(&self) -> Vec<f64> {
        self.chains.concat()
    }

    /// All finite draws, smallest first.
    pub fn sorted(&self) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.chains.iter().flatten().copied().filter(|x| x.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }

    /// What a statistic of `exmc-diagnose` makes of the draws.
    pub fn statistic<R>(&self, estimator: impl FnOnce(&Draws) -> R) -> R {
        let slices: Vec<&[f64]> = self.chains.iter().map(Vec::as_slice).collect();
        estimator(&Draws::new(&slices).expect("checked when it was made"))
    }
}

/// The scalars of a run that have these names: a column's own (`theta[3]`), a variable's (`theta`
/// for all elements), or all columns for no name at all. Over the [usable
/// chains](Posterior::usable_chains), cut to the shortest, as summaries are.
///
/// # Errors
/// A name that the run does not have, or a run without draws.
pub fn parameters(posterior: &Posterior, names: &[String]) -> Result<Vec<Parameter>, PlotError> {
    let usable = posterior.usable_chains();
    let n = usable.iter().map(|c| c.infos.len()).min().unwrap_or(0);
    if n == 0 {
        return Err(PlotError::new("the run has no draws after warmup"));
    }
    let width = posterior.width();
    let columns = posterior.column_names();
    let take = |column: usize| Parameter {
        name: columns[column].clone(),
        chains: usable
            .iter()
            .map(|c| c.values.iter().skip(column).step_by(width).take(n).copied().collect())
            .collect(),
    };
    if names.is_empty() {
        return Ok((0..width).map(take).collect());
    }
    let mut found = Vec::new();
    for name in names {
        if let Some(variable) = posterior.variable(name) {
            found.extend((variable.offset..variable.offset + variable.len()).map(take));
        } else if let Some(column) = columns.iter().position(|c| c == name) {
            found.push(take(column));
        } else {
            let known: Vec<&str> =
                posterior.variables.iter().take(12).map(|v| v.name.as_str()).collect();
            let more = if posterior.variables.len() > 12 { ", ..." } else { "" };
            return Err(PlotError::new(format!("the run records no `{name}`"))
                .hint(format!("it records {}{more}", known.join(", "))));
        }
    }
    Ok(found)
}

/// The sampler's statistics that figures show, by chain, of the same draws as [`parameters`].
#[derive(Clone, Debug, PartialEq)]
pub struct SamplerStatistics {
    /// Whether each transition diverged.
    pub divergent: Vec<Vec<bool>>,
    /// Hamiltonian energy of each transition, in nats.
    pub energy: Vec<Vec<f64>>,
}

impl SamplerStatistics {
    /// Those of a run.
    pub fn of(posterior: &Posterior) -> Self {
        let usable = posterior.usable_chains();
        let n = usable.iter().map(|c| c.infos.len()).min().unwrap_or(0);
        Self {
            divergent: usable
                .iter()
                .map(|c| c.infos[..n].iter().map(|i| i.divergent).collect())
                .collect(),
            energy: usable
                .iter()
                .map(|c| c.infos[..n].iter().map(|i| i.energy).collect())
                .collect(),
        }
    }

    /// Whether each transition diverged, chain after chain.
    pub fn pooled_divergent(&self) -> Vec<bool> {
        self.divergent.concat()
    }
}

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotError {
    message: String,
    hint: Option<String>,
}

impl PlotError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What helps, where that is known.
    pub fn help(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlotError {}
