//! Coordinates -> constrained parameters on the tape, with their log Jacobians.

use exmc_graph::Shape;
use exmc_math::{exp, inv_logit, log, log_inv_logit, log1m_inv_logit};
use exmc_model::Transform;

use crate::check::types::is_complex;
use crate::host::declare::Extents;
use crate::host::error::{Fault, Outcome};
use crate::host::log_density::structural;
use crate::typed::{Constraint, DeclaredType, Expr, Type};
use crate::value::{Value, array_of_tuples};

use super::Tracer;
use super::arithmetic::{all_places, reals};
use super::record::Id;
use super::traced::{Traced, in_form};

/// Coordinates that are left, with their places.
pub(super) struct Rest<'r> {
    pub(super) numbers: &'r [f64],
    pub(super) places: &'r [Id],
}

impl<'r> Rest<'r> {
    fn take(&mut self, count: usize) -> Result<(&'r [f64], &'r [Id]), Fault> {
        let short = || Fault::size("the position has too few coordinates");
        let (taken, numbers) = self.numbers.split_at_checked(count).ok_or_else(short)?;
        let (ids, places) = self.places.split_at(count);
        (self.numbers, self.places) = (numbers, places);
        Ok((taken, ids))
    }
}

/// One number for all elements, one for each element of a leaf, or one for each of all; with
/// places.
type Bound = Vec<(f64, Id)>;

fn bound_at(bound: &Bound, k: usize) -> Option<(f64, Id)> {
    (!bound.is_empty()).then(|| bound[k % bound.len()])
}

impl Tracer<'_> {
    /// The value of a parameter from the next coordinates; `outer` are the extents of arrays of
    /// tuples that it is a slot of.
    pub(super) fn constrain(
        &mut self,
        declared: &DeclaredType,
        extents: &Extents,
        outer: &[usize],
        rest: &mut Rest<'_>,
    ) -> Outcome<Result<Traced, Fault>> {
        let mut leaf = declared;
        while let DeclaredType::Array { element, .. } = leaf {
            leaf = element;
        }
        let (ty, constraint, leaf_shape) = match (leaf, extents) {
            (DeclaredType::Leaf { ty, constraint, .. }, Extents::Numbers(shape)) => {
                (ty, constraint, shape)
            }
            (DeclaredType::Tuple(parts), Extents::Tuple(slots)) => {
                return self.constrain_slots(parts, slots, outer, rest);
            }
            (DeclaredType::Tuple(parts), Extents::Tuples(shape, slots)) => {
                return self.constrain_slots(parts, slots, &[outer, shape].concat(), rest);
            }
            _ => return Ok(Err(Fault::size("extents of another type (a fault of exmc)"))),
        };
        let shape = [outer, leaf_shape].concat();
        if !is_complex(ty)
            && let Some(transform) = structural(constraint, ty)
        {
            return Ok(self.of_structure(&transform, ty, &shape, rest));
        }
        // Complex numbers have no constraint.
        let (a, b) = match constraint {
            Constraint::Lower(a) => (Some(a), None),
            Constraint::Upper(b) => (None, Some(b)),
            Constraint::LowerUpper(a, b) => (Some(a), Some(b)),
            Constraint::OffsetMultiplier(a, b) => (a.as_ref(), b.as_ref()),
            _ => (None, None),
        };
        let (a, b) = (self.bound(a)?, self.bound(b)?);
        let form = Value::unset(&Type::array(ty.clone(), shape.len() - ty.rank()), &shape);
        let count = reals(&form).len();
        let (numbers, ids) = match rest.take(count) {
            Ok(taken) => taken,
            Err(fault) => return Ok(Err(fault)),
        };
        let affine = matches!(constraint, Constraint::OffsetMultiplier(..));
        let (mut values, mut places) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (k, (z, id)) in numbers.iter().zip(ids).enumerate() {
            let (a, b) = (bound_at(&a, k), bound_at(&b, k));
            let (x, id) = match affine {
                true => self.moved((*z, *id), a, b),
                false => self.bounded((*z, *id), a, b),
            };
            values.push(x);
            places.push(f64::from(id));
        }
        let mut rest = values.iter();
        let value = in_form(&form, &mut || rest.next().copied().unwrap_or(f64::NAN));
        Ok(Ok(Traced::with(value, &places)))
    }

    fn bound(&mut self, e: Option<&Expr>) -> Outcome<Bound> {
        let Some(e) = e else { return Ok(Vec::new()) };
        let value = self.trace(e)?;
        let values = reals(&value.value);
        let ids = all_places(&value, values.len());
        Ok(values.into_iter().zip(ids).collect())
    }

    fn log_jacobian(&mut self, x: f64, edges: &[(Id, f64)]) {
        if self.jacobian {
            let id = self.tape.many(edges.iter().copied());
            self.add_to_target(x, id);
        }
    }

    /// $o + mz$
    fn moved(
        &mut self,
        (z, id): (f64, Id),
        offset: Option<(f64, Id)>,
        multiplier: Option<(f64, Id)>,
    ) -> (f64, Id) {
        let ((o, i), (m, j)) = (offset.unwrap_or((0.0, 0)), multiplier.unwrap_or((1.0, 0)));
        self.log_jacobian(log(m), &[(j, 1.0 / m)]);
        (o + m * z, self.tape.many([(i, 1.0), (j, z), (id, m)]))
    }

    /// A number between bounds; those that are infinite are none.
    fn bounded(
        &mut self,
        (z, id): (f64, Id),
        low: Option<(f64, Id)>,
        high: Option<(f64, Id)>,
    ) -> (f64, Id) {
        let limit = |bound: Option<(f64, Id)>| bound.filter(|(b, _)| !b.is_infinite());
        match (limit(low), limit(high)) {
            (None, None) => (z, id),
            (Some((low, i)), None) => {
                self.log_jacobian(z, &[(id, 1.0)]);
                (low + exp(z), self.tape.two((i, 1.0), (id, exp(z))))
            }
            (None, Some((high, j))) => {
                self.log_jacobian(z, &[(id, 1.0)]);
                (high - exp(z), self.tape.two((j, 1.0), (id, -exp(z))))
            }
            (Some((low, i)), Some((high, j))) => {
                let (log_p, log_q) = (log_inv_logit(z), log1m_inv_logit(z));
                let (p, q, width) = (inv_logit(z), inv_logit(-z), high - low);
                let slope = 1.0 / width;
                self.log_jacobian(
                    log(width) + log_p + log_q,
                    &[(id, q - p), (i, -slope), (j, slope)],
                );
                (low + width * exp(log_p), self.tape.many([(id, width * p * q), (i, q), (j, p)]))
            }
        }
    }

    /// An array of vectors or matrices, one after the other.
    fn of_structure(
        &mut self,
        transform: &Transform,
        ty: &Type,
        shape: &[usize],
        rest: &mut Rest<'_>,
    ) -> Result<Traced, Fault> {
        let (outer, inner) = shape.split_at(shape.len().saturating_sub(ty.rank()));
        let inner = Shape::from(inner);
        let count: usize = outer.iter().product();
        let form = Value::unset(&Type::array(ty.clone(), outer.len()), shape);
        if count == 0 || inner.is_empty() {
            return Ok(Traced::known(form));
        }
        let unconstrained = transform.unconstrained_shape(&inner).map_err(Fault::size)?;
        let (mut values, mut places) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (taken, ids) = rest.take(unconstrained.len())?;
            let found = self.transform(transform, taken, ids, (&unconstrained, &inner))?;
            let (constrained, first, log, by) = found;
            places.extend((0..constrained.len()).map(|k| f64::from(first) + k as f64));
            values.extend(constrained);
            if self.jacobian {
                self.add_to_target(log, by);
            }
        }
        let mut rest = values.iter();
        let value = in_form(&form, &mut || rest.next().copied().unwrap_or(f64::NAN));
        Ok(Traced::with(value, &places))
    }

    /// The same for a tuple, or an array of them, whose extents are `outer`.
    fn constrain_slots(
        &mut self,
        parts: &[DeclaredType],
        slots: &[Extents],
        outer: &[usize],
        rest: &mut Rest<'_>,
    ) -> Outcome<Result<Traced, Fault>> {
        let (mut values, mut ids) = (Vec::new(), Vec::new());
        for (part, extents) in parts.iter().zip(slots) {
            match self.constrain(part, extents, outer, rest)? {
                Ok(slot) => {
                    ids.push(slot.places());
                    values.push(slot.value);
                }
                Err(fault) => return Ok(Err(fault)),
            }
        }
        let joined = |slots: Vec<Value>| match outer {
            [] => Value::Tuple(slots),
            _ => array_of_tuples(outer.len(), &slots),
        };
        Ok(Ok(Traced { value: joined(values), ids: Some(joined(ids)) }))
    }
}
