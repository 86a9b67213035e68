//! Declarations: sizes of a declared type, its value before assignment, its constraints checked.

use std::fmt::Write;

use crate::host::constraint::check_structure;
use crate::host::environment::Environment;
use crate::host::error::{Fault, FaultKind, Outcome};
use crate::host::index::show_shape;
use crate::host::interpreter::Interpreter;
use crate::host::numeric::real_slice;
use crate::typed::{Constraint, DeclaredType, Expr, Type};
use crate::value::{Complex, Numbers, UNSET_INT, Value};

/// The most elements that one value may have: a gibibyte of numbers.
pub const MAX_ELEMENTS: usize = 1 << 27;

/// Sizes of a declared type, known.
#[derive(Clone, Debug, PartialEq)]
pub enum Extents {
    /// Numbers: extents of arrays, then of the vector or matrix.
    Numbers(Vec<usize>),
    /// A tuple's slots.
    Tuple(Vec<Extents>),
    /// An array of tuples: the array's extents, the slots of every element.
    Tuples(Vec<usize>, Vec<Extents>),
}

/// A step from a value to a part of it, as users count: from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An index.
    Index(usize),
    /// A tuple's slot.
    Slot(usize),
}

/// A constraint that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Which part of the value.
    pub path: Vec<Step>,
    /// What is wrong with it, to be read after its name.
    pub message: String,
}

impl Violation {
    /// The sentence, of the variable of that name.
    pub fn sentence(&self, name: &str) -> String {
        format!("{} {}", show_path(name, &self.path), self.message)
    }
}

/// `` `x[2, 1].3` ``
pub fn show_path(name: &str, path: &[Step]) -> String {
    let mut out = format!("`{name}");
    let mut open = false;
    for step in path {
        match step {
            Step::Index(k) => {
                let before = if open { ", " } else { "[" };
                write!(out, "{before}{k}").expect("a string takes everything");
                open = true;
            }
            Step::Slot(k) => {
                let close = if open { "]" } else { "" };
                write!(out, "{close}.{k}").expect("a string takes everything");
                open = false;
            }
        }
    }
    if open {
        out.push(']');
    }
    out.push('`');
    out
}

/// The number of elements of a shape.
///
/// # Errors
/// More than [`MAX_ELEMENTS`].
pub fn checked_len(shape: &[usize]) -> Result<usize, Fault> {
    let len = shape.iter().try_fold(1_usize, |len, extent| len.checked_mul(*extent));
    // A zero anywhere makes any other extents harmless.
    let len = if shape.contains(&0) { Some(0) } else { len };
    len.filter(|len| *len <= MAX_ELEMENTS).ok_or_else(|| {
        let message = format!(
            "a value of {} is too large; the limit is {MAX_ELEMENTS} elements",
            show_shape(shape)
        );
        Fault::new(FaultKind::Limit, message)
    })
}

impl Interpreter<'_> {
    /// The sizes of a declared type, evaluated.
    ///
    /// # Errors
    /// A negative size, one that is too large, or whatever evaluating it brings.
    pub fn extents(&mut self, env: &mut Environment, declared: &DeclaredType) -> Outcome<Extents> {
        match declared {
            DeclaredType::Leaf { sizes, constraint, .. } => {
                let shape = self.sizes(env, sizes)?;
                let needs_one = matches!(constraint, Constraint::Simplex | Constraint::UnitVector);
                if needs_one && shape == [0] {
                    let message = "a simplex or unit vector needs at least one element";
                    return Err(Fault::domain(message).at(sizes[0].span));
                }
                Ok(Extents::Numbers(shape))
            }
            DeclaredType::Array { sizes, element } => {
                let mut outer = self.sizes(env, sizes)?;
                Ok(match self.extents(env, element)? {
                    Extents::Numbers(inner) => {
                        outer.extend(inner);
                        if let (Err(fault), Some(size)) = (checked_len(&outer), sizes.first()) {
                            return Err(fault.at(size.span));
                        }
                        Extents::Numbers(outer)
                    }
                    Extents::Tuple(slots) => Extents::Tuples(outer, slots),
                    Extents::Tuples(inner, slots) => {
                        outer.extend(inner);
                        Extents::Tuples(outer, slots)
                    }
                })
            }
            DeclaredType::Tuple(slots) => {
                let slots: Outcome<Vec<Extents>> =
                    slots.iter().map(|slot| self.extents(env, slot)).collect();
                slots.map(Extents::Tuple)
            }
        }
    }

    fn sizes(&mut self, env: &mut Environment, sizes: &[Expr]) -> Outcome<Vec<usize>> {
        let mut shape = Vec::with_capacity(sizes.len());
        for size in sizes {
            let value = self.int(env, size)?;
            let extent = usize::try_from(value).map_err(|_| {
                Fault::size(format!("the size is {value}, but must not be negative")).at(size.span)
            })?;
            shape.push(extent);
        }
        if let (Err(fault), Some(size)) = (checked_len(&shape), sizes.first()) {
            return Err(fault.at(size.span));
        }
        Ok(shape)
    }

    /// Checks a value against the constraints of its declared type.
    ///
    /// # Errors
    /// The outer error is a failure to evaluate a bound; the inner one is the first violation.
    pub fn check_constraints(
        &mut self,
        env: &mut Environment,
        declared: &DeclaredType,
        value: &Value,
    ) -> Outcome<Result<(), Violation>> {
        let mut path = Vec::new();
        self.check_part(env, declared, value, &mut path)
    }

    fn check_part(
        &mut self,
        env: &mut Environment,
        declared: &DeclaredType,
        value: &Value,
        path: &mut Vec<Step>,
    ) -> Outcome<Result<(), Violation>> {
        match (declared, value) {
            (DeclaredType::Tuple(parts), Value::Tuple(slots)) => {
                for (k, (part, slot)) in parts.iter().zip(slots).enumerate() {
                    path.push(Step::Slot(k + 1));
                    let found = self.check_part(env, part, slot, path)?;
                    if found.is_err() {
                        return Ok(found);
                    }
                    path.pop();
                }
                Ok(Ok(()))
            }
            (DeclaredType::Array { element, .. }, Value::Tuples(n)) => {
                let DeclaredType::Tuple(_) = **element else {
                    return self.check_part(env, element, value, path);
                };
                for (k, tuple) in n.values.iter().enumerate() {
                    let depth = path.len();
                    path.extend(coordinates(&n.shape, k));
                    let found = self.check_part(env, element, tuple, path)?;
                    if found.is_err() {
                        return Ok(found);
                    }
                    path.truncate(depth);
                }
                Ok(Ok(()))
            }
            (DeclaredType::Array { element, .. }, _) => self.check_part(env, element, value, path),
            (DeclaredType::Leaf { ty, constraint, .. }, _) => {
                self.check_leaf(env, ty, constraint, value, path)
            }
            (DeclaredType::Tuple(_), _) => Ok(Ok(())),
        }
    }

    fn check_leaf(
        &mut self,
        env: &mut Environment,
        ty: &Type,
        constraint: &Constraint,
        value: &Value,
        path: &[Step],
    ) -> Outcome<Result<(), Violation>> {
        let (lower, upper) = match constraint {
            Constraint::None | Constraint::OffsetMultiplier(..) => return Ok(Ok(())),
            Constraint::Lower(lower) => (Some(lower), None),
            Constraint::Upper(upper) => (None, Some(upper)),
            Constraint::LowerUpper(lower, upper) => (Some(lower), Some(upper)),
            _ => return Ok(structure(ty, constraint, value, path)),
        };
        let (lower, upper) = (
            lower.map(|bound| self.value(env, bound)).transpose()?,
            upper.map(|bound| self.value(env, bound)).transpose()?,
        );
        let Ok(values) = real_slice(value) else { return Ok(Ok(())) };
        let list = |bound: Option<Value>| {
            bound.map(|b| real_slice(&b).map(std::borrow::Cow::into_owned).unwrap_or_default())
        };
        let (lower, upper) = (list(lower), list(upper));
        // A bound has one element, those of the leaf, or those of the whole variable.
        let bound_at = |bound: &Option<Vec<f64>>, k: usize| match bound {
            Some(b) if !b.is_empty() => Some(b[k % b.len()]),
            _ => None,
        };
        // Most bounds are one number that all values keep, which is seen quickest without branches.
        if all_keep(&values, lower.as_deref(), |x, bound| x >= bound)
            && all_keep(&values, upper.as_deref(), |x, bound| x <= bound)
        {
            return Ok(Ok(()));
        }
        for (k, x) in values.iter().enumerate() {
            let (low, high) = (bound_at(&lower, k), bound_at(&upper, k));
            let message = match (low, high) {
                // Written so that NaN fails.
                (Some(low), _) if !(*x >= low) => {
                    format!("is {}, but must be at least {low}", Shown(*x))
                }
                (_, Some(high)) if !(*x <= high) => {
                    format!("is {}, but must be at most {high}", Shown(*x))
                }
                _ => continue,
            };
            let path = path.iter().copied().chain(coordinates(value.shape(), k)).collect();
            return Ok(Err(Violation { path, message }));
        }
        Ok(Ok(()))
    }
}

/// Whether values keep a bound that is absent or one number; `false` also for other bounds.
fn all_keep(values: &[f64], bound: Option<&[f64]>, keeps: impl Fn(f64, f64) -> bool) -> bool {
    match bound {
        None | Some([]) => true,
        Some(&[bound]) => values.iter().filter(|x| keeps(**x, bound)).count() == values.len(),
        Some(_) => false,
    }
}

/// A number, with what an integer that was never assigned holds by name.
struct Shown(f64);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 == UNSET_INT as f64 {
            write!(f, "unassigned ({UNSET_INT})")
        } else if self.0.is_nan() {
            write!(f, "nan")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// Checks each vector or matrix of a container.
fn structure(
    ty: &Type,
    constraint: &Constraint,
    value: &Value,
    path: &[Step],
) -> Result<(), Violation> {
    let Value::Reals(numbers) = value else { return Ok(()) };
    let (outer, leaf) = numbers.shape.split_at(numbers.shape.len().saturating_sub(ty.rank()));
    let extents = match leaf {
        [rows, columns] => (*rows, *columns),
        [rows] => (*rows, 1),
        _ => (1, 1),
    };
    let size = extents.0 * extents.1;
    for k in 0..outer.iter().product() {
        let block = &numbers.values[k * size..(k + 1) * size];
        if let Err(message) = check_structure(constraint, block, extents) {
            let path = path.iter().copied().chain(coordinates(outer, k)).collect();
            return Err(Violation { path, message });
        }
    }
    Ok(())
}

/// The indices, from 1, of element `flat` of a row-major container.
pub(crate) fn coordinates(shape: &[usize], flat: usize) -> Vec<Step> {
    let mut steps = vec![Step::Index(1); shape.len()];
    let mut rest = flat;
    for (step, extent) in steps.iter_mut().zip(shape).rev() {
        *step = Step::Index(rest % extent + 1);
        rest /= extent;
    }
    steps
}

/// The value of a variable of those sizes before it is assigned: NaN, or [`UNSET_INT`] for
/// integers.
pub fn unset(ty: &Type, extents: &Extents) -> Value {
    match (extents, ty.array_parts().1) {
        (Extents::Numbers(shape), _) => Value::unset(ty, shape),
        (Extents::Tuple(slots), Type::Tuple(types)) => unset_tuple(types, slots),
        (Extents::Tuples(shape, slots), Type::Tuple(types)) => {
            Value::Tuples(Numbers::filled(shape.clone(), unset_tuple(types, slots)))
        }
        // The checker made type and declaration together.
        _ => Value::Complex(Complex::from([f64::NAN; 2])),
    }
}

fn unset_tuple(types: &[Type], slots: &[Extents]) -> Value {
    Value::Tuple(types.iter().zip(slots).map(|(ty, extents)| unset(ty, extents)).collect())
}

/// The extents of a value that was assigned.
pub fn extents_of(value: &Value) -> Extents {
    match value {
        Value::Tuple(slots) => Extents::Tuple(slots.iter().map(extents_of).collect()),
        Value::Tuples(n) => {
            let slots = match n.values.first() {
                Some(Value::Tuple(slots)) => slots.iter().map(extents_of).collect(),
                _ => Vec::new(),
            };
            Extents::Tuples(n.shape.clone(), slots)
        }
        _ => Extents::Numbers(value.shape().to_vec()),
    }
}
