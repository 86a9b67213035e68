//! Elements chosen by parameters, and integrals of the user's functions.

use super::harness::{assert_gradient, assert_logp, assert_refused};

#[test]
fn an_index_may_depend_on_parameters() {
    let text = "parameters { real t; vector[3] m; matrix[2, 3] a; }
        model {
          int k = t > 0 ? 3 : 1;
          int j = 1;
          if (t > 1) j = 2;
          target += m[k] * m[1] + a[j, k] + sum(a[, k]) + sum(a[j]) * a[1, {k, 2}][1];
          for (i in 1:2) target += i * m[k];
        }";
    let (m, a) = ([0.5, -1.5, 2.0], [[1.0, 2.0, 3.0], [-1.0, 0.25, 4.0]]);
    for t in [-0.5, 0.5, 1.5] {
        let k = if t > 0.0 { 2 } else { 0 };
        let j = usize::from(t > 1.0);
        let row: f64 = a[j].iter().sum();
        let expected = m[k] * m[0] + a[j][k] + a[0][k] + a[1][k] + row * a[0][k] + 3.0 * m[k];
        let position = [&[t][..], &m, &a[0], &a[1]].concat();
        assert_logp(text, &[], &position, expected);
        assert_gradient(text, &[], &position, 1e-8);
    }
}

#[test]
fn an_index_out_of_range_has_no_density() {
    let text = "parameters { real t; vector[2] m; }
        model { int k = t > 0 ? 3 : 1; target += m[k]; }";
    assert_logp(text, &[], &[-1.0, 0.5, 2.0], 0.5);
    assert_logp(text, &[], &[1.0, 0.5, 2.0], f64::NEG_INFINITY);
}

#[test]
fn sorted_places_lead_to_sorted_elements() {
    let text = "parameters { vector[4] x; vector[4] w; }
        model {
          array[4] int up = sort_indices_asc(x);
          target += dot_product(x[up], w) + 2 * w[sort_indices_desc(x)[1]] + w[up[2]];
        }";
    let (x, w) = ([0.3, -1.0, 2.0, 0.1], [1.0, 10.0, 100.0, 1000.0]);
    // Ascending: -1, 0.1, 0.3, 2; the largest is the third, the second smallest the fourth.
    let expected = -1.0 + 1.0 + 30.0 + 2000.0 + 200.0 + 1000.0;
    let position = [x, w].concat();
    assert_logp(text, &[], &position, expected);
    assert_gradient(text, &[], &position, 1e-8);
}

#[test]
fn an_element_that_parameters_choose_is_assigned() {
    let text = "parameters { real t; vector[3] m; matrix[2, 3] a; }
        model {
          int k = t > 0 ? 3 : 1;
          vector[3] x = m;
          matrix[2, 3] b = a;
          array[2] vector[3] c = {m, m};
          x[k] = t * m[2];
          x[k] += 1;
          b[, k] = [t, 2 * t]';
          b[k == 3 ? 2 : 1, 2] = m[1];
          c[1][k] -= t;
          target += dot_product(x, [1, 2, 3]') + sum(b .* [[1, 2, 3], [4, 5, 6]]) + 7 * c[1][k] + c[2][k];
        }";
    let (m, a) = ([0.5, -1.5, 2.0], [[1.0, 2.0, 3.0], [-1.0, 0.25, 4.0]]);
    for t in [-0.5, 0.5] {
        let k = if t > 0.0 { 2 } else { 0 };
        let (mut x, mut b) = (m, a);
        x[k] = t * m[1] + 1.0;
        (b[0][k], b[1][k]) = (t, 2.0 * t);
        b[usize::from(k == 2)][1] = m[0];
        let weighted = |row: &[f64], first: f64| -> f64 {
            row.iter().enumerate().map(|(j, v)| v * (first + j as f64)).sum()
        };
        let expected = weighted(&x, 1.0)
            + weighted(&b[0], 1.0)
            + weighted(&b[1], 4.0)
            + 7.0 * (m[k] - t)
            + m[k];
        let position = [&[t][..], &m, &a[0], &a[1]].concat();
        assert_logp(text, &[], &position, expected);
        assert_gradient(text, &[], &position, 1e-8);
    }
    // Out of range there is no density.
    let text = "parameters { real t; }
        model { vector[2] m = [1, 2]'; m[t > 0 ? 1 : 3] = t; target += sum(m); }";
    assert_logp(text, &[], &[0.5], 2.5);
    assert_logp(text, &[], &[-0.5], f64::NEG_INFINITY);
}

#[test]
fn elements_that_parameters_choose_are_assigned_in_loops() {
    // A histogram: how many elements lie below zero, between, above one; and the last of each.
    let text = "parameters { vector[5] u; }
        model {
          vector[3] count = rep_vector(0, 3);
          vector[3] last = rep_vector(0.5, 3);
          for (i in 1:5) {
            int k = u[i] < 0 ? 1 : u[i] < 1 ? 2 : 3;
            count[k] += i;
            if (i != 3) last[k] = u[i];
          }
          target += dot_product(count, [1, 10, 100]') + dot_product(last, [1, -2, 3]');
        }";
    let u = [-0.3, 0.2, 1.5, 0.7, -2.0];
    let expected = (1.0 + 5.0) + 10.0 * (2.0 + 4.0) + 100.0 * 3.0 - 2.0 - 1.4 + 1.5;
    assert_logp(text, &[], &u, expected);
    assert_gradient(text, &[], &u, 1e-8);
}

#[test]
fn what_cannot_be_chosen_is_refused_with_its_place() {
    let text = "parameters { real t; }
        model {
          vector[2] m = [1, 2]';\n m[{t > 0 ? 1 : 2}] = [3]'; target += m[1]; }";
    assert_refused(text, &[], 4, "an index that depends on parameters");
}

const INTEGRANDS: &str = "functions {
      real decay(real x, real xc, array[] real theta, array[] real x_r, array[] int x_i) {
        return exp(-theta[1] * x);
      }
      real bell(real x, real xc, array[] real theta, array[] real x_r, array[] int x_i) {
        return exp(-theta[1] * x ^ 2) * x_r[1];
      }
      real edge(real x, real xc, array[] real theta, array[] real x_r, array[] int x_i) {
        return 1 / sqrt(theta[1] * (xc > 0 ? xc : 1 + xc));
      }
    }
    data { array[1] real two; array[0] int none; }";

#[test]
fn integrals_have_their_closed_forms() {
    use exmc_stan::value::{Numbers, Value};
    let text = format!(
        "{INTEGRANDS}
        parameters {{ real<lower=0> r; real b; }}
        model {{
          target += integrate_1d(decay, 0, 1, {{r}}, two, none);
          target += integrate_1d(decay, -1, b, {{r}}, two, none);
          target += integrate_1d(decay, b, positive_infinity(), {{r}}, two, none, 1e-9);
          target += integrate_1d(bell, negative_infinity(), positive_infinity(), {{r}}, two, none);
          target += integrate_1d(bell, negative_infinity(), 0, {{r}}, two, none);
          for (i in 1:2) target += integrate_1d(decay, 0, i, {{r * i}}, two, none);
        }}"
    );
    let data =
        [("two", Value::reals(vec![2.0])), ("none", Value::Ints(Numbers::new([0], Vec::new())))];
    for (log_r, b) in [(0.3, 0.7), (-0.8, 2.5)] {
        let r = f64::exp(log_r);
        let decay = |a: f64, b: f64, r: f64| ((-r * a).exp() - (-r * b).exp()) / r;
        let mut expected = log_r + decay(0.0, 1.0, r) + decay(-1.0, b, r) + (-r * b).exp() / r;
        expected += 3.0 * (std::f64::consts::PI / r).sqrt();
        expected += decay(0.0, 1.0, r) + decay(0.0, 2.0, 2.0 * r);
        assert_logp(&text, &data, &[log_r, b], expected);
        assert_gradient(&text, &data, &[log_r, b], 1e-6);
    }
    // From 1 to 0 there is no integral, which rejects.
    let text = format!(
        "{INTEGRANDS} parameters {{ real b; }} model {{ target += integrate_1d(decay, 1, b, {{b}}, two, none); }}"
    );
    assert_logp(&text, &data, &[0.5], f64::NEG_INFINITY);
}

#[test]
fn the_distance_to_the_limit_keeps_an_integrable_edge() {
    use exmc_stan::value::{Numbers, Value};
    let text = format!(
        "{INTEGRANDS} parameters {{ real<lower=0> r; }}
        model {{ target += integrate_1d(edge, 0, 1, {{r}}, two, none); }}"
    );
    let data =
        [("two", Value::reals(vec![2.0])), ("none", Value::Ints(Numbers::new([0], Vec::new())))];
    let text: &str = &text;
    let lowered = super::harness::lowered(text, &data);
    let found = super::harness::logp(&lowered, &[0.0]);
    // Points nearer than 1e-17 are left out, where the integral has twice the root of that.
    assert!((found - 2.0).abs() < 1e-8, "{found}");
}
