//! Text -> syntax tree, and back.

pub mod tree;
