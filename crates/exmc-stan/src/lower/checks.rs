//! Declared constraints of transformed parameters: checked numbers, or conditions of the density.

use exmc_graph::{Dependence, NodeId, Reduction, Shape, evaluate};
use exmc_model::Support;

use super::Lowering;
use super::abort::{LowerResult, runtime};
use crate::source::Span;
use crate::typed::{Constraint, Declaration, DeclaredType, Expr};

/// How far sums and lengths may be off, as in Stan.
const TOLERANCE: f64 = 1e-8;

impl Lowering<'_> {
    /// Requires what a declaration says of its variable.
    pub(super) fn check_declared(&mut self, declaration: &Declaration) -> LowerResult<()> {
        let mut leaf = &declaration.ty;
        let mut arrays = 0;
        while let DeclaredType::Array { sizes, element } = leaf {
            arrays += sizes.len();
            leaf = element;
        }
        let DeclaredType::Leaf { constraint, .. } = leaf else { return Ok(()) };
        if matches!(constraint, Constraint::None | Constraint::OffsetMultiplier(..)) {
            return Ok(());
        }
        let span = declaration.span;
        let name = self.context.program.variable(declaration.variable).name.clone();
        let value = self.read_whole(declaration.variable, span)?;
        let x = value.to_node(&mut self.sink.graph);
        if self.sink.graph.shape(x).is_empty() {
            return Ok(());
        }
        let (holds, what) = match constraint {
            Constraint::None | Constraint::OffsetMultiplier(..) => return Ok(()),
            Constraint::Lower(low) => (self.above(x, low)?, "at least its lower bound"),
            Constraint::Upper(high) => (self.below(x, high)?, "at most its upper bound"),
            Constraint::LowerUpper(low, high) => {
                let (a, b) = (self.above(x, low)?, self.below(x, high)?);
                (self.sink.graph.and(a, b), "between its bounds")
            }
            Constraint::Simplex | Constraint::RowStochastic => {
                (self.simplexes(x, false), "a simplex")
            }
            Constraint::ColumnStochastic => {
                (self.simplexes(x, true), "of columns that are simplexes")
            }
            Constraint::Ordered => (self.ordered(x, false), "increasing"),
            Constraint::PositiveOrdered => (self.ordered(x, true), "positive and increasing"),
            Constraint::UnitVector => {
                let squares = self.sink.graph.square(x);
                let length = self.sink.graph.sum_last(squares);
                (self.near(length, 1.0), "of length one")
            }
            Constraint::SumToZero => {
                let total = self.sink.graph.sum_last(x);
                (self.near(total, 0.0), "of sum zero")
            }
            Constraint::CholeskyFactorCorr => {
                (self.matrices(x, arrays, Support::CorrelationCholesky), "a correlation factor")
            }
            Constraint::CholeskyFactorCov => {
                (self.matrices(x, arrays, Support::CholeskyFactor), "a Cholesky factor")
            }
            Constraint::CovMatrix => {
                (self.matrices(x, arrays, Support::PositiveDefinite), "a covariance matrix")
            }
            Constraint::CorrMatrix => {
                let definite = self.matrices(x, arrays, Support::PositiveDefinite);
                let unit = self.unit_diagonals(x, arrays);
                (self.sink.graph.and(definite, unit), "a correlation matrix")
            }
        };
        self.require_all(holds, &format!("`{name}` must be {what}"), span)
    }

    fn require_all(&mut self, holds: NodeId, message: &str, span: Span) -> LowerResult<()> {
        let axes: Vec<usize> = (0..self.sink.graph.shape(holds).rank()).collect();
        let holds = self.sink.graph.reduce(Reduction::Min, holds, &axes);
        if self.sink.graph.dependence(holds) == Dependence::Constant {
            let values = evaluate(&self.sink.graph, &[holds], &|_| None)
                .map_err(|error| runtime(span, error.to_string()))?;
            if values[0].as_scalar() == Some(0.0) {
                return Err(runtime(span, message));
            }
            return Ok(());
        }
        self.env.terms.required.push(holds);
        Ok(())
    }

    fn above(&mut self, x: NodeId, bound: &Expr) -> LowerResult<NodeId> {
        let bound = self.evaluate(bound)?.to_node(&mut self.sink.graph);
        Ok(self.sink.graph.le(bound, x))
    }

    fn below(&mut self, x: NodeId, bound: &Expr) -> LowerResult<NodeId> {
        let bound = self.evaluate(bound)?.to_node(&mut self.sink.graph);
        Ok(self.sink.graph.le(x, bound))
    }

    fn near(&mut self, x: NodeId, wanted: f64) -> NodeId {
        let difference = self.sink.graph.shift(x, -wanted);
        let size = self.sink.graph.abs(difference);
        let limit = self.sink.graph.scalar(TOLERANCE);
        let near = self.sink.graph.le(size, limit);
        let axes: Vec<usize> = (0..self.sink.graph.shape(near).rank()).collect();
        self.sink.graph.reduce(Reduction::Min, near, &axes)
    }

    fn simplexes(&mut self, x: NodeId, columns: bool) -> NodeId {
        let rank = self.sink.graph.shape(x).rank();
        let axis = if columns { rank - 2 } else { rank - 1 };
        let total = self.sink.graph.reduce(Reduction::Sum, x, &[axis]);
        let close = self.near(total, 1.0);
        let zero = self.sink.graph.scalar(0.0);
        let positive = self.sink.graph.le(zero, x);
        let axes: Vec<usize> = (0..rank).collect();
        let positive = self.sink.graph.reduce(Reduction::Min, positive, &axes);
        self.sink.graph.and(close, positive)
    }

    fn ordered(&mut self, x: NodeId, positive: bool) -> NodeId {
        let g = &mut self.sink.graph;
        let last = g.shape(x).rank() - 1;
        let n = g.shape(x).extents()[last];
        let mut holds = g.scalar(1.0);
        if n > 1 {
            let (head, tail) = (g.slice(x, last, 0, n - 1), g.slice(x, last, 1, n));
            let increases = g.lt(head, tail);
            let axes: Vec<usize> = (0..=last).collect();
            holds = g.reduce(Reduction::Min, increases, &axes);
        }
        if positive && n > 0 {
            let zero = g.scalar(0.0);
            let first = g.slice(x, last, 0, 1);
            let above = g.le(zero, first);
            let axes: Vec<usize> = (0..=last).collect();
            let above = g.reduce(Reduction::Min, above, &axes);
            holds = g.and(holds, above);
        }
        holds
    }

    /// Each matrix of an array of them.
    fn each_matrix(&mut self, x: NodeId, arrays: usize) -> Vec<NodeId> {
        let extents = self.sink.graph.shape(x).extents().to_vec();
        let (outer, matrix) = extents.split_at(arrays);
        let count: usize = outer.iter().product();
        let all = self.sink.graph.reshape(x, Shape::from([count]).join(matrix));
        (0..count)
            .map(|k| {
                let one = self.sink.graph.slice(all, 0, k, k + 1);
                self.sink.graph.reshape(one, Shape::from(matrix))
            })
            .collect()
    }

    fn matrices(&mut self, x: NodeId, arrays: usize, support: Support) -> NodeId {
        let mut all = self.sink.graph.scalar(1.0);
        for matrix in self.each_matrix(x, arrays) {
            let holds = support.predicate(&mut self.sink.graph, matrix, &[]);
            all = self.sink.graph.and(all, holds);
        }
        all
    }

    fn unit_diagonals(&mut self, x: NodeId, arrays: usize) -> NodeId {
        let mut all = self.sink.graph.scalar(1.0);
        for matrix in self.each_matrix(x, arrays) {
            let diagonal = self.sink.graph.diagonal(matrix);
            let unit = self.near(diagonal, 1.0);
            all = self.sink.graph.and(all, unit);
        }
        all
    }
}
