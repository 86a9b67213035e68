//! `exmc diagnose`: a stored run -> what is wrong with it, which variables show it, and what to
//! try.
//!
//! The warnings of `exmc summary`, each with the evidence in the draws and with flags for the next
//! run; and three questions that the summary does not ask: whether means exist, whether prior and
//! data agree, and what the data say nothing of.

use std::path::{Path, PathBuf};

use clap::Args;
use exmc::runs::Posterior;
use exmc_diagnose::{
    Draws, FlaggedPlace, PowerScaling, RunDiagnostics, SensitivityVerdict, Summary, Warning,
    WarningKind, chains_apart, flagged_place, pareto_khat, sensitivity_verdict,
};
use exmc_draws::{Method, RunRecord, StoredRun, read_run};
use serde_json::{Value, json};

use crate::display::{put, put_json, rounded, say};
use crate::failure::{Exit, Failure};
use crate::fix::fix;
use crate::likelihood::{Likelihood, RunModel, Sample};
use crate::report::{JSON_VERSION, Report, kind};

/// Variables that evidence names, the worst first.
const NAMED: usize = 5;
/// Standard errors from which on divergent draws are said to lie somewhere.
const SOMEWHERE: f64 = 4.0;
/// Shape of a tail from which on a mean is not to be trusted (Vehtari et al. 2024).
const HEAVY: f64 = 0.7;
/// The recorded log prior, by the name that R's priorsense reads.
const LOG_PRIOR: &str = "lprior";

/// Say what is wrong with a stored run, where it shows, and what to try
///
/// Also whether prior and data contradict each other, or the data say little of a variable: for
/// JSON models, and Stan programs that record `lprior` (and `log_lik`, or statements on data).
#[derive(Args, Debug)]
pub(crate) struct DiagnoseArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// Try what the sampler's warnings ask for (target acceptance, tree depth, warmup, draws,
    /// coordinates that exmc chooses) in a new run beside this one, and say what changed
    #[arg(long)]
    fix: bool,
    /// With `--fix`: sample a parameter of a Stan program as location + scale * z (may be repeated)
    #[arg(long, value_name = "NAME", requires = "fix")]
    non_centre: Vec<String>,
    /// With `--fix`: directory for the new run; it must not hold one yet [default: the run's name
    /// with `-fixed`]
    #[arg(long, value_name = "DIR", requires = "fix")]
    out: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// End with exit code 3 when something was found
    #[arg(long)]
    check: bool,
}

/// One thing that was found.
struct Finding {
    kind: &'static str,
    message: String,
    evidence: Vec<String>,
    tries: Vec<String>,
}

pub(crate) fn run(args: &DiagnoseArgs) -> Result<Exit, Failure> {
    let StoredRun { record, posterior, notes, .. } = read_run(&args.path)?;
    let report = Report::of(posterior.clone(), record.status.name());
    let report = match record.method {
        Method::Sample => report,
        Method::Laplace => report.without_statistics("independent draw"),
        _ => report.without_statistics("draw"),
    };
    let mut notes = notes;
    let mut findings: Vec<Finding> = Vec::new();
    if let Some(sample) = Sample::of(&posterior) {
        let run = Run { record: &record, report: &report, sample: &sample };
        let totals = posterior.diagnostics();
        findings.extend(report.warnings().iter().map(|w| run.explain(w, &totals)));
        findings.extend(run.heavy_tails());
        match run.sensitivities(&args.path) {
            Ok(sensitivities) => findings.extend(judge(&sensitivities)),
            Err(why) => notes.push(format!("whether prior and data agree was not checked: {why}")),
        }
    } else {
        findings.extend(report.warnings().iter().map(plain));
    }
    let sampled = record.method == Method::Sample;
    if args.fix && !sampled {
        let message = "no sampler made these draws, so that there is nothing to try";
        return Err(Failure::new(Exit::Usage, message));
    }
    let mut found = !findings.is_empty();
    if !args.json {
        notes.iter().for_each(|note| say(&format!("note: {note}")));
        put(&to_text(&report, &findings))?;
    }
    let fixed = match args.fix {
        true => fix(&args.path, args.out.as_deref(), &args.non_centre)?,
        false => None,
    };
    if let Some(fixed) = &fixed {
        found = fixed.has_warnings();
    }
    if args.json {
        let findings: Vec<Value> = findings.iter().map(Finding::to_json).collect();
        let mut json = json!({
            "exmc": JSON_VERSION,
            "directory": args.path.display().to_string(),
            "findings": findings,
            "notes": notes,
        });
        if args.fix {
            json["fixed"] = fixed.map_or(Value::Null, |fixed| fixed.to_json());
        }
        put_json(&json)?;
    } else if let Some(fixed) = &fixed {
        put(&fixed.to_text())?;
    } else if args.fix {
        put("\nno setting of the sampler is to be changed\n")?;
    }
    Ok(if args.check && found { Exit::Diagnostics } else { Exit::Success })
}

/// A warning without more than it says itself.
fn plain(warning: &Warning) -> Finding {
    Finding {
        kind: kind(warning.kind),
        message: warning.message.clone(),
        evidence: Vec::new(),
        tries: vec![warning.hint.to_owned()],
    }
}

/// What power scaling reads.
struct Components {
    /// Log prior of each draw, chain after chain.
    prior: Vec<f64>,
    /// Log likelihood of each draw.
    likelihood: Vec<f64>,
    /// Columns of the parameters.
    columns: Vec<usize>,
}

/// What findings are made from.
struct Run<'a> {
    record: &'a RunRecord,
    report: &'a Report,
    sample: &'a Sample<'a>,
}

impl Run<'_> {
    /// The warning, with the variables that show it and what to change about the run.
    fn explain(&self, warning: &Warning, totals: &RunDiagnostics) -> Finding {
        let config = &self.record.config;
        let mut finding = plain(warning);
        match warning.kind {
            WarningKind::Divergences => {
                finding.evidence = self.where_divergent();
                let next = if config.target_accept < 0.95 { 0.95 } else { 0.99 };
                if config.target_accept < next && !totals.diverges_outside_support() {
                    finding.tries.push(format!(
                        "`--target-accept {next}` (it was {})",
                        config.target_accept
                    ));
                }
            }
            WarningKind::Rhat => self.explain_rhat(&mut finding),
            WarningKind::EssBulk => self.explain_ess(&mut finding, "bulk", |s| s.ess_bulk),
            WarningKind::EssTail => self.explain_ess(&mut finding, "tail", |s| s.ess_tail),
            WarningKind::Ebfmi => {
                let values: Vec<String> = totals
                    .ebfmi
                    .iter()
                    .enumerate()
                    .map(|(chain, e)| format!("{} in chain {chain}", rounded(*e, Some(2))))
                    .collect();
                finding.evidence.push(format!("E-BFMI is {}", values.join(", ")));
            }
            WarningKind::DepthHits => {
                finding.tries.push(format!("`--max-depth {}`", config.max_depth + 2));
            }
            _ => {}
        }
        finding
    }

    /// In which variables divergent draws lie at one end.
    fn where_divergent(&self) -> Vec<String> {
        let n = self.sample.n_draws;
        let flags: Vec<bool> = self
            .sample
            .posterior
            .usable_chains()
            .iter()
            .flat_map(|chain| chain.infos[..n].iter().map(|info| info.divergent))
            .collect();
        let mut places: Vec<(&str, FlaggedPlace)> = self
            .varying()
            .filter_map(|(column, name, _)| {
                Some((name, flagged_place(&self.sample.draws(column)?, &flags)?))
            })
            .filter(|(_, place)| place.z.abs() > SOMEWHERE)
            .collect();
        places.sort_by(|a, b| b.1.z.abs().total_cmp(&a.1.z.abs()));
        let told = |(name, place): &(&str, FlaggedPlace)| {
            let size = if place.mean_rank < 0.5 { "small" } else { "large" };
            format!(
                "`{name}` is {size} there: divergent transitions end at its {} % point on average",
                rounded(100.0 * place.mean_rank, Some(0))
            )
        };
        places.iter().take(NAMED).map(told).collect()
    }

    fn explain_rhat(&self, finding: &mut Finding) {
        let mut worst: Vec<_> = self.varying().filter(|(_, _, s)| s.rhat > 1.01).collect();
        worst.sort_by(|a, b| b.2.rhat.total_cmp(&a.2.rhat));
        let mut is_split = false;
        for (column, name, summary) in worst.iter().take(NAMED) {
            let rhat = rounded(summary.rhat, Some(3));
            let ess = rounded(summary.ess_bulk, Some(0));
            let mut text = format!("`{name}`: R-hat {rhat}, bulk ESS {ess}");
            if let Some(draws) = self.sample.draws(*column) {
                let apart = chains_apart(&draws);
                if !apart.is_empty() {
                    is_split = true;
                    text.push_str(&self.apart(&draws, &apart));
                }
            }
            finding.evidence.push(text);
        }
        let config = &self.record.config;
        finding.tries.push(if is_split {
            "chains that sit apart are in modes of their own: sample more chains to see how many modes \
             there are, then order components, tighten the prior or give initial values"
                .to_owned()
        } else {
            format!(
                "the chains overlap and drift: `--warmup {} --draws {}` shows whether time is enough",
                2 * config.warmup.max(100),
                2 * config.draws
            )
        });
    }

    /// "; chains 1, 3 sit apart: mean -2.1 there, 2.0 elsewhere".
    fn apart(&self, draws: &Draws, apart: &[usize]) -> String {
        let values: Vec<f64> = draws.iter().collect();
        let mean = |inside: bool| {
            let chains = values.chunks_exact(draws.n_draws()).enumerate();
            let chosen: Vec<f64> = chains
                .filter(|(chain, _)| apart.contains(chain) == inside)
                .flat_map(|(_, x)| x.iter().copied())
                .collect();
            rounded(chosen.iter().sum::<f64>() / chosen.len() as f64, None)
        };
        let usable = self.sample.posterior.usable_chains();
        let numbers: Vec<String> = apart.iter().map(|&c| usable[c].chain.to_string()).collect();
        let chains = if numbers.len() == 1 { "chain" } else { "chains" };
        let verb = if numbers.len() == 1 { "sits" } else { "sit" };
        format!(
            "; {chains} {} {verb} apart: mean {} there, {} elsewhere",
            numbers.join(", "),
            mean(true),
            mean(false)
        )
    }

    fn explain_ess(&self, finding: &mut Finding, what: &str, ess: fn(&Summary) -> f64) {
        let chains = self.sample.posterior.usable_chains().len();
        let needed = 100.0 * chains as f64;
        let mut worst: Vec<_> = self.varying().filter(|(_, _, s)| ess(s) < needed).collect();
        worst.sort_by(|a, b| ess(a.2).total_cmp(&ess(b.2)));
        for (_, name, summary) in worst.iter().take(NAMED) {
            finding
                .evidence
                .push(format!("`{name}`: {what} ESS {}", rounded(ess(summary), Some(0))));
        }
        let Some((_, _, summary)) = worst.first() else { return };
        // As many draws as would do at this rate, in hundreds.
        let factor = needed / ess(summary).max(1.0);
        let draws = (self.sample.n_draws as f64 * factor / 100.0).ceil() * 100.0;
        if factor <= 20.0 {
            finding.tries.push(format!("`--draws {draws:.0}` would be enough at this rate"));
        } else {
            finding.tries.push(format!(
                "more draws alone would take {draws:.0} a chain: look at the model first"
            ));
        }
    }

    /// Variables whose draws have tails too heavy for a mean.
    fn heavy_tails(&self) -> Option<Finding> {
        let mut heavy: Vec<(&str, f64)> = self
            .varying()
            .filter(|(_, _, s)| s.rhat < 1.05)
            .filter_map(|(column, name, _)| Some((name, pareto_khat(&self.sample.draws(column)?))))
            .filter(|(_, k)| *k > HEAVY)
            .collect();
        heavy.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (worst, _) = heavy.first()?;
        let n = heavy.len();
        let variables = if n == 1 { "variable" } else { "variables" };
        Some(Finding {
            kind: "heavy-tails",
            message: format!(
                "the tails of {n} {variables} are so heavy that the mean may not exist (worst: {worst})"
            ),
            evidence: heavy
                .iter()
                .take(NAMED)
                .map(|(name, k)| format!("`{name}`: Pareto k of the tails {}", rounded(*k, Some(2))))
                .collect(),
            tries: vec![
                "report medians and quantiles of these, or give their scale a prior with lighter tails"
                    .to_owned(),
            ],
        })
    }

    /// Sensitivity of each variable to the prior and to the likelihood, or why it is unknown.
    fn sensitivities(&self, path: &Path) -> Result<Vec<(String, f64, f64)>, String> {
        let Components { prior, likelihood, columns } = self.components(path)?;
        let n = self.sample.n_draws;
        let chains = |values: &[f64]| -> PowerScaling {
            let chains: Vec<&[f64]> = values.chunks_exact(n).collect();
            PowerScaling::new(&Draws::new(&chains).expect("as many draws in every chain"))
        };
        if !prior.iter().chain(&likelihood).all(|l| l.is_finite()) {
            return Err("the log prior or likelihood of some draws is not finite".to_owned());
        }
        let (prior, likelihood) = (chains(&prior), chains(&likelihood));
        let threshold = exmc_diagnose::k_threshold(n * self.sample.posterior.usable_chains().len());
        if prior.pareto_k > threshold || likelihood.pareto_k > threshold {
            return Err("the draws are too few or too concentrated to be reweighted".to_owned());
        }
        let sensitivity = |(column, name, _): (usize, &str, &Summary)| {
            let draws = self.sample.draws(column)?;
            let prior = prior.sensitivity(&draws);
            Some((name.to_owned(), prior, likelihood.sensitivity(&draws)))
        };
        let wanted = self.varying().filter(|(column, _, _)| columns.contains(column));
        Ok(wanted.filter_map(sensitivity).collect())
    }

    /// Recorded by the program, or computed through the model; or why neither can be.
    fn components(&self, path: &Path) -> Result<Components, String> {
        let said = |failure: Failure| failure.message().to_owned();
        let posterior: &Posterior = self.sample.posterior;
        let columns = |is_parameter: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let variables = posterior.variables.iter().filter(|v| is_parameter(&v.name));
            variables.flat_map(|v| v.offset..v.offset + v.len()).collect()
        };
        let total = |likelihood: &Likelihood| -> Vec<f64> {
            (0..likelihood.total_draws())
                .map(|s| likelihood.rows.iter().map(|row| row[s]).sum())
                .collect()
        };
        if let Some(recorded) = posterior.variable(LOG_PRIOR) {
            let likelihood = total(&Likelihood::of(path, posterior, &[]).map_err(said)?);
            let prior = self.sample.column(recorded.offset);
            let columns = columns(&|name| ![LOG_PRIOR, "log_lik", "lp__"].contains(&name));
            return Ok(Components { prior, likelihood, columns });
        }
        if !path.join("model.json").is_file() {
            return Err("the program records no `lprior`".to_owned());
        }
        let likelihood = Likelihood::of(path, posterior, &[]).map_err(said)?;
        let model = match &likelihood.model {
            Some(model) => model,
            None => &RunModel::of_run(path, self.sample).map_err(said)?,
        };
        let prior = model.log_prior(path).map_err(said)?;
        let likelihood = total(&likelihood);
        let layout = &model.bound.compiled().lowered().layout;
        let columns = columns(&|name| layout.iter().any(|entry| entry.name == name));
        Ok(Components { prior, likelihood, columns })
    }

    /// Column, name and summary of what varies.
    fn varying(&self) -> impl Iterator<Item = (usize, &str, &Summary)> {
        let parameters = self.report.parameters().iter().enumerate();
        parameters
            .filter(|(_, (_, s))| s.sd > 0.0 && s.mean.is_finite())
            .map(|(column, (name, s))| (column, name.as_str(), s))
    }
}

/// What sensitivities to prior and likelihood say.
fn judge(sensitivities: &[(String, f64, f64)]) -> Vec<Finding> {
    let judged_as = |verdict| -> Vec<&(String, f64, f64)> {
        let mut those: Vec<_> = sensitivities
            .iter()
            .filter(|(_, prior, likelihood)| sensitivity_verdict(*prior, *likelihood) == verdict)
            .collect();
        those.sort_by(|a, b| b.1.total_cmp(&a.1));
        those
    };
    let evidence = |those: &[&(String, f64, f64)]| -> Vec<String> {
        those
            .iter()
            .take(NAMED)
            .map(|(name, prior, likelihood)| {
                format!(
                    "`{name}`: sensitivity {} to the prior, {} to the likelihood",
                    rounded(*prior, Some(2)),
                    rounded(*likelihood, Some(2))
                )
            })
            .collect()
    };
    let mut findings = Vec::new();
    let conflict = judged_as(SensitivityVerdict::PriorDataConflict);
    if let Some((worst, _, _)) = conflict.first() {
        findings.push(Finding {
            kind: "prior-conflict",
            message: format!(
                "prior and data pull {} of {} variables in different directions, or both matter to them \
                 (most: {worst})",
                conflict.len(),
                sensitivities.len()
            ),
            evidence: evidence(&conflict),
            tries: vec![
                "look whether the prior is meant to be as narrow as it is and centred where it is; a \
                 prior that is informative on purpose shows here too"
                    .to_owned(),
            ],
        });
    }
    let strong = judged_as(SensitivityVerdict::StrongPrior);
    if let Some((worst, _, _)) = strong.first() {
        findings.push(Finding {
            kind: "uninformed",
            message: format!(
                "the data say little of {} of {} variables: their posterior is the prior's (most: {worst})",
                strong.len(),
                sensitivities.len()
            ),
            evidence: evidence(&strong),
            tries: vec![
                "say so where you report them; more data of another kind, or a prior that you can defend, \
                 is what helps"
                    .to_owned(),
            ],
        });
    }
    findings
}

impl Finding {
    fn to_json(&self) -> Value {
        json!({
            "kind": self.kind,
            "message": self.message,
            "evidence": self.evidence,
            "try": self.tries,
        })
    }
}

fn to_text(report: &Report, findings: &[Finding]) -> String {
    let mut text = report.totals_text();
    if findings.is_empty() {
        text.push_str(
            "\nnothing was found: chains agree, effective sample sizes are enough, and no transition \
             went wrong\n",
        );
    }
    for (place, finding) in findings.iter().enumerate() {
        text.push_str(&format!("\n{}. {}: {}\n", place + 1, finding.kind, finding.message));
        for line in &finding.evidence {
            text.push_str(&format!("   - {line}\n"));
        }
        for line in &finding.tries {
            text.push_str(&format!("   try: {line}\n"));
        }
    }
    text
}
