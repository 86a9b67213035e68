//! Leaving loops and functions under conditions on parameters; truncated distributions of the
//! program's own; `map_rect`.

use exmc_stan::value::{Numbers, Value};

use super::harness::{assert_logp, assert_refused, lowered, normal, size};

const POINTS: [(f64, f64); 6] =
    [(0.5, 1.0), (0.5, -1.0), (-0.5, 2.0), (2.5, 0.3), (7.5, -0.2), (-3.0, -3.0)];

#[test]
fn functions_return_from_nested_branches() {
    let text = "functions {
          real f(real x, real y) {
            real z = y;
            if (x > 0) {
              if (y > 0) return x * y;
              z = z - 1;
              if (y < -2) { return 3; } else if (x > 2) return log(x);
            }
            return z * z;
          }
        }
        parameters { real x; real y; }
        model { target += f(x, y); for (i in 1:3) target += f(x - i, y * i); }";
    let f = |x: f64, y: f64| {
        let mut z = y;
        if x > 0.0 {
            if y > 0.0 {
                return x * y;
            }
            z -= 1.0;
            if y < -2.0 {
                return 3.0;
            } else if x > 2.0 {
                return x.ln();
            }
        }
        z * z
    };
    for (x, y) in POINTS {
        let looped: f64 = (1..4).map(|i| f(x - f64::from(i), y * f64::from(i))).sum();
        assert_logp(text, &[], &[x, y], f(x, y) + looped);
    }
}

#[test]
fn functions_return_from_loops() {
    let text = "functions {
          real f(real x, int n) {
            real s = 0;
            for (i in 1:n) {
              s += x / i;
              if (x < i) return s;
              if (s > 5) break;
              s += 0.5;
            }
            return -s;
          }
        }
        parameters { real x; real y; }
        model { target += f(x, 5); for (i in 1:3) target += f(y * i, i); }";
    let f = |x: f64, n: i32| {
        let mut s = 0.0;
        for i in 1..=n {
            s += x / f64::from(i);
            if x < f64::from(i) {
                return s;
            }
            if s > 5.0 {
                break;
            }
            s += 0.5;
        }
        -s
    };
    for (x, y) in POINTS {
        let looped: f64 = (1..4).map(|i| f(y * f64::from(i), i)).sum();
        assert_logp(text, &[], &[x, y], f(x, 5) + looped);
    }
}

#[test]
fn loops_are_left_and_continued() {
    let text = "parameters { real x; real y; }
        model {
          real s = 0;
          vector[6] z;
          for (i in 1:6) {
            z[i] = 0;
            if (x * i > 2) continue;
            z[i] = y * i;
          }
          for (i in 1:6) {
            s += x * i;
            if (s > 2) { if (y > 0) break; target += 1; continue; }
            target += s;
          }
          target += s + sum(z);
        }";
    for (x, y) in POINTS {
        let mut expected = 0.0;
        let mut s = 0.0;
        for i in (1..7).map(f64::from) {
            if x * i <= 2.0 {
                expected += y * i;
            }
        }
        for i in (1..7).map(f64::from) {
            s += x * i;
            if s > 2.0 {
                if y > 0.0 {
                    break;
                }
                expected += 1.0;
                continue;
            }
            expected += s;
        }
        assert_logp(text, &[], &[x, y], expected + s);
    }
}

#[test]
fn a_continue_keeps_iterations_side_by_side() {
    let text = |n: usize| {
        format!(
            "parameters {{ vector[{n}] x; }}
             model {{ for (i in 1:{n}) {{ if (x[i] > 0) continue; target += -square(x[i]); }} }}"
        )
    };
    assert_logp(&text(3), &[], &[0.5, -1.5, -0.2], -2.25 - 0.04);
    assert_eq!(size(&lowered(&text(10), &[])), size(&lowered(&text(1000), &[])));
}

#[test]
fn distributions_of_the_program_are_truncated_by_its_tails() {
    let text = "functions {
          real foo_lpdf(real x, real m) { return -exp(m) * x + m; }
          real foo_lcdf(real x, real m) { return log1m_exp(-exp(m) * x); }
          real foo_lccdf(real x, real m) { return -exp(m) * x; }
        }
        data { real high; } parameters { real m; real x; }
        model {
          x ~ foo(m) T[0.5, ]; x ~ foo(m) T[0.5, high]; x ~ foo(m) T[, high];
          for (i in 1:2) x ~ foo(m * i) T[0.5, ];
        }";
    let high = 3.0;
    let data = [("high", Value::Real(high))];
    let rate = |m: f64| m.exp();
    for (m, x) in [(0.2, 0.7), (-1.0, 2.9)] {
        let lpdf = |m: f64| -rate(m) * x + m;
        let below = |x: f64| 1.0 - (-rate(m) * x).exp();
        let looped = lpdf(m) + rate(m) * 0.5 + lpdf(2.0 * m) + rate(2.0 * m) * 0.5;
        let expected =
            lpdf(m) * 3.0 + rate(m) * 0.5 - (below(high) - below(0.5)).ln() - below(high).ln()
                + looped;
        assert_logp(text, &data, &[m, x], expected);
    }
    assert_logp(text, &data, &[0.2, 0.4], f64::NEG_INFINITY);
    assert_logp(text, &data, &[0.2, 3.1], f64::NEG_INFINITY);
}

const SHARDS: &str = "functions {
      vector shard(vector all, vector own, data array[] real y, data array[] int n) {
        real m = all[1] + own[1];
        real total = normal_lpdf(y[1:n[1]] | m, 1);
        if (n[1] > 1) total += own[1];
        return [total, m]';
      }
    }
    data { int K; array[K, 3] real y; array[K, 1] int n; }
    parameters { vector[1] all; array[K] vector[1] own; }
    model { vector[2 * K] r = map_rect(shard, all, own, y, n); target += sum(r[1:K]) + 2 * sum(r[K + 1:2 * K]); }";

fn shards(sizes: &[i64]) -> Vec<(&'static str, Value)> {
    let k = sizes.len();
    let y = (0..3 * k).map(|i| 0.25 * i as f64).collect();
    vec![
        ("K", Value::Int(k as i64)),
        ("y", Value::Reals(Numbers::new([k, 3], y))),
        ("n", Value::Ints(Numbers::new([k, 1], sizes.to_vec()))),
    ]
}

#[test]
fn map_rect_puts_the_results_of_all_shards_together() {
    for sizes in [vec![2, 2, 2, 2], vec![1, 3, 2, 0]] {
        let (all, shard_parameters) = (0.3, [0.1, -0.4, 0.7, 1.1]);
        let mut results = Vec::new();
        for (k, n) in sizes.iter().enumerate() {
            let m = all + shard_parameters[k];
            let term = |i: usize| {
                normal(0.25 * (3 * k + i) as f64, m, 1.0) - 0.5 * (2.0 * std::f64::consts::PI).ln()
            };
            let total: f64 = (0..*n as usize).map(term).sum();
            results.extend([total + if *n > 1 { shard_parameters[k] } else { 0.0 }, m]);
        }
        let (first, second) = results.split_at(4);
        let expected = first.iter().sum::<f64>() + 2.0 * second.iter().sum::<f64>();
        let position = [&[all][..], &shard_parameters].concat();
        assert_logp(SHARDS, &shards(&sizes), &position, expected);
    }
}

#[test]
fn equal_shards_run_side_by_side() {
    let node_count = |k: usize| size(&lowered(SHARDS, &shards(&vec![2; k])));
    assert_eq!(node_count(5), node_count(50));
}

#[test]
fn shards_that_do_not_match_are_a_mistake() {
    let mut data = shards(&[2, 2]);
    data[2].1 = Value::Ints(Numbers::new([1, 1], vec![2]));
    let text = SHARDS.replace("array[K, 1] int n", "array[1, 1] int n");
    assert_refused(&text, &data, 11, "parameters of 2 shards, but data of 2 and integers of 1");
}
