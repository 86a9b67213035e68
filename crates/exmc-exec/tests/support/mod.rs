//! What the tests of executors share.

mod random;

pub(crate) use random::Program;
