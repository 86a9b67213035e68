//! Planted faults -> which gate catches each; a survivor is a hole in the tests.
//!
//! The gates are built once with the feature `planted`; then each fault is switched on in turn by
//! `EXMC_FAULT` and its gates run, quickest first, until one fails. Without a fault every gate must
//! pass, or else catching one would mean nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use exmc_fault::Fault;
use serde_json::Value;

use crate::{record, root};

/// Most processes at once: gates use one thread or a few, for seconds.
const AT_ONCE: usize = 2;

/// A gate: arguments of `exmc-gates`, or a crate and a file of its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gate {
    Run(&'static str),
    Test(&'static str, &'static str),
}

use Gate::{Run, Test};

/// Crates whose tests are gates.
const CRATES: [&str; 11] = [
    "exmc",
    "exmc-testkit",
    "exmc-infer",
    "exmc-stan",
    "exmc-draws",
    "exmc-cmdstan",
    "exmc-diagnose",
    "exmc-plot",
    "replay",
    "features",
    "environment",
];

/// Programs of tests: that of a crate with several files, and those of crates with one.
const PROGRAMS: [&str; 3] = ["all", "executables", "playing"];

/// The gates that should see a fault, quickest first.
const fn gates(fault: Fault) -> &'static [Gate] {
    match fault {
        // An invalid subtree stops where it shows, so little is taken from it on a normal target
        // (variance 1.02); tails show more.
        Fault::AcceptInvalidSubtree => {
            &[Run("moments student-t diag"), Run("moments exponential diag")]
        }
        Fault::UniformMergeWeight | Fault::BiasedInnerMerge => {
            &[Run("moments normal-1 diag"), Run("moments exponential diag 0.02")]
        }
        // A chain that hardly moves leaves a moment gate inconclusive.
        Fault::StaleMomentum => &[Run("one-step normal-1 diag")],
        Fault::UturnSign | Fault::SkipSubtreeUturnChecks => {
            &[Run("moments normal-1 diag"), Test("exmc-infer", "tree_oracle")]
        }
        Fault::CappedLeafWeight => {
            &[Run("moments normal-1 diag"), Run("moments exponential diag 0.02")]
        }
        Fault::DivergentDrawsInMetric => {
            &[Run("behaviour wall-metric"), Test("exmc-infer", "failures")]
        }
        Fault::DivergencesKeepTarget => &[Test("exmc-infer", "targets")],
        Fault::PathFactorTransposed => &[Test("exmc-infer", "pathfinder")],
        Fault::RestartWhileSampling | Fault::RestartKeepsAdaptation => {
            &[Test("exmc-infer", "restarts")]
        }
        Fault::StaleQuantities | Fault::QuantitiesTransposed | Fault::QuantitiesStream => {
            &[Run("behaviour quantities")]
        }
        Fault::StreamReuse => &[Run("behaviour streams")],
        Fault::WarmupDrawsLeak => &[Run("behaviour far-start")],
        Fault::HalfStepOmitted => &[
            Run("moments normal-1 diag"),
            Run("moments exponential diag 0.02"),
            Test("exmc-infer", "integrator"),
        ],
        // Energies that are not kept make steps tiny and every trajectory as long as it may be; the
        // sources show at once.
        Fault::KineticEnergyWrongMetric => &[Run("behaviour energy")],
        Fault::WrongTailMask
        | Fault::WrongTailMaskInLoops
        | Fault::LostLane
        | Fault::StaleRegister
        | Fault::StaleCarry
        | Fault::ExtremeFactor
        | Fault::LaneOrder => &[Run("graphs 200")],
        Fault::GroupedOrder | Fault::GroupedFactor | Fault::JoinedNeighbour => &[Run("alike 200")],
        Fault::NeighboursLane => &[Test("exmc-infer", "lanes")],
        Fault::WrongTailMaskSingle
        | Fault::WrongTailMaskGenerated
        | Fault::LostLaneSingle
        | Fault::StaleRegisterSingle
        | Fault::StaleNumberSingle => &[Run("singles 60")],
        Fault::MaskEndsAtLoop | Fault::OuterMaskInside => &[Run("stan 5000")],
        // Patterns that one of ten thousand random programs has.
        Fault::InnerMaskOutside
        | Fault::StepTwiceInLayout
        | Fault::StepsUnseenAround
        | Fault::IndexOfAnotherGraph => &[Test("exmc", "loops_within_loops")],
        Fault::OverflowTaken => &[Test("exmc", "choices")],
        Fault::ColumnsForRows => &[Test("exmc-stan", "host_semantics")],
        Fault::LostBlend
        | Fault::DroppedByValue
        | Fault::RangeOffByOne
        | Fault::InnermostConditionOnly
        | Fault::FirstLanesCondition
        | Fault::UnmaskedChoice
        | Fault::BreakIgnored
        | Fault::StaleState
        | Fault::PatternOfTheStepBefore
        | Fault::UntakenTerm
        | Fault::StaleStep
        | Fault::LaterReturnWins
        | Fault::FirstWriteStays
        | Fault::LostElse => &[Run("stan 1000")],
        Fault::GradientGatherOverwrites => &[Run("behaviour gradients")],
        Fault::TapeQuotientSign | Fault::TapeLostPlace | Fault::TapeForgetsTarget => {
            &[Run("behaviour interpreter")]
        }
        // Random expressions hardly go there, and e^-30 is nothing beside terms of size one.
        Fault::ExponentialTail => &[Run("functions")],
        Fault::MomentumVariance => &[Run("moments normal-10 diag")],
        Fault::AdaptDuringSampling => &[Run("behaviour frozen-step")],
        Fault::MissingJacobian => &[Run("moments gamma-poisson diag 0.2")],
        Fault::IntervalJacobianSign => &[Run("moments intervals diag 0.1")],
        Fault::SimplexJacobianOffByOne => &[Run("moments simplex diag 0.1")],
        Fault::NonCentredKeepsScaleTerm => &[Run("moments funnel diag 0.1")],
        Fault::MarginalDeterminant => &[Run("moments eight-schools-marginal diag 0.1")],
        Fault::ConditionalVariance => &[Run("moments intercepts-and-slopes diag 0.1")],
        Fault::LostLocation
        | Fault::LostWeight
        | Fault::LostMask
        | Fault::NumberReadOnce
        | Fault::IndependentDraws
        | Fault::LostSlope
        | Fault::NonCentredLocation
        | Fault::NonCentredFactor
        | Fault::RecentredPower
        | Fault::RecentredJacobian
        | Fault::RecentredInverse
        | Fault::RecentredFactor
        | Fault::RecentredWalk
        | Fault::RecentredBefore
        | Fault::MergedRowLost
        | Fault::JoinedLogSign
        | Fault::CollapsedRest
        | Fault::LanesSwapped => &[Run("hierarchies 200")],
        Fault::RecoveredDiverges => &[Run("behaviour recovered")],
        Fault::ChecksumIgnored
        | Fault::ColumnsSwapped
        | Fault::LastDrawLost
        | Fault::DrawsInSingle
        | Fault::WarmupAsDraws => &[Run("behaviour run-files")],
        Fault::ResumedStream
        | Fault::ResumedMetric
        | Fault::ResumedWindow
        | Fault::CheckpointAhead
        | Fault::TornDrawKept => &[Test("exmc-draws", "resume")],
        Fault::ChainsNotSplit
        | Fault::RanksForgotten
        | Fault::LateTruncation
        | Fault::TailIsBulk
        | Fault::AutocorrelationForgotten => &[Run("behaviour diagnostics")],
        Fault::TailNotSmoothed
        | Fault::LooKeepsObservation
        | Fault::PopulationError
        | Fault::PopulationVariance
        | Fault::SensitivityUnscaled => &[Run("behaviour predictions")],
        Fault::ObservationCountedTwice => &[Run("moments normal-normal diag 0.1")],
        Fault::RollbackKeepsFirst | Fault::FollowerIsLeader => &[Test("replay", "reading")],
        Fault::FacingIsTrue => &[Test("features", "schema")],
        Fault::LiveSidesSwapped => &[Test("environment", "playing")],
        Fault::TargetOfSameFrame | Fault::WindowAcrossFiles => &[Test("features", "batches")],
        Fault::DensityLeaks => &[Test("exmc-diagnose", "parity")],
        Fault::BandOfOneChain => &[Test("exmc-plot", "statistics")],
        Fault::LostDivergences => &[Test("exmc-plot", "figures")],
        Fault::FactorialSign | Fault::ClampedLogCdf => &[Test("exmc-stan", "functions")],
        Fault::MetricFileOrder | Fault::DivergencesUnwritten => {
            &[Test("exmc-cmdstan", "executables")]
        }
    }
}

/// What became of one fault.
struct Outcome {
    fault: Fault,
    killed_by: Option<(Gate, String)>,
    tried: usize,
    seconds: f64,
}

/// Runs every fault, or those named, and writes `bench/record/mutants-<date>.md` when it ran all.
///
/// # Errors
/// When building fails, a gate fails without a fault, or a fault survives.
pub(crate) fn mutants(names: &[&str]) -> Result<(), String> {
    let faults: Vec<Fault> = if names.is_empty() {
        Fault::ALL.to_vec()
    } else {
        let find = |name: &&str| {
            let found = Fault::ALL.iter().copied().find(|f| f.name() == *name);
            found.ok_or_else(|| format!("there is no fault `{name}`"))
        };
        names.iter().map(find).collect::<Result<_, _>>()?
    };
    // The commit that is built, not one that is made meanwhile.
    let machine = record::machine();
    let built = Built::new()?;

    let mut all: Vec<Gate> = faults.iter().flat_map(|f| gates(*f)).copied().collect();
    all.sort_unstable();
    all.dedup();
    let began = Instant::now();
    for (gate, seen) in at_once(&all, |gate| built.run(*gate, None)) {
        let seen = seen?;
        if let Some(why) = seen {
            return Err(format!("without a fault, {} does not pass: {why}", describe(gate)));
        }
        println!("no fault: {} passes", describe(gate));
    }
    let without = began.elapsed().as_secs_f64();

    let outcomes = at_once(&faults, |fault| built.fault(*fault));
    let mut table = String::from(
        "| fault | what | caught by | what it said | seconds |\n|---|---|---|---|---|\n",
    );
    let mut survivors = Vec::new();
    for (_, outcome) in outcomes {
        let Outcome { fault, killed_by, tried, seconds } = outcome?;
        let (gate, said) = match killed_by {
            Some((gate, said)) => (format!("`{}`", describe(gate)), said),
            None => {
                survivors.push(fault.name());
                (format!("**none of {tried}**"), String::new())
            }
        };
        let (name, what) = (fault.name(), fault.describe());
        let _ = writeln!(table, "| {name} | {what} | {gate} | {said} | {seconds:.1} |");
    }
    println!("{table}");
    if names.is_empty() {
        let text = format!(
            "# Planted faults and the gates that catch them\n\n{}\n\nCommand: `cargo xtask mutants`. Without a fault, the \
             {} gates below pass ({without:.0} s). A fault counts as caught when a gate reports an error (not when it is \
             inconclusive). {} of {} caught.\n\n{table}",
            machine,
            all.len(),
            faults.len() - survivors.len(),
            faults.len()
        );
        let path = record::path("mutants");
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("written to {}", path.display());
    }
    if survivors.is_empty() { Ok(()) } else { Err(format!("not caught: {}", survivors.join(", "))) }
}

fn describe(gate: Gate) -> String {
    match gate {
        Run(args) => format!("exmc-gates {args}"),
        Test(krate, file) => format!("{krate} test {file}"),
    }
}

/// `f` of every item, two at a time, in order.
fn at_once<T: Copy + Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<(T, R)> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((place, item)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|k| Some((k, items.get(k)?)))
                {
                    let result = f(item);
                    done.lock().unwrap_or_else(|poison| poison.into_inner()).push((place, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poison| poison.into_inner());
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(place, result)| (items[place], result)).collect()
}

/// The programs with planted faults.
struct Built {
    gates: PathBuf,
    /// By crate and name.
    tests: BTreeMap<(String, String), PathBuf>,
}

impl Built {
    fn new() -> Result<Self, String> {
        // A folder of its own, so that ordinary builds are not rebuilt without the feature
        // afterwards.
        let folder = crate::ci::target_folder().join("planted");
        let cargo = |args: &[&str]| {
            let mut command = Command::new(crate::ci::program());
            command
                .current_dir(root())
                .args(args)
                .arg("--release")
                .arg("--target-dir")
                .arg(&folder);
            command.args(["--features", "exmc-testkit/planted"]);
            command
        };
        println!("building gates with planted faults");
        let mut build =
            cargo(&["build", "-p", "exmc-testkit", "-p", "exmc-infer", "--bin", "exmc-gates"]);
        if !build.status().map_err(|e| e.to_string())?.success() {
            return Err("the gates do not build".to_owned());
        }
        let mut build = cargo(&["test", "--no-run", "--message-format=json-render-diagnostics"]);
        build.args(CRATES.iter().flat_map(|name| ["-p", name]));
        build.args(PROGRAMS.iter().flat_map(|name| ["--test", name]));
        let output = build.stderr(Stdio::inherit()).output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err("the tests that are gates do not build".to_owned());
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let messages = said.lines().filter_map(|line| serde_json::from_str(line).ok());
        let tests = messages.filter_map(|message| test_program(&message)).collect();
        let gates =
            folder.join("release/exmc-gates").with_extension(std::env::consts::EXE_EXTENSION);
        Ok(Self { gates, tests })
    }

    /// What a gate said when it saw an error; `None` when it passed.
    fn run(&self, gate: Gate, fault: Option<Fault>) -> Result<Option<String>, String> {
        let mut command = match gate {
            Run(args) => {
                let mut command = Command::new(&self.gates);
                command.args(args.split(' '));
                command
            }
            Test(krate, file) => {
                // A file of its own, or a module of the crate's tests.
                let program = |name: &str| self.tests.get(&(krate.to_owned(), name.to_owned()));
                if let Some(path) = program(file) {
                    Command::new(path)
                } else {
                    let path = program("all");
                    let path = path.ok_or_else(|| format!("no test of {krate} was built"))?;
                    let mut command = Command::new(path);
                    command.arg(format!("{file}::"));
                    command
                }
            }
        };
        match fault {
            Some(fault) => command.env("EXMC_FAULT", fault.name()),
            None => command.env_remove("EXMC_FAULT"),
        };
        let output = command.output().map_err(|e| format!("{}: {e}", describe(gate)))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        match (gate, output.status.code()) {
            (Test(krate, file), Some(0)) if said.contains("\nrunning 0 tests") => {
                Err(format!("{krate} has no test in {file}"))
            }
            (_, Some(0)) => Ok(None),
            // Inconclusive is not an error seen; without a fault it is no pass either.
            (Run(_), Some(2)) if fault.is_some() => Ok(None),
            (Run(_), Some(3)) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            (Run(_), _) => Ok(Some(first_error(&said))),
            (Test(..), _) => {
                let failed =
                    said.lines().filter(|l| l.ends_with("FAILED") && l.starts_with("test "));
                let names: Vec<&str> = failed.filter_map(|l| l.split(' ').nth(1)).collect();
                Ok(Some(names.join(", ")))
            }
        }
    }

    fn fault(&self, fault: Fault) -> Result<Outcome, String> {
        let began = Instant::now();
        let mut killed_by = None;
        let mut tried = 0;
        for gate in gates(fault) {
            tried += 1;
            if let Some(said) = self.run(*gate, Some(fault))? {
                killed_by = Some((*gate, said));
                break;
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        let verdict = if killed_by.is_some() { "caught" } else { "SURVIVED" };
        println!("{}: {verdict} after {tried} gates, {seconds:.1} s", fault.name());
        Ok(Outcome { fault, killed_by, tried, seconds })
    }
}

/// The crate, the name and the file of a test program that one of cargo's messages is about.
fn test_program(message: &Value) -> Option<((String, String), PathBuf)> {
    let program = PathBuf::from(message.get("executable")?.as_str()?);
    let folder = PathBuf::from(message.get("manifest_path")?.as_str()?);
    let krate = folder.parent()?.file_name()?.to_string_lossy().into_owned();
    let name = message.get("target")?.get("name")?.as_str()?.to_owned();
    Some(((krate, name), program))
}

/// The numbers of the first row that failed, or the first line.
fn first_error(said: &str) -> String {
    let failed = said.lines().find(|line| line.contains("FAIL"));
    let Some(row) = failed else {
        return said.lines().next().unwrap_or("it said nothing").replace('|', "/");
    };
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    match cells.as_slice() {
        [_, _, _, scalar, _, "", "", _, verdict, ..] => {
            format!("{scalar}: {}", verdict.trim_start_matches("**FAIL**: "))
        }
        [_, _, _, scalar, draws, mean, variance, ..] => {
            format!("{scalar}: mean {mean} sd, variance {variance}, {draws} draws a chain")
        }
        _ => row.trim_start_matches("FAIL: ").replace('|', "/"),
    }
}
