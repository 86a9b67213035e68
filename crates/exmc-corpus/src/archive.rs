//! Files of a checkout, zipped or not -> text.

use std::fs;
use std::io::Read;
use std::path::Path;

/// A file's text; of an archive (`.zip`), that of its first file.
pub fn read_text(path: &Path) -> Result<String, String> {
    let wrong = |what: &dyn std::fmt::Display| format!("cannot read `{}`: {what}", path.display());
    if path.extension().is_none_or(|e| e != "zip") {
        return fs::read_to_string(path).map_err(|e| wrong(&e));
    }
    let file = fs::File::open(path).map_err(|e| wrong(&e))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|e| wrong(&e))?;
    let mut text = String::new();
    let mut first = archive.by_index(0).map_err(|e| wrong(&e))?;
    first.read_to_string(&mut text).map_err(|e| wrong(&e))?;
    Ok(text)
}

/// A JSON document.
pub fn read_json(path: &Path) -> Result<serde_json::Value, String> {
    serde_json::from_str(&read_text(path)?).map_err(|e| format!("`{}`: {e}", path.display()))
}
