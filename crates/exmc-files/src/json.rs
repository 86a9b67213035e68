//! Groups -> one JSON document: `{group: {variable: nested lists}}`.
//!
//! Numbers that JSON has none for are the texts `"NaN"`, `"Infinity"` and `"-Infinity"`, as CmdStan
//! spells them.

use std::io::{self, Write};
use std::path::Path;

use crate::error::FileError;
use crate::groups::{Array, Group, Numbers};
use crate::whole_file::write_new;

/// Writes groups as a new file.
///
/// # Errors
/// When there is something of that name, or writing fails.
pub fn write_json(path: &Path, groups: &[Group]) -> Result<(), FileError> {
    write_new(path, |out| {
        out.write_all(b"{")?;
        for (k, group) in groups.iter().enumerate() {
            write!(out, "{}\n{}: {{", separator(k), text(&group.name))?;
            for (k, array) in group.arrays.iter().enumerate() {
                write!(out, "{}\n  {}: ", separator(k), text(&array.name))?;
                write_array(out, array)?;
            }
            out.write_all(b"}")?;
        }
        out.write_all(b"}\n")
    })
}

fn separator(k: usize) -> &'static str {
    if k == 0 { "" } else { "," }
}

fn text(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

fn write_array(out: &mut impl Write, array: &Array) -> io::Result<()> {
    if array.numbers.is_empty() {
        return out.write_all(b"[]");
    }
    for k in 0..array.numbers.len() {
        if k > 0 {
            out.write_all(b",")?;
        }
        out.write_all("[".repeat(lists_at(&array.shape, k)).as_bytes())?;
        match &array.numbers {
            Numbers::Real(all) if all[k].is_nan() => out.write_all(b"\"NaN\"")?,
            Numbers::Real(all) if all[k] == f64::INFINITY => out.write_all(b"\"Infinity\"")?,
            Numbers::Real(all) if all[k] == f64::NEG_INFINITY => out.write_all(b"\"-Infinity\"")?,
            Numbers::Real(all) => write!(out, "{}", serde_json::Value::from(all[k]))?,
            Numbers::Integer(all) => write!(out, "{}", all[k])?,
            Numbers::Boolean(all) => write!(out, "{}", all[k])?,
            Numbers::Text(all) => out.write_all(text(&all[k]).as_bytes())?,
        }
        out.write_all("]".repeat(lists_at(&array.shape, k + 1)).as_bytes())?;
    }
    Ok(())
}

/// How many lists of an array begin before its element `k`, or end there.
fn lists_at(shape: &[usize], k: usize) -> usize {
    let mut size = 1;
    let begins = |extent: &&usize| {
        size *= **extent;
        k.is_multiple_of(size)
    };
    shape.iter().rev().take_while(begins).count()
}
