//! Calls: which function a name means, whether it may be called there, conversions of the
//! arguments.

use super::environment::{Block, Checker, Suffix, Typed, is_proportional, normalised};
use super::expressions::Checked;
use super::names::CONDITIONED;
use super::overloads::{Candidate, Resolution, convert};
use super::types::Level;
use super::{higher_order, laplace, signatures};
use crate::source::Span;
use crate::syntax::tree::{self, Name};
use crate::typed::{Callee, Expr, ExprKind, StatementKind, Type};

impl Checker {
    /// A call as an expression.
    pub(super) fn call(
        &mut self,
        span: Span,
        function: &Name,
        args: &[tree::Expr],
        bar: bool,
    ) -> Checked {
        let arguments = self.expressions(args)?;
        let parameters = arguments.iter().any(|argument| argument.level.any());
        let typed = self.apply(span, function, arguments)?;
        self.check_identifier(function)?;
        self.check_bar(span, function, bar, args.len())?;
        self.check_effects(span, function, parameters)?;
        Some(typed)
    }

    /// A call as a statement.
    pub(super) fn call_statement(
        &mut self,
        span: Span,
        function: &Name,
        args: &[tree::Expr],
    ) -> Option<StatementKind> {
        let arguments = self.expressions(args)?;
        let parameters = arguments.iter().any(|argument| argument.level.any());
        self.check_identifier(function)?;
        self.check_effects(span, function, parameters)?;
        if higher_order::exists(&function.text) || laplace::exists(&function.text) {
            self.not_a_statement(span, function);
            return None;
        }
        let candidate = self.resolved(span, function, &arguments)?;
        if candidate.returns != Type::Void {
            self.not_a_statement(span, function);
            return None;
        }
        let callee = callee(&candidate, function);
        let args = convert(&candidate.arguments, arguments);
        Some(StatementKind::Call { function: callee, args })
    }

    fn not_a_statement(&mut self, span: Span, function: &Name) {
        self.error(span, format!("`{}` returns a value, which is not used", function.text)).help =
            Some("assign it to a variable, or add it to target with `target += …`".into());
    }

    /// A function applied to arguments, wherever the call may stand.
    pub(super) fn apply(&mut self, span: Span, function: &Name, arguments: Vec<Typed>) -> Checked {
        if self.overloads(&function.text).is_empty() {
            if higher_order::exists(&function.text) {
                return self.apply_higher_order(span, function, arguments);
            }
            if laplace::exists(&normalised(&function.text)) {
                return self.apply_laplace(span, function, arguments);
            }
        }
        let candidate = self.resolved(span, function, &arguments)?;
        if candidate.returns == Type::Void {
            self.error(
                span,
                format!("`{}` returns nothing, and a value is needed here", function.text),
            );
            return None;
        }
        let parameters = arguments.iter().any(|argument| argument.level.any());
        let kind =
            ExprKind::Call(callee(&candidate, function), convert(&candidate.arguments, arguments));
        Some(returned(span, kind, candidate.returns, parameters))
    }

    /// The function that a call means; reports calls that mean none.
    fn resolved(&mut self, span: Span, function: &Name, arguments: &[Typed]) -> Option<Candidate> {
        let name = &*function.text;
        if let Some(binding) = self.binding(name)
            && !signatures::exists(&normalised(name))
        {
            let declared = binding.span;
            self.error(span, format!("`{name}` is a variable, not a function"))
                .labels
                .push((declared, "declared here".into()));
            return None;
        }
        match self.resolve(name, arguments) {
            Resolution::One(candidate) => Some(candidate),
            Resolution::Ambiguous(candidates) => {
                self.ambiguous(span, name, &candidates);
                None
            }
            Resolution::Unfit(unfit) => {
                self.unfit(span, name, arguments, &unfit);
                None
            }
            Resolution::Unknown => {
                self.unknown_function(span, name);
                None
            }
        }
    }

    fn unknown_function(&mut self, span: Span, name: &str) {
        let help = signatures::replacement(name)
            .or_else(|| self.other_suffix(name))
            .or_else(|| Some(format!("did you mean `{}`?", self.nearest(name)?)));
        self.error(span, format!("there is no function `{name}`")).help = help;
    }

    /// Advice for a density's name without suffix, or with one that this density does not have.
    fn other_suffix(&self, name: &str) -> Option<String> {
        if let Some(family) = signatures::family(name) {
            let suffix = family.density_suffix();
            return Some(format!("distributions are called by suffix: `{name}_{suffix}(y | …)`"));
        }
        let (prefix, suffix) = name.rsplit_once('_')?;
        let other = match suffix {
            "lpdf" | "lupdf" => format!("{prefix}_lpmf"),
            "lpmf" | "lupmf" => format!("{prefix}_lpdf"),
            "cdf" | "lcdf" | "lccdf" | "rng" => {
                let family = signatures::family(prefix)?;
                return Some(format!("Stan has no {suffix} of the family `{}`", family.name));
            }
            _ => return None,
        };
        let known = signatures::exists(&other) || self.functions.contains_key(other.as_str());
        known.then(|| format!("did you mean `{other}`?"))
    }

    /// Densities are called with a bar after the outcome (which may be absent where nothing follows
    /// it), other functions without.
    fn check_bar(
        &mut self,
        span: Span,
        function: &Name,
        bar: bool,
        arguments: usize,
    ) -> Option<()> {
        let name = &function.text;
        let needed = CONDITIONED.iter().any(|suffix| name.ends_with(suffix));
        if needed == bar || (needed && arguments == 1) {
            return Some(());
        }
        if needed {
            self.error(span, format!("`{name}` needs a bar after the first argument")).help =
                Some(format!("write `{name}(y | …)`"));
        } else {
            self.error(
                span,
                format!("`{name}` is no density; its arguments are separated by commas"),
            )
            .help = Some(
                "the bar is for functions that end in _lpdf, _lpmf, _cdf, _lcdf or _lccdf".into(),
            );
        }
        None
    }

    /// Where functions that change the density or draw random numbers may be called.
    fn check_effects(&mut self, span: Span, function: &Name, parameters: bool) -> Option<()> {
        let name = &function.text;
        match Suffix::of(name) {
            Suffix::Target if self.place.block == Block::TransformedParameters => {
                self.warn(span, "_lp functions in transformed parameters are deprecated").help =
                    Some(
                        "a function that ends in _jacobian does the same for changes of variables"
                            .into(),
                    );
            }
            Suffix::Target if self.inside(Suffix::Target) || self.place.block == Block::Model => {}
            Suffix::Target => {
                self.target_elsewhere(span);
                return None;
            }
            Suffix::Jacobian => {
                let allowed = self.inside(Suffix::Jacobian)
                    || self.place.block == Block::TransformedParameters;
                if !allowed {
                    self.jacobian_elsewhere(span);
                    return None;
                }
                if !parameters {
                    self.warn(span, format!("`{name}` adds to the log Jacobian though no argument depends on parameters"));
                }
            }
            Suffix::Rng if self.place.in_size => {
                self.error(span, "a size must not be random");
                return None;
            }
            Suffix::Rng => {
                let allowed = self.inside(Suffix::Rng)
                    || matches!(
                        self.place.block,
                        Block::GeneratedQuantities | Block::TransformedData
                    );
                if !allowed {
                    self.error(span, format!("`{name}` draws random numbers, which is not allowed here")).help = Some(
                        "functions that end in _rng may be called in transformed data, in generated \
                         quantities and in functions that end in _rng"
                            .into(),
                    );
                    return None;
                }
            }
            _ => {}
        }
        self.check_proportional(function)
    }

    pub(super) fn target_elsewhere(&mut self, span: Span) {
        self.error(span, "the log density cannot be changed or read here").help = Some(
            "`target`, `~` and functions that end in _lp belong into the model block, or into functions \
             that end in _lp"
                .into(),
        );
    }

    pub(super) fn jacobian_elsewhere(&mut self, span: Span) {
        self.error(span, "the log Jacobian cannot be changed here").help = Some(
            "`jacobian +=` and functions that end in _jacobian belong into transformed parameters, or into \
             functions that end in _jacobian"
                .into(),
        );
    }
}

/// A call's value: it may depend on parameters if an argument does and it is no integer.
pub(super) fn returned(span: Span, kind: ExprKind, ty: Type, parameters: bool) -> Typed {
    let level = Level::of(&ty, parameters);
    Typed { expr: Expr::new(kind, ty, span), level }
}

/// The function that a candidate is, called by a name.
pub(super) fn callee(candidate: &Candidate, function: &Name) -> Callee {
    match candidate.user {
        Some(id) => Callee::User { function: id, proportional: is_proportional(&function.text) },
        None => Callee::Library(function.text.clone()),
    }
}
