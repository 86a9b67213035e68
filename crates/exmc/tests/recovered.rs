//! Positions without a density -> statistics of a run, and runs of which chains are missing.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::ops::ControlFlow;

use exmc::advanced::{
    BoundModel, CompileOptions, Failure, FailureKind, compile, sample, sample_with,
};
use exmc::diagnose::WarningKind;
use exmc::distributions::normal;
use exmc::infer::{Draw, Observer, Silent};
use exmc::model::Values;
use exmc::stan::StanOptions;
use exmc::{ModelBuilder, SamplerConfig, StanProgram};

fn config() -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.warmup, config.draws, config.threads, config.seed) = (300, 500, 1, 5);
    config
}

fn normal_model() -> BoundModel {
    let mut model = ModelBuilder::new();
    model.rv("x", normal(0.0, 1.0));
    let compiled = compile(&model.build().unwrap(), &CompileOptions::default()).unwrap();
    compiled.bind(&Values::new()).unwrap()
}

fn stan(text: &str) -> BoundModel {
    let program = StanProgram::from_text("p.stan", text).unwrap();
    program.bind("none", "{}").unwrap().bound().clone()
}

/// What `reject` says is counted apart; what overflows is a divergence. Side by side and alone
/// alike.
#[test]
fn rejections_of_a_program_are_no_divergences() {
    let text = "parameters { real x; } model { x ~ std_normal(); if (x > 0.5) reject(\"far\"); }";
    let model = stan(text);
    let posterior = sample(&model, &config()).unwrap();
    let totals = posterior.diagnostics();
    assert!(totals.recovered > 200 && totals.divergences == 0, "{totals:?}");
    let x = posterior.draws_of("x", 0).unwrap();
    assert!(x.iter().flatten().all(|x| *x <= 0.5));
    // A normal cut at 0.5: -phi(0.5) / Phi(0.5). Five standard errors, and the seed is fixed.
    let (_, x) = &posterior.summary()[0];
    assert!((x.mean + 0.509_160_432_770_474_7).abs() < 5.0 * x.mcse_mean, "{x:?}");

    let text = "parameters { real x; } model { x ~ std_normal(); if (x > 0.5) target += negative_infinity(); }";
    let totals = sample(&stan(text), &config()).unwrap().diagnostics();
    assert!(totals.divergences > 200 && totals.recovered == 0, "{totals:?}");
    assert!(
        totals.non_finite_divergences == totals.divergences && totals.diverges_outside_support(),
        "{totals:?}"
    );

    // As BUGS programs have it: the bounds are in the statement alone. Of a funnel, none is such.
    let text = "parameters { vector[2] b; } model { b[1] ~ uniform(-9, 0); b[2] ~ uniform(0, 9); b ~ normal(0, 1); }";
    let totals = sample(&stan(text), &config()).unwrap().diagnostics();
    assert!(
        totals.divergences > 20 && totals.non_finite_divergences == totals.divergences,
        "{totals:?}"
    );
    let text = "parameters { real s; vector[9] x; } \
        model { s ~ normal(0, 3); target += -9 * s - sum(square(square(x))) * exp(-4 * s); }";
    let mut kept = config();
    kept.raise_target_accept = false;
    let totals = sample(&stan(text), &kept).unwrap().diagnostics();
    assert!(totals.divergences > 20 && !totals.diverges_outside_support(), "{totals:?}");

    // Chains in the lanes of vectors.
    let mut together = config();
    (together.chains, together.draws) = (5, 100);
    let infos = |config: &SamplerConfig| -> Vec<_> {
        let posterior = sample(&model, config).unwrap();
        posterior.chains.into_iter().map(|c| c.infos).collect()
    };
    let mut alone = together.clone();
    (alone.threads, alone.chains) = (5, 5);
    assert_eq!(infos(&together), infos(&alone));
}

/// An observer that stops everything after so many draws of the whole run.
struct Deadline(std::sync::atomic::AtomicU64);

impl Observer for Deadline {
    fn draw(&self, _: &Draw<'_>) -> ControlFlow<()> {
        let left = self.0.load(std::sync::atomic::Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), std::sync::atomic::Ordering::Relaxed);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// With fewer threads than chains a deadline leaves later chains without draws: the summary is over
/// the others, and says so.
#[test]
fn a_deadline_leaves_the_chains_that_have_draws() {
    let mut config = config();
    config.chains = 3;
    let deadline = Deadline(900.into());
    let posterior = sample_with(&normal_model(), &config, &[], &deadline).unwrap();
    let made: Vec<usize> = posterior.chains.iter().map(|c| c.infos.len()).collect();
    assert_eq!(made, [500, 0, 0]);
    let (name, x) = &posterior.summary()[0];
    assert!(name == "x" && x.mean.abs() < 5.0 * x.mcse_mean, "{x:?}");
    let [warning] = &posterior.warnings[..] else { panic!("{:?}", posterior.warnings) };
    assert_eq!(warning.kind, WarningKind::Chains);
    let said = "without 2 of 3 chains: chain 1 made no draws after warmup, chain 2 made no draws";
    assert!(warning.message.contains(said), "{warning}");
    // Nothing at all.
    let posterior = sample_with(&normal_model(), &config, &[], &Deadline(10.into())).unwrap();
    assert!(posterior.summary().is_empty());
    assert!(posterior.warnings[0].message.contains("3 of 3"), "{:?}", posterior.warnings);
    // A run that is whole has no such warning.
    assert!(sample(&normal_model(), &config).unwrap().warnings.is_empty());
}

/// An observer that panics at a draw of one chain, or of all.
struct Panicking(Option<u32>, u64);

impl Observer for Panicking {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let is_chosen = self.0.is_none_or(|chain| chain == draw.chain);
        assert!(!(is_chosen && draw.index == self.1), "planted");
        ControlFlow::Continue(())
    }
}

#[test]
fn a_chain_that_failed_is_left_out_and_named() {
    let mut config = config();
    config.warmup = 100;
    let posterior = sample_with(&normal_model(), &config, &[], &Panicking(Some(1), 250)).unwrap();
    let failed: Vec<u32> = posterior.failures().map(|(chain, _)| chain).collect();
    assert_eq!(failed, [1]);
    assert_eq!(posterior.chains[1].infos.len(), 251, "draws are kept");
    assert_eq!(posterior.usable_chains().len(), 3);
    assert!(posterior.warnings[0].message.contains("without 1 of 4 chains: chain 1 failed"));
    // All of them, before and after the first draw.
    let error = sample_with(&normal_model(), &config, &[], &Panicking(None, 20)).unwrap_err();
    assert!(error.as_sample_error().unwrap().is_panic(), "{error}");
    let posterior = sample_with(&normal_model(), &config, &[], &Panicking(None, 400)).unwrap();
    assert_eq!(posterior.failures().count(), 4);
    assert_eq!(posterior.summary().len(), 1);
    assert!(posterior.warnings[0].message.contains("every chain failed"));
}

#[test]
fn draws_that_no_memory_holds_are_an_error_of_the_run() {
    let mut config = config();
    config.draws = 1 << 57;
    let error = sample(&normal_model(), &config).unwrap_err();
    assert!(error.as_sample_error().unwrap().is_out_of_memory(), "{error}");
}

#[test]
fn failures_can_be_injected() {
    let run = |failure| sample_with(&normal_model().with_failure(failure), &config(), &[], &Silent);
    let often = run(Failure::new(FailureKind::Recoverable).after(200).every(5)).unwrap();
    assert!(often.diagnostics().recovered > 100 && often.failures().count() == 0);
    let nan = run(Failure::new(FailureKind::NotANumber).after(200).every(5)).unwrap();
    assert!(nan.diagnostics().divergences > 100 && nan.diagnostics().recovered == 0);
    let error = run(Failure::new(FailureKind::Ended).after(100)).unwrap_err();
    assert!(error.is_fatal(), "{error}");
    let error = run(Failure::new(FailureKind::Panic).after(100)).unwrap_err();
    assert!(error.to_string().contains("injected failure of evaluation 100"), "{error}");
}

#[test]
fn an_endless_loop_of_transformed_data_can_be_interrupted() {
    let text = "transformed data { int n = 0; while (n == 0) n = 0; }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    let mut options = StanOptions::default();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    options.stop = Some(stop);
    let error = program.bind_with("none", "{}", &options).unwrap_err();
    assert!(error.is_interrupted() && error.to_string().contains("p.stan:1:"), "{error}");
}
