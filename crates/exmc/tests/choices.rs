//! `c ? a : b`, `&&` and `||` with conditions on parameters: the side that is not taken neither
//! rejects, nor is refused as an argument, nor adds to the density. Expected values are closed
//! forms.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use exmc::StanProgram;
use exmc::advanced::Executor;
use exmc::stan::{Interpreter, StanOptions};

const FUNCTIONS: &str = "
real root(real a) { if (a < 0) reject(\"negative\"); return sqrt(a); }
int add_lp(real a) { target += a; return 1; }";

const DATA: &str = "{\"d\": [1, -1, 0.5, -2]}";

/// The log density of a normal at 1 around 0.
fn normal(scale: f64) -> f64 {
    -0.5 / (scale * scale) - scale.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
}

/// By the three ways to run a program; a rejection is minus infinity.
fn values(model: &str, points: &[[f64; 5]]) -> Vec<[f64; 3]> {
    let text = format!(
        "functions {{ {FUNCTIONS} }} data {{ vector[4] d; }}
         parameters {{ real x; vector[4] v; }} model {{ real s = 0; {model} target += s; }}"
    );
    let ways = [
        (Executor::Native, Interpreter::Never),
        (Executor::Reference, Interpreter::Never),
        (Executor::Native, Interpreter::Always),
    ];
    let bound = ways.map(|(executor, interpreter)| {
        let mut options = StanOptions::default();
        options.compile.executor = executor;
        options.compile.interpreter = interpreter;
        let program = StanProgram::from_text("choices.stan", &text).unwrap();
        program.bind_with("data", DATA, &options).unwrap().bound().clone()
    });
    points
        .iter()
        .map(|p| {
            bound.each_ref().map(|b| b.logp_grad(p).map_or(f64::NEG_INFINITY, |found| found.0))
        })
        .collect()
}

#[test]
fn the_side_that_is_not_taken_does_nothing() {
    type Expected = fn(f64, &[f64]) -> f64;
    let cases: &[(&str, Expected)] = &[
        ("s += x > 0 ? root(x) : root(-x);", |x, _| x.abs().sqrt()),
        ("s += x > 0 ? normal_lpdf(1 | 0, x) : -3;", |x, _| if x > 0.0 { normal(x) } else { -3.0 }),
        ("s += x < 0 ? 2 : normal_lpdf(1 | 0, x);", |x, _| if x < 0.0 { 2.0 } else { normal(x) }),
        ("for (i in 1:4) s += v[i] > 0 ? root(v[i]) : root(-v[i]);", |_, v| {
            v.iter().map(|v| v.abs().sqrt()).sum()
        }),
        ("for (i in 1:4) s += v[i] > 0 ? normal_lpdf(1 | 0, v[i]) : 0.5;", |_, v| {
            v.iter().map(|v| if *v > 0.0 { normal(*v) } else { 0.5 }).sum()
        }),
        ("int q = x > 0 && root(x) > 0.1; s += q;", |x, _| f64::from(u8::from(x > 0.0))),
        ("int r = x < 0 || root(x) > 0.1; s += r;", |_, _| 1.0),
        ("s += x > 0 ? add_lp(10) : add_lp(100) * 3;", |x, _| if x > 0.0 { 11.0 } else { 103.0 }),
        ("for (i in 1:4) s += v[i] > 0 ? add_lp(10 ^ i) : 3;", |_, v| {
            let one = |(i, v): (usize, &f64)| {
                if *v > 0.0 { 10_f64.powi(i as i32 + 1) + 1.0 } else { 3.0 }
            };
            v.iter().enumerate().map(one).sum()
        }),
        ("for (i in 1:4) s += d[i] > 0 ? add_lp(10 ^ i) : 3;", |_, _| 10.0 + 1000.0 + 2.0 + 6.0),
        ("for (i in 1:4) if (v[i] > 0 && add_lp(10 ^ i)) s += 1;", |_, v| {
            let one = |(i, v): (usize, &f64)| {
                if *v > 0.0 { 10_f64.powi(i as i32 + 1) + 1.0 } else { 0.0 }
            };
            v.iter().enumerate().map(one).sum()
        }),
        ("int q = x < 0 || add_lp(7); s += 2 * q;", |x, _| if x < 0.0 { 2.0 } else { 9.0 }),
        ("if (x > 0) s += v[1] > 0 ? add_lp(0.25) : 0.5;", |x, v| match (x > 0.0, v[0] > 0.0) {
            (true, true) => 1.25,
            (true, false) => 0.5,
            _ => 0.0,
        }),
        // An index that no element has is no mistake where it is not taken.
        ("int k = 5; if (x < 0) s += v[k]; else s += v[1];", |x, v| {
            if x < 0.0 { f64::NEG_INFINITY } else { v[0] }
        }),
        ("int k = 5; vector[4] a = v; if (x < 0) a[k] = 3; s += sum(a);", |x, v| {
            if x < 0.0 { f64::NEG_INFINITY } else { v.iter().sum() }
        }),
        ("for (i in 1:5) if (v[1] < 0 || i < 5) s += v[i];", |_, v| {
            if v[0] < 0.0 { f64::NEG_INFINITY } else { v.iter().sum() }
        }),
        ("if (x < 0) s += sum(v[3:6]); else s += v[2];", |x, v| {
            if x < 0.0 { f64::NEG_INFINITY } else { v[1] }
        }),
        // A bound that grows as elements say.
        ("int n = 0; for (i in 1:min(4, 2 + n)) { if (v[i] > 0) n += 1; s += v[i]; }", |_, v| {
            let (mut n, mut i, mut s) = (0, 0, 0.0);
            while i < 4.min(2 + n) {
                n += usize::from(v[i] > 0.0);
                s += v[i];
                i += 1;
            }
            s
        }),
        // What is taken still rejects.
        ("s += x > 0 ? 1 : root(x);", |x, _| if x > 0.0 { 1.0 } else { f64::NEG_INFINITY }),
    ];
    let points = [[0.5, 1.0, -1.0, 0.5, -2.0], [-0.5, -1.0, -1.0, 0.5, 2.0]];
    for (model, expected) in cases {
        for (point, found) in points.iter().zip(values(model, &points)) {
            let expected = expected(point[0], &point[1..]);
            for value in found {
                let same = value == expected || (value - expected).abs() < 1e-12 * expected.abs();
                assert!(same, "{model} at {point:?}: {found:?}, expected {expected}");
            }
        }
    }
}

/// What a branch inside of a loop reads, and the loop does not change, is computed before the loop:
/// where the branch is not taken, its slope is 0 even if that of the square root is not a number.
#[test]
fn slopes_of_branches_in_recurrences_that_are_not_taken_are_zero() {
    let text = "data { int n; } parameters { real x; real y; } model { real r = 0;
        for (i in 1:n) { if (y > 0) r = 0.5 * r + sqrt(y); else r = 0.3 * r + x; }
        target += r; }";
    let choice = "data { int n; } parameters { real x; real y; } model { real r = 0;
        for (i in 1:n) r = 0.3 * r + (y > 0 ? sqrt(y) : x);
        target += r; }";
    for (text, rate) in [(text, 0.5_f64), (choice, 0.3)] {
        for n in [3, 20, 1200] {
            for executor in [Executor::Native, Executor::Reference] {
                let mut options = StanOptions::default();
                options.compile.executor = executor;
                let program = StanProgram::from_text("loop.stan", text).unwrap();
                let data = format!("{{\"n\": {n}}}");
                let bound = program.bind_with("data", &data, &options).unwrap().bound().clone();
                let sum = |rate: f64| (1.0 - rate.powi(n)) / (1.0 - rate);
                for (x, y) in [(0.5, -1.2), (0.5, 2.25)] {
                    let (value, gradient) = bound.logp_grad(&[x, y]).unwrap();
                    let (expected, slopes) = if y > 0.0 {
                        (1.5 * sum(rate), [0.0, sum(rate) / 3.0])
                    } else {
                        (x * sum(0.3), [sum(0.3), 0.0])
                    };
                    assert!((value - expected).abs() < 1e-12, "{value}, expected {expected}");
                    for (slope, expected) in gradient.iter().zip(slopes) {
                        assert!((slope - expected).abs() < 1e-12, "{gradient:?}: {text} {n} {y}");
                    }
                }
            }
        }
    }
}

/// The condition of a loop further out, of whose iterations one has several lanes and others none,
/// is the same graph node as the condition inside; but its element `k` is about iteration `k`, not
/// about lane `k`.
#[test]
fn a_condition_of_outer_iterations_says_nothing_of_inner_lanes() {
    let points =
        [[0.0, 1.0, -1.0, 1.0, 1.0], [0.0, 1.0, 0.5, -1.0, -2.0], [0.0, -1.0, 2.0, 1.0, 3.0]];
    let programs = [
        "int f = 0; if (v[2 * (i - 1) + j] > 0) f = 1; s += j * f;",
        "int f = 3; if (v[2 * (i - 1) + j] > 0) f -= 1; else f += 1; s += j * (4 - f) / 2.0 - j * 0.5;",
        "int f = 0; while (f < 1 && v[2 * (i - 1) + j] > 0) f += 1; s += j * f;",
    ];
    let expected = |v: &[f64], k: usize| -> f64 {
        let mut sum = 0.0;
        for (i, count) in [2, 2, 0, 0].into_iter().enumerate() {
            for j in (0..count).filter(|_| v[i] > 0.0) {
                let holds = v[2 * i + j] > 0.0;
                let term = match k {
                    // f is 2 where the condition holds, 4 elsewhere.
                    1 => f64::from(u8::from(holds)) - 0.5,
                    _ => f64::from(u8::from(holds)),
                };
                sum += (j + 1) as f64 * term;
            }
        }
        sum
    };
    for (k, inside) in programs.iter().enumerate() {
        let model = format!(
            "{{ array[4] int n = {{2, 2, 0, 0}};
               for (i in 1:4) if (v[i] > 0) for (j in 1:n[i]) {{ {inside} }} }}"
        );
        for (point, found) in points.iter().zip(values(&model, &points)) {
            for value in found {
                let expected = expected(&point[1..], k);
                assert!((value - expected).abs() < 1e-12, "{value}, expected {expected}: {inside}");
            }
        }
    }
}

/// A `while` loop that counts its iterations in an integer ends where the count does, also in
/// loops around it that run side by side: it is not written out as often as the limit says.
#[test]
fn counted_loops_within_loops_are_written_out_as_often_as_they_count() {
    let model = "for (i in 1:4) { int c = 0;
          while (c < 3 && v[1] < 5) { c += 1; int k = 0;
            while (k < 2 && x < v[2]) { k += 1; s += 0.1 * k * v[i]; } } }";
    let points = [[0.2, 1.0, 0.5, -1.0, 2.0], [0.7, 1.0, 0.5, -1.0, 2.0]];
    for (point, found) in points.iter().zip(values(model, &points)) {
        let sum: f64 = point[1..].iter().sum();
        let expected = if point[0] < point[2] { 0.9 * sum } else { 0.0 };
        for value in found {
            assert!((value - expected).abs() < 1e-12, "{value}, expected {expected}");
        }
    }
    let text = format!(
        "parameters {{ real x; vector[4] v; }} model {{ real s = 0; {model} target += s; }}"
    );
    let program = StanProgram::from_text("counted.stan", &text).unwrap();
    let model = program.bind_with("data", "{}", &StanOptions::default()).unwrap();
    // Written out 128 times it has thousands of nodes.
    let nodes = model.bound().compiled().lowered().graph.len();
    assert!(nodes < 300, "{nodes} nodes");
}

/// A loop that runs beside a condition that does not hold may overflow: its slopes are 0, whichever
/// way its iterations are put together.
#[test]
fn loops_that_are_not_taken_may_overflow() {
    let loops = [
        "real a = v[1]; if (x > 0) for (i in 1:1200) { a = a * a; target += tanh(a); }",
        "vector[4] a = v; if (x > 0) for (i in 1:1200) {
           for (e in 1:20) a = a[{4, 3, 2, 1}] .* a;
           0.3 ~ normal(-0.1, exp(tanh(0.1 - a[1 + i % 4]))); }",
        "real a = v[1]; for (i in 1:1200) if (x > 0) { a = a * a; target += inv_logit(a); }",
    ];
    for text in loops {
        for executor in [Executor::Native, Executor::Reference] {
            let mut options = StanOptions::default();
            options.compile.executor = executor;
            let text = format!("parameters {{ real x; vector[4] v; }} model {{ {text} }}");
            let program = StanProgram::from_text("loop.stan", &text).unwrap();
            let bound = program.bind_with("data", "{}", &options).unwrap().bound().clone();
            let point = [-1.0, 1.5, -1.4, 0.9, -0.1];
            assert_eq!(bound.logp_grad(&point).unwrap(), (0.0, vec![0.0; 5]), "{text}");
        }
    }
}
