//! The same statements give the same values in transformed parameters and in generated quantities,
//! compiled and by the host interpreter: for the programs of this folder, those of the log
//! density's tests and those of the front end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::path::Path;

use exmc::StanProgram;
use exmc_corpus::quantities::compare_quantities;
use exmc_stan::data::{WAYS, generate_data};

/// Differences that count as agreement. Sums run in another order, and solutions of differential
/// equations choose other steps.
const TOLERANCE: f64 = 1e-9;

/// Numbers that were compared, and points that compiled code left to the interpreter.
fn compare_all(folder: &str, step: u64) -> (usize, usize, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let (mut compared, mut left, mut programs) = (0, 0, 0);
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "stan")) {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.display().to_string();
        // Some of the front end's are there for the parser alone.
        let Ok(program) = StanProgram::from_text(&name, &text) else { continue };
        let before = compared;
        for seed in (0..WAYS).step_by(step as usize) {
            let Ok(data) = generate_data(program.typed(), seed) else { continue };
            let Ok(found) = compare_quantities(program.typed(), &data) else { continue };
            assert!(found.worst.0 <= TOLERANCE, "{name}: {found:?}\nseed {seed}: {data}");
            compared += found.compared;
            left += found.left;
        }
        programs += usize::from(compared > before);
    }
    (compared, left, programs)
}

#[test]
fn quantities_agree_with_the_interpreter() {
    let (compared, left, programs) = compare_all("tests/quantities", 2);
    assert!(compared > 2_000 && programs == 2, "{compared} {programs}");
    // Data of odd sizes or values make some points that are rejected.
    assert!(left * 40 < compared, "{left} of {compared}");
}

#[test]
fn transformed_parameters_agree_when_they_are_generated_quantities() {
    let (compared, _, programs) = compare_all("tests/programs", 6);
    assert!(compared > 500 && programs >= 5, "{compared} {programs}");
    let (compared, _, _) = compare_all("../exmc-stan/tests/programs", 6);
    assert!(compared > 50, "{compared}");
}
