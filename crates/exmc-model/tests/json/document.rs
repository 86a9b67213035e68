//! The guide to the JSON form names everything that there is, and its examples are right.

use exmc_graph::Op;
use exmc_model::distribution::{Distribution, FAMILIES, Parameter, SUMMARIES};
use exmc_model::{Model, Support, function_names, read_data, read_json, write_json};

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
}

/// What a parameter may be, in the guide's words.
fn values(parameter: &Parameter) -> &'static str {
    match (parameter.support, parameter.rank) {
        (Support::Real, 0) => "real",
        (Support::Real, _) => "real vector",
        (Support::Positive, 0) => "positive",
        (Support::Positive, _) => "positive vector",
        (Support::NonNegative, _) => "zero or positive",
        (Support::Unit, _) => "in [0, 1]",
        (Support::Count, _) => "a count",
        (Support::Simplex, _) => "a simplex",
        (Support::Ordered, _) => "increasing",
        (Support::PositiveDefinite, _) => "positive definite matrix",
        (Support::CholeskyFactor, _) => "Cholesky factor",
        (other, rank) => panic!("the guide has no words for {other:?} of rank {rank}"),
    }
}

/// The row of a family in the guide.
fn row(family: &dyn Distribution, summary: &[&str]) -> String {
    let all = family.parameters();
    let quoted = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let parameter = |p: &Parameter| {
        let mut more = Vec::new();
        if !p.aliases.is_empty() {
            more.push(format!("or {}", quoted(p.aliases)));
        }
        more.push(values(p).to_owned());
        match (p.default, p.same_as) {
            (Some(value), _) => more.push(format!("default {value}")),
            (None, Some(other)) => more.push(format!("default: as `{}`", all[other].name)),
            (None, None) => {}
        }
        format!("`{}` ({})", p.name, more.join("; "))
    };
    let parameters: Vec<_> = all.iter().map(parameter).collect();
    let summary: Vec<_> =
        summary.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
    let summary = summary.join(" ");
    let (name, aliases) = (family.name(), quoted(family.aliases()));
    let parameters = parameters.join(", ");
    format!("| `{name}` | {aliases} | {parameters} | {} |\n", summary.trim_end_matches('.'))
}

/// `EXMC_BLESS=1` writes the table anew.
#[test]
fn the_table_of_distributions_is_that_of_the_families() {
    let rows = FAMILIES.iter().zip(SUMMARIES).map(|(family, summary)| row(*family, summary));
    let table: String = rows.collect();
    let head = "| distribution | also called | parameters, in order | what |\n|---|---|---|---|\n";
    let (before, rest) = GUIDE.split_once(head).unwrap();
    let (found, after) = rest.split_once("\n\n").unwrap();
    let found = format!("{found}\n");
    if found != table && std::env::var_os("EXMC_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model-json.md");
        std::fs::write(path, format!("{before}{head}{table}\n{after}")).unwrap();
        return;
    }
    for (found, expected) in found.lines().zip(table.lines()) {
        assert_eq!(found, expected, "EXMC_BLESS=1 writes the table anew");
    }
    assert_eq!(found, table, "EXMC_BLESS=1 writes the table anew");
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
