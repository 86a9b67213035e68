//! `exmc report DIR`: stored runs -> one HTML page.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use exmc_draws::{StoredRun, read_run};
use exmc_plot::figures::ComparedModel;
use exmc_report::{Fit, Loo, SourceText, report};

use crate::commands::loo;
use crate::commands::plot::{is_of_observations, observed_and_predicted};
use crate::display::say;
use crate::evidence;
use crate::failure::{Exit, Failure};
use crate::likelihood::Likelihood;
use crate::replicated::{Replicated, Replications, replicated};

/// Observations with an unreliable Pareto k that the page names.
const WORST: usize = 10;

/// Write one HTML page on a stored run, or on several side by side
///
/// The page needs no network and no script: model, data, what exmc did, tables, figures, verdict
/// and advice, and how to make the run again.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The runs' directories
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// A predictive check: the name of replications in the run and of observations in its data, as
    /// `y_rep=y`; may be repeated. Without one, what the model observes is drawn anew if it can be
    #[arg(long, value_name = "REP=OBS")]
    check: Vec<String>,
    /// Compare the model of the first run with those of other runs of the same data, without a
    /// section for each (may be repeated)
    #[arg(long, value_name = "DIR")]
    compare: Vec<PathBuf>,
    /// Show what the data taught: priors beside posteriors
    #[arg(long)]
    prior: bool,
}

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let mut pairs = Vec::new();
    for check in &args.check {
        let Some(pair) = check.split_once('=') else {
            let message = format!("`{check}` is no pair of replications and observations");
            return Err(Failure::new(Exit::Usage, message).hint("for example --check y_rep=y"));
        };
        pairs.push(pair);
    }
    let runs: Vec<StoredRun> =
        args.directories.iter().map(|d| read_run(d)).collect::<Result<_, _>>()?;
    let mut fits = Vec::new();
    for (directory, run) in args.directories.iter().zip(&runs) {
        let mut checks = Vec::new();
        let replications = match pairs.is_empty() {
            true => replicated(directory, run),
            false => Replications::default(),
        };
        for replicated in &replications.all {
            checks.push((
                format!("{} as the model would make it", replicated.name),
                replicated.check()?,
            ));
        }
        for (replicated, observed) in &pairs {
            if run.posterior.variable(replicated).is_some() {
                let (values, predicted) =
                    observed_and_predicted(directory, &run.posterior, replicated, observed)?;
                let name = format!("{replicated} and {observed}");
                let recorded = Replicated { name: name.clone(), observed: values, predicted };
                checks.push((name, recorded.check()?));
            } else if args.directories.len() == 1 {
                let message = format!("the run records no `{replicated}`");
                return Err(Failure::new(Exit::Usage, message));
            }
        }
        fits.push(Fit {
            label: directory.display().to_string(),
            run,
            model: first_of(directory, &["model.stan", "model.json"])?,
            data: first_of(directory, &["data.json"])?,
            aside: aside(run, &pairs),
            checks,
            checks_note: replications.left_out.as_ref().map(|left_out| format!("{left_out}.")),
            // Transforms take a replication at every draw.
            loo: leave_one_out(
                directory,
                run,
                &pairs,
                match replications.left_out {
                    None => &replications.all,
                    Some(_) => &[],
                },
            )?,
            prior: if args.prior {
                evidence::prior(directory, &run.posterior)?
            } else {
                Vec::new()
            },
        });
    }
    let compared = compared(args, &fits)?;
    fs::write(&args.out, report(&fits, &compared)).map_err(|error| {
        Failure::new(Exit::Io, format!("cannot write `{}`: {error}", args.out.display()))
    })?;
    say(&format!("the report is in `{}`", args.out.display()));
    Ok(Exit::Success)
}

/// Leave-one-out of a run, where it has log likelihoods; with probability integral transforms where
/// a predictive check is of the same observations.
fn leave_one_out(
    directory: &Path,
    run: &StoredRun,
    pairs: &[(&str, &str)],
    replicated: &[Replicated],
) -> Result<Option<Loo>, Failure> {
    let likelihood = match Likelihood::of(directory, &run.posterior, &[]) {
        Ok(likelihood) => likelihood,
        Err(failure) => {
            let (place, message) = (directory.display(), failure.message());
            say(&format!("note: no leave-one-out of `{place}`: {message}"));
            return Ok(None);
        }
    };
    let loo = loo::leave_one_out(&likelihood);
    let mut worst = loo.untrusted();
    let k = |i: &usize| loo.pointwise[*i].pareto_k;
    worst.sort_by(|a, b| k(b).is_nan().cmp(&k(a).is_nan()).then(k(b).total_cmp(&k(a))));
    worst.truncate(WORST);
    let worst = worst
        .iter()
        .map(|&i| (likelihood.names[i].clone(), loo.pointwise[i].pareto_k, loo.pointwise[i].elpd));
    let mut pit = None;
    for (replicated, observed) in pairs {
        if run.posterior.variable(replicated).is_none_or(|v| v.len() != likelihood.rows.len()) {
            continue;
        }
        let (observed, predicted) =
            observed_and_predicted(directory, &run.posterior, replicated, observed)?;
        pit = Some(evidence::loo_pits(&likelihood, &observed, &predicted)?);
    }
    if let [only_replicated] = replicated
        && only_replicated.observed.len() == likelihood.rows.len()
    {
        pit = Some(evidence::loo_pits(
            &likelihood,
            &only_replicated.observed,
            &only_replicated.predicted,
        )?);
    }
    Ok(Some(Loo {
        elpd: (loo.elpd, loo.se),
        p: loo.p_loo,
        pareto_k: loo.pointwise.iter().map(|p| p.pareto_k).collect(),
        limit: loo.k_threshold(),
        worst: worst.collect(),
        pit,
    }))
}

/// The comparison that is asked for, or that of the page's runs where all have log likelihoods of
/// the same observations.
fn compared(args: &ReportArgs, fits: &[Fit]) -> Result<Vec<ComparedModel>, Failure> {
    let mut all = args.directories.clone();
    if !args.compare.is_empty() {
        all.truncate(1);
        all.extend(args.compare.iter().cloned());
        return evidence::compared(&all);
    }
    let counts: Vec<Option<usize>> =
        fits.iter().map(|fit| fit.loo.as_ref().map(|loo| loo.pareto_k.len())).collect();
    let is_comparable =
        fits.len() > 1 && counts[0].is_some() && counts.windows(2).all(|w| w[0] == w[1]);
    if !is_comparable {
        return Ok(Vec::new());
    }
    // Nobody asked for a comparison, so that runs of other data are no mistake.
    Ok(evidence::compared(&all).unwrap_or_else(|failure| {
        say(&format!("note: no comparison by leave-one-out: {}", failure.message()));
        Vec::new()
    }))
}

/// Variables of a run that have a number for each observation: log likelihoods and replications.
fn aside(run: &StoredRun, pairs: &[(&str, &str)]) -> Vec<String> {
    let is_aside = |name: &str| {
        is_of_observations(name) || pairs.iter().any(|(replicated, _)| *replicated == name)
    };
    let names = run.posterior.variables.iter().map(|variable| variable.name.as_str());
    names.filter(|name| is_aside(name)).map(str::to_owned).collect()
}

/// The first of some files that a directory holds.
fn first_of(directory: &Path, names: &[&str]) -> Result<Option<SourceText>, Failure> {
    for name in names {
        let path = directory.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(Some(SourceText { name: (*name).to_owned(), text })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::unreadable(&path, &error)),
        }
    }
    Ok(None)
}
