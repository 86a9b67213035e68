//! Optimisations: value and gradient stay, the estimated cost falls, and text in gives text out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use exmc_graph::{
    DType, Graph, Limits, NodeId, OPTIMISATIONS, Op, Role, ScanBody, Shape, SharedBody, Tensor,
    Unary, cost, differentiate, drop_clamps, evaluate, optimise, parse, print, verify,
};

/// Equally spread numbers between -1 and 1.
fn series(n: usize, stride: usize) -> Vec<f64> {
    let golden = 0.618_033_988_749_894_9;
    (0..n).map(|k| 2.0 * ((stride * k + 1) as f64 * golden).fract() - 1.0).collect()
}

/// A log density over parameters, with data.
struct Model {
    name: String,
    graph: Graph,
    logp: NodeId,
    inputs: Vec<(String, Tensor)>,
    parameters: Vec<String>,
}

struct Build {
    g: Graph,
    inputs: Vec<(String, Tensor)>,
    parameters: Vec<String>,
}

impl Build {
    fn new() -> Self {
        Self { g: Graph::new(), inputs: Vec::new(), parameters: Vec::new() }
    }

    fn parameter(&mut self, name: &str, shape: impl Into<Shape>) -> NodeId {
        let shape = shape.into();
        let values = series(shape.len(), 7 + self.inputs.len());
        let value = Tensor::real(shape.clone(), values).unwrap();
        self.inputs.push((name.to_owned(), value));
        self.parameters.push(name.to_owned());
        self.g.input(name, Role::Parameter, shape, DType::Real).unwrap()
    }

    fn data(&mut self, name: &str, value: Tensor) -> NodeId {
        let (shape, dtype) = (value.shape().clone(), value.dtype());
        self.inputs.push((name.to_owned(), value));
        self.g.input(name, Role::Data, shape, dtype).unwrap()
    }

    fn rows(&mut self, name: &str, n: usize, stride: usize) -> NodeId {
        self.data(name, Tensor::vector(&series(n, stride)))
    }

    /// A data index; `used` of `groups` elements occur.
    fn index(&mut self, name: &str, n: usize, used: usize, stride: usize) -> NodeId {
        let index: Vec<usize> = (0..n).map(|r| (stride * r + r / 5) % used).collect();
        self.data(name, Tensor::indices(&index))
    }

    /// The sum of normal log densities.
    fn normal(&mut self, y: NodeId, mean: NodeId, sigma: NodeId) -> NodeId {
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

    fn finish(self, name: impl Into<String>, parts: &[NodeId]) -> Model {
        let Self { g: mut graph, inputs, parameters } = self;
        let mut logp = parts[0];
        for &part in &parts[1..] {
            logp = graph.add(logp, part);
        }
        Model { name: name.into(), graph, logp, inputs, parameters }
    }
}

fn mean(n: usize) -> Model {
    let mut b = Build::new();
    let (mu, s) = (b.parameter("mu", []), b.parameter("s", []));
    let y = b.rows("y", n, 3);
    let sigma = b.g.exp(s);
    let likelihood = b.normal(y, mu, sigma);
    b.finish(format!("mean of {n}"), &[likelihood])
}

/// `of_scale`: also the scale is the groups'.
fn groups(n: usize, used: usize, of_scale: bool) -> Model {
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
fn regression(n: usize, k: usize, scales: bool) -> Model {
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
fn slopes(n: usize, counties: usize, matrix: usize) -> Model {
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
fn crossed(n: usize) -> Model {
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
fn group_scales(n: usize) -> Model {
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
fn generalised(n: usize, link: Unary, by_group: bool) -> Model {
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

/// Functions of gathered probabilities and rates; weights of rows.
fn tables(n: usize) -> Model {
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
fn mixture(n: usize) -> Model {
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

/// Scales of a GARCH model, and what is carried as an exponential: loops whose states are read by the inverse function.
fn scales(n: usize, reverse: bool) -> Model {
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

/// A forward algorithm over all pairs of states, as programs write it: what a state emits stands in every pair that leads
/// to it, and what it came from in every pair that leaves it.
fn pairs(n: usize, k: usize) -> Model {
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

fn models() -> Vec<Model> {
    let mut all = Vec::new();
    for n in [2, 3, 9, 70, 500] {
        all.extend([mean(n), regression(n, 3, false), regression(n, 2, true), crossed(n)]);
        all.extend([groups(n, 4, false), groups(n, 4, true), group_scales(n), tables(n)]);
        all.extend([mixture(n), scales(n, false), scales(n, true), pairs(n, 2), pairs(n, 3)]);
        all.extend([slopes(n, 6, 0), slopes(n, 6, 4)]);
        for link in [Unary::Softplus, Unary::Exp] {
            all.extend([generalised(n, link, false), generalised(n, link, true)]);
        }
    }
    all
}

impl Model {
    /// Log density and gradient of an expression over the model's inputs.
    fn evaluate(&self, graph: &Graph, logp: NodeId) -> Vec<f64> {
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

    /// Compares with what an optimisation made; the largest difference relative to the largest value.
    fn check(&self, graph: &Graph, logp: NodeId, label: &str) {
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

/// All passes but one.
fn only(name: &str) -> Vec<String> {
    OPTIMISATIONS.iter().filter(|p| p.name != name).map(|p| p.name.to_owned()).collect()
}

#[test]
fn values_and_gradients_stay_and_costs_fall() {
    for model in models() {
        let (graph, logp, applied) = optimise(&model.graph, model.logp, &[]);
        model.check(&graph, logp, "all");
        for pass in OPTIMISATIONS {
            let (graph, logp, applied) = optimise(&model.graph, model.logp, &only(pass.name));
            model.check(&graph, logp, pass.name);
            assert!(applied.iter().all(|a| a.pass == pass.name));
            let (graph, logp, applied) =
                optimise(&model.graph, model.logp, &[pass.name.to_owned()]);
            model.check(&graph, logp, "without");
            assert!(applied.iter().all(|a| a.pass != pass.name));
        }
        // What is estimated is what is printed, and it falls where there are rows to save.
        let after = cost(&graph, &[logp]);
        assert!(applied.last().is_none_or(|a| a.after == after));
        if model.name.contains("500") {
            let before = applied[0].before;
            assert!(after < before, "{}: {before} to {after}", model.name);
        }
        // A second round finds little to do, and nothing that is wrong.
        let (graph, logp, _) = optimise(&graph, logp, &[]);
        model.check(&graph, logp, "twice");
    }
}

/// Elements that an evaluation computes: the length of every node that depends on parameters.
fn elements(graph: &Graph, root: NodeId) -> usize {
    let live = graph.reachable(&[root]);
    let own = graph.ids().filter(|id| live[id.index()]);
    own.map(|id| match graph.node(id) {
        node if node.dependence != exmc_graph::Dependence::Parameter => 0,
        node => node.shape.len(),
    })
    .sum()
}

#[test]
fn gaussian_rows_leave_no_work_that_grows_with_them() {
    type Make = fn(usize) -> Model;
    let makers: [(&str, Make); 8] = [
        ("mean", mean),
        ("groups", |n| groups(n, 4, false)),
        ("stress", |n| groups(n, 4, true)),
        ("regression", |n| regression(n, 5, false)),
        ("known scales", |n| regression(n, 5, true)),
        ("radon", |n| slopes(n, 6, 0)),
        ("radon with columns", |n| slopes(n, 6, 4)),
        ("crossed", crossed),
    ];
    for (name, make) in makers {
        let work = [1000, 4000].map(|n| {
            let model = make(n);
            let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
            elements(&graph, logp)
        });
        assert_eq!(work[0], work[1], "{name}");
        assert!(work[0] < 1000, "{name}: {} elements", work[0]);
    }
}

#[test]
fn the_same_graph_takes_other_data() {
    let mut model = slopes(500, 6, 2);
    let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
    for (name, value) in &mut model.inputs {
        if name == "y" {
            *value = Tensor::vector(&series(500, 17));
        }
        if name == "county" {
            // All rows in two counties.
            *value = Tensor::indices(&(0..500).map(|r| r % 2 * 5).collect::<Vec<_>>());
        }
    }
    model.check(&graph, logp, "other data");
}

#[test]
fn elements_that_no_row_reads_do_not_matter() {
    // The log of a table with a zero that no row reads, once alone and once beneath a square.
    for squared in [false, true] {
        let mut b = Build::new();
        let table = b.parameter("t", [3]);
        b.inputs[0].1 = Tensor::vector(&[0.5, 0.0, 2.0]);
        let index = b.data("i", Tensor::indices(&[0, 2, 2, 0, 2, 2, 2, 0, 0, 0, 2, 0]));
        let y = b.rows("y", 12, 3);
        let rows = if squared {
            let log = b.g.log(table);
            let rows = b.g.gather(log, index);
            let residual = b.g.sub(y, rows);
            b.g.square(residual)
        } else {
            let rows = b.g.gather(table, index);
            b.g.log(rows)
        };
        let sum = b.g.sum(rows);
        let model = b.finish("unread", &[sum]);
        let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
        // Where the table itself holds the pole, its own derivative is not finite in either form.
        let expected = model.evaluate(&model.graph, model.logp);
        let found = model.evaluate(&graph, logp);
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let same = (found - expected).abs() < 1e-14 * expected.abs().max(1.0);
            assert!(same || expected.is_nan(), "element {k}: {found}, not {expected}");
        }
        assert!(found[0].is_finite());
    }
}

/// Text without the indentation of this file.
fn lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect()
}

/// What one pass makes of the last node.
fn rewritten(pass: &str, text: &str) -> String {
    let graph = parse(text).unwrap();
    let root = graph.ids().last().unwrap();
    lines(&print(&optimise(&graph, root, &only(pass)).0))
}

#[test]
fn logs_of_exponentials_are_their_arguments() {
    let before = r#"
        %0 = input "x" : real[2] param
        %1 = exp(%0) : real[2] param
        %2 = log(%1) : real[2] param
        %3 = inv_logit(%0) : real[2] param
        %4 = neg(%3) : real[2] param
        %5 = log1p(%4) : real[2] param
        %6 = add(%2, %5) : real[2] param
    "#;
    let after = r#"
        %0 = input "x" : real[2] param
        %1 = softplus(%0) : real[2] param
        %2 = neg(%1) : real[2] param
        %3 = add(%0, %2) : real[2] param
    "#;
    assert_eq!(rewritten("cancel-inverses", before), lines(after));
}

#[test]
fn quotients_by_exponentials_are_products() {
    let before = r#"
        %0 = input "x" : real[2] param
        %1 = input "y" : real[2] param
        %2 = exp(%1) : real[2] param
        %3 = div(%0, %2) : real[2] param
    "#;
    let after = r#"
        %0 = input "x" : real[2] param
        %1 = input "y" : real[2] param
        %2 = neg(%1) : real[2] param
        %3 = exp(%2) : real[2] param
        %4 = mul(%0, %3) : real[2] param
    "#;
    assert_eq!(rewritten("cancel-inverses", before), lines(after));
    // One number costs no more as it is.
    let one = before.replace("[2]", "[]");
    assert_eq!(rewritten("cancel-inverses", &one), lines(&one));
}

/// `softplus(x) - x` would be 0 from x = 37 on, and the logarithm of a rate made so minus infinity.
#[test]
fn a_softplus_of_the_negative_keeps_its_digits() {
    let text = r#"
        %0 = input "z" : real[] param
        %1 = softplus(%0) : real[] param
        %2 = neg(%0) : real[] param
        %3 = softplus(%2) : real[] param
        %4 = log(%3) : real[] param
        %5 = add(%1, %4) : real[] param
    "#;
    let graph = parse(text).unwrap();
    let root = graph.ids().last().unwrap();
    let (optimised, root, _) = optimise(&graph, root, &[]);
    let z = |_: &str| Some(Tensor::scalar(40.0));
    let found = evaluate(&optimised, &[root], &z).unwrap()[0].as_scalar().unwrap();
    // softplus(40) = 40 + e^-40 and log(softplus(-40)) = -40 - e^-40 / 2, so the sum is 1.5 e^-40, lost in 40 - 40.
    assert!(found.abs() < 1e-13, "{found}");
}

#[test]
fn constants_add_up_and_short_sums_join() {
    let before = r#"
        %0 = input "x" : real[2] param
        %1 = input "s" : real[] param
        %2 = constant 3.0 : real[] const
        %3 = add(%1, %2) : real[] param
        %4 = sum(%0) {axes=[0]} : real[] param
        %5 = sub(%4, %3) : real[] param
        %6 = sin(%0) : real[2] param
        %7 = sum(%6) {axes=[0]} : real[] param
        %8 = sub(%5, %7) : real[] param
        %9 = constant -4.0 : real[] const
        %10 = sub(%1, %9) : real[] param
        %11 = mul(%9, %10) : real[] param
        %12 = add(%8, %11) : real[] param
    "#;
    let after = r#"
        %0 = input "x" : real[2] param
        %1 = input "s" : real[] param
        %2 = sin(%0) : real[2] param
        %3 = constant -19.0 : real[] const
        %4 = neg(%2) : real[2] param
        %5 = add(%0, %4) : real[2] param
        %6 = sum(%5) {axes=[0]} : real[] param
        %7 = add(%3, %6) : real[] param
        %8 = constant -5.0 : real[] const
        %9 = mul(%8, %1) : real[] param
        %10 = add(%7, %9) : real[] param
    "#;
    assert_eq!(rewritten("collect-terms", before), lines(after));
}

#[test]
fn a_sum_that_is_read_twice_is_one_term() {
    let text = r#"
        %0 = input "a" : real[] param
        %1 = input "b" : real[] param
        %2 = add(%0, %1) : real[] param
        %3 = exp(%2) : real[] param
        %4 = add(%2, %3) : real[] param
    "#;
    assert_eq!(rewritten("collect-terms", text), lines(text));
}

#[test]
fn clamps_go_with_their_limits() {
    let before = r#"
        %0 = input "z" : real[2] param
        %1 = constant 200.0 : real[] const
        %2 = broadcast(%1) : real[2] const
        %3 = min(%0, %2) : real[2] param
        %4 = constant -150.0 : real[] const
        %5 = broadcast(%4) : real[2] const
        %6 = max(%3, %5) : real[2] param
        %7 = exp(%6) : real[2] param
        %8 = constant 2.0 : real[] const
        %9 = broadcast(%8) : real[2] const
        %10 = mul(%9, %3) : real[2] param
        %11 = sub(%10, %0) : real[2] param
        %12 = add(%7, %11) : real[2] param
        %13 = constant 0.0 : real[] const
        %14 = broadcast(%13) : real[2] const
        %15 = max(%0, %14) : real[2] param
        %16 = mul(%15, %12) : real[2] param
    "#;
    let graph = parse(before).unwrap();
    let root = graph.ids().last().unwrap();
    let (inside, root, limits) = drop_clamps(&graph, root).unwrap();
    let expected = Limits { input: "z".to_owned(), low: -150.0, high: 200.0 };
    assert_eq!(limits, [expected]);
    let after = r#"
        %0 = input "z" : real[2] param
        %1 = constant 0.0 : real[] const
        %2 = broadcast(%1) : real[2] const
        %3 = max(%0, %2) : real[2] param
        %4 = exp(%0) : real[2] param
        %5 = add(%4, %0) : real[2] param
        %6 = mul(%3, %5) : real[2] param
    "#;
    let (inside, root, _) = optimise(&inside, root, &[]);
    let kept: Vec<&str> = inside.nodes().iter().map(|node| node.op.name()).collect();
    assert_eq!(kept.iter().filter(|name| **name == "max").count(), 1, "{inside}");
    assert!(!kept.contains(&"min") && !kept.contains(&"sub"), "{inside}");
    let value = |g: &Graph, root| {
        let z = Tensor::vector(&[-1.5, 2.5]);
        evaluate(g, &[root], &|_| Some(z.clone())).unwrap()[0].values().to_vec()
    };
    let plain = parse(&lines(after)).unwrap();
    assert_eq!(value(&inside, root), value(&plain, plain.ids().last().unwrap()));
    assert_eq!(drop_clamps(&inside, root), None);
}

#[test]
fn functions_move_from_rows_to_tables() {
    let before = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = gather(%0, %1) : real[9] param
        %3 = exp(%2) : real[9] param
        %4 = input "s" : real[] param
        %5 = broadcast(%4) : real[9] param
        %6 = mul(%5, %3) : real[9] param
        %7 = input "y" : real[9] data
        %8 = sub(%7, %6) : real[9] param
    "#;
    let after = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = exp(%0) : real[2] param
        %3 = input "s" : real[] param
        %4 = broadcast(%3) : real[2] param
        %5 = mul(%4, %2) : real[2] param
        %6 = gather(%5, %1) : real[9] param
        %7 = input "y" : real[9] data
        %8 = sub(%7, %6) : real[9] param
    "#;
    assert_eq!(rewritten("hoist-gathers", before), lines(after));
    // A table that is longer than the rows, and a pole that no row may read, stay.
    let stay = [
        before
            .replace("real[9]", "real[1, 2]")
            .replace("int[9]", "int[1, 2]")
            .replace("[2] param\n        %1", "[5] param\n        %1"),
        r#"
            %0 = input "t" : real[2] param
            %1 = input "i" : int[9] data
            %2 = gather(%0, %1) : real[9] param
            %3 = log(%2) : real[9] param
        "#
        .to_owned(),
    ];
    for text in stay {
        assert_eq!(rewritten("hoist-gathers", &text), lines(&text));
    }
}

#[test]
fn what_belongs_to_one_of_a_pair_is_computed_once_for_it() {
    let model = pairs(3, 2);
    let (graph, _, applied) = optimise(&model.graph, model.logp, &[]);
    assert!(applied.iter().any(|applied| applied.pass == "hoist-gathers"));
    let text = print(&graph);
    let (_, body) = text.split_once("scan(").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    // The pairs are left with where they come from, and how likely the way is.
    let pairs: Vec<&str> = body
        .lines()
        .filter(|line| line.contains("real[4]") || line.contains("real[2, 2]"))
        .collect();
    let operations: Vec<&str> = pairs
        .iter()
        .filter_map(|line| line.split_once(" = ")?.1.split(['(', ' ']).next())
        .filter(|name| !["input", "reshape"].contains(name))
        .collect();
    assert_eq!(operations, ["gather", "add"], "{text}");
    assert!(body.contains("x0\" : real[1]") && body.contains("x1\" : real[2]"), "{text}");
}

#[test]
fn sums_of_gathered_elements_are_products_with_counts() {
    let before = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = gather(%0, %1) : real[9] param
        %3 = input "s" : real[] param
        %4 = broadcast(%3) : real[9] param
        %5 = add(%2, %4) : real[9] param
        %6 = sin(%2) : real[9] param
        %7 = sub(%5, %6) : real[9] param
        %8 = sum(%7) {axes=[0]} : real[] param
    "#;
    let after = r#"
        %0 = input "t" : real[2] param
        %1 = input "i" : int[9] data
        %2 = gather(%0, %1) : real[9] param
        %3 = input "s" : real[] param
        %4 = sin(%2) : real[9] param
        %5 = constant 1.0 : real[] const
        %6 = broadcast(%5) : real[9] const
        %7 = scatter_add(%6, %1) {len=2} : real[2] data
        %8 = mul(%7, %0) : real[2] param
        %9 = sum(%8) {axes=[0]} : real[] param
        %10 = constant 9.0 : real[] const
        %11 = mul(%3, %10) : real[] param
        %12 = neg(%4) : real[9] param
        %13 = sum(%12) {axes=[0]} : real[] param
        %14 = add(%13, %9) : real[] param
        %15 = add(%14, %11) : real[] param
    "#;
    assert_eq!(rewritten("count-gathers", before), lines(after));
}

#[test]
fn a_question_about_scalars_is_asked_once() {
    let before = r#"
        %0 = input "x" : real[9] param
        %1 = input "s" : real[] param
        %2 = constant 0.0 : real[] const
        %3 = lt(%2, %1) : real[] param
        %4 = broadcast(%3) : real[9] param
        %5 = constant -inf : real[] const
        %6 = broadcast(%5) : real[9] const
        %7 = select(%4, %0, %6) : real[9] param
        %8 = sum(%7) {axes=[0]} : real[] param
    "#;
    let after = r#"
        %0 = input "x" : real[9] param
        %1 = input "s" : real[] param
        %2 = constant 0.0 : real[] const
        %3 = lt(%2, %1) : real[] param
        %4 = constant -inf : real[] const
        %5 = sum(%0) {axes=[0]} : real[] param
        %6 = select(%3, %5, %4) : real[] param
    "#;
    assert_eq!(rewritten("hoist-selects", before), lines(after));
    // A question that each row answers for itself stays.
    let own = before.replace("broadcast(%3)", "sin(%0)");
    let stays = |line: &str| line.contains("= select(") && line.ends_with("real[9] param");
    assert!(rewritten("hoist-selects", &own).lines().any(stays));
}

#[test]
fn a_mean_is_one_row() {
    let before = r#"
        %0 = input "mu" : real[] param
        %1 = input "y" : real[20] data
        %2 = broadcast(%0) : real[20] param
        %3 = sub(%1, %2) : real[20] param
        %4 = square(%3) : real[20] param
        %5 = sum(%4) {axes=[0]} : real[] param
    "#;
    let after = rewritten("collapse-gaussian", before);
    assert!(after.contains("least_squares(%"), "{after}");
    assert!(!after.contains("[20] param"), "{after}");
    // The sign moves to the data.
    assert!(!after.contains("= neg(%0)"), "{after}");
    // Three rows are as quick as they are.
    let few = before.replace("[20]", "[3]");
    assert_eq!(rewritten("collapse-gaussian", &few), lines(&few));
}

#[test]
fn outcomes_leave_the_rows() {
    let before = r#"
        %0 = input "b" : real[2] param
        %1 = input "X" : real[9, 2] data
        %2 = input "y" : real[9] data
        %3 = matmul(%1, %0) : real[9] param
        %4 = mul(%2, %3) : real[9] param
        %5 = sum(%4) {axes=[0]} : real[] param
    "#;
    let after = r#"
        %0 = input "b" : real[2] param
        %1 = input "X" : real[9, 2] data
        %2 = input "y" : real[9] data
        %3 = permute(%1) {order=[1, 0]} : real[2, 9] data
        %4 = matmul(%3, %2) : real[2] data
        %5 = mul(%4, %0) : real[2] param
        %6 = sum(%5) {axes=[0]} : real[] param
    "#;
    assert_eq!(rewritten("collapse-linear", before), lines(after));
}

#[test]
fn expressions_that_double_at_every_step_take_no_time() {
    // Sums and products of a node with itself, sixty deep, and a long chain, each summed and as a table.
    let mut b = Build::new();
    let t = b.parameter("t", [5]);
    let (i, y) = (b.index("i", 50, 5, 3), b.rows("y", 50, 3));
    let (mut sum, mut product, mut both, mut chain) = (t, t, t, t);
    for k in 0..60 {
        sum = b.g.add(sum, sum);
        product = b.g.mul(product, product);
        let square = b.g.square(both);
        both = b.g.mul(square, both);
        both = b.g.tanh(both);
        let exp = b.g.exp(both);
        both = b.g.add(exp, both);
        let next = b.g.scale(t, f64::from(k));
        chain = b.g.add(chain, next);
    }
    for _ in 0..20_000 {
        let next = b.g.sin(chain);
        chain = b.g.add(chain, next);
        chain = b.g.mul(next, chain);
    }
    for table in [sum, product, both, chain] {
        let rows = b.g.gather(table, i);
        let residual = b.g.sub(y, rows);
        let square = b.g.square(residual);
        let weighted = b.g.mul(y, rows);
        let all = b.g.add(square, weighted);
        let (total, of_table) = (b.g.sum(all), b.g.sum(table));
        let logp = b.g.add(total, of_table);
        let (graph, root, _) = optimise(&b.g, logp, &[]);
        assert!(graph.shape(root).is_scalar());
    }
}

#[test]
fn what_is_not_affine_or_not_square_stays() {
    // An array of parameters, an odd power, a square of a product of parameters.
    let mut b = Build::new();
    let (x, t, u) = (b.parameter("x", [50]), b.parameter("t", [5]), b.parameter("u", [4]));
    let (i, j, y) = (b.index("i", 50, 5, 3), b.index("j", 50, 4, 1), b.rows("y", 50, 3));
    let (of_t, of_u) = (b.g.gather(t, i), b.g.gather(u, j));
    let first = b.g.sub(y, x);
    let first = b.g.square(first);
    let second = b.g.sub(y, of_t);
    let cube = b.g.square(second);
    let cube = b.g.mul(second, cube);
    let product = b.g.mul(of_t, of_u);
    let third = b.g.sub(y, product);
    let third = b.g.square(third);
    let weighted = b.g.square(second);
    let weighted = b.g.mul(y, weighted);
    for (k, rows) in [first, cube, third, weighted].into_iter().enumerate() {
        let sum = b.g.sum(rows);
        let (graph, root, applied) = optimise(&b.g, sum, &[]);
        let count = graph.nodes().iter().filter(|n| matches!(n.op, Op::LeastSquares { .. }));
        assert_eq!((count.count(), applied.len()), (0, 0), "{k}: {}", print(&graph));
        assert!(graph.shape(root).is_scalar());
    }
}

#[test]
fn loops_carry_variances_for_scales_that_only_their_squares_are_read_of() {
    let count = |model: &Model, f: Unary| {
        let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
        let live = graph.reachable(&[logp]);
        let bodies =
            graph.ids().filter(|id| live[id.index()]).filter_map(|id| match &graph.node(id).op {
                Op::Scan { body, .. } => Some(body.0.clone()),
                _ => None,
            });
        let of_body = |body: Arc<ScanBody>| {
            let live = body.graph.reachable(&body.next);
            let ids = body.graph.ids().filter(|id| live[id.index()]);
            ids.filter(|id| body.graph.node(*id).op == Op::Unary(f)).count()
        };
        bodies.map(of_body).sum::<usize>()
    };
    let model = scales(9, false);
    // The level's next value takes the scale, so one root stays; the square is of the data.
    let found = [Unary::Exp, Unary::Log, Unary::Square, Unary::Sqrt].map(|f| count(&model, f));
    assert_eq!(found, [0, 0, 1, 1]);
}
