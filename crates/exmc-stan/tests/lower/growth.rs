//! The graph of a regular loop does not grow with its number of iterations.

use exmc_stan::value::{Numbers, Value};

use super::harness::{assert_logp, lowered, normal, size};

fn index(n: usize, k: usize) -> Value {
    Value::ints((0..n).map(|i| (i * 7 % k) as i64 + 1).collect())
}

fn numbers(n: usize) -> Value {
    Value::reals((0..n).map(|i| (i * 13 % 29) as f64 * 0.1 - 1.0).collect())
}

fn flags(n: usize) -> Value {
    Value::ints((0..n).map(|i| i64::from(i * 5 % 3 == 0)).collect())
}

fn assert_same_size(text: &str, data: impl Fn(usize) -> Vec<(&'static str, Value)>) {
    let small = size(&lowered(text, &data(60)));
    let large = size(&lowered(text, &data(120)));
    assert_eq!(small, large, "nodes for 60 and for 120 observations");
    assert!(small < 200, "{small} nodes");
}

#[test]
fn varying_intercepts_and_slopes() {
    let text = "data { int N; array[N] int g; vector[N] x; vector[N] y; }
        parameters { vector[5] a; vector[5] b; real ma; real<lower=0> sa; real<lower=0> s; }
        model {
          vector[N] m;
          for (j in 1:5) a[j] ~ normal(ma, sa);
          b ~ normal(0, 1);
          for (n in 1:N) m[n] = a[g[n]] + b[g[n]] * x[n];
          for (n in 1:N) target += normal_lpdf(y[n] | m[n], s);
        }";
    assert_same_size(text, |n| {
        let (g, x) = (index(n, 5), numbers(n));
        vec![("N", Value::Int(n as i64)), ("g", g), ("x", x.clone()), ("y", x)]
    });
}

#[test]
fn items_and_persons() {
    let text = "data { int N; array[4, N] int y; }
        parameters { vector[N] theta; vector<lower=0>[4] a; vector[4] b; }
        model {
          for (i in 1:4) { for (j in 1:N) y[i, j] ~ bernoulli_logit(a[i] * (theta[j] - b[i])); }
          theta ~ normal(0, 1);
        }";
    assert_same_size(text, |n| {
        let all: Vec<i64> = (0..4 * n).map(|k| i64::from(k * 5 % 3 == 0)).collect();
        vec![("N", Value::Int(n as i64)), ("y", Value::Ints(Numbers::new([4, n], all)))]
    });
}

#[test]
fn polls_with_several_groupings() {
    let text = "data { int N; array[N] int age; array[N] int state; vector[N] female; array[N] int y; }
        parameters { vector[4] a; vector[9] b; vector[3] beta; real<lower=0> sa; }
        model {
          vector[N] p;
          for (i in 1:N)
            p[i] = beta[1] + beta[2] * female[i] + beta[3] * female[i] * 0.5 + a[age[i]] + b[state[i]];
          a ~ normal(0, sa);
          y ~ bernoulli_logit(p);
        }";
    assert_same_size(text, |n| {
        vec![
            ("N", Value::Int(n as i64)),
            ("age", index(n, 4)),
            ("state", index(n, 9)),
            ("female", numbers(n)),
            ("y", flags(n)),
        ]
    });
}

#[test]
fn words_of_documents() {
    let text = "data { int N; array[N] int w; array[N] int doc; }
        parameters { array[3] simplex[2] theta; array[2] simplex[6] phi; }
        model {
          for (n in 1:N) {
            array[2] real gamma;
            for (k in 1:2) gamma[k] = log(theta[doc[n], k]) + log(phi[k, w[n]]);
            target += log_sum_exp(gamma);
          }
        }";
    assert_same_size(text, |n| {
        vec![("N", Value::Int(n as i64)), ("w", index(n, 6)), ("doc", index(n, 3))]
    });
}

#[test]
fn mixtures() {
    let text = "data { int N; vector[N] y; }
        parameters { ordered[2] mu; real<lower=0, upper=1> t; array[2] real<lower=0> s; }
        model {
          for (n in 1:N)
            target += log_mix(t, normal_lpdf(y[n] | mu[1], s[1]), normal_lpdf(y[n] | mu[2], s[2]));
        }";
    assert_same_size(text, |n| vec![("N", Value::Int(n as i64)), ("y", numbers(n))]);
}

#[test]
fn positions_and_counters_that_iterations_hand_on() {
    // The sizes are 2, 1, 2, 1, …: the graph has a part for each of them, not for each group.
    let text = "data { int J; array[J] int n; vector[sum(n)] y; }
        parameters { vector[J] a; vector[sum(n)] b; real<lower=0> s; }
        model {
          int pos = 1;
          int twos = 0;
          for (j in 1:J) {
            int last = pos + n[j] - 1;
            if (n[j] == 2) twos += 1;
            segment(y, pos, n[j]) ~ normal(a[j] + twos * b[pos:last], s);
            pos = last + 1;
          }
          target += pos * twos * a[1];
        }";
    let data = |j: usize| {
        let n: Vec<i64> = (0..j).map(|k| 2 - (k % 2) as i64).collect();
        let total = n.iter().sum::<i64>() as usize;
        vec![("J", Value::Int(j as i64)), ("n", Value::ints(n)), ("y", numbers(total))]
    };
    assert_same_size(text, data);
    let (a, log_s) = ([0.3, -0.2, 0.4], 0.2_f64);
    let b = [0.1, 0.5, -0.6, 0.2, 0.7];
    let (n, y) = ([2, 1, 2], [-1.0, 0.3, 1.6, 0.0, -0.3_f64]);
    let (mut pos, mut twos, mut expected) = (0, 0.0, log_s);
    for j in 0..3 {
        twos += f64::from(u8::from(n[j] == 2));
        for k in pos..pos + n[j] {
            expected += normal(y[k], a[j] + twos * b[k], log_s.exp());
        }
        pos += n[j];
    }
    expected += (pos + 1) as f64 * twos * a[0];
    let data =
        [("J", Value::Int(3)), ("n", Value::ints(vec![2, 1, 2])), ("y", Value::reals(y.to_vec()))];
    let position: Vec<f64> = a.into_iter().chain(b).chain([log_s]).collect();
    assert_logp(text, &data, &position, expected);
}
