//! A statement on data -> its terms, one for each outcome, on values.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Elements, Observed};
use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome};
use crate::host::library::Call;
use crate::host::{Interpreter, numeric};
use crate::source::Span;
use crate::typed::{Callee, Expr, ExprKind, FunctionId, Statement, Truncation, Type, VariableId};
use crate::value::Value;

/// What a term is of. Elements of data come first, in the order of the data's declarations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// An element of data, by its index from 1; fewer indices where an event has several elements.
    Element(VariableId, Vec<usize>),
    /// The outcome's text, and how many such outcomes there were, this one included.
    Outcome(Arc<str>, usize),
}

/// Takes the terms of statements on data while an interpreter runs them.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    observed: Arc<FxHashMap<Span, Vec<Observed>>>,
    pub(super) elements: Elements,
    /// The terms, in the order in which statements made them.
    pub(super) terms: Vec<f64>,
    /// Whether it is asked what they are of.
    is_naming: bool,
    pub(super) keys: Vec<Key>,
    /// The statement of each term.
    pub(super) statements: Vec<usize>,
    /// Outcomes that are no elements of data, by their text.
    outcomes: FxHashMap<Arc<str>, usize>,
    /// Data whose elements are their own places.
    numbered: FxHashMap<VariableId, Value>,
    /// Where it is there, outcomes are drawn, and there are no terms.
    pub(super) drawing: Option<Drawing>,
}

/// What an observer that draws fills.
#[derive(Debug)]
pub(super) struct Drawing {
    /// The statements on data as ones that draw.
    pub(super) statements: Arc<FxHashMap<Span, Vec<Statement>>>,
    pub(super) data: Environment,
}

impl Observed {
    fn args(&self) -> &[Expr] {
        match &self.call.kind {
            ExprKind::Call(_, args) => args,
            _ => &[],
        }
    }

    /// Extents of the outcome.
    pub(super) fn outcome_rank(&self) -> usize {
        self.args().first().map_or(0, |outcome| outcome.ty.rank())
    }
}

impl Observer {
    pub(super) fn new(observed: Arc<FxHashMap<Span, Vec<Observed>>>) -> Self {
        Self { observed, ..Self::default() }
    }

    /// One that also notes what the terms are of.
    pub(super) fn naming(observed: Arc<FxHashMap<Span, Vec<Observed>>>) -> Self {
        Self { is_naming: true, ..Self::new(observed) }
    }

    /// One that draws the outcomes.
    pub(super) fn drawing(drawing: Drawing) -> Self {
        Self { drawing: Some(drawing), ..Self::default() }
    }
}

impl Interpreter<'_> {
    /// Takes the terms of a statement that adds to the log density.
    pub(crate) fn observe(&mut self, env: &mut Environment, statement: &Statement) -> Outcome<()> {
        let Some(observer) = &self.observer else { return Ok(()) };
        if observer.drawing.is_some() {
            return self.replicate(env, statement.span);
        }
        let (all, is_naming) = (observer.observed.clone(), observer.is_naming);
        for observed in all.get(&statement.span).into_iter().flatten() {
            let before = self.observer.as_ref().map_or(0, |observer| observer.terms.len());
            self.take_terms(env, observed)?;
            let Some(observer) = &mut self.observer else { continue };
            let count = observer.terms.len() - before;
            if is_naming {
                observer.statements.extend(std::iter::repeat_n(observed.statement, count));
                self.name_terms(env, observed, count)?;
            }
        }
        Ok(())
    }

    fn take_terms(&mut self, env: &mut Environment, observed: &Observed) -> Outcome<()> {
        let call = &observed.call;
        let ExprKind::Call(callee, args) = &call.kind else { return Ok(()) };
        let numbers = |e: &Expr| matches!(e.ty, Type::Int | Type::Real);
        let is_plain = observed.truncation.is_none()
            && match callee {
                Callee::Library(name) => {
                    args.iter().all(numbers) && crate::host::library::density::is_compiled(name)
                }
                Callee::User { .. } => true,
            };
        if is_plain || observed.event_rank.is_none() {
            let mut terms = vec![self.real(env, call)?];
            if let Some((limits, distribution)) = &observed.truncation {
                let outcome = self.value(env, &args[0])?;
                let limits = (limits, &**distribution);
                terms = self.cut(env, limits, &args[1..], &outcome, (terms, call.span))?;
            }
            self.push(&terms);
            return Ok(());
        }
        let Callee::Library(name) = callee else { return Ok(()) };
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.value(env, arg)?);
        }
        let types: Vec<&Type> = args.iter().map(|arg| &arg.ty).collect();
        let mut terms = self.elements_of(name, &values, &types, call.span)?;
        if let Some((limits, distribution)) = &observed.truncation {
            let limits = (limits, &**distribution);
            terms = self.cut(env, limits, &args[1..], &values[0], (terms, call.span))?;
        }
        let extents = values[0].shape();
        let event = observed.event_rank.unwrap_or(0).min(extents.len());
        let count: usize = extents[..extents.len() - event].iter().product();
        if terms.len() == count {
            self.push(&terms);
        } else if count == 1 {
            // One outcome whose density is asked for under several parameters.
            self.push(&[terms.iter().sum()]);
        } else {
            let message = format!("`{name}` has {} terms for {count} outcomes", terms.len());
            return Err(Fault::unsupported(message).at(call.span));
        }
        Ok(())
    }

    fn push(&mut self, terms: &[f64]) {
        if let Some(observer) = &mut self.observer {
            observer.terms.extend_from_slice(terms);
        }
    }

    /// A distribution's function of values, one number an outcome.
    fn elements_of(
        &mut self,
        name: &str,
        args: &[Value],
        types: &[&Type],
        span: Span,
    ) -> Outcome<Vec<f64>> {
        let Some(observer) = &mut self.observer else { return Ok(Vec::new()) };
        let call = Call { name, args, types, returns: &Type::Real };
        observer.elements.of(&call).map_err(|fault| fault.at(span))
    }

    /// Terms of outcomes that are known to lie between limits.
    fn cut(
        &mut self,
        env: &mut Environment,
        (limits, distribution): (&Truncation, &str),
        args: &[Expr],
        outcome: &Value,
        (terms, span): (Vec<f64>, Span),
    ) -> Outcome<Vec<f64>> {
        let outcomes = numeric::real_slice(outcome).map_err(|fault| fault.at(span))?;
        let mut limit = |e: &Option<Expr>| e.as_ref().map(|e| self.real(env, e)).transpose();
        let (lower, upper) = (limit(&limits.lower)?, limit(&limits.upper)?);
        let is_inside = |y: f64| lower.is_none_or(|l| y >= l) && upper.is_none_or(|u| y <= u);
        let n = terms.len().max(outcomes.len());
        let value_at = |all: &[f64], k: usize| all[if all.len() == 1 { 0 } else { k }];
        let mass = match outcomes.iter().any(|y| is_inside(*y)) {
            true => self.mass(env, (limits, distribution), args, span)?,
            false => vec![0.0],
        };
        if [terms.len(), outcomes.len(), mass.len()].iter().any(|len| *len != 1 && *len != n) {
            let message = "the distribution functions of the limits differ in number";
            return Err(Fault::unsupported(message).at(span));
        }
        let cut = |k: usize| match is_inside(value_at(&outcomes, k)) {
            true => value_at(&terms, k) - value_at(&mass, k),
            false => f64::NEG_INFINITY,
        };
        Ok((0..n).map(cut).collect())
    }

    /// The log probability of the interval between limits: one number, or one for each element of
    /// the parameters.
    fn mass(
        &mut self,
        env: &mut Environment,
        (limits, distribution): (&Truncation, &str),
        args: &[Expr],
        span: Span,
    ) -> Outcome<Vec<f64>> {
        let mut values = vec![Value::Int(0)];
        for arg in args {
            values.push(self.value(env, arg)?);
        }
        let mut tail = |limit: &Expr, is_lower: bool, suffix: &str, user: Option<FunctionId>| {
            values[0] = self.value(env, limit)?;
            let types: Vec<&Type> =
                std::iter::once(&limit.ty).chain(args.iter().map(|arg| &arg.ty)).collect();
            // P(Y < lower) of a discrete outcome is P(Y <= lower - 1).
            if let (Value::Int(limit), true) = (&mut values[0], is_lower) {
                *limit -= 1;
            }
            match user {
                Some(function) => {
                    let value = self.call_user(env, function, values.clone(), span)?;
                    numeric::real(&value).map(|x| vec![x]).map_err(|fault| fault.at(span))
                }
                None => self.elements_of(&format!("{distribution}{suffix}"), &values, &types, span),
            }
        };
        match (&limits.lower, &limits.upper) {
            (None, None) => Ok(vec![0.0]),
            (Some(lower), None) => tail(lower, true, "_lccdf", limits.user_lccdf),
            (None, Some(upper)) => tail(upper, false, "_lcdf", limits.user_lcdf),
            (Some(lower), Some(upper)) => {
                let high = tail(upper, false, "_lcdf", limits.user_lcdf)?;
                let low = tail(lower, true, "_lcdf", limits.user_lcdf)?;
                let both = high.iter().zip(&low);
                Ok(both.map(|(high, low)| exmc_math::log_diff_exp(*high, *low)).collect())
            }
        }
    }

    /// Notes what the last `count` terms are of.
    fn name_terms(
        &mut self,
        env: &mut Environment,
        observed: &Observed,
        count: usize,
    ) -> Outcome<()> {
        let keys = match &observed.place {
            Some((id, choice)) => self.elements_named(env, *id, choice, count)?,
            None => None,
        };
        let Some(observer) = &mut self.observer else { return Ok(()) };
        if let Some(keys) = keys {
            observer.keys.extend(keys);
            return Ok(());
        }
        let label = observed.label.clone();
        let number = observer.outcomes.entry(label.clone()).or_default();
        for _ in 0..count {
            *number += 1;
            observer.keys.push(Key::Outcome(label.clone(), *number));
        }
        Ok(())
    }

    /// The elements of data that an expression chooses, in `count` parts; nothing where a part is
    /// neither one element nor all that share an index.
    fn elements_named(
        &mut self,
        env: &mut Environment,
        id: VariableId,
        choice: &Expr,
        count: usize,
    ) -> Outcome<Option<Vec<Key>>> {
        let Some(value) = env.get(id) else { return Ok(None) };
        let shape = value.shape().to_vec();
        let Some(observer) = &mut self.observer else { return Ok(None) };
        // With each element's own place as its value, what is chosen are places.
        let numbered = observer.numbered.entry(id).or_insert_with(|| value.numbered());
        let numbered = numbered.clone();
        let Some(original) = env.take(id) else { return Ok(None) };
        let is_number =
            matches!(original, Value::Int(_) | Value::Ints(_) | Value::Real(_) | Value::Reals(_));
        env.set(id, if is_number { numbered } else { original.clone() });
        let places = self.value(env, choice);
        env.set(id, original);
        let places = places?;
        let places = match numeric::real_slice(&places) {
            Ok(places) if is_number => places.into_owned(),
            _ => return Ok(None),
        };
        if count == 0 || !places.len().is_multiple_of(count) {
            return Ok((count == 0).then(Vec::new));
        }
        let key = |part: &[f64]| {
            let first = *part.first()? as usize;
            let follows = part.iter().enumerate().all(|(k, place)| *place as usize == first + k);
            // All elements that share their first indices.
            let shared = (0..=shape.len()).rev().find(|rank| {
                let rest: usize = shape[*rank..].iter().product();
                rest == part.len() && first.is_multiple_of(rest)
            })?;
            let mut rest = first;
            let mut index: Vec<usize> = shape
                .iter()
                .rev()
                .map(|extent| {
                    let coordinate = rest % extent + 1;
                    rest /= extent;
                    coordinate
                })
                .collect();
            index.reverse();
            index.truncate(shared);
            follows.then_some(Key::Element(id, index))
        };
        Ok(places.chunks_exact(places.len() / count).map(key).collect())
    }
}
