//! JSON values -> text that people can read and that stays short: one line a row of scalars.

use std::fmt::Write;

use serde_json::Value;

/// The text of a document, ending with a line break: an array or object of scalars and arrays of a
/// few scalars stands on one line, every other one has a line for each of its entries.
///
/// ```
/// let value = serde_json::json!({"run": {"ebfmi": [1.5, 2.0]}, "rows": [{"name": "mu"}, {}]});
/// let text = "{\n  \"run\": {\"ebfmi\": [1.5, 2.0]},\n  \"rows\": [\n    {\"name\": \"mu\"},\n    {}\n  ]\n}\n";
/// assert_eq!(exmc_draws::json_text(&value), text);
/// ```
pub fn json_text(document: &Value) -> String {
    let mut text = String::new();
    write(&mut text, document, 0);
    text.push('\n');
    text
}

fn write(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(items) => {
            entries(text, ['[', ']'], depth, items.iter().map(|item| (None, item)));
        }
        Value::Object(fields) => {
            entries(text, ['{', '}'], depth, fields.iter().map(|(key, item)| (Some(key), item)));
        }
        scalar => {
            let _ = write!(text, "{scalar}");
        }
    }
}

fn entries<'a>(
    text: &mut String,
    [open, close]: [char; 2],
    depth: usize,
    items: impl Iterator<Item = (Option<&'a String>, &'a Value)> + Clone,
) {
    let is_flat = depth > 0 && items.clone().all(|(_, item)| is_short(item));
    text.push(open);
    let mut is_empty = true;
    for (key, item) in items {
        if !is_empty {
            text.push_str(if is_flat { ", " } else { "," });
        }
        is_empty = false;
        if !is_flat {
            new_line(text, depth + 1);
        }
        if let Some(key) = key {
            let _ = write!(text, "{}: ", Value::from(key.as_str()));
        }
        write(text, item, depth + 1);
    }
    if !is_empty && !is_flat {
        new_line(text, depth);
    }
    text.push(close);
}

/// Whether a value may share a line: a scalar, or a handful of them.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            items.len() <= 4 && items.iter().all(|i| !i.is_array() && !i.is_object())
        }
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    }
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_same_document() {
        let text = r#"{"a": [], "b": {}, "c": [[1, 2.5e-300], []], "d \"q\"": {"e": [{"f": null}], "g": "ü\n"}, "h": 18446744073709551615}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        let printed = json_text(&value);
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
        assert!(printed.contains("\n  \"c\": [[1, 2.5e-300], []],\n"), "{printed}");
        assert_eq!(json_text(&Value::Null), "null\n");
    }
}
