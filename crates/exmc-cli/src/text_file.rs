//! A file's path -> its text, or what is wrong with it.

use std::fs;
use std::path::Path;

use exmc_model::decode_utf8;

use crate::failure::{Exit, Failure};

/// A file's text.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|e| Failure::unreadable(path, &e))?;
    match decode_utf8(&bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Failure::from(error).in_file(path)),
    }
}

/// A program's text. That it is not UTF-8 is no mistake of JSON.
pub(crate) fn read_program_text(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(|e| Failure::unreadable(path, &e))?;
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.as_bytes()[error.utf8_error().valid_up_to()];
        let path = path.display();
        let message = format!("`{path}` is not UTF-8: it holds the byte 0x{byte:02X}");
        Failure::new(Exit::Model, message).hint("save it as UTF-8")
    })
}
