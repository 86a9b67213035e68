//! The guide to the JSON form names everything that there is, and its examples are right.

use exmc_graph::Op;
use exmc_model::distribution::FAMILIES;
use exmc_model::{Model, function_names, read_data, read_json, write_json};

const GUIDE: &str = include_str!("../../../../docs/model-json.md");

/// The fenced blocks with what stands behind "json".
fn examples() -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let mut rest = GUIDE;
    while let Some((_, after)) = rest.split_once("```json ") {
        let (kind, after) = after.split_once('\n').unwrap();
        let (body, after) = after.split_once("```").unwrap();
        found.push((kind, body));
        rest = after;
    }
    found
}

#[test]
fn every_function_and_distribution_is_in_the_guide() {
    for name in function_names() {
        assert!(GUIDE.contains(&format!("\n| `{name}` (")), "function {name} has no row");
    }
    for family in FAMILIES {
        let start = format!("\n| `{}` |", family.name());
        let row =
            GUIDE.split_once(&start).unwrap_or_else(|| panic!("{} has no row", family.name()));
        let row = row.1.lines().next().unwrap();
        let names =
            family.parameters().iter().flat_map(|p| std::iter::once(&p.name).chain(p.aliases));
        for name in names.chain(family.aliases()) {
            assert!(
                row.contains(&format!("`{name}`")),
                "the row of {} lacks {name}",
                family.name()
            );
        }
    }
}

#[test]
fn every_example_of_the_guide_is_right() {
    let examples = examples();
    assert!(examples.len() >= 6, "found {}", examples.len());
    for (kind, body) in examples {
        let model = |text: &str| -> Model {
            let model = read_json(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert!(read_json(&write_json(&model)).is_ok());
            model
        };
        match kind {
            "model" => drop(model(body)),
            "nodes" => drop(model(&format!("{{\"exmc\": 1, \"nodes\": [\n{body}]}}"))),
            "data" => drop(read_data(body).unwrap_or_else(|e| panic!("{e}\n{body}"))),
            other => panic!("the guide has an example of an unknown kind: {other}"),
        }
    }
}

#[test]
fn the_first_two_examples_belong_together() {
    let examples = examples();
    let (model, data) = (read_json(examples[0].1).unwrap(), read_data(examples[1].1).unwrap());
    let bound = data.bind(&model).unwrap();
    let inputs = model.graph().nodes().iter().filter_map(|n| match &n.op {
        Op::Input { name, .. } => Some(&**name),
        _ => None,
    });
    assert_eq!(inputs.filter(|name| bound.contains_key(*name)).count(), 2);
}
