//! `exmc dump`: a model as text after one of the stages on its way to a program.

use clap::{Args, ValueEnum};
use exmc_model::rewrite;

use crate::display::put;
use crate::failure::{Exit, Failure};
use crate::settings::CompileArgs;
use crate::source::SourceArgs;

/// Show a model after a stage of compilation
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The stage
    #[arg(long, value_name = "S", default_value = "model")]
    stage: Stage,
    #[command(flatten)]
    compile: CompileArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Stage {
    /// As declared
    Model,
    /// After the rewrite passes
    Rewritten,
    /// The same as JSON
    Json,
}

pub(crate) fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let source = args.source.read()?;
    let options = args.compile.options();
    let without: Vec<&str> = options.without.iter().map(String::as_str).collect();
    let text = match args.stage {
        Stage::Model => source.model.print(),
        Stage::Json => exmc_model::write_json(&source.model),
        Stage::Rewritten => rewrite(&source.model, &without)?.print(),
    };
    put(&text)?;
    Ok(Exit::Success)
}
