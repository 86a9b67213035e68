//! `while` loops whose condition depends on parameters.

use super::harness::{assert_gradient, assert_logp, lowered, size};

#[test]
fn newtons_iterations_find_a_root_and_its_slope() {
    let text = "parameters { real<lower=0> a; }
        model {
          real z = a;
          while (abs(z * z - a) > 1e-13 * a) z = 0.5 * (z + a / z);
          target += 3 * z;
        }";
    for u in [-2.0_f64, 0.4, 3.0] {
        assert_logp(text, &[], &[u], 3.0 * f64::exp(0.5 * u) + u);
        assert_gradient(text, &[], &[u], 1e-8);
    }
}

#[test]
fn loops_end_by_break_continue_and_return_for_each_lane_of_its_own() {
    let text = "functions {
          real first_above(real t) {
            real s = 0;
            int k = 0;
            while (k < 40) {
              k += 1;
              if (k == 3) continue;
              s += k * t;
              if (s > 5) return s + k;
            }
            return -1;
          }
        }
        parameters { vector[4] u; }
        model {
          vector[4] c;
          for (i in 1:4) {
            real x = u[i];
            int trips = 0;
            while (x > 1) {
              x /= 2;
              trips += 1;
              if (trips == 3) break;
            }
            c[i] = x + 10 * trips;
          }
          target += dot_product(c, [1, 2, 3, 4]');
          for (i in 1:4) target += first_above(abs(u[i]));
        }";
    let u: [f64; 4] = [0.5, 3.0, 100.0, -2.0];
    let c = [0.5, 0.75 + 20.0, 12.5 + 30.0, -2.0];
    let first_above = |t: f64| {
        let (mut s, mut k) = (0.0, 0);
        while k < 40 {
            k += 1;
            if k != 3 {
                s += f64::from(k) * t;
                if s > 5.0 {
                    return s + f64::from(k);
                }
            }
        }
        -1.0
    };
    let weighted: f64 = c.iter().zip(1..).map(|(c, w)| c * f64::from(w)).sum();
    let found: f64 = u.iter().map(|u| first_above(u.abs())).sum();
    assert_logp(text, &[], &u, weighted + found);
    assert_gradient(text, &[], &u, 1e-8);
}

#[test]
fn a_loop_at_its_limit_has_a_density_and_one_beyond_it_has_none() {
    // Each iteration takes one off: 128 of them bring 127.5 below zero.
    let text = "parameters { real x; }
        model { real z = x; while (z > 0) z -= 1; target += z; }";
    assert_logp(text, &[], &[127.5], -0.5);
    assert_gradient(text, &[], &[127.5], 1e-8);
    assert_logp(text, &[], &[128.5], f64::NEG_INFINITY);
}

#[test]
fn what_counts_iterations_ends_a_loop_that_parameters_may_end_before() {
    let text = |most: usize| {
        format!(
            "parameters {{ real x; real y; }}
            model {{
              int n = 0;
              real s = 0;
              while (n < {most} && s > y) {{
                n += 1;
                if (n > 1) s += x / n; else s += x;
              }}
              target += s;
            }}"
        )
    };
    // Ends after two, because of y, and after three, because of n.
    assert_logp(&text(3), &[], &[-1.0, -1.4], -1.5);
    assert_logp(&text(3), &[], &[-1.0, -9.0], -1.0 - 0.5 - 1.0 / 3.0);
    assert_gradient(&text(3), &[], &[-1.0, -9.0], 1e-8);
    // Three iterations, not as many as a loop without a bound has.
    let nodes = |most| size(&lowered(&text(most), &[]));
    assert!(nodes(6) < 3 * nodes(3) && nodes(3) < 60, "{} and {} nodes", nodes(3), nodes(6));
}
