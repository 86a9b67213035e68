//! Loops inside of loops whose iterations differ in length: what one iteration around reads is what
//! the iterations before it left, whichever of them run together. Expected values are closed forms.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use exmc::StanProgram;
use exmc::advanced::Executor;
use exmc::stan::{Interpreter, StanOptions};

/// Log density and gradient by the three ways to run a program; a rejection is minus infinity.
fn values(model: &str, point: &[f64; 5]) -> Vec<(f64, Vec<f64>)> {
    let text = format!("parameters {{ real x; vector[4] v; }} model {{ real s = 0; {model} }}");
    let ways = [
        (Executor::Native, Interpreter::Never),
        (Executor::Reference, Interpreter::Never),
        (Executor::Native, Interpreter::Always),
    ];
    let way = |(executor, interpreter)| {
        let mut options = StanOptions::default();
        options.compile.executor = executor;
        options.compile.interpreter = interpreter;
        let program = StanProgram::from_text("loops.stan", &text).unwrap();
        let bound = program.bind_with("data", "{}", &options).unwrap().bound().clone();
        bound.logp_grad(point).unwrap_or((f64::NEG_INFINITY, Vec::new()))
    };
    ways.into_iter().map(way).collect()
}

#[track_caller]
fn expect(model: &str, point: &[f64; 5], value: f64, slopes: &[f64]) {
    for (found, gradient) in values(model, point) {
        let off = (found - value).abs() / value.abs().max(1.0);
        assert!(found == value || off < 1e-11, "{found}, expected {value}: {model}");
        assert!(found == f64::NEG_INFINITY || gradient.len() == slopes.len(), "{model}");
        for (slope, expected) in gradient.iter().zip(slopes) {
            let off = (slope - expected).abs() / expected.abs().max(1.0);
            assert!(off < 1e-11, "{gradient:?}, expected {slopes:?}: {model}");
        }
    }
}

const POINT: [f64; 5] = [0.7, 1.5, -0.4, 0.3, 2.0];

/// Iterations 1 and 3 read parts of different lengths and run apart; with those that read nothing
/// runs iteration 4, which writes what 3 reads before it.
#[test]
fn what_long_loops_inside_read_was_not_written_by_later_iterations() {
    for long in [3, 1500] {
        let model = format!(
            "vector[4] b = rep_vector(0.2, 4);
             for (i in 1:4) for (e in 1:{long}) {{
               if (i == 2) {{ }} else if (i < 4) s += 0.2 * sum(b[:i]); else b[{{1, 4}}] = v[1:2];
             }}
             target += s + sum(b);"
        );
        let value = f64::from(long) * 0.2 * 0.8 + 0.4 + POINT[1] + POINT[2];
        expect(&model, &POINT, value, &[0.0, 1.0, 1.0, 0.0, 0.0]);
        // The other way round: iteration 1 writes what those after it read.
        let model = format!(
            "vector[4] b = rep_vector(0.2, 4);
             for (i in 1:4) for (e in 1:{long}) {{
               if (i == 3) {{ }} else if (i > 1) s += 0.2 * sum(b[:i]); else b[{{1, 4}}] = v[1:2];
             }}
             target += s + sum(b);"
        );
        let n = f64::from(long) * 0.2;
        let (a, d) = (POINT[1], POINT[2]);
        let value = n * (a + 0.2) + n * (a + 0.4 + d) + a + d + 0.4;
        let slopes = [0.0, 2.0 * n + 1.0, n + 1.0, 0.0, 0.0];
        expect(&model, &POINT, value, &slopes);
    }
}

/// A loop in a loop that is a scan in a scan, whose inner body finds elements by an index that is
/// computed of constants.
#[test]
fn copies_in_loops_of_loops_end_as_the_last_element() {
    let model = "array[4] vector[4] g = {v, 2 * v, 0.5 * v, rep_vector(x, 4)};
        for (k in 1:18) for (e in 1:18) g[{2, 3}] = g[3:4];
        target += dot_product(g[1], g[3]) - sum(g[2] .* [3, 1, -2, 1]');";
    let (x, sum) = (POINT[0], POINT[1..].iter().sum::<f64>());
    expect(model, &POINT, x * sum - 3.0 * x, &[sum - 3.0, x, x, x, x]);
}

/// Addresses that all iterations of an inner loop have in common are found for the iterations
/// around, of which the inner conditions say nothing: an index that is out of range only matters
/// where they hold.
#[test]
fn indices_out_of_range_in_inner_loops_matter_where_the_condition_holds() {
    let model = "array[4] int j = {2, 4, 1, 2};
        for (i in 1:3) for (e in 1:16) if (v[1 + e % 4] > i) s += 0.1 * sum({v, v}[, j[i + 2]]);
        target += s + x;";
    let below = [0.7, 0.5, -0.4, 0.3, 1.0];
    expect(model, &below, 0.7, &[1.0, 0.0, 0.0, 0.0, 0.0]);
    // Beyond 1 in one of four: j[3] is 1.
    let once = [0.7, 0.5, -0.4, 0.3, 1.5];
    let value = 0.7 + 4.0 * 0.2 * 0.5;
    expect(model, &once, value, &[1.0, 0.8, 0.0, 0.0, 0.0]);
    let beyond = [0.7, 0.5, -0.4, 0.3, 3.5];
    expect(model, &beyond, f64::NEG_INFINITY, &[]);
}

/// Each step adds to several elements, several times each; the elements come in an order in which
/// those of a step stand apart.
#[test]
fn steps_that_add_to_several_elements_add_to_each_of_them() {
    for long in [4, 1500] {
        // `b` is what steps hand on.
        let model = format!(
            "vector[4] b = rep_vector(0.2, 4);
             array[3] vector[{long}] g = {{rep_vector(x, {long}), rep_vector(v[1], {long}),
                                          rep_vector(v[2], {long})}};
             for (t in 1:{long}) {{
               b = b;
               for (i in 1:3) for (j in 1:2) g[i, t] += j * v[3];
             }}
             target += (sum(g[1]) + 2 * sum(g[2]) + 3 * sum(g[3])) / {long} + sum(b);"
        );
        let value = POINT[0] + 2.0 * POINT[1] + 3.0 * POINT[2] + 18.0 * POINT[3] + 0.8;
        expect(&model, &POINT, value, &[1.0, 2.0, 3.0, 18.0, 0.0]);
    }
}

/// A copy of what a loop adds up is equal to it, in loops that are walked as steps too: a program
/// may leave a loop where one is larger.
#[test]
fn a_copy_of_a_sum_is_equal_to_it() {
    for long in [7, 1700] {
        let model = format!(
            "real t = 0;
             for (i in 1:{long}) {{
               for (j in 1:4) s += 0.2 * sum(v[1:j]) - 0.1 * v[1];
               t = s;
             }}
             target += s > t ? 100 : 0;
             target += s < t ? 100 : 0;
             target += 0.001 * t;"
        );
        let n = 0.001 * f64::from(long);
        let slopes = [0.0, 0.4 * n, 0.6 * n, 0.4 * n, 0.2 * n];
        let value = slopes.iter().zip(&POINT).map(|(slope, x)| slope * x).sum();
        expect(&model, &POINT, value, &slopes);
    }
}
