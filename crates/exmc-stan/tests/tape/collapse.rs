//! Loops whose tape is collapsed: the same values, derivatives within rounding, and memory that
//! iterations do not fill.

use exmc_stan::host::FaultKind;
use exmc_stan::host::tape::{Evaluator, Options};

use crate::tape::harness::program;

fn evaluate(
    text: &str,
    position: &[f64],
    change: impl Fn(&mut Options),
) -> Result<(f64, Vec<f64>), (FaultKind, String)> {
    let (program, data) = program(text, "{}");
    let mut options = Options::default();
    change(&mut options);
    let mut evaluator = Evaluator::new(std::sync::Arc::new(program), data, options);
    let mut gradient = vec![0.0; position.len()];
    let value = evaluator.evaluate(position, &mut gradient);
    value.map(|value| (value, gradient)).map_err(|error| (error.kind, error.message.to_string()))
}

/// Collapsed after every iteration, and never.
fn assert_alike(text: &str, position: &[f64]) {
    let collapsed = evaluate(text, position, |options| options.collapse_after = 0)
        .expect("it can be evaluated");
    let uncollapsed = evaluate(text, position, |options| options.collapse_after = usize::MAX)
        .expect("it can be evaluated");
    assert_eq!(collapsed.0.to_bits(), uncollapsed.0.to_bits(), "values are computed alike");
    for (a, b) in collapsed.1.iter().zip(&uncollapsed.1) {
        // Sums of some hundred terms in another order.
        assert!(
            (a - b).abs() <= 1e-12 * b.abs().max(1.0),
            "{:?} and {:?} of {text}",
            collapsed.1,
            uncollapsed.1
        );
    }
}

#[test]
fn nested_loops_functions_and_branches_have_the_derivatives_of_the_whole_tape() {
    let sums = "functions {
        real f(real a, real b, int n) {
          real s = a;
          for (i in 1:n) { s = sin(s) + b / i; if (s > 1) { s -= b; } }
          return s;
        }
        real down(real a, int n) {
          real s = a;
          for (i in 1:2) { s += 0.1 * s * i; }
          if (n == 0) return s;
          for (i in 1:2) { s = down(s * 0.5, n - 1) + a; }
          return s;
        }
        void add_lp(real a) { target += a * target(); }
      }
      parameters { real a; real<lower=0> b; vector[3] c; }
      transformed parameters { vector[3] d = c * b; }
      model {
        vector[3] u = d;
        tuple(real, vector[2]) pair = (a, [b, a]');
        complex z = to_complex(a, b);
        matrix[2, 2] m = [[a, b], [1, 2]];
        for (i in 1:4) {
          for (j in 1:3) {
            target += normal_lpdf(a | f(b, c[j], i), d[j]^2 + 1);
            u[j] = u[j] * a + d[1] / (i + j);
            if (j == 2) continue;
            pair.1 += u[j] * b;
          }
          for (x in u) { target += 0.01 * x * x; }
          z = z * to_complex(0.9, 0.1) + a;
          m = m * [[0.5, 0.1], [0.2, 0.4]] + a;
          pair.2[1] *= 0.9;
          if (i == 3) break;
        }
        int k = 0;
        while (k < 5) { k += 1; target += cos(k * a) * u[1]; if (sum(u) > 1e9) break; }
        add_lp(0.1);
        for (i in 1:2) add_lp(0.2);
        target += pair.1 + sum(pair.2) + get_real(z) + get_imag(z) * a + sum(m) + down(b, 3);
      }";
    assert_alike(sums, &[0.4, -0.3, 0.8, -1.1, 0.6]);
    let solved = "functions {
        vector slope(real t, vector y, real k) {
          vector[1] out = [0]';
          for (i in 1:3) { out += -k * y * i; }
          return out;
        }
      }
      parameters { real a; }
      model {
        for (i in 1:3) {
          real b = a * i;
          target += ode_rk45(slope, [b]', 0, {0.5}, b)[1, 1] * b;
        }
      }";
    assert_alike(solved, &[0.4]);
}

const LONG: &str = "data { } parameters { real a; real b; }
  model {
    real s = 0;
    for (i in 1:200) {
      for (j in 1:300) { target += sin(a * i + b * j); s = 0.5 * s + a * j; }
    }
    target += s;
  }";

#[test]
fn iterations_do_not_fill_the_memory() {
    let little = |options: &mut Options| options.most_bytes = 1 << 20;
    let bounded = |options: &mut Options| {
        little(options);
        options.collapse_after = 1 << 12;
    };
    let (value, gradient) = evaluate(LONG, &[0.3, -0.7], bounded).unwrap();
    let never = |options: &mut Options| {
        little(options);
        options.collapse_after = usize::MAX;
    };
    let (kind, words) = evaluate(LONG, &[0.3, -0.7], never).unwrap_err();
    assert_eq!(kind, FaultKind::Limit);
    assert!(words.ends_with("may take (1 MiB)"), "{words}");
    let (a, b) = (0.3f64, -0.7f64);
    let mut expected = [0.0; 3];
    let mut s = [0.0; 2];
    for i in 1..=200 {
        for j in 1..=300 {
            let (i, j) = (f64::from(i), f64::from(j));
            let angle = a * i + b * j;
            expected[0] += angle.sin();
            expected[1] += i * angle.cos();
            expected[2] += j * angle.cos();
            s = [0.5 * s[0] + a * j, 0.5 * s[1] + j];
        }
    }
    let found = [value, gradient[0], gradient[1]];
    let expected = [expected[0] + s[0], expected[1] + s[1], expected[2]];
    for (found, expected) in found.iter().zip(expected) {
        // Sixty thousand terms of size at most 300.
        assert!((found - expected).abs() < 1e-8, "{found} for {expected}");
    }
}

/// What a loop keeps alive cannot be collapsed: there is no room for the operations of an array's
/// elements.
#[test]
fn loops_that_keep_much_meet_the_limit() {
    let text = "parameters { real a; }
      model {
        vector[20000] v;
        for (i in 1:20000) { v[i] = sin(a * i) + cos(a); }
        target += sum(v);
      }";
    let bounded = |most_bytes: u64| {
        move |options: &mut Options| {
            options.most_bytes = most_bytes;
            options.collapse_after = 1 << 10;
        }
    };
    let (kind, words) = evaluate(text, &[0.3], bounded(1 << 20)).unwrap_err();
    assert_eq!(kind, FaultKind::Limit);
    assert!(words.ends_with("may take (1 MiB)"), "{words}");
    // The same in 16 MiB.
    let (value, gradient) = evaluate(text, &[0.3], bounded(16 << 20)).unwrap();
    let (mut sum, mut slope) = (0.0, 0.0);
    for i in 1..=20_000 {
        let i = f64::from(i);
        sum += (0.3 * i).sin() + 0.3_f64.cos();
        slope += i * (0.3 * i).cos() - 0.3_f64.sin();
    }
    // Twenty thousand terms of size at most 20000.
    assert!(
        (value - sum).abs() < 1e-8 && (gradient[0] - slope).abs() < 1e-5,
        "{value} {gradient:?}"
    );
}
