//! What a run was asked for -> the comment lines `# key = value` at the top of a CmdStan CSV file.
//!
//! The lines are CmdStan's tree of arguments, two spaces a level, in its order, each with
//! `(Default)` where the value is CmdStan's default. Readers look up keys whatever their level is.

use std::fmt::{Display, Write};

use exmc_infer::{InverseMetric, MetricKind};

use super::write::number;
use crate::run_file::{Method, RunRecord};

/// The version of CmdStan whose form of files this is.
const FORM: [(&str, u32); 3] = [("major", 2), ("minor", 36), ("patch", 0)];

/// What a file says of its origin, whatever method made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance<'a> {
    /// Name and version of the program.
    pub program: &'a str,
    /// The model's name.
    pub model: &'a str,
    /// When the run began: seconds since the start of 1970, UTC.
    pub started: u64,
    /// The chain's number, from one.
    pub id: u32,
    /// The data's file, if there is one.
    pub data: Option<&'a str>,
    /// The file of the mode that draws of `laplace` are about.
    pub mode: Option<&'a str>,
    /// The run's seed.
    pub seed: u64,
    /// Whether draws have a column more than CmdStan's, `recovered__`: 1 where the trajectory ended
    /// because the log density could not be evaluated. All chains of a run have it, or none.
    pub recovered: bool,
}

/// What `optimize` was asked for, with CmdStan's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimizeArguments {
    /// Step length that the first line search starts from.
    pub init_alpha: f64,
    /// Absolute change of the objective.
    pub tol_obj: f64,
    /// Relative change of the objective, in units of the machine's precision.
    pub tol_rel_obj: f64,
    /// Norm of the gradient.
    pub tol_grad: f64,
    /// Relative norm of the gradient, in units of the machine's precision.
    pub tol_rel_grad: f64,
    /// Norm of the change of the position.
    pub tol_param: f64,
    /// How many steps the curvature is taken from.
    pub history_size: usize,
    /// Whether log Jacobians count.
    pub jacobian: bool,
    /// Largest number of iterations.
    pub iter: u64,
}

/// Comment lines.
pub(super) struct Lines(String);

impl Lines {
    fn open() -> Self {
        let mut lines = Self(String::new());
        for (part, value) in FORM {
            lines.say(0, format_args!("stan_version_{part} = {value}"));
        }
        lines
    }

    fn say(&mut self, level: usize, text: impl Display) {
        let _ = writeln!(self.0, "# {:indent$}{text}", "", indent = 2 * level);
    }

    /// A key with its value, marked when that is CmdStan's default.
    fn value(&mut self, level: usize, key: &str, value: impl Display, default: &str) {
        let value = value.to_string();
        let mark = if value == default { " (Default)" } else { "" };
        self.say(level, format_args!("{key} = {value}{mark}"));
    }

    fn provenance(&mut self, provenance: &Provenance<'_>) {
        self.say(0, format_args!("model = {}_model", provenance.model));
        self.say(0, format_args!("start_datetime = {}", date_time(provenance.started)));
    }

    fn close(mut self, provenance: &Provenance<'_>) -> String {
        self.value(0, "id", provenance.id, "1");
        self.say(0, "data");
        self.value(1, "file", provenance.data.unwrap_or_default(), "");
        self.value(0, "init", "2", "2");
        self.say(0, "random");
        self.say(1, format_args!("seed = {}", provenance.seed));
        self.say(0, "output");
        self.value(
            1,
            "file",
            format_args!("{}_{}.csv", provenance.model, provenance.id),
            "output.csv",
        );
        self.value(1, "diagnostic_file", "", "");
        self.value(1, "refresh", "100", "100");
        self.value(1, "sig_figs", "-1", "-1");
        self.value(1, "profile_file", "profile.csv", "profile.csv");
        self.value(1, "save_cmdstan_config", "false", "false");
        self.value(0, "num_threads", "1", "1");
        self.say(0, format_args!("stanc_version = {}", provenance.program));
        self.say(0, "stancflags = ");
        self.0
    }
}

/// The lines of a run's file. `draws` and `warmup` are the numbers of draws in it.
pub(super) fn run_arguments(
    provenance: &Provenance<'_>,
    record: &RunRecord,
    draws: usize,
    warmup: usize,
) -> String {
    let mut lines = Lines::open();
    lines.provenance(provenance);
    match record.method {
        Method::Sample => sample_arguments(&mut lines, record, draws, warmup),
        Method::Laplace => {
            lines.say(0, "method = laplace");
            lines.say(1, "laplace");
            lines.say(2, format_args!("mode = {}", provenance.mode.unwrap_or_default()));
            lines.value(2, "jacobian", "true", "true");
            lines.value(2, "draws", draws, "1000");
            lines.value(2, "calculate_lp", "true", "true");
        }
        Method::Generate => {
            lines.say(0, "method = generate_quantities");
            lines.say(1, "generate_quantities");
            lines.value(2, "num_chains", "1", "1");
        }
        method @ (Method::Pathfinder | Method::Variational) => {
            let name = method.name();
            lines.say(0, format_args!("method = {name}"));
            lines.say(1, name);
            let of_draws = match method {
                Method::Pathfinder => "num_psis_draws",
                _ => "output_samples",
            };
            lines.value(2, of_draws, draws, "1000");
        }
    }
    lines.close(provenance)
}

fn sample_arguments(lines: &mut Lines, record: &RunRecord, draws: usize, warmup: usize) {
    let config = &record.config;
    // A chain that was stopped holds fewer draws than were asked for; readers count lines.
    let asked = config.warmup.to_string();
    let warmup = if record.save_warmup { warmup.to_string() } else { asked };
    lines.value(0, "method", "sample", "sample");
    lines.say(1, "sample");
    lines.value(2, "num_samples", draws, "1000");
    lines.value(2, "num_warmup", warmup, "1000");
    lines.value(2, "save_warmup", record.save_warmup, "false");
    lines.value(2, "thin", "1", "1");
    lines.say(2, "adapt");
    lines.value(3, "engaged", config.warmup > 0, "true");
    lines.value(3, "gamma", "0.05", "0.05");
    lines.value(3, "delta", number(config.target_accept), "0.8");
    lines.value(3, "kappa", "0.75", "0.75");
    lines.value(3, "t0", "10", "10");
    lines.value(3, "init_buffer", "75", "75");
    lines.value(3, "term_buffer", "50", "50");
    lines.value(3, "window", "25", "25");
    lines.value(3, "save_metric", "false", "false");
    lines.value(2, "algorithm", "hmc", "hmc");
    lines.say(3, "hmc");
    lines.value(4, "engine", "nuts", "nuts");
    lines.say(5, "nuts");
    lines.value(6, "max_depth", config.max_depth, "10");
    lines.value(4, "metric", metric_name(record), "diag_e");
    lines.value(4, "metric_file", "", "");
    lines.value(4, "stepsize", "1", "1");
    lines.value(4, "stepsize_jitter", number(config.step_jitter), "0");
    lines.value(2, "num_chains", "1", "1");
}

/// Stan's name of the metric. One of low rank counts as the diagonal that is written of it.
pub(super) fn metric_name(record: &RunRecord) -> &'static str {
    let given = record.config.warm_start.as_ref().filter(|warm| !warm.adapt_metric);
    let dense = match given {
        Some(warm) => matches!(warm.inverse_metric, InverseMetric::Dense { .. }),
        None => record.config.metric == MetricKind::Dense,
    };
    if dense { "dense_e" } else { "diag_e" }
}

/// The lines of a mode's file.
pub(super) fn optimize_arguments(
    provenance: &Provenance<'_>,
    arguments: &OptimizeArguments,
) -> String {
    let mut lines = Lines::open();
    lines.provenance(provenance);
    lines.say(0, "method = optimize");
    lines.say(1, "optimize");
    lines.value(2, "algorithm", "lbfgs", "lbfgs");
    lines.say(3, "lbfgs");
    lines.value(4, "init_alpha", number(arguments.init_alpha), "0.001");
    lines.value(4, "tol_obj", number(arguments.tol_obj), "1e-12");
    lines.value(4, "tol_rel_obj", number(arguments.tol_rel_obj), "10000");
    lines.value(4, "tol_grad", number(arguments.tol_grad), "1e-8");
    lines.value(4, "tol_rel_grad", number(arguments.tol_rel_grad), "10000000");
    lines.value(4, "tol_param", number(arguments.tol_param), "1e-8");
    lines.value(4, "history_size", arguments.history_size, "5");
    lines.value(2, "jacobian", arguments.jacobian, "false");
    lines.value(2, "iter", arguments.iter, "2000");
    lines.value(2, "save_iterations", "false", "false");
    lines.close(provenance)
}

/// Seconds since the start of 1970 -> `YYYY-MM-DD HH:MM:SS UTC`, in the Gregorian calendar.
pub fn date_time(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    // 400 years have always the same number of days; no loop is long after that.
    let mut year = 1970 + 400 * (days / 146_097);
    days %= 146_097;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // `date -u -d @N` of GNU coreutils.
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (978_307_199, "2000-12-31 23:59:59 UTC"),
            (1_700_000_000, "2023-11-14 22:13:20 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (13_569_465_599, "2399-12-31 23:59:59 UTC"),
            (253_402_300_799, "9999-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(date_time(seconds), expected);
        }
    }
}
