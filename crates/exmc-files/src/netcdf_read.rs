//! A netCDF-4 file of ArviZ's -> draws in memory with statistics of the sampler.

use std::path::Path;

use exmc_draws::{ChainDraws, Posterior, Variable};
use exmc_infer::{ChainOutcome, Info};
use netcdf_reader::{NcFile, NcGroup};

use crate::error::FileError;

/// What a file holds.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The draws of its group `posterior`, elements row-major.
    pub posterior: Posterior,
    /// Whether the file has the statistics of a Hamiltonian sampler; else they are NaN.
    pub has_statistics: bool,
    /// What had to be left out, as sentences.
    pub notes: Vec<String>,
}

/// Names of a statistic in files of ArviZ's, PyMC's and nutpie's.
const LP: [&str; 3] = ["lp", "logp", "model_logp"];
const STEP_SIZE: [&str; 2] = ["step_size", "step_size_bar"];
const DEPTH: [&str; 2] = ["tree_depth", "depth"];
const ACCEPTANCE: [&str; 2] = ["acceptance_rate", "mean_tree_accept"];

/// Reads the draws of a file.
///
/// **Edges**: variables that are no numbers are left out and noted; a statistic that is missing is
/// NaN, or 0 where it counts.
///
/// # Errors
/// When the file cannot be read, is no netCDF-4 file, or has no group `posterior` whose variables
/// begin with the dimensions `chain` and `draw`.
pub fn read_netcdf(path: &Path) -> Result<Imported, FileError> {
    let bytes = std::fs::read(path).map_err(|error| FileError::read(path, error))?;
    let malformed = |error: netcdf_reader::Error| FileError::malformed(path, error.to_string());
    let file = NcFile::from_vec(bytes).map_err(malformed)?;
    let Ok(group) = file.group("posterior") else {
        return Err(FileError::malformed(path, "it has no group `posterior`"));
    };
    let mut notes = Vec::new();
    let (mut variables, mut columns) = (Vec::new(), Vec::new());
    let (mut offset, mut extents) = (0, None);
    for variable in &group.variables {
        let dims: Vec<&str> = variable.dimensions.iter().map(|d| d.name.as_str()).collect();
        let sizes: Vec<usize> = variable.dimensions.iter().map(|d| d.size as usize).collect();
        let ["chain", "draw", inner @ ..] = dims.as_slice() else {
            continue;
        };
        let name = &variable.name;
        let Ok(values) = file.read_variable_as_f64(&format!("posterior/{name}")) else {
            notes.push(format!("`{name}` was left out: it is not of numbers"));
            continue;
        };
        let values: Vec<f64> = values.iter().copied().collect();
        if *extents.get_or_insert((sizes[0], sizes[1])) != (sizes[0], sizes[1]) {
            return Err(FileError::malformed(path, format!("`{name}` has other chains or draws")));
        }
        let first_index = inner.first().map_or(0, |dim| first_index(&file, dim));
        let shape = sizes[2..].to_vec();
        let dims = inner.iter().map(|dim| (*dim).to_owned()).collect();
        let new = Variable { name: name.clone(), shape, dims, offset, first_index };
        offset += new.len();
        variables.push(new);
        columns.push(values);
    }
    let Some((chains, draws)) = extents else {
        let what = "its group `posterior` has no variable with dimensions `chain` and `draw`";
        return Err(FileError::malformed(path, what));
    };
    let statistics = Statistics::read(&file, chains * draws);
    let posterior = Posterior {
        chains: (0..chains)
            .map(|chain| {
                let mut values = Vec::with_capacity(draws * offset);
                for draw in 0..draws {
                    for (variable, column) in variables.iter().zip(&columns) {
                        let (len, row) = (variable.len(), chain * draws + draw);
                        values.extend_from_slice(&column[row * len..(row + 1) * len]);
                    }
                }
                let infos = (0..draws).map(|draw| statistics.info(chain * draws + draw)).collect();
                of_chain(chain as u32, values, infos)
            })
            .collect(),
        variables,
        seconds: 0.0,
        max_depth: statistics.max_depth(),
        warnings: Vec::new(),
    };
    Ok(Imported { posterior, has_statistics: statistics.energy.is_some(), notes })
}

fn of_chain(chain: u32, values: Vec<f64>, infos: Vec<Info>) -> ChainDraws {
    ChainDraws {
        chain,
        values,
        leapfrogs: infos.iter().map(|info| u64::from(info.n_steps)).sum(),
        infos,
        warmup_values: Vec::new(),
        warmup_infos: Vec::new(),
        raised_target: None,
        restarts: Vec::new(),
        warmup_seconds: 0.0,
        sampling_seconds: 0.0,
        tuned: None,
        outcome: ChainOutcome::Completed,
    }
}

/// The first number of a dimension's coordinate: 1 in files of Stan programs.
fn first_index(file: &NcFile, dim: &str) -> usize {
    let coordinate = file.read_variable_as_f64(&format!("posterior/{dim}"));
    match coordinate.ok().and_then(|values| values.iter().next().copied()) {
        Some(1.0) => 1,
        _ => 0,
    }
}

/// What a file says of its draws, all chains one after the other.
struct Statistics {
    lp: Option<Vec<f64>>,
    acceptance: Option<Vec<f64>>,
    step_size: Option<Vec<f64>>,
    depth: Option<Vec<f64>>,
    steps: Option<Vec<f64>>,
    diverging: Option<Vec<f64>>,
    energy: Option<Vec<f64>>,
    limit: Option<Vec<f64>>,
}

impl Statistics {
    fn read(file: &NcFile, count: usize) -> Self {
        let group: Option<&NcGroup> = file.group("sample_stats").ok();
        let one = |names: &[&str]| {
            let name = names.iter().find(|name| {
                group.is_some_and(|group| group.variables.iter().any(|v| v.name == **name))
            })?;
            let values = file.read_variable_as_f64(&format!("sample_stats/{name}")).ok()?;
            let values: Vec<f64> = values.iter().copied().collect();
            (values.len() == count).then_some(values)
        };
        Self {
            lp: one(&LP),
            acceptance: one(&ACCEPTANCE),
            step_size: one(&STEP_SIZE),
            depth: one(&DEPTH),
            steps: one(&["n_steps"]),
            diverging: one(&["diverging"]),
            energy: one(&["energy"]),
            limit: one(&["reached_max_treedepth", "maxdepth_reached"]),
        }
    }

    fn info(&self, index: usize) -> Info {
        let real = |values: &Option<Vec<f64>>| values.as_ref().map_or(f64::NAN, |all| all[index]);
        let count = |values: &Option<Vec<f64>>| values.as_ref().map_or(0, |all| all[index] as u32);
        let mut info = Info::still(real(&self.lp), real(&self.step_size));
        info.moved = true;
        info.accept_stat = real(&self.acceptance);
        info.tree_depth = count(&self.depth);
        info.n_steps = count(&self.steps);
        info.divergent = count(&self.diverging) != 0;
        info.reached_max_depth = count(&self.limit) != 0;
        info.energy = real(&self.energy);
        info.energy_error = f64::NAN;
        info.max_energy_error = f64::NAN;
        info
    }

    /// The depth at which trajectories were ended, as far as the file tells.
    fn max_depth(&self) -> u32 {
        match (&self.limit, &self.depth) {
            (Some(limit), Some(depth)) => {
                let ended = limit.iter().zip(depth).filter(|(limit, _)| **limit != 0.0);
                ended.map(|(_, depth)| *depth as u32).max().unwrap_or(u32::MAX)
            }
            _ => u32::MAX,
        }
    }
}
