//! `exmc sbc`: a model -> whether fits of data that it made recover what they were made from.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use exmc::advanced::text::table;
use exmc::sbc::{ModelSimulator, Quantity, Sbc, Settings, Simulate, sbc_with};
use exmc_plot::{SvgOptions, figures, svg};
use serde_json::{Value, json};

use crate::display::{count, number, put, put_json, rounded, say};
use crate::failure::{Exit, Failure};
use crate::report::JSON_VERSION;
use crate::settings::whole_number;
use crate::signals::Stop;
use crate::source::{Front, Source, SourceArgs};

/// Quantities that the table shows, those that leave their band first.
const SHOWN: usize = 50;

/// Check that a model recovers what its data were made from (simulation-based calibration)
///
/// Draws parameters from their priors and data from the parameters, many times, fits each data set,
/// and looks whether the ranks of the true values among posterior draws are uniform. A Stan program
/// is read as a recipe: its `~` statements draw parameters in the order of dependence, then the
/// data that stand left of `~`, which `--data` may leave out.
#[derive(Args, Debug)]
pub(crate) struct SbcArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Draw parameters and data from this model instead of MODEL, which fits them
    #[arg(long, value_name = "FILE")]
    simulate: Option<PathBuf>,
    /// Data sets to simulate and fit
    #[arg(long, value_name = "N", default_value_t = Settings::default().replications)]
    replications: u32,
    /// Nearly independent draws of a fit that a true value is ranked among
    #[arg(long, value_name = "L", default_value_t = Settings::default().draws)]
    draws: u32,
    /// Warmup draws of each fit
    #[arg(long, value_name = "N", default_value_t = Settings::default().sampler.warmup,
          allow_negative_numbers = true, value_parser = whole_number)]
    warmup: u64,
    /// Acceptance statistic that the step size of fits is adapted to
    #[arg(long, value_name = "P")]
    target_accept: Option<f64>,
    /// Seed of simulations and fits
    #[arg(long, value_name = "S", default_value_t = Settings::default().sampler.seed,
          allow_negative_numbers = true, value_parser = whole_number)]
    seed: u64,
    /// Probability that a model that is right fails, over all quantities together
    #[arg(long, value_name = "P", default_value_t = Settings::default().false_alarm)]
    false_alarm: f64,
    /// Fits that run at once; 0 takes as many as the machine has processors. The result does not
    /// depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: u32,
    /// Write `sbc.svg` and `sbc.json` into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// End with exit code 3 when ranks are not uniform
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &SbcArgs) -> Result<Exit, Failure> {
    let fitted = args.source.read()?;
    let from = match &args.simulate {
        Some(path) => Some(args.source.with_model(path).read()?),
        None => None,
    };
    let simulator = simulator(from.as_ref().unwrap_or(&fitted), &fitted)?;
    let mut settings = Settings::default().replications(args.replications).seed(args.seed);
    settings.draws = args.draws;
    settings.false_alarm = args.false_alarm;
    settings.sampler = settings.sampler.warmup(args.warmup).threads(args.threads);
    if let Some(target) = args.target_accept {
        settings.sampler.target_accept = target;
        settings.sampler.raise_target_accept = false;
    }
    let stop = Stop::on_signals()?;
    let checked = sbc_with(&*simulator, &settings, |_| !stop.is_asked())?;
    let json = to_json(&checked);
    if let Some(directory) = &args.out {
        write(directory, &checked, &json)?;
    }
    if args.json {
        put_json(&json)?;
    } else {
        put(&to_text(&checked))?;
    }
    for (number, error) in checked.failed.iter().take(3) {
        say(&format!("data set {number} was not fitted: {error}"));
    }
    Ok(if args.check && !checked.passes() { Exit::Diagnostics } else { Exit::Success })
}

fn simulator(from: &Source, fitted: &Source) -> Result<Box<dyn Simulate>, Failure> {
    match (&from.front, &fitted.front) {
        (Front::Stan(from_program), Front::Stan(program)) => {
            let data = from.data_text.as_deref().unwrap_or("{}");
            let made = from_program.simulator(&from.data_name(), data)?;
            Ok(Box::new(made.fitted_by(program)))
        }
        (Front::Json { model, data }, Front::Json { model: other, .. }) => {
            Ok(Box::new(ModelSimulator::fitted_by(model, data, other)?))
        }
        _ => {
            let message = "a Stan program and a JSON model do not name their data alike";
            Err(Failure::new(Exit::Usage, message)
                .hint("simulate from a model of the same form as the one that is fitted"))
        }
    }
}

fn write(directory: &Path, checked: &Sbc, json: &Value) -> Result<(), Failure> {
    let lines: Vec<_> =
        checked.quantities.iter().map(|q| (q.name.clone(), q.ecdf.clone())).collect();
    let figure = figures::sbc_plot(&lines, checked.false_alarm);
    fs::create_dir_all(directory).map_err(|e| Failure::unwritable(directory, &e))?;
    for (name, text) in [
        ("sbc.svg", svg(&figure, &SvgOptions::default())),
        ("sbc.json", exmc_draws::json_text(json)),
    ] {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|e| Failure::unwritable(&path, &e))?;
    }
    Ok(())
}

/// How far a quantity's ranks are from uniform, as a share of the band: above 1 they leave it.
///
/// Places whose band holds every count on one side say nothing there: with 100 ranks, none at or
/// below the second of 100 is the band's own end.
fn share(quantity: &Quantity) -> f64 {
    let ecdf = &quantity.ecdf;
    let places = ecdf.at.iter().zip(&ecdf.difference).zip(ecdf.lower.iter().zip(&ecdf.upper));
    let shares = places.map(|((abscissa, difference), (lower, upper))| {
        // No count is below none and above all.
        let (limit, least) =
            if *difference < 0.0 { (-lower, *abscissa) } else { (*upper, 1.0 - abscissa) };
        if limit < least - 1e-9 { difference.abs() / limit } else { 0.0 }
    });
    shares.filter(|share| share.is_finite()).fold(0.0, f64::max)
}

fn verdict(checked: &Sbc) -> String {
    let leaving = checked.quantities.iter().filter(|q| q.ecdf.crosses).count();
    let all = checked.quantities.len();
    let rate = rounded(100.0 * checked.false_alarm, Some(1));
    if leaving > 0 {
        return format!(
            "not calibrated: the ranks of {leaving} of {} leave their bands, which happens to a \
             right model in at most {rate} % of checks",
            count(all as u64, "quantity").replace("quantitys", "quantities")
        );
    }
    if !checked.failed.is_empty() {
        return format!(
            "undecided: {} could not be fitted",
            count(checked.failed.len() as u64, "data set")
        );
    }
    format!("calibrated: all ranks keep to their bands (false-alarm rate {rate} %)")
}

fn to_text(checked: &Sbc) -> String {
    let mut order: Vec<&Quantity> = checked.quantities.iter().collect();
    order.sort_by_key(|q| !q.ecdf.crosses);
    let cells = |q: &&Quantity| {
        let mean = q.ranks.iter().map(|r| f64::from(*r)).sum::<f64>() / q.ranks.len() as f64;
        vec![
            q.name.clone(),
            rounded(mean / f64::from(checked.max_rank), Some(3)),
            rounded(share(q), Some(2)),
            q.shape().describe().to_owned(),
        ]
    };
    let rows: Vec<_> = order.iter().take(SHOWN).map(cells).collect();
    let mut text = table(&["quantity", "mean rank", "of band", "posteriors are"], &rows);
    if order.len() > SHOWN {
        text.push_str(&format!("{SHOWN} of {} quantities are shown\n", order.len()));
    }
    text.push_str(&format!(
        "\n{}, ranks 0 to {}, {} with divergences\n",
        count(u64::from(checked.replications), "data set"),
        checked.max_rank,
        count(u64::from(checked.divergent), "fit"),
    ));
    if checked.correlated > 0 {
        text.push_str(&format!(
            "warning: draws of {} are correlated, which spreads ranks to both ends\n",
            count(u64::from(checked.correlated), "fit")
        ));
    }
    text.push_str(&verdict(checked));
    text.push('\n');
    text
}

fn to_json(checked: &Sbc) -> Value {
    let quantities = checked.quantities.iter().map(|q| {
        json!({
            "name": q.name,
            "ranks": q.ranks,
            "leaves_band": q.ecdf.crosses,
            "shape": q.shape().describe(),
            "share_of_band": number(share(q)),
        })
    });
    let failed = checked.failed.iter();
    json!({
        "exmc": JSON_VERSION,
        "passes": checked.passes(),
        "verdict": verdict(checked),
        "replications": checked.replications,
        "max_rank": checked.max_rank,
        "false_alarm": number(checked.false_alarm),
        "divergent_fits": checked.divergent,
        "correlated_fits": checked.correlated,
        "failed": failed.map(|(k, e)| json!({"data_set": k, "error": e})).collect::<Vec<_>>(),
        "quantities": quantities.collect::<Vec<_>>(),
    })
}
