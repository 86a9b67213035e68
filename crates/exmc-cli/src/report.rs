//! Draws of a run -> what the program says about them: a table, totals and warnings, as text or
//! JSON.

use std::fmt::Write;

use exmc::advanced::text::table;
use exmc::advanced::{SUMMARY_HEAD, diagnosis, summary_cells};
use exmc::runs::Posterior;
use exmc_diagnose::{RunDiagnostics, Summary, Warning, WarningKind};
use exmc_draws::{RunError, StoredRun};
use serde_json::{Map, Value, json};

use crate::display::{count, number, seconds, significant};

/// Version of the JSON documents that commands write.
pub(crate) const JSON_VERSION: u32 = 1;

/// Everything that is reported of a run.
pub(crate) struct Report {
    parameters: Vec<(String, Summary)>,
    totals: RunDiagnostics,
    warnings: Vec<Warning>,
    status: String,
    draws: Vec<usize>,
    seconds: f64,
    leapfrogs: u64,
    step_sizes: Vec<f64>,
    /// What a draw is called, of a run without the sampler's statistics.
    plain: Option<&'static str>,
}

impl Report {
    /// Summarises a run. Chains without draws and those that failed are left out, which is a
    /// warning; parameters are summarised over the draws that all other chains have.
    pub(crate) fn of(posterior: Posterior, status: &str) -> Self {
        let (parameters, switched) = (posterior.summary(), posterior.label_switching());
        Self::with(posterior, status, parameters, switched)
    }

    /// The same of a run whose recorded values are in its files.
    pub(crate) fn of_run(run: StoredRun, status: &str) -> Result<Self, RunError> {
        let (parameters, switched) = (run.summary()?, run.label_switching()?);
        Ok(Self::with(run.posterior, status, parameters, switched))
    }

    fn with(
        mut posterior: Posterior,
        status: &str,
        parameters: Vec<(String, Summary)>,
        switched: Option<Warning>,
    ) -> Self {
        let leapfrogs = posterior.leapfrogs();
        let left_out = posterior.left_out();
        posterior.chains.retain(|chain| !chain.infos.is_empty());
        let totals = posterior.diagnostics();
        let warnings = diagnosis(&posterior, (left_out, switched), &parameters);
        let tuned = posterior.chains.iter().filter_map(|c| c.tuned.as_ref());
        Self {
            totals,
            warnings,
            status: status.to_owned(),
            draws: posterior.chains.iter().map(|c| c.infos.len()).collect(),
            seconds: posterior.seconds,
            leapfrogs,
            step_sizes: tuned.map(|t| t.step_size).collect(),
            parameters,
            plain: None,
        }
    }

    /// The report of draws that no sampler made, with what one of them is called.
    pub(crate) fn without_statistics(mut self, draw: &'static str) -> Self {
        self.plain = Some(draw);
        self
    }

    /// The same with the rows of some variables only: of all elements of a variable, or of one
    /// (`theta[3]`), in the order of the model. Warnings stay those of the run.
    ///
    /// # Errors
    /// The first name that nothing recorded has, with the names that there are.
    pub(crate) fn only(mut self, names: &[String]) -> Result<Self, (String, Vec<String>)> {
        let variable = |name: &str| name.split('[').next().unwrap_or(name).to_owned();
        let is_named =
            |parameter: &str, name: &str| parameter == name || variable(parameter) == name;
        let unknown = |name: &&String| !self.parameters.iter().any(|(p, _)| is_named(p, name));
        if let Some(name) = names.iter().find(unknown) {
            let mut all: Vec<String> = self.parameters.iter().map(|(p, _)| variable(p)).collect();
            all.dedup();
            return Err((name.clone(), all));
        }
        self.parameters.retain(|(p, _)| names.iter().any(|name| is_named(p, name)));
        Ok(self)
    }

    /// What is wrong with the run.
    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Every recorded number's name and summary.
    pub(crate) fn parameters(&self) -> &[(String, Summary)] {
        &self.parameters
    }

    /// Whether a diagnostic is bad.
    pub(crate) fn has_warnings(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// The table (at most `most` rows), the totals and the warnings.
    pub(crate) fn to_text(&self, most: usize) -> String {
        let rows: Vec<_> =
            self.parameters.iter().take(most).map(|(name, s)| summary_cells(name, s)).collect();
        let mut text = if rows.is_empty() { String::new() } else { table(&SUMMARY_HEAD, &rows) };
        if self.parameters.len() > most {
            let left = self.parameters.len() - most;
            let _ = writeln!(text, "... and {}", count(left as u64, "other parameter"));
        }
        if !self.draws.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.totals_text());
        for warning in &self.warnings {
            let _ = writeln!(text, "\nwarning: {}\n  help: {}", warning.message, warning.hint);
        }
        text
    }

    /// How many draws there are, and what went wrong with transitions.
    pub(crate) fn totals_text(&self) -> String {
        if self.draws.is_empty() {
            return "no draws\n".to_owned();
        }
        if let Some(draw) = self.plain {
            let total: usize = self.draws.iter().sum();
            return format!("{}\n", count(total as u64, draw));
        }
        let chains = count(self.totals.n_chains as u64, "chain");
        let same = self.draws.iter().all(|n| *n == self.draws[0]);
        let draws = if same {
            format!("{} each", count(self.draws[0] as u64, "draw"))
        } else {
            let counts: Vec<_> = self.draws.iter().map(ToString::to_string).collect();
            format!("{} draws", counts.join(", "))
        };
        let lowest = self.totals.ebfmi.iter().copied().fold(f64::INFINITY, f64::min);
        let ebfmi = if lowest.is_finite() { significant(lowest, 3) } else { "unknown".to_owned() };
        let recovered = match self.totals.recovered {
            0 => String::new(),
            n => format!("{}, ", count(n as u64, "recovered failure")),
        };
        let mut text = format!(
            "{chains} of {draws}: {}, {recovered}{}, lowest E-BFMI {ebfmi}\n",
            count(self.totals.divergences as u64, "divergence"),
            count(self.totals.depth_hits as u64, "depth hit"),
        );
        text.push_str(&count(self.leapfrogs, "leapfrog step"));
        if self.seconds > 0.0 {
            let _ = write!(text, " in {}", seconds(self.seconds));
        }
        text.push('\n');
        match self.status.as_str() {
            "completed" => {}
            "running" => text.push_str("the run has not ended, or its process was killed\n"),
            "stopped" => {
                text.push_str("the run was not completed: its time was up (`--max-seconds`)\n");
            }
            other => {
                let _ = writeln!(text, "the run was not completed: {other}");
            }
        }
        text
    }

    /// The same as JSON; `docs/cli.md` says what each field is.
    pub(crate) fn to_json(&self) -> Value {
        let parameters: Vec<Value> = self
            .parameters
            .iter()
            .map(|(name, s)| {
                let mut entry = Map::new();
                entry.insert("name".into(), name.as_str().into());
                let fields = [
                    ("mean", s.mean),
                    ("sd", s.sd),
                    ("mcse_mean", s.mcse_mean),
                    ("q5", s.q5),
                    ("q50", s.q50),
                    ("q95", s.q95),
                    ("ess_bulk", s.ess_bulk),
                    ("ess_tail", s.ess_tail),
                    ("rhat", s.rhat),
                ];
                entry.extend(fields.map(|(key, value)| (key.to_owned(), number(value))));
                Value::Object(entry)
            })
            .collect();
        let warnings: Vec<Value> = self
            .warnings
            .iter()
            .map(|w| json!({"kind": kind(w.kind), "message": w.message, "help": w.hint}))
            .collect();
        let numbers = |values: &[f64]| values.iter().map(|x| number(*x)).collect::<Value>();
        json!({
            "exmc": JSON_VERSION,
            "parameters": parameters,
            "run": {
                "status": self.status,
                "chains": self.totals.n_chains,
                "draws": self.draws,
                "divergences": self.totals.divergences,
                "recovered": self.totals.recovered,
                "depth_hits": self.totals.depth_hits,
                "ebfmi": numbers(&self.totals.ebfmi),
                "step_size": numbers(&self.step_sizes),
                "leapfrogs": self.leapfrogs,
                "seconds": number(self.seconds),
            },
            "warnings": warnings,
        })
    }
}

pub(crate) fn kind(kind: WarningKind) -> &'static str {
    match kind {
        WarningKind::NonFinite => "non-finite",
        WarningKind::Divergences => "divergences",
        WarningKind::Rhat => "rhat",
        WarningKind::EssBulk => "ess-bulk",
        WarningKind::EssTail => "ess-tail",
        WarningKind::Ebfmi => "ebfmi",
        WarningKind::DepthHits => "depth-hits",
        WarningKind::TooShort => "too-short",
        WarningKind::Recovered => "recovered",
        WarningKind::Chains => "chains",
        WarningKind::Precision => "precision",
        WarningKind::Apart => "apart",
        WarningKind::LabelSwitching => "label-switching",
        _ => "other",
    }
}
