//! Stan's solvers of initial value problems and of equations in the density: values and gradients
//! of programs against stanli's (`generate.py`), solutions against closed forms, and what is
//! refused.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod dae;

use exmc_graph::{Tensor, differentiate, evaluate};
use exmc_stan::check::check;
use exmc_stan::host::{Environment, Interpreter, Settings};
use exmc_stan::lower::{Options, StanLowered, lower};
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};
use exmc_stan::typed::Program;

fn program(text: &str) -> Program {
    let mut sources = Sources::single("test.stan", text);
    let (tree, mistakes) = parse(&mut sources, &mut NoIncludes);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    let (program, mistakes) = check(sources, &tree);
    program.unwrap_or_else(|| panic!("{mistakes:?}"))
}

/// Lowers a program without data.
fn try_lowered(text: &str) -> Result<StanLowered, String> {
    let program = program(text);
    let mut environment = Environment::new(&program);
    let done = Interpreter::new(&program, Settings::default()).transform_data(&mut environment);
    done.map_err(|mistake| mistake.message.to_string())?;
    lower(&program, &environment, Options::default()).map_err(|m| m[0].message.to_string())
}

/// Log density and gradient.
fn density(text: &str, position: &[f64]) -> (f64, Vec<f64>) {
    let lowered = try_lowered(text).unwrap().lowered;
    assert_eq!(position.len(), lowered.dim);
    let mut graph = lowered.graph;
    let inputs: Vec<_> = lowered.layout.iter().map(|entry| entry.input).collect();
    let mut outputs = differentiate(&mut graph, lowered.logp, &inputs).unwrap();
    outputs.push(lowered.logp);
    let lookup = |name: &str| {
        let entry = lowered.layout.iter().find(|e| e.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let mut values = evaluate(&graph, &outputs, &lookup).unwrap();
    let logp = values.pop().unwrap().as_scalar().unwrap();
    let mut gradient = vec![0.0; position.len()];
    for (entry, value) in lowered.layout.iter().zip(values) {
        gradient[entry.offset..entry.offset + value.values().len()].copy_from_slice(value.values());
    }
    (logp, gradient)
}

fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(error <= tolerance, "{what}: {found}, not {expected}");
}

#[test]
fn densities_and_gradients_are_those_of_stanli() {
    let programs = [
        ("predators", include_str!("predators.stan")),
        ("epidemic", include_str!("epidemic.stan")),
        ("pools", include_str!("pools.stan")),
        ("absorption", include_str!("absorption.stan")),
        ("equilibrium", include_str!("equilibrium.stan")),
    ];
    let mut seen = 0;
    for line in include_str!("golden.csv").lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, position, logp, gradient] = *fields else { panic!("four fields: {line}") };
        let numbers = |text: &str| -> Vec<f64> {
            text.split(';').map(|number| number.parse().unwrap()).collect()
        };
        let (_, text) = programs.iter().find(|(known, _)| *known == name).unwrap();
        let (found, slopes) = density(text, &numbers(position));
        // Both solve to 1e-11; errors of some hundred steps, divided by scales of a tenth, stay
        // below this.
        assert_near(name, found, numbers(logp)[0], 1e-8);
        for (k, (found, expected)) in slopes.iter().zip(numbers(gradient)).enumerate() {
            assert_near(&format!("{name}, coordinate {k}"), *found, expected, 1e-7);
        }
        seen += 1;
    }
    assert_eq!(seen, 10);
}

/// A program that solves `dy = -k y` from 2 at 0 for the times 0.5 and 3 by some call.
fn decay(call: &str) -> String {
    format!(
        "functions {{
           vector f(real t, vector y, real k) {{ return -k * y; }}
           array[] real g(real t, array[] real y, array[] real theta, array[] real x_r, array[] int x_i) {{
             return {{-theta[1] * y[1]}};
           }}
           vector h(real t, vector y, tuple(int, real) k) {{ return -k.1 * k.2 * y; }}
           vector rejects(real t, vector y, real k) {{
             if (y[1] < 1) {{ reject(\"too little\"); }}
             return -k * y;
           }}
           vector both(real t, vector y, real k) {{ return [y[1], k]'; }}
         }}
         transformed data {{
           vector[1] y0 = [2.0]';
           array[2] real ts = {{0.5, 3.0}};
           real known = 0.7;
         }}
         parameters {{ real k; }}
         model {{
           array[2] vector[1] y = {call};
           target += y[1, 1] + 3 * y[2, 1];
         }}"
    )
}

#[test]
fn every_solver_has_the_closed_form() {
    let legacy = |name: &str, controls: &str| {
        let solved = format!("{name}(g, {{2.0}}, 0, ts, {{k}}, {{0.0}}, {{1}}{controls})");
        let vectors = "{[s[1, 1]]', [s[2, 1]]'}";
        (solved, vectors)
    };
    let mut calls: Vec<(String, f64)> = Vec::new();
    for method in ["rk45", "ckrk", "bdf", "adams"] {
        calls.push((format!("ode_{method}(f, y0, 0.0, ts, k)"), 1e-5));
        calls.push((format!("ode_{method}_tol(f, y0, 0.0, ts, 1e-10, 1e-10, 100000, k)"), 1e-8));
        calls
            .push((format!("ode_{method}_tol(h, y0, 0.0, ts, 1e-9, 1e-10, 100000, (1, k))"), 1e-7));
    }
    calls.push((
        "ode_adjoint_tol_ctl(f, y0, 0.0, ts, 1e-9, [1e-9]', 1e-9, [1e-9]', 1e-9, 1e-9, 10000, 100, 1, 2, 2, k)"
            .to_owned(),
        1e-7,
    ));
    let (k, times) = (0.7, [0.5, 3.0]);
    let solution_at = |t: f64| 2.0 * (-k * t).exp();
    let expected = solution_at(times[0]) + 3.0 * solution_at(times[1]);
    let slope = -times[0] * solution_at(times[0]) - 9.0 * solution_at(times[1]);
    for (call, tolerance) in calls {
        let (found, gradient) = density(&decay(&call), &[k]);
        assert_near(&call, found, expected, tolerance);
        assert_near(&call, gradient[0], slope, tolerance);
        // Where it depends on data only, 0 for the parameter.
        let known = call.replace(", k)", ", known)").replace("(1, k)", "(1, known)");
        let (found, gradient) = density(&decay(&known), &[k]);
        assert_near(&known, found, expected, tolerance);
        assert_eq!(gradient, [0.0]);
    }
    for method in ["rk45", "bdf", "adams"] {
        for controls in ["", ", 1e-10, 1e-10, 100000"] {
            let (solved, vectors) = legacy(&format!("integrate_ode_{method}"), controls);
            let text = decay(vectors).replace(
                "array[2] vector[1] y",
                &format!("array[2, 1] real s = {solved}; array[2] vector[1] y"),
            );
            let (found, gradient) = density(&text, &[k]);
            assert_near(&solved, found, expected, 1e-5);
            assert_near(&solved, gradient[0], slope, 1e-5);
        }
    }
}

#[test]
fn a_solution_for_each_iteration_of_a_loop() {
    let text = decay("ode_rk45(f, y0, 0.0, ts, k)").replace(
        "array[2] vector[1] y = ode_rk45(f, y0, 0.0, ts, k);",
        "array[2] vector[1] y;
         array[3] real end;
         for (i in 1:3) {
           array[1] vector[1] s = ode_rk45_tol(f, [i * 1.0]', 0, {i * 0.5}, 1e-10, 1e-10, 100000, k / i);
           end[i] = s[1, 1];
         }
         target += sum(end);
         y = rep_array([0.0]', 2);",
    );
    let (found, gradient) = density(&text, &[0.7]);
    // Each decays by the same share: sum of i e^{-k/2}.
    assert_near("logp", found, 6.0 * (-0.35f64).exp(), 1e-9);
    assert_near("gradient", gradient[0], -3.0 * (-0.35f64).exp(), 1e-9);
}

#[test]
fn what_has_no_solution_has_no_density() {
    // The right-hand side rejects on the way, but not at the start.
    let (found, _) = density(&decay("ode_rk45(rejects, y0, 0.0, ts, k)"), &[0.7]);
    assert!(found.is_nan(), "{found}");
    let (found, _) = density(&decay("ode_rk45_tol(f, y0, 0.0, ts, 1e-9, 1e-9, 3, k)"), &[0.7]);
    assert!(found.is_nan(), "{found}");
}

#[test]
fn mistakes_are_told() {
    let refused = |call: &str| try_lowered(&decay(call)).map(|_| ()).unwrap_err();
    let message = refused("ode_rk45(f, y0, 0.5, ts, k)");
    assert_eq!(message, "`ode_rk45`: the initial time is 0.5, but must be less than 0.5");
    let message = refused("ode_bdf(f, y0, 0.0, {1.0, 0.5}, k)");
    assert_eq!(message, "`ode_bdf`: output times must ascend, but 0.5 follows 1");
    let message = refused("ode_rk45_tol(f, y0, 0.0, ts, -1.0, 1e-6, 100, k)");
    assert!(message.ends_with("the relative tolerance is -1, but must be positive and finite"));
    let message = refused("ode_rk45(both, y0, 0.0, ts, k)");
    assert_eq!(message, "`both` returned 2 values for 1 states");
    let message = refused("ode_rk45(both, y0, 0.0, ts, known)");
    assert_eq!(message, "`both` returned 2 values for 1 states");
}

/// `x^2 + x_0 = k` and its like where nothing, or not all, can be solved.
fn square(call: &str) -> String {
    format!(
        "functions {{
           vector f(vector x, real k) {{ return x^2 - k; }}
           vector two(vector x, real k) {{ return [x[1], k]'; }}
         }}
         transformed data {{ real known = 2; }}
         parameters {{ real k; }}
         model {{ vector[1] x = {call}; target += x[1] + k; }}"
    )
}

#[test]
fn a_root_is_known_where_its_equations_are_and_not_a_number_where_there_is_none() {
    let (found, gradient) = density(&square("solve_newton(f, [1.0]', known)"), &[0.5]);
    assert_near("of data", found, 2f64.sqrt() + 0.5, 1e-15);
    assert_eq!(gradient, [1.0]);
    let text = square("solve_powell(f, [1.0]', k)");
    let (found, gradient) = density(&text, &[0.5]);
    assert_near("of a parameter", found, 0.5f64.sqrt() + 0.5, 1e-15);
    assert_near("its derivative", gradient[0], 0.5 / 0.5f64.sqrt() + 1.0, 1e-14);
    assert!(density(&text, &[-0.5]).0.is_nan());
    for (call, message) in [
        (
            "solve_newton(f, [1.0]', -known)",
            "`solve_newton` has no solution for these data: no root is found",
        ),
        (
            "solve_newton_tol(f, [1.0]', 1e-3, -1.0, 10, k)",
            "`solve_newton_tol`: the function tolerance is -1, but must be positive and finite",
        ),
        ("solve_newton(two, [1.0]', k)", "`two` returned 2 values for 1 unknowns"),
    ] {
        assert_eq!(try_lowered(&square(call)).unwrap_err(), message);
    }
}
