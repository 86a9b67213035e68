//! The log density of a program at one position, computed by the host: the oracle of the lowering.
//!
//! Parameters are constrained one leaf after the other, then the program's statements run on
//! values, one iteration at a time. Nothing is shared with the lowering but the library's densities
//! and the transforms of vectors and matrices.

use exmc_graph::{DType, Graph, Role, Shape, Tensor, evaluate};
use exmc_math::{exp, log, log_inv_logit, log1m_inv_logit};
use exmc_model::Transform;

use crate::check::types::is_complex;
use crate::host::by_type::Kinds;
use crate::host::declare::Extents;
use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome};
use crate::host::interpreter::Interpreter;
use crate::host::numeric::{from_complexes, real_slice};
use crate::source::Span;
use crate::typed::{Constraint, DeclaredType, Expr, Type};
use crate::value::{Numbers, Value, array_of_tuples};

impl Interpreter<'_> {
    /// The log density, in nats, at an unconstrained position, with log Jacobians and all constants
    /// (as if every `~` were `target += …_lpdf`), or without those that Stan leaves out
    /// ([`Settings::proportional`](crate::host::Settings)).
    ///
    /// `env` holds data and transformed data, and is given parameters and transformed parameters.
    /// **Layout**: parameters in declaration order, each one's unconstrained array row by row; of
    /// tuples slot by slot, also in arrays.
    ///
    /// # Errors
    /// Whatever goes wrong; recoverable errors are what Stan rejects a draw for.
    pub fn log_density(&mut self, env: &mut Environment, position: &[f64]) -> Outcome<f64> {
        self.proportional = self.settings.proportional;
        self.kinds = Kinds::default();
        let density = self.whole_density(env, position);
        self.proportional = false;
        density
    }

    fn whole_density(&mut self, env: &mut Environment, position: &[f64]) -> Outcome<f64> {
        self.start_draw(0, 0);
        let log_jacobian = self.constrain_parameters(env, position)?;
        self.transform_parameters(env)?;
        self.run(env, &self.program().model)?;
        Ok(log_jacobian + self.target())
    }

    /// Gives `env` the parameters at an unconstrained position, laid out as
    /// [`Self::log_density`] says, and returns the log Jacobian of their transforms.
    ///
    /// # Errors
    /// A position of another length, bounds that cannot be computed, transforms that are not
    /// defined there.
    pub fn constrain_parameters(
        &mut self,
        env: &mut Environment,
        position: &[f64],
    ) -> Outcome<f64> {
        let program = self.program();
        let (mut rest, mut log_jacobian) = (position, 0.0);
        for declaration in &program.parameters {
            let extents = self.extents(env, &declaration.ty)?;
            let value = self.constrain(env, &declaration.ty, &extents, &[], &mut rest)?;
            let (value, log) = value.map_err(|fault| fault.at(declaration.span))?;
            log_jacobian += log;
            env.set(declaration.variable, value);
        }
        if !rest.is_empty() {
            let message = format!("{} coordinates are left over", rest.len());
            return Err(Fault::size(message).at(Span::default()));
        }
        Ok(log_jacobian)
    }

    /// The value of a parameter from the next coordinates, and its log Jacobian; `outer` are the
    /// extents of arrays of tuples that it is a slot of.
    fn constrain(
        &mut self,
        env: &mut Environment,
        declared: &DeclaredType,
        extents: &Extents,
        outer: &[usize],
        rest: &mut &[f64],
    ) -> Outcome<Result<(Value, f64), Fault>> {
        let mut leaf = declared;
        while let DeclaredType::Array { element, .. } = leaf {
            leaf = element;
        }
        let (ty, constraint, leaf_shape) = match (leaf, extents) {
            (DeclaredType::Leaf { ty, constraint, .. }, Extents::Numbers(shape)) => {
                (ty, constraint, shape)
            }
            (DeclaredType::Tuple(parts), Extents::Tuple(slots)) => {
                return self.constrain_slots(env, parts, slots, outer, rest);
            }
            (DeclaredType::Tuple(parts), Extents::Tuples(shape, slots)) => {
                let outer = [outer, shape].concat();
                return self.constrain_slots(env, parts, slots, &outer, rest);
            }
            _ => return Ok(Err(Fault::size("extents of another type (a fault of exmc)"))),
        };
        let shape = &[outer, leaf_shape].concat();
        if is_complex(ty) {
            return Ok(complex_numbers(shape, rest).map(|value| (value, 0.0)));
        }
        if let Some(transform) = structural(constraint, ty) {
            return Ok(of_structure(&transform, ty, shape, rest));
        }
        let count = shape.iter().product();
        let Some((taken, others)) = rest.split_at_checked(count) else { return Ok(Err(short())) };
        *rest = others;
        let mut numbers = |it: &mut Self, e: Option<&Expr>| -> Outcome<Vec<f64>> {
            let Some(e) = e else { return Ok(Vec::new()) };
            let value = it.evaluate(env, e)?;
            real_slice(&value).map(|n| n.into_owned()).map_err(|fault| fault.at(e.span))
        };
        let (a, b) = match constraint {
            Constraint::Lower(a) => (Some(a), None),
            Constraint::Upper(b) => (None, Some(b)),
            Constraint::LowerUpper(a, b) => (Some(a), Some(b)),
            Constraint::OffsetMultiplier(a, b) => (a.as_ref(), b.as_ref()),
            _ => (None, None),
        };
        let (a, b) = (numbers(self, a)?, numbers(self, b)?);
        // One number for all elements, one for each element of a leaf, or one for each of all.
        let bound_at = |list: &[f64], k: usize| (!list.is_empty()).then(|| list[k % list.len()]);
        let affine = matches!(constraint, Constraint::OffsetMultiplier(..));
        let mut log_jacobian = 0.0;
        let mut values = Vec::with_capacity(count);
        for (k, z) in taken.iter().enumerate() {
            let (a, b) = (bound_at(&a, k), bound_at(&b, k));
            let (value, log) = if affine { moved(*z, a, b) } else { bounded(*z, a, b) };
            values.push(value);
            log_jacobian += log;
        }
        let value = match (shape.as_slice(), values.as_slice()) {
            ([], [x]) => Value::Real(*x),
            _ => Value::Reals(Numbers::new(shape.clone(), values)),
        };
        Ok(Ok((value, log_jacobian)))
    }

    /// The same for a tuple, or an array of them, whose extents are `outer`.
    fn constrain_slots(
        &mut self,
        env: &mut Environment,
        parts: &[DeclaredType],
        slots: &[Extents],
        outer: &[usize],
        rest: &mut &[f64],
    ) -> Outcome<Result<(Value, f64), Fault>> {
        let (mut values, mut log_jacobian) = (Vec::with_capacity(parts.len()), 0.0);
        for (part, extents) in parts.iter().zip(slots) {
            match self.constrain(env, part, extents, outer, rest)? {
                Ok((value, log)) => {
                    values.push(value);
                    log_jacobian += log;
                }
                Err(fault) => return Ok(Err(fault)),
            }
        }
        let value = match outer {
            [] => Value::Tuple(values),
            _ => array_of_tuples(outer.len(), &values),
        };
        Ok(Ok((value, log_jacobian)))
    }
}

/// Complex numbers from the next coordinates, real and imaginary part of each.
fn complex_numbers(shape: &[usize], rest: &mut &[f64]) -> Result<Value, Fault> {
    let count: usize = shape.iter().product();
    let (numbers, others) = rest.split_at_checked(2 * count).ok_or_else(short)?;
    *rest = others;
    let values = numbers.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    Ok(from_complexes(Numbers::new(shape, values)))
}

fn short() -> Fault {
    Fault::size("the position has too few coordinates")
}

/// $o + mz$
fn moved(z: f64, offset: Option<f64>, multiplier: Option<f64>) -> (f64, f64) {
    let m = multiplier.unwrap_or(1.0);
    (offset.unwrap_or(0.0) + m * z, log(m))
}

/// A number between bounds; those that are infinite are none, and none lies beside one that is NaN.
fn bounded(z: f64, low: Option<f64>, high: Option<f64>) -> (f64, f64) {
    let limit = |bound: Option<f64>| bound.filter(|b| !b.is_infinite());
    match (limit(low), limit(high)) {
        (None, None) => (z, 0.0),
        (Some(low), None) => (low + exp(z), z),
        (None, Some(high)) => (high - exp(z), z),
        (Some(low), Some(high)) => {
            let (log_p, log_q) = (log_inv_logit(z), log1m_inv_logit(z));
            (low + (high - low) * exp(log_p), log(high - low) + log_p + log_q)
        }
    }
}

/// The transform of a whole vector or matrix.
pub(crate) fn structural(constraint: &Constraint, ty: &Type) -> Option<Transform> {
    Some(match constraint {
        Constraint::Simplex | Constraint::RowStochastic => Transform::SimplexSoftmax,
        Constraint::ColumnStochastic => Transform::ColumnSimplex,
        Constraint::Ordered => Transform::Ordered,
        Constraint::PositiveOrdered => Transform::PositiveOrdered,
        Constraint::UnitVector => Transform::UnitVector,
        Constraint::SumToZero if ty.rank() == 1 => Transform::SumToZero,
        Constraint::SumToZero => Transform::SumToZeroMatrix,
        Constraint::CholeskyFactorCorr => Transform::CorrelationCholesky,
        Constraint::CholeskyFactorCov => Transform::CovarianceCholesky,
        Constraint::CorrMatrix => Transform::CorrelationMatrix,
        Constraint::CovMatrix => Transform::CovarianceMatrix,
        Constraint::None
        | Constraint::Lower(_)
        | Constraint::Upper(_)
        | Constraint::LowerUpper(..)
        | Constraint::OffsetMultiplier(..) => return None,
    })
}

/// An array of vectors or matrices, one after the other.
fn of_structure(
    transform: &Transform,
    ty: &Type,
    shape: &[usize],
    rest: &mut &[f64],
) -> Result<(Value, f64), Fault> {
    let (outer, inner) = shape.split_at(shape.len().saturating_sub(ty.rank()));
    let inner = Shape::from(inner);
    let count: usize = outer.iter().product();
    if count == 0 || inner.is_empty() {
        return Ok((Value::Reals(Numbers::new(shape, Vec::new())), 0.0));
    }
    let unconstrained = transform.unconstrained_shape(&inner).map_err(Fault::size)?;
    let failed = |error: &dyn std::fmt::Display| Fault::domain(error.to_string());
    let mut graph = Graph::new();
    let z = graph
        .input("z", Role::Parameter, unconstrained.clone(), DType::Real)
        .map_err(|error| failed(&error.message()))?;
    let (value, log) = transform.constrain(&mut graph, z, &inner);
    let log = log.unwrap_or_else(|| graph.scalar(0.0));
    let (mut values, mut log_jacobian) = (Vec::with_capacity(count * inner.len()), 0.0);
    for _ in 0..count {
        let (numbers, others) = rest.split_at_checked(unconstrained.len()).ok_or_else(short)?;
        *rest = others;
        let input = |_: &str| Tensor::real(unconstrained.clone(), numbers);
        let found = evaluate(&graph, &[value, log], &input).map_err(|error| failed(&error))?;
        values.extend_from_slice(found[0].values());
        log_jacobian += found[1].as_scalar().unwrap_or(f64::NAN);
    }
    Ok((Value::Reals(Numbers::new(shape, values)), log_jacobian))
}
