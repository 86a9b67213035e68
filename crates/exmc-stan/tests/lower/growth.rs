//! The graph of a regular loop does not grow with its number of iterations.

use exmc_stan::value::{Numbers, Value};

use super::harness::{lowered, size};

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
