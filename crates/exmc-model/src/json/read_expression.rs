//! JSON values -> expressions and distributions.

use exmc_graph::Tensor;

use super::place::Place;
use super::tensor::{CONSTANT, flat_tensor, numbers};
use super::value::Value;
use crate::diagnostic::{Code, Diagnostic, closest};
use crate::expr::{Attributes, Expr};
use crate::function::is_function;
use crate::spec::{DistKind, DistSpec, TransformSpec};
use crate::support::Support;

/// Expressions nested deeper, shared parts included, are refused; building refuses them too.
const MAX_DEPTH: usize = 400;

/// The expressions that later ones refer to by number, each with how deep it is nested.
#[derive(Default)]
pub(super) struct Shared(pub(super) Vec<(Expr, usize)>);

impl Shared {
    pub(super) fn expression(&self, place: &Place<'_>) -> Result<Expr, Diagnostic> {
        self.with_depth(place).map(|(expr, _)| expr)
    }

    /// An expression and how deep it is nested.
    pub(super) fn with_depth(&self, place: &Place<'_>) -> Result<(Expr, usize), Diagnostic> {
        let leaf = |expr: Expr| Ok((expr, 1));
        match place.value() {
            Value::String(name) => leaf(Expr::name(name.as_str())),
            Value::Number(_) => leaf(Expr::constant(constant(place)?)),
            Value::Array(elements) => match elements.first().map(|e| &e.value) {
                Some(Value::String(function)) => self.call(place, function),
                Some(Value::Object(_)) => Err(place
                    .expected("an expression")
                    .help("an array starts with a function's name, or holds numbers only")),
                _ => leaf(Expr::constant(constant(place)?)),
            },
            Value::Object(_) if place.get("shared").is_some() => self.shared(place),
            Value::Object(_) if place.get("scan").is_some() => self.scan(place),
            Value::Object(_) if place.get("tensor").is_some() => {
                leaf(Expr::constant(flat_tensor(place)?))
            }
            Value::Object(_) => Err(place
                .expected("an expression")
                .help("the objects among expressions are {\"tensor\": ...}, {\"shared\": ...} and {\"scan\": ...}")),
            Value::Boolean(_) => Err(place.expected("an expression").help("write 0 or 1")),
            Value::Null => Err(place
                .expected("an expression")
                .help("null stands for missing elements of observed values only")),
        }
    }

    fn shared(&self, place: &Place<'_>) -> Result<(Expr, usize), Diagnostic> {
        place.check_keys("a shared expression", &["shared"])?;
        let index = place.need("shared", "a shared expression")?;
        let k = index.whole_number("an entry of \"expressions\"")?;
        self.0.get(k).cloned().ok_or_else(|| {
            let message = format!("there is no shared expression {k} before this one");
            let help = "entries of \"expressions\" count from 0 and refer to earlier ones only";
            index.mistake(Code::UnknownReference, message).help(help)
        })
    }

    fn call(&self, place: &Place<'_>, function: &str) -> Result<(Expr, usize), Diagnostic> {
        let mut elements = place.elements("a call")?.skip(1).peekable();
        if elements.peek().is_none() && !is_function(function) {
            let message = format!("there is no function `{function}`");
            let help = format!("to refer to a value write {function:?} without brackets");
            return Err(place.mistake(Code::UnknownFunction, message).help(help));
        }
        let (mut args, mut depth, mut attributes) = (Vec::new(), 0, Attributes::default());
        while let Some(element) = elements.next() {
            let is_setting = matches!(element.value(), Value::Object(_))
                && element.get("shared").is_none()
                && element.get("tensor").is_none()
                && element.get("scan").is_none();
            if is_setting && elements.peek().is_none() {
                attributes = settings(&element)?;
            } else {
                let (arg, below) = self.with_depth(&element)?;
                args.push(arg);
                depth = depth.max(below);
            }
        }
        Ok((Expr::call_with(function, args, attributes), deeper(place, depth)?))
    }

    /// An optional expression under a key.
    pub(super) fn optional(
        &self,
        place: &Place<'_>,
        key: &str,
    ) -> Result<Option<Expr>, Diagnostic> {
        place.get(key).map(|p| self.expression(&p)).transpose()
    }

    /// The distribution that a node (or an object inside of one) names by `dist` and `params`.
    pub(super) fn distribution(&self, place: &Place<'_>) -> Result<DistSpec, Diagnostic> {
        let dist = place.need("dist", "a distribution")?;
        let params = place.get("params");
        match dist.value() {
            Value::String(name) => {
                let args = params.map(|p| self.parameters(&p)).transpose()?.unwrap_or_default();
                Ok(DistSpec(DistKind::Family { name: name.clone(), args }))
            }
            Value::Object(_) => match params {
                None => self.wrapper(&dist),
                Some(params) => Err(params
                    .mistake(Code::BadJson, "a wrapper takes no \"params\" beside it")
                    .help("its arguments belong inside of it")),
            },
            _ => Err(dist.expected("a distribution's name or an object that wraps others")),
        }
    }

    fn parameters(&self, place: &Place<'_>) -> Result<Vec<(Option<String>, Expr)>, Diagnostic> {
        match place.value() {
            Value::Object(_) => place
                .fields()
                .map(|(name, p)| Ok((Some(name.to_owned()), self.expression(&p)?)))
                .collect(),
            Value::Array(_) => place
                .elements("an array of parameters")?
                .map(|p| Ok((None, self.expression(&p)?)))
                .collect(),
            _ => Err(place.expected("parameters by name (an object) or in order (an array)")),
        }
    }

    fn wrapper(&self, place: &Place<'_>) -> Result<DistSpec, Diagnostic> {
        let mut fields = place.fields();
        let (Some((kind, inner)), false) = (fields.next(), place.get("dist").is_some()) else {
            place.check_keys("a distribution", &["dist", "params"])?;
            return self.distribution(place);
        };
        place.check_keys("a distribution", WRAPPERS)?;
        if let Some((second, extra)) = fields.next() {
            let message = format!("a distribution is one wrapper, found {kind:?} and {second:?}");
            return Err(extra.mistake(Code::BadJson, message));
        }
        let base = || {
            let base = inner.need("base", kind)?;
            self.nested(&base).map(Box::new)
        };
        let limits = || -> Result<_, Diagnostic> {
            inner.check_keys(kind, &["base", "lower", "upper"])?;
            Ok((base()?, self.optional(&inner, "lower")?, self.optional(&inner, "upper")?))
        };
        Ok(DistSpec(match kind {
            "mixture" => {
                inner.check_keys(kind, &["weights", "components"])?;
                let weights = self.expression(&inner.need("weights", kind)?)?;
                let components = inner.need("components", kind)?;
                let components = components
                    .elements("an array of distributions")?
                    .map(|c| self.nested(&c))
                    .collect::<Result<Vec<_>, _>>()?;
                DistKind::Mixture { weights, components }
            }
            "truncated" => {
                let (base, lower, upper) = limits()?;
                DistKind::Truncated { base, lower, upper }
            }
            "censored" => {
                let (base, lower, upper) = limits()?;
                DistKind::Censored { base, lower, upper }
            }
            "zero_inflated" => {
                inner.check_keys(kind, &["base", "probability"])?;
                let probability = self.expression(&inner.need("probability", kind)?)?;
                DistKind::ZeroInflated { base: base()?, probability }
            }
            _ => {
                inner.check_keys(kind, &["params", "support", "logp", "quantile"])?;
                let mut args = Vec::new();
                if let Some(params) = inner.get("params") {
                    if !matches!(params.value(), Value::Object(_)) {
                        return Err(params.expected("an object of parameters by name"));
                    }
                    for (name, value) in params.fields() {
                        args.push((name.to_owned(), self.expression(&value)?));
                    }
                }
                let support = inner.get("support").map(|s| support(&s)).transpose()?;
                DistKind::Custom {
                    args,
                    logp: self.expression(&inner.need("logp", kind)?)?,
                    quantile: self.optional(&inner, "quantile")?,
                    support: support.unwrap_or(Support::Real),
                }
            }
        }))
    }

    /// A distribution inside of a wrapper.
    fn nested(&self, place: &Place<'_>) -> Result<DistSpec, Diagnostic> {
        match place.value() {
            Value::Object(_) => self.wrapper(place),
            _ => Err(place
                .expected("a distribution")
                .help("as in {\"dist\": \"normal\", \"params\": {\"mu\": 0, \"sigma\": 1}}")),
        }
    }

    pub(super) fn transform(&self, place: &Place<'_>) -> Result<TransformSpec, Diagnostic> {
        if let Value::String(name) = place.value() {
            let found = TRANSFORMS.iter().find(|(n, _)| n == name);
            return found.map(|(_, t)| t.clone()).ok_or_else(|| {
                let message = format!("there is no transform `{name}`");
                let mistake = place.mistake(Code::BadTransform, message);
                match closest(name, TRANSFORMS.iter().map(|(n, _)| *n)) {
                    Some(name) => mistake.help(format!("did you mean `{name}`?")),
                    None => mistake.help("lower, upper and interval take limits: {\"lower\": 0}"),
                }
            });
        }
        place.check_keys("a transform", &["lower", "upper", "interval"])?;
        let mut fields = place.fields();
        let (Some((kind, limits)), None) = (fields.next(), fields.next()) else {
            let message = "a transform has one of the keys lower, upper and interval";
            return Err(place
                .mistake(Code::BadTransform, message)
                .help("two limits: {\"interval\": [a, b]}"));
        };
        match kind {
            "lower" => Ok(TransformSpec::Lower(self.expression(&limits)?)),
            "upper" => Ok(TransformSpec::Upper(self.expression(&limits)?)),
            _ => {
                let what = "an array of two limits";
                let ends = limits
                    .elements(what)?
                    .map(|e| self.expression(&e))
                    .collect::<Result<Vec<_>, _>>()?;
                let [a, b] = <[Expr; 2]>::try_from(ends).map_err(|_| limits.expected(what))?;
                Ok(TransformSpec::Interval(a, b))
            }
        }
    }
}

const WRAPPERS: &[&str] = &["mixture", "truncated", "censored", "zero_inflated", "custom"];

/// Transforms without limits, by name.
pub(super) const TRANSFORMS: &[(&str, TransformSpec)] = &[
    ("identity", TransformSpec::Identity),
    ("log", TransformSpec::Log),
    ("softplus", TransformSpec::Softplus),
    ("logit", TransformSpec::Logit),
    ("circle", TransformSpec::Circle),
    ("ordered", TransformSpec::Ordered),
    ("positive_ordered", TransformSpec::PositiveOrdered),
    ("simplex", TransformSpec::Simplex),
    ("simplex_plain", TransformSpec::SimplexPlain),
    ("simplex_softmax", TransformSpec::SimplexSoftmax),
    ("correlation_cholesky", TransformSpec::CorrelationCholesky),
    ("covariance_cholesky", TransformSpec::CovarianceCholesky),
    ("correlation_matrix", TransformSpec::CorrelationMatrix),
    ("covariance_matrix", TransformSpec::CovarianceMatrix),
    ("column_simplex", TransformSpec::ColumnSimplex),
    ("sum_to_zero_matrix", TransformSpec::SumToZeroMatrix),
    ("sum_to_zero", TransformSpec::SumToZero),
    ("unit_vector", TransformSpec::UnitVector),
];

/// Supports of custom distributions, by name.
pub(super) const SUPPORTS: &[(&str, Support)] = &[
    ("real", Support::Real),
    ("positive", Support::Positive),
    ("non_negative", Support::NonNegative),
    ("unit_open", Support::UnitOpen),
    ("unit", Support::Unit),
    ("minus_one_to_one", Support::MinusOneToOne),
    ("circle", Support::Circle),
    ("binary", Support::Binary),
    ("count", Support::Count),
];

fn support(place: &Place<'_>) -> Result<Support, Diagnostic> {
    let name = place.string("the name of a support")?;
    SUPPORTS.iter().find(|(n, _)| *n == name).map(|(_, s)| *s).ok_or_else(|| {
        let mistake =
            place.mistake(Code::BadJson, format!("a custom distribution has no support `{name}`"));
        let names: Vec<_> = SUPPORTS.iter().map(|(n, _)| *n).collect();
        match closest(name, names.iter().copied()) {
            Some(name) => mistake.help(format!("did you mean `{name}`?")),
            None => mistake.help(format!("its support is one of {}", names.join(", "))),
        }
    })
}

/// The depth of an expression around others.
pub(super) fn deeper(place: &Place<'_>, depth: usize) -> Result<usize, Diagnostic> {
    if depth < MAX_DEPTH {
        return Ok(depth + 1);
    }
    let message = format!("an expression is nested more than {MAX_DEPTH} deep");
    let help = "name parts of it with deterministic nodes, or write it over vectors";
    Err(place.mistake(Code::BadArguments, message).help(help))
}

fn constant(place: &Place<'_>) -> Result<Tensor, Diagnostic> {
    numbers(place, CONSTANT)?.into_tensor(place, None)
}

/// Settings of a call: whole numbers, lists of them, and flags.
fn settings(place: &Place<'_>) -> Result<Attributes, Diagnostic> {
    let mut settings = Vec::new();
    for (name, value) in place.fields() {
        let numbers = match value.value() {
            Value::Boolean(flag) => vec![usize::from(*flag)],
            Value::Array(_) if name == "shape" => value.shape()?.extents().to_vec(),
            Value::Array(_) => value
                .elements("a list")?
                .map(|e| e.whole_number(&format!("the setting {name:?}")))
                .collect::<Result<_, _>>()?,
            _ => vec![value.whole_number(&format!("the setting {name:?}"))?],
        };
        settings.push((name.to_owned(), numbers));
    }
    Ok(Attributes(settings))
}
