//! Every penalty on every device, type and size: a table of rows -> how far each is from plain
//! loops over `f64`.

pub mod inputs;
#[cfg(feature = "networks")]
pub mod logits;
pub mod run;
pub mod table;
