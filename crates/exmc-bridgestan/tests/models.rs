//! Densities, transforms, names, messages and threads of model libraries, against closed forms.

use std::f64::consts::PI;
use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::library::{Loaded, prebuilt};

const BERNOULLI: &str = "data { int<lower=0> N; array[N] int<lower=0, upper=1> y; }
parameters { real<lower=0, upper=1> theta; }
model { theta ~ beta(1, 1); y ~ bernoulli(theta); }";
const COINS: &str = r#"{"N": 10, "y": [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]}"#;

/// Differences of gradients have errors of about 1e-10 of the Hessian's size; values and gradients
/// are right to rounding.
fn close(found: f64, expected: f64, tolerance: f64) {
    let size = expected.abs().max(1.0);
    assert!((found - expected).abs() <= tolerance * size, "{found}, expected {expected}");
}

#[test]
fn densities_are_those_of_closed_forms_with_and_without_constants_and_jacobians() {
    // y = exp(x) is half normal: log density -y^2/2, constant -log(2 pi)/2, log Jacobian x.
    let library =
        Loaded::new("half", "parameters { real<lower=0> y; } model { y ~ normal(0, 1); }");
    let model = library.model("").unwrap();
    assert_eq!((model.dim(), model.unconstrained_names()), (1, "y".to_owned()));
    for x in [-1.5, 0.0, 0.7] {
        let y: f64 = f64::exp(x);
        for (propto, jacobian) in [(true, true), (true, false), (false, true), (false, false)] {
            let constant = if propto { 0.0 } else { -0.5 * (2.0 * PI).ln() };
            let (log, slope) = if jacobian { (x, 1.0) } else { (0.0, 0.0) };
            let (value, gradient, hessian) = model.hessian(&[x], (propto, jacobian)).unwrap();
            close(value, -0.5 * y * y + constant + log, 1e-14);
            close(model.log_density(&[x], (propto, jacobian)).unwrap(), value, 0.0);
            close(gradient[0], -y * y + slope, 1e-14);
            close(hessian[0], -2.0 * y * y, 1e-9);
        }
        close(model.hessian_product(&[x], &[3.0]).unwrap()[0], -6.0 * y * y, 1e-9);
    }
}

#[test]
fn hessians_and_their_products_have_the_order_of_the_names() {
    // Precision [[2, 1, 0], [1, 3, 0], [0, 0, 5]] over b[1], b[2], a: declared in this order, which
    // is not that of the alphabet.
    let text = "parameters { vector[2] b; real a; }
        model { target += -0.5 * (2 * b[1]^2 + 2 * b[1] * b[2] + 3 * b[2]^2 + 5 * a^2); }";
    let library = Loaded::new("quadratic", text);
    let model = library.model("{}").unwrap();
    assert_eq!(model.unconstrained_names(), "b.1,b.2,a");
    let theta = [0.3, -1.0, 2.0];
    let (value, gradient, hessian) = model.hessian(&theta, (true, true)).unwrap();
    close(value, -0.5 * (2.0 * 0.09 - 0.6 + 3.0 + 20.0), 1e-14);
    let expected = [-(0.6 - 1.0), -(0.3 - 3.0), -10.0];
    gradient.iter().zip(expected).for_each(|(g, e)| close(*g, e, 1e-14));
    let rows = [-2.0, -1.0, 0.0, -1.0, -3.0, 0.0, 0.0, 0.0, -5.0];
    hessian.iter().zip(rows).for_each(|(h, e)| close(*h, e, 1e-9));
    let product = model.hessian_product(&theta, &[1.0, 2.0, -1.0]).unwrap();
    product.iter().zip([-4.0, -7.0, 5.0]).for_each(|(p, e)| close(*p, e, 1e-9));
    assert_eq!(model.hessian_product(&theta, &[0.0; 3]).unwrap(), [0.0; 3]);
}

#[test]
fn nothing_is_integrated_out_or_moved_to_other_coordinates() {
    let text = "data { int J; vector[J] y; } parameters { real mu; real<lower=0> tau; vector[J] theta; }
        model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); theta ~ normal(mu, tau); y ~ normal(theta, 2); }";
    let library = Loaded::new("schools", text);
    let model = library.model(r#"{"J": 3, "y": [1, -2, 4]}"#).unwrap();
    assert_eq!(model.unconstrained_names(), "mu,tau,theta.1,theta.2,theta.3");
    let (mu, log_tau, theta): (f64, f64, [f64; 3]) = (0.5, 0.2, [1.0, 0.0, -1.0]);
    let tau: f64 = log_tau.exp();
    let normal =
        |x: f64, m: f64, s: f64| -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * PI).ln();
    let mut logp = normal(mu, 0.0, 5.0) - (PI * 5.0 * (1.0 + (tau / 5.0).powi(2))).ln() + log_tau;
    for (t, y) in theta.iter().zip([1.0, -2.0, 4.0]) {
        logp += normal(*t, mu, tau) + normal(y, *t, 2.0);
    }
    let position = [mu, log_tau, theta[0], theta[1], theta[2]];
    close(model.log_density(&position, (false, true)).unwrap(), logp, 1e-13);
}

#[test]
fn matrices_lie_column_by_column_and_simplexes_have_one_coordinate_less() {
    let text = "parameters { matrix[2, 3] a; simplex[3] p; }
        transformed parameters { array[2] real twice = {2 * a[1, 1], 2 * a[2, 3]}; }
        model { to_vector(a) ~ std_normal(); }
        generated quantities { int six = 6; }";
    let library = Loaded::new("shapes", text);
    let model = library.model("").unwrap();
    let a = "a.1.1,a.2.1,a.1.2,a.2.2,a.1.3,a.2.3";
    assert_eq!(model.names(false, false), format!("{a},p.1,p.2,p.3"));
    assert_eq!(model.names(true, true), format!("{a},p.1,p.2,p.3,twice.1,twice.2,six"));
    assert_eq!(model.names(false, true), format!("{a},p.1,p.2,p.3,six"));
    assert_eq!(model.unconstrained_names(), format!("{a},p.1,p.2"));
    assert_eq!([model.count(false, false), model.count(true, false), model.dim()], [9, 11, 8]);
    let theta = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0];
    let values = model.constrain(&theta, (true, true), Some(&library.stream(1))).unwrap();
    assert_eq!(values[..6], theta[..6]);
    values[6..9].iter().for_each(|p| close(*p, 1.0 / 3.0, 1e-15));
    assert_eq!(values[9..], [2.0, 12.0, 6.0]);
    // And back.
    let theta = [0.1, -2.0, 0.3, 4.0, 0.5, -0.6, 0.7, -0.8];
    let values = model.constrain(&theta, (false, false), None).unwrap();
    let back = model.unconstrain(&values).unwrap();
    back.iter().zip(theta).for_each(|(x, e)| close(*x, e, 1e-13));
    let json = format!(
        r#"{{"a": [[0.1, 0.3, 0.5], [-2.0, 4.0, -0.6]], "p": [{}, {}, {}]}}"#,
        values[6], values[7], values[8]
    );
    let back = model.unconstrain_json(&json).unwrap();
    back.iter().zip(theta).for_each(|(x, e)| close(*x, e, 1e-13));
    // Shares that do not sum to one are of no position.
    let mut values = values;
    values[6] += 0.1;
    let told = model.unconstrain(&values).unwrap_err();
    assert!(told.contains("`p` does not fit its type"), "{told}");
}

#[test]
fn two_models_in_one_process_are_their_own_programs() {
    let (coins, other) = (
        Loaded::new("coins", BERNOULLI),
        Loaded::new("other", "parameters { real x; } model { x ~ normal(3, 1); }"),
    );
    let first = coins.model(COINS).unwrap();
    let second = coins.model(r#"{"N": 1, "y": [1]}"#).unwrap();
    let third = other.model("").unwrap();
    assert_eq!((first.name(), third.name()), ("coins_model".to_owned(), "other_model".to_owned()));
    assert!(
        first.info().contains("STAN_THREADS=true") && first.info().contains("STAN_OPENCL=false")
    );
    assert!(first.info().starts_with("BridgeStan version: 2.9.0\n"));
    // theta is 1/2 at 0: two heads in ten, one in one.
    let half = f64::ln(0.5);
    close(first.log_density(&[0.0], (false, false)).unwrap(), 10.0 * half, 1e-14);
    close(second.log_density(&[0.0], (false, true)).unwrap(), half + f64::ln(0.25), 1e-14);
    close(third.log_density(&[1.0], (true, true)).unwrap(), -2.0, 1e-14);
}

#[test]
fn data_come_from_a_file_too_and_mistakes_are_told_with_their_places() {
    let library = Loaded::new("coins", BERNOULLI);
    let path = std::env::temp_dir().join(format!("exmc-coins-{}.json", std::process::id()));
    std::fs::write(&path, COINS).unwrap();
    let model = library.model(path.to_str().unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    close(model.log_density(&[0.0], (true, false)).unwrap(), 10.0 * f64::ln(0.5), 1e-14);
    let told = |data: &str| library.model(data).map(drop).unwrap_err();
    let missing = told("");
    assert!(missing.contains("`N`") && missing.contains("coins.stan:1"), "{missing}");
    let outside = told(r#"{"N": 1, "y": [2]}"#);
    assert!(outside.contains("y[1]") && outside.starts_with("model_construct: "), "{outside}");
    assert!(told("/nowhere/data.json").contains("cannot read the data file"));
    assert!(told("{").contains("data:1"), "{}", told("{"));
    let json = |text: &str| model.unconstrain_json(text).unwrap_err();
    assert!(json("{}").contains("no value of the parameter `theta`"));
    assert!(json(r#"{"theta": 2}"#).contains("theta"));
    assert!(model.unconstrain(&[1.5]).unwrap_err().contains("`theta`"));
    let alone = Loaded::load(&prebuilt()).unwrap();
    assert!(alone.model("").map(drop).unwrap_err().contains("no program behind it"));
    let wrong = Loaded::new("wrong", "parameters { real x; } model { y ~ normal(0, 1); }");
    let text = wrong.model("").map(drop).unwrap_err();
    assert!(text.contains("wrong.stan:1:") && text.contains("`y`"), "{text}");
}

#[test]
fn statements_that_reject_tell_why_where_they_are_reached() {
    let text = "parameters { real y; }
        transformed parameters { real<lower=0> z = y + 1; if (y > 2) reject(\"too large: \", y); }
        model { y ~ normal(0, z); }
        generated quantities { real w = z; if (y > 1) reject(\"no quantities\"); }";
    let library = Loaded::new("rejects", text);
    let model = library.model("").unwrap();
    let stream = library.stream(3);
    assert_eq!(model.constrain(&[0.5], (true, true), Some(&stream)).unwrap(), [0.5, 1.5, 1.5]);
    let both = model.constrain(&[1.5], (true, true), Some(&stream)).unwrap_err();
    assert!(both.contains("no quantities") && both.contains("rejects.stan:4"), "{both}");
    assert_eq!(model.constrain(&[1.5], (true, false), None).unwrap(), [1.5, 2.5]);
    let large = model.log_density(&[3.0], (true, true)).unwrap_err();
    assert!(large.contains("too large: 3") && large.contains("rejects.stan:2"), "{large}");
    assert_eq!(model.constrain(&[3.0], (false, false), None).unwrap(), [3.0]);
    let negative = model.log_density(&[-2.0], (true, true)).unwrap_err();
    assert!(negative.contains("`z`"), "{negative}");
    let without = model.constrain(&[0.5], (false, true), None).unwrap_err();
    assert!(without.contains("stream"), "{without}");
    // One that is always reached leaves names and transforms usable.
    let always = Loaded::new("always", "parameters { real y; } model { reject(\"never\"); }");
    let model = always.model("").unwrap();
    assert_eq!(model.constrain(&[0.5], (true, true), Some(&stream)).unwrap(), [0.5]);
    assert!(model.log_density(&[0.0], (true, true)).unwrap_err().contains("never"));
}

#[test]
fn streams_repeat_under_their_seed_and_go_on_from_use_to_use() {
    let text = "parameters { real mu; } model { mu ~ normal(0, 1); }
        generated quantities { real y = normal_rng(mu, 1); }";
    let library = Loaded::new("random", text);
    let model = library.model("").unwrap();
    let draw = |stream: &_| model.constrain(&[100.0], (false, true), Some(stream)).unwrap()[1];
    let (first, again, other) = (library.stream(7), library.stream(7), library.stream(8));
    let drawn: Vec<f64> = (0..1000).map(|_| draw(&first)).collect();
    assert_eq!(drawn, (0..1000).map(|_| draw(&again)).collect::<Vec<_>>());
    assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]) && draw(&other) != drawn[0]);
    // The mean of 1000 standard normal numbers around 100 lies within 5 standard errors of it: the
    // seed is fixed, so this does not fail by chance.
    let mean = drawn.iter().sum::<f64>() / 1000.0;
    assert!((mean - 100.0).abs() < 5.0 / f64::sqrt(1000.0), "{mean}");
    // Transformed data have the seed of the model.
    let text = "transformed data { real shift = normal_rng(0, 1); }
        parameters { real x; } model { target += shift * x; }";
    let library = Loaded::new("shift", text);
    let density_of_seed =
        |seed| library.seeded("", seed).unwrap().log_density(&[1.0], (true, true)).unwrap();
    assert!(density_of_seed(1) == density_of_seed(1) && density_of_seed(1) != density_of_seed(2));
}

#[test]
fn initial_values_are_what_is_given_and_within_the_radius_otherwise() {
    let text =
        "parameters { real a; real<lower=0> b; } model { a ~ normal(0, 1); b ~ exponential(1); }";
    let library = Loaded::new("start", text);
    let (model, stream) = (library.model("").unwrap(), library.stream(1));
    let first = model.initialize(None, &stream, (0.5, 10)).unwrap();
    assert!(first.iter().all(|x| x.abs() <= 0.5), "{first:?}");
    assert_ne!(first, model.initialize(None, &stream, (0.5, 10)).unwrap());
    let given = model.initialize(Some(r#"{"b": 2}"#), &stream, (0.0, 10)).unwrap();
    close(given[1], f64::ln(2.0), 1e-15);
    assert_eq!(given[0], 0.0);
    let error = model.initialize(None, &stream, (2.0, 0)).unwrap_err();
    assert!(error.contains("failed after 0 tries"), "{error}");
}

#[test]
fn threads_share_a_model_and_find_the_same_numbers() {
    let library = Loaded::new("coins", BERNOULLI);
    let model = library.model(COINS).unwrap();
    let expected: Vec<_> =
        (0..50).map(|k| model.hessian(&[f64::from(k) / 10.0], (false, true)).unwrap()).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (k, expected) in (0..).zip(&expected) {
                    let found = model.hessian(&[f64::from(k) / 10.0], (false, true)).unwrap();
                    assert_eq!(found, *expected);
                }
            });
        }
    });
}

static PRINTED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn count(_text: *const c_char, _size: usize) {
    PRINTED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn what_a_program_prints_goes_to_the_callback_line_and_end_apart() {
    let text = "parameters { real x; } model { x ~ normal(0, 1); print(\"x = \", x); }
        generated quantities { print(\"done\"); }";
    let library = Loaded::new("prints", text);
    let model = library.model("").unwrap();
    library.set_print(Some(count));
    model.log_density(&[0.5], (true, true)).unwrap();
    assert_eq!(PRINTED.load(Ordering::SeqCst), 2);
    let stream = library.stream(1);
    model.constrain(&[0.5], (false, true), Some(&stream)).unwrap();
    assert_eq!(PRINTED.load(Ordering::SeqCst), 4);
    model.constrain(&[0.5], (false, false), None).unwrap();
    assert_eq!(PRINTED.load(Ordering::SeqCst), 4);
    library.set_print(None);
}

#[test]
fn every_function_of_the_header_is_there() {
    let header = include_str!("../include/bridgestan.h");
    let library = Loaded::load(&prebuilt()).unwrap();
    let mut found = 0;
    for line in header.lines().filter(|line| line.starts_with("BS_PUBLIC")) {
        let start = line.find("bs_").filter(|_| !line.contains("extern"));
        let Some(name) = start.and_then(|_| {
            line.split(['(', ' ', '*'])
                .rfind(|w| w.starts_with("bs_") && line.contains(&format!("{w}(")))
        }) else {
            continue;
        };
        // SAFETY: the symbol is looked up and not called.
        let symbol = unsafe { library.0.get::<*const ()>(name.as_bytes()) };
        assert!(symbol.is_ok(), "{name}");
        found += 1;
    }
    assert_eq!(found, 20);
}
