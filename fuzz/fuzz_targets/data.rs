//! text -> data of declared types or errors; the target is `exmc_corpus::fuzz`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (exmc_corpus::fuzz::TARGETS[2].run)(bytes));
