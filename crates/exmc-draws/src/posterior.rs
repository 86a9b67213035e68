//! Draws in memory: named values of all chains with the sampler's statistics -> columns and
//! summaries.

use exmc_diagnose::{
    ChainStatistics, Draws, RunDiagnostics, Summariser, Summary, Thresholds, Warning, WarningKind,
    warnings,
};
use exmc_infer::{ChainOutcome, Info, Restart, SampleError, WarmStart};

use crate::parallel::in_parallel_with;

/// One recorded value: a variable or a deterministic node.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name in the model.
    pub name: String,
    /// Its shape; empty for a number.
    pub shape: Vec<usize>,
    /// Names of its dimensions, outermost first, where they have names.
    pub dims: Vec<String>,
    /// Its first column among the recorded columns.
    pub offset: usize,
    /// Number of the first element along each dimension in names: 1 in Stan programs, else 0.
    pub first_index: usize,
}

impl Variable {
    /// Number of columns.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no column.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Names of its columns, row-major and numbered from [`first_index`](Self::first_index):
    /// `theta[0,2]`; the name itself for a number.
    pub fn column_names(&self) -> Vec<String> {
        (0..self.len()).map(|flat| self.column_name(flat)).collect()
    }

    /// The name of one of them.
    pub fn column_name(&self, flat: usize) -> String {
        if self.shape.is_empty() {
            return self.name.clone();
        }
        let mut rest = flat;
        let mut index = vec![String::new(); self.shape.len()];
        for (place, extent) in index.iter_mut().zip(&self.shape).rev() {
            *place = (self.first_index + rest % extent).to_string();
            rest /= extent;
        }
        format!("{}[{}]", self.name, index.join(","))
    }
}

/// The draws of one chain.
#[derive(Clone, Debug)]
pub struct ChainDraws {
    /// Number of the chain.
    pub chain: u32,
    /// Recorded values after warmup, constrained, row-major `[draw, column]`.
    pub values: Vec<f64>,
    /// What the sampler said of each draw.
    pub infos: Vec<Info>,
    /// The same for warmup, when it was kept.
    pub warmup_values: Vec<f64>,
    /// The same for warmup, when it was kept.
    pub warmup_infos: Vec<Info>,
    /// Leapfrog steps, warmup included.
    pub leapfrogs: u64,
    /// The acceptance that the step size was adapted to, where warmup raised it because of
    /// divergences.
    pub raised_target: Option<f64>,
    /// Where the chain went on from another place during warmup, because it was stuck.
    pub restarts: Vec<Restart>,
    /// Wall-clock seconds of warmup.
    pub warmup_seconds: f64,
    /// Wall-clock seconds of sampling.
    pub sampling_seconds: f64,
    /// Metric and step size at the end.
    pub tuned: Option<WarmStart>,
    /// How the chain ended.
    pub outcome: ChainOutcome,
}

/// The draws of a run.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// What was recorded, in column order.
    pub variables: Vec<Variable>,
    /// One entry a chain.
    pub chains: Vec<ChainDraws>,
    /// Wall-clock seconds of the whole run.
    pub seconds: f64,
    /// The largest tree depth that the run allowed.
    pub max_depth: u32,
    /// What is wrong with the run but not to be seen in its draws: of the density while it was
    /// sampled, and of chains that are missing.
    pub warnings: Vec<Warning>,
}

impl Posterior {
    /// Number of recorded columns.
    pub fn width(&self) -> usize {
        self.variables.iter().map(Variable::len).sum()
    }

    /// The recorded variable of that name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }

    /// Names of all columns, in order.
    pub fn column_names(&self) -> Vec<String> {
        self.variables.iter().flat_map(Variable::column_names).collect()
    }

    /// One column, a vector a chain. Chains that stopped early are shorter.
    ///
    /// # Panics
    /// When there are fewer columns.
    pub fn column(&self, column: usize) -> Vec<Vec<f64>> {
        let width = self.width();
        assert!(column < width, "there are {width} columns");
        self.chains
            .iter()
            .map(|c| c.values.iter().skip(column).step_by(width).copied().collect())
            .collect()
    }

    /// The draws of a scalar, or of one element (row-major) of an array, a vector a chain.
    pub fn draws_of(&self, name: &str, element: usize) -> Option<Vec<Vec<f64>>> {
        let variable = self.variable(name)?;
        (element < variable.len()).then(|| self.column(variable.offset + element))
    }

    /// The chains that summaries are over: those with draws after warmup, without those that failed
    /// unless all did.
    pub fn usable_chains(&self) -> Vec<&ChainDraws> {
        let with_draws = || self.chains.iter().filter(|c| !c.infos.is_empty());
        let sound: Vec<_> =
            with_draws().filter(|c| !matches!(c.outcome, ChainOutcome::Failed(_))).collect();
        if sound.is_empty() { with_draws().collect() } else { sound }
    }

    /// What speaks against the draws, the one verdict that every command and page gives: of chains
    /// that made any, given what is said of those that were left out and of labels that chains
    /// switched, and the draws' summary.
    pub fn judged(
        &self,
        (left_out, switched): (Option<Warning>, Option<Warning>),
        summary: &[(String, Summary)],
    ) -> Vec<Warning> {
        let of_density = self.warnings.iter().filter(|w| w.kind != WarningKind::Chains);
        let mut all: Vec<Warning> = left_out.into_iter().chain(of_density.cloned()).collect();
        all.extend(self.apart());
        all.extend(switched);
        let named: Vec<_> = summary.iter().map(|(name, s)| (name.as_str(), s)).collect();
        all.extend(warnings(&named, &self.diagnostics(), &Thresholds::default()));
        all
    }

    /// The chains that failed, with their errors; draws that they made before are kept.
    pub fn failures(&self) -> impl Iterator<Item = (u32, &SampleError)> {
        self.chains.iter().filter_map(|c| match &c.outcome {
            ChainOutcome::Failed(error) => Some((c.chain, error)),
            _ => None,
        })
    }

    /// A warning that names the chains that [`summary`](Self::summary) is not over, or that all of
    /// them failed.
    pub fn left_out(&self) -> Option<Warning> {
        let usable: Vec<u32> = self.usable_chains().iter().map(|c| c.chain).collect();
        let left_out = self.chains.iter().filter(|c| !usable.contains(&c.chain));
        let why = |c: &ChainDraws| match &c.outcome {
            ChainOutcome::Failed(_) => format!("chain {} failed", c.chain),
            _ => format!("chain {} made no draws after warmup", c.chain),
        };
        let reasons: Vec<String> = left_out.map(why).collect();
        if !usable.is_empty() && self.failures().count() == self.chains.len() {
            let message = "every chain failed; the summary is over the draws that they made before";
            return Some(Warning::chains(message.to_owned()));
        }
        if reasons.is_empty() {
            return None;
        }
        let (n, all) = (reasons.len(), self.chains.len());
        let reasons = reasons.join(", ");
        Some(Warning::chains(format!("the summary is without {n} of {all} chains: {reasons}")))
    }

    /// Every column's name and summary, over the draws that all [usable
    /// chains](Self::usable_chains) have; nothing when there are none, which
    /// [`left_out`](Self::left_out) then says.
    pub fn summary(&self) -> Vec<(String, Summary)> {
        let usable = self.usable_chains();
        let n = usable.iter().map(|c| c.infos.len()).min().unwrap_or(0);
        if n == 0 {
            return Vec::new();
        }
        let (width, names) = (self.width(), self.column_names());
        let chains: Vec<&[f64]> = usable.iter().map(|c| &c.values[..n * width]).collect();
        let summaries = in_parallel_with(width, Summariser::new, |summariser, column| {
            Some(summariser.summary(&Draws::column(&chains, width, column).ok()?))
        });
        names.into_iter().zip(summaries).filter_map(|(name, s)| Some((name, s?))).collect()
    }

    /// Divergences, depth hits and E-BFMI of the chains with draws.
    pub fn diagnostics(&self) -> RunDiagnostics {
        let with_draws = || self.chains.iter().filter(|c| !c.infos.is_empty());
        let flags = |flag: fn(&Info) -> bool| -> Vec<Vec<bool>> {
            with_draws().map(|c| c.infos.iter().map(flag).collect()).collect()
        };
        let (diverging, recovered) = (flags(|i| i.divergent), flags(|i| i.recovered));
        let non_finite_divergences = flags(|i| i.divergent && i.max_energy_error == f64::INFINITY);
        let depth = |c: &ChainDraws| c.infos.iter().map(|i| i.tree_depth).collect();
        let energy = |c: &ChainDraws| c.infos.iter().map(|i| i.energy).collect();
        let tree_depth: Vec<Vec<u32>> = with_draws().map(depth).collect();
        let energy: Vec<Vec<f64>> = with_draws().map(energy).collect();
        let statistics: Vec<_> = (0..diverging.len())
            .map(|k| ChainStatistics {
                diverging: &diverging[k],
                non_finite_divergences: &non_finite_divergences[k],
                recovered: &recovered[k],
                tree_depth: &tree_depth[k],
                energy: &energy[k],
            })
            .collect();
        RunDiagnostics::of(&statistics, self.max_depth)
    }

    /// Leapfrog steps of all chains, warmup included.
    pub fn leapfrogs(&self) -> u64 {
        self.chains.iter().map(|c| c.leapfrogs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_row_major_from_the_first_index() {
        let variable = |name: &str, shape: &[usize], first_index| Variable {
            name: name.into(),
            shape: shape.to_vec(),
            dims: Vec::new(),
            offset: 0,
            first_index,
        };
        let matrix = variable("x", &[2, 3], 0);
        assert_eq!(
            matrix.column_names(),
            ["x[0,0]", "x[0,1]", "x[0,2]", "x[1,0]", "x[1,1]", "x[1,2]"]
        );
        assert_eq!(variable("x", &[1, 2], 1).column_names(), ["x[1,1]", "x[1,2]"]);
        assert_eq!(variable("mu", &[], 0).column_names(), ["mu"]);
    }
}
