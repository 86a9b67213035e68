//! A model in JSON -> a picture of what depends on what.
//!
//! Nodes stand in layers: each one below all that it refers to. A Stan program states no such
//! graph; its text is shown alone.

use std::collections::BTreeMap;
use std::fmt::Write;

use exmc_plot::escaped;
use serde_json::Value;

/// Most nodes of a readable picture.
const MOST: usize = 40;
const WIDTH: f64 = 128.0;
const HEIGHT: f64 = 34.0;
const GAP: (f64, f64) = (14.0, 34.0);

struct Node {
    name: String,
    kind: &'static str,
    detail: String,
    parents: Vec<usize>,
    layer: usize,
}

/// The image, with ids that begin with `id`; `None` for what is no model of at most 40 nodes.
pub(crate) fn model_graph(text: &str, id: &str) -> Option<String> {
    let document: Value = serde_json::from_str(text).ok()?;
    let entries = document.get("nodes")?.as_array()?;
    if entries.is_empty() || entries.len() > MOST {
        return None;
    }
    let mut nodes: Vec<Node> = Vec::new();
    let mut places = BTreeMap::new();
    for entry in entries {
        let kinds = ["rv", "obs", "det", "data", "potential"];
        let kind = kinds.into_iter().find(|k| entry.get(k).is_some_and(Value::is_string))?;
        let name = entry[kind].as_str()?.to_owned();
        places.insert(name.clone(), nodes.len());
        let detail = entry.get("dist").and_then(Value::as_str).unwrap_or(kind).to_owned();
        nodes.push(Node { name, kind, detail, parents: Vec::new(), layer: 0 });
    }
    for (k, entry) in entries.iter().enumerate() {
        let kind_key = nodes[k].kind;
        for (key, value) in entry.as_object()? {
            if key != kind_key && key != "dist" && key != "dims" && key != "dtype" {
                references(value, &places, &mut nodes[k].parents);
            }
        }
        nodes[k].parents.retain(|p| *p != k);
        nodes[k].parents.dedup();
    }
    // Each pass moves nodes below their parents; a circle would go on for ever.
    for _ in 0..nodes.len() {
        for k in 0..nodes.len() {
            let below = nodes[k].parents.iter().map(|p| nodes[*p].layer + 1).max();
            nodes[k].layer = below.unwrap_or(0);
        }
    }
    if nodes.iter().any(|node| node.layer >= nodes.len()) {
        return None;
    }
    Some(draw(&nodes, id))
}

fn references(value: &Value, places: &BTreeMap<String, usize>, into: &mut Vec<usize>) {
    match value {
        Value::String(name) => {
            if let Some(place) = places.get(name)
                && !into.contains(place)
            {
                into.push(*place);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, places, into)),
        Value::Object(fields) => fields.values().for_each(|item| references(item, places, into)),
        _ => {}
    }
}

fn draw(nodes: &[Node], id: &str) -> String {
    let layers = nodes.iter().map(|n| n.layer).max().unwrap_or(0) + 1;
    let widest =
        (0..layers).map(|l| nodes.iter().filter(|n| n.layer == l).count()).max().unwrap_or(1);
    let width = widest as f64 * (WIDTH + GAP.0) + GAP.0;
    let height = layers as f64 * (HEIGHT + GAP.1) + 14.0;
    let mut places = vec![(0.0, 0.0); nodes.len()];
    for layer in 0..layers {
        let layer_nodes: Vec<usize> =
            (0..nodes.len()).filter(|k| nodes[*k].layer == layer).collect();
        let left = 0.5 * (width - layer_nodes.len() as f64 * (WIDTH + GAP.0) + GAP.0);
        for (column, k) in layer_nodes.into_iter().enumerate() {
            places[k] =
                (left + column as f64 * (WIDTH + GAP.0), 14.0 + layer as f64 * (HEIGHT + GAP.1));
        }
    }
    let (mut lines, mut boxes, mut words) = (String::new(), String::new(), Vec::new());
    for (node, (x, y)) in nodes.iter().zip(&places) {
        for parent in &node.parents {
            let (px, py) = places[*parent];
            let (x1, y1, x2, y2) = (px + 0.5 * WIDTH, py + HEIGHT, x + 0.5 * WIDTH, y - 5.0);
            let _ = writeln!(
                lines,
                "<path class=\"lm\" d=\"M{x1} {y1}L{x2} {y2}m-4 -3l4 7 4 -7\" stroke-width=\"1.2\"/>"
            );
        }
        let corner = if node.kind == "rv" { 16.0 } else { 2.0 };
        let fill = if node.kind == "obs" { "f0\" fill-opacity=\"0.25" } else { "b" };
        let _ = writeln!(
            boxes,
            "<rect class=\"{fill}\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{corner}\"/>\n\
             <rect class=\"a\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{corner}\"/>"
        );
        let middle = x + 0.5 * WIDTH;
        let letters: Vec<char> = node.name.chars().collect();
        let name: String = if letters.len() > 18 {
            letters[..17].iter().chain(&['…']).collect()
        } else {
            node.name.clone()
        };
        let _ = writeln!(
            boxes,
            "<text class=\"t p\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text class=\"n\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            y + 15.0,
            escaped(&name),
            y + 28.0,
            escaped(&node.detail)
        );
        let parents: Vec<&str> = node.parents.iter().map(|p| nodes[*p].name.as_str()).collect();
        let from = if parents.is_empty() { "nothing".to_owned() } else { parents.join(", ") };
        words.push(format!("{} ({}) depends on {from}", node.name, node.detail));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"exmc-figure\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<title id=\"{id}-title\">Graph of the model</title>\n\
         <desc id=\"{id}-desc\">{}.</desc>\n{lines}{boxes}</svg>\n",
        escaped(&words.join("; "))
    )
}
