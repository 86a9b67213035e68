//! text -> tree and diagnostics; the target is `exmc_corpus::fuzz`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (exmc_corpus::fuzz::TARGETS[0].run)(bytes));
