//! The host: the typed tree run directly over values, without a graph. Transformed data and
//! generated quantities are computed here, sizes and bounds of everything else, and whatever the
//! lowering finds to depend on data only.
//!
//! Rules of the language that matter here: integers have 32 bits and report overflow; indices are
//! checked; values before assignment are NaN (integers: the smallest); constraints of a block's
//! variables are checked at the block's end; containers are values, so an assignment copies.

#![expect(clippy::neg_cmp_op_on_partial_ord, reason = "checks are written so that NaN fails them")]

pub mod absent;
mod assign;
pub mod blocks;
pub(crate) mod by_type;
mod call;
pub(crate) mod complex;
pub mod constraint;
mod dae;
pub mod declare;
pub mod environment;
pub mod error;
pub(crate) mod expression;
mod higher_order;
pub mod index;
pub mod interpreter;
pub mod library;
mod log_density;
pub mod numeric;
pub mod operators;
pub mod print;
mod statement;
pub mod tape;
mod tilde;

pub use absent::{absent_calls, has_call};
pub use blocks::Generated;
pub use declare::{Extents, Step, Violation, checked_len, unset};
pub use environment::Environment;
pub use error::{Fault, FaultKind, Outcome, RuntimeError};
pub use interpreter::{Interpreter, Printer, Settings, is_unconstrained};
pub use library::density::Densities;
