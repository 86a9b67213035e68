//! Text -> syntax tree, and back.
//!
//! [`parse`] reads the whole current language (Stan 2.37 and later) and goes on after a mistake, so
//! that one run reports several; what it could not read is missing from the tree. [`print()`]
//! writes a tree as text again.

mod include;
mod info;
mod lex;
mod parse;
mod print;
mod token;
pub mod tree;
mod walk;

pub use include::{Folders, MAX_INCLUDE_DEPTH, MAX_INCLUDES, NoIncludes, Resolver};
pub use info::{Info, VariableType, info};
pub use lex::MAX_TEXT;
pub use parse::{MAX_HEIGHT, MAX_NESTING, parse};
pub use print::{print, print_expr, print_unsized};
pub use walk::{Node, walk};

/// Mistakes that are reported before the parser gives up.
pub const MAX_REPORTS: usize = 100;
