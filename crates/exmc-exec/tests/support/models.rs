//! Models written out by hand, with data, for tests and the timing example.
#![allow(clippy::unwrap_used, reason = "the models are fixed and well formed")]
#![allow(dead_code, reason = "no user needs everything")]

use exmc_exec::DensitySource;
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, Unary};

/// A model with the data that it is bound to.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) source: DensitySource,
    data: Vec<(&'static str, Tensor)>,
}

impl Model {
    pub(crate) fn data(&self, name: &str) -> Option<Tensor> {
        self.data.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    /// A position of scale one half without structure.
    pub(crate) fn position(&self) -> Vec<f64> {
        (0..self.source.dim).map(|k| fraction(7 * k + 3) - 0.5).collect()
    }
}

/// Equally spread numbers between 0 and 1.
pub(crate) fn fraction(k: usize) -> f64 {
    ((k + 1) as f64 * 0.618_033_988_749_894_9).fract()
}

pub(crate) fn series(n: usize, stride: usize) -> Vec<f64> {
    (0..n).map(|k| 2.0 * fraction(stride * k) - 1.0).collect()
}

/// A graph under construction: parameters are laid out in the order in which they are declared.
pub(crate) struct Build {
    pub(crate) graph: Graph,
    parameters: Vec<(NodeId, usize)>,
    dim: usize,
    data: Vec<(&'static str, Tensor)>,
}

impl Build {
    pub(crate) fn new() -> Self {
        Self { graph: Graph::new(), parameters: Vec::new(), dim: 0, data: Vec::new() }
    }

    pub(crate) fn parameter(&mut self, name: &str, shape: impl Into<Shape>) -> NodeId {
        let shape = shape.into();
        let len = shape.len();
        let id = self.graph.input(name, Role::Parameter, shape, DType::Real).unwrap();
        self.parameters.push((id, self.dim));
        self.dim += len;
        id
    }

    pub(crate) fn data(&mut self, name: &'static str, value: Tensor) -> NodeId {
        let (shape, dtype) = (value.shape().clone(), value.dtype());
        self.data.push((name, value));
        self.graph.input(name, Role::Data, shape, dtype).unwrap()
    }

    /// Sum of normal log densities without the constant.
    pub(crate) fn normal(&mut self, y: NodeId, mean: NodeId, sigma: NodeId) -> NodeId {
        let g = &mut self.graph;
        let residual = g.sub(y, mean);
        let z = g.div(residual, sigma);
        let square = g.square(z);
        let half = g.scale(square, -0.5);
        let log_sigma = g.log(sigma);
        let terms = g.sub(half, log_sigma);
        g.sum(terms)
    }

    pub(crate) fn standard_normal(&mut self, x: NodeId) -> NodeId {
        let square = self.graph.square(x);
        let sum = self.graph.sum(square);
        self.graph.scale(sum, -0.5)
    }

    pub(crate) fn finish(self, name: impl Into<String>, parts: &[NodeId]) -> Model {
        let Self { mut graph, parameters, dim, data } = self;
        let mut logp = parts[0];
        for &part in &parts[1..] {
            logp = graph.add(logp, part);
        }
        Model { name: name.into(), source: DensitySource { graph, logp, parameters, dim }, data }
    }
}

/// Non-centred, with half-Cauchy tau on the log scale.
pub(crate) fn eight_schools() -> Model {
    let mut b = Build::new();
    let (mu, log_tau) = (b.parameter("mu", Vec::new()), b.parameter("log_tau", Vec::new()));
    let raw = b.parameter("raw", [8]);
    let y = b.data("y", Tensor::vector(&[28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]));
    let sigma = b.data("sigma", Tensor::vector(&[15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]));
    let tau = b.graph.exp(log_tau);
    let effect = b.graph.mul(tau, raw);
    let theta = b.graph.add(mu, effect);
    let likelihood = b.normal(y, theta, sigma);
    let of_raw = b.standard_normal(raw);
    let (zero, five) = (b.graph.scalar(0.0), b.graph.scalar(5.0));
    let of_mu = b.normal(mu, zero, five);
    let ratio = b.graph.div(tau, five);
    let square = b.graph.square(ratio);
    let cauchy = b.graph.log1p(square);
    let of_tau = b.graph.sub(log_tau, cauchy);
    b.finish("eight schools", &[likelihood, of_raw, of_mu, of_tau])
}

/// The design, the outcomes and the coefficients' offset are what a hand-written kernel needs, too.
pub(crate) fn logistic(n: usize, k: usize) -> Model {
    let mut b = Build::new();
    let (alpha, beta) = (b.parameter("alpha", Vec::new()), b.parameter("beta", [k]));
    let x = b.data("x", Tensor::real([n, k], series(n * k, 1)).unwrap());
    let outcomes: Vec<f64> = (0..n).map(|i| f64::from(fraction(3 * i) < 0.4)).collect();
    let y = b.data("y", Tensor::int([n], outcomes).unwrap());
    let linear = b.graph.matmul(x, beta);
    let eta = b.graph.add(linear, alpha);
    let chosen = b.graph.mul(y, eta);
    let normaliser = b.graph.softplus(eta);
    let terms = b.graph.sub(chosen, normaliser);
    let likelihood = b.graph.sum(terms);
    let (of_alpha, of_beta) = (b.standard_normal(alpha), b.standard_normal(beta));
    b.finish(format!("logistic {n}x{k}"), &[likelihood, of_alpha, of_beta])
}

/// y ~ student_t(4, mu + tau u[group], sigma), u ~ normal(0, 1); groups sorted or not.
pub(crate) fn student(n: usize, groups: usize, sorted: bool) -> Model {
    let mut b = Build::new();
    let mu = b.parameter("mu", Vec::new());
    let (log_tau, log_sigma) =
        (b.parameter("log_tau", Vec::new()), b.parameter("log_sigma", Vec::new()));
    let u = b.parameter("u", [groups]);
    let y = b.data("y", Tensor::vector(&series(n, 5)));
    let index: Vec<usize> = (0..n)
        .map(|i| if sorted { i * groups / n } else { (fraction(i) * groups as f64) as usize })
        .collect();
    let group = b.data("group", Tensor::indices(&index));
    let (tau, sigma) = (b.graph.exp(log_tau), b.graph.exp(log_sigma));
    let effects = b.graph.mul(tau, u);
    let offsets = b.graph.add(mu, effects);
    let mean = b.graph.gather(offsets, group);
    let residual = b.graph.sub(y, mean);
    let z = b.graph.div(residual, sigma);
    let square = b.graph.square(z);
    let scaled = b.graph.scale(square, 0.25);
    let log = b.graph.log1p(scaled);
    let terms = b.graph.scale(log, -2.5);
    let kernel = b.graph.sum(terms);
    let normaliser = b.graph.scale(log_sigma, -(n as f64));
    let parts = [kernel, normaliser, b.standard_normal(u), b.standard_normal(mu)];
    let priors = [b.standard_normal(log_tau), b.standard_normal(log_sigma)];
    let order = if sorted { "sorted" } else { "mixed" };
    b.finish(format!("student-t {n} {order}"), &[&parts[..], &priors[..]].concat())
}

/// Centred: h[0] ~ normal(mu, sigma), h[t] ~ normal(mu + phi (h[t-1] - mu), sigma), y ~ normal(0,
/// e^(h/2)).
pub(crate) fn volatility(t: usize) -> Model {
    let mut b = Build::new();
    let (mu, phi) = (b.parameter("mu", Vec::new()), b.parameter("phi_raw", Vec::new()));
    let log_sigma = b.parameter("log_sigma", Vec::new());
    let h = b.parameter("h", [t]);
    let y = b.data("y", Tensor::vector(&series(t, 11)));
    let phi = b.graph.tanh(phi);
    let sigma = b.graph.exp(log_sigma);
    let (first, before, after) =
        (b.graph.slice(h, 0, 0, 1), b.graph.slice(h, 0, 0, t - 1), b.graph.slice(h, 0, 1, t));
    let of_first = b.normal(first, mu, sigma);
    let centred = b.graph.sub(before, mu);
    let step = b.graph.mul(phi, centred);
    let mean = b.graph.add(mu, step);
    let of_steps = b.normal(after, mean, sigma);
    let square = b.graph.square(y);
    let minus = b.graph.neg(h);
    let precision = b.graph.exp(minus);
    let scaled = b.graph.mul(square, precision);
    let sum = b.graph.add(scaled, h);
    let total = b.graph.sum(sum);
    let of_y = b.graph.scale(total, -0.5);
    let priors = [b.standard_normal(mu), b.standard_normal(log_sigma)];
    b.finish(format!("volatility {t}"), &[&[of_first, of_steps, of_y], &priors[..]].concat())
}

/// y ~ normal(a + b x, e^s).
pub(crate) fn regression(n: usize) -> Model {
    let mut b = Build::new();
    let (intercept, slope) = (b.parameter("a", Vec::new()), b.parameter("b", Vec::new()));
    let log_sigma = b.parameter("s", Vec::new());
    let (x, y) =
        (b.data("x", Tensor::vector(&series(n, 1))), b.data("y", Tensor::vector(&series(n, 2))));
    let product = b.graph.mul(slope, x);
    let mean = b.graph.add(intercept, product);
    let sigma = b.graph.exp(log_sigma);
    let likelihood = b.normal(y, mean, sigma);
    b.finish(format!("regression {n}"), &[likelihood])
}

/// Two-parameter item response: eta[i] = a[item[i]] (theta[person[i]] - d[item[i]]).
pub(crate) fn item_response(persons: usize, items: usize) -> Model {
    let mut b = Build::new();
    let n = persons * items;
    let (theta, d) = (b.parameter("theta", [persons]), b.parameter("d", [items]));
    let log_a = b.parameter("log_a", [items]);
    let person: Vec<usize> = (0..n).map(|i| i % persons).collect();
    let item: Vec<usize> = (0..n).map(|i| i / persons).collect();
    let (person, item) =
        (b.data("person", Tensor::indices(&person)), b.data("item", Tensor::indices(&item)));
    let outcomes: Vec<f64> = (0..n).map(|i| f64::from(fraction(i) < 0.5)).collect();
    let y = b.data("y", Tensor::int([n], outcomes).unwrap());
    let a = b.graph.exp(log_a);
    let (theta_i, d_i, a_i) =
        (b.graph.gather(theta, person), b.graph.gather(d, item), b.graph.gather(a, item));
    let difference = b.graph.sub(theta_i, d_i);
    let eta = b.graph.mul(a_i, difference);
    let chosen = b.graph.mul(y, eta);
    let normaliser = b.graph.unary(Unary::Softplus, eta);
    let terms = b.graph.sub(chosen, normaliser);
    let likelihood = b.graph.sum(terms);
    let priors = [b.standard_normal(theta), b.standard_normal(d), b.standard_normal(log_a)];
    b.finish(format!("item response {persons}x{items}"), &[&[likelihood], &priors[..]].concat())
}

/// y ~ normal(mean[group], sigma[group]) with one scale or one a group: "medium" and "stress" of
/// the issue.
pub(crate) fn groups(n: usize, groups: usize, scales: bool) -> Model {
    let mut b = Build::new();
    let (mu, log_tau) = (b.parameter("mu", Vec::new()), b.parameter("log_tau", Vec::new()));
    let mean = b.parameter("mean", [groups]);
    let of_scale = if scales { Shape::from([groups]) } else { Shape::scalar() };
    let log_sigma = b.parameter("log_sigma", of_scale);
    let y = b.data("y", Tensor::vector(&series(n, 5)));
    let index: Vec<usize> = (0..n).map(|i| i * groups / n).collect();
    let group = b.data("group", Tensor::indices(&index));
    let (tau, sigma) = (b.graph.exp(log_tau), b.graph.exp(log_sigma));
    let of_mean = b.normal(mean, mu, tau);
    let rows = b.graph.gather(mean, group);
    let sigma = if scales { b.graph.gather(sigma, group) } else { sigma };
    let likelihood = b.normal(y, rows, sigma);
    let of_scales = b.graph.sum(log_sigma);
    let parts = [likelihood, of_mean, of_scales, b.standard_normal(mu), b.standard_normal(log_tau)];
    let kind = if scales { "scales" } else { "one scale" };
    b.finish(format!("groups {n} {kind}"), &parts)
}

/// y ~ normal(mu, sigma[k]) with exponential scales whose logarithms are held between -200 and 200,
/// as lowering writes them.
pub(crate) fn clamped(n: usize) -> Model {
    let mut b = Build::new();
    let (mu, z) = (b.parameter("mu", Vec::new()), b.parameter("z", [2]));
    let y = b.data("y", Tensor::vector(&series(n, 5)));
    let index: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let index = b.data("k", Tensor::indices(&index));
    let g = &mut b.graph;
    let (low, high) = (g.scalar(-200.0), g.scalar(200.0));
    let below = g.min(z, high);
    let held = g.max(below, low);
    let sigma = g.exp(held);
    let twice = g.scale(below, 2.0);
    let jacobian = g.sub(twice, z);
    let prior = g.sub(jacobian, sigma);
    let prior = g.sum(prior);
    let scales = g.gather(sigma, index);
    let parts = [b.normal(y, mu, scales), prior, b.standard_normal(mu)];
    b.finish(format!("clamped {n}"), &parts)
}

/// y ~ normal(X b, e^s) with a column of ones.
pub(crate) fn linear(n: usize, k: usize) -> Model {
    let mut b = Build::new();
    let (beta, log_sigma) = (b.parameter("beta", [k]), b.parameter("s", Vec::new()));
    let mut design = series(n * k, 3);
    design.iter_mut().step_by(k).for_each(|one| *one = 1.0);
    let x = b.data("x", Tensor::real([n, k], design).unwrap());
    let y = b.data("y", Tensor::vector(&series(n, 5)));
    let eta = b.graph.matmul(x, beta);
    let sigma = b.graph.exp(log_sigma);
    let likelihood = b.normal(y, eta, sigma);
    b.finish(format!("linear {n}x{k}"), &[likelihood])
}

/// Intercepts and slopes by county, not centred, as the radon models have them.
pub(crate) fn radon(n: usize, counties: usize) -> Model {
    let mut b = Build::new();
    let [mu_a, mu_b, log_a, log_b, log_sigma] =
        ["mu_a", "mu_b", "log_a", "log_b", "log_sigma"].map(|name| b.parameter(name, Vec::new()));
    let (raw_a, raw_b) = (b.parameter("raw_a", [counties]), b.parameter("raw_b", [counties]));
    let floor: Vec<f64> = (0..n).map(|i| f64::from(fraction(i) < 0.2)).collect();
    let index: Vec<usize> = (0..n).map(|i| (fraction(2 * i) * counties as f64) as usize).collect();
    let (x, y) =
        (b.data("floor", Tensor::vector(&floor)), b.data("y", Tensor::vector(&series(n, 5))));
    let county = b.data("county", Tensor::indices(&index));
    let mut coefficient = |mu: NodeId, log_scale: NodeId, raw: NodeId| {
        let scale = b.graph.exp(log_scale);
        let effect = b.graph.mul(scale, raw);
        let all = b.graph.add(mu, effect);
        b.graph.gather(all, county)
    };
    let intercept = coefficient(mu_a, log_a, raw_a);
    let slope = coefficient(mu_b, log_b, raw_b);
    let product = b.graph.mul(x, slope);
    let eta = b.graph.add(intercept, product);
    let sigma = b.graph.exp(log_sigma);
    let mut parts = vec![b.normal(y, eta, sigma)];
    for parameter in [mu_a, mu_b, log_a, log_b, log_sigma, raw_a, raw_b] {
        parts.push(b.standard_normal(parameter));
    }
    b.finish(format!("radon {n} {counties}"), &parts)
}

/// y ~ a mixture of normal distributions, weights by softmax; rows of a table of components, as a
/// front end builds it.
pub(crate) fn mixture(n: usize, components: usize) -> Model {
    let mut b = Build::new();
    let mu = b.parameter("mu", [components]);
    let (log_sigma, logits) =
        (b.parameter("log_sigma", [components]), b.parameter("logits", [components]));
    let y = b.data("y", Tensor::vector(&series(n, 5)));
    let g = &mut b.graph;
    let normaliser = g.log_sum_exp(logits, 0);
    let log_weights = g.sub(logits, normaliser);
    let columns: Vec<NodeId> = (0..components)
        .map(|k| {
            let (mean, log_sigma) = (g.slice(mu, 0, k, k + 1), g.slice(log_sigma, 0, k, k + 1));
            let (mean, log_sigma) = (g.reshape(mean, Vec::new()), g.reshape(log_sigma, Vec::new()));
            let sigma = g.exp(log_sigma);
            let residual = g.sub(y, mean);
            let z = g.div(residual, sigma);
            let square = g.square(z);
            let half = g.scale(square, -0.5);
            let term = g.sub(half, log_sigma);
            g.reshape(term, [n, 1])
        })
        .collect();
    let table = g.concat(&columns, 1);
    let joint = g.add(log_weights, table);
    let rows = g.log_sum_exp(joint, 1);
    let likelihood = g.sum(rows);
    let priors = [mu, log_sigma, logits].map(|x| b.standard_normal(x));
    b.finish(format!("mixture {n}x{components}"), &[&[likelihood], &priors[..]].concat())
}

/// y ~ multi_normal(0, a^2 exp(-(x - x')^2 / (2 r^2)) + s^2 on the diagonal).
pub(crate) fn gaussian_process(n: usize) -> Model {
    let mut b = Build::new();
    let [log_r, log_a, log_s] =
        ["log_r", "log_a", "log_s"].map(|name| b.parameter(name, Vec::new()));
    let x: Vec<f64> = (0..n).map(|k| k as f64 * 2.0 - n as f64).collect();
    let squares = (0..n * n).map(|k| (x[k / n] - x[k % n]).powi(2)).collect::<Vec<f64>>();
    let (squares, y) = (
        b.data("squares", Tensor::real([n, n], squares).unwrap()),
        b.data("y", Tensor::vector(&series(n, 5))),
    );
    let identity: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    let g = &mut b.graph;
    let identity = g.constant(Tensor::real([n, n], identity).unwrap());
    let (r, a, s) = (g.exp(log_r), g.exp(log_a), g.exp(log_s));
    let (r2, a2, s2) = (g.square(r), g.square(a), g.square(s));
    let scaled = g.div(squares, r2);
    let half = g.scale(scaled, -0.5);
    let kernel = g.exp(half);
    let kernel = g.mul(a2, kernel);
    let noise = g.mul(s2, identity);
    let covariance = g.add(kernel, noise);
    let factor = g.cholesky(covariance);
    let z = g.triangular_solve(factor, y, false);
    let diagonal = g.diagonal(factor);
    let logs = g.log(diagonal);
    let determinant = g.sum(logs);
    let square = g.square(z);
    let sum = g.sum(square);
    let half = g.scale(sum, -0.5);
    let likelihood = g.sub(half, determinant);
    let priors = [log_r, log_a, log_s].map(|x| b.standard_normal(x));
    b.finish(format!("gaussian process {n}"), &[&[likelihood], &priors[..]].concat())
}

/// All models at the sizes of the issue.
pub(crate) fn all() -> Vec<Model> {
    vec![
        eight_schools(),
        logistic(500, 20),
        logistic(100_000, 20),
        student(10_000, 100, true),
        student(10_000, 100, false),
        volatility(100),
        regression(1000),
        groups(60, 3, false),
        groups(120, 3, true),
        linear(1350, 9),
        linear(5000, 25),
        radon(919, 85),
        radon(12_573, 386),
        item_response(100, 20),
        mixture(1000, 2),
        mixture(1000, 4),
        gaussian_process(11),
    ]
}
