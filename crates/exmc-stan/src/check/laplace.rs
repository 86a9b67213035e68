//! The embedded Laplace approximation's functions, whose calls forward arguments in tuples.
//!
//! `laplace_marginal(likelihood, (arguments), block_size, covariance, (arguments))`, with the
//! control arguments as one more tuple in the `_tol` forms; the forms for one family take that
//! family's data in place of the likelihood.

use super::calls::returned;
use super::environment::{Checker, Suffix, Typed, parameter};
use super::expressions::Checked;
use super::higher_order::{self, callback_expr, check_callback, function_name};
use super::overloads::{Candidate, Mismatch, convert, count, fit, ordinal};
use super::signatures::{Parameter, Signature};
use super::types::{promote, spell, spell_list};
use crate::families::{self, Family};
use crate::source::Span;
use crate::syntax::tree::Name;
use crate::typed::{Callee, Expr, ExprKind, FunctionId, Type};

const GENERAL: [&str; 6] = [
    "laplace_marginal",
    "laplace_marginal_tol",
    "laplace_latent_rng",
    "laplace_latent_tol_rng",
    "laplace_latent_solve",
    "laplace_latent_solve_tol",
];

/// Library functions that cannot be differentiated twice, with those that take functions.
const FIRST_ORDER: [&str; 2] = ["hmm_marginal", "hmm_hidden_state_prob"];

/// Whether a name is one of these functions.
pub(super) fn exists(name: &str) -> bool {
    GENERAL.contains(&name) || family(name).is_some()
}

/// The family of a function for one family.
fn family(name: &str) -> Option<&'static Family> {
    let inner = name.strip_prefix("laplace_")?;
    let (inner, suffix) = match inner.strip_prefix("marginal_") {
        Some(inner) => (inner, "_lpmf"),
        None => (inner.strip_prefix("latent_")?, "_rng"),
    };
    let inner = inner.strip_prefix("tol_").unwrap_or(inner).strip_suffix(suffix)?;
    families::family(inner).filter(|family| family.laplace.is_some())
}

/// What a family's functions take in place of a likelihood.
fn family_arguments(family: &Family) -> Vec<Parameter> {
    let count = family.laplace.unwrap_or_default();
    let ints = (0..2).map(|_| parameter(false, Type::Int.array(1)));
    ints.chain((2..count).map(|_| parameter(false, Type::Vector))).collect()
}

impl Checker {
    pub(super) fn apply_laplace(
        &mut self,
        span: Span,
        function: &Name,
        arguments: Vec<Typed>,
    ) -> Checked {
        let name = super::environment::normalised(&function.text);
        let parameters = arguments.iter().any(|argument| argument.level.any());
        let mut rest = arguments.into_iter();
        let mut args: Vec<Expr> = Vec::new();
        let solve = name.contains("_solve");
        if let Some(family) = family(&name) {
            let wanted = family_arguments(family);
            let given: Vec<Typed> = rest.by_ref().take(wanted.len()).collect();
            if let Err(mismatch) = fit(&wanted, &given) {
                self.forwarded_mismatch(span, &name, &wanted, &given, &mismatch);
                return None;
            }
            args.extend(convert(&wanted, given));
        } else {
            let (Some(likelihood), Some(forwarded)) = (rest.next(), rest.next()) else {
                self.incomplete(span, &name);
                return None;
            };
            if solve && forwarded.level.any() {
                self.not_data(&name, &forwarded);
                return None;
            }
            let latent =
                Signature { arguments: vec![parameter(false, Type::Vector)], returns: Type::Real };
            let (callback, forwarded) = self.forward(&name, &likelihood, forwarded, &latent)?;
            if let ExprKind::Function { function, .. } = callback.kind {
                self.twice.push((function, callback.span));
            }
            args.extend([callback, forwarded]);
        }
        match rest.next() {
            Some(size) if *size.ty() == Type::Int && !size.level.any() => args.push(size.expr),
            other => {
                let (error_span, found) = match &other {
                    Some(size) => (size.expr.span, self.describe(size)),
                    None => (args.last().map_or(span, |last| last.span), "missing".into()),
                };
                let message = format!(
                    "the size of the Hessian's blocks must be an int of data, and this is {found}"
                );
                self.error(error_span, message);
                return None;
            }
        }
        let (Some(covariance), Some(forwarded)) = (rest.next(), rest.next()) else {
            self.incomplete(span, &name);
            return None;
        };
        if solve && forwarded.level.any() {
            self.not_data(&name, &forwarded);
            return None;
        }
        let matrix = Signature { arguments: Vec::new(), returns: Type::Matrix };
        let (callback, forwarded) = self.forward(&name, &covariance, forwarded, &matrix)?;
        args.extend([callback, forwarded]);
        args.extend(self.control_arguments(span, &name, rest.collect())?);
        let returns = if name.ends_with("_rng") {
            Type::Vector
        } else if solve {
            Type::Tuple(vec![Type::Vector, Type::Matrix])
        } else {
            Type::Real
        };
        let kind = ExprKind::Call(Callee::Library(function.text.clone()), args);
        Some(returned(span, kind, returns, parameters))
    }

    /// A function and the tuple of arguments that it gets after those of `required`.
    fn forward(
        &mut self,
        caller: &str,
        given: &Typed,
        forwarded: Typed,
        required: &Signature,
    ) -> Option<(Expr, Expr)> {
        let Some(written) = function_name(self, given) else {
            let found = self.describe(given);
            let message =
                format!("`{caller}` needs the name of a function here, and this is {found}");
            self.error(given.expr.span, message);
            return None;
        };
        let Some(slots) = slots_of(&forwarded) else {
            let message = format!(
                "the arguments that `{caller}` gives to `{written}` must be a tuple, and this is {}",
                self.describe(&forwarded)
            );
            self.error(forwarded.expr.span, message).help =
                Some("write `(a, b, …)`, and `(a,)` for one".into());
            return None;
        };
        let mut found: Vec<(u32, Candidate, Vec<Parameter>)> = Vec::new();
        let (mut kind, mut arguments) = (None, None);
        for candidate in self.candidates(&written) {
            if Suffix::of(&written) != Suffix::Plain {
                kind = kind.or(Some("it must be a plain function, without a suffix".to_owned()));
                continue;
            }
            if let Err(why) = check_callback(&candidate, required, true) {
                kind = kind.or(Some(why));
                continue;
            }
            let extra_parameters = candidate.arguments[required.arguments.len()..].to_vec();
            match fit(&extra_parameters, &slots) {
                Ok(cost) => found.push((cost, candidate, extra_parameters)),
                Err(mismatch) => arguments = arguments.or(Some((extra_parameters, mismatch))),
            }
        }
        let least = found.iter().map(|(cost, ..)| *cost).min();
        found.retain(|(cost, ..)| Some(*cost) == least);
        if found.len() > 1 {
            let all: Vec<Candidate> =
                found.into_iter().map(|(_, candidate, _)| candidate).collect();
            self.ambiguous(given.expr.span, &written, &all);
            return None;
        }
        let Some((_, candidate, extra_parameters)) = found.pop() else {
            match (arguments, kind) {
                (Some((extra_parameters, mismatch)), _) => {
                    self.forwarded_mismatch(
                        forwarded.expr.span,
                        &written,
                        &extra_parameters,
                        &slots,
                        &mismatch,
                    );
                }
                (None, why) => {
                    let why = why.unwrap_or_else(|| "there is no such function".into());
                    let message = format!("`{caller}` cannot take `{written}`: {why}");
                    self.error(given.expr.span, message);
                }
            }
            return None;
        };
        let tuple =
            Type::Tuple(extra_parameters.into_iter().map(|parameter| parameter.ty).collect());
        Some((callback_expr(given, &candidate, &written), promote(forwarded.expr, &tuple)))
    }

    fn control_arguments(
        &mut self,
        span: Span,
        name: &str,
        given: Vec<Typed>,
    ) -> Option<Vec<Expr>> {
        let wanted: Vec<Parameter> = vec![
            parameter(false, Type::Vector),
            parameter(true, Type::Real),
            parameter(true, Type::Int),
            parameter(true, Type::Int),
            parameter(true, Type::Int),
            parameter(true, Type::Int),
        ];
        let expected = usize::from(name.contains("_tol"));
        if given.len() != expected {
            let error_span = given.get(expected).map_or(span, |extra| extra.expr.span);
            let message = format!(
                "`{name}` has {} too {}",
                count(given.len().abs_diff(expected)),
                if given.len() > expected { "many" } else { "few" }
            );
            self.error(error_span, message).help = Some(if expected == 1 {
                format!(
                    "the last argument is a tuple of control values ({})",
                    spell_list(wanted.iter().map(|p| &p.ty))
                )
            } else {
                "control values are for the functions with `_tol` in their names".into()
            });
            return None;
        }
        let mut all = Vec::new();
        for tuple in given {
            let Some(slots) = slots_of(&tuple) else {
                let message = format!(
                    "control values must be a tuple, and this is {}",
                    self.describe(&tuple)
                );
                self.error(tuple.expr.span, message);
                return None;
            };
            if let Err(mismatch) = fit(&wanted, &slots) {
                self.forwarded_mismatch(span, name, &wanted, &slots, &mismatch);
                return None;
            }
            let ty = Type::Tuple(wanted.iter().map(|parameter| parameter.ty.clone()).collect());
            all.push(promote(tuple.expr, &ty));
        }
        Some(all)
    }

    fn forwarded_mismatch(
        &mut self,
        span: Span,
        name: &str,
        wanted: &[Parameter],
        given: &[Typed],
        mismatch: &Mismatch,
    ) {
        let (error_span, why) = match mismatch {
            Mismatch::Count(wanted, found) => {
                // The library's own tuples are marked where they are too long or end too early.
                let index = if wanted > found { found.saturating_sub(1) } else { *wanted };
                let marked_slot = given.get(index).filter(|_| name.starts_with("laplace_"));
                let why = format!("needs {}, and gets {found}", count(*wanted));
                (marked_slot.map_or(span, |slot| slot.expr.span), why)
            }
            Mismatch::Type(k) => {
                let found = self.describe(&given[*k]);
                let why = format!(
                    "needs {} as {} argument, and gets {found}",
                    spell(&wanted[*k].ty),
                    ordinal(*k)
                );
                (given[*k].expr.span, why)
            }
            Mismatch::Data(k) => {
                (given[*k].expr.span, format!("needs data as {} argument", ordinal(*k)))
            }
        };
        self.error(error_span, format!("`{name}` {why}"));
    }

    fn incomplete(&mut self, span: Span, name: &str) {
        self.error(span, format!("`{name}` has too few arguments")).help = Some(
            "it takes a likelihood, the tuple of its arguments, the size of the Hessian's blocks, a \
             covariance function and the tuple of its arguments"
                .into(),
        );
    }

    fn not_data(&mut self, name: &str, forwarded: &Typed) {
        let slots = slots_of(forwarded).unwrap_or_default();
        let error_span =
            slots.iter().find(|slot| slot.level.any()).map_or(forwarded.expr.span, |s| s.expr.span);
        self.error(
            error_span,
            format!("`{name}` takes data only, and this may depend on parameters"),
        );
    }

    /// Reports functions given as likelihoods that call what cannot be differentiated twice.
    pub(super) fn check_second_derivatives(&mut self) {
        for (function, span) in std::mem::take(&mut self.twice) {
            let mut seen = Vec::new();
            if let Some(name) = self.first_order_call(function, &mut seen) {
                self.error(
                    span,
                    format!("this function calls `{name}`, which has no second derivatives"),
                )
                .help = Some(
                    "the Laplace approximation needs second derivatives of the likelihood".into(),
                );
            }
        }
    }

    fn first_order_call(&self, function: FunctionId, seen: &mut Vec<FunctionId>) -> Option<String> {
        if seen.contains(&function) {
            return None;
        }
        seen.push(function);
        let mut calls = Vec::new();
        for statement in &self.program.function(function).body {
            super::walk::calls(statement, &mut calls);
        }
        calls.into_iter().find_map(|callee| match callee {
            Callee::Library(name) => {
                let refused = higher_order::exists(&name)
                    || exists(&super::environment::normalised(&name))
                    || FIRST_ORDER.contains(&&*name);
                refused.then(|| (*name).to_owned())
            }
            Callee::User { function, .. } => self.first_order_call(function, seen),
        })
    }
}

/// The slots of a value that is a tuple; those of a literal are its own expressions.
fn slots_of(value: &Typed) -> Option<Vec<Typed>> {
    let Type::Tuple(slots) = value.ty() else { return None };
    let slot = |(k, ty): (usize, &Type)| {
        let expr = match &value.expr.kind {
            ExprKind::Tuple(elements) => elements[k].clone(),
            _ => Expr::new(
                ExprKind::Field(Box::new(value.expr.clone()), k),
                ty.clone(),
                value.expr.span,
            ),
        };
        Typed { expr, level: value.level.slot(k) }
    };
    Some(slots.iter().enumerate().map(slot).collect())
}
