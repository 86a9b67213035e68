//! `exmc dump`: a model as text after one of the stages on its way to a program.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use exmc::SamplerConfig;
use exmc::advanced::{CompileOptions, learn_coordinates};
use exmc_graph::{Applied, Graph, GraphError, NodeId, differentiate, optimise, simplify};
use exmc_model::{Lowered, rewrite, write_json};

use crate::display::put;
use crate::failure::{Exit, Failure};
use crate::settings::{CentringArgs, CompileArgs};
use crate::source::{Source, SourceArgs};

/// Show a model after a stage of compilation
#[derive(Args, Debug)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// The stage [default: model, of a Stan program ast]
    #[arg(long, value_name = "S")]
    stage: Option<Stage>,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    centring: CentringArgs,
    /// From the stage `graph` on, the density that `exmc sample` samples, without variables that
    /// are normal given all others
    #[arg(long)]
    marginalise: bool,
    /// Seed of the pilot chains that coordinates are learned from
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Stage {
    /// A Stan program as it was read, in canonical form
    Ast,
    /// A Stan program with the types of its expressions
    Typed,
    /// The model as declared
    Model,
    /// The model as declared, as JSON
    Json,
    /// The model after the rewrite passes
    Rewritten,
    /// The coordinates that `exmc sample` would learn: variables with a location and a scale, how
    /// the model has them, and how far each element would be centred
    Coordinates,
    /// How each loop of a Stan program's density was lowered, and what was tried before
    Loops,
    /// The log density over the unconstrained vector, as a graph
    Graph,
    /// The log density as the native executor takes it: with the optimisations' work, and what they
    /// did
    Optimised,
    /// The log density (not optimised) with its gradient
    Grad,
    /// The steps that the executor runs
    Program,
}

pub(crate) fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let source = args.source.read()?;
    let mut options = args.compile.options();
    options.non_centre.clone_from(&args.centring.non_centre);
    options.marginalise = Some(args.marginalise);
    let compiled = |options: &CompileOptions| source.compile_only(options);
    let default = if source.program().is_ok() { Stage::Ast } else { Stage::Model };
    let text = match args.stage.unwrap_or(default) {
        Stage::Ast => source.program()?.canonical(),
        Stage::Typed => source.program()?.print_typed(),
        Stage::Model => source.model()?.print(),
        Stage::Json => write_json(source.model()?),
        Stage::Rewritten => rewrite(source.model()?, &options.without_passes())?.print(),
        Stage::Coordinates => coordinates(&source, &options, args.seed)?,
        Stage::Loops => source.loops(&options)?,
        Stage::Graph => with_drawn(compiled(&options)?.lowered())?,
        Stage::Optimised => optimised(compiled(&options)?.lowered(), &options.without),
        Stage::Grad => gradient(compiled(&options)?.lowered())?,
        Stage::Program => compiled(&options)?.program().print(),
    };
    put(&text)?;
    Ok(Exit::Success)
}

/// A line for each variable that is integrated out or has a location and a scale, with the shares
/// of its elements.
fn coordinates(source: &Source, options: &CompileOptions, seed: u64) -> Result<String, Failure> {
    let mut options = options.clone();
    options.marginalise = Some(true);
    let compiled = source.compile(&options)?;
    let mut config = SamplerConfig::default();
    config.seed = seed;
    let bound = learn_coordinates(&compiled.bound, &config, &[], &|| false)?;
    let mut text = String::new();
    for (name, len) in bound.integrated_out() {
        let _ = writeln!(text, "{name} ({len}): integrated out, normal given the rest");
    }
    for coordinate in bound.coordinates().unwrap_or_default() {
        let written = if coordinate.written == 1.0 { "centred" } else { "non-centred" };
        let _ = write!(
            text,
            "{} ({}): {coordinate}, written {written}",
            coordinate.name, coordinate.len
        );
        if let Some([before, now]) = coordinate.spread {
            let _ = write!(
                text,
                "; sd of coordinates times slopes {before:.2} as written, {now:.2} so"
            );
        }
        text.push('\n');
        if coordinate.shares.len() > 1 {
            let shares: Vec<String> = coordinate.shares.iter().map(|s| format!("{s:.1}")).collect();
            let _ = writeln!(text, "    {}", shares.join(" "));
        }
    }
    if text.is_empty() {
        text += "no variable has a location or a scale that varies\n";
    }
    Ok(text)
}

/// The graph of the log density alone: the rest is there for recorded values and checks of data.
fn density(lowered: &Lowered) -> Result<String, Failure> {
    let mut graph = Graph::new();
    let keep = |_: &mut Graph, _: NodeId, _: &str| Ok::<_, GraphError>(None);
    let roots = graph.import(&lowered.graph, &[lowered.logp], keep).map_err(ours)?;
    Ok(format!("{graph}log density = {}\n", roots[0]))
}

/// The graph of the log density, and what variables that are integrated out are drawn from: a mean
/// given the others plus a standard normal number of the variable's name times a deviation.
fn with_drawn(lowered: &Lowered) -> Result<String, Failure> {
    let mut text = density(lowered)?;
    let gone = |name: &str| lowered.noise.iter().any(|entry| entry.name == name);
    let drawn: Vec<_> = lowered.trace.iter().filter(|entry| gone(&entry.name)).collect();
    if drawn.is_empty() {
        return Ok(text);
    }
    let mut graph = Graph::new();
    let keep = |_: &mut Graph, _: NodeId, _: &str| Ok::<_, GraphError>(None);
    let roots: Vec<NodeId> = drawn.iter().map(|entry| entry.node).collect();
    let roots = graph.import(&lowered.graph, &roots, keep).map_err(ours)?;
    let _ = write!(text, "\n{graph}");
    for (entry, root) in drawn.iter().zip(roots) {
        let _ = writeln!(text, "{} = {root}", entry.name);
    }
    Ok(text)
}

/// The optimised graph of the log density, and a line for each optimisation that found something.
fn optimised(lowered: &Lowered, without: &[String]) -> String {
    let (graph, root, applied) = optimise(&lowered.graph, lowered.logp, without);
    let mut text = format!("{graph}log density = {root}\n");
    for Applied { pass, data, places, before, after } in applied {
        let data = if data.is_empty() { String::new() } else { format!(" of {}", data.join(", ")) };
        let places = if places == 1 { "1 place".to_owned() } else { format!("{places} places") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{pass}: {places}{data}, cost {before:.0} -> {after:.0}");
    }
    text
}

/// The simplified graph of the log density and its gradient.
fn gradient(lowered: &Lowered) -> Result<String, Failure> {
    let mut graph = lowered.graph.clone();
    let inputs: Vec<NodeId> = lowered.layout.iter().map(|entry| entry.input).collect();
    let gradient = differentiate(&mut graph, lowered.logp, &inputs).map_err(ours)?;
    let roots: Vec<NodeId> = [lowered.logp].into_iter().chain(gradient).collect();
    let (graph, roots) = simplify(&graph, &roots);
    let mut text = format!("{graph}log density = {}\n", roots[0]);
    for (entry, root) in lowered.layout.iter().zip(&roots[1..]) {
        let _ = writeln!(text, "d/d {} = {root}", entry.name);
    }
    Ok(text)
}

/// Compiling the model has met such errors before.
fn ours(error: GraphError) -> Failure {
    Failure::new(Exit::Internal, error.message())
}
