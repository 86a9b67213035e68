//! A loop that is walked as steps, and adds to elements in another order than its own: what each
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
//! element holds afterwards.

use exmc::StanProgram;
use exmc::advanced::Executor;
use exmc::stan::StanOptions;

/// `t` makes iterations need each other, so that the loop, of more than 1000, is walked as steps;
/// `k` is a permutation, so that each element belongs to one of them.
const PROGRAM: &str = "data { int n; array[n] int k; vector[n] d; }
parameters { real x; real y; vector[n] v; }
model { real t = y; vector[n] a = v;
  for (i in 1:n) { if (t > x) t = d[i]; for (j in 2:3) a[k[i]] += x; }
  target += 0.2 * t - 0.1 * dot_product(a, d); }";

#[test]
fn each_element_keeps_its_own_value() {
    let n = 1201_usize;
    let k: Vec<usize> = (0..n).map(|i| (i * 7 + 3) % n + 1).collect();
    let d: Vec<f64> = (0..n).map(|i| ((i * 37 % 101) as f64 - 50.0) / 40.0).collect();
    let v: Vec<f64> = (0..n).map(|i| ((i * 53 % 97) as f64 - 48.0) / 30.0).collect();
    let (x, y) = (0.3, 0.6);
    let data = format!("{{\"n\": {n}, \"k\": {k:?}, \"d\": {d:?}}}");
    let t = d.iter().fold(y, |t, d| if t > x { *d } else { t });
    let sum: f64 = v.iter().zip(&d).map(|(v, d)| (v + 2.0 * x) * d).sum();
    let expected = 0.2 * t - 0.1 * sum;
    for executor in [Executor::Native, Executor::Reference] {
        let mut options = StanOptions::default();
        options.compile.executor = executor;
        options.compile.marginalise = Some(false);
        let program = StanProgram::from_text("sums.stan", PROGRAM).unwrap();
        let model = program.bind_with("sums.json", &data, &options).unwrap().bound().clone();
        let (logp, gradient) = model.logp_grad(&[vec![x, y], v.clone()].concat()).unwrap();
        assert!((logp - expected).abs() < 1e-9, "{executor:?}: {logp}, expected {expected}");
        for (slope, d) in gradient[2..].iter().zip(&d) {
            assert!(
                (slope + 0.1 * d).abs() < 1e-12,
                "{executor:?}: {slope}, expected {}",
                -0.1 * d
            );
        }
    }
}
