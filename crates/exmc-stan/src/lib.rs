//! Stan programs (internal, unstable): source text -> syntax tree -> typed tree -> density over
//! data.
#![forbid(unsafe_code)]

pub mod check;
mod dae;
pub mod data;
pub mod diagnostic;
mod equations;
pub(crate) mod families;
pub mod generative;
pub mod host;
pub mod library;
pub mod lower;
mod number;
mod ode;
mod parts;
pub mod pointwise;
pub mod report;
pub(crate) mod scalar_functions;
pub mod source;
pub mod split;
pub mod syntax;
pub mod typed;
pub mod value;
mod visit;
