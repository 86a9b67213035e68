//! A stored run with warnings -> a new run with the settings that they ask for, and what changed.

use std::path::{Path, PathBuf};

use exmc::advanced::text::table;
use exmc::runs::Posterior;
use exmc::{Fit, SamplerConfig};
use exmc_diagnose::{Warning, WarningKind};
use exmc_draws::read_record;
use serde_json::{Value, json};

use crate::display::{number, rounded};
use crate::failure::{Exit, Failure};
use crate::settings::CompileArgs;
use crate::source::SourceArgs;

/// Runs that are made at most, each with what the warnings of the one before ask for.
const ROUNDS: usize = 3;

/// What was changed and what came of it.
pub(crate) struct Fixed {
    /// Flags that make the new run.
    changes: Vec<String>,
    before: Health,
    after: Health,
    directory: PathBuf,
}

/// A run in the numbers that warnings are about.
struct Health {
    warnings: usize,
    divergences: usize,
    diverges_outside_support: bool,
    depth_hits: usize,
    ebfmi: f64,
    rhat: f64,
    ess_bulk: f64,
    ess_tail: f64,
    seconds: f64,
    said: Vec<Warning>,
}

impl Health {
    fn of(posterior: &Posterior) -> Self {
        let mut posterior = posterior.clone();
        let left_out = posterior.left_out();
        posterior.chains.retain(|chain| !chain.infos.is_empty());
        let (summary, totals) = (posterior.summary(), posterior.diagnostics());
        let said = posterior.judged((left_out, posterior.label_switching()), &summary);
        let extreme = |value_of: &dyn Fn(&exmc_diagnose::Summary) -> f64, larger: bool| {
            let all = summary.iter().map(|(_, s)| value_of(s)).filter(|x| x.is_finite());
            all.reduce(|a, b| if larger { a.max(b) } else { a.min(b) }).unwrap_or(f64::NAN)
        };
        Self {
            warnings: said.len(),
            divergences: totals.divergences,
            diverges_outside_support: totals.diverges_outside_support(),
            depth_hits: totals.depth_hits,
            ebfmi: totals.ebfmi.iter().copied().fold(f64::NAN, f64::min),
            rhat: extreme(&|s| s.rhat, true),
            ess_bulk: extreme(&|s| s.ess_bulk, false),
            ess_tail: extreme(&|s| s.ess_tail, false),
            seconds: posterior.seconds,
            said,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "warnings": self.warnings,
            "divergences": self.divergences,
            "depth_hits": self.depth_hits,
            "lowest_ebfmi": number(self.ebfmi),
            "largest_rhat": number(self.rhat),
            "least_ess_bulk": number(self.ess_bulk),
            "least_ess_tail": number(self.ess_tail),
            "seconds": number(self.seconds),
        })
    }
}

/// Tries what the warnings of a run ask for, in a new directory; nothing where there is nothing to
/// try.
pub(crate) fn fix(
    path: &Path,
    out: Option<&Path>,
    non_centre: &[String],
) -> Result<Option<Fixed>, Failure> {
    let earlier = Fit::load(path)?;
    let before = Health::of(earlier.posterior());
    let mut settings = earlier.settings().clone();
    settings.warm_start = None;
    settings.keep_draws = true;
    let mut changes = Vec::new();
    let record = read_record(path)?;
    // Coordinates that were kept as written are chosen where something went wrong.
    let mut without = record.without.clone();
    let kept = without.len();
    if !before.said.is_empty() {
        without.retain(|pass| pass != exmc::advanced::RECENTRE);
    }
    if without.len() < kept {
        changes.push(format!("without `--without {}`", exmc::advanced::RECENTRE));
    }
    changes.extend(non_centre.iter().map(|name| format!("`--non-centre {name}`")));
    change(&mut settings, &before, &mut changes);
    if changes.is_empty() {
        return Ok(None);
    }
    let source = SourceArgs::of_run(path).read()?;
    let mut options = match &record.origin {
        Some(origin) => CompileArgs::of_run(origin, &without).options(),
        None => {
            let mut options = exmc::advanced::CompileOptions::default();
            options.without = without;
            options
        }
    };
    options.non_centre = non_centre.to_vec();
    if let Some(origin) = &record.origin {
        options.non_centre.extend(origin.non_centre.iter().cloned());
    }
    options.marginalise = Some(true);
    let compiled = source.compile(&options)?;
    let sample = |settings: &SamplerConfig| match &compiled.stan {
        Some(model) => exmc::sample(model, settings),
        None => exmc::sample(&compiled.bound, settings),
    };
    let directory = match out {
        Some(out) => out.to_owned(),
        None => fresh(path),
    };
    // Before time is spent: a run is never overwritten.
    if directory.join("run.json").exists() {
        let message = format!("`{}` holds a run already", directory.display());
        return Err(Failure::new(Exit::Io, message).hint("give another directory with `--out`"));
    }
    let mut fit = sample(&settings)?;
    let mut after = Health::of(fit.posterior());
    for _ in 1..ROUNDS {
        let mut next = settings.clone();
        let mut more = Vec::new();
        change(&mut next, &after, &mut more);
        if more.is_empty() {
            break;
        }
        (settings, fit) = (next.clone(), sample(&next)?);
        changes.extend(more);
        after = Health::of(fit.posterior());
    }
    fit.save(&directory)?;
    Ok(Some(Fixed { changes, before, after, directory }))
}

/// Changes settings as warnings ask for, with the flags that say so.
fn change(settings: &mut SamplerConfig, health: &Health, changes: &mut Vec<String>) {
    let has = |kinds: &[WarningKind]| health.said.iter().any(|w| kinds.contains(&w.kind));
    // Shorter steps out of a support leave it as well.
    if has(&[WarningKind::Divergences]) && !health.diverges_outside_support {
        let next = if settings.target_accept < 0.95 { 0.95 } else { 0.99 };
        if settings.target_accept < next {
            changes.push(format!("`--target-accept {next}` (it was {})", settings.target_accept));
            (settings.target_accept, settings.raise_target_accept) = (next, false);
        }
    }
    if has(&[WarningKind::DepthHits]) && settings.max_depth < 15 {
        settings.max_depth += 2;
        changes.push(format!("`--max-depth {}`", settings.max_depth));
    }
    if has(&[WarningKind::Rhat, WarningKind::Ebfmi]) {
        settings.warmup = 2 * settings.warmup.max(500);
        changes.push(format!("`--warmup {}`", settings.warmup));
    }
    let slow =
        [WarningKind::Rhat, WarningKind::EssBulk, WarningKind::EssTail, WarningKind::TooShort];
    if has(&slow) {
        settings.draws = 2 * settings.draws.max(500);
        changes.push(format!("`--draws {}`", settings.draws));
    }
}

/// A directory beside a run's that holds none.
fn fresh(path: &Path) -> PathBuf {
    let name = path.file_name().map_or("run".into(), |name| name.to_string_lossy().into_owned());
    let numbered = |k: usize| match k {
        1 => path.with_file_name(format!("{name}-fixed")),
        k => path.with_file_name(format!("{name}-fixed-{k}")),
    };
    (1..).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| numbered(1))
}

impl Fixed {
    /// Whether warnings are left.
    pub(crate) fn has_warnings(&self) -> bool {
        self.after.warnings > 0
    }

    pub(crate) fn to_text(&self) -> String {
        let row = |name: &str, text_of: &dyn Fn(&Health) -> String| {
            vec![name.to_owned(), text_of(&self.before), text_of(&self.after)]
        };
        let integer = |x: f64| rounded(x, Some(0));
        let rows = [
            row("warnings", &|h| h.warnings.to_string()),
            row("divergences", &|h| h.divergences.to_string()),
            row("depth hits", &|h| h.depth_hits.to_string()),
            row("lowest E-BFMI", &|h| rounded(h.ebfmi, Some(2))),
            row("largest R-hat", &|h| rounded(h.rhat, Some(3))),
            row("least bulk ESS", &|h| integer(h.ess_bulk)),
            row("least tail ESS", &|h| integer(h.ess_tail)),
            row("seconds", &|h| rounded(h.seconds, Some(2))),
        ];
        let mut text = format!("\ntried: {}\n\n", self.changes.join(", "));
        text.push_str(&table(&["", "before", "after"], &rows));
        for warning in &self.after.said {
            text.push_str(&format!("still: {}\n", warning.message));
        }
        text.push_str(&format!("the new run is in `{}`\n", self.directory.display()));
        text
    }

    pub(crate) fn to_json(&self) -> Value {
        let still: Vec<&str> = self.after.said.iter().map(|w| w.message.as_str()).collect();
        json!({
            "tried": self.changes,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "still": still,
            "directory": self.directory.display().to_string(),
        })
    }
}
