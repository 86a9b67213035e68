//! Loops whose iterations need each other, walked as steps: what branches on data choose, what is
//! read from earlier steps and what is left after the loop is what the host interpreter has, in a
//! graph that does not grow.

use exmc_graph::{Op, Tensor, differentiate, evaluate};
use exmc_stan::data::read_data;
use exmc_stan::host::{Interpreter, Settings};
use exmc_stan::lower::{Options, StanLowered, lower, print_loops};

use super::harness::{logp, program, size};

/// `T` steps with numbers of several kinds for each; `kind` has values 1 to 4, the last of which is
/// rare.
fn data(steps: usize) -> String {
    let list = |f: &dyn Fn(usize) -> String| (0..steps).map(f).collect::<Vec<_>>().join(", ");
    let y = list(&|t| format!("{:.4}", (t * 13 % 29) as f64 * 0.125 - 1.3));
    let kind = list(&|t| if t % 17 == 11 { 4 } else { 1 + t * 7 % 5 % 3 }.to_string());
    let positive = list(&|t| format!("{:.3}", 0.3 + (t * 5 % 7) as f64 * 0.2));
    format!(r#"{{"T": {steps}, "y": [{y}], "kind": [{kind}], "p": [{positive}]}}"#)
}

const DATA: &str = "data { int T; vector[T] y; array[T] int kind; vector[T] p; }\n";

fn lowered_as_steps(text: &str, data: &str) -> StanLowered {
    let program = program(text);
    let environment = read_data(&program, "data.json", data).unwrap();
    let mut options = Options::default();
    options.steps_from = 2;
    lower(&program, &environment, options).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

/// The host leaves out what the lowering does.
fn without_constants() -> Settings {
    let mut settings = Settings::default();
    settings.proportional = true;
    settings
}

/// How each loop was lowered is reported, with what was tried before.
#[test]
fn ways_of_loops_are_reported() {
    let text = format!(
        "{DATA}parameters {{ real a; }}
model {{
  real h = 1;
  for (t in 1:T) y[t] ~ normal(a, 1);
  for (t in 2:T) {{
    h = a + 0.5 * h;
    target += h;
  }}
}}"
    );
    let report = |steps_from: usize| {
        let program = program(&text);
        let environment = read_data(&program, "data.json", &data(40)).unwrap();
        let mut options = Options::default();
        options.steps_from = steps_from;
        let lowered = lower(&program, &environment, options).unwrap();
        print_loops(&program.sources, &lowered.loops)
    };
    let vectorised = "5:3: 40 iterations vectorised\n";
    let unrolled = "6:3: 39 iterations unrolled, then rolled into a scan";
    assert_eq!(report(1000), format!("{vectorised}{unrolled}\n"));
    let steps = "6:3: 39 iterations walked as the steps of a scan";
    assert_eq!(report(2), format!("{vectorised}{steps}\n"));
}

/// Scans that the density needs.
fn scans(lowered: &StanLowered) -> usize {
    let l = &lowered.lowered;
    let needed = l.graph.reachable(&[l.logp]);
    let is_scan = |op: &Op| matches!(op, Op::Scan { .. });
    l.graph.nodes().iter().zip(&needed).filter(|(node, live)| **live && is_scan(&node.op)).count()
}

fn gradient(lowered: &mut StanLowered, position: &[f64]) -> Vec<f64> {
    let l = &mut lowered.lowered;
    let inputs: Vec<_> = l.layout.iter().map(|entry| entry.input).collect();
    let slopes = differentiate(&mut l.graph, l.logp, &inputs).unwrap();
    let input_value = |name: &str| {
        let entry = l.layout.iter().find(|entry| entry.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let slopes = evaluate(&l.graph, &slopes, &input_value).unwrap();
    slopes.iter().flat_map(|tensor| tensor.values().to_vec()).collect()
}

/// Asserts value and gradient of the host, one scan, and as many nodes for twice as many steps.
#[track_caller]
fn assert_steps(parameters_and_model: &str, position: &[f64]) {
    assert_steps_of(parameters_and_model, position, [45, 90]);
}

#[track_caller]
fn assert_steps_of(parameters_and_model: &str, position: &[f64], lengths: [usize; 2]) {
    // Functions come before data.
    let (functions, rest) = match parameters_and_model.split_once("// end of functions") {
        Some((functions, rest)) => (functions, rest),
        None => ("", parameters_and_model),
    };
    let text = format!("{functions}{DATA}{rest}");
    let checked = program(&text);
    let host_at = |data: &str, point: &[f64]| {
        let mut environment = read_data(&checked, "data.json", data).unwrap();
        let mut host = Interpreter::new(&checked, without_constants());
        host.log_density(&mut environment, point).unwrap()
    };
    let mut sizes = Vec::new();
    for steps in lengths {
        let data = data(steps);
        let mut lowered = lowered_as_steps(&text, &data);
        let (found, expected) = (logp(&lowered, position), host_at(&data, position));
        // Sums of some hundred terms in another order.
        let near = (found - expected).abs() <= 1e-11 * (1.0 + expected.abs());
        assert!(near, "{steps} steps: found {found}, the host has {expected}");
        assert_eq!(scans(&lowered), 1, "scans of {steps} steps");
        sizes.push(size(&lowered));
        let slopes = gradient(&mut lowered, position);
        let largest = slopes.iter().fold(1.0_f64, |most, slope| most.max(slope.abs()));
        for (k, slope) in slopes.iter().enumerate() {
            let moved = |by: f64| {
                let mut shifted = position.to_vec();
                shifted[k] += by;
                host_at(&data, &shifted)
            };
            // Differences of the fourth order: their error is far below what is asked for.
            let h = 1e-4;
            let near = (moved(h) - moved(-h)) / (2.0 * h);
            let far = (moved(2.0 * h) - moved(-2.0 * h)) / (4.0 * h);
            let expected = (4.0 * near - far) / 3.0;
            let fits = (slope - expected).abs() <= 1e-7 * largest;
            assert!(fits, "{steps} steps, element {k}: {slope}, differences give {expected}");
        }
    }
    assert_eq!(sizes[0], sizes[1], "nodes for {lengths:?} steps");
}

#[test]
fn a_state_that_one_of_three_formulas_changes() {
    let text = "parameters { real a; real b; real<lower=0> s; }
        model {
          real x = 0.3;
          for (t in 1:T) {
            if (kind[t] == 1) x = a * x + y[t];
            else if (kind[t] == 2) x = tanh(b * x) - y[t];
            else x = 0.5 * x + a * b;
            y[t] ~ normal(x, s);
          }
          target += 0.1 * x;
        }";
    assert_steps(text, &[0.4, -0.7, 0.2]);
}

#[test]
fn an_array_written_by_one_of_three_formulas() {
    let text = "parameters { real a; real b; real<lower=0> s; }
        transformed parameters {
          vector[T] x;
          x[1] = a;
          for (t in 2:T) {
            if (kind[t] == 1) x[t] = a * x[t - 1] + y[t];
            else if (kind[t] == 2) x[t] = tanh(b * x[t - 1]) - y[t - 1];
            else x[t] = 0.5 * x[t - 1] + a * b;
          }
        }
        model { y ~ normal(x, s); target += x[T %/% 2] * x[3]; }";
    assert_steps(text, &[0.4, -0.7, 0.2]);
}

#[test]
fn volatilities_of_garch() {
    let text = "parameters { real mu; real<lower=0> a0; real<lower=0, upper=1> a1; real<lower=0, upper=1> b1; }
        transformed parameters {
          vector[T] sigma;
          sigma[1] = p[1];
          for (t in 2:T) sigma[t] = sqrt(a0 + a1 * square(y[t - 1] - mu) + b1 * square(sigma[t - 1]));
        }
        model { y ~ normal(mu, sigma); }";
    assert_steps(text, &[0.1, -0.9, -0.6, -0.3]);
}

#[test]
fn several_steps_back_and_starts() {
    let text = "parameters { real a; real b; vector[3] start; }
        model {
          vector[T] x;
          x[1:3] = start;
          for (t in 4:T) {
            x[t] = a * x[t - 1] + 0.3 * b * x[t - 3] + 0.1 * sum(x[(t - 2):(t - 1)]);
            target += normal_lpdf(y[t] | x[t], 1);
          }
          start ~ normal(0, 1);
        }";
    assert_steps(text, &[0.3, -0.5, 0.2, 0.1, -0.4]);
}

/// What the untaken formula would compute is not a number, nor is its slope.
#[test]
fn an_invalid_formula_that_is_not_taken() {
    let text = "parameters { real a; real<lower=0> s; }
        model {
          real x = 0.5; vector[T] z;
          for (t in 1:T) {
            z[t] = 0.1 * a;
            if (y[t] > 0) { x = 0.3 * x + a * log(y[t]); z[t] = a / sqrt(y[t]); }
            else if (kind[t] == 2) { x = abs(a) ^ (y[t]) - 0.2 * x; }
            else x = 0.4 * x + a * log(-y[t] + 0.001) + sqrt(-y[t]) * a;
            target += normal_lpdf(y[t] | x, s);
          }
          z ~ normal(0, s);
        }";
    assert_steps(text, &[0.4, 0.3]);
}

/// Slopes that are infinite at zero, in the branch that is not taken there.
#[test]
fn an_infinite_slope_that_is_not_taken() {
    let text = "parameters { real a; real<lower=0> s; }
        model {
          real x = 0; real q;
          for (t in 1:T) {
            if (t > 2 && kind[t] == 2) q = sqrt(square(x) + 0.5) + log(square(x) + 0.3);
            else if (t == 1) q = a;
            else q = pow(abs(x) + 0.1, 0.5);
            if (t > 1 && kind[t] != 3) x = 0.3 * q + 0.1 * a * y[t];
            else x = x * 0 + q * 0.5;
            if (kind[t] == 1 && t > 1) target += normal_lpdf(y[t] | x, s) + log(x * x);
          }
        }";
    assert_steps(text, &[0.4, 0.3]);
}

#[test]
fn terms_and_checks_hold_under_their_pattern() {
    let text = "parameters { real a; real b; }
        model {
          real x = 0.3;
          for (t in 1:T) {
            if (kind[t] == 4) {
              if (x > 1e6) reject(\"too large\");
              x = 0.9 * x + b;
              target += exponential_lpdf(square(x) + 0.1 | exp(b));
            } else {
              x = a * x + y[t];
              y[t] ~ normal(x, p[t]);
              if (kind[t] == 3) x ~ student_t(4, y[t], exp(a));
            }
          }
        }";
    assert_steps(text, &[0.4, -0.7]);
}

#[test]
fn vectors_and_arrays_of_vectors() {
    let text = "parameters { vector[3] m; real<lower=0> s; }
        model {
          array[T] vector[3] g; vector[3] v = m;
          g[1] = m;
          for (t in 2:T) {
            if (kind[t] == 2) v[2] = tanh(g[t - 1][1]) + 0.2 * v[2];
            else v = 0.5 * v + g[t - 1] * 0.1;
            for (k in 1:3) g[t, k] = log_sum_exp(0.3 * g[t - 1] + y[t] * k) - 0.2 * v[k];
            if (kind[t] == 1) g[t][3] += m[1];
          }
          target += log_sum_exp(g[T]) + 0.01 * sum(g[T - 1]) + 0.1 * v[2];
          y ~ normal(to_vector(g[, 1]), s);
        }";
    assert_steps(text, &[0.2, -0.3, 0.5, 0.1]);
}

#[test]
fn loops_inside_of_steps() {
    let text = "parameters { matrix[2, 2] A; vector[2] m; }
        model {
          matrix[T, 2] x; real total = 0;
          x[1] = m';
          for (t in 2:T) {
            for (i in 1:2) {
              x[t, i] = 0.1 * y[t];
              for (j in 1:2) x[t, i] += 0.4 * tanh(A[i, j]) * x[t - 1, j];
            }
            if (kind[t] > 2) for (i in 1:2) total += x[t, i] * i;
          }
          target += -dot_self(x[T]) - 0.1 * total;
          to_vector(A) ~ normal(0, 1); m ~ normal(0, 1);
        }";
    assert_steps(text, &[0.2, -0.3, 0.5, 0.1, 0.4, -0.2]);
}

/// The places of such elements are found without a call inside of a call for each move: the stack
/// of a test's thread had no room for 6000.
#[test]
fn elements_that_a_step_moves_thousands_of_times() {
    let text = "parameters { vector[3] m; real b; }
        model {
          vector[3] a = m; real x = b;
          for (t in 1:T) {
            for (k in 1:6000) a[2:3] = a[{1, 3}];
            x = tanh(x + a[2]) + 0.1 * y[t];
            a[1] = x;
          }
          target += x - dot_self(a);
        }";
    assert_steps_of(text, &[0.2, -0.3, 0.5, 0.1], [4, 8]);
}

#[test]
fn continue_by_data_and_indices_that_are_handed_on() {
    let text = "parameters { vector[4] m; real<lower=0> s; }
        model {
          vector[T] x = rep_vector(0.5, T); int last = 1; real q = 0;
          for (t in 2:T) {
            x[t] = m[kind[t]];
            if (kind[t] == 3) continue;
            x[t] += 0.3 * x[t - 1] - 0.1 * q;
            if (y[t] > 0.5) { last = kind[t]; q = m[last] * x[t]; }
            target += normal_lpdf(y[t] | x[t] + 0.1 * m[last], s);
          }
        }";
    assert_steps(text, &[0.2, -0.3, 0.5, 0.1, 0.2]);
}

#[test]
fn conditions_on_parameters_inside() {
    let text = "functions {
          real step(real before, real a, int kind) {
            if (kind == 2) return a * before;
            if (before > a) return before - 0.1 * square(before - a);
            return before;
          }
        } // end of functions
        parameters { real a; real b; }
        model {
          real x = 0.3;
          for (t in 1:T) {
            x = step(x, a, kind[t]) + 0.2 * y[t];
            if (x > b && kind[t] != 1) { x -= 0.1 * square(x - b); target += -square(x - b); }
            y[t] ~ normal(x, 1);
          }
        }";
    assert_steps(text, &[0.41, 0.33]);
}

/// A long loop costs one walk: its memory and time are those of its numbers, and the graph has some
/// dozens of nodes.
#[test]
fn a_hundred_thousand_steps_with_branches() {
    let text = format!(
        "{DATA}parameters {{ real a; real b; real<lower=0> s; }}
        model {{
          vector[T] x;
          x[1] = a;
          for (t in 2:T) {{
            if (kind[t] == 1) x[t] = a * x[t - 1] + y[t];
            else if (kind[t] == 2) x[t] = b * x[t - 1] - y[t - 1];
            else x[t] = 0.5 * x[t - 1] + a * b;
          }}
          y ~ normal(x, s);
        }}"
    );
    let program = program(&text);
    let environment = read_data(&program, "data.json", &data(100_000)).unwrap();
    let lowered = lower(&program, &environment, Options::default()).unwrap();
    assert_eq!(scans(&lowered), 1);
    assert!(lowered.lowered.graph.len() < 200, "{} nodes", lowered.lowered.graph.len());
}

/// More lanes than are walked at once: a nest goes by its outer loop, a single loop by blocks.
#[test]
fn loops_with_more_lanes_than_are_walked_at_once() {
    let nest = "parameters { real a; real b; }
        model {
          for (i in 1:20) for (j in 1:i) {
            real u = a * i;
            for (k in 1:7) target += 0.001 * tanh(u + b * j * k);
          }
        }";
    let single = "data { int T; vector[T] y; }
        parameters { real a; real b; }
        model {
          vector[T] m; real total = 0;
          for (t in 1:T) {
            m[t] = a + b * t * 0.01;
            if (t % 3 == 1) continue;
            y[t] ~ normal(m[t], 1);
            total += square(m[t]);
          }
          target += -0.01 * total + sum(m) * 0.001;
        }";
    for text in [nest, single] {
        let program = program(text);
        let data = data(90);
        let data = if text.contains("data {") { data.as_str() } else { "{}" };
        let position = [0.3, -0.2];
        let mut environment = read_data(&program, "data.json", data).unwrap();
        for most in [10, 25, 64] {
            let mut options = Options::default();
            options.most_lanes = most;
            let mut lowered = lower(&program, &environment, options).unwrap();
            let mut host = Interpreter::new(&program, without_constants());
            let expected = host.log_density(&mut environment, &position).unwrap();
            let found = logp(&lowered, &position);
            assert!(
                (found - expected).abs() <= 1e-11 * (1.0 + expected.abs()),
                "{found} {expected}"
            );
            let flat = lower(&program, &environment, Options::default()).unwrap();
            let mut flat = flat;
            let slopes = (gradient(&mut lowered, &position), gradient(&mut flat, &position));
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-10 * (1.0 + b.abs());
            assert!(slopes.0.iter().zip(&slopes.1).all(near), "{slopes:?}");
        }
    }
}

/// What stands behind the `break` of the last iteration is not run, nor are later iterations.
#[test]
fn break_by_data() {
    let text = "parameters { real a; real b; }
        model {
          real x = 0.3; int n = 0;
          for (t in 1:T) {
            n += 1;
            x = a * x + y[t];
            if (t > 20 && kind[t] == 4) { x += b; break; }
            if (kind[t] == 2) x = tanh(b * x);
            target += -square(x) * (n > 30 ? 0.5 : 1);
          }
          target += -b * x;
        }";
    assert_steps_of(text, &[0.4, -0.7], [45, 90]);
}

#[test]
fn a_loop_over_elements_inside_of_ragged_lanes_adds_to_the_lanes_own_variable() {
    let text = "parameters { vector[4] v; vector[4] w; matrix[2, 2] M; }
        model {
          vector[4] a = v;
          for (i in 2:4) {
            a[{2, 1, 4, 3}] = w;
            for (j in 1:i) {
              for (e in M) {
                a[4] += v[4];
                a[{4}] = a[3:3];
              }
            }
          }
          target += dot_product(a, [1, 2, 3, 4]');
        }";
    // In the last step a is (w2, w1, w4, w3), then its last element is its third.
    let position: Vec<f64> = (0..12).map(|k| 0.3 * f64::from(k) - 1.1).collect();
    let lowered = lowered_as_steps(text, "{}");
    let l = &lowered.lowered;
    let input_value = |name: &str| {
        let entry = l.layout.iter().find(|entry| entry.name == name)?;
        let values = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), values.to_vec())
    };
    let found = evaluate(&l.graph, &[l.logp], &input_value).unwrap()[0].values()[0];
    let w = input_value("w").unwrap();
    let w = w.values();
    let expected = w[1] + 2.0 * w[0] + 3.0 * w[3] + 4.0 * w[3];
    assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
}

#[test]
fn a_while_loop_after_steps_on_data_only_is_no_mistake() {
    // What the steps give is known, but not computed while statements are lowered.
    let text = "parameters { real x; }
        model {
          real s = 0.1;
          int n = 0;
          for (t in 1:50) s = 0.5 * s + 0.3 * exp(-s);
          while (n < 3 && s > 0) n += 1;
          target += n * x;
        }";
    let lowered = lowered_as_steps(text, "{}");
    let input_value = |_: &str| Tensor::real(Vec::<usize>::new(), vec![2.0]);
    let found = evaluate(&lowered.lowered.graph, &[lowered.lowered.logp], &input_value).unwrap();
    assert_eq!(found[0].values(), [6.0]);
}
