//! Branches on data and on parameters, functions of the program's own, early ends.

use exmc_stan::value::Value;

use super::harness::{assert_logp, normal};

#[test]
fn branches_on_data_part_the_iterations() {
    let text = "data { int N; array[N] int c; vector[N] y; }
        parameters { real a; real b; }
        model {
          vector[N] m;
          for (n in 1:N) {
            real s;
            if (c[n] == 1) { m[n] = a; s = 1; }
            else if (c[n] == 2) { m[n] = a * b; s = 2; }
            else { if (n > 1 && c[n - 1] == 3) continue; m[n] = b; s = 3; target += b; }
            y[n] ~ normal(m[n], s);
          }
        }";
    let (c, y) = ([3, 1, 2, 3, 3, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    let data =
        [("N", Value::Int(6)), ("c", Value::ints(c.to_vec())), ("y", Value::reals(y.to_vec()))];
    let (a, b) = (0.7, -1.3);
    let mut expected = 0.0;
    for n in 0..6 {
        let (m, s) = match c[n] {
            1 => (a, 1.0),
            2 => (a * b, 2.0),
            _ if n > 0 && c[n - 1] == 3 => continue,
            _ => {
                expected += b;
                (b, 3.0)
            }
        };
        // `s` is a variable of the model, so that its logarithm stays.
        expected += -0.5 * ((y[n] - m) / s).powi(2) - f64::ln(s);
    }
    assert_logp(text, &data, &[a, b], expected);
}

#[test]
fn branches_on_parameters_choose() {
    let text = "parameters { real x; real y; }
        model {
          real z = 1;
          if (x > 0) { z = log(x); target += y; } else if (y > 0) z = -x; 
          target += z + (x > y ? x : 2 * y);
        }";
    for (x, y) in [(0.5, 1.0), (-0.5, 1.0), (-0.5, -1.0), (2.0, 1.0)] {
        let mut expected = 0.0;
        let mut z = 1.0;
        if x > 0.0 {
            z = f64::ln(x);
            expected += y;
        } else if y > 0.0 {
            z = -x;
        }
        expected += z + if x > y { x } else { 2.0 * y };
        assert_logp(text, &[], &[x, y], expected);
    }
}

#[test]
fn functions_return_early_in_some_iterations() {
    let text = "functions {
          real f(real x, int n) { if (n == 2) return x; real y = x * x; for (k in 1:n) y += k * x; return y; }
          real g(real x) { if (x < 0) return -x; return x * x; }
          int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
          real h_lpdf(real y, real m) { return normal_lupdf(y | m, 2); }
          void add_lp(real x) { target += 3 * x; x ~ normal(0, 1); }
        }
        data { int N; }
        parameters { vector[N] a; }
        model {
          for (n in 1:N) target += f(a[n], n) + g(a[n]) * fib(n + 4);
          a[1] ~ h(a[2]);
          target += h_lpdf(a[1] | a[2]);
          add_lp(a[3]);
        }";
    let a = [0.4, -0.3, 1.5];
    let fib = [5.0, 8.0, 13.0];
    let mut expected = 0.0;
    for n in 1..=3 {
        let x: f64 = a[n - 1];
        let sum = (n * (n + 1) / 2) as f64;
        expected += if n == 2 { x } else { x * x + sum * x };
        expected += if x < 0.0 { -x } else { x * x } * fib[n - 1];
    }
    let plain = -0.5 * ((a[0] - a[1]) / 2.0).powi(2);
    let constant = 2.0_f64.ln() + 0.5 * (2.0 * std::f64::consts::PI).ln();
    expected += plain + (plain - constant) + 3.0 * a[2] + normal(a[2], 0.0, 1.0);
    assert_logp(text, &[("N", Value::Int(3))], &a, expected);
}

#[test]
fn a_loop_ends_where_its_data_say() {
    let text = "data { int N; array[N] int stop; }
        parameters { vector[N] a; }
        model {
          real total = 0;
          int n = 1;
          for (k in 1:N) { if (stop[k]) break; total += a[k] * a[k]; }
          while (n < N) { total = total * 0.5 + a[n]; n += 2; }
          target += total;
        }";
    let data = [("N", Value::Int(4)), ("stop", Value::ints(vec![0, 0, 1, 0]))];
    let a = [0.5, -1.5, 2.0, 3.0];
    let total = a[0] * a[0] + a[1] * a[1];
    let expected = (total * 0.5 + a[0]) * 0.5 + a[2];
    assert_logp(text, &data, &a, expected);
}

#[test]
fn a_reject_under_a_condition_on_parameters_makes_the_density_zero() {
    let text =
        "parameters { real x; } model { if (x > 1) reject(\"too large: \", x); x ~ normal(0, 1); }";
    assert_logp(text, &[], &[0.5], -0.125);
    assert_logp(text, &[], &[1.5], f64::NEG_INFINITY);
}

#[test]
fn arguments_outside_of_a_densitys_domain_make_it_zero() {
    let text = "parameters { real x; real s; } model { x ~ normal(0, s); }";
    assert_logp(text, &[], &[0.5, 2.0], normal(0.5, 0.0, 2.0));
    assert_logp(text, &[], &[0.5, -2.0], f64::NEG_INFINITY);
    let function = "parameters { real x; real s; } model { target += normal_lpdf(x | 0, s); }";
    assert_logp(function, &[], &[0.5, -2.0], f64::NEG_INFINITY);
}

#[test]
fn transformed_parameters_must_satisfy_what_they_declare() {
    let text = "parameters { real x; } transformed parameters { real<lower=0> y = x + 1; } model { target += y; }";
    assert_logp(text, &[], &[0.5], 1.5);
    assert_logp(text, &[], &[-1.5], f64::NEG_INFINITY);
}

#[test]
fn parts_by_functions_are_read_like_parts_by_index() {
    let text = "data { int T; }
        parameters { matrix[2, 2] a; }
        model {
          matrix[T, 2] x = rep_matrix(0, T, 2);
          for (m in 1:2) {
            x[1, m] = a[1, m];
            for (t in 2:T) x[t, m] = a[2, m] * sum(sub_col(x, 1, m, t - 1)) + sum(head(col(x, m), 1));
          }
          target += x[T, 1] + 3 * x[T, 2] + sum(tail(row(x, 2), 1));
        }";
    let a = [0.5, -0.7, 0.3, 1.1];
    let mut x = [[a[0], a[1]], [0.0; 2], [0.0; 2], [0.0; 2]];
    for m in 0..2 {
        for t in 1..4 {
            let before: f64 = (0..t).map(|s| x[s][m]).sum();
            x[t][m] = a[2 + m] * before + x[0][m];
        }
    }
    let expected = x[3][0] + 3.0 * x[3][1] + x[1][1];
    assert_logp(text, &[("T", Value::Int(4))], &a, expected);
}

#[test]
fn what_data_decide_is_computed_by_the_host() {
    let text = "functions {
          array[] int order_of(vector v) { array[size(v)] int o = sort_indices_asc(v); return o; }
        }
        data { int N; vector[N] y; }
        parameters { vector[N] a; }
        model {
          array[N] int o = order_of(y);
          for (n in 1:N) target += a[o[n]] * n * rank(y, n) + a[sort_asc(o)[n]] ^ 2;
        }";
    let y = [0.3, -1.0, 2.0];
    let a = [0.7, -0.4, 1.9];
    let data = [("N", Value::Int(3)), ("y", Value::reals(y.to_vec()))];
    // In order: the second, the first, the third; ranks (numbers of smaller elements) 1, 0, 2.
    let expected = a[1] * 1.0 * 1.0 + 0.0 + a[2] * 3.0 * 2.0;
    let squares: f64 = a.iter().map(|a| a * a).sum();
    assert_logp(text, &data, &a, expected + squares);
}
