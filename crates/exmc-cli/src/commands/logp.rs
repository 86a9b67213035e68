//! `exmc logp`: constrained points -> the log density there and its gradient.

use std::path::PathBuf;

use clap::Args;
use exmc::advanced::BoundModel;
use exmc::model::Values;
use serde_json::{Map, Value, json};

use crate::display::{array, number, put, put_json, rounded};
use crate::failure::{Exit, Failure};
use crate::report::JSON_VERSION;
use crate::settings::CompileArgs;
use crate::source::SourceArgs;

/// Evaluate a model's log density and gradient at points
///
/// Points are constrained values by name; the gradient is with respect to the unconstrained
/// coordinates of each free variable. The density is that of the unconstrained vector (with log
/// Jacobians), of the model as it is declared: hierarchical variables are not standardised.
#[derive(Args, Debug)]
pub(crate) struct LogpArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// JSON file with an object name -> value, or a list of such objects
    #[arg(long, value_name = "FILE")]
    points: PathBuf,
    /// Leave out the log Jacobians of the transforms
    #[arg(long)]
    no_jacobian: bool,
    /// Standardise hierarchical variables as for sampling
    #[arg(long)]
    non_centre: bool,
    #[command(flatten)]
    compile: CompileArgs,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// One free variable's share of a gradient: name, unconstrained shape, derivatives.
type Part = (String, Vec<usize>, Vec<f64>);

struct Evaluated {
    lp: f64,
    gradient: Vec<Part>,
    error: Option<String>,
}

pub(crate) fn run(args: &LogpArgs) -> Result<Exit, Failure> {
    let source = args.source.read()?;
    let mut options = args.compile.options();
    options.jacobian = !args.no_jacobian;
    if !args.non_centre && !options.without.iter().any(|pass| pass == "non-centre") {
        options.without.push("non-centre".to_owned());
    }
    let compiled = source.compile(&options)?;
    let bound = &compiled.bound;
    let mut evaluated = Vec::new();
    for (k, point) in compiled.read_points(&args.points)?.iter().enumerate() {
        let place = format!("entry {k}");
        let in_entry = |failure: Failure| failure.in_file(&args.points).context(&place);
        evaluated.push(evaluate(bound, point).map_err(in_entry)?);
    }
    if args.json {
        let points: Vec<Value> = evaluated.iter().map(Evaluated::to_json).collect();
        put_json(&json!({"exmc": JSON_VERSION, "points": points}))?;
    } else {
        let texts: Vec<String> = evaluated
            .iter()
            .enumerate()
            .map(|(k, e)| format!("point {k}\n{}", e.to_text()))
            .collect();
        put(&texts.join("\n"))?;
    }
    Ok(Exit::Success)
}

fn evaluate(bound: &BoundModel, point: &Values) -> Result<Evaluated, Failure> {
    let layout = &bound.compiled().lowered().layout;
    let missing: Vec<_> = layout
        .iter()
        .filter(|entry| !point.contains_key(&entry.name))
        .map(|entry| format!("`{}`", entry.name))
        .collect();
    if !missing.is_empty() {
        let message = format!("the point has no value for {}", missing.join(", "));
        return Err(Failure::new(Exit::Model, message));
    }
    let position = bound.unconstrain(point)?;
    let (lp, flat, error) = match bound.logp_grad(&position) {
        Ok((lp, gradient)) => (lp, gradient, None),
        Err(error) => (f64::NAN, vec![f64::NAN; position.len()], Some(error.to_string())),
    };
    let gradient = layout
        .iter()
        .map(|entry| {
            let shape = entry.unconstrained.extents().to_vec();
            let part = flat[entry.offset..entry.offset + entry.unconstrained.len()].to_vec();
            (entry.name.clone(), shape, part)
        })
        .collect();
    Ok(Evaluated { lp, gradient, error })
}

impl Evaluated {
    fn to_json(&self) -> Value {
        let gradient: Map<String, Value> =
            self.gradient.iter().map(|(name, shape, d)| (name.clone(), array(shape, d))).collect();
        let mut json = json!({"lp": number(self.lp), "gradient": gradient});
        if let Some(error) = &self.error {
            json["error"] = error.as_str().into();
        }
        json
    }

    fn to_text(&self) -> String {
        let mut text = format!("  lp  {}\n", self.lp);
        for (name, _, derivatives) in &self.gradient {
            let numbers: Vec<String> = derivatives.iter().map(|d| rounded(*d, None)).collect();
            text.push_str(&format!("  d/d {name}  {}\n", numbers.join("  ")));
        }
        if let Some(error) = &self.error {
            text.push_str(&format!("  error: {error}\n"));
        }
        text
    }
}
