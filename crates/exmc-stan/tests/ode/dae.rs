//! `dae` and `dae_tol`: in the density, on the tape and on values, against closed forms and against
//! references of scipy and mpmath (`crates/exmc-math/tests/data/generate_dae.py`), and what is
//! refused.

use exmc_stan::host::tape::log_density_and_gradient;
use exmc_stan::host::{Environment, Interpreter, Settings};

use super::{assert_near, density, program, try_lowered};

/// Log density and gradient on the interpreter's tape.
fn on_tape(text: &str, position: &[f64]) -> (f64, Vec<f64>) {
    let program = program(text);
    let mut environment = Environment::new(&program);
    Interpreter::new(&program, Settings::default()).transform_data(&mut environment).unwrap();
    log_density_and_gradient(&program, &environment, position).unwrap()
}

/// The compiled density, and that of the tape.
fn both(text: &str, position: &[f64]) -> [(f64, Vec<f64>); 2] {
    [density(text, position), on_tape(text, position)]
}

fn assert_all(what: &str, found: &[(f64, Vec<f64>); 2], expected: (f64, &[f64]), tolerance: f64) {
    for ((value, gradient), how) in found.iter().zip(["compiled", "on the tape"]) {
        assert_near(&format!("{what} {how}"), *value, expected.0, tolerance);
        assert_eq!(gradient.len(), expected.1.len());
        for (k, (found, expected)) in gradient.iter().zip(expected.1).enumerate() {
            assert_near(&format!("{what} {how}, coordinate {k}"), *found, *expected, tolerance);
        }
    }
}

/// $y_1' = -k y_1$, $y_2 = a y_1 + t$, solved from $y_1 = b$ for the times 0.5 and 3 by some call.
fn linear(call: &str) -> String {
    format!(
        "functions {{
           vector f(real t, vector y, vector yp, real k, real a) {{
             return [yp[1] + k * y[1], y[2] - a * y[1] - t]';
           }}
           vector g(real t, vector y, vector yp, tuple(real, real) p) {{
             return [p.2 * y[1] + t - y[2], 2 * yp[1] + 2 * p.1 * y[1] + y[2] - p.2 * y[1] - t]';
           }}
           vector rejects(real t, vector y, vector yp, real k, real a) {{
             if (y[1] < 1) {{ reject(\"too little\"); }}
             return [yp[1] + k * y[1], y[2] - a * y[1] - t]';
           }}
           vector short(real t, vector y, vector yp, real k) {{ return [yp[1] + k * y[1]]'; }}
         }}
         transformed data {{
           array[2] real ts = {{0.5, 3.0}};
         }}
         parameters {{ real k; real a; real b; }}
         model {{
           array[2] vector[2] y = {call};
           target += y[1, 1] + 3 * y[2, 1] + 2 * y[1, 2] - y[2, 2];
         }}"
    )
}

#[test]
fn linear_equations_have_the_closed_form() {
    let (k, a, b) = (0.7, 1.9, 2.5);
    let state = |t: f64| b * (-k * t).exp();
    let (first, last) = (1.0 + 2.0 * a, 3.0 - a);
    let value = first * state(0.5) + last * state(3.0) + 2.0 * 0.5 - 3.0;
    let slopes = [
        -0.5 * first * state(0.5) - 3.0 * last * state(3.0),
        2.0 * state(0.5) - state(3.0),
        (first * state(0.5) + last * state(3.0)) / b,
    ];
    for (call, tolerance) in [
        // Some hundred steps, each allowed the tolerance.
        ("dae(f, [b, a * b]', [-k * b, 1 - a * k * b]', 0, ts, k, a)", 1e-7),
        ("dae_tol(f, [b, a * b]', [-k * b, 0]', 0, ts, 1e-9, 1e-9, 10000, k, a)", 1e-6),
        ("dae_tol(g, [b, a * b]', [-k * b, 0]', 0, ts, 1e-10, 1e-10, 10000, (k, a))", 1e-7),
    ] {
        assert_all(call, &both(&linear(call), &[k, a, b]), (value, &slopes), tolerance);
    }
    // What does not depend on parameters is solved once.
    let known = linear("dae(f, [2.5, 4.75]', [-1.75, 0]', 0, ts, 0.7, 1.9)");
    assert_all("known", &both(&known, &[k, a, b]), (value, &[0.0; 3]), 1e-7);
}

#[test]
fn what_has_no_solution_has_no_density() {
    for call in [
        "dae(rejects, [b, a * b]', [-k * b, 0]', 0, ts, k, a)",
        "dae_tol(f, [b, a * b]', [-k * b, 0]', 0, ts, 1e-9, 1e-9, 2, k, a)",
        // A start that does not fulfil the second equation.
        "dae(f, [b, a * b + 0.1]', [-k * b, 0]', 0, ts, k, a)",
        "dae(f, [b, a * b]', [-k * b, not_a_number()]', 0, ts, k, a)",
    ] {
        let (found, _) = density(&linear(call), &[0.7, 1.9, 2.5]);
        assert!(found.is_nan(), "{call}: {found}");
    }
}

#[test]
fn mistakes_are_told() {
    let refused = |call: &str| try_lowered(&linear(call)).map(|_| ()).unwrap_err();
    for (call, message) in [
        (
            "dae(f, [b, b]', [k, 0]', 0.5, ts, k, a)",
            "`dae`: the initial time is 0.5, but must be less than 0.5",
        ),
        (
            "dae(f, [b, b]', [k, 0]', 0, {1.0, 0.5}, k, a)",
            "`dae`: output times must ascend, but 0.5 follows 1",
        ),
        (
            "dae(f, [b, b]', [k]', 0, ts, k, a)",
            "`dae`: the initial state has 2 elements, but its derivative has 1",
        ),
        (
            "dae_tol(f, [b, b]', [k, 0]', 0, ts, 0.0, 1e-6, 100, k, a)",
            "`dae_tol`: the relative tolerance is 0, but must be positive and finite",
        ),
        ("dae(short, [b, b]', [k, 0]', 0, ts, k)", "`short` returned 1 values for 2 equations"),
    ] {
        assert_eq!(refused(call), message);
    }
}

/// Equations without a derivative in them.
#[test]
fn equations_without_derivatives_are_solved_at_every_time() {
    let text = "functions {
        vector f(real t, vector y, vector yp, real k) { return [y[1]^2 - k - t]'; }
      }
      parameters { real<lower=0> k; }
      model {
        array[2] vector[1] y = dae(f, [sqrt(k)]', [0.5 / sqrt(k)]', 0, {0.5, 14.0}, k);
        target += y[1, 1] + 2 * y[2, 1] - log(k);
      }";
    let k = 2.0f64;
    let root_at = |t: f64| (k + t).sqrt();
    let value = root_at(0.5) + 2.0 * root_at(14.0);
    let slope = k * (0.5 / root_at(0.5) + 1.0 / root_at(14.0));
    assert_all("roots", &both(text, &[k.ln()]), (value, &[slope]), 1e-7);
}

/// The chemical kinetics of Stan's own guide, with the derivatives by the logarithms of its rates.
#[test]
fn chemical_kinetics_are_those_of_scipy() {
    let mut seen = 0;
    for line in include_str!("../../../exmc-math/tests/data/dae.csv").lines() {
        let Some(rest) = line.strip_prefix("robertson,") else { continue };
        let (time, numbers) = rest.split_once(',').unwrap();
        let numbers: Vec<f64> = numbers.split(';').map(|x| x.parse().unwrap()).collect();
        let text = format!(
            "functions {{
               vector chem(real t, vector yy, vector yp, vector log_rates) {{
                 vector[3] rates = exp(log_rates);
                 return [yp[1] + rates[1] * yy[1] - rates[2] * yy[2] * yy[3],
                         yp[2] - rates[1] * yy[1] + rates[2] * yy[2] * yy[3] + rates[3] * square(yy[2]),
                         sum(yy) - 1]';
               }}
             }}
             parameters {{ vector[3] r; }}
             model {{
               real a = exp(r[1]);
               vector[3] y = dae_tol(chem, [1, 0, 0]', [-a, a, 0]', 0, {{{time}}}, 1e-10, 1e-13, 100000, r)[1];
               target += y[1] + 1e4 * y[2] - 2 * y[3];
             }}"
        );
        let position = [0.04f64.ln(), 1e4f64.ln(), 3e7f64.ln()];
        let value = numbers[0] + 1e4 * numbers[1] - 2.0 * numbers[2];
        let slope = |k: usize| numbers[3 + k] + 1e4 * numbers[6 + k] - 2.0 * numbers[9 + k];
        // The tape repeats the walk of the residual at every step: the first time is enough of it.
        let found = density(&text, &position);
        let found =
            if seen == 0 { [found, on_tape(&text, &position)] } else { [found.clone(), found] };
        assert_all(rest, &found, (value, &[slope(0), slope(1), slope(2)]), 2e-6);
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn quantities_and_transformed_data_have_solutions() {
    let text = "functions {
        vector f(real t, vector y, vector yp, real k) { return [yp[1] + k * y[1], y[1] + y[2] - 1]'; }
        vector short(real t, vector y, vector yp, real k) { return [yp[1] + k * y[1]]'; }
        vector twice(real t, vector y, vector yp, real k) { return [yp[1] + k * y[1], 2 * (yp[1] + k * y[1])]'; }
      }
      transformed data { array[2] vector[2] y = dae(f, [1, 0]', [-0.7, 0.7]', 0.0, {0.5, 1.0}, 0.7); }
      generated quantities {
        real q = y[2, 1] - dae_tol(f, [1, 0]', [-0.7, 0.7]', 0.0, {1.0}, 1e-9, 1e-9, 1000, 0.7)[1, 2];
      }";
    let expected = 2.0 * (-0.7f64).exp() - 1.0;
    let run = |text: &str| {
        let program = program(text);
        let mut environment = Environment::new(&program);
        let mut host = Interpreter::new(&program, Settings::default());
        host.transform_data(&mut environment).map_err(|error| error.message.to_string())?;
        let generated = host.generate_in_place(&mut environment, 0, 0);
        assert!(matches!(generated, Ok(None)), "{generated:?}");
        let is_q =
            |(id, _): &(exmc_stan::typed::VariableId, &_)| &*program.variable(*id).name == "q";
        Ok::<f64, String>(environment.known().find(is_q).unwrap().1.as_real().unwrap())
    };
    assert_near("q", run(text).unwrap(), expected, 1e-8);
    for (from, to, words) in [
        ("dae(f, [1, 0]'", "dae(f, [1, 0.5]'", "its start does not fulfil the equations"),
        ("dae(f, [1, 0]'", "dae(twice, [1, 0]'", "these do not determine it (index one is needed)"),
        ("dae(f, [1, 0]'", "dae(short, [1, 0]'", "its function gives 1 elements for 2 equations"),
        ("[-0.7, 0.7]', 0.0, {0.5", "[-0.7]', 0.0, {0.5", "but its derivative has 1"),
        ("{0.5, 1.0}", "{0.0, 1.0}", "must be less than 0"),
    ] {
        let error = run(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}
