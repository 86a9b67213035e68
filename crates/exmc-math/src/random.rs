//! Random streams and frozen samplers: (seed, chain, phase) to a reproducible sequence of draws.
//!
//! A stream is ChaCha8 with the key taken from the seed and the stream number from (chain, phase).
//! Its whole state is the position in that stream: samplers keep nothing between calls (no second
//! normal in hand), so a run that stores [`ChainRng::word_position`] resumes to the bit. The
//! samplers are our own code, because library samplers may change their bits in a minor release;
//! their golden hashes in the tests must not change without a line in the changelog.

pub mod draws;
mod stream;
mod ziggurat;
mod ziggurat_tables;

pub use stream::{ChainRng, Phase};
