//! Loops: iterations side by side, in groups, with copies of their own, or one after the other.

use exmc_stan::value::{Numbers, Value};

use super::harness::{assert_logp, normal};

#[test]
fn a_loop_over_observations_with_groups() {
    let text = "data { int N; int J; array[N] int g; vector[N] x; vector[N] y; }
        parameters { vector[J] a; real b; real<lower=0> s; }
        model { a ~ normal(0, 1); for (n in 1:N) y[n] ~ normal(a[g[n]] + b * x[n], s); }";
    let (g, x, y) = ([2, 1, 2, 3], [0.1, 0.2, 0.3, 0.4], [1.0, -1.0, 0.5, 0.0]);
    let data = [
        ("N", Value::Int(4)),
        ("J", Value::Int(3)),
        ("g", Value::ints(g.to_vec())),
        ("x", Value::reals(x.to_vec())),
        ("y", Value::reals(y.to_vec())),
    ];
    let (a, b, log_s) = ([0.3, -0.2, 0.9], 1.5, -0.1_f64);
    let s = log_s.exp();
    let mut expected: f64 = a.iter().map(|a| normal(*a, 0.0, 1.0)).sum();
    for n in 0..4 {
        expected += normal(y[n], a[g[n] as usize - 1] + b * x[n], s);
    }
    assert_logp(text, &data, &[a[0], a[1], a[2], b, log_s], expected + log_s);
}

#[test]
fn nested_loops_whose_inner_bound_differs() {
    let text = "data { int I; array[I] int m; }
        parameters { vector[I] a; vector[4] b; }
        model {
          for (i in 1:I) {
            real acc = 0;
            for (j in i:m[i]) acc += a[i] * b[j] * j;
            target += acc * acc;
          }
        }";
    let data = [("I", Value::Int(3)), ("m", Value::ints(vec![2, 4, 1]))];
    let (a, b) = ([0.5, -1.0, 2.0], [0.1, 0.2, 0.3, 0.4]);
    let mut expected = 0.0;
    for (i, m) in [2_usize, 4, 1].into_iter().enumerate() {
        let acc: f64 = (i + 1..=m).map(|j| a[i] * b[j - 1] * j as f64).sum();
        expected += acc * acc;
    }
    assert_logp(text, &data, &[a.to_vec(), b.to_vec()].concat(), expected);
}

#[test]
fn sizes_that_differ_between_iterations_run_in_groups() {
    let text = "data { int I; array[I] int pos; array[I] int len; }
        parameters { vector[6] a; }
        model {
          for (i in 1:I) {
            vector[len[i]] part = segment(a, pos[i], len[i]);
            target += log_sum_exp(part) * i;
          }
        }";
    let (pos, len) = ([1, 3, 4], [2, 1, 3]);
    let data = [
        ("I", Value::Int(3)),
        ("pos", Value::ints(pos.to_vec())),
        ("len", Value::ints(len.to_vec())),
    ];
    let a = [0.1, -0.4, 0.8, 1.2, -0.3, 0.6_f64];
    let mut expected = 0.0;
    for i in 0..3 {
        let from = pos[i] as usize - 1;
        let sum: f64 = a[from..from + len[i] as usize].iter().map(|v| v.exp()).sum();
        expected += sum.ln() * (i + 1) as f64;
    }
    assert_logp(text, &data, &a, expected);
}

#[test]
fn scratch_declared_outside_of_the_loop_is_each_iterations_own() {
    let text = "data { int N; int K; vector[N] y; }
        parameters { vector[K] mu; simplex[K] theta; }
        model {
          array[K] real ps;
          for (n in 1:N) {
            for (k in 1:K) ps[k] = log(theta[k]) + normal_lpdf(y[n] | mu[k], 1);
            target += log_sum_exp(ps);
          }
          target += ps[1];
        }";
    let y = [0.3, -1.1, 2.0];
    let data = [("N", Value::Int(3)), ("K", Value::Int(2)), ("y", Value::reals(y.to_vec()))];
    let mu = [0.2, -0.5];
    // The simplex of the single coordinate z = 0: both elements are one half; the Jacobian is a
    // constant that the same program without its model shows.
    let lowered = super::harness::lowered(text, &data);
    let prior = super::harness::lowered("parameters { simplex[2] theta; }", &[]);
    let jacobian = super::harness::logp(&prior, &[0.0]);
    let half_log_two_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
    let part = |y: f64, k: usize| 0.5_f64.ln() + normal(y, mu[k], 1.0) - half_log_two_pi;
    let mut expected: f64 = y.iter().map(|y| (part(*y, 0).exp() + part(*y, 1).exp()).ln()).sum();
    expected += part(y[2], 0);
    let found = super::harness::logp(&lowered, &[mu[0], mu[1], 0.0]);
    assert!((found - expected - jacobian).abs() < 1e-11, "{found} {expected} {jacobian}");
}

#[test]
fn recurrences_run_one_after_the_other() {
    let text = "data { int T; vector[T] y; }
        parameters { real mu; real<lower=0, upper=1> a; real<lower=0> s1; }
        model {
          vector[T] sigma;
          real err = 0;
          sigma[1] = s1;
          for (t in 2:T) {
            sigma[t] = sqrt(0.5 + a * square(y[t - 1] - mu) + 0.1 * sigma[t - 1] ^ 2);
            err = 0.5 * err + y[t];
          }
          y ~ normal(mu, sigma);
          target += err * mu;
        }";
    let y = [0.5, -0.2, 1.4, 0.3, -0.9];
    let data = [("T", Value::Int(5)), ("y", Value::reals(y.to_vec()))];
    let (mu, za, ls) = (0.1, 0.3_f64, -0.2_f64);
    let a = 1.0 / (1.0 + (-za).exp());
    let mut sigma = vec![ls.exp()];
    let mut err = 0.0;
    for t in 1..5 {
        let before: f64 = sigma[t - 1];
        sigma.push((0.5 + a * (y[t - 1] - mu).powi(2) + 0.1 * before * before).sqrt());
        err = 0.5 * err + y[t];
    }
    let mut expected: f64 = (0..5).map(|t| normal(y[t], mu, sigma[t])).sum();
    expected += err * mu + (a * (1.0 - a)).ln() + ls;
    assert_logp(text, &data, &[mu, za, ls], expected);
}

#[test]
fn an_element_of_another_iteration_that_is_written_first_is_carried() {
    // Iteration n reads what n - 1 wrote in the statement before: right side by side. What n + 1
    // writes must not be seen.
    let text = "data { int N; }
        parameters { vector[N] a; }
        model {
          vector[N + 1] x = rep_vector(1, N + 1);
          vector[N] y;
          for (n in 1:N) {
            y[n] = x[n + 1] + (n > 1 ? x[n - 1] : 0);
            x[n] = 2 * a[n];
          }
          for (n in 1:N) target += y[n] * n;
        }";
    let a = [0.3, 0.5, -0.7, 1.1];
    let mut x = [1.0; 5];
    let mut expected = 0.0;
    for n in 0..4 {
        let y = x[n + 1] + if n > 0 { x[n - 1] } else { 0.0 };
        x[n] = 2.0 * a[n];
        expected += y * (n + 1) as f64;
    }
    assert_logp(text, &[("N", Value::Int(4))], &a, expected);
}

#[test]
fn sums_into_elements_by_index() {
    let text = "data { int N; array[N] int g; }
        parameters { vector[N] a; }
        model {
          vector[3] total = rep_vector(0.5, 3);
          real all = 0;
          for (n in 1:N) { total[g[n]] += a[n]; all = all - a[n] * n; }
          target += total[1] * total[2] + exp(total[3]) + all * all;
        }";
    let g = [1, 2, 1, 2, 2];
    let data = [("N", Value::Int(5)), ("g", Value::ints(g.to_vec()))];
    let a = [0.1, 0.2, 0.3, -0.4, 0.5];
    let total = [0.5 + a[0] + a[2], 0.5 + a[1] + a[3] + a[4], 0.5_f64];
    let all: f64 = a.iter().zip(1..).map(|(a, n)| -a * f64::from(n)).sum();
    assert_logp(text, &data, &a, total[0] * total[1] + total[2].exp() + all * all);
}

#[test]
fn forward_sums_of_a_hidden_chain() {
    let text = "data { int T; int K; matrix[K, K] logA; vector[T] y; }
        parameters { vector[K] mu; }
        model {
          array[T] vector[K] g;
          array[K] real acc;
          for (k in 1:K) g[1, k] = -square(y[1] - mu[k]);
          for (t in 2:T)
            for (k in 1:K) {
              for (j in 1:K) acc[j] = g[t - 1, j] + logA[j, k] - square(y[t] - mu[k]);
              g[t, k] = log_sum_exp(acc);
            }
          target += log_sum_exp(g[T]);
        }";
    let (y, log_a) = ([0.2, 0.9, -0.4, 1.2], [[-0.2, -1.7], [-1.2, -0.4]]);
    let data = [
        ("T", Value::Int(4)),
        ("K", Value::Int(2)),
        ("logA", Value::Reals(Numbers::new([2, 2], log_a.concat()))),
        ("y", Value::reals(y.to_vec())),
    ];
    let mu = [0.4, -0.3];
    let emission = |t: usize, k: usize| -(y[t] - mu[k]).powi(2);
    let mut g = [emission(0, 0), emission(0, 1)];
    for t in 1..4 {
        let next = |k: usize| {
            (0..2).map(|j| (g[j] + log_a[j][k] + emission(t, k)).exp()).sum::<f64>().ln()
        };
        g = [next(0), next(1)];
    }
    assert_logp(text, &data, &mu, (g[0].exp() + g[1].exp()).ln());
}

#[test]
fn loops_over_elements() {
    let text = "parameters { vector[3] a; matrix[2, 2] m; }
        model { real last = 0; for (v in a) target += exp(v); for (v in m) last = v; target += last * m[1, 2]; }";
    let position = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0, 4.0_f64];
    let expected = position[..3].iter().map(|v| v.exp()).sum::<f64>() + 4.0 * 2.0;
    assert_logp(text, &[], &position, expected);
}

#[test]
fn a_column_that_many_iterations_read() {
    // Its elements do not lie side by side, and all iterations of the inner loop have the same.
    let text = "data { int N; array[N] vector[3] w; }
        parameters { matrix[3, 2] b; }
        model {
          for (m in 1:2) for (i in 1:N) target += m * dot_product(b[:, m], w[i]);
        }";
    let n = 20;
    let w: Vec<f64> = (0..3 * n).map(|k| (k * 7 % 11) as f64 - 4.0).collect();
    let data =
        [("N", Value::Int(n as i64)), ("w", Value::Reals(Numbers::new(vec![n, 3], w.clone())))];
    let b = [0.5, -1.0, 2.0, 0.25, -0.75, 1.5];
    let column = |m: usize| -> f64 {
        (0..n).map(|i| (0..3).map(|k| b[2 * k + m] * w[3 * i + k]).sum::<f64>()).sum()
    };
    assert_logp(text, &data, &b, column(0) + 2.0 * column(1));
}

#[test]
fn parts_that_only_the_loop_around_chooses() {
    // Of parameters and of data, for iterations of which some lanes have many and one has none;
    // what the inner loop assigns to itself is not among them.
    let text = "data { array[3] int K; array[3] int g; array[3] vector[4] w; }
        parameters { matrix[4, 3] b; vector[3] a; }
        model {
          vector[3] s = rep_vector(0, 3);
          for (m in 1:3) {
            int j = g[m];
            for (i in 1:K[m]) {
              target += i * dot_product(b[:, j], w[g[m]]) + a[m] * w[j][1 + i % 4];
              target += i * sum(w[m][2:3]) * b[m, j];
              s[m] += a[j];
              target += 0.1 * i * s[m];
            }
          }
        }";
    let (counts, g) = ([20, 0, 33], [3, 1, 2]);
    let w: Vec<f64> = (0..12).map(|k| (k * 7 % 11) as f64 - 4.0).collect();
    let data = [
        ("K", Value::ints(counts.to_vec())),
        ("g", Value::ints(g.to_vec())),
        ("w", Value::Reals(Numbers::new(vec![3, 4], w.clone()))),
    ];
    let position: Vec<f64> = (0..15).map(|k| (k * 5 % 13) as f64 * 0.25 - 1.0).collect();
    let (b, a) = position.split_at(12);
    let mut expected = 0.0;
    for m in [0, 1, 2] {
        let (j, mut s) = (g[m] as usize - 1, 0.0);
        for i in 1..=counts[m] {
            let size = i as f64;
            let dot: f64 = (0..4).map(|k| b[3 * k + j] * w[4 * j + k]).sum();
            expected += size * dot + a[m] * w[4 * j + i as usize % 4];
            expected += size * (w[4 * m + 1] + w[4 * m + 2]) * b[3 * m + j];
            s += a[j];
            expected += 0.1 * size * s;
        }
    }
    assert_logp(text, &data, &position, expected);
}
