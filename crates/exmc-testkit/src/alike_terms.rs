//! Seed -> a random log density of many scalar variables -> does grouping its alike terms leave
//! value and gradient.

// The generator belongs to the executors' own tests, which cannot depend on this crate.
#[path = "../../exmc-exec/tests/support/alike.rs"]
mod alike;

pub use alike::{Seen, check};
