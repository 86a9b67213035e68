//! program -> transformed data and generated quantities by the host; the target is
//! `exmc_corpus::fuzz`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (exmc_corpus::fuzz::TARGETS[3].run)(bytes));
