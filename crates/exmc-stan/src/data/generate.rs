//! A typed program -> made-up data that fit its declarations, as JSON.
//!
//! For programs that have no data at hand: sizes are small and differ, values satisfy their
//! constraints. A declaration does not say all that a program expects (an outcome that is zero or
//! one, times that increase), so the seed also chooses how to fill what is free; who needs data
//! that a program accepts tries one seed after the other. All combinations of the ways come within
//! [`WAYS`] seeds.

mod structure;

use exmc_math::random::{ChainRng, Phase};

use super::write::write_data;
use crate::diagnostic::Diagnostic;
use crate::host::{Environment, Extents, Fault, Interpreter, Outcome, Settings};
use crate::typed::{Constraint, DeclaredType, Expr, Program, Type};
use crate::value::{Numbers, Value};

/// Ways to choose sizes.
const SIZES: u64 = 7;
/// Ways to fill arrays of integers.
const COUNTS: u64 = 5;
/// Ways to fill real numbers.
const REALS: u64 = 4;

/// Seeds after which the ways to fill repeat (with other random numbers).
pub const WAYS: u64 = SIZES * COUNTS * REALS;

/// Data for a program. The same program and seed give the same text, for
/// [`read_data`](super::read_data).
///
/// Scalars that are integers without an upper bound are taken for sizes: 2 to 7, differing where
/// the seed's way allows, or their lower bound. Sizes and bounds are evaluated in the order of
/// declarations.
///
/// # Errors
/// A size or bound that cannot be evaluated, or a declaration that excludes every value under the
/// sizes that were chosen; other seeds may do better.
pub fn generate_data(program: &Program, seed: u64) -> Result<String, Diagnostic> {
    let mut filling = Filling {
        host: Interpreter::new(program, Settings::default()),
        env: Environment::new(program),
        rng: ChainRng::new(seed, 0, Phase::Predictive),
        seed,
        sizes: 0,
        least: i64::MAX,
    };
    for declaration in &program.data {
        let variable = program.variable(declaration.variable);
        let extents = filling.host.extents(&mut filling.env, &declaration.ty)?;
        let value = filling.value(&declaration.ty, &variable.ty, &extents)?;
        // Bounds may exclude every value, and a matrix's sizes its constraint.
        let fits = filling.host.check_constraints(&mut filling.env, &declaration.ty, &value)?;
        if let Err(violation) = fits {
            let message = format!("no value was found: {}", violation.sentence(&variable.name));
            return Err(Fault::domain(message).at(declaration.span).into());
        }
        filling.env.set(declaration.variable, value);
    }
    Ok(write_data(program, &filling.env))
}

struct Filling<'p> {
    host: Interpreter<'p>,
    /// What was chosen so far.
    env: Environment,
    rng: ChainRng,
    seed: u64,
    /// Sizes chosen so far.
    sizes: u64,
    /// The smallest of them.
    least: i64,
}

/// Bounds of a variable's elements: absent, one for all, or a list that repeats.
struct Bounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Bounds {
    fn element_bounds(&self, k: usize) -> (Option<f64>, Option<f64>) {
        let bound_of = |list: &[f64]| {
            let bound = (!list.is_empty()).then(|| list[k % list.len()]);
            bound.filter(|b| b.is_finite())
        };
        (bound_of(&self.lower), bound_of(&self.upper))
    }
}

impl Filling<'_> {
    fn value(&mut self, declared: &DeclaredType, ty: &Type, extents: &Extents) -> Outcome<Value> {
        match (declared, extents) {
            (DeclaredType::Array { element, .. }, Extents::Tuples(shape, slots)) => {
                let tuple = Extents::Tuple(slots.clone());
                let mut innermost = &**element;
                while let DeclaredType::Array { element, .. } = innermost {
                    innermost = element;
                }
                let inner = ty.array_parts().1;
                let count = shape.iter().product();
                let all: Outcome<Vec<Value>> =
                    (0..count).map(|_| self.value(innermost, inner, &tuple)).collect();
                Ok(Value::Tuples(Numbers::new(shape.clone(), all?)))
            }
            (DeclaredType::Tuple(parts), Extents::Tuple(slots)) => {
                let Type::Tuple(types) = ty else { return Ok(Value::Tuple(Vec::new())) };
                let each = parts.iter().zip(types).zip(slots);
                let all: Outcome<Vec<Value>> =
                    each.map(|((part, ty), slot)| self.value(part, ty, slot)).collect();
                all.map(Value::Tuple)
            }
            (DeclaredType::Array { element, .. }, _) => self.value(element, ty, extents),
            (DeclaredType::Leaf { ty: leaf, constraint, .. }, Extents::Numbers(shape)) => {
                self.numbers(leaf, constraint, shape)
            }
            // The checker made type and declaration together.
            _ => Ok(Value::Tuple(Vec::new())),
        }
    }

    fn numbers(&mut self, leaf: &Type, constraint: &Constraint, shape: &[usize]) -> Outcome<Value> {
        let count: usize = shape.iter().product();
        let (lower, upper) = match constraint {
            Constraint::Lower(lower) => (Some(lower), None),
            Constraint::Upper(upper) => (None, Some(upper)),
            Constraint::LowerUpper(lower, upper) => (Some(lower), Some(upper)),
            _ => (None, None),
        };
        let bounds = Bounds { lower: self.bound(lower)?, upper: self.bound(upper)? };
        if *leaf == Type::Int {
            if shape.is_empty() {
                return Ok(Value::Int(self.size(bounds.element_bounds(0))));
            }
            let values = (0..count).map(|k| self.count(k, bounds.element_bounds(k))).collect();
            return Ok(Value::Ints(Numbers::new(shape, values)));
        }
        if let Type::Complex | Type::ComplexVector | Type::ComplexRowVector | Type::ComplexMatrix =
            leaf
        {
            let part = (None, None);
            let mut values =
                (0..count).map(|k| [self.real(k, count, part), self.real(k, count, part)]);
            return Ok(match (shape, values.next()) {
                ([], Some(value)) => Value::Complex(value),
                (_, first) => {
                    let values = first.into_iter().chain(values).collect();
                    Value::Complexes(Numbers::new(shape, values))
                }
            });
        }
        let (outer, inner) = shape.split_at(shape.len() - leaf.rank().min(shape.len()));
        let (rows, columns) = match inner {
            [rows, columns] => (*rows, *columns),
            [rows] => (*rows, 1),
            _ => (1, 1),
        };
        let size = rows * columns;
        let structure = structure::wanted(constraint, (rows, columns), self.positive());
        let mut values = Vec::with_capacity(count);
        for _ in 0..if structure.is_some() { outer.iter().product() } else { 0 } {
            let mut uniform = || self.rng.uniform();
            if let Some(make) = structure {
                values.extend(make((rows, columns), &mut uniform));
            }
        }
        if structure.is_none() || size == 0 {
            values = (0..count).map(|k| self.real(k, count, bounds.element_bounds(k))).collect();
        }
        Ok(match (shape, values.as_slice()) {
            ([], [x]) => Value::Real(*x),
            _ => Value::Reals(Numbers::new(shape, values)),
        })
    }

    fn bound(&mut self, bound: Option<&Expr>) -> Outcome<Vec<f64>> {
        let Some(bound) = bound else { return Ok(Vec::new()) };
        let value = self.host.evaluate(&mut self.env, bound)?;
        Ok(match value {
            Value::Int(i) => vec![i as f64],
            Value::Real(x) => vec![x],
            Value::Ints(n) => n.values.iter().map(|i| *i as f64).collect(),
            Value::Reals(n) => n.values.to_vec(),
            _ => Vec::new(),
        })
    }

    /// A whole number from `low` to `high`.
    fn whole_number(&mut self, low: i64, high: i64) -> i64 {
        let width = high.saturating_sub(low).max(0) as f64 + 1.0;
        low.saturating_add((self.rng.uniform() * width) as i64)
    }

    /// A scalar that is an integer.
    fn size(&mut self, bounds: (Option<f64>, Option<f64>)) -> i64 {
        let (low, high) = (bounds.0.map(|b| b as i64), bounds.1.map(|b| b as i64));
        if let (Some(low), Some(high)) = (low, high) {
            return self.whole_number(low, high.min(low.saturating_add(6)));
        }
        let k = (self.sizes % 6) as i64;
        let wish = match self.seed % SIZES {
            0 => 2 + k,
            1 => 3,
            2 => 7 - k,
            3 => self.whole_number(1, 7),
            4 => 2,
            5 => 1,
            _ if k == 0 => 6,
            _ => 2,
        };
        self.sizes += 1;
        let value = wish.max(low.unwrap_or(i64::MIN)).min(high.unwrap_or(i64::MAX));
        self.least = self.least.min(value.max(1));
        value
    }

    /// Element `k` of an array of integers.
    fn count(&mut self, k: usize, bounds: (Option<f64>, Option<f64>)) -> i64 {
        let (low, high) = (bounds.0.map(|b| b as i64), bounds.1.map(|b| b as i64));
        let least = if self.least == i64::MAX { 1 } else { self.least };
        if let (Some(low), Some(high)) = (low, high) {
            return self.whole_number(low, high.min(low.saturating_add(6)));
        }
        let wish = match self.seed % COUNTS {
            0 => self.whole_number(0, 1),
            1 => 1,
            2 => self.whole_number(0, 5),
            3 => self.whole_number(1, least),
            _ => 1 + (k as i64) % least,
        };
        wish.max(low.unwrap_or(i64::MIN)).min(high.unwrap_or(i64::MAX))
    }

    /// Whether this seed's real numbers are positive.
    fn positive(&self) -> bool {
        self.seed % REALS % 2 == 1
    }

    /// Real number `k` of `count`.
    fn real(&mut self, k: usize, count: usize, bounds: (Option<f64>, Option<f64>)) -> f64 {
        let u = self.rng.uniform();
        let increasing = self.seed % REALS == 1;
        if let (Some(low), Some(high)) = bounds {
            let share = if increasing { (k + 1) as f64 / (count + 1) as f64 } else { u };
            return (low + (high - low) * (0.05 + 0.9 * share)).max(low).min(high);
        }
        let free = bounds.0.is_none() && bounds.1.is_none();
        let wish = match self.seed % REALS {
            0 if free => 4.0 * u - 2.0,
            0 => 0.1 + 2.0 * u,
            1 if count == 1 => 0.4 * u,
            // Times that increase, the first above any scalar.
            1 => 0.5 * (k + 1) as f64 + 0.2 * u,
            2 => u,
            _ => 0.5 + 2.5 * u,
        };
        match bounds {
            (Some(low), _) => low + wish,
            (_, Some(high)) => high - wish,
            _ => wish,
        }
    }
}
