//! `outcome ~ distribution(args) T[…]` -> values of the outcome, drawn.
//!
//! A declared bound cuts a distribution off. Where the part that is left does not depend on
//! parameters, elements are drawn again until they keep it. Where it does, the program's density,
//! which does not divide by that part, gives hyperparameters with more of it more weight: the whole
//! draw is then thrown away and begun anew, which is exact.

use std::collections::BTreeMap;

use super::check::{generator, varies};
use super::order::root;
use crate::families::{self, Draws, Event, Source};
use crate::host::environment::Environment;
use crate::host::error::{Fault, FaultKind, Outcome};
use crate::host::interpreter::Interpreter;
use crate::host::library::random::Univariate;
use crate::host::library::{Builtin, find};
use crate::host::numeric::real_slice;
use crate::source::Span;
use crate::typed::{Constraint, DeclaredType, Expr, Scope, Statement, StatementKind, Type};
use crate::typed::{Truncation, VariableId};
use crate::value::{Numbers, UNSET_INT, Value};

/// How often an element is drawn anew before its limits count as impossible.
const TRIES: usize = 100_000;

/// What an interpreter that draws knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simulation {
    /// Which elements were drawn, by variable.
    drawn: BTreeMap<VariableId, Vec<bool>>,
    /// The data as they were given: multinomial outcomes keep their totals.
    given: Environment,
    /// Variables whose elements are their own places.
    numbered: BTreeMap<VariableId, Value>,
}

impl Simulation {
    /// One of data that were given.
    pub(crate) fn given(given: Environment) -> Self {
        Self { given, ..Self::default() }
    }

    /// Which elements were drawn, by variable.
    pub(crate) fn into_drawn(self) -> BTreeMap<VariableId, Vec<bool>> {
        self.drawn
    }
}

/// Limits of an outcome's elements; empty where there are none, one for all or one each.
#[derive(Debug, Default)]
struct Limits {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Limits {
    fn hold(&self, x: f64, k: usize) -> bool {
        let bound_at = |list: &[f64]| (!list.is_empty()).then(|| list[k % list.len()]);
        bound_at(&self.lower).is_none_or(|low| x >= low)
            && bound_at(&self.upper).is_none_or(|high| x <= high)
    }

    fn are_open(&self) -> bool {
        self.lower.is_empty() && self.upper.is_empty()
    }
}

/// The arguments of a distribution.
struct Args<'a> {
    values: Vec<Value>,
    types: Vec<&'a Type>,
    numbers: Vec<Vec<f64>>,
}

impl Args<'_> {
    /// The numbers that belong to an element.
    fn numbers_at(&self, k: usize) -> Vec<f64> {
        let each = self.numbers.iter().zip(&self.values);
        each.map(|(list, value)| list[if value.shape().is_empty() { 0 } else { k }]).collect()
    }
}

/// Values that were drawn, and where they belong.
pub(crate) struct DrawnOutcome {
    variable: VariableId,
    /// Places among the variable's elements.
    places: Vec<usize>,
    values: Vec<f64>,
    span: Span,
}

impl Interpreter<'_> {
    /// Draws what a statement `outcome ~ …` says, into `env`.
    pub(crate) fn draw_outcome(
        &mut self,
        env: &mut Environment,
        statement: &Statement,
    ) -> Outcome<()> {
        match self.drawn_outcome(env, statement)? {
            Some(drawn) => self.store_drawn(env, &drawn),
            None => Ok(()),
        }
    }

    /// Draws what a statement `outcome ~ …` says, which leaves `env` as it is; nothing for another
    /// statement.
    pub(crate) fn drawn_outcome(
        &mut self,
        env: &mut Environment,
        statement: &Statement,
    ) -> Outcome<Option<DrawnOutcome>> {
        let StatementKind::Tilde { outcome, distribution, user, args, truncation } =
            &statement.kind
        else {
            return Ok(None);
        };
        let span = statement.span;
        let Some(id) = root(outcome) else {
            let message = "what stands left of `~` is computed, so that it cannot be drawn";
            return Err(Fault::unsupported(message).at(outcome.span));
        };
        let (places, shape) = self.places(env, id, outcome)?;
        let evaluated_args = self.arguments(env, args)?;
        let count = places.len();
        let drawn = if user.is_some() {
            self.draw_of_user(env, distribution, args, evaluated_args, span)?
        } else if let Some(kind) = event_of(distribution) {
            self.draw_group(
                distribution,
                kind,
                &evaluated_args,
                (id, &places, &shape),
                &outcome.ty,
                span,
            )?
        } else {
            let evaluated_args =
                predictors(distribution, evaluated_args).map_err(|fault| fault.at(span))?;
            let name = format!("{}_rng", evaluated_args.0);
            let outer = self.limits(env, truncation.as_deref())?;
            let (bounds, is_local) =
                self.bounds(env, id, args, (&evaluated_args.0, &evaluated_args.1), &places)?;
            for (value, list) in evaluated_args.1.values.iter().zip(&evaluated_args.1.numbers) {
                if !value.shape().is_empty() && list.len() != count {
                    let message = format!(
                        "`{distribution}` has an argument of {} elements and an outcome of {count}",
                        list.len()
                    );
                    return Err(Fault::size(message).at(span));
                }
            }
            let Some(Builtin::Univariate(family)) = find(&name) else {
                return Err(Fault::unsupported(format!("there is no `{name}`")).at(span));
            };
            let mut drawn = Vec::with_capacity(count);
            for k in 0..count {
                let point = evaluated_args.1.numbers_at(k);
                let from = (family, &*name, &*point);
                drawn.push(self.draw_one(from, k, (&outer, &bounds, is_local), span)?);
            }
            let shared = evaluated_args.1.values.iter().all(|value| value.shape().is_empty());
            if shared && count == shape.iter().product() {
                self.sort_ordered(id, &shape, &mut drawn);
            }
            drawn
        };
        if drawn.len() != count {
            let message =
                format!("`{distribution}` gives {} numbers for an outcome of {count}", drawn.len());
            return Err(Fault::size(message).at(span));
        }
        Ok(Some(DrawnOutcome { variable: id, places, values: drawn, span }))
    }

    /// Places of the outcome's elements among those of its variable, and the outcome's extents.
    fn places(
        &mut self,
        env: &mut Environment,
        id: VariableId,
        outcome: &Expr,
    ) -> Outcome<(Vec<usize>, Vec<usize>)> {
        let Some(value) = env.take(id) else {
            return Err(Fault::unsupported("a variable without a value").at(outcome.span));
        };
        // The outcome's expression, evaluated where each element holds its own place.
        let simulation = self.simulation.get_or_insert_default();
        let numbered = match simulation.numbered.get(&id) {
            Some(known) if known.shape() == value.shape() => known.clone(),
            _ => {
                let made = value.numbered();
                simulation.numbered.insert(id, made.clone());
                made
            }
        };
        env.set(id, numbered);
        let found = self.evaluate(env, outcome);
        env.set(id, value);
        let found = found?;
        let places = real_slice(&found).map_err(|fault| fault.at(outcome.span))?;
        Ok((places.iter().map(|place| *place as usize).collect(), found.shape().to_vec()))
    }

    fn arguments<'e>(&mut self, env: &mut Environment, args: &'e [Expr]) -> Outcome<Args<'e>> {
        let mut all = Args { values: Vec::new(), types: Vec::new(), numbers: Vec::new() };
        for arg in args {
            let value = self.evaluate(env, arg)?;
            let numbers = real_slice(&value).map_err(|fault| fault.at(arg.span))?.into_owned();
            let is_unset = |x: &f64| x.is_nan() || *x == UNSET_INT as f64;
            if numbers.iter().any(is_unset) {
                let message = "this is needed before it is drawn, or has no value";
                return Err(Fault::new(FaultKind::Unsupported, message).at(arg.span));
            }
            all.values.push(value);
            all.types.push(&arg.ty);
            all.numbers.push(numbers);
        }
        Ok(all)
    }

    fn limits(&mut self, env: &mut Environment, limits: Option<&Truncation>) -> Outcome<Limits> {
        let Some(limits) = limits else { return Ok(Limits::default()) };
        let mut evaluate_limit = |it: &mut Self, e: &Option<Expr>| -> Outcome<Vec<f64>> {
            e.iter().map(|e| it.real(env, e)).collect()
        };
        Ok(Limits {
            lower: evaluate_limit(self, &limits.lower)?,
            upper: evaluate_limit(self, &limits.upper)?,
        })
    }

    /// The declared bounds of a parameter's elements, and whether elements that leave them may be
    /// drawn anew one by one.
    fn bounds(
        &mut self,
        env: &mut Environment,
        id: VariableId,
        args: &[Expr],
        (family, evaluated_args): (&str, &Args<'_>),
        places: &[usize],
    ) -> Outcome<(Limits, bool)> {
        let program = self.program();
        if program.variable(id).scope != Scope::Parameters {
            return Ok((Limits::default(), true));
        }
        let declared = program.parameters.iter().find(|d| d.variable == id).map(|d| leaf(&d.ty));
        let (lower, upper) = match declared {
            Some(Constraint::Lower(low)) => (Some(low), None),
            Some(Constraint::Upper(high)) => (None, Some(high)),
            Some(Constraint::LowerUpper(low, high)) => (Some(low), Some(high)),
            Some(Constraint::PositiveOrdered) => {
                let limits = Limits { lower: vec![0.0], upper: Vec::new() };
                let is_local = is_half(family, &limits, evaluated_args, args, self)
                    || !args.iter().any(|arg| varies(program, arg));
                return Ok((limits, is_local));
            }
            _ => return Ok((Limits::default(), true)),
        };
        let mut evaluate_bound = |it: &mut Self, bound: Option<&Expr>| -> Outcome<Vec<f64>> {
            let Some(bound) = bound else { return Ok(Vec::new()) };
            let value = it.evaluate(env, bound)?;
            let list = real_slice(&value).map_err(|fault| fault.at(bound.span))?;
            // Of as many elements as the leaf or the variable: those of the places.
            Ok(match list.len() {
                0 | 1 => list.into_owned(),
                n => places.iter().map(|place| list[place % n]).collect(),
            })
        };
        let limits =
            Limits { lower: evaluate_bound(self, lower)?, upper: evaluate_bound(self, upper)? };
        let fixed = |e: &Expr| !varies(program, e);
        let bounds_fixed = lower.is_none_or(fixed) && upper.is_none_or(fixed);
        let is_local = bounds_fixed
            && (args.iter().all(fixed) || is_half(family, &limits, evaluated_args, args, self));
        Ok((limits, is_local))
    }

    fn draw_one(
        &mut self,
        (family, name, point): (Univariate, &str, &[f64]),
        k: usize,
        (outer, bounds, is_local): (&Limits, &Limits, bool),
        span: Span,
    ) -> Outcome<f64> {
        for _ in 0..TRIES {
            let drawn = family.draw(&mut self.rng, name, point).map_err(|fault| fault.at(span))?;
            let drawn = match drawn {
                Value::Int(i) => i as f64,
                other => other.as_real().unwrap_or(f64::NAN),
            };
            if !outer.hold(drawn, 0) {
                continue;
            }
            if bounds.hold(drawn, k) {
                return Ok(drawn);
            }
            if !is_local {
                let message = "a draw left the declared bounds";
                return Err(Fault::new(FaultKind::Rejected, message).at(span));
            }
        }
        let what = if outer.are_open() { "its declared bounds" } else { "its limits" };
        let message = format!("none of {TRIES} draws kept to {what}");
        Err(Fault::new(FaultKind::Limit, message).at(span))
    }

    fn draw_of_user(
        &mut self,
        env: &mut Environment,
        distribution: &str,
        args: &[Expr],
        evaluated_args: Args<'_>,
        span: Span,
    ) -> Outcome<Vec<f64>> {
        let Some(function) = generator(self.program(), distribution, args) else {
            let message = format!("there is no function `{distribution}_rng`");
            return Err(Fault::unsupported(message).at(span));
        };
        let value = self.call_user(env, function, evaluated_args.values, span)?;
        Ok(real_slice(&value).map_err(|fault| fault.at(span))?.into_owned())
    }

    /// Draws vectors, matrices and categories: one group of numbers after the other.
    fn draw_group(
        &mut self,
        distribution: &str,
        kind: Event,
        evaluated_args: &Args<'_>,
        (id, places, shape): (VariableId, &[usize], &[usize]),
        ty: &Type,
        span: Span,
    ) -> Outcome<Vec<f64>> {
        let inner = kind.inner(shape);
        let size: usize = inner.iter().product();
        let groups = places.len().checked_div(size).unwrap_or(0);
        let name = format!("{distribution}_rng");
        let mut all = Vec::with_capacity(places.len());
        for group in 0..groups {
            let (mut values, mut types) = (Vec::new(), Vec::new());
            if kind == Event::Correlation {
                values.push(Value::Int(inner.first().copied().unwrap_or(0) as i64));
                types.push(&Type::Int);
            }
            for (k, value) in evaluated_args.values.iter().enumerate() {
                let (value, ty) = kind.part(k, value, evaluated_args.types[k], group, groups);
                values.push(value);
                types.push(ty);
            }
            if kind == Event::Counts {
                values.push(Value::Int(self.total(id, &places[group * size..][..size], span)?));
                types.push(&Type::Int);
            }
            let returns = match ty.array_parts().1 {
                Type::Int if inner.len() == 1 => &Type::Int.array(1),
                inner => inner,
            };
            let drawn = self.call_library(&name, &values, &types, returns);
            let drawn = drawn.map_err(|fault| fault.at(span))?;
            all.extend_from_slice(&real_slice(&drawn).map_err(|fault| fault.at(span))?);
        }
        Ok(all)
    }

    /// The total of counts as they were given.
    fn total(&self, id: VariableId, places: &[usize], span: Span) -> Outcome<i64> {
        let given = self.simulation.as_ref().and_then(|s| s.given.get(id));
        let total = match given {
            Some(Value::Ints(n)) => places.iter().map(|place| n.values[*place]).sum(),
            _ => UNSET_INT,
        };
        if total < 0 {
            let name = &self.program().variable(id).name;
            let message =
                format!("how many there are of `{name}` is not known: give it in the data");
            return Err(Fault::new(FaultKind::Unsupported, message).at(span));
        }
        Ok(total)
    }

    /// Independent numbers of one distribution, given that they are ordered, are these in order.
    fn sort_ordered(&self, id: VariableId, shape: &[usize], drawn: &mut [f64]) {
        let declared = self.program().parameters.iter().find(|d| d.variable == id);
        let is_ordered = declared.is_some_and(|d| {
            matches!(leaf(&d.ty), Constraint::Ordered | Constraint::PositiveOrdered)
        });
        if let (true, Some(size)) = (is_ordered, shape.last()) {
            drawn.chunks_mut((*size).max(1)).for_each(|row| row.sort_by(f64::total_cmp));
        }
    }

    /// Gives the elements that were drawn their values.
    pub(crate) fn store_drawn(
        &mut self,
        env: &mut Environment,
        drawn: &DrawnOutcome,
    ) -> Outcome<()> {
        let DrawnOutcome { variable: id, places, values, span } = drawn;
        let (id, span) = (*id, *span);
        let program = self.program();
        let Some(value) = env.get_mut(id) else { return Ok(()) };
        let count: usize = value.shape().iter().product();
        let simulation = self.simulation.get_or_insert_default();
        let flags = simulation.drawn.entry(id).or_insert_with(|| vec![false; count]);
        for (place, x) in places.iter().zip(values) {
            if std::mem::replace(&mut flags[*place], true) {
                let name = &program.variable(id).name;
                let message = format!(
                    "`{name}` is drawn a second time: a product of two densities is no recipe"
                );
                return Err(Fault::unsupported(message).at(span));
            }
            match value {
                Value::Int(i) => *i = *x as i64,
                Value::Real(old) => *old = *x,
                Value::Ints(n) => n.make_mut()[*place] = *x as i64,
                Value::Reals(n) => n.make_mut()[*place] = *x,
                _ => return Err(Fault::unsupported("a draw of this type").at(span)),
            }
        }
        Ok(())
    }
}

/// The constraint of a declared variable's innermost values.
fn leaf(ty: &DeclaredType) -> &Constraint {
    match ty {
        DeclaredType::Leaf { constraint, .. } => constraint,
        DeclaredType::Array { element, .. } => leaf(element),
        DeclaredType::Tuple(_) => &Constraint::None,
    }
}

/// Whether the bounds keep one half of a distribution that is symmetric about them, whatever its
/// scale.
fn is_half(
    family: &str,
    limits: &Limits,
    evaluated_args: &Args<'_>,
    args: &[Expr],
    host: &Interpreter<'_>,
) -> bool {
    let zero = |list: &[f64]| list.iter().all(|x| *x == 0.0);
    let one_side = limits.lower.is_empty() != limits.upper.is_empty();
    let Some(family) = families::family(family).filter(|family| family.is_symmetric) else {
        return false;
    };
    let location = family.location.map(|(place, _)| place);
    let at_zero = location.is_none_or(|k| {
        zero(&evaluated_args.numbers[k]) && args.get(k).is_some_and(|e| !varies(host.program(), e))
    });
    one_side && zero(&limits.lower) && zero(&limits.upper) && at_zero
}

/// Generalised linear models as the distributions that they are of: `normal_id_glm(x, alpha, beta,
/// sigma)` is `normal(alpha + x * beta, sigma)`.
fn predictors<'a>(
    distribution: &str,
    evaluated_args: Args<'a>,
) -> Result<(String, Args<'a>), Fault> {
    let Some(family) = of_linear_model(distribution) else {
        return Ok((distribution.to_owned(), evaluated_args));
    };
    let first = usize::from(family == "binomial_logit");
    let (x, alpha, beta) = (
        &evaluated_args.values[first],
        &evaluated_args.numbers[first + 1],
        &evaluated_args.numbers[first + 2],
    );
    let columns = beta.len();
    let rows = x.shape().first().copied().filter(|_| x.shape().len() == 2).unwrap_or(1);
    let numbers = &evaluated_args.numbers[first];
    if numbers.len() != rows * columns {
        let message = format!("the predictors have {} numbers for {columns} slopes", numbers.len());
        return Err(Fault::size(message));
    }
    let eta = |row: usize| {
        let products = numbers[row * columns..][..columns].iter().zip(beta);
        alpha[row % alpha.len()] + products.map(|(x, b)| x * b).sum::<f64>()
    };
    let eta: Vec<f64> = (0..rows).map(eta).collect();
    let mut made = Args { values: Vec::new(), types: Vec::new(), numbers: Vec::new() };
    let before = (0..first).chain([usize::MAX]).chain(first + 3..evaluated_args.values.len());
    for k in before {
        let (value, ty, list) = match evaluated_args.values.get(k) {
            Some(value) => {
                (value.clone(), evaluated_args.types[k], evaluated_args.numbers[k].clone())
            }
            None => (Value::reals(eta.clone()), &Type::Vector, eta.clone()),
        };
        made.values.push(value);
        made.types.push(ty);
        made.numbers.push(list);
    }
    Ok((family.to_owned(), made))
}

/// The family that outcomes of a generalised linear model are of, given predictors, where that is
/// one of single numbers.
fn of_linear_model(distribution: &str) -> Option<&'static str> {
    let Source::LinearModel(outcome_family, _) = families::family(distribution)?.source else {
        return None;
    };
    let draws = families::family(outcome_family)?.draws;
    matches!(draws, Draws::Model | Draws::Number(_)).then_some(outcome_family)
}

/// What an outcome of a distribution is, where that is not a single number with numbers as
/// parameters.
fn event_of(distribution: &str) -> Option<Event> {
    match families::family(distribution)?.draws {
        Draws::Event(event) => Some(event),
        _ => None,
    }
}

impl Event {
    /// The extents of one draw, at the end of an outcome's.
    fn inner(self, shape: &[usize]) -> &[usize] {
        let rank = match self {
            Self::Category | Self::Ordered => 0,
            Self::Counts | Self::Vector => 1,
            Self::Matrix | Self::Correlation => 2,
        };
        &shape[shape.len().saturating_sub(rank)..]
    }

    /// The part of an argument that belongs to a group, with its type.
    fn part<'t>(
        self,
        k: usize,
        value: &Value,
        ty: &'t Type,
        group: usize,
        groups: usize,
    ) -> (Value, &'t Type) {
        let first = |ty: &'t Type| match ty {
            Type::Array(element) => &**element,
            Type::Vector | Type::RowVector => &Type::Real,
            other => other,
        };
        let shape = value.shape();
        let by_element = self == Self::Ordered && k == 0 && shape.len() == 1;
        let by_group = matches!(ty, Type::Array(inner) if inner.rank() > 0);
        if !(by_element || by_group) || shape.first() != Some(&groups) {
            return (value.clone(), ty);
        }
        let rest = &shape[1..];
        let size: usize = rest.iter().product();
        let part = match value {
            Value::Reals(n) if rest.is_empty() => Value::Real(n.values[group]),
            Value::Ints(n) if rest.is_empty() => Value::Int(n.values[group]),
            Value::Reals(n) => {
                Value::Reals(Numbers::new(rest, n.values[group * size..][..size].to_vec()))
            }
            Value::Ints(n) => {
                Value::Ints(Numbers::new(rest, n.values[group * size..][..size].to_vec()))
            }
            other => other.clone(),
        };
        (part, first(ty))
    }
}

/// Whether outcomes of a distribution can be drawn here.
pub(super) fn can_draw(distribution: &str) -> bool {
    of_linear_model(distribution).is_some()
        || families::family(distribution).is_some_and(|family| !matches!(family.draws, Draws::None))
}
