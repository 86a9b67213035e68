//! Parameters: declarations -> inputs, constrained values and log Jacobians; and the way back.

use exmc_graph::{DType, Graph, NodeId, Role, Shape};
use exmc_model::{Inverse, LayoutEntry, Support, Transform};

use super::Lowering;
use super::abort::{LowerResult, runtime, unsupported};
use super::variables::lane_value::{LaneValue, reals};
use super::variables::store::Storage;
use crate::source::Span;
use crate::typed::{Constraint, Declaration, DeclaredType, Expr, Type};

/// How a parameter is made from unconstrained numbers.
struct Made {
    /// Extents of its value.
    shape: Shape,
    /// Leading extents that are arrays' (each element is transformed alone by transforms of
    /// matrices).
    arrays: usize,
    how: How,
}

enum How {
    Transform(Transform, Option<Support>),
    /// $x = o + m z$
    Affine(Option<NodeId>, Option<NodeId>),
}

/// Elements of one parameter. A chain keeps dozens of vectors of all coordinates.
const MAX_COORDINATES: usize = 1 << 24;

impl Lowering<'_> {
    /// Declares all parameters, in order.
    pub(super) fn parameters(&mut self) -> LowerResult<()> {
        let program = self.context.program;
        for declaration in &program.parameters {
            self.parameter(declaration)?;
        }
        Ok(())
    }

    fn parameter(&mut self, declaration: &Declaration) -> LowerResult<()> {
        let variable = self.context.program.variable(declaration.variable);
        let made = self.made(declaration)?;
        let unconstrained = self.unconstrained_shape(&made, declaration.span)?;
        let g = &mut self.sink.graph;
        let input = g
            .input(&variable.name, Role::Parameter, unconstrained.clone(), DType::Real)
            .map_err(|error| unsupported(declaration.span, error.message().to_owned()))?;
        let (value, log_jacobian) = constrain(g, &made, input);
        if let How::Transform(_, Some(support)) = made.how {
            self.sink.supports.state(value, support);
        }
        if let (Some(log_jacobian), true) = (log_jacobian, self.context.options.jacobian) {
            let name = format!("jacobian of {}", variable.name);
            let span = declaration.span;
            self.env.terms.add(&mut self.sink.graph, (span, "jacobian"), || name, log_jacobian);
        }
        let offset =
            self.sink.layout.last().map_or(0, |e: &LayoutEntry| e.offset + e.unconstrained.len());
        self.sink.layout.push(LayoutEntry {
            name: variable.name.to_string(),
            offset,
            unconstrained,
            constrained: made.shape.clone(),
            input,
        });
        self.set_parameter(declaration, &made.shape, value);
        Ok(())
    }

    fn set_parameter(&mut self, declaration: &Declaration, shape: &Shape, value: NodeId) {
        let value = LaneValue::node(value, false);
        let storage = Storage::from_value(0, 0, shape.extents().to_vec(), value);
        self.env.stores[declaration.variable.0 as usize] = Some(storage);
    }

    /// The graph from constrained values (inputs by the parameters' names) to unconstrained ones.
    pub(super) fn inverse(mut self) -> LowerResult<Inverse> {
        let program = self.context.program;
        let mut outputs = Vec::new();
        for declaration in &program.parameters {
            let variable = program.variable(declaration.variable);
            let shape = Shape::from(self.declared_shape(&declaration.ty)?);
            let value = self
                .sink
                .graph
                .input(&variable.name, Role::Parameter, shape.clone(), DType::Real)
                .map_err(|error| unsupported(declaration.span, error.message().to_owned()))?;
            self.set_parameter(declaration, &shape, value);
            let made = self.made(declaration)?;
            outputs.push(unconstrain(&mut self.sink.graph, &made, value));
        }
        Ok(Inverse { graph: self.sink.graph, outputs })
    }

    fn made(&mut self, declaration: &Declaration) -> LowerResult<Made> {
        let span = declaration.span;
        let shape = self.declared_shape(&declaration.ty)?;
        super::statement::fits(&shape, MAX_COORDINATES, span)?;
        let shape = Shape::from(shape);
        let mut leaf = &declaration.ty;
        let mut arrays = 0;
        while let DeclaredType::Array { sizes, element } = leaf {
            arrays += sizes.len();
            leaf = element;
        }
        let DeclaredType::Leaf { ty, constraint, .. } = leaf else {
            return Err(unsupported(span, "a tuple as a parameter"));
        };
        let how = self.how(constraint, ty, &shape, span)?;
        Ok(Made { shape, arrays, how })
    }

    fn how(
        &mut self,
        constraint: &Constraint,
        ty: &Type,
        shape: &Shape,
        span: Span,
    ) -> LowerResult<How> {
        let plain = |transform, support| Ok(How::Transform(transform, support));
        match constraint {
            Constraint::None => plain(Transform::Identity, None),
            Constraint::Lower(bound) => {
                let (node, low) = self.bound(bound, shape)?;
                plain(
                    Transform::Lower(node),
                    low.is_some_and(|v| v >= 0.0).then_some(Support::Positive),
                )
            }
            Constraint::Upper(bound) => {
                let (node, _) = self.bound(bound, shape)?;
                plain(Transform::Upper(node), None)
            }
            Constraint::LowerUpper(low, high) => {
                let (low, least) = self.bound(low, shape)?;
                let (high, most) = self.bound(high, shape)?;
                let support = match (least, most) {
                    (Some(a), Some(b)) if a >= 0.0 && b <= 1.0 => Some(Support::UnitOpen),
                    (Some(a), _) if a >= 0.0 => Some(Support::Positive),
                    (Some(a), Some(b)) if a >= -1.0 && b <= 1.0 => Some(Support::MinusOneToOne),
                    _ => None,
                };
                plain(Transform::Interval(low, high), support)
            }
            Constraint::OffsetMultiplier(offset, multiplier) => {
                let offset = offset.as_ref().map(|e| self.bound(e, shape)).transpose()?;
                let multiplier = multiplier.as_ref().map(|e| self.bound(e, shape)).transpose()?;
                if multiplier.is_some_and(|(_, least)| least.is_some_and(|v| v <= 0.0)) {
                    return Err(runtime(span, "a multiplier must be positive"));
                }
                Ok(How::Affine(offset.map(|o| o.0), multiplier.map(|m| m.0)))
            }
            Constraint::Simplex => plain(Transform::SimplexSoftmax, Some(Support::Simplex)),
            Constraint::Ordered => plain(Transform::Ordered, Some(Support::Ordered)),
            Constraint::PositiveOrdered => {
                plain(Transform::PositiveOrdered, Some(Support::Ordered))
            }
            Constraint::UnitVector => plain(Transform::UnitVector, None),
            Constraint::SumToZero if ty.rank() == 1 => plain(Transform::SumToZero, None),
            Constraint::CholeskyFactorCorr => {
                plain(Transform::CorrelationCholesky, Some(Support::CorrelationCholesky))
            }
            Constraint::CholeskyFactorCov => {
                let square = is_square(shape).then_some(Support::CholeskyFactor);
                plain(Transform::CovarianceCholesky, square)
            }
            Constraint::CorrMatrix => {
                plain(Transform::CorrelationMatrix, Some(Support::PositiveDefinite))
            }
            Constraint::CovMatrix => {
                plain(Transform::CovarianceMatrix, Some(Support::PositiveDefinite))
            }
            Constraint::RowStochastic => plain(Transform::SimplexSoftmax, None),
            Constraint::ColumnStochastic => plain(Transform::ColumnSimplex, None),
            Constraint::SumToZero => plain(Transform::SumToZeroMatrix, None),
        }
    }

    /// A bound that stretches to a shape, and the smallest of its numbers (for an upper bound the
    /// only thing of interest, its one number) if it is known.
    fn bound(&mut self, expr: &Expr, shape: &Shape) -> LowerResult<(NodeId, Option<f64>)> {
        let value = self.evaluate(expr)?;
        let node = value.to_node(&mut self.sink.graph);
        if !self.sink.graph.shape(node).broadcasts_to(shape) {
            let found = self.sink.graph.shape(node);
            let message = format!("a bound of size {found} for a parameter of size {shape}");
            return Err(runtime(expr.span, message));
        }
        let known = value.as_known().map(|known| {
            let numbers = reals(known);
            let same = numbers.windows(2).all(|w| w[0] == w[1]);
            if same { numbers.first().copied().unwrap_or(f64::NAN) } else { f64::NAN }
        });
        Ok((node, known))
    }

    fn unconstrained_shape(&self, made: &Made, span: Span) -> LowerResult<Shape> {
        let How::Transform(transform, _) = &made.how else { return Ok(made.shape.clone()) };
        let extents = made.shape.extents();
        let free_shape =
            |shape: &Shape| transform.unconstrained_shape(shape).map_err(|m| runtime(span, m));
        if !of_matrix(transform) {
            return free_shape(&made.shape);
        }
        let (arrays, matrix) = extents.split_at(made.arrays);
        Ok(Shape::from(arrays).join(free_shape(&Shape::from(matrix))?.extents()))
    }
}

fn is_square(shape: &Shape) -> bool {
    matches!(shape.extents(), [.., a, b] if a == b)
}

/// Whether a transform takes one matrix at a time.
fn of_matrix(transform: &Transform) -> bool {
    matches!(
        transform,
        Transform::CorrelationCholesky
            | Transform::CovarianceCholesky
            | Transform::CorrelationMatrix
            | Transform::CovarianceMatrix
    )
}

fn constrain(g: &mut Graph, made: &Made, z: NodeId) -> (NodeId, Option<NodeId>) {
    match &made.how {
        How::Affine(offset, multiplier) => {
            let mut value = z;
            let mut log_jacobian = None;
            if let Some(multiplier) = *multiplier {
                value = g.mul(multiplier, value);
                let log = g.log(multiplier);
                let log = g.broadcast_to(log, &made.shape);
                log_jacobian = Some(g.sum(log));
            }
            if let Some(offset) = *offset {
                value = g.add(offset, value);
            }
            (value, log_jacobian)
        }
        How::Transform(transform, _) if of_matrix(transform) && made.arrays > 0 => {
            let (arrays, matrix) = made.shape.extents().split_at(made.arrays);
            let count: usize = arrays.iter().product();
            let width = g.shape(z).extents().last().copied().unwrap_or(0);
            let rows = g.reshape(z, [count, width]);
            let matrix = Shape::from(matrix);
            let mut parts = Vec::with_capacity(count);
            let mut log_jacobian = None;
            for k in 0..count {
                let row = g.slice(rows, 0, k, k + 1);
                let row = g.reshape(row, [width]);
                let (value, log) = transform.constrain(g, row, &matrix);
                parts.push(g.reshape(value, Shape::from([1]).join(matrix.extents())));
                log_jacobian = match (log_jacobian, log) {
                    (Some(a), Some(b)) => Some(g.add(a, b)),
                    (a, b) => a.or(b),
                };
            }
            let value = if parts.is_empty() {
                g.filled(&made.shape, 0.0)
            } else {
                let all = g.concat(&parts, 0);
                g.reshape(all, made.shape.clone())
            };
            (value, log_jacobian)
        }
        How::Transform(transform, _) => transform.constrain(g, z, &made.shape),
    }
}

fn unconstrain(g: &mut Graph, made: &Made, x: NodeId) -> NodeId {
    match &made.how {
        How::Affine(offset, multiplier) => {
            let centred = offset.map_or(x, |offset| g.sub(x, offset));
            multiplier.map_or(centred, |multiplier| g.div(centred, multiplier))
        }
        How::Transform(transform, _) if of_matrix(transform) && made.arrays > 0 => {
            let (arrays, matrix) = made.shape.extents().split_at(made.arrays);
            let count: usize = arrays.iter().product();
            let all = g.reshape(x, Shape::from([count]).join(matrix));
            let mut parts = Vec::with_capacity(count);
            let mut width = 0;
            for k in 0..count {
                let one = g.slice(all, 0, k, k + 1);
                let one = g.reshape(one, Shape::from(matrix));
                let row = transform.unconstrain(g, one);
                width = g.shape(row).len();
                parts.push(g.reshape(row, [1, width]));
            }
            let shape = Shape::from(arrays).join(&[width]);
            if parts.is_empty() {
                return g.filled(&shape, 0.0);
            }
            let all = g.concat(&parts, 0);
            g.reshape(all, shape)
        }
        How::Transform(transform, _) => transform.unconstrain(g, x),
    }
}
