//! Fuzz targets: any bytes -> nothing, or a panic that names what does not hold. `fuzz/` gives them
//! to cargo-fuzz, `cargo xtask fuzz` runs them with mutations of our own corpus, tests replay what
//! once failed.

mod mutate;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exmc_stan::check::check;
use exmc_stan::data::{generate_data, read_data, write_data};
use exmc_stan::diagnostic::{Diagnostic, Severity};
use exmc_stan::host::{Interpreter, Settings, blocks};
use exmc_stan::report::render;
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse, print};
use exmc_stan::typed::Program;

use crate::host::compare;
use mutate::{Mixer, mutate};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, that of its folder of inputs too.
    pub name: &'static str,
    /// Panics when something does not hold.
    pub run: fn(&[u8]),
    /// Whether inputs are changed by bytes too; texts that must pass the checker seldom survive
    /// that.
    bytes: bool,
}

/// All targets.
pub const TARGETS: [Target; 5] = [
    Target { name: "parse", run: parses, bytes: true },
    Target { name: "check", run: checks, bytes: false },
    Target { name: "data", run: reads_data, bytes: true },
    Target { name: "interpret", run: interprets, bytes: false },
    Target { name: "lower", run: lowers, bytes: false },
];

/// Longest time for one input; what grows with the square of a text's length stays far below, also
/// on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Steps of the interpreter, so that a loop without end ends soon.
const FUEL: u64 = 20_000;

/// Texts that the front end must answer with a tree and diagnostics, each inside its text.
fn parses(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut sources = Sources::single("fuzz.stan", &*text);
    let (tree, diagnostics) = parse(&mut sources, &mut NoIncludes);
    show(&diagnostics, &sources);
    let canonical = print(&tree, &sources);
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return;
    }
    let mut again = Sources::single("fuzz.stan", &*canonical);
    let (tree, diagnostics) = parse(&mut again, &mut NoIncludes);
    let wrong = diagnostics.iter().find(|d| d.severity == Severity::Error);
    assert!(wrong.is_none(), "the canonical form has mistakes: {wrong:?}\n{canonical}");
    assert_eq!(print(&tree, &again), canonical, "the canonical form is that of itself");
}

/// Trees, with holes too, that the checker must answer with a program or with errors.
fn checks(bytes: &[u8]) {
    let _ = program(bytes);
}

fn program(bytes: &[u8]) -> Option<Program> {
    let text = String::from_utf8_lossy(bytes);
    let mut sources = Sources::single("fuzz.stan", &*text);
    let (tree, syntax) = parse(&mut sources, &mut NoIncludes);
    let (program, semantic) = check(sources.clone(), &tree);
    show(&semantic, &sources);
    let is_wrong = |all: &[Diagnostic]| all.iter().any(|d| d.severity == Severity::Error);
    assert_eq!(program.is_none(), is_wrong(&semantic), "a program, or else an error");
    program.filter(|_| !is_wrong(&syntax))
}

fn show(diagnostics: &[Diagnostic], sources: &Sources) {
    for diagnostic in diagnostics {
        let file = sources.file(diagnostic.span);
        let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
        assert!(start <= end && end <= file.text.len(), "a place outside of its text");
        let shown = render(diagnostic, sources);
        assert!(!diagnostic.message.is_empty() && shown.len() < 100_000, "{shown}");
    }
}

/// Declarations of every kind for [`reads_data`].
const DECLARATIONS: &str = "data {
  int<lower=1> N; array[N] real x; matrix[2, 2] m; tuple(int, vector[2]) t; complex z; simplex[2] s;
  array[2] tuple(int<lower=0>, array[N] row_vector[2]) u; array[N, 0] int e;
}";

/// JSON texts, which are read or refused with places inside the text; what was read can be written
/// and read again.
fn reads_data(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let declarations = program(DECLARATIONS.as_bytes()).expect("the declarations are right");
    match read_data(&declarations, "fuzz.json", &text) {
        Err(errors) => show(&errors.diagnostics, &errors.sources),
        Ok(env) => {
            let written = write_data(&declarations, &env);
            let again = read_data(&declarations, "fuzz.json", &written);
            let again = again.unwrap_or_else(|e| panic!("{written}: {:?}", e.diagnostics));
            assert_eq!(write_data(&declarations, &again), written, "written, read and written");
        }
    }
}

/// Whether running a program may take more memory than a fuzzer has: sizes come from numbers in the
/// text.
fn is_large(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|w| w.iter().all(u8::is_ascii_digit)) || bytes.contains(&b'^')
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.fuel = FUEL;
    settings
}

/// Programs whose transformed data and generated quantities the host must compute or refuse.
fn interprets(bytes: &[u8]) {
    let Some(program) = program(bytes).filter(|_| !is_large(bytes)) else { return };
    let Ok(data) = generate_data(&program, 0) else { return };
    let mut env = read_data(&program, "data", &data)
        .unwrap_or_else(|e| panic!("generated data are refused: {:?}\n{data}", e.diagnostics));
    let mut host = Interpreter::new(&program, settings());
    if let Err(diagnostic) = host.transform_data(&mut env) {
        show(&[diagnostic], &program.sources);
        return;
    }
    if program.parameters.is_empty()
        && blocks::declarations(&program.generated_quantities).count() > 0
    {
        let _ = host.generate(&mut env, 0, 0);
    }
}

/// Programs whose density the lowering must make or refuse; what it makes agrees with the host.
fn lowers(bytes: &[u8]) {
    let Some(program) = program(bytes).filter(|_| !is_large(bytes)) else { return };
    if program.parameters.is_empty() {
        return;
    }
    // Solutions of differential equations are as near as their tolerances ask, and no nearer.
    let solves = ["ode_", "integrate_"]
        .iter()
        .any(|word| bytes.windows(word.len()).any(|w| w == word.as_bytes()));
    for seed in [0, 1] {
        let Ok(data) = generate_data(&program, seed) else { return };
        if let Ok(agreement) = compare(&program, &data, &settings()) {
            // Nearly singular matrices magnify the rounding of their elements.
            assert!(solves || agreement.within(1e-4), "{agreement}\nwith {data}");
        }
    }
}

/// What a run over one target found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Inputs tried.
    pub tried: u64,
    /// An input that fails, if there was one.
    pub failing: Option<String>,
}

/// Runs a target on mutated texts of a corpus for a time. Inputs that end the process instead of
/// panicking are left in `current`, if it is given.
pub fn fuzz(
    target: Target,
    corpus: &[String],
    seed: u64,
    time: Duration,
    current: Option<&Path>,
) -> Found {
    let mut random = Mixer(seed);
    let began = Instant::now();
    let mut tried = 0;
    while began.elapsed() < time || tried < 20 {
        let text = &corpus[random.below(corpus.len())];
        let other = &corpus[random.below(corpus.len())];
        let input = mutate(text, other, target.bytes, &mut random);
        if let Some(path) = current {
            // Without the file, the run is as good, but for an input that ends it.
            let _ = std::fs::write(path, &input);
        }
        tried += 1;
        let started = Instant::now();
        let held = std::panic::catch_unwind(|| (target.run)(input.as_bytes())).is_ok();
        if !held || started.elapsed() > PATIENCE {
            return Found { tried, failing: Some(input) };
        }
    }
    Found { tried, failing: None }
}

/// The texts that a target's inputs are made from: programs of our own and those under `others`, or
/// data for `DECLARATIONS`.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn corpus(target: Target, root: &Path, others: Option<&Path>) -> Result<Vec<String>, String> {
    if target.name == "data" {
        let declarations = program(DECLARATIONS.as_bytes()).expect("the declarations are right");
        return (0..20)
            .map(|seed| generate_data(&declarations, seed).map_err(|e| e.message))
            .collect();
    }
    let mut texts = Vec::new();
    for folder in ["crates/exmc-corpus/tests/programs", "crates/exmc-stan/tests/programs"] {
        for path in crate::posteriordb::sorted_files(&root.join(folder), "stan")? {
            texts.push(crate::archive::read_text(&path)?);
        }
        if target.name == "lower" {
            break;
        }
    }
    for path in others.map_or_else(|| Ok(Vec::new()), crate::example_models::programs)? {
        // Long programs take long and seldom pass the checker after a change.
        texts.extend(crate::archive::read_text(&path).ok().filter(|text| text.len() < 4000));
    }
    Ok(texts)
}

/// Inputs that once failed, of one target, by name.
///
/// # Errors
/// A folder that cannot be read.
pub fn regressions(target: Target, root: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = root.join("fuzz/regressions").join(target.name);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let wrong = |e: std::io::Error| format!("cannot read `{}`: {e}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(wrong)? {
        paths.push(entry.map_err(wrong)?.path());
    }
    paths.sort();
    Ok(paths)
}
