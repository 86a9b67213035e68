//! Two programs for one density: a fast path that holds under guards, and a fallback for all
//! positions.
//!
//! Which one's result counts depends on the position alone, so that an evaluation has the same bits
//! whenever and wherever it happens: the quicker one's where all limits hold and its log density is
//! not NaN, which it also is where a factor of a logarithm's product is extreme.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use exmc_density::EvaluationError;
use exmc_graph::{
    Applied, Graph, Limits, NodeId, Op, Role, Tensor, cost, drop_clamps, join_logs, optimise,
};

use rustc_hash::FxHashMap;

use crate::backend::Bound;
use crate::bind::{Data, bind, check_declarations, data_inputs};
use crate::compiled::{Compiled, input_name};
use crate::density::{DensitySource, Settings, differentiated};
use crate::error::{BindError, CompileError};
use crate::native::BATCH;

/// Names of the optimisations of the quicker program.
const DROP_CLAMPS: &str = "drop-clamps";
const JOIN_LOGS: &str = "join-logs";
/// Elements of data up to which a density has two programs, because both hold what they make of the
/// data.
const MAX_DATA_ELEMENTS: usize = 1 << 16;
/// Elements of a position that are compared with limits one by one, without a look at what they
/// belong to.
const MAX_GUARDS: usize = 16;
/// Part of the cost that the quicker program must save.
const MIN_SAVED_SHARE: f64 = 0.05;

/// Whether a graph holds so little data that two programs may each have what they make of them.
pub(crate) fn holds_little(graph: &Graph) -> bool {
    let elements = |id: NodeId| match &graph.node(id).op {
        Op::Input { role: Role::Data, .. } | Op::Constant(_) => graph.shape(id).len(),
        _ => 0,
    };
    graph.ids().map(elements).sum::<usize>() <= MAX_DATA_ELEMENTS
}

/// The expression of the fast path.
pub(crate) struct FastPath {
    pub(crate) graph: Graph,
    pub(crate) logp: NodeId,
    /// Where it holds.
    pub(crate) limits: Vec<Limits>,
    pub(crate) applied: Vec<Applied>,
}

impl FastPath {
    /// That of a source and its optimised log density, leaving out the optimisations of these
    /// names; nothing where it would not be worth its memory and compilation.
    pub(crate) fn new(
        source: &DensitySource,
        (general, root): (&Graph, NodeId),
        without: &[String],
    ) -> Option<Self> {
        let is_wanted = |pass: &str| without.iter().all(|name| name != pass);
        let at_first = cost(general, &[root]);
        let mut fast =
            Self { graph: general.clone(), logp: root, limits: Vec::new(), applied: Vec::new() };
        let dropped = is_wanted(DROP_CLAMPS).then(|| drop_clamps(&source.graph, source.logp));
        if let Some((graph, logp, limits)) = dropped.flatten() {
            let (graph, logp, _) = optimise(&graph, logp, without);
            let places = limits.len();
            fast.take(DROP_CLAMPS, (graph, logp), places);
            fast.limits = limits;
        }
        let joined = is_wanted(JOIN_LOGS).then(|| join_logs(&fast.graph, fast.logp));
        if let Some(joined) = joined.flatten() {
            fast.take(JOIN_LOGS, joined, 1);
        }
        let after = cost(&fast.graph, &[fast.logp]);
        (after < (1.0 - MIN_SAVED_SHARE) * at_first).then_some(fast)
    }

    fn take(&mut self, pass: &'static str, (graph, logp): (Graph, NodeId), places: usize) {
        let [before, after] =
            [(&self.graph, self.logp), (&graph, logp)].map(|(graph, logp)| cost(graph, &[logp]));
        self.applied.push(Applied { pass, data: Vec::new(), places, before, after });
        (self.graph, self.logp) = (graph, logp);
    }
}

/// The program for all positions, and the guards under which the fast path has the same values.
/// Samplers leave them rarely, so the fallback is compiled, and its data are laid out, at the first
/// position that does.
#[derive(Debug)]
pub(crate) struct Fallback {
    settings: Settings,
    source: DensitySource,
    compiled: OnceLock<Result<Compiled, CompileError>>,
    /// First element, number of elements, smallest and largest value.
    limits: Vec<(usize, usize, f64, f64)>,
    /// Whether the quicker program's log density is also NaN where the density's is not.
    pub(crate) is_partial: bool,
    text: String,
}

/// A guard of the fast path: the interval in which an element of the position must lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    element: usize,
    low: f64,
    high: f64,
}

impl Guard {
    /// Whether it does; NaN does not.
    #[inline]
    pub(crate) fn holds(&self, position: &[f64]) -> bool {
        (self.low <= position[self.element]) & (position[self.element] <= self.high)
    }
}

impl Fallback {
    /// `source` is the optimised density for all positions, with the parameters of the original.
    pub(crate) fn new(settings: &Settings, source: DensitySource, fast: &FastPath) -> Self {
        let limits = &fast.limits;
        let named_parameter =
            |&(id, offset): &(NodeId, usize)| Some((input_name(&source.graph, id)?, (id, offset)));
        let places: FxHashMap<&str, (NodeId, usize)> =
            source.parameters.iter().filter_map(named_parameter).collect();
        let place = |limit: &Limits| {
            let (id, offset) = *places.get(&*limit.input)?;
            Some((offset, source.graph.shape(id).len(), limit.low, limit.high))
        };
        let found = in_rows(limits.iter().filter_map(place).collect());
        let mut words: Vec<String> = limits
            .iter()
            .map(|Limits { input, low, high }| format!("{low} <= {input} <= {high}"))
            .collect();
        let is_partial = fast.applied.iter().any(|applied| applied.pass == JOIN_LOGS);
        if is_partial {
            words.push("no factor is extreme".to_owned());
        }
        let (settings, compiled) = (settings.clone(), OnceLock::new());
        Self { settings, source, compiled, limits: found, is_partial, text: words.join(", ") }
    }

    /// Whether a position lies inside; NaN does not.
    #[inline]
    pub(crate) fn holds(&self, position: &[f64]) -> bool {
        let fast = |&(offset, len, low, high): &(usize, usize, f64, f64)| {
            position[offset..offset + len].iter().all(|x| low <= *x && *x <= high)
        };
        self.limits.iter().all(fast)
    }

    /// The limits of all elements that have some, unless they are many.
    pub(crate) fn few_guards(&self) -> Option<Box<[Guard]>> {
        let guards_of = |&(offset, len, low, high): &(usize, usize, f64, f64)| {
            (offset..offset + len).map(move |element| Guard { element, low, high })
        };
        let all = || self.limits.iter().flat_map(guards_of);
        (all().count() <= MAX_GUARDS).then(|| all().collect())
    }

    /// The same of positions side by side.
    #[inline]
    pub(crate) fn hold(&self, positions: &[[f64; BATCH]]) -> [bool; BATCH] {
        let mut fast = [true; BATCH];
        for &(offset, len, low, high) in &self.limits {
            for elements in &positions[offset..offset + len] {
                let lanes = fast.iter_mut().zip(elements);
                lanes.for_each(|(fast, x)| *fast &= low <= *x && *x <= high);
            }
        }
        fast
    }

    /// The program, compiled when it is first asked for.
    ///
    /// # Errors
    /// None where the quicker program could be compiled (our bug).
    pub(crate) fn compiled(&self) -> Result<&Compiled, &CompileError> {
        self.compiled.get_or_init(|| differentiated(&self.settings, &self.source, &[])).as_ref()
    }

    /// The data that it needs.
    ///
    /// # Errors
    /// When some are missing or not as declared.
    pub(crate) fn data(&self, data: Data<'_>) -> Result<BTreeMap<String, Tensor>, BindError> {
        let DensitySource { graph, logp, .. } = &self.source;
        let live = graph.reachable(&[*logp]);
        check_declarations(graph, &live, data)?;
        let values =
            data_inputs(graph, &live).filter_map(|(_, name)| Some((name.into(), data(name)?)));
        Ok(values.collect())
    }

    /// Both programs in words, with the limits.
    pub(crate) fn print(&self, fast: &Compiled) -> String {
        let fallback = self.compiled().map_or_else(ToString::to_string, Compiled::print);
        format!("where {}\n{}elsewhere\n{fallback}", self.text, fast.print())
    }
}

/// Limits of elements, those of elements that lie in a row and have the same limits as one.
fn in_rows(mut all: Vec<(usize, usize, f64, f64)>) -> Vec<(usize, usize, f64, f64)> {
    all.sort_by_key(|(offset, ..)| *offset);
    all.dedup_by(|next, previous| {
        let follows =
            previous.0 + previous.1 == next.0 && (previous.2, previous.3) == (next.2, next.3);
        previous.1 += if follows { next.1 } else { 0 };
        follows
    });
    all
}

/// The fallback with its data.
#[derive(Debug)]
pub(crate) struct BoundFallback {
    pub(crate) fallback: Arc<Fallback>,
    data: BTreeMap<String, Tensor>,
    bound: OnceLock<Result<Bound, String>>,
}

impl BoundFallback {
    pub(crate) fn new(fallback: &Arc<Fallback>, data: Data<'_>) -> Result<Self, BindError> {
        let data = fallback.data(data)?;
        Ok(Self { fallback: Arc::clone(fallback), data, bound: OnceLock::new() })
    }

    /// The program and its data as it reads them, made when they are first asked for.
    ///
    /// # Errors
    /// When an index leaves its extent.
    pub(crate) fn data(&self) -> Result<&Bound, EvaluationError> {
        let fatal = |message: &str| EvaluationError::Fatal(message.to_owned());
        let compiled = self.fallback.compiled().map_err(|error| fatal(error.message()))?;
        let made = self.bound.get_or_init(|| {
            let data = |name: &str| self.data.get(name).cloned();
            bind(compiled, &data).map_err(|error| error.message().to_owned())
        });
        made.as_ref().map_err(|message| fatal(message))
    }
}
