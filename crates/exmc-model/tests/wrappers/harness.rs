//! A distribution as text, or a model -> log densities and gradients, through lowering and the
//! reference evaluator.

use std::collections::BTreeMap;

use exmc_graph::{DType, NodeId, Shape, Tensor, differentiate, evaluate};
use exmc_model::distributions::{censored, family, mixture, normal, truncated, zero_inflated};
use exmc_model::{
    DistSpec, Expr, LowerOptions, Lowered, Model, ModelBuilder, Support, lower, rewrite,
};

/// Values of inputs by name.
pub(crate) type Values = BTreeMap<String, Tensor>;

/// A distribution as the tables write it, its numbers with a point as elements of the variable `p`.
pub(crate) struct Parsed {
    pub(crate) dist: DistSpec,
    pub(crate) parameters: Vec<f64>,
}

pub(crate) fn parse(text: &str) -> Parsed {
    let mut parser = Parser { rest: text, parameters: Vec::new() };
    let dist = parser.dist();
    assert_eq!(parser.rest, "", "{text}");
    Parsed { dist, parameters: parser.parameters }
}

struct Parser<'a> {
    rest: &'a str,
    parameters: Vec<f64>,
}

impl Parser<'_> {
    fn token(&mut self) -> String {
        let skipped = self.rest.trim_start_matches([',', ' ']);
        let end = skipped.find(|c: char| "(), []".contains(c)).unwrap_or(skipped.len()).max(1);
        let (token, rest) = skipped.split_at(end);
        self.rest = rest;
        token.to_owned()
    }

    fn expect(&mut self, wanted: &str) {
        let token = self.token();
        assert_eq!(token, wanted, "before {}", self.rest);
    }

    fn is_next(&self, wanted: char) -> bool {
        self.rest.trim_start_matches([',', ' ']).starts_with(wanted)
    }

    fn number(&mut self) -> Expr {
        let token = self.token();
        if token == "const" {
            self.expect("(");
            let value: f64 = self.token().parse().unwrap();
            self.expect(")");
            return value.into();
        }
        let value: f64 = token.parse().unwrap_or_else(|_| panic!("{token} {}", self.rest));
        if !token.contains('.') {
            return value.into();
        }
        self.parameters.push(value);
        Expr::name("p").at(self.parameters.len() - 1)
    }

    fn limit(&mut self) -> Option<Expr> {
        if self.is_next('N') {
            self.expect("None");
            return None;
        }
        Some(self.number())
    }

    /// Weights are divided by their sum, so that they stay a simplex when one of them moves.
    fn weights(&mut self) -> Expr {
        self.expect("[");
        let mut weights = Vec::new();
        while !self.is_next(']') {
            weights.push(self.number());
        }
        self.expect("]");
        let all = Expr::call("stack", weights);
        all.clone() / all.sum()
    }

    fn dist(&mut self) -> DistSpec {
        let name = self.token();
        self.expect("(");
        let dist = match name.as_str() {
            "mixture" => {
                let weights = self.weights();
                let mut components = Vec::new();
                while !self.is_next(')') {
                    components.push(self.dist());
                }
                mixture(weights, components)
            }
            "truncated" | "censored" => {
                let base = self.dist();
                let (lower, upper) = (self.limit(), self.limit());
                if name == "truncated" {
                    truncated(base, lower, upper)
                } else {
                    censored(base, lower, upper)
                }
            }
            "zero_inflated" => {
                let base = self.dist();
                let probability = self.number();
                zero_inflated(base, probability)
            }
            _ => {
                let mut args = Vec::new();
                while !self.is_next(')') {
                    args.push(self.number());
                }
                family(&name, args)
            }
        };
        self.expect(")");
        dist
    }
}

pub(crate) fn lowered(model: &ModelBuilder) -> Lowered {
    lower(&rewritten(model), LowerOptions::default()).unwrap()
}

pub(crate) fn rewritten(model: &ModelBuilder) -> Model {
    rewrite(&model.build().unwrap(), &[]).unwrap()
}

/// A lowered model with values of its inputs.
pub(crate) struct Point {
    pub(crate) lowered: Lowered,
    pub(crate) values: Values,
}

impl Point {
    pub(crate) fn new(model: &ModelBuilder, values: &[(&str, Tensor)]) -> Self {
        let values = values.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
        Self { lowered: lowered(model), values }
    }

    pub(crate) fn evaluate(&self, nodes: &[NodeId]) -> Vec<Tensor> {
        evaluate(&self.lowered.graph, nodes, &|name| self.values.get(name).cloned()).unwrap()
    }

    /// The term of an observation or a variable; `None` when it has none.
    pub(crate) fn term(&self, name: &str) -> Option<f64> {
        let term = self.lowered.terms.iter().find(|t| t.name == name)?;
        self.evaluate(&[term.node])[0].as_scalar()
    }

    pub(crate) fn logp(&self) -> f64 {
        self.evaluate(&[self.lowered.logp])[0].as_scalar().unwrap()
    }

    /// Elementwise log likelihood of an observed variable.
    pub(crate) fn pointwise(&self, name: &str) -> Vec<f64> {
        let found = self.lowered.pointwise.iter().find(|p| p.name == name).unwrap();
        self.evaluate(&[found.node])[0].values().to_vec()
    }

    /// Whether all checks of data pass.
    pub(crate) fn data_are_good(&self) -> bool {
        let checks: Vec<_> = self.lowered.checks.iter().map(|c| c.predicate).collect();
        self.evaluate(&checks).iter().all(|v| v.as_scalar() == Some(1.0))
    }

    pub(crate) fn gradient(&self, input: &str) -> Vec<f64> {
        let mut graph = self.lowered.graph.clone();
        let wrt = graph.find_input(input).unwrap();
        let gradient = differentiate(&mut graph, self.lowered.logp, &[wrt]).unwrap()[0];
        let values = evaluate(&graph, &[gradient], &|name| self.values.get(name).cloned());
        values.unwrap()[0].values().to_vec()
    }

    /// The log density where one element of an input has moved.
    fn moved(&self, input: &str, k: usize, by: f64) -> f64 {
        let find = |name: &str| {
            let value = self.values.get(name)?.clone();
            if name != input {
                return Some(value);
            }
            let mut moved = value.values().to_vec();
            moved[k] += by;
            Tensor::real(value.shape().clone(), moved)
        };
        evaluate(&self.lowered.graph, &[self.lowered.logp], &find).unwrap()[0].as_scalar().unwrap()
    }

    /// Compares the gradient with five-point differences and returns how many elements there were
    /// to compare (not those where a step leaves the support).
    ///
    /// Relative to the larger of one and the derivative, 1e-7: the step leaves a truncation error
    /// of about 1e-12 times the fifth derivative and a rounding error of about 1e-16 |logp| / h.
    pub(crate) fn check_gradient(&self, input: &str, what: &str) -> usize {
        let gradient = self.gradient(input);
        let input_values = self.values[input].values().to_vec();
        let here = self.logp();
        let mut compared = 0;
        for (k, found) in gradient.iter().enumerate() {
            assert!(!found.is_nan() || here.is_nan(), "{what}: gradient of {input}[{k}] is NaN");
            let h = if input_values[k] == 0.0 { 1e-4 } else { 2e-4 * input_values[k].abs() };
            let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|s| self.moved(input, k, s * h));
            if ![a, b, c, d].iter().all(|v| v.is_finite()) {
                continue;
            }
            let expected = (8.0 * (c - b) - (d - a)) / (12.0 * h);
            let error = (found - expected).abs() / expected.abs().max(1.0);
            let rounding = 1e-15 * here.abs() / h;
            assert!(
                error < 1e-7 + rounding,
                "{what}, {input}[{k}]: {found}, differences give {expected}"
            );
            compared += 1;
        }
        compared
    }
}

/// How one outcome of a table's row is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Known {
    Exactly,
    Right,
    Left,
    To(f64),
}

impl Known {
    pub(crate) fn from_text(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("to", upper)) => Self::To(upper.parse().unwrap()),
            _ if text == "exact" => Self::Exactly,
            _ if text == "right" => Self::Right,
            _ if text == "left" => Self::Left,
            _ => panic!("no quantity {text}"),
        }
    }
}

/// One outcome, given as data, of a distribution whose parameters are free.
pub(crate) fn observed(dist: &str, known: Known, y: f64) -> Point {
    let Parsed { dist, parameters } = parse(dist);
    let n = parameters.len();
    let mut model = ModelBuilder::new();
    model.rv("p", normal(0.0, 1e3)).shape([n]);
    model.rv("y", dist);
    model.declare_data("seen", DType::Real, Shape::scalar());
    let obs = model.observe("obs", "y", "seen");
    match known {
        Known::Exactly => obs,
        Known::Right => obs.right_censored(),
        Known::Left => obs.left_censored(),
        Known::To(upper) => obs.interval_censored(upper),
    };
    let p = Tensor::vector(&parameters);
    Point::new(&model, &[("p", p), ("seen", Tensor::scalar(y))])
}

/// Whether a distribution's outcomes are counts.
pub(crate) fn is_discrete(dist: &str) -> bool {
    ["poisson", "binomial"].iter().any(|name| dist.contains(name))
}

/// 1e-12 of the value, or absolutely where it is below one: for closed forms.
#[track_caller]
pub(crate) fn close(found: f64, expected: f64) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(found == expected || error < 1e-12, "{found}, expected {expected}");
}

/// The six decimals that the specification gives.
#[track_caller]
pub(crate) fn golden(found: f64, expected: f64) {
    assert!((found - expected).abs() < 6e-7, "{found}, expected {expected}");
}

/// Log density of the normal distribution.
pub(crate) fn normal_lpdf(y: f64, mu: f64, sigma: f64) -> f64 {
    let z = (y - mu) / sigma;
    -0.5 * z * z - sigma.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
}

/// The real line, for custom densities.
pub(crate) const REAL: Support = Support::Real;
