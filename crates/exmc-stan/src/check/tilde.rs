//! `y ~ distribution(…) T[lower, upper]` -> the density that is meant, and the functions of a
//! truncation.

use super::environment::{Block, Checker, Suffix, Typed};
use super::laplace;
use super::overloads::{Candidate, Resolution, convert};
use super::signatures;
use super::types::{is_discrete, promote, spell_list};
use crate::source::Span;
use crate::syntax::tree::{self, Name};
use crate::typed::{ExprKind, StatementKind, Truncation, Type};

type Limits = (Option<tree::Expr>, Option<tree::Expr>);

impl Checker {
    pub(super) fn tilde(
        &mut self,
        span: Span,
        outcome: &tree::Expr,
        distribution: &Name,
        args: &[tree::Expr],
        truncation: Option<&Limits>,
    ) -> Option<StatementKind> {
        let outcome = self.expression(outcome);
        let args = self.expressions(args);
        let limits = truncation
            .map(|(lower, upper)| (self.limit(lower.as_ref()), self.limit(upper.as_ref())));
        self.check_tilde_place(span, distribution)?;
        let mut arguments = vec![outcome?];
        arguments.extend(args?);
        let candidate = match self.density(span, distribution, &arguments)? {
            Density::Function(candidate) => candidate,
            Density::Laplace(suffix) => {
                return self.laplace_tilde(span, distribution, suffix, arguments);
            }
        };
        let truncation = match limits {
            None => None,
            Some((lower, upper)) => {
                Some(Box::new(self.truncation(span, distribution, &arguments, lower?, upper?)?))
            }
        };
        let mut converted = convert(&candidate.arguments, arguments).into_iter();
        let outcome = converted.next()?;
        let distribution = distribution.text.clone();
        let args = converted.collect();
        Some(StatementKind::Tilde { outcome, distribution, user: candidate.user, args, truncation })
    }

    fn check_tilde_place(&mut self, span: Span, distribution: &Name) -> Option<()> {
        self.check_identifier(distribution)?;
        let name = &*distribution.text;
        let density = ["_lpdf", "_lpmf", "_lupdf", "_lupmf"].iter().find(|s| name.ends_with(**s));
        if let Some(suffix) = density {
            let short = name.strip_suffix(suffix).unwrap_or(name);
            self.error(
                distribution.span,
                "after `~` stands a distribution's name without suffix",
            )
            .help = Some(format!("write `~ {short}(…)`, or `target += {name}(… | …)`"));
            return None;
        }
        if !self.inside(Suffix::Target) && self.place.block != Block::Model {
            self.target_elsewhere(span);
            return None;
        }
        if name.ends_with("_cdf") || name.ends_with("_ccdf") {
            self.error(span, format!("`{name}` is no distribution")).help =
                Some(format!("write `target += log({name}(… | …))`"));
            return None;
        }
        Some(())
    }

    /// A limit of a truncation: a number. The outer option is none after a mistake.
    fn limit(&mut self, limit: Option<&tree::Expr>) -> Option<Option<Typed>> {
        let Some(expr) = limit else { return Some(None) };
        let typed = self.expression(expr)?;
        if matches!(typed.ty(), Type::Int | Type::Real) {
            return Some(Some(typed));
        }
        let message = format!(
            "the limit of a truncation must be an int or a real, and this is {}",
            self.describe(&typed)
        );
        self.error(expr.span, message);
        None
    }

    /// The density or mass function of a distribution for these arguments.
    fn density(&mut self, span: Span, distribution: &Name, arguments: &[Typed]) -> Option<Density> {
        let name = &*distribution.text;
        let mut unfit = Vec::new();
        let mut ambiguous = Vec::new();
        for suffix in ["_lpmf", "_lpdf"] {
            match self.resolve(&format!("{name}{suffix}"), arguments) {
                Resolution::One(candidate) => return Some(Density::Function(candidate)),
                Resolution::Ambiguous(candidates) => ambiguous = candidates,
                Resolution::Unfit(found) => unfit.extend(found),
                Resolution::Unknown => {}
            }
        }
        if !ambiguous.is_empty() {
            self.ambiguous(span, name, &ambiguous);
            return None;
        }
        if !unfit.is_empty() {
            self.unfit(span, name, arguments, &unfit);
            return None;
        }
        if laplace::exists(&format!("{name}_lpmf")) {
            return Some(Density::Laplace("_lupmf"));
        }
        let help = self.distribution_hint(name, arguments);
        self.error(distribution.span, format!("there is no distribution `{name}`")).help = help;
        None
    }

    fn distribution_hint(&self, name: &str, arguments: &[Typed]) -> Option<String> {
        if name.ends_with("_log") || signatures::exists(name) {
            return Some(format!("`{name}` is a function; distributions have an _lpdf or _lpmf"));
        }
        let suffix = match arguments.first() {
            Some(outcome) if is_discrete(outcome.ty()) => "_lpmf",
            _ => "_lpdf",
        };
        let nearest = self.nearest(&format!("{name}{suffix}"))?;
        Some(format!("did you mean `{}`?", nearest.strip_suffix(suffix)?))
    }

    /// The functions that a truncation divides by; both must exist for each limit.
    fn truncation(
        &mut self,
        span: Span,
        distribution: &Name,
        arguments: &[Typed],
        lower: Option<Typed>,
        upper: Option<Typed>,
    ) -> Option<Truncation> {
        let mut found = Truncation { lower: None, upper: None, user_lcdf: None, user_lccdf: None };
        for (limit, is_lower) in [(lower, true), (upper, false)] {
            let Some(limit) = limit else { continue };
            let mut with_limit = arguments.to_vec();
            with_limit[0] = limit;
            let mut ty = None;
            for suffix in ["_lcdf", "_lccdf"] {
                let name = format!("{}{suffix}", distribution.text);
                match self.resolve(&name, &with_limit) {
                    Resolution::One(candidate) if candidate.returns == Type::Real => {
                        let user = if suffix == "_lcdf" {
                            &mut found.user_lcdf
                        } else {
                            &mut found.user_lccdf
                        };
                        *user = candidate.user;
                        ty = Some(candidate.arguments[0].ty.clone());
                    }
                    _ => {
                        let given = spell_list(with_limit.iter().map(Typed::ty));
                        let message = format!("`{}` cannot be truncated here", distribution.text);
                        self.error(span, message).help = Some(format!(
                            "truncation needs _lcdf and _lccdf, and there is no `{name}` for ({given})"
                        ));
                        return None;
                    }
                }
            }
            let limit = with_limit.swap_remove(0);
            let expr = ty.map(|ty| promote(limit.expr, &ty));
            if is_lower {
                found.lower = expr;
            } else {
                found.upper = expr;
            }
        }
        Some(found)
    }

    /// The Laplace approximation's densities are checked as calls.
    fn laplace_tilde(
        &mut self,
        span: Span,
        distribution: &Name,
        suffix: &str,
        arguments: Vec<Typed>,
    ) -> Option<StatementKind> {
        let name =
            Name { text: format!("{}{suffix}", distribution.text).into(), span: distribution.span };
        let call = self.apply_laplace(span, &name, arguments)?;
        let ExprKind::Call(_, mut args) = call.expr.kind else { return None };
        let outcome = args.remove(0);
        let distribution = distribution.text.clone();
        Some(StatementKind::Tilde { outcome, distribution, user: None, args, truncation: None })
    }
}

enum Density {
    Function(Candidate),
    Laplace(&'static str),
}
