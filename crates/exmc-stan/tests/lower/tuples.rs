//! Tuples of parameters: declared, assigned to in parts, handed to functions and returned from branches.

use super::harness::{assert_logp, assert_refused, lowered, normal};

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
fn arrays_of_tuples_are_refused_with_their_place() {
    let text = "parameters {\n array[2] tuple(real, real) t; } model { t[1].1 ~ normal(0, 1); }";
    assert_refused(text, &[], 2, "a tuple as a parameter");
}
