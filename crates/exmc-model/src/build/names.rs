//! Names and references of declared nodes -> an order in which each comes after what it needs.

use std::collections::{BTreeMap, BTreeSet};

use exmc_graph::Shape;

use crate::diagnostic::{Code, Diagnostic, ModelError, closest};
use crate::function;
use crate::model::{Model, topological_order};
use crate::spec::{KindSpec, NodeSpec};

pub(super) fn resolve_names(specs: &[NodeSpec]) -> Result<BTreeMap<&str, &NodeSpec>, ModelError> {
    let mut by_name: BTreeMap<&str, &NodeSpec> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for spec in specs {
        let name = spec.name.as_str();
        let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let continues_well = name.chars().all(|c| c.is_alphanumeric() || "_.[],".contains(c));
        if !(starts_well && continues_well) {
            let help =
                "a name starts with a letter or underscore and holds letters, digits and _ . [ ] ,";
            let message = format!("`{name}` cannot be a name");
            mistakes.push(
                Diagnostic::new(Code::InvalidName, message).help(help).at(name, &spec.origin),
            );
        }
        if let Some(first) = by_name.insert(name, spec) {
            let message = format!("`{name}` is declared twice, first at {}", first.origin);
            let help = "give every node, observations included, a name of its own";
            mistakes.push(
                Diagnostic::new(Code::DuplicateName, message).help(help).at(name, &spec.origin),
            );
        }
    }
    ModelError::check(mistakes)?;
    Ok(by_name)
}

pub(super) fn check_plates(plates: &[(String, usize)]) -> Result<(), ModelError> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for (name, size) in plates {
        let first = *sizes.entry(name).or_insert(*size);
        if first != *size {
            let message = format!("plate `{name}` is declared with two sizes, {first} and {size}");
            let help = "give dimensions of different sizes different names";
            mistakes.push(Diagnostic::new(Code::DuplicateName, message).help(help));
        }
    }
    ModelError::check(mistakes)
}

/// Refuses arrays that no memory holds, before anything is allocated for them.
pub(super) fn check_size(what: &str, shape: &Shape) -> Result<(), Diagnostic> {
    if function::fits_in_memory(shape) {
        return Ok(());
    }
    let message = format!("{what} has shape {shape}: more than 2^27 elements");
    Err(Diagnostic::new(Code::ShapeMismatch, message))
}

pub(super) fn resolve_order<'a>(
    specs: &'a [NodeSpec],
    by_name: &BTreeMap<&'a str, &'a NodeSpec>,
) -> Result<Vec<&'a str>, ModelError> {
    let mut mistakes = Vec::new();
    let mut dependencies: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for spec in specs {
        let needs = dependencies.entry(&spec.name).or_default();
        for reference in spec.references() {
            match by_name.get_key_value(reference.as_str()) {
                Some((name, other)) => {
                    if matches!(other.kind, KindSpec::Obs(_) | KindSpec::Potential(_)) {
                        let message = format!("`{name}` has no value that could be referred to");
                        let help =
                            "refer to the observed variable, not to the observation or potential";
                        let mistake = Diagnostic::new(Code::UnknownReference, message).help(help);
                        mistakes.push(mistake.at(&spec.name, &spec.origin));
                    }
                    needs.insert(name);
                }
                None => {
                    let message = format!("nothing is called `{reference}`");
                    let mistake = Diagnostic::new(Code::UnknownReference, message);
                    let mistake = match closest(&reference, by_name.keys().copied()) {
                        Some(name) => mistake.help(format!("did you mean `{name}`?")),
                        None => {
                            mistake.help("declare it as a variable, a deterministic value or data")
                        }
                    };
                    mistakes.push(mistake.at(&spec.name, &spec.origin));
                }
            }
        }
    }
    ModelError::check(mistakes)?;
    topological_order(&dependencies).map_err(|members| {
        let members = cycle_among(&dependencies, &members);
        let first = by_name[members[0]];
        let path = members
            .iter()
            .chain(&members[..1])
            .map(|m| format!("`{m}`"))
            .collect::<Vec<_>>()
            .join(" -> ");
        let message = format!("values need each other: {path}");
        let help = "a model is a directed graph without cycles; break the circle at one of these";
        Diagnostic::new(Code::Cycle, message).help(help).at(members[0], &first.origin).into()
    })
}

/// One cycle among names that all wait for one another, starting at its bytewise smallest member.
fn cycle_among<'a>(
    dependencies: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    members: &[&'a str],
) -> Vec<&'a str> {
    let stuck = |name: &str| members.contains(&name);
    let mut path = vec![members[0]];
    loop {
        let last = path[path.len() - 1];
        let next = dependencies[last]
            .iter()
            .copied()
            .find(|n| stuck(n))
            .expect("a stuck name waits for a stuck one");
        if let Some(start) = path.iter().position(|p| *p == next) {
            let mut cycle = path.split_off(start);
            let smallest = (0..cycle.len()).min_by_key(|&k| cycle[k]).unwrap_or(0);
            cycle.rotate_left(smallest);
            return cycle;
        }
        path.push(next);
    }
}

/// Values that need each other through an observed value: a lifted one may depend on variables.
pub(crate) fn check_value_order(model: &Model) -> Result<(), ModelError> {
    let Err(members) = model.value_order() else { return Ok(()) };
    let first = members[0];
    let message = format!("the observed value of `{first}` depends on itself");
    Err(Diagnostic::new(Code::Cycle, message).at(first, &model.nodes[first].origin).into())
}
