//! The fuzz targets for a second each over our own corpus, and what once failed.
//!
//! `EXMC_FUZZ_SECONDS=N` runs longer, `EXMC_FUZZ_SEED=S` elsewhere.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use exmc_corpus::fuzz::{TARGETS, corpus, fuzz, regressions};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap()
}

#[test]
fn mutated_inputs_are_answered() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
    };
    let time = Duration::from_secs(number("EXMC_FUZZ_SECONDS", 1));
    for target in TARGETS {
        let corpus = corpus(target, root(), None).unwrap();
        let found = fuzz(target, &corpus, number("EXMC_FUZZ_SEED", 1), time, None);
        println!("{}: {} inputs", target.name, found.tried);
        let name = target.name;
        assert!(found.failing.is_none(), "{name} fails on\n{}", found.failing.unwrap());
    }
}

#[test]
fn inputs_that_once_failed_do_so_no_more() {
    let mut replayed = 0;
    for target in TARGETS {
        for path in regressions(target, root()).unwrap() {
            println!("{}", path.display());
            (target.run)(&std::fs::read(&path).unwrap());
            replayed += 1;
        }
    }
    assert!(replayed > 0, "the folder of regressions was found");
}
