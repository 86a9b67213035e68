//! program -> graph of its log density, against the host; the target is `exmc_corpus::fuzz`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (exmc_corpus::fuzz::TARGETS[4].run)(bytes));
