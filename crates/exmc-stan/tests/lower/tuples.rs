//! Tuples of parameters: declared, assigned to in parts, handed to functions and returned from
//! branches.

use exmc_stan::value::{Numbers, Value};

use super::harness::{assert_logp, lowered, normal};

#[test]
fn parts_of_a_local_tuple_are_assigned_to() {
    let text = "functions { tuple(real, vector) f(vector x) { return (sum(x), 2 * x); } }
        parameters { vector[2] x; }
        model {
          real s;
          vector[2] y;
          (s, y) = f(x);
          tuple(real, vector[2]) t = f(x);
          t.2 = y + 1;
          t.1 += s;
          for (i in 1:2) t.2[i] *= i;
          if (x[1] > 0) t.1 = -t.1;
          t = (t.1 * 2, t.2);
          target += t.1 + t.2[1] * t.2[2];
        }";
    for x in [[0.5, 1.5], [-0.5, 0.25]] {
        let sum = 2.0 * (x[0] + x[1]) * if x[0] > 0.0 { -2.0 } else { 2.0 };
        let expected = sum + (2.0 * x[0] + 1.0) * 2.0 * (2.0 * x[1] + 1.0);
        assert_logp(text, &[], &x, expected);
    }
}

#[test]
fn a_tuple_may_be_a_parameter_with_constraints() {
    let text = "parameters { tuple(real, tuple(vector<lower=0>[2], real<lower=1>)) t; real a; }
        transformed parameters { tuple(real, vector[2]) u = (t.1 * a, t.2.1); }
        model { t.1 ~ normal(0, 1); t.2.1 ~ exponential(1); u.1 ~ normal(u.2, t.2.2); }";
    let (first, logs, log_above, a) = (0.3, [0.1_f64, -0.7], 0.4_f64, 1.7);
    let scale = 1.0 + log_above.exp();
    let mut expected = -0.5 * first * first + log_above;
    for log in logs {
        expected += -log.exp() + log + normal(first * a, log.exp(), scale);
    }
    let position = [&[first][..], &logs, &[log_above, a]].concat();
    assert_logp(text, &[], &position, expected);
    let lowered = lowered(text, &[]);
    let names: Vec<_> = lowered.lowered.trace.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["t:1", "t:2:1", "t:2:2", "a", "u:1", "u:2"]);
}

#[test]
fn functions_return_tuples_from_branches_and_loops() {
    let text = "functions {
          tuple(real, vector) f(real x, real y) {
            if (x > 0) return (x, [y, 1]');
            for (i in 1:2) if (y > i) return (y - i, [x, i]');
            return (x * y, [0, x]');
          }
        }
        parameters { real x; real y; }
        model {
          target += f(x, y).1;
          for (i in 1:3) { tuple(real, vector[2]) t = f(x * i, y); target += t.1 * t.2[1] + t.2[2]; }
        }";
    let f = |x: f64, y: f64| {
        if x > 0.0 {
            return (x, [y, 1.0]);
        }
        for i in [1.0, 2.0] {
            if y > i {
                return (y - i, [x, i]);
            }
        }
        (x * y, [0.0, x])
    };
    for (x, y) in [(0.4, 0.2), (-0.4, 1.5), (-0.4, -0.6)] {
        let mut expected = f(x, y).0;
        for i in [1.0, 2.0, 3.0] {
            let (a, b) = f(x * i, y);
            expected += a * b[0] + b[1];
        }
        assert_logp(text, &[], &[x, y], expected);
    }
}

#[test]
fn arrays_of_tuples_are_parameters_locals_arguments_and_loop_variables() {
    let text = "functions {
          real total(array[] tuple(real, vector) list) {
            real sum = 0;
            for (i in 1:2) sum += list[i].1 * list[i].2[2];
            for (item in list) sum += item.1;
            return sum;
          }
          array[] tuple(real, vector) twice(array[] tuple(real, vector) list) {
            return {list[1:1][1], (list[2].1 * 2, list[2].2)};
          }
        }
        data { array[2] tuple(real, int) d; }
        parameters { array[2] tuple(real<lower=0>, vector[2]) t; }
        transformed parameters { array[2, 1] tuple(real, real) u; for (i in 1:2) u[i, 1] = (t[i].1 * d[i].2, d[i].1); }
        model {
          array[2] tuple(real, vector[2]) s = t;
          s[2].2[1] = 7;
          s[1] = (t[2].1, t[1].2);
          if (t[1].2[1] > 0) s[2].1 += 1;
          target += total(s) + s[2].2[1] * s[1].2[1] + u[2, 1].1 + u[1, 1].2;
          target += total(twice(t));
        }";
    let data = {
        let row = |x: f64, k: i64| Value::Tuple(vec![Value::Real(x), Value::Int(k)]);
        [("d", Value::Tuples(Numbers::new([2], vec![row(0.5, 3), row(1.5, 4)])))]
    };
    for first in [0.25, -0.25] {
        // Slot by slot: both first slots (logarithms of them), then both vectors.
        let position = [0.1, -0.3, first, 1.5, -0.75, 2.0];
        let (a, b) = (0.1_f64.exp(), (-0.3_f64).exp());
        let second = if first > 0.0 { b + 1.0 } else { b };
        let mut expected = 0.1 - 0.3;
        expected += b * 1.5 + second * 2.0 + b + second + 7.0 * first + 4.0 * b + 0.5;
        expected += a * 1.5 + 2.0 * b * 2.0 + a + 2.0 * b;
        assert_logp(text, &data, &position, expected);
    }
    let lowered = lowered(text, &data);
    let names: Vec<_> = lowered.lowered.trace.iter().map(|e| e.name.as_str()).collect();
    let expected = ["t.1:1", "t.1:2", "t.2:1", "t.2:2", "u.1.1:1", "u.1.1:2", "u.2.1:1", "u.2.1:2"];
    assert_eq!(names, expected);
    // Stan has them element by element.
    assert_eq!(lowered.stan_order, [0, 2, 3, 1, 4, 5]);
}
