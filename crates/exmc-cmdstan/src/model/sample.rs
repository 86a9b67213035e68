//! `method=sample`: chains of NUTS, each in a file of its own.
//!
//! Without a metric, a metric file or a step size among the options, the model is sampled as
//! `exmc sample` does: variables that are normal given the rest integrated out, in learned
//! coordinates, with a metric of low rank. With any of them, or where the metric or the
//! diagnostics are to be written, it is sampled over Stan's coordinates with what was asked for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use exmc::SamplerConfig;
use exmc::advanced::density::{DensityModel, LogDensity};
use exmc::advanced::{BoundModel, learn_coordinates, sample_with};
use exmc::infer::{InverseMetric, MetricKind, WarmStart};
use exmc::model::Values;
use exmc::stan::StanModel;

use super::chain::{Chain, Plan};
use super::inputs::{Inits, chain_files, unconstrain};
use super::{Density, Run, csv, fixed, metric, rejections};
use crate::console::{complain, say};
use crate::failure::Failure;
use crate::number::general;

const HMC: &str = "method/sample/algorithm/hmc";

/// Warmup draws below which Stan estimates no metric.
const SHORT_WARMUP: u64 = 20;

/// Settings of Stan's warmup that have no counterpart here.
const WITHOUT_MEANING: [&str; 6] = ["gamma", "kappa", "t0", "init_buffer", "term_buffer", "window"];

pub(super) fn run(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    if args.choice("method/sample/algorithm") == "fixed_param" {
        return fixed::run(run);
    }
    check(run)?;
    let plan = Plan::of(run);
    let written = run.bind(Density::Written { jacobian: true })?;
    run.warn(&written);
    let sampled = match plan.is_as_written {
        true => written.clone(),
        false => run.bind(Density::Sampled)?,
    };
    let n = args.count("method/sample/num_chains");
    let inits = Inits::read(args.text("init"));
    let starts = inits.values(&written, (n, run.id), &run.program)?;
    for start in &starts {
        unconstrain(written.bound(), start)?;
    }
    let mut config = config(run, inits.radius)?;
    let bound = match plan.is_as_written {
        true => written.bound().clone(),
        false => {
            // The same for all chains and processes of a run, which share the seed.
            let mut pilot = config.clone();
            (pilot.chains, pilot.seed) = (4, u64::from(run.seed));
            pilot.threads = run.threads() as u32;
            learn_coordinates(sampled.bound(), &pilot, &[], &|| false)?
        }
    };
    let threads = run.threads();
    config.threads = (threads / n as usize).max(1) as u32;
    let warm = warm_starts(run, &written, n)?;
    let mut chains = Vec::new();
    let outputs = run.output_names(n);
    let diagnostics = match args.text("output/diagnostic_file") {
        "" => Vec::new(),
        name => csv::file_names(name, "", ".csv", n, run.id),
    };
    let metrics = csv::file_names(args.text("output/file"), "_metric", ".json", n, run.id);
    for k in 0..n as usize {
        let mut chain_config = config.clone();
        chain_config.seed = run.chain_seed(run.id + k as u64);
        chain_config.warm_start = warm.as_ref().map(|all| all[k].clone());
        let chain = Chain::create(run, &plan, (&written, &bound), chain_config.seed, k as u64)?;
        let chain = chain.with_files(&outputs[k], diagnostics.get(k), &metrics[k])?;
        let told = rejections::told(&bound, &written, chain.prefix());
        chains.push((told, chain_config, starts[k].clone(), chain));
    }
    if run.id == 0 || n > 1 || !plan.is_as_written {
        tell_changes(&bound);
    }
    tell_cost(&bound);
    sample_all(&chains, threads)
}

/// The time of one gradient, in the lines that CmdStan has for it.
fn tell_cost(bound: &BoundModel) {
    let mut density = bound.instance();
    let (position, mut gradient) = (vec![0.0; density.dim()], vec![0.0; density.dim()]);
    let since = Instant::now();
    // Where the density cannot be evaluated there, the time counts all the same.
    let _ = density.logp_grad(&position, &mut gradient);
    let seconds = since.elapsed().as_secs_f64();
    say("");
    say(&format!("Gradient evaluation took {} seconds", general(seconds, 6)));
    say(&format!(
        "1000 transitions using 10 leapfrog steps per transition would take {} seconds.",
        general(1e4 * seconds, 6)
    ));
    say("Adjust your expectations accordingly!");
    say("");
    say("");
}

/// Runs chains on threads; the first error is returned when all have ended.
fn sample_all(
    chains: &[(BoundModel, SamplerConfig, Values, Chain<'_>)],
    threads: usize,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<Failure>> = Mutex::new(None);
    let work = || {
        while let Some(job) = chains.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (bound, config, start, chain) = job;
            let starts = if start.is_empty() { &[][..] } else { std::slice::from_ref(start) };
            let sampled = sample_with(bound, config, starts, chain);
            if let Err(failure) = chain.end(sampled) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(chains.len()) {
            scope.spawn(work);
        }
        work();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// What cannot be done, before anything is.
fn check(run: &Run<'_>) -> Result<(), Failure> {
    let args = run.arguments;
    if args.choice(&format!("{HMC}/engine")) == "static" {
        return Err(Failure::new(
            "Error: engine=static is not available: exmc samples with NUTS; leave `engine` out",
        ));
    }
    let engaged = args.flag("method/sample/adapt/engaged");
    if engaged && args.count("method/sample/num_warmup") == 0 {
        return Err(Failure::new(
            "Error: The number of warmup samples (num_warmup) must be greater than zero if \
             adaptation is enabled.",
        ));
    }
    if !engaged && args.flag("method/sample/adapt/save_metric") {
        return Err(Failure::new(
            "Error: Saving the adapted metric (save_metric=1) can only be enabled when adaptation \
             is engaged (adapt engaged=1)",
        ));
    }
    let given = WITHOUT_MEANING
        .into_iter()
        .filter(|name| args.is_given(&format!("method/sample/adapt/{name}")));
    for name in given {
        complain(&format!(
            "Note: adapt {name} changes nothing: it belongs to Stan's warmup, and exmc has its own"
        ));
    }
    Ok(())
}

fn config(run: &Run<'_>, radius: f64) -> Result<SamplerConfig, Failure> {
    let args = run.arguments;
    let mut config = SamplerConfig::default();
    config.chains = 1;
    config.keep_draws = false;
    let (warmup, draws) =
        (args.count("method/sample/num_warmup"), args.count("method/sample/num_samples"));
    // Without adaptation, warmup draws are draws like the others.
    let engaged = args.flag("method/sample/adapt/engaged");
    (config.warmup, config.draws) = if engaged { (warmup, draws) } else { (0, warmup + draws) };
    config.target_accept = args.real("method/sample/adapt/delta");
    config.raise_target_accept = !args.is_given("method/sample/adapt/delta");
    config.max_depth = args.count(&format!("{HMC}/engine/nuts/max_depth")) as u32;
    config.step_jitter = args.real(&format!("{HMC}/stepsize_jitter"));
    config.initial_radius = radius;
    config.metric = match args.choice(&format!("{HMC}/metric")) {
        "dense_e" => MetricKind::Dense,
        _ if Plan::of(run).is_as_written => MetricKind::Diag,
        _ => MetricKind::LowRank,
    };
    config.validate(0).map_err(|error| {
        let text = error.to_string();
        let names = [
            ("max_depth", "max_depth"),
            ("step_jitter", "stepsize_jitter"),
            ("initial_radius", "init"),
            ("target_accept", "delta"),
        ];
        let name = names.into_iter().find(|(candidate, _)| text.contains(candidate));
        let reason = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
        let name = name.map_or("sample", |(_, theirs)| theirs);
        Failure::new(format!("Error: invalid value for {name}: {reason}"))
    })?;
    Ok(config)
}

/// Step size and metric that chains begin with, where the options say what they are.
fn warm_starts(
    run: &Run<'_>,
    written: &StanModel,
    n: u64,
) -> Result<Option<Vec<WarmStart>>, Failure> {
    let args = run.arguments;
    let engaged = args.flag("method/sample/adapt/engaged");
    let kind = args.choice(&format!("{HMC}/metric"));
    let file = args.text(&format!("{HMC}/metric_file"));
    let step_size = format!("{HMC}/stepsize");
    let is_unit = kind == "unit_e";
    if engaged && !is_unit && file.is_empty() && !args.is_given(&step_size) {
        return Ok(None);
    }
    let (order, dim) = (written.stan_order(), written.bound().compiled().dim());
    let metrics = match (file, is_unit) {
        ("", _) => vec![InverseMetric::identity(dim); n as usize],
        (_, true) => {
            return Err(Failure::new(
                "Error: metric=unit_e has no metric_file: leave one of them out",
            ));
        }
        (file, false) => chain_files(file, n, run.id)
            .iter()
            .map(|file| metric::read(file, order, kind == "dense_e"))
            .collect::<Result<_, _>>()?,
    };
    // As in Stan, a warmup so short leaves the metric of a file as it is.
    let is_short = args.count("method/sample/num_warmup") < SHORT_WARMUP && !file.is_empty();
    let warm = |inverse_metric| WarmStart {
        step_size: args.real(&step_size),
        inverse_metric,
        adapt_metric: engaged && !is_unit && !is_short,
        positions: Vec::new(),
    };
    Ok(Some(metrics.into_iter().map(warm).collect()))
}

/// Says what is sampled otherwise than the program says.
fn tell_changes(bound: &BoundModel) {
    let gone: Vec<&str> = bound.integrated_out().map(|(name, _)| name).take(10).collect();
    if !gone.is_empty() {
        say(&format!("Integrated out, and drawn given the rest: {}", gone.join(", ")));
    }
    let changed = rejections::changed(bound);
    if !changed.is_empty() {
        say(&format!("Sampled in learned coordinates: {}", changed.join(", ")));
    }
}
