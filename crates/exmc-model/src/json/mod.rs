//! The JSON form: text <-> models, and text -> data (`docs/model-json.md` describes both).
//!
//! Reading goes text -> located values (`parse`) -> declared nodes (`read`) -> [`crate::build`], so
//! a model from a file passes the same checks as one from the builder. Writing walks a model's
//! nodes and prints the expressions that they hold.

mod data;
mod lines;
mod parse;
mod place;
mod read;
mod read_expression;
mod read_scan;
mod tensor;
mod value;
mod write;
mod write_expression;
mod write_scan;

pub use data::{DataSet, read_data};
pub use read::read_json;
pub use write::write_json;

use crate::diagnostic::{Code, Diagnostic, ModelError, Origin};

/// The text that the bytes of a file hold.
///
/// # Errors
/// When they are not UTF-8, with the place of the first byte that is not.
pub fn decode_utf8(bytes: &[u8]) -> Result<&str, ModelError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let before = std::str::from_utf8(&bytes[..offset]).expect("it is valid up to here");
        let (line, column) = lines::Lines::new(before).place(offset);
        let byte = bytes.get(offset).copied().unwrap_or_default();
        let message = format!("the text is not UTF-8: it holds the byte 0x{byte:02X}");
        let mut mistake = Diagnostic::new(Code::BadJson, message);
        mistake.origin = Some(Origin::Json { path: String::new(), line, column });
        let wide = matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
        mistake
            .help(if wide { "it looks like UTF-16; save it as UTF-8" } else { "save it as UTF-8" })
            .into()
    })
}
