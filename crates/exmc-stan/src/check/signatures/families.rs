//! Families of distributions -> signatures of their functions.

use super::Rule;
use crate::families::Slot::{self, Numbers, Reals};
use crate::families::{Family, families, family};

/// Functions that belong to distributions but to no one row of [`families`].
pub(super) const RULES: &[Rule] = &[
    (
        "wiener_lcdf_unnorm wiener_lccdf_unnorm",
        "real, real, real, real, real -> real; vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, data real -> real;
         real, real, real, real, real, real, real, real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector -> real;
         real, real, real, real, real, real, real, real, data real -> real;
         vector, vector, vector, vector, vector, vector, vector, vector, data real -> real",
    ),
    ("hmm_marginal", "matrix, matrix, vector -> real"),
    ("hmm_hidden_state_prob", "data matrix, data matrix, data vector -> matrix"),
    ("hmm_latent_rng", "matrix, matrix, vector -> int[]"),
];

const fn slot_pattern(slot: Slot) -> &'static str {
    match slot {
        Slot::Ints => "ints",
        Slot::Reals => "reals",
        Slot::Numbers => "numbers",
        Slot::Int => "int",
        Slot::Real => "real",
        Slot::IntArray => "int[]",
        Slot::Vector => "vector",
        Slot::Vectors => "vectors",
        Slot::Matrix => "matrix",
    }
}

/// The pattern of a family's function: what its slots give, then forms of its own.
pub(super) fn pattern(name: &str) -> Option<String> {
    let (prefix, suffix) = name.rsplit_once('_')?;
    let family = family(prefix)?;
    let mut patterns: Vec<String> = by_slots(family, suffix).into_iter().collect();
    let matching_forms = family.forms.iter().filter(|(form_suffix, _)| *form_suffix == suffix);
    patterns.extend(matching_forms.map(|(_, pattern)| (*pattern).to_owned()));
    (!patterns.is_empty()).then(|| patterns.join("; "))
}

fn by_slots(family: &Family, suffix: &str) -> Option<String> {
    let functions = family.functions;
    match suffix {
        "lpdf" | "lpmf" if suffix == family.density_suffix() => {}
        "cdf" if functions.cdf => {}
        "lcdf" if functions.lcdf => {}
        "lccdf" if functions.lccdf => {}
        "rng" if functions.rng => return Some(rng_pattern(family)),
        _ => return None,
    }
    let slots: Vec<&str> = family.slots.iter().map(|slot| slot_pattern(*slot)).collect();
    Some(format!("{} -> real", slots.join(", ")))
}

/// Random numbers take what the density takes after the outcome, integers where it takes reals, and
/// give an array where any of it is a container.
fn rng_pattern(family: &Family) -> String {
    let slot = |slot: &Slot| slot_pattern(if *slot == Reals { Numbers } else { *slot });
    let slots: Vec<&str> = family.slots[1..].iter().map(slot).collect();
    let scalar = if family.slots[0].is_discrete() { "int" } else { "real" };
    format!("{} -> {scalar} ~ {scalar}[]", slots.join(", "))
}

/// The names of all functions that families have.
pub(super) fn names() -> impl Iterator<Item = String> {
    families().flat_map(|family| {
        let suffixes = [family.density_suffix(), "cdf", "lcdf", "lccdf", "rng"];
        let names = suffixes.into_iter().map(|suffix| format!("{}_{suffix}", family.name));
        names.filter(|name| pattern(name).is_some())
    })
}
