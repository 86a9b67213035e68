//! Iterations that need each other: the graph of the loop does not grow, and its density is that of
//! the recurrence run by hand.

use exmc_stan::value::{Numbers, Value};

use super::harness::{assert_logp, logp, lowered, normal, size};

fn series(n: usize) -> Vec<f64> {
    // Ones and zeros are among them: what they multiply or are added to stays the same step.
    (0..n).map(|i| (i * 13 % 29) as f64 * 0.125 - 1.0).collect()
}

/// Asserts that the graphs of 60 and 120 iterations are equally large, and the density of 60 at a
/// position.
fn assert_recurrence(
    text: &str,
    data: impl Fn(usize) -> Vec<(&'static str, Value)>,
    position: &[f64],
    expected: impl Fn(usize) -> f64,
) {
    let (small, large) = (lowered(text, &data(60)), lowered(text, &data(120)));
    for (n, program) in [(60, &small), (120, &large)] {
        let (found, expected) = (logp(program, position), expected(n));
        let near = (found - expected).abs() <= 1e-11 * (1.0 + expected.abs());
        assert!(near, "{n} iterations: found {found}, expected {expected}");
    }
    assert_eq!(size(&small), size(&large), "nodes for 60 and for 120 iterations");
    assert!(size(&small) < 150, "{} nodes", size(&small));
}

fn with_y(n: usize) -> Vec<(&'static str, Value)> {
    vec![("T", Value::Int(n as i64)), ("y", Value::reals(series(n)))]
}

#[test]
fn errors_of_a_moving_average() {
    let text = "data { int T; vector[T] y; }
        parameters { real mu; real phi; real theta; }
        model {
          vector[T] nu;
          vector[T] err;
          nu[1] = mu + phi * mu;
          err[1] = y[1] - nu[1];
          for (t in 2:T) {
            nu[t] = mu + phi * y[t - 1] + theta * err[t - 1];
            err[t] = y[t] - nu[t];
          }
          err ~ normal(0, 1);
        }";
    let (mu, phi, theta) = (0.2, 0.6, -0.3);
    assert_recurrence(text, with_y, &[mu, phi, theta], |n| {
        let y = series(n);
        let mut err = y[0] - mu - phi * mu;
        let mut total = normal(err, 0.0, 1.0);
        for t in 1..n {
            err = y[t] - (mu + phi * y[t - 1] + theta * err);
            total += normal(err, 0.0, 1.0);
        }
        total
    });
}

#[test]
fn terms_added_inside_and_values_two_steps_back() {
    let text = "data { int T; vector[T] y; }
        parameters { real a; real b; real<lower=0> s; }
        model {
          vector[T] x;
          for (t in 1:T) {
            if (t == 1) x[t] = a;
            else if (t == 2) x[t] = b;
            else x[t] = 0.5 * a * x[t - 1] - 0.3 * b * x[t - 2];
            y[t] ~ normal(x[t], s);
          }
          target += x[T] * x[T - 1];
        }";
    let (a, b, log_s) = (0.9, -0.4, 0.3_f64);
    assert_recurrence(text, with_y, &[a, b, log_s], |n| {
        let mut x = vec![a, b];
        for t in 2..n {
            x.push(0.5 * a * x[t - 1] - 0.3 * b * x[t - 2]);
        }
        let s = log_s.exp();
        let terms: f64 = series(n).iter().zip(&x).map(|(y, x)| normal(*y, *x, s)).sum();
        terms + x[n - 1] * x[n - 2] + log_s
    });
}

#[test]
fn starts_from_known_numbers_and_several_steps_back() {
    let text = "data { int T; vector[T] y; }
        parameters { real a; }
        model {
          vector[T + 3] x;
          x[1:3] = [0.5, 0, 1]';
          for (t in 1:T) x[t + 3] = a * x[t] + y[t];
          target += sum(square(x)) + x[T];
        }";
    assert_recurrence(text, with_y, &[0.7], |n| {
        let (mut x, y) = (vec![0.5, 0.0, 1.0], series(n));
        for t in 0..n {
            x.push(0.7 * x[t] + y[t]);
        }
        x.iter().map(|x| x * x).sum::<f64>() + x[n - 1]
    });
}

#[test]
fn forward_sums_over_states() {
    let text = "functions {
          vector step(vector before, matrix logA, real y, vector mu) {
            int K = rows(mu);
            vector[K] after;
            for (k in 1:K) after[k] = log_sum_exp(before + logA[, k]) - square(y - mu[k]);
            return after;
          }
        }
        data { int T; matrix[2, 2] logA; vector[T] y; }
        parameters { vector[2] mu; }
        transformed parameters {
          array[T] vector[2] g;
          for (k in 1:2) g[1, k] = -square(y[1] - mu[k]);
          for (t in 2:T) g[t] = step(g[t - 1], logA, y[t], mu);
        }
        model { target += log_sum_exp(g[T]) + 0.001 * g[T %/% 2, 1] * g[3, 2]; }";
    let log_a = [[-0.2, -1.7], [-1.2, -0.4]];
    let data = |n: usize| {
        let mut data = with_y(n);
        data.push(("logA", Value::Reals(Numbers::new([2, 2], log_a.concat()))));
        data
    };
    let mu = [0.4, -0.3];
    assert_recurrence(text, data, &mu, |n| {
        let y = series(n);
        let emission = |t: usize, k: usize| -(y[t] - mu[k]).powi(2);
        let mut g = vec![[emission(0, 0), emission(0, 1)]];
        for t in 1..n {
            let next = |k: usize| {
                let sum: f64 = (0..2).map(|j| (g[t - 1][j] + log_a[j][k]).exp()).sum();
                sum.ln() + emission(t, k)
            };
            g.push([next(0), next(1)]);
        }
        let last = g[n - 1];
        (last[0].exp() + last[1].exp()).ln() + 0.001 * g[n / 2 - 1][0] * g[2][1]
    });
}

#[test]
fn a_scale_that_is_carried_is_checked() {
    // A negative scale rejects the draw, whichever step it belongs to.
    let text = "data { int T; vector[T] y; }
        parameters { real a; }
        model {
          real s = 1;
          for (t in 1:T) {
            s = 0.5 + a * s;
            target += normal_lpdf(y[t] | 0, s);
          }
        }";
    let half_log_two_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
    assert_recurrence(text, with_y, &[0.4], |n| {
        let mut s = 1.0;
        let mut total = 0.0;
        for y in series(n) {
            s = 0.5 + 0.4 * s;
            total += normal(y, 0.0, s) - half_log_two_pi;
        }
        total
    });
    assert_eq!(logp(&lowered(text, &with_y(60)), &[-0.9]), f64::NEG_INFINITY);
}

#[test]
fn observations_that_are_missing_do_not_change_the_values() {
    let text = "data { int T; vector[T] y; array[T] int seen; array[T] int g; }
        parameters { real a; vector[3] b; }
        model {
          real level = a;
          for (t in 1:T) {
            level = 0.8 * level + b[g[t]];
            if (seen[t]) target += -square(y[t] - level);
          }
          target += level;
        }";
    let n = 70;
    let (y, a, b) = (series(n), 0.3, [0.1, -0.2, 0.05]);
    let seen: Vec<i64> = (0..n).map(|t| i64::from(t != 5 && t % 31 != 30)).collect();
    let g: Vec<i64> = (0..n).map(|t| (t * 7 % 3) as i64 + 1).collect();
    let mut level = a;
    let mut expected = 0.0;
    for t in 0..n {
        level = 0.8 * level + b[g[t] as usize - 1];
        if seen[t] == 1 {
            expected -= (y[t] - level).powi(2);
        }
    }
    let mut data = with_y(n);
    data.extend([("seen", Value::ints(seen)), ("g", Value::ints(g))]);
    super::harness::assert_logp(text, &data, &[a, b[0], b[1], b[2]], expected + level);
}

#[test]
fn a_recurrence_of_recurrences() {
    let text = "data { int T; vector[T] y; }
        parameters { real a; real b; }
        model {
          real outer_value = 1;
          for (i in 1:20) {
            real inner_value = outer_value;
            for (t in 1:T) inner_value = a * inner_value + y[t] * i;
            outer_value = b * inner_value;
          }
          target += outer_value;
        }";
    let (a, b) = (0.5, -0.6);
    assert_recurrence(text, with_y, &[a, b], |n| {
        let mut outer = 1.0;
        for i in 1..=20 {
            let mut inner = outer;
            for y in series(n) {
                inner = a * inner + y * f64::from(i);
            }
            outer = b * inner;
        }
        outer
    });
}

#[test]
fn several_chains_side_by_side_that_end_at_different_times() {
    let text = "data { int T; array[3] int last; array[3] vector[T] y; }
        parameters { real a; }
        model {
          for (i in 1:3) {
            real x = a;
            for (t in 1:last[i]) {
              x = 0.5 * x + a * y[i, t];
              target += -square(x);
            }
          }
        }";
    let last = |n: usize| [2 * n / 3, n, n / 3];
    let y = |n: usize| (0..3).flat_map(|i| series(n + i).split_off(i)).collect::<Vec<f64>>();
    let data = |n: usize| {
        let ends = last(n).iter().map(|n| *n as i64).collect();
        vec![
            ("T", Value::Int(n as i64)),
            ("last", Value::ints(ends)),
            ("y", Value::Reals(Numbers::new([3, n], y(n)))),
        ]
    };
    let a = 0.4;
    assert_recurrence(text, data, &[a], |n| {
        let y = y(n);
        let mut total = 0.0;
        for i in 0..3 {
            let mut x = a;
            for t in 0..last(n)[i] {
                x = 0.5 * x + a * y[i * n + t];
                total -= x * x;
            }
        }
        total
    });
}

#[test]
fn the_density_so_far_counts_earlier_iterations() {
    let text = "parameters { real a; }
        model {
          target += a;
          for (t in 1:20) { target += 0.1 * target(); }
        }";
    let expected = 0.3 * 1.1_f64.powi(20);
    super::harness::assert_logp(text, &[], &[0.3], expected);
}

#[test]
fn sums_over_all_that_came_before() {
    let text = "data { int T; vector[T] y; array[2] vector[T] w; }
        parameters { vector[2] a; real b; }
        model {
          matrix[T, 2] x = rep_matrix(0, T, 2);
          matrix[T, 2] e = rep_matrix(0, T, 2);
          for (m in 1:2) {
            x[1:3, m] = rep_vector(a[m], 3);
            for (t in 4:T) {
              real before = dot_product(sub_col(x, 1, m, t - 1), tail(y, t - 1));
              x[t, m] = b * before / (1 + square(before));
            }
            e[1, m] = 0.1 * x[1, m];
            for (t in 2:T) e[t, m] = dot_product(sub_col(x, 1, m, t - 1), tail(w[m], t - 1));
          }
          target += -sum(square(e)) + x[T, 1] * x[T %/% 2, 2];
        }";
    let (a, b, factors) = ([0.4, -0.7], 0.9, [1.0, -0.5_f64]);
    let data = |n: usize| {
        let mut data = with_y(n);
        let w = factors.map(|factor| series(n).into_iter().map(|y| factor * y).collect::<Vec<_>>());
        let w = w.concat();
        data.push(("w", Value::Reals(Numbers::new([2, n], w))));
        data
    };
    assert_recurrence(text, data, &[a[0], a[1], b], |n| {
        let y = series(n);
        let mut total = 0.0;
        let mut columns = Vec::new();
        for (start, factor) in a.into_iter().zip(factors) {
            let mut x = vec![start; 3];
            let before =
                |x: &[f64]| -> f64 { x.iter().zip(&y[n - x.len()..]).map(|(x, y)| x * y).sum() };
            for t in 3..n {
                let sum = before(&x[..t]);
                x.push(b * sum / (1.0 + sum * sum));
            }
            total -= (0.1 * start).powi(2);
            total -= (1..n).map(|t| (factor * before(&x[..t])).powi(2)).sum::<f64>();
            columns.push(x);
        }
        total + columns[0][n - 1] * columns[1][n / 2 - 1]
    });
}

#[test]
fn what_is_not_summed_does_not_matter() {
    // What the loop has not come to is zero, infinite, not a number, and never given; for all of
    // them the sum is that of the part alone, in a scan of as many operations for any length.
    let filled = ["0", "positive_infinity()", "not_a_number()"];
    let mut starts = filled.map(|number| format!("= rep_vector({number}, T)")).to_vec();
    starts.push(String::new());
    for start in starts {
        let text = format!(
            "data {{ int T; vector[T] y; }}
            parameters {{ real a; }}
            model {{
              vector[T] x {start};
              x[1] = a;
              for (t in 2:T) x[t] = 0.25 * dot_product(head(x, t - 1), tail(y, t - 1));
              target += x[T] + x[T %/% 2];
            }}"
        );
        assert_recurrence(&text, with_y, &[0.3], |n| {
            let (mut x, y) = (vec![0.3], series(n));
            for t in 1..n {
                x.push(0.25 * x.iter().zip(&y[n - t..]).map(|(x, y)| x * y).sum::<f64>());
            }
            x[n - 1] + x[n / 2 - 1]
        });
    }
}

#[test]
fn what_iterations_need_is_further_back_than_the_first_tell() {
    let text = "data { int T; vector[T] y; }
        parameters { real a; }
        model {
          vector[T + 7] x;
          for (k in 1:7) x[k] = k * a;
          for (t in 1:T) x[t + 7] = a * x[t] + y[t];
          target += sum(square(x));
        }";
    assert_recurrence(text, with_y, &[0.7], |n| {
        let (mut x, y) = ((1..8).map(|k| 0.7 * k as f64).collect::<Vec<_>>(), series(n));
        for t in 0..n {
            x.push(0.7 * x[t] + y[t]);
        }
        x.iter().map(|x| x * x).sum::<f64>()
    });
}

#[test]
fn loops_inside_that_are_other_ones_in_each_iteration() {
    // What the inner loops read changes with their bounds alone: in how many iterations, and in
    // which.
    let text = "data { int T; }
        parameters { vector[4] a; }
        model {
          vector[T] x;
          x[1] = a[1];
          for (t in 2:T) {
            real sum = 0;
            for (k in 1:(t % 3 + 2)) sum += square(a[k]);
            for (k in (t % 2 + 1):(t % 2 + 2)) sum += exp(a[k]);
            x[t] = 0.5 * x[t - 1] + sum;
          }
          target += sum(x);
        }";
    let a = [0.3_f64, -0.2, 0.5, 0.1];
    let n = 40;
    let (mut x, mut total) = (a[0], a[0]);
    for t in 2..=n {
        let squares = a[..t % 3 + 2].iter().map(|a| a * a).sum::<f64>();
        let exponentials = a[t % 2..t % 2 + 2].iter().map(|a| a.exp()).sum::<f64>();
        x = 0.5 * x + squares + exponentials;
        total += x;
    }
    assert_logp(text, &[("T", Value::Int(n as i64))], &a, total);
}

#[test]
fn a_loop_inside_that_stops_working_as_it_did() {
    // Up to step 20 the inner iterations are independent of each other; from there on each needs
    // what the one before it wrote.
    let text = "data { int T; array[T] int late; }
        parameters { real a; real b; }
        model {
          matrix[T, 4] x;
          for (k in 1:4) x[1, k] = a + k;
          for (t in 2:T) {
            for (k in 1:4) x[t, k] = 0.5 * x[t - 1, k] + b;
            for (k in 2:4) {
              int from = late[t] ? k - 1 : 1;
              x[t, k] = x[t, k] + 0.25 * x[t, from] * a;
            }
          }
          target += sum(x[T]) + sum(x[15]);
        }";
    let count = 40;
    let late: Vec<i64> = (1..=count as i64).map(|t| i64::from(t > 20)).collect();
    let data = [("T", Value::Int(count as i64)), ("late", Value::ints(late))];
    let (a, b) = (0.7, -0.2);
    let mut x = vec![[a + 1.0, a + 2.0, a + 3.0, a + 4.0]];
    for t in 2..=count {
        let before = x[t - 2];
        let mut now = before.map(|value| 0.5 * value + b);
        for k in 1..4 {
            let from = if t > 20 { k - 1 } else { 0 };
            now[k] += 0.25 * now[from] * a;
        }
        x.push(now);
    }
    let total = |row: [f64; 4]| row.iter().sum::<f64>();
    assert_logp(text, &data, &[a, b], total(x[count - 1]) + total(x[14]));
}
