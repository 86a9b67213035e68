//! Partial centring of elements that hold each other: $\log p_x(x)=\log p_\theta(\theta)-\log|\det
//! dx/d\theta|$, with the matrix from differences and its determinant from elimination; and what is
//! found of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]

use std::sync::Arc;

use exmc_graph::{
    DType, Graph, NodeId, Op, Role, ScanBody, Shape, SharedBody, Tensor, Written, differentiate,
    evaluate, location_scales, recentre, recentre_value,
};

struct Case {
    name: &'static str,
    g: Graph,
    logp: NodeId,
    written: Written,
    /// Of the input `x`.
    shape: Shape,
}

fn parameter(g: &mut Graph, name: &str, shape: impl Into<Shape>) -> NodeId {
    g.input(name, Role::Parameter, shape.into(), DType::Real).unwrap()
}

fn half_squares(g: &mut Graph, x: NodeId) -> NodeId {
    let square = g.square(x);
    let half = g.scale(square, -0.5);
    g.sum(half)
}

/// The sum of logarithms of a scale over so many elements, taken off.
fn less_logs(g: &mut Graph, logp: NodeId, scale: NodeId, times: f64) -> NodeId {
    let logs = g.log(scale);
    let sum = g.sum(logs);
    let sum = g.scale(sum, times);
    g.sub(logp, sum)
}

/// `[n, n]`, lower triangular, of parameters `t` (log scales) and `c` (correlations, of any size).
fn factor(g: &mut Graph, n: usize) -> NodeId {
    let t = parameter(g, "t", [n]);
    let c = parameter(g, "c", [n * (n - 1) / 2]);
    let below: Vec<usize> = (0..n * n).filter(|k| k % n < k / n).collect();
    let index = g.constant(Tensor::indices(&below));
    let below = g.apply(Op::ScatterAdd { len: n * n }, &[c, index]).unwrap();
    let below = g.reshape(below, [n, n]);
    let one: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k % n == k / n))).collect();
    let one = g.constant(Tensor::real([n, n], one).unwrap());
    let correlations = g.add(one, below);
    let scales = g.exp(t);
    let column = g.reshape(scales, [n, 1]);
    g.mul(correlations, column)
}

/// Something that is read of the values, so that more than the prior is judged.
fn outcomes(g: &mut Graph, values: NodeId) -> NodeId {
    let exps = g.exp(values);
    let sum = g.sum(exps);
    g.scale(sum, -0.1)
}

fn centred_vectors(name: &'static str, groups: usize, n: usize) -> Case {
    let mut g = Graph::new();
    let (f, mu, x) =
        (factor(&mut g, n), parameter(&mut g, "mu", [n]), parameter(&mut g, "x", [groups, n]));
    let apart = g.sub(x, mu);
    let columns = g.transpose(apart);
    let z = g.triangular_solve(f, columns, false);
    let logp = half_squares(&mut g, z);
    let diagonal = g.diagonal(f);
    let logp = less_logs(&mut g, logp, diagonal, groups as f64);
    let seen = outcomes(&mut g, x);
    let logp = g.add(logp, seen);
    Case { name, g, logp, written: Written::Centred, shape: Shape::from([groups, n]) }
}

fn whitened_vectors(name: &'static str, groups: usize, n: usize, is_transposed: bool) -> Case {
    let mut g = Graph::new();
    let shape = if is_transposed { [groups, n] } else { [n, groups] };
    let (f, mu, x) =
        (factor(&mut g, n), parameter(&mut g, "mu", [n]), parameter(&mut g, "x", shape));
    let product = if is_transposed {
        let upper = g.transpose(f);
        g.matmul(x, upper)
    } else {
        let columns = g.matmul(f, x);
        g.transpose(columns)
    };
    let values = g.add(mu, product);
    let (prior, seen) = (half_squares(&mut g, x), outcomes(&mut g, values));
    let logp = g.add(prior, seen);
    Case { name, g, logp, written: Written::NonCentred, shape: Shape::from(shape) }
}

/// $x_i\sim N(m+a(x_{i-\ell}-m),\sigma)$ from the second row on, where the first has a scale of its
/// own or none.
fn walk(name: &'static str, (steps, row): (usize, usize), slope: bool, first: bool) -> Case {
    let mut g = Graph::new();
    let (t, m) = (parameter(&mut g, "t", []), parameter(&mut g, "m", []));
    let x = parameter(&mut g, "x", [steps * row]);
    let scale = g.exp(t);
    let n = steps * row;
    let (begin, before, after) =
        (g.slice(x, 0, 0, row), g.slice(x, 0, 0, n - row), g.slice(x, 0, row, n));
    let location = if slope {
        let a = parameter(&mut g, "a", []);
        let apart = g.sub(before, m);
        let apart = g.mul(a, apart);
        g.add(m, apart)
    } else {
        before
    };
    let step = g.sub(after, location);
    let step = g.div(step, scale);
    let squares = half_squares(&mut g, step);
    let mut logp = less_logs(&mut g, squares, scale, (n - row) as f64);
    let mut begin = g.sub(begin, m);
    if first {
        let wide = g.scale(scale, 2.0);
        begin = g.div(begin, wide);
        logp = less_logs(&mut g, logp, wide, row as f64);
    }
    let begin = half_squares(&mut g, begin);
    let logp = g.add(logp, begin);
    let seen = outcomes(&mut g, x);
    let logp = g.add(logp, seen);
    Case { name, g, logp, written: Written::Centred, shape: Shape::from([n]) }
}

/// $m$ plus the running sum of $\sigma x$ along an axis.
fn running_sum(name: &'static str, shape: &[usize], axis: usize, location: bool) -> Case {
    let mut g = Graph::new();
    let (t, m) = (parameter(&mut g, "t", []), parameter(&mut g, "m", []));
    let x = parameter(&mut g, "x", shape.to_vec());
    let scale = g.exp(t);
    let steps = g.mul(scale, x);
    let mut values = g.cumulative_sum(steps, axis);
    if location {
        values = g.add(m, values);
    }
    let (prior, seen) = (half_squares(&mut g, x), outcomes(&mut g, values));
    let logp = g.add(prior, seen);
    Case { name, g, logp, written: Written::NonCentred, shape: Shape::from(shape.to_vec()) }
}

/// $y_i=m+a(y_{i-1}-m)+\sigma x_i$ as a loop, from the first element or from a state before it.
fn looped(name: &'static str, n: usize, from_first: bool) -> Case {
    let mut g = Graph::new();
    let [t, m, a] = ["t", "m", "a"].map(|name| parameter(&mut g, name, []));
    let x = parameter(&mut g, "x", [n]);
    let scale = g.exp(t);
    let mut body = Graph::new();
    let [carry, fixed, slope, mean, step] =
        ["carry0", "fixed0", "fixed1", "fixed2", "x0"].map(|name| parameter(&mut body, name, []));
    let apart = body.sub(carry, mean);
    let apart = body.mul(slope, apart);
    let innovation = body.mul(fixed, step);
    let next = body.add(mean, apart);
    let next = body.add(next, innovation);
    let counts = [1, 1, 3];
    let body = ScanBody { graph: body, next: vec![next], stacked: vec![next], counts };
    let (begin, rest) = if from_first {
        let first = g.slice(x, 0, 0, 1);
        let first = g.reshape(first, Shape::scalar());
        let first = g.mul(scale, first);
        (g.add(m, first), g.slice(x, 0, 1, n))
    } else {
        (g.scale(m, 0.5), x)
    };
    let length = g.shape(rest).len();
    let scan = Op::Scan { length, reverse: false, body: SharedBody(Arc::new(body)) };
    let scan = g.apply(scan, &[begin, rest, scale, a, m]).unwrap();
    let mut values = g.apply(Op::Project(1), &[scan]).unwrap();
    if from_first {
        let begin = g.reshape(begin, [1]);
        values = g.concat(&[begin, values], 0);
    }
    let (prior, seen) = (half_squares(&mut g, x), outcomes(&mut g, values));
    let logp = g.add(prior, seen);
    Case { name, g, logp, written: Written::NonCentred, shape: Shape::from([n]) }
}

fn cases() -> Vec<Case> {
    vec![
        centred_vectors("vectors", 4, 3),
        centred_vectors("long vectors", 2, 6),
        centred_vectors("one vector", 1, 12),
        whitened_vectors("product", 4, 3, false),
        whitened_vectors("product of rows", 3, 2, true),
        whitened_vectors("product of long vectors", 2, 6, false),
        walk("walk", (7, 1), false, false),
        walk("walk of rows", (4, 3), false, false),
        walk("autoregression", (7, 1), true, false),
        walk("autoregression with its first", (7, 1), true, true),
        walk("autoregression of rows", (4, 2), true, true),
        running_sum("running sum", &[7], 0, true),
        running_sum("running sum from zero", &[7], 0, false),
        running_sum("running sums of rows", &[3, 4], 1, true),
        running_sum("running sums of columns", &[3, 4], 0, true),
        looped("loop", 7, true),
        looped("loop from outside", 7, false),
    ]
}

/// Numbers that look random.
fn value(name: &str, shape: &Shape) -> Tensor {
    let seed = name.bytes().map(f64::from).sum::<f64>();
    let number = |k: usize| 0.8 * (seed * 0.37 + 1.7 * k as f64).sin();
    let values: Vec<f64> = (0..shape.len()).map(number).collect();
    Tensor::real(shape.clone(), values).unwrap()
}

/// Shares of an array, of all kinds that have a form of their own.
fn shares(shape: &Shape, covered: Option<&[bool]>, written: f64) -> Vec<Tensor> {
    let n = shape.len();
    let row = *shape.extents().last().unwrap();
    let kinds: [&dyn Fn(usize) -> f64; 6] = [
        &|_| 0.0,
        &|_| 1.0,
        &|_| 0.3,
        &|k| f64::from(u8::from(k % 3 == 1)),
        &|k| [0.2, 0.9, 0.0, 1.0, 0.6, 0.4][k % row % 6],
        &|k| (k as f64 * 0.77).fract(),
    ];
    let shares_of = |kind: &&dyn Fn(usize) -> f64| {
        let share = |k: usize| if covered.is_none_or(|all| all[k]) { kind(k) } else { written };
        Tensor::real(shape.clone(), (0..n).map(share).collect::<Vec<f64>>()).unwrap()
    };
    kinds.iter().map(shares_of).collect()
}

/// The values of expressions at a value of `x`.
fn values_at(g: &Graph, outputs: &[NodeId], x: &Tensor) -> Vec<Tensor> {
    let declared = |name: &str| g.shape(g.find_input(name).unwrap()).clone();
    let input = |name: &str| match name {
        "x" => Some(x.clone()),
        _ => Some(value(name, &declared(name))),
    };
    evaluate(g, outputs, &input).unwrap()
}

fn moved(x: &Tensor, k: usize, by: f64) -> Tensor {
    let mut values = x.values().to_vec();
    values[k] += by;
    Tensor::real(x.shape().clone(), values).unwrap()
}

/// Slopes by each element from differences of the fourth order, whose error is 1e-12 here.
fn differences(x: &Tensor, function: impl Fn(&Tensor) -> Vec<f64>) -> Vec<Vec<f64>> {
    let h = 1e-3;
    let by = |k: usize| {
        let [a, b, c, d] = [1.0, -1.0, 2.0, -2.0].map(|steps| function(&moved(x, k, steps * h)));
        let slope = |i: usize| (8.0 * (a[i] - b[i]) - (c[i] - d[i])) / (12.0 * h);
        (0..a.len()).map(slope).collect()
    };
    (0..x.values().len()).map(by).collect()
}

fn log_abs_det(mut rows: Vec<Vec<f64>>) -> f64 {
    let n = rows.len();
    let mut sum = 0.0;
    for k in 0..n {
        let best = (k..n).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs())).unwrap();
        rows.swap(k, best);
        let pivot = rows[k].clone();
        sum += pivot[k].abs().ln();
        for row in &mut rows[k + 1..] {
            let by = row[k] / pivot[k];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= by * p);
        }
    }
    sum
}

fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let size = 1.0 + expected.abs();
    assert!((found - expected).abs() <= tolerance * size, "{what}: {found}, expected {expected}");
}

#[test]
fn densities_change_by_the_determinant() {
    for mut case in cases() {
        let found = location_scales(&mut case.g, case.logp);
        let find_x = |g: &Graph| g.find_input("x");
        let [entry] =
            &found.iter().filter(|e| Some(e.input) == find_x(&case.g)).collect::<Vec<_>>()[..]
        else {
            panic!("{}: {found:?}", case.name)
        };
        assert_eq!(entry.written, case.written, "{}", case.name);
        let written = if case.written == Written::Centred { 1.0 } else { 0.0 };
        for (kind, share) in
            shares(&case.shape, entry.covered.as_deref(), written).iter().enumerate()
        {
            let what = format!("{}, shares {kind}", case.name);
            let made = recentre(&case.g, &[case.logp], &[(entry, share)]).unwrap();
            let mut new = made.graph;
            let logp = new.add(made.roots[0], made.log_jacobians[0]);
            let mut old = case.g.clone();
            let roots = entry.roots();
            let forth = recentre_value(&mut old, entry, entry.input, &roots, share);
            let x = value("x", &case.shape);
            let to = |x: &Tensor| values_at(&old, &[forth], x)[0].values().to_vec();
            let coordinate = Tensor::real(case.shape.clone(), to(&x)).unwrap();
            // Differences of a polynomial of low degree are exact to 1e-10 or so an element.
            let determinant = log_abs_det(differences(&x, to));
            let expected =
                values_at(&case.g, &[case.logp], &x)[0].as_scalar().unwrap() - determinant;
            let logp_at = |x: &Tensor| values_at(&new, &[logp], x)[0].values().to_vec();
            near(&what, logp_at(&coordinate)[0], expected, 1e-8);

            let gradient = {
                let mut g = new.clone();
                let input = g.find_input("x").unwrap();
                let slopes = differentiate(&mut g, logp, &[input]).unwrap();
                values_at(&g, &slopes, &coordinate)[0].values().to_vec()
            };
            for (k, by) in differences(&coordinate, logp_at).iter().enumerate() {
                near(&format!("{what}: slope {k}"), gradient[k], by[0], 1e-7);
            }

            // What pilot chains take for an element's location and scale is that of the coordinate.
            let [location, scale] = entry.location_and_scale(&mut old);
            let written_value = if case.written == Written::Centred { Some(&x) } else { None };
            let [m, s] =
                [location, scale].map(|node| values_at(&old, &[node], &x)[0].values().to_vec());
            for k in 0..x.values().len() {
                let z = match written_value {
                    Some(theta) => (theta.values()[k] - m[k]) / s[k],
                    None => x.values()[k],
                };
                let share = share.values()[k];
                let is_covered = entry.covered.as_ref().is_none_or(|all| all[k]);
                if is_covered {
                    near(&what, coordinate.values()[k], share * m[k] + s[k].powf(share) * z, 1e-10);
                }
            }
        }
    }
}

/// A factor that may have elements above its diagonal, or none above zero on it, is none.
#[test]
fn products_with_other_matrices_are_left_alone() {
    for is_square in [true, false] {
        let mut g = Graph::new();
        let (f, x) = (parameter(&mut g, "f", [3, 3]), parameter(&mut g, "x", [3, 2]));
        let f = if is_square { g.square(f) } else { g.exp(f) };
        let values = g.matmul(f, x);
        let (prior, seen) = (half_squares(&mut g, x), outcomes(&mut g, values));
        let logp = g.add(prior, seen);
        assert!(location_scales(&mut g, logp).is_empty());
    }
}

/// Differences between neighbours in a loop, where each element comes before the other, are no
/// walk.
#[test]
fn circles_are_no_walks() {
    let mut g = Graph::new();
    let (t, x) = (parameter(&mut g, "t", []), parameter(&mut g, "x", [4]));
    let scale = g.exp(t);
    let index = g.constant(Tensor::indices(&[1, 2, 3, 0]));
    let next = g.gather(x, index);
    let apart = g.sub(x, next);
    let apart = g.div(apart, scale);
    let logp = half_squares(&mut g, apart);
    assert!(location_scales(&mut g, logp).is_empty());
}
