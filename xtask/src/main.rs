//! Chores of this repository: a name and settings -> commands run, tables written, an exit code.
//!
//! `cargo xtask ci` is exactly what continuous integration runs; slower statistics are in `mutants`
//! and `campaign`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

mod api;
mod bench;
mod campaign;
mod ci;
mod clients;
mod corpus;
#[path = "../../crates/replay/tests/common/damage.rs"]
mod damage;
mod dist;
mod files;
mod hierarchies;
mod kill;
mod levels;
mod mutants;
mod nn;
mod policy;
mod recipes;
mod record;
mod replay;
mod shines;
mod stan_programs;
mod stanc3;
mod tidy;
mod timed;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask ci                       format, lints, documentation, tidy, tests, files and pages, as integration runs them
cargo xtask test [--quick]           all tests, of the engine and of nn/; --quick for a short loop
cargo xtask nn                       format, lints, documentation and tests of nn/, the workspace on Burn
cargo xtask nn mutants [--release] [NAME ...]
                                     shows that a test catches each planted fault of the penalties; writes bench/record
cargo xtask nn backend tch|vulkan|wgpu[,...] [--python PATH] [--penalties] [--record]
                                     the tables of penalties and logits (--penalties: the first alone) with backends that need
                                     more than Rust: a Vulkan driver, or PyTorch 2.9.0 (of the Python PATH, of LIBTORCH, or
                                     installed by pip into the target folder); with --record writes bench/record
cargo xtask policy kill [--count N] [--policy PATH]
                                     kills `policy train` and `resume` N (40) times with SIGKILL at random moments: the policy
                                     must be that of a run that was left alone; writes bench/record
cargo xtask policy damage [--count N] [--dir REPLAYS] [--policy PATH]
                                     N (3000) damaged replays, a third as many checkpoints and states: the program must read
                                     or refuse each; writes bench/record
cargo xtask policy shines --dir DIR [--policy PATH] [--record]
                                     trains on a drill and on a human game in DIR and judges both; with --record writes
                                     bench/record and the calibration's figure
cargo xtask tidy [--write]           checks of the sources that no compiler makes; --write writes the lists of what may
                                     still break a rule
cargo xtask api [--write]            compares the facade's public items with docs/api.txt, or writes it
cargo xtask recipes [NAME ...]       follows the recipes of docs/recipes.md (those whose names hold NAME) in a scratch copy,
                                     and runs their tests
cargo xtask mutants [NAME ...]       shows that a gate catches each planted fault; writes bench/record
cargo xtask campaign [--minutes M]   the 1 % gates, calibration and random models; writes bench/record
cargo xtask campaign --metric NAME   the 1 % gates of one metric
cargo xtask hierarchies [COUNT]       random hierarchical models (100000) against exact densities and distributions of
                                     draws; with the default COUNT writes bench/record
cargo xtask kill [--count N] [--exmc PATH]
                                     kills N (1000) runs of `exmc sample` at random moments and goes on with each: the draws must
                                     be those of a run that was left alone; then runs on disks that are too small; writes
                                     bench/record
cargo xtask stan-programs [--count N] [--first SEED] [--peer PYTHON [--stan DIR]]
                                     random Stan programs, lowering against interpreter, or against stanli (of PYTHON) and Stan's
                                     headers (see bench/peers/README.md); adds to bench/record, so that parts of a range make one
                                     record
cargo xtask dist [--target PLATFORM] an archive of the release build: program, manual pages, completions, licences; in
                                     target/dist
cargo xtask files [--python PATH]    exported files opened by ArviZ, xarray, pandas, polars and CmdStanPy (of PATH, or installed
                                     into an environment under target/)
cargo xtask bench kernels [--models DIR] [--record] [NAME ...]
                                     gradients against kernels written by hand, on the data of DIR/NAME/data.json
                                     or on data made here; with --record writes bench/record
cargo xtask bench peers --peers DIR [--models A,B] [--systems A,B] [--seeds 1,2,3,4,5] [--core K] [--limit S] [--record]
                                     exmc and other systems in turn on the models of DIR (see bench/peers/README.md)
cargo xtask bench posteriordb --dir DIR [--seeds 1,2 or 1..40] [--exmc [LABEL=]PATH,...] [--stanli PYTHON] [--limit S]
                              [--record] [NAME ...]
                                     which posteriors of posteriordb (DIR is its checkout; those whose names hold a NAME)
                                     `exmc sample` solves at its defaults within S seconds (60), and at what cost; several
                                     programs in turn; with more than one seed, also how often chains are stuck; with
                                     --record writes bench/record
cargo xtask bench hierarchies [--seeds 1..10] [--exmc [LABEL=]PATH] [--record] [NAME ...]
                                     `exmc sample` on the hierarchies of bench/hierarchies, written centred and non-centred, at
                                     its defaults and as they are written: draws against the true moments, and ESS a
                                     processor second; with --record writes bench/record
cargo xtask bench storage [--dir DIR] processor time of eight schools with a run in DIR and without one; writes bench/record
cargo xtask bench memory [--exmc PATH] [--observations N]
                                     peak memory of runs with up to a million parameters, and of cross-validation of N (100000)
                                     observations; writes bench/record
cargo xtask bench replay --dir DIR [--peppi] [--python PATH] [--record]
                                     the reader of replays and the way to batches on the files in DIR (may be repeated);
                                     --peppi compiles the crate peppi in a folder of its own and measures both in turn;
                                     PATH is a Python with peppi-py (and pyarrow); with --record writes bench/record
cargo xtask replay-parity --dir DIR --python PATH [--record]
                                     every field of the replays under DIR (may be repeated) against peppi; with --record
                                     writes bench/record
cargo xtask posteriordb --dir DIR [--oracle PYTHON] [--host] [--double] [--sample] [NAME ...]
                                     posteriors of posteriordb (DIR is its checkout): which compile, which agree with
                                     stanli (PYTHON has it), with --host which agree with the host interpreter, with
                                     --double how the graph grows with twice the data, and with --sample which have
                                     the reference draws' moments
cargo xtask example-models --dir DIR [--host] [--list]
                                     programs of stan-dev/example-models that compile with their data, or with
                                     generated ones
cargo xtask clients --cmdstanpy DIR [--python PATH] [--exmc PATH] [--only TESTS]
                                     the test suite of CmdStanPy (DIR is its checkout; PATH a Python that has the same
                                     version and pytest) on exmc in CmdStan's place; writes bench/record
cargo xtask clients --cmdstanr DIR [--rscript PATH] [--exmc PATH] [--only FILE]
                                     the test suite of CmdStanR (DIR is its checkout; PATH an Rscript that has the
                                     packages it asks for) on exmc in CmdStan's place; writes bench/record
cargo xtask clients --brms DIR [--rscript PATH] [--exmc PATH]
                                     four models of brms with CmdStanR (DIR is its checkout) on exmc, and the code of
                                     docs/from-cmdstanr-and-brms.md; writes bench/record
cargo xtask clients --bridgestan DIR [--python PATH] [--exmc PATH]
                                     BridgeStan's Python tests (DIR is its checkout) on exmc in BridgeStan's place, and
                                     the code of docs/from-bridgestan.md; writes bench/record
cargo xtask pages [--python PATH] [--rscript PATH] [--exmc PATH]
                                     the code of docs/from-*.md, run as it stands there; where R has no CmdStanR and brms,
                                     the page for R is checked without it
cargo xtask levels [--neon QEMU --linker CC] [--avx512 BOCHS --packages DIR] [--valgrind VALGRIND] [--sanitizer]
                   [--minutes M] [--record] [TEST ...]
                                     tests of exmc-math and exmc-exec at levels of vector instructions that this
                                     machine lacks, and under memory checkers (see bench/levels.md)
cargo xtask fuzz [--programs DIR] [--seconds N] [--seed S] [TARGET ...]
                                     mutated programs (also those under DIR) and data (see fuzz/README.md)
cargo xtask stanc3 --dir DIR [--list]
                                     Stan programs of stanc3's tests (DIR is its checkout): which are accepted and
                                     refused, against what stanc says of them; --list names those that differ";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["ci"] => ci::ci()
            .and_then(|()| nn::stages())
            .and_then(|()| files::files(None))
            .and_then(|()| clients::pages(&[])),
        ["test"] => ci::test(false).and_then(|()| nn::test(false)),
        ["test", "--quick"] => ci::test(true).and_then(|()| nn::test(true)),
        ["nn"] => nn::stages(),
        ["nn", "mutants", names @ ..] => nn::mutants(names),
        ["nn", "backend", rest @ ..] => nn::backend(rest),
        ["policy", rest @ ..] => policy::policy(rest),
        ["api"] => api::api(false),
        ["api", "--write"] => api::api(true),
        ["recipes", names @ ..] => recipes::recipes(names),
        ["tidy"] => tidy::tidy(),
        ["tidy", "--write"] => tidy::write_lists(),
        ["mutants", names @ ..] => mutants::mutants(names),
        ["bench", "kernels", rest @ ..] => bench::kernels(rest),
        ["bench", "peers", rest @ ..] => bench::peers(rest),
        ["bench", "posteriordb", rest @ ..] => bench::posteriordb(rest),
        ["bench", "storage", rest @ ..] => bench::storage(rest),
        ["bench", "memory", rest @ ..] => bench::memory(rest),
        ["bench", "replay", rest @ ..] => replay::bench(rest),
        ["replay-parity", rest @ ..] => replay::parity(rest),
        ["bench", "hierarchies", rest @ ..] => bench::hierarchies(rest),
        [name @ ("posteriordb" | "example-models"), rest @ ..] => corpus::corpus(name, rest),
        ["fuzz", rest @ ..] => corpus::fuzz(rest),
        ["stanc3", rest @ ..] => stanc3::stanc3(rest),
        ["stan-programs", rest @ ..] => stan_programs::stan_programs(rest),
        ["clients", rest @ ..] => clients::clients(rest),
        ["pages", rest @ ..] => clients::pages(rest),
        ["dist"] => dist::dist(None),
        ["dist", "--target", platform] => dist::dist(Some(platform)),
        ["files"] => files::files(None),
        ["files", "--python", python] => files::files(Some(python)),
        ["levels", rest @ ..] => levels::levels(rest),
        ["hierarchies", count @ ..] => hierarchies::hierarchies(count),
        ["kill", rest @ ..] => kill::kill(rest),
        ["campaign"] => campaign::campaign(None, None),
        ["campaign", "--metric", metric] => campaign::campaign(Some(metric), None),
        ["campaign", "--minutes", minutes] => match minutes.parse() {
            Ok(minutes) => campaign::campaign(None, Some(minutes)),
            Err(error) => Err(format!("--minutes {minutes}: {error}")),
        },
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().expect("this crate lies in a folder of the repository").to_owned()
}
