//! Promises about a run that no moment shows, or that it shows too late: a name -> kept or broken.

use exmc::advanced::{BoundModel, CompileOptions, compile, sample_with};
use exmc::diagnose::gate::KnownMoments;
use exmc::distributions::{normal, student_t};
use exmc::infer::{InverseMetric, MetricKind, WarmStart};
use exmc::model::{Expr, Tensor, Values};
use exmc::stan::{Interpreter, StanOptions};
use exmc::{ModelBuilder, SamplerConfig, StanProgram};
use exmc_density::{DensityModel, EvaluationError, Failing, Failure, FailureKind, LogDensity};
use exmc_math::random::{ChainRng, Phase};

use crate::gates::{GateSettings, METRICS, run_gate};
use crate::random_models::compare_gradient;
use crate::records;
use crate::targets::{Known, Target, target, targets};

/// Every check, by name: what it promises.
pub const CHECKS: [(&str, &str); 13] = [
    (
        "gradients",
        "gradients of every target, and of a gather that no rewrite removes, agree with differences",
    ),
    ("interpreter", "gradients of an interpreted program agree with differences"),
    ("energy", "small steps in the right metric keep the energy"),
    ("streams", "chains that start at the same point draw different numbers"),
    ("frozen-step", "the step size does not change after warmup"),
    ("far-start", "a start 100 standard deviations away is forgotten before the first draw"),
    ("wall", "draws keep off a region where the density is no number, with the right moments"),
    (
        "quantities",
        "generated quantities are those of their own draw, with random numbers of their own",
    ),
    ("wall-metric", "divergences at a wall do not spoil the metric"),
    (
        "recovered",
        "positions that cannot be evaluated are no divergences and leave the step size alone",
    ),
    ("run-files", "a run's files hold every bit of its draws, and say where they are damaged"),
    ("diagnostics", "summaries are those that ArviZ gives"),
    ("predictions", "leave-one-out, WAIC and sensitivities are those that ArviZ gives"),
];

/// Runs one check.
///
/// # Errors
/// The sentence that says how the promise was broken, or that there is no such check.
pub fn check(name: &str) -> Result<(), String> {
    match name {
        "gradients" => gradients(),
        "interpreter" => interpreter(),
        "energy" => energy(),
        "streams" => streams(),
        "frozen-step" => frozen_step(),
        "far-start" => far_start(),
        "wall" => wall_moments(),
        "quantities" => quantities(),
        "wall-metric" => wall_metric(),
        "recovered" => recovered(),
        "run-files" => records::run_files(),
        "diagnostics" => records::diagnostics(),
        "predictions" => records::predictions(),
        _ => Err(format!("there is no check `{name}`")),
    }
}

fn known_target(name: &str) -> Target {
    target(name).expect("the name is one of `targets`")
}

fn short() -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.warmup, config.draws, config.threads, config.seed) = (500, 500, 1, 12);
    config
}

/// Five-point differences at random points; a point off the smooth part by chance would fail by far
/// more than the tolerance, so the points are fixed by the seed.
fn gradients() -> Result<(), String> {
    let mut rng = ChainRng::new(31, 0, Phase::Predictive);
    let known = targets().into_iter().map(|target| (target.name, target.bind()));
    for (name, model) in known.chain([("robust groups", robust_groups()?)]) {
        let dim = model.compiled().dim();
        for _ in 0..5 {
            let point: Vec<f64> = (0..dim).map(|_| 2.0 * rng.uniform() - 1.0).collect();
            compare_gradient(&model, &point).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    Ok(())
}

/// The same of a Stan program whose statements the interpreter runs.
fn interpreter() -> Result<(), String> {
    let text = "parameters { real x; vector[3] v; real<lower=0> s; }
        model { x ~ normal(0, s + 1); vector[3] w = v; w[2] = x; for (i in 1:3) w[i] /= s + i;
        int n = x > 0 ? 2 : 3; target += -dot_self(w[1:n]) + x / (s + 2);
        if (s > 0.7) target += -0.1 * target(); v ~ normal(0, 1); }";
    let mut options = StanOptions::default();
    options.compile.interpreter = Interpreter::Always;
    let program = StanProgram::from_text("interpreter.stan", text).map_err(|e| e.to_string())?;
    let model = program.bind_with("data", "{}", &options).map_err(|e| e.to_string())?;
    for point in [[0.5, -0.8, 0.3, 1.1, 0.2], [-0.6, 0.4, 0.9, -0.7, -0.9]] {
        compare_gradient(model.bound(), &point)?;
    }
    Ok(())
}

/// Rows that choose their group's level by a repeated index, with a density that collapses to no
/// sufficient statistics, so that the gradient adds up row by row.
fn robust_groups() -> Result<BoundModel, String> {
    let mut m = ModelBuilder::new();
    m.data("group", Tensor::indices(&[0, 1, 0, 2, 1, 0, 2, 0]));
    m.rv("a", normal(0.0, 1.0)).shape([3]);
    m.rv("y", student_t(4.0, Expr::name("a").gather("group"), 0.5));
    m.observe("y_obs", "y", [0.3, -1.2, 0.8, 2.1, -0.4, 0.1, 1.7, -0.6]);
    let model = m.build().map_err(|e| e.to_string())?;
    let compiled = compile(&model, &CompileOptions::default()).map_err(|e| e.to_string())?;
    compiled.bind(&Values::new()).map_err(|e| e.to_string())
}

/// A leapfrog step of 0.1 standard deviations has an energy error near $0.1^2/8$ times a sum over
/// 10 coordinates of differences of squares, whose standard deviation is below 10: 0.1 is far out,
/// and a kinetic energy that ignores the metric is off by tens.
fn energy() -> Result<(), String> {
    let target = known_target("normal-10");
    let model = target.bind();
    let sd = |i: usize| exmc_math::exp(std::f64::consts::LN_10 * (2.0 * i as f64 / 9.0 - 1.0));
    let variances: Vec<f64> = (0..10).map(|i| sd(i) * sd(i)).collect();
    let mut config = short();
    (config.warmup, config.draws, config.max_depth) = (0, 200, 6);
    config.warm_start = Some(WarmStart {
        step_size: 0.1,
        inverse_metric: InverseMetric::Diagonal(variances),
        adapt_metric: false,
        positions: Vec::new(),
    });
    // A start in the typical set, or else falling into it would take energy errors with it.
    let means: Vec<f64> = (0..10).map(|i| 3.0 * sd(i) * i as f64 / 9.0 + sd(i)).collect();
    let start = Values::from([("x".to_owned(), exmc::model::Tensor::vector(&means))]);
    let posterior =
        sample_with(&model, &config, &[start], &exmc::infer::Silent).map_err(|e| e.to_string())?;
    let errors = posterior.chains.iter().flat_map(|c| c.infos.iter().map(|i| i.max_energy_error));
    let worst = errors.fold(0.0, |worst: f64, e| worst.max(e.abs()));
    // Asked so that a NaN does not pass.
    let kept = worst < 0.1;
    if kept { Ok(()) } else { Err(format!("an energy error of {worst}")) }
}

fn streams() -> Result<(), String> {
    let model = known_target("normal-10").bind();
    let start = Values::from([("x".to_owned(), exmc::model::Tensor::vector(&[0.5; 10]))]);
    let posterior =
        sample_with(&model, &short(), &[start], &exmc::infer::Silent).map_err(|e| e.to_string())?;
    for (i, a) in posterior.chains.iter().enumerate() {
        for b in &posterior.chains[..i] {
            if a.values.first() == b.values.first() || a.values == b.values {
                return Err(format!("chains {} and {} draw the same", b.chain, a.chain));
            }
        }
    }
    Ok(())
}

fn frozen_step() -> Result<(), String> {
    let model = known_target("eight-schools").bind();
    let posterior =
        sample_with(&model, &short(), &[], &exmc::infer::Silent).map_err(|e| e.to_string())?;
    for chain in &posterior.chains {
        let first = chain.infos[0].step_size;
        if let Some(info) = chain.infos.iter().find(|info| info.step_size != first) {
            let found = info.step_size;
            return Err(format!("chain {}: step size {first}, later {found}", chain.chain));
        }
    }
    Ok(())
}

fn gate(target: &Target, metric: MetricKind, wanted: f64) -> Result<(), String> {
    let mut settings = GateSettings::default();
    (settings.metric, settings.wanted) = (metric, wanted);
    let rows = run_gate(target, &settings)?;
    match rows.iter().find(|row| !row.passed()) {
        Some(row) => Err(row.to_string()),
        None => Ok(()),
    }
}

fn far_start() -> Result<(), String> {
    let mut target = known_target("normal-1");
    target.start = Values::from([("x".to_owned(), exmc::model::Tensor::scalar(100.0))]);
    gate(&target, MetricKind::Diag, 0.2)
}

/// A standard normal whose log density is NaN above 0.5. Kurtosis by the recursion of truncated
/// moments.
fn wall() -> Target {
    let mut model = ModelBuilder::new();
    model.rv("x", normal(0.0, 1.0));
    let inside = Expr::name("x").lt(0.5);
    model.potential("wall", inside.select(0.0, f64::NAN));
    // E x = -phi(0.5)/Phi(0.5), E x^2 = 1 + 0.5 E x, E x^3 = 2 E x + 0.25 E x, E x^4 = 3 E x^2 +
    // 0.125 E x.
    let m1 = -0.509_160_432_770_474_7;
    let (m2, m3) = (1.0 + 0.5 * m1, 2.25 * m1);
    let m4 = 3.0 * m2 + 0.125 * m1;
    let variance = m2 - m1 * m1;
    let fourth = m4 - 4.0 * m3 * m1 + 6.0 * m2 * m1 * m1 - 3.0 * m1 * m1 * m1 * m1;
    let kurtosis = Some(fourth / (variance * variance));
    let known =
        Known { variable: "x", element: 0, moments: KnownMoments { mean: m1, variance, kurtosis } };
    Target {
        name: "wall",
        model: model.build().expect("the model is sound"),
        known: vec![known],
        start: Values::from([("x".to_owned(), exmc::model::Tensor::scalar(-0.5))]),
        target_accept: 0.8,
        marginalise: false,
    }
}

fn wall_moments() -> Result<(), String> {
    for (_, metric) in METRICS {
        let mut config = short();
        config.metric = metric;
        let target = wall();
        let model = target.bind();
        let posterior =
            sample_with(&model, &config, std::slice::from_ref(&target.start), &exmc::infer::Silent)
                .map_err(|e| e.to_string())?;
        let draws = posterior.draws_of("x", 0).expect("x is recorded");
        if let Some(x) = draws.iter().flatten().find(|x| **x > 0.5) {
            return Err(format!("a draw beyond the wall: {x}"));
        }
        if posterior.diagnostics().divergences == 0 {
            return Err("no transition that met the wall was counted as divergent".to_owned());
        }
        gate(&wall(), metric, 0.05)?;
    }
    Ok(())
}

/// Estimates from a few hundred draws lie within a factor of 1.7 of what each metric estimates: the
/// variance, 0.486, or $\sqrt{\mathrm{var}(x)/\mathrm{var}(\partial)}$, which is 1 as the gradient
/// is $-x$. End points beyond the wall would raise the variance to more than 0.9.
fn wall_metric() -> Result<(), String> {
    let target = wall();
    let model = target.bind();
    let variance = target.known[0].moments.variance;
    for (name, metric) in METRICS {
        let mut config = short();
        (config.metric, config.chains) = (metric, 8);
        // No step is short enough for a wall; shorter ones only make draws dependent, and estimates
        // from them less exact.
        config.raise_target_accept = false;
        let expected = match metric {
            MetricKind::Stan | MetricKind::Dense => variance,
            _ => 1.0,
        };
        let posterior =
            sample_with(&model, &config, std::slice::from_ref(&target.start), &exmc::infer::Silent)
                .map_err(|e| e.to_string())?;
        for chain in &posterior.chains {
            let tuned = chain.tuned.as_ref().ok_or("a chain did not start")?;
            let found = diagonal(&tuned.inverse_metric);
            let within = found > expected / 1.7 && found < expected * 1.7;
            if !within {
                let chain = chain.chain;
                return Err(format!("{name}, chain {chain}: metric {found}, expected {expected}"));
            }
        }
    }
    Ok(())
}

fn diagonal(metric: &InverseMetric) -> f64 {
    metric.diagonal()[0]
}

/// A standard normal that cannot be evaluated at every twentieth position or so, wherever that is:
/// where failures say nothing about the step size, the step size is the one without them.
fn recovered() -> Result<(), String> {
    let step_size = |every: u64| {
        let model =
            Failing::new(Normal, Failure::new(FailureKind::Recoverable).after(100).every(every));
        let mut config = short();
        (config.chains, config.warmup) = (8, 1000);
        let run = exmc_infer::sample(&model, &[], &config, &exmc::infer::Silent);
        let run = run.map_err(|e| e.to_string())?;
        let total = |count_of: fn(&exmc_infer::ChainResult) -> u64| {
            run.chains.iter().map(count_of).sum::<u64>()
        };
        let steps: f64 =
            run.chains.iter().filter_map(|c| c.tuned.as_ref()).map(|t| t.step_size).sum();
        Ok::<_, String>((steps / 8.0, total(|c| c.recovered), total(|c| c.divergences)))
    };
    let (without, none, _) = step_size(0)?;
    let (with, failures, divergences) = step_size(20)?;
    if none != 0 || failures < 100 || divergences != 0 {
        return Err(format!(
            "{failures} failures ({none} without any) and {divergences} divergences"
        ));
    }
    // With the failures in the acceptance statistic it is lower by a third.
    let within = (with / without - 1.0).abs() < 0.12;
    if within { Ok(()) } else { Err(format!("step size {with}, without failures {without}")) }
}

/// Ten independent standard normals.
#[derive(Clone, Copy)]
struct Normal;

impl LogDensity for Normal {
    fn dim(&self) -> usize {
        10
    }
    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        g.iter_mut().zip(q).for_each(|(g, q)| *g = -q);
        Ok(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

impl DensityModel for Normal {
    type Instance = Self;
    fn dim(&self) -> usize {
        10
    }
    fn instance(&self) -> Self {
        *self
    }
}

/// Quantities by compiled code (`compiled`) and by the interpreter (`read`, which a random number
/// that counts for nothing keeps there) against their formulas in the recorded parameters; and
/// standard normal numbers against their moments.
fn quantities() -> Result<(), String> {
    const TEXT: &str = "parameters { matrix[2, 3] m; real<lower=0> s; }
        model { to_vector(m) ~ std_normal(); s ~ exponential(1); }
        generated quantities {
          real compiled = 2 * m[1, 3] + s;
          real read = m[1, 2] - 3 * m[2, 1] + 0 * normal_rng(0, 1);
          real noise = normal_rng(0, 1);
        }";
    let program = StanProgram::from_text("quantities.stan", TEXT).map_err(|e| e.to_string())?;
    let model = program.bind("data", "{}").map_err(|e| e.to_string())?;
    let mut config = short();
    (config.chains, config.draws) = (2, 500);
    let posterior = sample_with(model.bound(), &config, &[], &exmc::infer::Silent);
    let posterior = posterior.map_err(|e| e.to_string())?;
    let place = |name: &str| {
        let found = posterior.variables.iter().find(|v| v.name == name);
        found.map(|v| v.offset).ok_or_else(|| format!("`{name}` is not recorded"))
    };
    let (m, s, noise) = (place("m")?, place("s")?, place("noise")?);
    let (compiled, read) = (place("compiled")?, place("read")?);
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for chain in &posterior.chains {
        for draw in chain.values.chunks_exact(posterior.width()) {
            let formulas = [
                ("compiled", draw[compiled], 2.0 * draw[m + 2] + draw[s]),
                ("read", draw[read], draw[m + 1] - 3.0 * draw[m + 3]),
            ];
            for (name, found, expected) in formulas {
                let off = (found - expected).abs();
                if off.is_nan() || off > 1e-12 * expected.abs().max(1.0) {
                    return Err(format!("`{name}` is {found}, by its formula {expected}"));
                }
            }
            sum += draw[noise];
            squares += draw[noise] * draw[noise];
            count += 1.0;
        }
    }
    let (mean, variance) = (sum / count, squares / count);
    // Five standard errors of a thousand numbers: sqrt(1/n) and sqrt(2/n).
    if mean.abs() > 5.0 / f64::sqrt(count) || (variance - 1.0).abs() > 5.0 * f64::sqrt(2.0 / count)
    {
        return Err(format!("standard normal numbers have mean {mean} and square {variance}"));
    }
    Ok(())
}
