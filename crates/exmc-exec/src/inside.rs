//! Two programs for one density: a quicker one where parameters lie inside of limits, one for all positions.
//!
//! Which one runs depends on the position alone, so that an evaluation has the same bits whenever and
//! wherever it happens.

use exmc_graph::{Graph, Limits, NodeId, Op, Role};

use crate::compiled::Compiled;

/// The optimisation's name.
pub(crate) const DROP_CLAMPS: &str = "drop-clamps";
/// Elements of data up to which a density has two programs, because both hold what they make of the data.
const SMALL: usize = 1 << 16;
/// Part of the cost that the quicker program must save.
const WORTHWHILE: f64 = 0.05;

/// Whether a second program at `after` beside one at `before` is worth its memory and compilation.
pub(crate) fn pays(graph: &Graph, before: f64, after: f64) -> bool {
    let elements = |id: NodeId| match &graph.node(id).op {
        Op::Input { role: Role::Data, .. } | Op::Constant(_) => graph.shape(id).len(),
        _ => 0,
    };
    after < (1.0 - WORTHWHILE) * before && graph.ids().map(elements).sum::<usize>() <= SMALL
}

/// The program for positions inside of the limits.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) compiled: Compiled,
    /// First element, number of elements, smallest and largest value.
    limits: Vec<(usize, usize, f64, f64)>,
    text: String,
}

impl Inside {
    /// `place` gives the first element and the number of elements of a parameter.
    pub(crate) fn new(
        compiled: Compiled,
        limits: &[Limits],
        place: impl Fn(&str) -> Option<(usize, usize)>,
    ) -> Self {
        let found = limits.iter().filter_map(|own| {
            let (offset, len) = place(&own.input)?;
            Some((offset, len, own.low, own.high))
        });
        let words: Vec<String> = limits
            .iter()
            .map(|Limits { input, low, high }| format!("{low} <= {input} <= {high}"))
            .collect();
        Self { compiled, limits: found.collect(), text: words.join(", ") }
    }

    /// Whether a position lies inside; NaN does not.
    pub(crate) fn holds(&self, position: &[f64]) -> bool {
        let inside = |&(offset, len, low, high): &(usize, usize, f64, f64)| {
            position[offset..offset + len].iter().all(|x| low <= *x && *x <= high)
        };
        self.limits.iter().all(inside)
    }

    /// The program in words, with its limits.
    pub(crate) fn print(&self) -> String {
        format!("where {}\n{}elsewhere\n", self.text, self.compiled.print())
    }
}
