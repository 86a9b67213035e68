//! Log densities with data that the passes have something to do in.

use std::sync::Arc;

use exmc_graph::{
    DType, Graph, NodeId, Op, Role, ScanBody, Shape, SharedBody, Tensor, Unary, differentiate,
    evaluate, verify,
};

/// Equally spread numbers between -1 and 1.
pub(crate) fn series(n: usize, stride: usize) -> Vec<f64> {
    let golden = 0.618_033_988_749_894_9;
    (0..n).map(|k| 2.0 * ((stride * k + 1) as f64 * golden).fract() - 1.0).collect()
}

/// A log density over parameters, with data.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) graph: Graph,
    pub(crate) logp: NodeId,
    pub(crate) inputs: Vec<(String, Tensor)>,
    pub(crate) parameters: Vec<String>,
}

pub(crate) struct Build {
    pub(crate) g: Graph,
    pub(crate) inputs: Vec<(String, Tensor)>,
    pub(crate) parameters: Vec<String>,
}

impl Build {
    pub(crate) fn new() -> Self {
        Self { g: Graph::new(), inputs: Vec::new(), parameters: Vec::new() }
    }

    pub(crate) fn parameter(&mut self, name: &str, shape: impl Into<Shape>) -> NodeId {
        let shape = shape.into();
        let values = series(shape.len(), 7 + self.inputs.len());
        let value = Tensor::real(shape.clone(), values).unwrap();
        self.inputs.push((name.to_owned(), value));
        self.parameters.push(name.to_owned());
        self.g.input(name, Role::Parameter, shape, DType::Real).unwrap()
    }

    pub(crate) fn data(&mut self, name: &str, value: Tensor) -> NodeId {
        let (shape, dtype) = (value.shape().clone(), value.dtype());
        self.inputs.push((name.to_owned(), value));
        self.g.input(name, Role::Data, shape, dtype).unwrap()
    }

    pub(crate) fn rows(&mut self, name: &str, n: usize, stride: usize) -> NodeId {
        self.data(name, Tensor::vector(&series(n, stride)))
    }

    /// A data index; `used` of `groups` elements occur.
    pub(crate) fn index(&mut self, name: &str, n: usize, used: usize, stride: usize) -> NodeId {
        let index: Vec<usize> = (0..n).map(|r| (stride * r + r / 5) % used).collect();
        self.data(name, Tensor::indices(&index))
    }

    /// The sum of normal log densities.
    pub(crate) fn normal(&mut self, y: NodeId, mean: NodeId, sigma: NodeId) -> NodeId {
        let g = &mut self.g;
        let residual = g.sub(y, mean);
        let z = g.div(residual, sigma);
        let square = g.square(z);
        let half = g.scale(square, -0.5);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, 0.918_938_533_204_672_8);
        let density = g.sub(half, normaliser);
        g.sum(density)
    }

    pub(crate) fn finish(self, name: impl Into<String>, parts: &[NodeId]) -> Model {
        let Self { g: mut graph, inputs, parameters } = self;
        let mut logp = parts[0];
        for &part in &parts[1..] {
            logp = graph.add(logp, part);
        }
        Model { name: name.into(), graph, logp, inputs, parameters }
    }
}

pub(crate) fn mean(n: usize) -> Model {
    let mut b = Build::new();
    let (mu, s) = (b.parameter("mu", []), b.parameter("s", []));
    let y = b.rows("y", n, 3);
    let sigma = b.g.exp(s);
    let likelihood = b.normal(y, mu, sigma);
    b.finish(format!("mean of {n}"), &[likelihood])
}

/// `of_scale`: also the scale is the groups'.
pub(crate) fn groups(n: usize, used: usize, of_scale: bool) -> Model {
    let mut b = Build::new();
    let (mu, s) = (b.parameter("mu", [used + 1]), b.parameter("s", [used + 1]));
    let (y, index) = (b.rows("y", n, 3), b.index("g", n, used, 3));
    let mean = b.g.gather(mu, index);
    let sigma = if of_scale {
        let sigma = b.g.exp(s);
        b.g.gather(sigma, index)
    } else {
        let first = b.g.slice(s, 0, 0, 1);
        let first = b.g.reshape(first, []);
        b.g.softplus(first)
    };
    let likelihood = b.normal(y, mean, sigma);
    b.finish(format!("groups {n} {used} {of_scale}"), &[likelihood])
}

/// A matrix, a single column, an intercept and an offset of data; with `scales`, known ones.
pub(crate) fn regression(n: usize, k: usize, scales: bool) -> Model {
    let mut b = Build::new();
    let (a, slope, beta) =
        (b.parameter("a", []), b.parameter("slope", []), b.parameter("beta", [k]));
    let s = b.parameter("s", []);
    let (x, y, exposure) = (b.rows("x", n, 5), b.rows("y", n, 3), b.rows("exposure", n, 11));
    let matrix = b.data("X", Tensor::real([n, k], series(n * k, 13)).unwrap());
    let linear = b.g.matmul(matrix, beta);
    let column = b.g.mul(slope, x);
    let eta = b.g.add(linear, a);
    let eta = b.g.add(column, eta);
    let eta = b.g.add(exposure, eta);
    let mut sigma = b.g.exp(s);
    if scales {
        let square = b.g.square(x);
        sigma = b.g.shift(square, 0.5);
    }
    let likelihood = b.normal(y, eta, sigma);
    b.finish(format!("regression {n}x{k} {scales}"), &[likelihood, s])
}

/// Intercepts and slopes by county, scaled by parameters, as in the radon models.
pub(crate) fn slopes(n: usize, counties: usize, matrix: usize) -> Model {
    let mut b = Build::new();
    let (mu, tau) = (b.parameter("mu", []), b.parameter("tau", []));
    let (raw, slope) = (b.parameter("raw", [counties]), b.parameter("slope", [counties]));
    let (common, s) = (b.parameter("common", []), b.parameter("s", []));
    let (x, z, y) = (b.rows("x", n, 5), b.rows("z", n, 9), b.rows("y", n, 3));
    let county = b.index("county", n, counties, 3);
    let spread = b.g.exp(tau);
    let effects = b.g.mul(spread, raw);
    let alpha = b.g.add(mu, effects);
    let intercepts = b.g.gather(alpha, county);
    let slopes = b.g.gather(slope, county);
    let part = b.g.mul(x, slopes);
    let shared = b.g.mul(common, z);
    let eta = b.g.add(intercepts, part);
    let mut eta = b.g.add(eta, shared);
    if matrix > 0 {
        let beta = b.parameter("beta", [matrix]);
        let columns = b.data("X", Tensor::real([n, matrix], series(n * matrix, 13)).unwrap());
        let product = b.g.matmul(columns, beta);
        eta = b.g.add(eta, product);
    }
    let sigma = b.g.exp(s);
    let likelihood = b.normal(y, eta, sigma);
    b.finish(format!("slopes {n} {counties} {matrix}"), &[likelihood])
}

/// Two indices, and a product with data of a sum.
pub(crate) fn crossed(n: usize) -> Model {
    let mut b = Build::new();
    let (person, item) = (b.parameter("person", [9]), b.parameter("item", [4]));
    let (a, s) = (b.parameter("a", []), b.parameter("s", []));
    let (x, y) = (b.rows("x", n, 5), b.rows("y", n, 3));
    let (i, j) = (b.index("i", n, 9, 2), b.index("j", n, 4, 3));
    let (of_person, of_item) = (b.g.gather(person, i), b.g.gather(item, j));
    let sum = b.g.add(of_item, a);
    let product = b.g.mul(x, sum);
    let eta = b.g.add(of_person, product);
    let sigma = b.g.exp(s);
    let likelihood = b.normal(y, eta, sigma);
    b.finish(format!("crossed {n}"), &[likelihood])
}

/// Scales by group with a matrix and an intercept that all groups share.
pub(crate) fn group_scales(n: usize) -> Model {
    let mut b = Build::new();
    let (a, beta, s) = (b.parameter("a", []), b.parameter("beta", [2]), b.parameter("s", [3]));
    let y = b.rows("y", n, 3);
    let (matrix, index) =
        (b.data("X", Tensor::real([n, 2], series(n * 2, 13)).unwrap()), b.index("g", n, 3, 2));
    let linear = b.g.matmul(matrix, beta);
    let eta = b.g.add(linear, a);
    let sigma = b.g.exp(s);
    let sigma = b.g.gather(sigma, index);
    let likelihood = b.normal(y, eta, sigma);
    b.finish(format!("scales by group {n}"), &[likelihood])
}

/// Outcomes 0 or 1, or counts, of log odds or rates that are affine.
pub(crate) fn generalised(n: usize, link: Unary, by_group: bool) -> Model {
    let mut b = Build::new();
    let (a, beta, effect) =
        (b.parameter("a", []), b.parameter("beta", [3]), b.parameter("effect", [5]));
    let y: Vec<f64> = series(n, 3).iter().map(|v| f64::from(u8::from(*v > 0.2))).collect();
    let y = b.data("y", Tensor::int([n], y).unwrap());
    let matrix = b.data("X", Tensor::real([n, 3], series(n * 3, 13)).unwrap());
    let linear = b.g.matmul(matrix, beta);
    let mut eta = b.g.add(linear, a);
    if by_group {
        let index = b.index("g", n, 5, 2);
        let effects = b.g.gather(effect, index);
        eta = b.g.add(eta, effects);
    }
    let chosen = b.g.mul(y, eta);
    let normaliser = b.g.unary(link, eta);
    let density = b.g.sub(chosen, normaliser);
    let likelihood = b.g.sum(density);
    b.finish(format!("{} of {n} rows {by_group}", link.name()), &[likelihood])
}

/// The same over rows that are constants and few different ones; the outcomes are data, and rows
/// may have weights.
pub(crate) fn repeated(n: usize, link: Unary, by_group: bool, weighted: bool) -> Model {
    let mut b = Build::new();
    let (a, beta, effect) =
        (b.parameter("a", []), b.parameter("beta", [2]), b.parameter("effect", [5]));
    let rows = (0..n).flat_map(|r| [(r * r % 3) as f64, (r / 2 % 2) as f64]);
    let matrix = b.g.constant(Tensor::real([n, 2], rows.collect::<Vec<f64>>()).unwrap());
    let offset: Vec<f64> = (0..n).map(|r| f64::from(u8::from(r % 7 == 0))).collect();
    let offset = b.g.constant(Tensor::vector(&offset));
    let linear = b.g.matmul(matrix, beta);
    let eta = b.g.add(linear, a);
    let mut eta = b.g.add(eta, offset);
    if by_group {
        let index: Vec<usize> = (0..n).map(|r| r * r % 5).collect();
        let index = b.g.constant(Tensor::indices(&index));
        let effects = b.g.gather(effect, index);
        eta = b.g.add(eta, effects);
    }
    let mut rows = b.g.unary(link, eta);
    if weighted {
        let weights = b.rows("w", n, 3);
        rows = b.g.mul(weights, rows);
    }
    let y = b.rows("y", n, 5);
    let chosen = b.g.mul(y, eta);
    let density = b.g.sub(chosen, rows);
    let likelihood = b.g.sum(density);
    let name = format!("{} of {n} repeated rows {by_group} {weighted}", link.name());
    b.finish(name, &[likelihood])
}

/// Negative binomial counts, whose terms repeat with other columns each, and one of three classes
/// in each row.
pub(crate) fn counted(n: usize) -> Model {
    let mut b = Build::new();
    let (slope, s, t) = (b.parameter("slope", []), b.parameter("s", []), b.parameter("t", [2, 3]));
    let x: Vec<f64> = (0..n).map(|r| (r * r % 4) as f64).collect();
    let y: Vec<f64> = (0..n).map(|r| (r % 6) as f64).collect();
    let (x, y) = (b.g.constant(Tensor::vector(&x)), b.g.constant(Tensor::vector(&y)));
    let eta = b.g.mul(slope, x);
    let size = b.g.exp(s);
    let both = b.g.add(y, size);
    let excess = b.g.sub(eta, s);
    let excess = b.g.softplus(excess);
    let product = b.g.mul(both, excess);
    let normaliser = b.g.lgamma(both);
    let rows = b.g.sub(normaliser, product);
    let counts = b.g.sum(rows);
    let classes = (0..n).flat_map(|r| [1.0, (r % 5) as f64]);
    let matrix = b.g.constant(Tensor::real([n, 2], classes.collect::<Vec<f64>>()).unwrap());
    let scores = b.g.matmul(matrix, t);
    let logs = b.g.log_sum_exp(scores, 1);
    let classes = b.g.sum(logs);
    let squares = b.g.square(scores);
    let squares = b.g.sum(squares);
    let chosen: Vec<usize> = (0..n).map(|r| 3 * r + r / 5 % 3).collect();
    let chosen = b.g.constant(Tensor::indices(&chosen));
    let scores = b.g.reshape(scores, [3 * n]);
    let chosen = b.g.gather(scores, chosen);
    let chosen = b.g.sum(chosen);
    b.finish(format!("counts and classes {n}"), &[counts, classes, squares, chosen])
}

/// Functions of gathered probabilities and rates; weights of rows.
pub(crate) fn tables(n: usize) -> Model {
    let mut b = Build::new();
    let (p, r) = (b.parameter("p", [4]), b.parameter("r", [4]));
    let (i, w) = (b.index("i", n, 3, 2), b.rows("w", n, 3));
    let (odds, rate) = (b.g.inv_logit(p), b.g.exp(r));
    let (odds, rate) = (b.g.gather(odds, i), b.g.gather(rate, i));
    let log_odds = b.g.log(odds);
    let log_rate = b.g.log(rate);
    let both = b.g.mul(odds, rate);
    let minus = b.g.neg(odds);
    let log_other = b.g.log1p(minus);
    let sum = b.g.add(log_odds, log_rate);
    let sum = b.g.sub(sum, both);
    let weighted = b.g.mul(w, sum);
    let all = b.g.add(weighted, log_other);
    let total = b.g.sum(all);
    b.finish(format!("tables {n}"), &[total])
}

/// Two normal distributions in parts that must be between 0 and 1, asked in every row.
pub(crate) fn mixture(n: usize) -> Model {
    let mut b = Build::new();
    let (mu, t) = (b.parameter("mu", [2]), b.parameter("t", []));
    let y = b.rows("y", n, 3);
    let part = b.g.inv_logit(t);
    let (zero, one, nothing) = (b.g.scalar(0.0), b.g.scalar(1.0), b.g.scalar(f64::NEG_INFINITY));
    let rest = b.g.sub(one, part);
    let mut component = |k: usize, weight| {
        let mean = b.g.slice(mu, 0, k, k + 1);
        let mean = b.g.reshape(mean, []);
        let residual = b.g.sub(y, mean);
        let square = b.g.square(residual);
        let density = b.g.scale(square, -0.5);
        let log = b.g.log(weight);
        b.g.add(log, density)
    };
    let (first, second) = (component(0, part), component(1, rest));
    let rows = b.g.log_add_exp(first, second);
    let (above, below) = (b.g.le(zero, part), b.g.le(part, one));
    let fits = b.g.and(above, below);
    let rows = b.g.select(fits, rows, nothing);
    let total = b.g.sum(rows);
    b.finish(format!("mixture {n}"), &[total])
}

/// Scales of a GARCH model, and what is carried as an exponential: loops whose states are read by
/// the inverse function.
pub(crate) fn scales(n: usize, reverse: bool) -> Model {
    let mut b = Build::new();
    let (a, c, start) = (b.parameter("a", []), b.parameter("c", []), b.parameter("start", []));
    let y = b.rows("y", n, 5);
    let mut body = Graph::new();
    let input = |body: &mut Graph, name: &str| {
        body.input(name, Role::Parameter, Shape::scalar(), DType::Real).unwrap()
    };
    let (sigma, level) = (input(&mut body, "carry0"), input(&mut body, "carry1"));
    let (x, first, second) =
        (input(&mut body, "x0"), input(&mut body, "fixed0"), input(&mut body, "fixed1"));
    let (square, news) = (body.square(sigma), body.square(x));
    let (old, news) = (body.mul(second, square), body.mul(first, news));
    let variance = body.add(old, news);
    let sigma_next = body.sqrt(variance);
    let log = body.log(level);
    let part = body.scale(log, 0.5);
    let moved = body.add(part, sigma_next);
    let level_next = body.exp(moved);
    let next = vec![sigma_next, level_next];
    let body = ScanBody { graph: body, next, stacked: vec![sigma_next, square], counts: [2, 1, 2] };
    let (first, second) = (b.g.exp(a), b.g.inv_logit(c));
    let level = b.g.exp(start);
    let op = Op::Scan { length: n, reverse, body: SharedBody(Arc::new(body)) };
    let scan = b.g.apply(op, &[start, level, y, first, second]).unwrap();
    let mut sum = |k: usize| {
        let output = b.g.apply(Op::Project(k), &[scan]).unwrap();
        b.g.sum(output)
    };
    let parts = [0, 1, 2, 3].map(&mut sum);
    b.finish(format!("scales {n}"), &parts)
}

/// A forward algorithm over all pairs of states, as programs write it: what a state emits stands in
/// every pair that leads to it, and what it came from in every pair that leaves it.
pub(crate) fn pairs(n: usize, k: usize) -> Model {
    let mut b = Build::new();
    let (log_p, mu) = (b.parameter("log_p", [k * k]), b.parameter("mu", [k]));
    let (s, moves) = (b.parameter("s", [k]), b.parameter("moves", [(n + 1) * k]));
    let from: Vec<usize> = (0..k * k).map(|pair| pair % k).collect();
    let to: Vec<usize> = (0..k * k).map(|pair| pair / k).collect();
    let rows = series(n, 5).into_iter().flat_map(|y| vec![y; k * k]).collect::<Vec<f64>>();
    let y = b.g.constant(Tensor::real([n, k * k], rows).unwrap());
    let places = (1..=n).flat_map(|t| from.iter().map(move |state| t * k + state));
    let places = b.g.constant(Tensor::indices(&places.collect::<Vec<usize>>()));
    let moves = b.g.gather(moves, places);
    let moves = b.g.reshape(moves, [n, k * k]);
    let (from, to) = (Tensor::indices(&from), Tensor::indices(&to));
    let pairs = b.g.constant(to);
    let sigma = b.g.exp(s);
    let (means, sigmas) = (b.g.gather(mu, pairs), b.g.gather(sigma, pairs));
    let half = b.g.scalar(-0.5);
    let half = b.g.broadcast_to(half, &Shape::from([k * k]));
    let mut body = Graph::new();
    let input = |body: &mut Graph, name: &str, len: usize| {
        body.input(name, Role::Parameter, Shape::from([len]), DType::Real).unwrap()
    };
    let state = input(&mut body, "carry0", k);
    let [now, move_now] = ["x0", "x1"].map(|name| input(&mut body, name, k * k));
    let [p, mean, sigma, half_in] =
        ["fixed0", "fixed1", "fixed2", "fixed3"].map(|name| input(&mut body, name, k * k));
    let from = body.constant(from);
    let before = body.gather(state, from);
    let residual = body.sub(now, mean);
    let z = body.div(residual, sigma);
    let square = body.square(z);
    let emission = body.mul(half_in, square);
    let log_sigma = body.log(sigma);
    let emission = body.sub(emission, log_sigma);
    let moved = body.add(before, p);
    let moved = body.add(moved, move_now);
    let joint = body.add(moved, emission);
    let joint = body.reshape(joint, [k, k]);
    let next = body.log_sum_exp(joint, 1);
    let body = ScanBody { graph: body, next: vec![next], stacked: vec![next], counts: [1, 2, 4] };
    let start = b.g.filled(&Shape::from([k]), -1.0);
    let op = Op::Scan { length: n, reverse: false, body: SharedBody(Arc::new(body)) };
    let scan = b.g.apply(op, &[start, y, moves, log_p, means, sigmas, half]).unwrap();
    let states = b.g.apply(Op::Project(1), &[scan]).unwrap();
    let total = b.g.sum(states);
    b.finish(format!("pairs {n} {k}"), &[total])
}

pub(crate) fn models() -> Vec<Model> {
    let mut all = Vec::new();
    for n in [2, 3, 9, 70, 500] {
        all.extend([mean(n), regression(n, 3, false), regression(n, 2, true), crossed(n)]);
        all.extend([groups(n, 4, false), groups(n, 4, true), group_scales(n), tables(n)]);
        all.extend([mixture(n), scales(n, false), scales(n, true), pairs(n, 2), pairs(n, 3)]);
        all.extend([slopes(n, 6, 0), slopes(n, 6, 4), counted(n)]);
        for link in [Unary::Softplus, Unary::Exp] {
            all.extend([generalised(n, link, false), generalised(n, link, true)]);
            for (by_group, weighted) in [(false, false), (false, true), (true, false)] {
                all.push(repeated(n, link, by_group, weighted));
            }
        }
    }
    all
}

impl Model {
    /// Log density and gradient of an expression over the model's inputs.
    pub(crate) fn evaluate(&self, graph: &Graph, logp: NodeId) -> Vec<f64> {
        let mut g = graph.clone();
        let wrt: Vec<NodeId> = self
            .parameters
            .iter()
            .map(|name| {
                let (_, value) = self.inputs.iter().find(|(known, _)| known == name).unwrap();
                g.input(name, Role::Parameter, value.shape().clone(), DType::Real).unwrap()
            })
            .collect();
        let mut roots = vec![logp];
        roots.extend(differentiate(&mut g, logp, &wrt).unwrap());
        let look_up = |name: &str| {
            self.inputs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let values = evaluate(&g, &roots, &look_up).unwrap();
        values.iter().flat_map(|t| t.values().to_vec()).collect()
    }

    /// Compares with what an optimisation made; the largest difference relative to the largest
    /// value.
    pub(crate) fn check(&self, graph: &Graph, logp: NodeId, label: &str) {
        assert_eq!(verify(graph), Ok(()));
        let expected = self.evaluate(&self.graph, self.logp);
        let found = self.evaluate(graph, logp);
        let size = expected.iter().fold(1.0, |size: f64, v| size.max(v.abs()));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let error = (found - expected).abs() / size;
            // Sums of up to 500 terms in another order.
            let name = &self.name;
            assert!(error < 1e-13, "{name}, {label}, element {k}: {found}, not {expected}");
        }
    }
}
