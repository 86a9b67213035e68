//! Constrained parameters, their Jacobians, their order, and the way back.

use exmc_graph::{Shape, Tensor, evaluate};
use exmc_stan::value::Value;

use super::harness::{assert_gradient, assert_logp, logp, lowered, try_lowered_with};

#[test]
fn bounds_that_depend_on_other_parameters() {
    let text = "data { vector[2] low; }
        parameters {
          real<lower=0> s; real<lower=s, upper=2 * s> b; vector<lower=low>[2] v;
          real<offset=s, multiplier=3> z; array[2] real<upper=-s> u;
        }
        model { target += s + b + v[1] + v[2] + z + u[1] * u[2]; }";
    let position = [0.1, -0.4, 0.3, 0.2, 0.7, -0.1, 0.6_f64];
    let s = position[0].exp();
    let fraction = 1.0 / (1.0 + (-position[1]).exp());
    let b = s + s * fraction;
    let v = [1.0 + position[2].exp(), -2.0 + position[3].exp()];
    let z = s + 3.0 * position[4];
    let u = [-s - position[5].exp(), -s - position[6].exp()];
    let jacobian = position[0]
        + s.ln()
        + (fraction * (1.0 - fraction)).ln()
        + position[2]
        + position[3]
        + 3.0_f64.ln()
        + position[5]
        + position[6];
    let expected = s + b + v[0] + v[1] + z + u[0] * u[1] + jacobian;
    assert_logp(text, &[("low", Value::reals(vec![1.0, -2.0]))], &position, expected);
}

#[test]
fn initial_values_come_back_as_positions() {
    let text = "data { int K; }
        parameters {
          real<lower=0> s; ordered[3] o; array[2] simplex[K] p; array[2] cholesky_factor_corr[K] L;
          real<lower=-s, upper=s> b; matrix[2, 3] m; vector<offset=1, multiplier=s>[2] w;
        }
        model { }";
    let lowered = lowered(text, &[("K", Value::Int(3))]);
    let l = &lowered.lowered;
    let position: Vec<f64> = (0..l.dim).map(|k| 0.1 * (k % 7) as f64 - 0.25).collect();
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let nodes: Vec<_> = l.trace.iter().map(|t| t.node).collect();
    let values = evaluate(&l.graph, &nodes, &inputs).unwrap();
    let by_name = |name: &str| {
        let k = l.trace.iter().position(|t| t.name == name)?;
        Some(values[k].clone())
    };
    let back = evaluate(&l.inverse.graph, &l.inverse.outputs, &by_name).unwrap();
    let back: Vec<f64> = back.iter().flat_map(|t| t.values().to_vec()).collect();
    assert_eq!(back.len(), position.len());
    for (found, expected) in back.iter().zip(&position) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
    let shapes: Vec<_> = l.layout.iter().map(|e| e.unconstrained.clone()).collect();
    assert_eq!(shapes[2], Shape::from([2, 2]));
    assert_eq!(shapes[3], Shape::from([2, 3]));
}

#[test]
fn stans_vector_has_matrices_column_by_column() {
    let text = "parameters { real a; array[2] matrix[2, 3] m; vector[2] v; } model { }";
    let expected: Vec<usize> = vec![0, 1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12, 13, 14];
    assert_eq!(lowered(text, &[]).stan_order, expected);
}

#[test]
fn what_is_recorded_stands_in_declaration_order() {
    let text = "parameters { real b; vector[2] a; } transformed parameters { matrix[2, 2] c = a * a'; real d = 2; } model { }";
    let lowered = lowered(text, &[]);
    let names: Vec<_> = lowered
        .lowered
        .trace
        .iter()
        .map(|t| (t.name.as_str(), t.shape.extents().to_vec()))
        .collect();
    assert_eq!(names, [("b", vec![]), ("a", vec![2]), ("c", vec![2, 2]), ("d", vec![])]);
}

#[test]
fn matrices_with_structure_come_back_too() {
    let text = "parameters {
          corr_matrix[3] c; cov_matrix[2] v; array[2] cov_matrix[2] w; cholesky_factor_cov[3, 2] f;
          sum_to_zero_vector[3] z; row_stochastic_matrix[2, 3] r; column_stochastic_matrix[3, 2] q;
        }
        model { target += c[2, 1] + v[1, 2] + w[2, 1, 1] + f[3, 1]; }";
    let lowered = lowered(text, &[]);
    let l = &lowered.lowered;
    let position: Vec<f64> = (0..l.dim).map(|k| 0.1 * (k % 5) as f64 - 0.2).collect();
    let inputs = |name: &str| {
        let entry = l.layout.iter().find(|e| e.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let nodes: Vec<_> = l.trace.iter().map(|t| t.node).collect();
    let values = evaluate(&l.graph, &nodes, &inputs).unwrap();
    let by_name = |name: &str| {
        let k = l.trace.iter().position(|t| t.name == name)?;
        Some(values[k].clone())
    };
    let diagonal: Vec<f64> = (0..3).map(|k| values[0].values()[k * 4]).collect();
    assert!(diagonal.iter().all(|d| (d - 1.0).abs() < 1e-12), "{diagonal:?}");
    let back = evaluate(&l.inverse.graph, &l.inverse.outputs, &by_name).unwrap();
    let back: Vec<f64> = back.iter().flat_map(|t| t.values().to_vec()).collect();
    assert_eq!(back.len(), position.len());
    for (found, expected) in back.iter().zip(&position) {
        assert!((found - expected).abs() < 1e-10, "{found} {expected}");
    }
}

/// A transformed parameter's Cholesky factor may have more rows than columns; its diagonal must be
/// positive.
#[test]
fn rectangular_cholesky_factors_are_checked() {
    let model = lowered(
        "parameters { real a; }
         transformed parameters {
           cholesky_factor_cov[3, 2] f = [[a, 0], [-1, 2], [3, 4]];
         }
         model { a ~ normal(0, 1); }",
        &[],
    );
    assert_eq!(logp(&model, &[0.5]), -0.125);
    assert_eq!(logp(&model, &[-0.5]), f64::NEG_INFINITY);
    assert_eq!(logp(&model, &[0.0]), f64::NEG_INFINITY);
}

/// Values and log Jacobians by stanli (`golden_changes.py`).
#[test]
fn changes_of_variables_add_their_log_jacobians() {
    let text = "functions { real twice_jacobian(real x) { jacobian += x; return 2 * x; } }
        parameters { vector[3] u; real y; array[2] vector[3] w; }
        transformed parameters {
          vector[4] x = simplex_jacobian(u);
          real s = lower_bound_jacobian(y, 1.5);
          real d = twice_jacobian(0.75);
          array[2] vector[4] z;
          for (i in 1:2) z[i] = simplex_jacobian(w[i]);
        }
        model { target += x[2] + s + d + i_of(z); }";
    let text = text.replace("i_of(z)", "z[1, 2] - z[2, 2]");
    let u = [0.3, -0.8, 1.4];
    let position = [&u[..], &[0.3], &u, &u].concat();
    let value = 0.162_279_279_739_944_83 + 2.849_858_807_576_003 + 1.5;
    let jacobians = 3.0 * -6.042_256_822_391_552 + 0.3 + 0.75;
    assert_logp(&text, &[], &position, value + jacobians);
    assert_gradient(&text, &[], &position, 1e-7);
    let mut options = exmc_stan::lower::Options::default();
    options.jacobian = false;
    let lowered = try_lowered_with(&text, &[], options).unwrap();
    let found = logp(&lowered, &position);
    assert!((found - value).abs() < 1e-12, "{found}, exactly {value}");
}

/// Stan reads the free elements of such matrices as matrices, column by column.
#[test]
fn matrices_of_sums_and_simplexes_have_stans_order() {
    let text = "parameters {
          sum_to_zero_matrix[3, 4] z; column_stochastic_matrix[3, 2] c; row_stochastic_matrix[2, 3] r;
        }
        model { }";
    let expected_order = [0, 3, 1, 4, 2, 5, 6, 8, 7, 9, 10, 12, 11, 13];
    assert_eq!(lowered(text, &[]).stan_order, expected_order);
}

/// The iterations of a recurrence add each their own, although the expression is the same in all.
#[test]
fn changes_of_variables_in_recurrences_add_as_often_as_they_run() {
    let text = "parameters { real y; }
        transformed parameters {
          real s = 0;
          for (i in 1:20) s = sin(s) + lower_bound_jacobian(y, 1.5);
        }
        model { target += s; }";
    for y in [0.3_f64, -1.0] {
        let s = (0..20).fold(0.0_f64, |s, _| s.sin() + 1.5 + y.exp());
        assert_logp(text, &[], &[y], s + 20.0 * y);
        assert_gradient(text, &[], &[y], 1e-7);
    }
}
