//! Every program of our own, with generated data: the graph of its log density and the host
//! interpreter agree.
//!
//! The host runs statements one after the other on values, the graph holds whole loops as lanes:
//! what one of both gets wrong shows as a difference. Densities on values are the library's own,
//! checked elsewhere.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::{Path, PathBuf};

use exmc::StanProgram;
use exmc::stan::StanError;
use exmc_corpus::host::compare;
use exmc_stan::data::{WAYS, generate_data};
use exmc_stan::host::Settings;

fn programs(folder: &str) -> Vec<(PathBuf, Result<StanProgram, StanError>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "stan"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let program = StanProgram::from_text(&path.to_string_lossy(), &text);
        (path, program)
    };
    paths.into_iter().map(read).collect()
}

/// Compares under a third of all ways to make data, every way of each kind among them; returns at
/// how many points both are finite, and the last reason why data could not be used.
fn agree_under_all_ways(path: &Path, program: &StanProgram) -> (usize, Option<String>) {
    let (mut finite, mut refused) = (0, None);
    for seed in (0..WAYS).step_by(3) {
        let Ok(data) = generate_data(program.typed(), seed) else { continue };
        match compare(program.typed(), &data, &Settings::default()) {
            Ok(agreement) => {
                assert!(agreement.holds(), "{} {agreement}\nseed {seed}: {data}", path.display());
                finite += agreement.finite;
            }
            Err(error) => refused = Some(error),
        }
    }
    (finite, refused)
}

#[test]
fn graph_and_host_agree_on_programs_of_every_kind() {
    for (path, program) in programs("tests/programs") {
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        let (finite, refused) = agree_under_all_ways(&path, &program);
        // Data that a program refuses (an index that its other data exclude) are no difference, but
        // most points must have been compared.
        assert!(finite >= 40, "{}: {finite} points, {refused:?}", path.display());
    }
}

#[test]
fn graph_and_host_agree_on_the_programs_of_the_front_end() {
    let mut compared = 0;
    for (path, program) in programs("../exmc-stan/tests/programs") {
        // Some are there for the parser alone.
        let Ok(program) = program else { continue };
        compared += usize::from(agree_under_all_ways(&path, &program).0 > 0);
    }
    // The others have no parameters to speak of, or use what densities cannot.
    assert!(compared >= 10, "{compared}");
}
