//! Models and data as JSON text, in the form that `docs/model-json.md` describes.

pub use exmc_model::{DataSet, read_data, read_json, write_json};
