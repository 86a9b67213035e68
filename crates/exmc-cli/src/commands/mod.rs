//! The command line: arguments -> one of the commands, each in its file.

mod approximation;
mod bench;
mod bridgestan;
mod check;
mod cmdstan;
pub(crate) mod compare;
mod completions;
mod demo;
mod diagnose;
mod distributions;
mod dump;
pub(crate) mod export;
mod extend;
mod generate;
mod laplace;
mod logp;
pub(crate) mod loo;
mod man;
mod merge;
mod optimize;
mod pathfinder;
mod plot;
mod predict;
mod report;
mod resume;
mod sample;
mod sample_many;
mod sbc;
mod summary;
mod variational;
mod watch;

use clap::{Parser, Subcommand};

use crate::display::{put_json, say_failure};
use crate::failure::{Exit, Failure};

/// Bayesian inference: a model and data -> draws from the posterior, and how far to trust them.
///
/// Data go to standard output, everything else to standard error. Exit codes: 0 success, 1 the
/// model or its data are wrong, 2 the command line is wrong, 3 the diagnostics are bad (with
/// --check) or there is no mode, 4 a file cannot be read or written, 5 interrupted, 70 a bug of
/// exmc.
#[derive(Parser, Debug)]
#[command(name = "exmc", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Demo(demo::DemoArgs),
    Sample(sample::SampleArgs),
    Resume(resume::ResumeArgs),
    Extend(extend::ExtendArgs),
    Watch(watch::WatchArgs),
    Merge(merge::MergeArgs),
    Optimize(optimize::OptimizeArgs),
    Laplace(laplace::LaplaceArgs),
    Pathfinder(pathfinder::PathfinderArgs),
    Variational(variational::VariationalArgs),
    Generate(generate::GenerateArgs),
    Predict(predict::PredictArgs),
    Summary(summary::SummaryArgs),
    Diagnose(diagnose::DiagnoseArgs),
    Sbc(sbc::SbcArgs),
    Loo(loo::LooArgs),
    Compare(compare::CompareArgs),
    Plot(plot::PlotArgs),
    Report(report::ReportArgs),
    Export(export::ExportArgs),
    Logp(logp::LogpArgs),
    Bench(bench::BenchArgs),
    Check(check::CheckArgs),
    Dump(dump::DumpArgs),
    Distributions(distributions::DistributionsArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Cmdstan(cmdstan::CmdstanArgs),
    Bridgestan(bridgestan::BridgestanArgs),
}

/// Runs the command that the arguments name.
pub(crate) fn run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help that cannot be written has no other place to go.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    let (ended, json) = match &cli.command {
        Command::Demo(args) => (demo::run(args), args.json),
        Command::Sample(args) => (sample::run(args), args.json),
        Command::Resume(args) => (resume::run(args), args.report.json),
        Command::Extend(args) => (extend::run(args), args.report.json),
        Command::Watch(args) => (watch::run(args), args.json),
        Command::Merge(args) => (merge::run(args), false),
        Command::Optimize(args) => (optimize::run(args), args.json),
        Command::Laplace(args) => (laplace::run(args), args.json),
        Command::Pathfinder(args) => (pathfinder::run(args), args.json),
        Command::Variational(args) => (variational::run(args), args.json),
        Command::Generate(args) => (generate::run(args), args.json),
        Command::Predict(args) => (predict::run(args), args.json),
        Command::Summary(args) => (summary::run(args), args.json),
        Command::Diagnose(args) => (diagnose::run(args), args.json),
        Command::Sbc(args) => (sbc::run(args), args.json),
        Command::Loo(args) => (loo::run(args), args.json),
        Command::Compare(args) => (compare::run(args), args.json),
        Command::Plot(args) => (plot::run(args), args.json),
        Command::Report(args) => (report::run(args), false),
        Command::Export(args) => (export::run(args), false),
        Command::Logp(args) => (logp::run(args), args.json),
        Command::Bench(args) => (bench::run(args), args.json),
        Command::Check(args) => (check::run(args), args.json),
        Command::Dump(args) => (dump::run(args), false),
        Command::Distributions(args) => (distributions::run(args), args.json),
        Command::Completions(args) => (completions::run(args), false),
        Command::Cmdstan(args) => (cmdstan::run(args), false),
        Command::Bridgestan(args) => (bridgestan::run(args), false),
        Command::Man(args) => (man::run(args), false),
    };
    ended.unwrap_or_else(|failure| {
        report(&failure, json);
        failure.exit
    })
}

/// Says what went wrong: in words, or with `--json` as an object that takes the place of the data.
fn report(failure: &Failure, json: bool) {
    if failure.exit == Exit::Success {
        return;
    }
    if json {
        // The exit code still tells when standard output is what failed.
        let _ = put_json(&failure.to_json());
    }
    say_failure(&failure.to_string(), failure.exit as u8);
}
