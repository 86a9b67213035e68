//! Collections of Stan programs run through the front end (dev only): a checkout -> a table of what
//! works.
#![forbid(unsafe_code)]

pub mod archive;
pub mod double;
pub mod example_models;
pub mod fuzz;
pub mod host;
pub mod oracle;
pub mod posteriordb;
pub mod quantities;
pub mod reference;
