//! The data's JSON -> a table of its entries: sizes and ranges.

use exmc_plot::{escaped, short};
use serde_json::Value;

/// Most rows.
const MOST: usize = 60;

/// The table, or why there is none.
pub(crate) fn data_table(text: &str) -> String {
    let Ok(Value::Object(entries)) = serde_json::from_str(text) else {
        return "<p>The data are not a JSON object.</p>\n".to_owned();
    };
    if entries.is_empty() {
        return "<p>The data are empty.</p>\n".to_owned();
    }
    let mut rows = String::new();
    for (name, value) in entries.iter().take(MOST) {
        let mut numbers = Vec::new();
        let missing = collect(value, &mut numbers);
        let size = shape(value);
        let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let cells = match numbers.len() {
            0 => [String::new(), String::new(), String::new()],
            _ => [short(low, 5), short(mean, 5), short(high, 5)],
        };
        let other =
            if missing > 0 { format!("{missing} values are no numbers") } else { String::new() };
        rows.push_str(&format!(
            "<tr><th scope=\"row\"><code>{}</code></th><td>{size}</td><td>{}</td><td>{other}</td></tr>\n",
            escaped(name),
            cells.join("</td><td>")
        ));
    }
    let more = match entries.len().checked_sub(MOST) {
        Some(n) if n > 0 => format!("<p>{n} other entries are not shown.</p>\n"),
        _ => String::new(),
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table of the data\"><table>\n\
         <caption>Entries of the data</caption>\n<thead><tr><th scope=\"col\">name</th>\
         <th scope=\"col\">size</th><th scope=\"col\">smallest</th><th scope=\"col\">mean</th>\
         <th scope=\"col\">largest</th><th scope=\"col\">remark</th></tr></thead>\n<tbody>\n{rows}</tbody>\
         </table></div>\n{more}"
    )
}

/// Collects numbers; how many other values there are.
fn collect(value: &Value, numbers: &mut Vec<f64>) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| collect(item, numbers)).sum(),
        Value::Number(number) => {
            numbers.extend(number.as_f64());
            0
        }
        _ => 1,
    }
}

/// `3 × 2`, or `one number`.
fn shape(value: &Value) -> String {
    let mut extents = Vec::new();
    let mut inner = value;
    while let Value::Array(items) = inner {
        extents.push(items.len().to_string());
        let Some(first) = items.first() else { break };
        inner = first;
    }
    match (extents.is_empty(), value) {
        (true, Value::Number(_)) => "one number".to_owned(),
        (true, _) => "one value".to_owned(),
        _ => extents.join(" × "),
    }
}
