//! `exmc plot DIR KIND`: a stored run -> a figure, in the terminal or as a file.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use exmc_draws::{Method, Posterior, StoredRun, Variable, read_run};
use exmc_plot::statistics::Interval;
use exmc_plot::{
    Figure, Parameter, PlotError, SamplerStatistics, SvgOptions, TerminalOptions, describe,
    figures, parameters, svg, terminal,
};
use serde_json::{Value, json};

use crate::commands::loo::leave_one_out;
use crate::display::{put, put_json, say};
use crate::evidence;
use crate::failure::{Exit, Failure};
use crate::likelihood::{LOG_LIK, Likelihood};
use crate::replicated::{Replicated, Replications, try_replicated};
use crate::report::JSON_VERSION;

/// Draw a figure of a stored run, in the terminal or into a file
///
/// Without NAME it is of the run's parameters in order, as many as a page shows; `--page` turns
/// over, `--worst` begins with the largest R-hat.
#[derive(Args, Debug)]
pub(crate) struct PlotArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// What to draw
    #[arg(value_name = "KIND")]
    kind: Kind,
    /// Parameters: `theta` for all elements, `theta[3]` for one
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Write an image; the name ends in `.svg`, or `.png` where the program was built with it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Width: pixels of an image [default: 760], or columns of text [default: those of `COLUMNS`,
    /// or 80]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Which page of parameters, from 1 on
    #[arg(long, value_name = "N", default_value_t = 1)]
    page: usize,
    /// Begin with the parameters whose R-hat is largest
    #[arg(long)]
    worst: bool,
    /// Probability of intervals and bands
    #[arg(long, value_name = "P", default_value_t = 0.9)]
    probability: f64,
    /// Highest-density intervals, not equal-tailed ones
    #[arg(long)]
    hdi: bool,
    /// Another run, to stand beside this one (`forest`) or to be the prior (`prior`)
    #[arg(long, value_name = "DIR")]
    with: Vec<PathBuf>,
    /// Observations, by their name in the run's data (`ppc` and its like), where NAME is a recorded
    /// quantity that predicts them; without it NAME is observed, and drawn anew by the model
    #[arg(long, value_name = "NAME")]
    observed: Option<String>,
    /// Groups of the observations, by their name in the run's data
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Keep to ASCII
    #[arg(long)]
    ascii: bool,
    /// Write what the figure shows as JSON: title, description, and its axes and marks as text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Draws by iteration and rank bars of each chain
    Trace,
    /// Rank ECDF difference of each chain with a simultaneous band
    Rank,
    /// Medians and intervals
    Forest,
    /// Densities with an interval
    Posterior,
    /// Pairs of parameters with divergences
    Pair,
    /// Draws as lines across parameters
    Parallel,
    /// Energies and their changes
    Energy,
    /// Effective sample size as draws add up
    Ess,
    /// Effective sample size by quantile
    EssQuantile,
    /// Autocorrelation by lag
    Autocorrelation,
    /// R-hat and effective sample size of all parameters
    Overview,
    /// Posterior predictive densities
    Ppc,
    /// Posterior predictive distribution functions
    PpcEcdf,
    /// Counts, observed and predicted
    Rootogram,
    /// Frequencies of an event by predicted probability
    Calibration,
    /// Prior against posterior: draws of the model's own prior, or those of the run `--with DIR`
    Prior,
    /// Pareto k of leave-one-out by observation
    ParetoK,
    /// Where observations fall among predictions made without them
    LooPit,
    /// Expected log predictive density of this run's model and those `--with DIR`
    Compare,
}

impl Kind {
    /// How many parameters a page shows.
    fn page(self) -> usize {
        match self {
            Self::Trace => 5,
            Self::Rank => 6,
            Self::Forest => 40,
            Self::Pair => 4,
            Self::Parallel => 30,
            Self::Posterior | Self::Ess | Self::EssQuantile | Self::Autocorrelation => 9,
            _ => 9,
        }
    }

    fn is_predictive(self) -> bool {
        let kinds = [Self::Ppc, Self::PpcEcdf, Self::Rootogram, Self::Calibration, Self::LooPit];
        kinds.contains(&self)
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        let failure = Failure::new(Exit::Usage, error.to_string());
        match error.help() {
            Some(help) => failure.hint(help),
            None => failure,
        }
    }
}

pub(crate) fn run(args: &PlotArgs) -> Result<Exit, Failure> {
    check(args)?;
    let stored = read_run(&args.directory)?;
    for note in &stored.notes {
        say(&format!("note: {note}"));
    }
    let figure = make(args, &stored)?;
    if args.json {
        put_json(&json!({
            "exmc": JSON_VERSION,
            "title": figure.title,
            "description": figure.description,
            "figure": describe(&figure),
            "notes": figure.notes,
        }))?;
    }
    match &args.out {
        Some(path) => write(&figure, path, args.width)?,
        None if args.json => {}
        None => {
            let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
            let width = args.width.or(columns).unwrap_or(80);
            let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
                .iter()
                .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
                .is_none_or(|locale| {
                    locale.to_ascii_uppercase().replace('-', "").ends_with("UTF8")
                });
            // A file or pipe has no locale of its own.
            let ascii = args.ascii || (std::io::stdout().is_terminal() && !utf8);
            put(&terminal(&figure, &TerminalOptions { width, ascii }))?;
        }
    }
    Ok(Exit::Success)
}

/// What can be said of the command line before a file is read.
fn check(args: &PlotArgs) -> Result<(), Failure> {
    let wrong = |message: &str, help: &str| Err(Failure::new(Exit::Usage, message).hint(help));
    if !(args.probability > 0.0 && args.probability < 1.0) {
        return wrong("--probability is not between 0 and 1", "0.9 is usual");
    }
    if args.page == 0 {
        return wrong("pages are numbered from 1 on", "leave --page out for the first one");
    }
    if let Some(path) = &args.out {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "svg" => {}
            "png" if cfg!(feature = "png") => {}
            "png" => {
                return wrong(
                    "this program was built without PNG images",
                    "write an SVG, or build with `--features png`",
                );
            }
            _ => return wrong("the name of an image ends in `.svg` or `.png`", "name it so"),
        }
    }
    if args.kind.is_predictive() && args.names.len() != 1 {
        return wrong(
            "a predictive check is of one observed variable, or of the quantity that replicates it",
            "for example `exmc plot DIR ppc y`, or `exmc plot DIR ppc y_rep --observed y`",
        );
    }
    if args.kind == Kind::Prior && args.with.len() > 1 {
        return wrong("`prior` takes one run of the prior", "give one directory: `--with DIR`");
    }
    if args.kind == Kind::Compare && args.with.is_empty() {
        return wrong("`compare` needs another run", "give its directory: `--with DIR`");
    }
    Ok(())
}

fn write(figure: &Figure, path: &Path, width: Option<usize>) -> Result<(), Failure> {
    let mut options = SvgOptions::default();
    if let Some(width) = width {
        options.width = width as f64;
    }
    let is_png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    let bytes = if is_png { png(figure, &options)? } else { svg(figure, &options).into_bytes() };
    fs::write(path, bytes).map_err(|error| {
        Failure::new(Exit::Io, format!("cannot write `{}`: {error}", path.display()))
    })
}

#[cfg(feature = "png")]
fn png(figure: &Figure, options: &SvgOptions) -> Result<Vec<u8>, Failure> {
    Ok(exmc_plot::png(figure, options, 2.0)?)
}

#[cfg(not(feature = "png"))]
fn png(_: &Figure, _: &SvgOptions) -> Result<Vec<u8>, Failure> {
    unreachable!("the command line was checked")
}

fn make(args: &PlotArgs, stored: &StoredRun) -> Result<Figure, Failure> {
    let posterior = &stored.posterior;
    let interval = if args.hdi { Interval::HighestDensity } else { Interval::EqualTailed };
    let levels = (0.5_f64.min(args.probability), args.probability);
    let alpha = 1.0 - args.probability;
    if args.kind == Kind::Overview {
        return Ok(figures::overview_plot(&posterior.summary(), posterior.usable_chains().len()));
    }
    let statistics = SamplerStatistics::of(posterior);
    let sampled = stored.record.method == Method::Sample;
    if args.kind == Kind::Energy {
        if !sampled {
            let message = "the run has no energies: no sampler made its draws";
            return Err(Failure::new(Exit::Usage, message));
        }
        return Ok(figures::energy_plot(&statistics.energy));
    }
    match args.kind {
        Kind::LooPit => {
            let likelihood = Likelihood::of(&args.directory, posterior, &[])?;
            let Replicated { observed, predicted, .. } = replications(args, stored)?;
            let pit = evidence::loo_pits(&likelihood, &observed, &predicted)?;
            return Ok(figures::loo_pit_plot(&pit, alpha)?);
        }
        Kind::ParetoK => {
            let loo = leave_one_out(&Likelihood::of(&args.directory, posterior, &[])?);
            let k: Vec<f64> = loo.pointwise.iter().map(|p| p.pareto_k).collect();
            return Ok(figures::pareto_k_plot(&k, loo.k_threshold()));
        }
        Kind::Compare => {
            let mut all = vec![args.directory.clone()];
            all.extend(args.with.iter().cloned());
            return Ok(figures::compare_plot(&evidence::compared(&all)?)?);
        }
        _ => {}
    }
    if args.kind.is_predictive() {
        return predictive(args, stored);
    }
    let (chosen, note) = choose(args, posterior)?;
    let divergent = statistics.pooled_divergent();
    let mut figure = match args.kind {
        Kind::Trace => figures::trace_plot(&chosen, sampled.then_some(&statistics)),
        Kind::Rank => figures::rank_plot(&chosen, alpha),
        Kind::Forest => {
            let mut runs = vec![(args.directory.display().to_string(), chosen)];
            for directory in &args.with {
                let other = read_run(directory)?.posterior;
                let known = other.column_names();
                let names: Vec<String> = runs[0].1.iter().map(|p| p.name().to_owned()).collect();
                let both: Vec<String> = names.into_iter().filter(|n| known.contains(n)).collect();
                let common = if both.is_empty() { Vec::new() } else { parameters(&other, &both)? };
                runs.push((directory.display().to_string(), common));
            }
            figures::forest_plot(&runs, interval, levels)?
        }
        Kind::Posterior => figures::posterior_plot(&chosen, interval, args.probability),
        Kind::Pair => figures::pair_plot(&chosen, sampled.then_some(divergent.as_slice()))?,
        Kind::Parallel => figures::parallel_plot(&chosen, &divergent)?,
        Kind::Ess => figures::ess_evolution_plot(&chosen),
        Kind::EssQuantile => figures::ess_quantile_plot(&chosen),
        Kind::Autocorrelation => figures::autocorrelation_plot(&chosen, 40),
        Kind::Prior => {
            let names: Vec<String> = chosen.iter().map(|p| p.name().to_owned()).collect();
            let (prior, chosen) = match args.with.first() {
                Some(run) => (parameters(&read_run(run)?.posterior, &names)?, chosen),
                None => {
                    let prior = evidence::prior(&args.directory, posterior)?;
                    let mut with_prior = chosen;
                    if args.names.is_empty() {
                        // Values that are computed from parameters have no prior of their own.
                        with_prior.retain(|p| prior.iter().any(|other| other.name() == p.name()));
                    }
                    (prior, with_prior)
                }
            };
            figures::prior_posterior_plot(&chosen, &prior)?
        }
        _ => unreachable!("made above"),
    };
    figure.notes.extend(note);
    Ok(figure)
}

/// The parameters of a page, and which page it is of how many.
fn choose(
    args: &PlotArgs,
    posterior: &Posterior,
) -> Result<(Vec<Parameter>, Option<String>), Failure> {
    // Only what is shown is copied: a run may have a hundred thousand columns.
    let mut names: Vec<String> = Vec::new();
    let mut without = Vec::new();
    if args.names.is_empty() {
        let (aside, shown): (Vec<&Variable>, Vec<&Variable>) =
            posterior.variables.iter().partition(|v| is_of_observations(&v.name));
        // Of a run that records nothing else they are what there is to see.
        let (aside, shown) = if shown.is_empty() { (Vec::new(), aside) } else { (aside, shown) };
        names.extend(shown.into_iter().flat_map(Variable::column_names));
        without.extend(aside.into_iter().map(|v| format!("`{}`", v.name)));
    }
    for name in &args.names {
        match posterior.variable(name) {
            Some(variable) => names.extend(variable.column_names()),
            None => names.push(name.clone()),
        }
    }
    if names.is_empty() {
        return Err(Failure::new(Exit::Usage, "the run records no parameters"));
    }
    if args.worst {
        let summaries = posterior.summary();
        let rhat = |name: &String| {
            let found = summaries.iter().find(|(n, _)| n == name);
            found.map_or(f64::NAN, |(_, s)| s.rhat)
        };
        let mut by: Vec<(f64, String)> = names.into_iter().map(|n| (rhat(&n), n)).collect();
        // Constant ones, without an R-hat, last.
        by.sort_by(|a, b| a.0.is_nan().cmp(&b.0.is_nan()).then(b.0.total_cmp(&a.0)));
        names = by.into_iter().map(|(_, name)| name).collect();
    }
    let size = args.kind.page();
    let pages = names.len().div_ceil(size);
    if args.page > pages {
        let message = format!("there is no page {} of {pages}", args.page);
        return Err(Failure::new(Exit::Usage, message));
    }
    let shown: Vec<String> =
        names.iter().skip((args.page - 1) * size).take(size).cloned().collect();
    let mut notes = Vec::new();
    if pages > 1 {
        let (page, n) = (args.page, names.len());
        notes.push(format!("Page {page} of {pages}: {} of {n} parameters.", shown.len()));
    }
    if !without.is_empty() {
        notes.push(format!("Without {}, unless asked for.", without.join(" and ")));
    }
    let note = (!notes.is_empty()).then(|| notes.join(" "));
    Ok((parameters(posterior, &shown)?, note))
}

/// Whether a variable has a number for each observation by its name: log likelihoods and
/// replications, which are no parameters.
pub(crate) fn is_of_observations(name: &str) -> bool {
    name == LOG_LIK || name.ends_with("_rep")
}

/// What was observed, with the recorded quantity that replicates it or, where only the observed
/// variable is named, with what its model draws in its place.
fn replications(args: &PlotArgs, stored: &StoredRun) -> Result<Replicated, Failure> {
    let (directory, name) = (&args.directory, &args.names[0]);
    if let Some(observed) = &args.observed {
        let (observed, predicted) =
            observed_and_predicted(directory, &stored.posterior, name, observed)?;
        return Ok(Replicated { name: name.clone(), observed, predicted });
    }
    let Replications { all, left_out } = try_replicated(directory, stored)?;
    if let Some(left_out) = left_out {
        if args.kind == Kind::LooPit {
            let message = format!("LOO-PIT takes a replication at every draw, but {left_out}");
            return Err(Failure::new(Exit::Model, message));
        }
        say(&format!("note: {left_out}"));
    }
    let known: Vec<String> = all.iter().map(|replicated| replicated.name.clone()).collect();
    all.into_iter().find(|replicated| replicated.name == *name).ok_or_else(|| {
        let message = format!("`{name}` is not what the run's model observes");
        Failure::new(Exit::Usage, message).hint(match known.is_empty() {
            true => "name what it records, and what that replicates: `ppc y_rep --observed y`"
                .to_owned(),
            false => format!(
                "it observes {}; what a recorded quantity replicates is named by `--observed`",
                known.join(", ")
            ),
        })
    })
}

fn predictive(args: &PlotArgs, stored: &StoredRun) -> Result<Figure, Failure> {
    let replicated = replications(args, stored)?;
    if args.kind == Kind::Calibration {
        // The mean of predicted probabilities, or of replicated events, is the predicted
        // probability.
        let mean = |draws: &Vec<f64>| draws.iter().sum::<f64>() / draws.len() as f64;
        let probability: Vec<f64> = replicated.predicted.iter().map(mean).collect();
        return Ok(figures::calibration_plot(&probability, &replicated.observed)?);
    }
    let mut check = replicated.check()?;
    if let Some(group) = &args.group {
        let groups = numbers(&read_data(&args.directory)?, group)?;
        check = check.by_group(groups.iter().map(|g| format!("{group} {g}")).collect())?;
    }
    Ok(match args.kind {
        Kind::Ppc => figures::predictive_density_plot(&check),
        Kind::PpcEcdf => figures::predictive_ecdf_plot(&check, args.probability),
        _ => figures::rootogram_plot(&check, args.probability)?,
    })
}

/// Observations in a run's data, and what the run predicts for each, draw by draw.
pub(crate) fn observed_and_predicted(
    directory: &Path,
    posterior: &Posterior,
    replicated: &str,
    observed: &str,
) -> Result<(Vec<f64>, Vec<Vec<f64>>), Failure> {
    let values = numbers(&read_data(directory)?, observed)?;
    let columns = parameters(posterior, &[replicated.to_owned()])?;
    if columns.len() != values.len() || columns.is_empty() {
        let (found, expected) = (columns.len(), values.len());
        let message =
            format!("`{replicated}` has {found} elements, but `{observed}` has {expected}");
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok((values, columns.iter().map(Parameter::pooled).collect()))
}

/// The data that a run was made from.
fn read_data(directory: &Path) -> Result<Value, Failure> {
    let path = directory.join("data.json");
    let text = fs::read_to_string(&path).map_err(|error| Failure::unreadable(&path, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(Exit::Io, format!("`{}` is no JSON: {error}", path.display()))
    })
}

/// An entry of the data as numbers, row-major.
fn numbers(data: &Value, name: &str) -> Result<Vec<f64>, Failure> {
    fn collect(value: &Value, into: &mut Vec<f64>) -> bool {
        match value {
            Value::Array(items) => items.iter().all(|item| collect(item, into)),
            Value::Number(number) => number.as_f64().map(|x| into.push(x)).is_some(),
            _ => false,
        }
    }
    let Some(value) = data.get(name) else {
        let names: Vec<&str> =
            data.as_object().into_iter().flatten().map(|(n, _)| n.as_str()).take(12).collect();
        return Err(Failure::new(Exit::Usage, format!("the data have no `{name}`"))
            .hint(format!("they have {}", names.join(", "))));
    };
    let mut numbers = Vec::new();
    if !collect(value, &mut numbers) {
        return Err(Failure::new(
            Exit::Usage,
            format!("`{name}` in the data is no array of numbers"),
        ));
    }
    Ok(numbers)
}
