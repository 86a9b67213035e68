//! Stan programs on the interpreter: those that cannot be compiled by themselves, others when
//! asked; both sample as ever.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use exmc::advanced::{sample, variables};
use exmc::stan::{Interpreter, StanModel, StanOptions};
use exmc::{SamplerConfig, StanProgram};
use exmc_density::{DensityModel, LogDensity};

fn bind(text: &str, data: &str, interpreter: Interpreter) -> Result<StanModel, exmc::Error> {
    let mut options = StanOptions::default();
    options.compile.interpreter = interpreter;
    StanProgram::from_text("test.stan", text)?.bind_with("data", data, &options)
}

fn logp_grad(model: &StanModel, position: &[f64]) -> (f64, Vec<f64>) {
    model.bound().logp_grad(position).unwrap()
}

/// The density where x > 0 is exp(-0.45 x^2), elsewhere exp(-0.5 x^2).
const BRANCH: &str = "parameters { real x; }
    transformed parameters { array[2] real twice = {2 * x, x > 0}; }
    model { x ~ normal(0, 1); if (x > 0) { target += -target() * 0.1; } array[3] int o = {3, 1, 2};
      vector[3] v = [x, 0, 0]'; int n = x > 5 ? 2 : 1; v[o[n:2]] = v[{1, 2}][1:3 - n]; target += 0 * v[1]; }
    generated quantities { real thrice = 3 * x; int sign = x > 0; }";

#[test]
fn a_program_that_cannot_be_compiled_runs_on_the_interpreter_and_says_so() {
    let model = bind(BRANCH, "{}", Interpreter::default()).unwrap();
    assert!(model.bound().is_interpreted());
    let notes = model.warnings();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("test.stan:") && notes[0].contains("interpreter"), "{}", notes[0]);
    let error = bind(BRANCH, "{}", Interpreter::Never).unwrap_err().to_string();
    assert!(error.contains("unsupported"), "{error}");
    for (x, share) in [(-0.7, 0.5), (0.7, 0.45), (1.9, 0.45)] {
        let (value, gradient) = logp_grad(&model, &[x]);
        assert!((value + share * x * x).abs() < 1e-12, "{value} at {x}");
        assert!((gradient[0] + 2.0 * share * x).abs() < 1e-12, "{gradient:?} at {x}");
    }
    let names: Vec<String> = variables(model.bound()).into_iter().map(|v| v.name).collect();
    assert_eq!(names, ["x", "twice", "thrice", "sign"]);
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.seed) = (2, 200, 300, 1);
    let posterior = sample(model.bound(), &config).unwrap();
    for chain in &posterior.chains {
        assert_eq!(chain.infos.len(), 300);
        for row in chain.values.chunks_exact(5) {
            let x = row[0];
            let sign = f64::from(u8::from(x > 0.0));
            assert_eq!(row, [x, 2.0 * x, sign, 3.0 * x, sign]);
        }
    }
    // The variances of both halves are 1/0.9 and 1: the standard deviation is 1.0274, with an error
    // of 3 % or so here.
    let (_, x) = &posterior.summary()[0];
    assert!((0.85..1.2).contains(&x.sd), "{}", x.sd);
}

#[test]
fn asked_for_it_gives_what_the_compiled_density_gives() {
    let text = "data { int N; vector[N] y; } parameters { real mu; real<lower=0> s; simplex[3] p; }
        model { y ~ normal(mu, s); for (i in 1:N) target += log(p[1]) * y[i]; s ~ exponential(1); p ~ dirichlet([2, 1, 3]'); }";
    let data = r#"{"N": 4, "y": [0.3, -1.2, 2.5, 0.1]}"#;
    let compiled = bind(text, data, Interpreter::Never).unwrap();
    let interpreted = bind(text, data, Interpreter::Always).unwrap();
    assert!(interpreted.bound().is_interpreted() && interpreted.warnings().is_empty());
    for position in [[0.2, -0.3, 0.5, 0.1], [-1.0, 0.7, -0.2, 0.9]] {
        let ((a, da), (b, db)) =
            (logp_grad(&compiled, &position), logp_grad(&interpreted, &position));
        assert!((a - b).abs() < 1e-11, "{a} {b}");
        assert!(da.iter().zip(&db).all(|(a, b)| (a - b).abs() < 1e-10), "{da:?} {db:?}");
    }
    let given = compiled.bound().constrain(&[0.2, -0.3, 0.5, 0.1]).unwrap();
    assert_eq!(interpreted.bound().constrain(&[0.2, -0.3, 0.5, 0.1]).unwrap(), given);
}

#[test]
fn without_jacobians_neither_has_any() {
    let text = "parameters { real<lower=0> s; } model { s ~ gamma(3, 1); }";
    let mut options = StanOptions::default();
    options.compile.interpreter = Interpreter::Always;
    options.compile.jacobian = false;
    let program = StanProgram::from_text("test.stan", text).unwrap();
    let model = program.bind_with("data", "{}", &options).unwrap();
    let (value, gradient) = logp_grad(&model, &[0.5]);
    let s = 0.5_f64.exp();
    assert!((value - (2.0 * 0.5 - s)).abs() < 1e-12 && (gradient[0] - (2.0 - s)).abs() < 1e-12);
}

#[test]
fn rejections_and_ends_are_those_of_the_compiled_density() {
    let text = "parameters { real x; } model { vector[2] v = [x, 1]'; x ~ normal(0, 1);
        if (x > 1) reject(\"too large\"); if (x < -1) target += v[x < -2 ? 3 : 2]; }";
    let model = bind(text, "{}", Interpreter::Always).unwrap();
    let mut density = model.bound().instance();
    let mut gradient = [0.0];
    assert_eq!(density.logp_grad(&[2.0], &mut gradient), Ok(f64::NEG_INFINITY));
    let error = density.logp_grad(&[-3.0], &mut gradient).unwrap_err().to_string();
    assert!(error.contains("index 3 is out of range") && error.contains("test.stan:2"), "{error}");
    assert_eq!(density.logp_grad(&[-1.5], &mut gradient), Ok(-0.125));
}

/// Each iteration takes one off: beyond 128 of them the compiled density does not know the loop's
/// end.
#[test]
fn a_while_loop_goes_on_beyond_what_is_compiled() {
    let text = "parameters { real x; }
        transformed parameters { real z = x; real trips = 0; while (z > 0) { z -= 1; trips += 1; } }
        model { target += 0.3 * cos(2 * pi() * z) - square(x - 126) / 8; }";
    let turn = 2.0 * std::f64::consts::PI;
    let model = bind(text, "{}", Interpreter::Never).unwrap();
    assert!(!model.bound().is_interpreted());
    for x in [100.5_f64, 127.75, 128.25, 300.5, 1000.125] {
        let (value, gradient) = logp_grad(&model, &[x]);
        let z = x - x.ceil();
        let expected = 0.3 * (turn * z).cos() - (x - 126.0).powi(2) / 8.0;
        assert!((value - expected).abs() < 1e-12 * expected.abs().max(1.0), "{value} at {x}");
        let slope = -0.3 * turn * (turn * z).sin() - (x - 126.0) / 4.0;
        assert!((gradient[0] - slope).abs() < 1e-12 * slope.abs().max(1.0), "{gradient:?} at {x}");
    }
    // Chains side by side in the lanes of one thread, on both sides of the limit.
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.seed) = (4, 200, 500, 3);
    config.threads = 1;
    let posterior = sample(model.bound(), &config).unwrap();
    let (mut beyond, mut all) = (0.0, 0.0);
    for row in posterior.chains.iter().flat_map(|chain| chain.values.chunks_exact(3)) {
        let x = row[0];
        assert_eq!(row, [x, x - x.ceil(), x.ceil()]);
        all += 1.0;
        beyond += f64::from(u8::from(x > 128.0));
    }
    // Its probability by a sum over a fine grid; the error of the share of 2000 draws, of which one
    // in four counts, is 0.016.
    let grid = (0..400_000).map(|k| 106.0 + f64::from(k) * 1e-4 + 5e-5);
    let density = |x: f64| (0.3 * (turn * x).cos() - (x - 126.0).powi(2) / 8.0).exp();
    let (upper, mass) = grid.map(|x| (x, density(x))).fold((0.0, 0.0), |(upper, mass), (x, w)| {
        (if x > 128.0 { upper + w } else { upper }, mass + w)
    });
    assert!((beyond / all - upper / mass).abs() < 0.08, "{} {}", beyond / all, upper / mass);
}
