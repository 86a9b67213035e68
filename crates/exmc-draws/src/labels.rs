//! Draws of several chains -> whether some have the components of a variable in another order:
//! label switching.
//!
//! The density of a mixture does not change when its components change places, nor do topics or
//! factors have an order of their own. Chains then end in modes that are the same but for the
//! numbers of the components, and R-hat says that they do not agree. A variable has components
//! along its first or its last dimension. Two chains have them in another order where the means of
//! each component are far from those of the same number in the other chain and near to those of
//! another number.

use exmc_diagnose::Warning;

use crate::posterior::{ChainDraws, Posterior, Variable};

/// Components that are compared at most: larger dimensions are observations, groups or times.
const MAX_COMPONENTS: usize = 12;
/// Mean square distance of two components' means, in standard deviations within chains, that is
/// far.
const FAR: f64 = 9.0;
/// The same that is near; besides, it must be a small part of the distance in the order as it is.
const NEAR: f64 = 4.0;
const MUCH_NEARER: f64 = 0.1;
/// Variables that a warning names.
const MAX_NAMED: usize = 3;

impl Posterior {
    /// A warning that names variables whose components are in another order in some chains than in
    /// the first, and these chains.
    pub fn label_switching(&self) -> Option<Warning> {
        let (usable, width) = (self.usable_chains(), self.width());
        let moments = |chain: &&ChainDraws| {
            let mut moments = ChainMoments::new(chain.chain, &self.variables);
            chain.values.chunks_exact(width.max(1)).for_each(|row| moments.push(row));
            moments
        };
        switched(&self.variables, &usable.iter().map(moments).collect::<Vec<_>>())
    }
}

/// Means and variances of the variables that may have components, of one chain.
pub(crate) struct ChainMoments<'a> {
    chain: u32,
    variables: Vec<(&'a Variable, Moments)>,
    count: u64,
}

impl<'a> ChainMoments<'a> {
    pub(crate) fn new(chain: u32, variables: &'a [Variable]) -> Self {
        let with_components = variables.iter().filter(|v| !axes(v).is_empty());
        let variables = with_components.map(|v| (v, Moments::new(v.len()))).collect();
        Self { chain, variables, count: 0 }
    }

    /// Whether there is anything to be seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// Takes in the recorded values of a draw.
    pub(crate) fn push(&mut self, row: &[f64]) {
        self.count += 1;
        for (variable, moments) in &mut self.variables {
            moments.push(self.count, &row[variable.offset..variable.offset + variable.len()]);
        }
    }
}

/// A warning that names variables whose components are in another order in some chains.
pub(crate) fn switched(variables: &[Variable], chains: &[ChainMoments<'_>]) -> Option<Warning> {
    let (first, others) = chains.split_first()?;
    let mut switched: Vec<u32> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for variable in variables {
        let moments_of = |chain: &ChainMoments<'_>| -> Option<Moments> {
            let entry = chain.variables.iter().find(|(entry, _)| entry.name == variable.name);
            entry.map(|(_, moments)| moments.per_draw(chain.count))
        };
        let Some(reference) = moments_of(first) else { continue };
        let is_switched = |chain: &&ChainMoments<'_>| {
            moments_of(chain).is_some_and(|chain_moments| {
                axes(variable).iter().any(|axis| is_permuted(&reference, &chain_moments, *axis))
            })
        };
        let found: Vec<u32> = others.iter().filter(is_switched).map(|chain| chain.chain).collect();
        if !found.is_empty() {
            names.push(&variable.name);
            switched.extend(found);
        }
    }
    switched.sort_unstable();
    switched.dedup();
    let chains = match switched.split_last()? {
        (last, []) => format!("chain {last}"),
        (last, rest) => {
            let rest: Vec<String> = rest.iter().map(u32::to_string).collect();
            format!("chains {} and {last}", rest.join(", "))
        }
    };
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    let mut named: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    Some(Warning::label_switching(format!(
        "the components of {} are in another order in {chains} than in chain {} (label switching)",
        named.join(", "),
        first.chain,
    )))
}

/// Components along a dimension: element `e` of component `k` is `start(e) + k * stride`.
#[derive(Clone, Copy, Debug)]
struct Axis {
    components: usize,
    /// Elements of a component.
    each: usize,
    is_first: bool,
}

impl Axis {
    fn element(self, component: usize, e: usize) -> usize {
        if self.is_first { component * self.each + e } else { e * self.components + component }
    }
}

/// The first and the last dimension, where they may be those of components.
fn axes(variable: &Variable) -> Vec<Axis> {
    let len = variable.len();
    let axis = |extent: &usize, is_first| {
        let components = *extent;
        let each = len.checked_div(components).unwrap_or(0);
        (2..=MAX_COMPONENTS).contains(&components).then_some(Axis { components, each, is_first })
    };
    match variable.shape.as_slice() {
        [] => Vec::new(),
        [only] => axis(only, true).into_iter().collect(),
        [first, .., last] => axis(first, true).into_iter().chain(axis(last, false)).collect(),
    }
}

/// Mean of each element's draws in a chain, and the squares that their variance is made of.
#[derive(Clone)]
struct Moments {
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl Moments {
    fn new(len: usize) -> Self {
        Self { means: vec![0.0; len], variances: vec![0.0; len] }
    }

    /// Takes in draw number `count`, from 1.
    fn push(&mut self, count: u64, values: &[f64]) {
        for ((mean, variance), x) in self.means.iter_mut().zip(&mut self.variances).zip(values) {
            let delta = x - *mean;
            *mean += delta / count as f64;
            *variance += delta * (x - *mean);
        }
    }

    /// The same with variances.
    fn per_draw(&self, count: u64) -> Self {
        let mut moments = self.clone();
        moments.variances.iter_mut().for_each(|square| *square /= count.max(1) as f64);
        moments
    }
}

/// Whether the components of two chains are far from each other in the order as it is, and near in
/// another one.
fn is_permuted(a: &Moments, b: &Moments, axis: Axis) -> bool {
    let distance = |k: usize, j: usize| -> f64 {
        let square = |e: usize| {
            let (p, q) = (axis.element(k, e), axis.element(j, e));
            let difference = (a.means[p] - b.means[q]).powi(2);
            if difference == 0.0 {
                return 0.0;
            }
            difference / (0.5 * (a.variances[p] + b.variances[q]))
        };
        (0..axis.each).map(square).sum::<f64>() / axis.each as f64
    };
    let all = 0..axis.components;
    let as_it_is: f64 = all.clone().map(|k| distance(k, k)).sum::<f64>() / axis.components as f64;
    if as_it_is.is_nan() || as_it_is <= FAR {
        return false;
    }
    let mut free: Vec<usize> = all.clone().collect();
    let mut matched = 0.0;
    for k in all {
        let nearest = free
            .iter()
            .enumerate()
            .map(|(place, j)| (place, distance(k, *j)))
            .min_by(|x, y| x.1.total_cmp(&y.1));
        let Some((place, near)) = nearest else { return false };
        matched += near;
        free.swap_remove(place);
    }
    let matched = matched / axis.components as f64;
    matched <= NEAR && matched <= MUCH_NEARER * as_it_is
}

#[cfg(test)]
mod tests {
    use super::*;
    use exmc_infer::{ChainOutcome, Info};

    /// Chains of draws around means, with a deviation of one.
    fn posterior(shape: &[usize], chains: &[&[f64]]) -> Posterior {
        let offsets = [-1.0, 1.0, 1.0, -1.0];
        let chain = |(chain, means): (usize, &&[f64])| ChainDraws {
            chain: chain as u32,
            values: offsets.iter().flat_map(|d| means.iter().map(move |m| m + d)).collect(),
            infos: offsets.iter().map(|_| Info::still(0.0, 1.0)).collect(),
            warmup_values: Vec::new(),
            warmup_infos: Vec::new(),
            leapfrogs: 0,
            raised_target: None,
            restarts: Vec::new(),
            warmup_seconds: 0.0,
            sampling_seconds: 0.0,
            tuned: None,
            outcome: ChainOutcome::Completed,
        };
        let variable = Variable {
            name: "mu".into(),
            shape: shape.to_vec(),
            dims: Vec::new(),
            offset: 0,
            first_index: 1,
        };
        Posterior {
            variables: vec![variable],
            chains: chains.iter().enumerate().map(chain).collect(),
            seconds: 0.0,
            max_depth: 10,
            warnings: Vec::new(),
        }
    }

    fn message(shape: &[usize], chains: &[&[f64]]) -> Option<String> {
        posterior(shape, chains).label_switching().map(|warning| warning.message)
    }

    #[test]
    fn components_in_another_order_are_named() {
        let told = message(&[2], &[&[0.0, 8.0], &[8.1, 0.1], &[0.1, 8.0], &[7.9, 0.0]]);
        let expected = "the components of `mu` are in another order in chains 1 and 3 than in chain 0 (label switching)";
        assert_eq!(told.as_deref(), Some(expected));
        // Rows of a matrix, then columns.
        let rows: [&[f64]; 2] = [&[0.0, 1.0, 9.0, 10.0], &[9.0, 10.0, 0.0, 1.0]];
        assert!(message(&[2, 2], &rows).is_some());
        let columns: [&[f64]; 2] = [&[0.0, 9.0, 1.0, 10.0], &[9.0, 0.0, 10.0, 1.0]];
        assert!(message(&[2, 2], &columns).is_some());
        // A cycle of three.
        assert!(message(&[3], &[&[0.0, 10.0, 20.0], &[10.0, 20.0, 0.0]]).is_some());
    }

    #[test]
    fn chains_that_are_apart_otherwise_are_not() {
        assert_eq!(message(&[2], &[&[0.0, 8.0], &[0.1, 8.1]]), None);
        // Another mode, which is no permutation.
        assert_eq!(message(&[2], &[&[0.0, 8.0], &[30.0, 50.0]]), None);
        assert_eq!(message(&[2], &[&[0.0, 1.0], &[1.0, 0.0]]), None);
        assert_eq!(message(&[], &[&[0.0], &[9.0]]), None);
        assert_eq!(message(&[2], &[&[0.0, 8.0]]), None);
        assert_eq!(message(&[2], &[&[0.0, f64::NAN], &[9.0, 0.0]]), None);
    }
}
