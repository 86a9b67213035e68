//! What a sceptical reviewer tried: models that once gave wrong numbers, panicked or had bad
//! errors.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod errors;
mod harness;
mod limits_of_use;
mod oracle;
mod wrong_numbers;
