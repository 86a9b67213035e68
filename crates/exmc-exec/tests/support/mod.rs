//! What the tests of executors share.

#[expect(unreachable_pub, reason = "public where `exmc-testkit` includes the file")]
pub(crate) mod alike;
pub(crate) mod lanes;
pub(crate) mod models;
pub(crate) mod random;
pub(crate) mod recurrences;

pub(crate) use random::Program;
