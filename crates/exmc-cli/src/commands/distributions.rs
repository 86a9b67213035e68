//! `exmc distributions`: the families that a model may use, with their parameters.

use clap::Args;
use exmc::advanced::text::table;
use exmc_model::distribution::{Distribution, FAMILIES, Parameter};
use serde_json::{Value, json};

use crate::display::{number, put, put_json};
use crate::failure::{Exit, Failure};

/// List the distributions that a model may use
#[derive(Args, Debug)]
pub(crate) struct DistributionsArgs {
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &DistributionsArgs) -> Result<Exit, Failure> {
    if args.json {
        let families: Vec<Value> = FAMILIES.iter().map(|family| entry(*family)).collect();
        put_json(&json!({"exmc": crate::report::JSON_VERSION, "distributions": families}))?;
        return Ok(Exit::Success);
    }
    let rows: Vec<_> = FAMILIES
        .iter()
        .map(|family| {
            let parameters: Vec<_> =
                family.parameters().iter().map(|p| signature(family.parameters(), p)).collect();
            vec![
                format!("{}({})", family.name(), parameters.join(", ")),
                family.support().describe().to_owned(),
                family.aliases().join(", "),
            ]
        })
        .collect();
    put(&table(&["distribution", "outcome", "also called"], &rows))?;
    Ok(Exit::Success)
}

fn signature(all: &[Parameter], parameter: &Parameter) -> String {
    match (parameter.default, parameter.same_as) {
        (Some(default), _) => format!("{} = {default}", parameter.name),
        (None, Some(other)) => format!("{} = {}", parameter.name, all[other].name),
        (None, None) => parameter.name.to_owned(),
    }
}

fn entry(family: &dyn Distribution) -> Value {
    let all = family.parameters();
    let parameters: Vec<Value> = all
        .iter()
        .map(|p| {
            json!({
                "name": p.name,
                "aliases": p.aliases,
                "support": p.support.describe(),
                "rank": p.rank,
                "default": p.default.map(number),
                "same_as": p.same_as.map(|other| all[other].name),
            })
        })
        .collect();
    json!({
        "name": family.name(),
        "aliases": family.aliases(),
        "support": family.support().describe().to_owned(),
        "event_rank": family.event_rank(),
        "parameters": parameters,
    })
}
