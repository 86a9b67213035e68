//! exmc command line.
fn main() {}
