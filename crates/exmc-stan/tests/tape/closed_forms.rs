//! Programs whose control flow depends on parameters in ways that cannot be lowered, with densities
//! and gradients known in closed form.

use std::f64::consts::PI;
use std::sync::Arc;

use exmc_stan::host::tape::{Evaluator, Options};

use crate::tape::harness::{on_tape, program};

/// A program, and its density and gradient at a position.
type Case = (&'static str, fn(&[f64]) -> (f64, Vec<f64>), Vec<Vec<f64>>);

fn check((text, expected, points): Case) {
    let model = program(text, "{}");
    for point in points {
        let (value, gradient) = on_tape(&model, &point);
        let (exact, slopes) = expected(&point);
        assert!(
            (value - exact).abs() < 1e-11 * exact.abs().max(1.0),
            "{value} for {exact}: {text}"
        );
        for (found, slope) in gradient.iter().zip(&slopes) {
            let near = (found - slope).abs() < 1e-11 * slope.abs().max(1.0);
            assert!(near, "{gradient:?} for {slopes:?} at {point:?}: {text}");
        }
        assert_eq!(gradient.len(), slopes.len());
    }
}

/// A number between 0 and `width`: its value, slope, log Jacobian and the latter's slope.
fn between(z: f64, width: f64) -> [f64; 4] {
    let (p, q) = (1.0 / (1.0 + (-z).exp()), 1.0 / (1.0 + z.exp()));
    [width * p, width * p * q, (width * p * q).ln(), q - p]
}

fn normal(z: f64) -> f64 {
    -0.5 * z * z - 0.5 * (2.0 * PI).ln()
}

fn squares(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum()
}

#[test]
fn assignment_at_indices_that_depend_on_parameters() {
    check((
        "parameters { real<lower=0,upper=3> x; vector[5] v; } model { int n = x > 1 ? 1 : 2;
         array[2] int ii = {n, n + 1}; vector[5] w = v; w[ii] = [1,x]';
         target += -dot_self(w) - sum(square(v)); }",
        |position| {
            let [x, dx, log, dlog] = between(position[0], 3.0);
            let v = &position[1..];
            let first = if x > 1.0 { 0 } else { 1 };
            let mut value = log - 1.0 - x * x - squares(v);
            let mut gradient = vec![dlog - 2.0 * x * dx];
            for (k, v) in v.iter().enumerate() {
                let stays = k != first && k != first + 1;
                value -= if stays { v * v } else { 0.0 };
                gradient.push(if stays { -4.0 * v } else { -2.0 * v });
            }
            (value, gradient)
        },
        vec![vec![1.0, 0.3, -0.4, 0.5, 1.6, -0.7], vec![-1.5, 0.3, -0.4, 0.5, 1.6, -0.7]],
    ));
}

#[test]
fn integer_division_of_a_count() {
    check((
        "parameters { real<lower=0,upper=10> x; } model { int n = 0;
         for (i in 1:10) if (i < x) n += 1; int h = n %/% 2; target += -h * x + (n % 3); }",
        |position| {
            let [x, dx, log, dlog] = between(position[0], 10.0);
            let n = x.ceil() - 1.0;
            let h = (n / 2.0).floor();
            (log - h * x + n % 3.0, vec![dlog - h * dx])
        },
        [-3.0, -0.6, 0.0_f64 + 0.1, 1.0, 2.4].map(|z| vec![z]).to_vec(),
    ));
}

#[test]
fn map_rect_in_a_loop() {
    check((
        "functions { vector f(vector p, vector t, data array[] real xr, data array[] int xi) { return [p[1]*t[1]]'; } }
         transformed data { array[2,0] real xr; array[2,0] int xi; }
         parameters { vector[1] p; array[2] vector[1] t; }
         model { for (i in 1:2) target += -square(sum(map_rect(f, p*i, t, xr, xi))); p ~ normal(0,1);
         for (j in 1:2) t[j] ~ normal(0,1); }",
        |position| {
            let (p, t) = (position[0], position[1] + position[2]);
            let value = -5.0 * p * p * t * t + position.iter().map(|x| normal(*x)).sum::<f64>();
            let by_t = -10.0 * p * p * t;
            (value, vec![-10.0 * p * t * t - p, by_t - position[1], by_t - position[2]])
        },
        vec![vec![0.3, -0.7, 1.9], vec![-1.0, 0.2, 0.1]],
    ));
}

#[test]
fn three_nested_loops() {
    check((
        "parameters { vector[9] a; vector[9] b; vector[9] c; } model { real s = 0;
         for (i in 1:9) for (j in 1:9) for (k in 1:9) s += a[i]*b[j]*c[k]*1e-2;
         target += s; a ~ normal(0,1); b ~ normal(0,1); c ~ normal(0,1); }",
        |position| {
            let sums: Vec<f64> = position.chunks(9).map(|part| part.iter().sum()).collect();
            let value = 1e-2 * sums[0] * sums[1] * sums[2]
                + position.iter().map(|x| normal(*x)).sum::<f64>();
            let others = [sums[1] * sums[2], sums[0] * sums[2], sums[0] * sums[1]];
            let slope = |(k, x): (usize, &f64)| 1e-2 * others[k / 9] - x;
            (value, position.iter().enumerate().map(slope).collect())
        },
        vec![(0..27).map(|k| f64::from(k * k % 11) * 0.1 - 0.4).collect()],
    ));
}

#[test]
fn slices_up_to_what_a_while_loop_counts() {
    check((
        "parameters { real<lower=0,upper=3> x; vector[5] v; } model { int n = 1; while (n < x + 1) n += 1;
         target += -sum(v[1:n]) - sum(square(v)); }",
        |position| {
            let [x, _, log, dlog] = between(position[0], 3.0);
            let n = (x + 1.0).ceil() as usize;
            let value = log - position[1..=n].iter().sum::<f64>() - squares(&position[1..]);
            let slope = |(k, v): (usize, &f64)| -2.0 * v - if k < n { 1.0 } else { 0.0 };
            let slopes = position[1..].iter().enumerate().map(slope);
            (value, std::iter::once(dlog).chain(slopes).collect())
        },
        [-2.0, 0.2, 2.0].map(|z| vec![z, 0.5, -0.25, 1.0, 2.0, -3.0]).to_vec(),
    ));
}

#[test]
fn sizes_that_depend_on_parameters() {
    check((
        "parameters { real<lower=0,upper=3> x; vector[5] v; } model { int n = 1; if (x > 1) n = 2;
         if (x > 2) n = 3; vector[n] w = v[1:n]; target += -dot_self(w); v ~ normal(0,1); }",
        |position| {
            let [x, _, log, dlog] = between(position[0], 3.0);
            let n = 1 + usize::from(x > 1.0) + usize::from(x > 2.0);
            let normals: f64 = position[1..].iter().map(|v| normal(*v)).sum();
            let slope = |(k, v): (usize, &f64)| -v * if k < n { 3.0 } else { 1.0 };
            let slopes = position[1..].iter().enumerate().map(slope);
            (
                log - squares(&position[1..=n]) + normals,
                std::iter::once(dlog).chain(slopes).collect(),
            )
        },
        [-2.0, 0.2, 2.0].map(|z| vec![z, 0.5, -0.25, 1.0, 2.0, -3.0]).to_vec(),
    ));
}

#[test]
fn orders_of_parameters_as_indices() {
    check((
        "parameters { vector[5] x; } model { array[5] int o = sort_indices_asc(x); vector[5] y = x[o];
         y ~ normal([1,2,3,4,5]', 1); vector[5] z; z[o] = y; z ~ normal(0, 1);
         target += -x[o[1]]^2 + rank(x, 2); }",
        |position| {
            let mut order: Vec<usize> = (0..5).collect();
            order.sort_by(|a, b| position[*a].total_cmp(&position[*b]));
            let mut value: f64 = position.iter().map(|x| normal(*x)).sum();
            let mut gradient: Vec<f64> = position.iter().map(|x| -x).collect();
            for (place, k) in order.iter().enumerate() {
                let z = position[*k] - (place + 1) as f64;
                value += normal(z);
                gradient[*k] -= z;
            }
            let least = order[0];
            value += -position[least] * position[least] + position.iter().filter(|x| **x < position[1]).count() as f64;
            gradient[least] -= 2.0 * position[least];
            (value, gradient)
        },
        vec![vec![0.5, -0.3, 2.0, 1.0, -1.0], vec![5.0, 4.0, 3.0, 2.0, 1.0]],
    ));
}

#[test]
fn the_density_so_far_in_a_branch() {
    check((
        "parameters { real x; } model { x ~ normal(0,1); if (x > 0) { target += -target() * 0.1; } }",
        |position| {
            let share = if position[0] > 0.0 { 0.9 } else { 1.0 };
            (share * normal(position[0]), vec![-share * position[0]])
        },
        vec![vec![0.7], vec![-0.7]],
    ));
}

#[test]
fn tuples_from_branches() {
    check((
        "functions { tuple(real, tuple(real, vector)) f(real x) { if (x > 0) return (x, (x, [x,1]'));
         return (-x, (2*x, [1,x]')); } }
         parameters { real x; } model { tuple(real, tuple(real, vector[2])) t = f(x);
         x ~ normal(t.1 + t.2.1 + sum(t.2.2), 1); }",
        |position| {
            let slope = if position[0] > 0.0 { 3.0 } else { 2.0 };
            let z = position[0] - slope * position[0] - 1.0;
            (normal(z), vec![-z * (1.0 - slope)])
        },
        vec![vec![0.7], vec![-0.7]],
    ));
}

/// y' = -k y from y0 at t0: y = y0 exp(-k (t - t0)), whose slopes by all four are known.
#[test]
fn initial_value_problems_with_parameters_everywhere() {
    check((
        "functions { vector f(real t, vector y, real k) { if (k > 5) return y; return -k * y; } }
         parameters { real k; vector[1] y0; real t0; array[2] real<lower=3> ts; }
         model { array[2] vector[1] y = ode_rk45_tol(f, y0, t0, {ts[1], ts[1] + ts[2]}, 1e-13, 1e-13, 100000, k);
         target += y[1, 1] + 2 * y[2, 1] - log(ts[1] - 3) - log(ts[2] - 3); }",
        |position| {
            let (k, y0, t0) = (position[0], position[1], position[2]);
            let (first, second) = (3.0 + position[3].exp(), 3.0 + position[4].exp());
            let y = |t: f64| y0 * (-k * (t - t0)).exp();
            let (a, b) = (y(first), y(first + second));
            let by_k = -(first - t0) * a - 2.0 * (first + second - t0) * b;
            let by_first = -k * a - 2.0 * k * b;
            let slopes = vec![
                by_k,
                (a + 2.0 * b) / y0,
                k * (a + 2.0 * b),
                by_first * position[3].exp(),
                -2.0 * k * b * position[4].exp(),
            ];
            (a + 2.0 * b, slopes)
        },
        vec![vec![0.3, 1.7, 0.4, -0.2, 0.1], vec![0.1, -0.7, -0.4, -0.2, 0.5]],
    ));
}

/// The integral of exp(-k x) from a to b, and the root of x^2 = k.
#[test]
fn integrals_and_roots() {
    check((
        "functions { real f(real x, real xc, array[] real p, data array[] real r, data array[] int i) { return exp(-p[1] * x); }
         vector g(vector x, real k) { return [x[1]^2 - k]'; } }
         transformed data { array[0] real r; array[0] int i; }
         parameters { real k; real a; real b; }
         model { target += integrate_1d(f, a, b, {k}, r, i); target += solve_newton(g, [1]', k)[1]; }",
        |position| {
            let (k, a, b) = (position[0], position[1], position[2]);
            let (low, high) = ((-k * a).exp(), (-k * b).exp());
            let integral = (low - high) / k;
            let by_k = (b * high - a * low) / k - integral / k;
            (integral + k.sqrt(), vec![by_k + 0.5 / k.sqrt(), -low, high])
        },
        vec![vec![1.3, 0.2, 1.9], vec![0.4, -1.0, 2.0]],
    ));
}

/// What `~` leaves out goes by types, as in Stan: a literal scale is constant, a local variable is
/// of the type of parameters.
#[test]
fn constants_are_left_out_by_type() {
    let log_2 = 2.0_f64.ln();
    let cases = [
        ("x ~ normal(0, 2);", -0.7 * 0.7 / 8.0),
        ("real s = 2; x ~ normal(0, s);", -0.7 * 0.7 / 8.0 - log_2),
        ("if (x > 0) 1.0 ~ normal(0, 2); else x ~ normal(9, 9);", 0.0),
        ("real s = 2; if (x > 0) 1.0 ~ normal(0, s);", -0.125 - log_2),
        ("target += normal_lupdf(x | 0, 2) + normal_lupdf(1 | 0, 2);", -0.7 * 0.7 / 8.0),
        ("x ~ own(2);", -0.7 * 0.7 / 8.0),
        ("target += own_lpdf(x | 2);", -0.7 * 0.7 / 8.0 - log_2 - 0.5 * (2.0 * PI).ln()),
        ("add_lp(2);", 0.0),
        ("add_lp(x);", -0.245),
        ("3 ~ poisson(x);", 3.0 * 0.7_f64.ln() - 0.7),
        ("for (s in {2.0}) x ~ normal(0, s);", -0.7 * 0.7 / 8.0),
        ("for (s in {2.0, x}) if (s > 1) 1.0 ~ normal(0, s);", -0.125 - log_2),
        ("y ~ normal(0, x);", -0.5 * (3.0 / 0.7) * (3.0 / 0.7) - 0.7_f64.ln()),
        ("within_lp(2);", 0.0),
        ("within_lp(x);", -0.125 - log_2),
        ("counted_lp((1, 2));", 0.0),
    ];
    for (body, expected) in cases {
        let text = format!(
            "functions {{ real own_lpdf(real x, real s) {{ return normal_lupdf(x | 0, s); }}
               void add_lp(real s) {{ s ~ normal(0, 1); }}
               void within_lp(real s) {{ real t = 2; 1.0 ~ normal(0, t); }}
               void counted_lp(tuple(int, int) n) {{ real t = 2; 1.0 ~ normal(0, t); }} }}
             data {{ real y; }} parameters {{ real x; }} model {{ {body} }}"
        );
        let (program, data) = program(&text, r#"{"y": 3}"#);
        let mut options = Options::default();
        options.proportional = true;
        let mut evaluator = Evaluator::new(Arc::new(program), data, options);
        let found = evaluator.evaluate(&[0.7], &mut [0.0]).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}: {body}");
    }
}
