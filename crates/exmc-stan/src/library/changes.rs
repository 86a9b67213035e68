//! Changes of variables as functions: `X_constrain`, `X_unconstrain`, and the term that
//! `X_jacobian` adds.
//!
//! `X_jacobian(…)` is `X_constrain(…)` and a term of the density, which goes by the name
//! `X_log_jacobian` here: no program can write that. **Reference**: Stan reference manual,
//! "Constraint transforms"; functions reference, "Variable transformation functions".

use exmc_graph::{Graph, NodeId, Shape};
use exmc_model::Transform;

use super::align::{align, elementwise, size};
use super::limits::Limits;
use super::{Answer, Argument, LibraryError, Output};
use crate::typed::Type;

/// What is asked of a change of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Value,
    Inverse,
    LogJacobian,
}

/// The name without `_jacobian`, for the library's functions that add to the density.
pub(crate) fn adds_jacobian(name: &str) -> Option<&str> {
    let base = name.strip_suffix("_jacobian")?;
    let is_known = is_elementwise(base) || structure(base, &Type::Vector).is_some();
    is_known.then_some(base)
}

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    let forms = [
        ("_constrain", Asked::Value),
        ("_unconstrain", Asked::Inverse),
        ("_log_jacobian", Asked::LogJacobian),
    ];
    let found = forms.iter().find_map(|(end, asked)| Some((name.strip_suffix(end)?, *asked)));
    let (base, asked) = found?;
    let (first, sizes) = args.split_first()?;
    if is_elementwise(base) {
        return Some(by_element(g, base, asked, args));
    }
    let (transform, rank) = structure(base, first.ty.array_parts().1)?;
    if rank == 0 {
        return Some(of_matrices(g, name, (&transform, asked), args, sizes.len()));
    }
    Some(of_axes(g, (&transform, asked), first))
}

fn is_elementwise(base: &str) -> bool {
    matches!(base, "lower_bound" | "upper_bound" | "lower_upper_bound" | "offset_multiplier")
}

/// Each element for itself.
fn by_element(
    g: &mut Graph,
    base: &str,
    asked: Asked,
    args: &[Argument],
) -> Result<Output, LibraryError> {
    let limits = |g: &mut Graph, x: &[NodeId]| match base {
        "lower_bound" => Some(Limits::new(g, Some(x[1]), None)),
        "upper_bound" => Some(Limits::new(g, None, Some(x[1]))),
        "lower_upper_bound" => Some(Limits::new(g, Some(x[1]), Some(x[2]))),
        _ => None,
    };
    match asked {
        Asked::Value => elementwise(g, args, |g, x| match limits(g, x) {
            Some(limits) => limits.constrain(g, x[0]),
            None => {
                let scaled = g.mul(x[2], x[0]);
                g.add(x[1], scaled)
            }
        }),
        Asked::Inverse => elementwise(g, args, |g, x| match limits(g, x) {
            Some(limits) => limits.unconstrain(g, x[0]),
            None => {
                let shift = g.sub(x[0], x[1]);
                g.div(shift, x[2])
            }
        }),
        Asked::LogJacobian => {
            one_lane(args)?;
            let aligned = align(g, args, &vec![0; args.len()])?;
            let x = aligned.nodes;
            let log = match limits(g, &x) {
                Some(limits) => limits.log_slope(g, x[0]),
                None => g.log(x[2]),
            };
            let each = g.broadcast_to(log, &aligned.shape);
            Ok(Output::new(g.sum(each), false))
        }
    }
}

/// The transform of a whole vector or matrix, and how many axes of its unconstrained array it
/// changes: none where that array is a vector and the value a matrix.
fn structure(base: &str, ty: &Type) -> Option<(Transform, usize)> {
    let is_matrix = *ty == Type::Matrix;
    Some(match base {
        "ordered" => (Transform::Ordered, 1),
        "positive_ordered" => (Transform::PositiveOrdered, 1),
        "simplex" | "stochastic_row" => (Transform::SimplexSoftmax, 1),
        "unit_vector" => (Transform::UnitVector, 1),
        "sum_to_zero" if is_matrix => (Transform::SumToZeroMatrix, 2),
        "sum_to_zero" => (Transform::SumToZero, 1),
        "stochastic_column" => (Transform::ColumnSimplex, 2),
        "cholesky_factor_corr" => (Transform::CorrelationCholesky, 0),
        "cholesky_factor_cov" => (Transform::CovarianceCholesky, 0),
        "corr_matrix" => (Transform::CorrelationMatrix, 0),
        "cov_matrix" => (Transform::CovarianceMatrix, 0),
        _ => return None,
    })
}

/// Transforms along the last axes, whatever stands before them.
fn of_axes(
    g: &mut Graph,
    (transform, asked): (&Transform, Asked),
    x: &Argument,
) -> Result<Output, LibraryError> {
    let found = g.shape(x.node).clone();
    if asked == Asked::Inverse {
        let free = transform.unconstrained_shape(&found).map_err(LibraryError::Mistake)?;
        let node = match free.is_empty() {
            true => g.filled(&free, 0.0),
            false => transform.unconstrain(g, x.node),
        };
        return Ok(Output::new(node, x.batched));
    }
    let mut extents = found.extents().to_vec();
    let (last, before) = (extents.len() - 1, extents.len().saturating_sub(2));
    match transform {
        Transform::SimplexSoftmax | Transform::SumToZero => extents[last] += 1,
        Transform::ColumnSimplex => extents[before] += 1,
        Transform::SumToZeroMatrix => {
            extents[last] += 1;
            extents[before] += 1;
        }
        _ => {}
    }
    let shape = Shape::from(extents);
    if asked == Asked::LogJacobian && x.batched {
        return Err(LibraryError::Unbatchable);
    }
    // A simplex of one element is one, all others without free coordinates are zero or empty.
    let is_simplex = matches!(transform, Transform::SimplexSoftmax | Transform::ColumnSimplex);
    let (value, log) = match found.is_empty() {
        true => (g.filled(&shape, f64::from(u8::from(is_simplex))), None),
        false => transform.constrain(g, x.node, &shape),
    };
    match asked {
        Asked::LogJacobian => Ok(Output::new(log.unwrap_or_else(|| g.scalar(0.0)), false)),
        _ => Ok(Output::new(value, x.batched)),
    }
}

/// Transforms between a vector and a matrix, one after the other for arrays of them.
fn of_matrices(
    g: &mut Graph,
    name: &str,
    (transform, asked): (&Transform, Asked),
    args: &[Argument],
    sizes: usize,
) -> Result<Output, LibraryError> {
    one_lane(args)?;
    let x = &args[0];
    let extents = x.extents(g).to_vec();
    let (outer, inner) =
        extents.split_at(extents.len() - if asked == Asked::Inverse { 2 } else { 1 });
    let inner = Shape::from(inner);
    let (matrix, free) = if asked == Asked::Inverse {
        let free = transform.unconstrained_shape(&inner).map_err(LibraryError::Mistake)?;
        (inner.clone(), free)
    } else {
        let rows = size(g, args, 1)?;
        let columns = if sizes == 2 { size(g, args, 2)? } else { rows };
        let matrix = Shape::from([rows, columns]);
        let free = transform.unconstrained_shape(&matrix).map_err(LibraryError::Mistake)?;
        if free != inner {
            let (needed, found) = (free.len(), inner.len());
            return Err(LibraryError::Mistake(format!(
                "`{name}` needs a vector of {needed} elements for {rows} rows, found {found}"
            )));
        }
        (matrix, free)
    };
    let count: usize = outer.iter().product();
    let list = g.reshape(x.node, Shape::from([count]).join(inner.extents()));
    let result = if asked == Asked::Inverse { &free } else { &matrix };
    let (mut found, mut log) = (Vec::with_capacity(count), g.scalar(0.0));
    for k in 0..count {
        let one = g.slice(list, 0, k, k + 1);
        let one = g.reshape(one, inner.clone());
        let value = match asked {
            Asked::Inverse if free.is_empty() => g.filled(&free, 0.0),
            Asked::Inverse => transform.unconstrain(g, one),
            // One row and column of a correlation matrix.
            _ if free.is_empty() => g.filled(&matrix, 1.0),
            _ => {
                let (value, log_jacobian) = transform.constrain(g, one, &matrix);
                if let Some(log_jacobian) = log_jacobian {
                    log = g.add(log, log_jacobian);
                }
                value
            }
        };
        found.push(g.reshape(value, Shape::from([1]).join(result.extents())));
    }
    if asked == Asked::LogJacobian {
        return Ok(Output::new(log, false));
    }
    let shape = Shape::from(outer).join(result.extents());
    let node = match found.as_slice() {
        [] => g.filled(&shape, 0.0),
        all => {
            let all = g.concat(all, 0);
            g.reshape(all, shape)
        }
    };
    Ok(Output::new(node, false))
}

fn one_lane(args: &[Argument]) -> Result<(), LibraryError> {
    if args.iter().any(|arg| arg.batched) { Err(LibraryError::Unbatchable) } else { Ok(()) }
}
