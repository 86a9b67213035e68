//! A stored run -> groups of named arrays with dimensions and coordinates, as ArviZ has them.
//!
//! **Shapes**: arrays are row-major `[chain, draw, ...]`. Chains of different lengths end with the
//! shortest, as the schema knows no ragged arrays. **Reference**: ArviZ, "InferenceData schema".

use std::time::{Duration, SystemTime};

use exmc_draws::{ChainDraws, Method, Posterior, RunRecord, Variable};
use exmc_infer::Info;
use serde_json::Value;

/// Elements of an array, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Real numbers.
    Real(Vec<f64>),
    /// Integers.
    Integer(Vec<i64>),
    /// Truth values.
    Boolean(Vec<bool>),
    /// Texts.
    Text(Vec<String>),
}

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Real(all) => all.len(),
            Self::Integer(all) => all.len(),
            Self::Boolean(all) => all.len(),
            Self::Text(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Names of its dimensions, outermost first.
    pub dims: Vec<String>,
    /// Extents, one a dimension.
    pub shape: Vec<usize>,
    /// Elements.
    pub numbers: Numbers,
}

/// A group of arrays: what ArviZ calls a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name in the schema: `posterior`, `sample_stats`, ...
    pub name: String,
    /// Coordinates: one array for each dimension, of that name.
    pub coordinates: Vec<Array>,
    /// Arrays.
    pub arrays: Vec<Array>,
    /// Attributes.
    pub attributes: Vec<(String, String)>,
}

/// Which variables belong to groups of their own.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Pointwise log likelihoods; `log_lik` when nothing is said and there is one.
    pub log_likelihood: Vec<String>,
    /// Replicated outcomes.
    pub posterior_predictive: Vec<String>,
    /// Data that are outcomes; other data are constants.
    pub observed: Vec<String>,
}

impl Roles {
    fn group_of(&self, name: &str) -> &'static str {
        let is_in = |names: &[String]| names.iter().any(|listed| listed == name);
        if is_in(&self.log_likelihood) || (self.log_likelihood.is_empty() && name == "log_lik") {
            "log_likelihood"
        } else if is_in(&self.posterior_predictive) {
            "posterior_predictive"
        } else {
            "posterior"
        }
    }
}

/// Groups of a run: draws by role, statistics of the sampler, warmup where it was kept, and data.
pub fn inference_data(
    record: &RunRecord,
    posterior: &Posterior,
    data: Option<&Value>,
    roles: &Roles,
) -> Vec<Group> {
    let attributes = attributes(record);
    let chains = posterior.usable_chains();
    let mut groups = Vec::new();
    for (warmup, prefix) in [(false, ""), (true, "warmup_")] {
        let length = |c: &&ChainDraws| if warmup { &c.warmup_infos } else { &c.infos }.len();
        let draws = chains.iter().map(length).min().unwrap_or(0);
        if draws == 0 {
            continue;
        }
        let shape = Shape { chains: &chains, draws, warmup, width: posterior.width() };
        for name in ["posterior", "log_likelihood", "posterior_predictive"] {
            let members = posterior.variables.iter().filter(|v| roles.group_of(&v.name) == name);
            let arrays: Vec<Array> = members.map(|variable| shape.values(variable)).collect();
            if !arrays.is_empty() {
                groups.push(group(
                    format!("{prefix}{name}"),
                    arrays,
                    &shape,
                    &attributes,
                    posterior,
                ));
            }
        }
        if record.method == Method::Sample {
            let name = format!("{prefix}sample_stats");
            groups.push(group(name, shape.statistics(), &shape, &attributes, posterior));
        }
    }
    groups.extend(data.into_iter().flat_map(|data| data_groups(data, roles, &attributes)));
    groups
}

/// Log likelihoods that the run did not record: the group `log_likelihood` with an array for each
/// observed variable.
///
/// **Shapes**: each array has its extents behind chain and draw, and its values
/// `[chain, draw, ...]`, of as many draws of each usable chain as the shortest has.
pub fn log_likelihood_group(
    record: &RunRecord,
    posterior: &Posterior,
    arrays: Vec<(String, Vec<usize>, Vec<f64>)>,
) -> Group {
    let chains = posterior.usable_chains();
    let draws = chains.iter().map(|chain| chain.infos.len()).min().unwrap_or(0);
    let shape = Shape { chains: &chains, draws, warmup: false, width: posterior.width() };
    let arrays = arrays.into_iter().map(|(name, extents, values)| {
        let mut dims = vec!["chain".to_owned(), "draw".to_owned()];
        dims.extend((0..extents.len()).map(|k| format!("{name}_dim_{k}")));
        let mut all = vec![chains.len(), draws];
        all.extend(extents);
        Array { name, dims, shape: all, numbers: Numbers::Real(values) }
    });
    let arrays = arrays.collect();
    group("log_likelihood".to_owned(), arrays, &shape, &attributes(record), posterior)
}

/// What the arrays of one phase have in common.
struct Shape<'a> {
    chains: &'a [&'a ChainDraws],
    draws: usize,
    warmup: bool,
    width: usize,
}

impl Shape<'_> {
    fn values(&self, variable: &Variable) -> Array {
        let len = variable.len();
        let mut all = Vec::with_capacity(self.chains.len() * self.draws * len);
        for chain in self.chains {
            let values = if self.warmup { &chain.warmup_values } else { &chain.values };
            for draw in values.chunks_exact(self.width.max(1)).take(self.draws) {
                all.extend_from_slice(&draw[variable.offset..variable.offset + len]);
            }
        }
        let mut dims = vec!["chain".to_owned(), "draw".to_owned()];
        dims.extend((0..variable.shape.len()).map(|k| dim_name(variable, k)));
        let mut shape = vec![self.chains.len(), self.draws];
        shape.extend(&variable.shape);
        Array { name: variable.name.clone(), dims, shape, numbers: Numbers::Real(all) }
    }

    fn statistics(&self) -> Vec<Array> {
        let array = |name: &str, numbers| Array {
            name: name.to_owned(),
            dims: vec!["chain".to_owned(), "draw".to_owned()],
            shape: vec![self.chains.len(), self.draws],
            numbers,
        };
        let infos = || {
            self.chains.iter().flat_map(|chain| {
                let infos = if self.warmup { &chain.warmup_infos } else { &chain.infos };
                &infos[..self.draws]
            })
        };
        let real = |statistic: fn(&Info) -> f64| Numbers::Real(infos().map(statistic).collect());
        let integer = |statistic: fn(&Info) -> u32| {
            Numbers::Integer(infos().map(|info| i64::from(statistic(info))).collect())
        };
        let boolean =
            |statistic: fn(&Info) -> bool| Numbers::Boolean(infos().map(statistic).collect());
        vec![
            array("lp", real(|i| i.logp)),
            array("acceptance_rate", real(|i| i.accept_stat)),
            array("step_size", real(|i| i.step_size)),
            array("tree_depth", integer(|i| i.tree_depth)),
            array("n_steps", integer(|i| i.n_steps)),
            array("diverging", boolean(|i| i.divergent)),
            array("reached_max_treedepth", boolean(|i| i.reached_max_depth)),
            array("recovered", boolean(|i| i.recovered)),
            array("energy", real(|i| i.energy)),
            array("energy_error", real(|i| i.energy_error)),
            array("max_energy_error", real(|i| i.max_energy_error)),
        ]
    }
}

/// A dimension's name: its own, or ArviZ's for one without.
fn dim_name(variable: &Variable, k: usize) -> String {
    match variable.dims.get(k) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("{}_dim_{k}", variable.name),
    }
}

fn group(
    name: String,
    arrays: Vec<Array>,
    shape: &Shape<'_>,
    attributes: &[(String, String)],
    posterior: &Posterior,
) -> Group {
    let first_index = |dim: &str| {
        let has_dim = |v: &&Variable| (0..v.shape.len()).any(|k| dim_name(v, k) == dim);
        posterior.variables.iter().find(has_dim).map_or(0, |v| v.first_index as i64)
    };
    let mut coordinates: Vec<Array> = Vec::new();
    for array in &arrays {
        for (dim, extent) in array.dims.iter().zip(&array.shape) {
            if coordinates.iter().any(|known| known.name == *dim) {
                continue;
            }
            let numbers: Vec<i64> = match dim.as_str() {
                "chain" => shape.chains.iter().map(|c| i64::from(c.chain)).collect(),
                "draw" => (0..*extent as i64).collect(),
                dim => (0..*extent as i64).map(|k| k + first_index(dim)).collect(),
            };
            coordinates.push(coordinate(dim, numbers));
        }
    }
    Group { name, coordinates, arrays, attributes: attributes.to_vec() }
}

fn coordinate(dim: &str, numbers: Vec<i64>) -> Array {
    Array {
        name: dim.to_owned(),
        dims: vec![dim.to_owned()],
        shape: vec![numbers.len()],
        numbers: Numbers::Integer(numbers),
    }
}

fn attributes(record: &RunRecord) -> Vec<(String, String)> {
    let (library, version) = record.program.split_once(' ').unwrap_or((&record.program, ""));
    let pairs = [
        ("created_at", time(record.started)),
        ("creation_library", library.to_owned()),
        ("creation_library_version", version.to_owned()),
        ("inference_library", library.to_owned()),
        ("inference_library_version", version.to_owned()),
        ("name", record.model.clone()),
        ("seed", record.config.seed.to_string()),
        ("status", record.status.name().to_owned()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Seconds since the start of 1970 as ISO 8601 in UTC.
fn time(seconds: u64) -> String {
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let seconds = since.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days as i64);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}

/// Days since the start of 1970 as a date of the Gregorian calendar. **Reference**: Hinnant,
/// "chrono-compatible low-level date algorithms", `civil_from_days`.
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Data as groups: outcomes are `observed_data`, the rest is `constant_data`. What is no array of
/// numbers is left out.
fn data_groups(data: &Value, roles: &Roles, attributes: &[(String, String)]) -> Vec<Group> {
    let Value::Object(fields) = data else { return Vec::new() };
    let (mut observed, mut constant) = (Vec::new(), Vec::new());
    for (name, value) in fields {
        let Some((shape, numbers)) = numbers_of(value) else { continue };
        let dims = (0..shape.len()).map(|k| format!("{name}_dim_{k}")).collect();
        let array = Array { name: name.clone(), dims, shape, numbers };
        if roles.observed.contains(name) { &mut observed } else { &mut constant }.push(array);
    }
    let all = [("observed_data", observed), ("constant_data", constant)];
    let some = all.into_iter().filter(|(_, arrays)| !arrays.is_empty());
    some.map(|(name, arrays)| {
        let mut coordinates = Vec::new();
        for array in &arrays {
            for (dim, extent) in array.dims.iter().zip(&array.shape) {
                coordinates.push(coordinate(dim, (0..*extent as i64).collect()));
            }
        }
        Group { name: name.to_owned(), coordinates, arrays, attributes: attributes.to_vec() }
    })
    .collect()
}

/// Shape and elements of nested lists of numbers, integers if all are.
fn numbers_of(value: &Value) -> Option<(Vec<usize>, Numbers)> {
    let mut shape = Vec::new();
    let mut inner = value;
    while let Value::Array(all) = inner {
        shape.push(all.len());
        match all.first() {
            Some(first) => inner = first,
            None => break,
        }
    }
    let mut flat = Vec::new();
    flatten(value, &shape, &mut flat)?;
    let integers: Option<Vec<i64>> = flat.iter().map(|number| number.as_i64()).collect();
    Some((
        shape,
        match integers {
            Some(integers) => Numbers::Integer(integers),
            None => Numbers::Real(flat.iter().map(|n| real(n)).collect::<Option<_>>()?),
        },
    ))
}

/// A number, also one that CmdStan's JSON spells as a text.
fn real(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "nan" => Some(f64::NAN),
            "inf" | "+inf" | "infinity" | "+infinity" => Some(f64::INFINITY),
            "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        other => other.as_f64(),
    }
}

fn flatten<'v>(value: &'v Value, shape: &[usize], flat: &mut Vec<&'v Value>) -> Option<()> {
    match (value, shape) {
        (Value::Array(all), [extent, rest @ ..]) if all.len() == *extent => {
            all.iter().try_for_each(|value| flatten(value, rest, flat))
        }
        (Value::Number(_) | Value::String(_), []) => {
            flat.push(value);
            Some(())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_of_the_calendar() {
        // From GNU date: `date -u -d @N +%FT%T+00:00`.
        let known = [
            (0, "1970-01-01T00:00:00+00:00"),
            (951_782_400, "2000-02-29T00:00:00+00:00"),
            (1_735_689_599, "2024-12-31T23:59:59+00:00"),
            (4_107_542_400, "2100-03-01T00:00:00+00:00"),
        ];
        for (seconds, expected) in known {
            assert_eq!(time(seconds), expected);
        }
    }

    #[test]
    fn nested_lists_are_arrays_and_ragged_ones_are_not() {
        let value = serde_json::json!([[1, 2, 3], [4, 5, 6]]);
        let integers = Numbers::Integer(vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(numbers_of(&value), Some((vec![2, 3], integers)));
        let value = serde_json::json!([1, 2.5]);
        assert_eq!(numbers_of(&value), Some((vec![2], Numbers::Real(vec![1.0, 2.5]))));
        assert_eq!(numbers_of(&serde_json::json!([[1], [2, 3]])), None);
        assert_eq!(numbers_of(&serde_json::json!("text")), None);
    }
}
