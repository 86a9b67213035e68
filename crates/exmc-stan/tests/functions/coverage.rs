//! Every function of numbers in the checker's signatures has a section in a table, or stands here
//! with a reason.

use std::collections::BTreeSet;

use exmc_stan::check::signatures::{names, signatures};
use exmc_stan::typed::Type;

use crate::functions::gate::{DENSITIES, SCALAR};
use crate::functions::table::sections;

/// Functions of numbers without a section.
const WITHOUT_SECTION: &[(&str, &str)] = &[
    (
        "lower_bound_jacobian",
        "changes the target, so it is no function of numbers; its value is that of _constrain",
    ),
    ("upper_bound_jacobian", "the same"),
    ("lower_upper_bound_jacobian", "the same"),
    ("offset_multiplier_jacobian", "the same"),
    ("max", "of two integers, which are compared and no more"),
    ("min", "the same"),
    ("size", "is one for every number"),
    ("squared_distance", "of vectors; its form for numbers is the square of a difference"),
    ("to_int", "takes data, which the graph does not see"),
    ("von_mises_cdf", "no formula yet"),
    ("von_mises_lcdf", "no formula yet"),
    ("von_mises_lccdf", "no formula yet"),
    ("wiener_lcdf_unnorm", "no formula yet"),
    ("wiener_lccdf_unnorm", "no formula yet"),
];

/// Whether some form of the function takes numbers only and gives one.
fn is_of_numbers(name: &str) -> bool {
    let number = |ty: &Type| matches!(ty, Type::Int | Type::Real);
    signatures(name).iter().any(|s| number(&s.returns) && s.arguments.iter().all(|a| number(&a.ty)))
}

#[test]
fn every_function_of_numbers_has_a_section() {
    let mut covered = BTreeSet::new();
    for section in sections(SCALAR).into_iter().chain(sections(DENSITIES)) {
        assert!(
            section.rows.len() > 2 || section.kinds.is_empty(),
            "{}: too few rows",
            section.name
        );
        for function in &section.functions {
            covered.insert(format!("{}{function}", section.name));
            if function == "_lcdf" {
                covered.insert(format!("{}_cdf", section.name));
            }
        }
    }
    let excused = |name: &str| WITHOUT_SECTION.iter().any(|(n, _)| *n == name);
    let of_numbers: BTreeSet<String> =
        names().iter().filter(|n| !n.ends_with("_rng") && is_of_numbers(n)).cloned().collect();
    let missing: Vec<&String> =
        of_numbers.iter().filter(|n| !covered.contains(*n) && !excused(n)).collect();
    assert!(missing.is_empty(), "no section in a table and no reason: {missing:?}");
    let idle: Vec<&str> = WITHOUT_SECTION
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| covered.contains(*name) || !of_numbers.contains(*name))
        .collect();
    assert!(idle.is_empty(), "excused for nothing: {idle:?}");
}
