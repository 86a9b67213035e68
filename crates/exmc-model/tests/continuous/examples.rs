//! Rows of `continuous_examples.csv` -> ordinary parameters and outcomes of every family here, on
//! which the general tests run.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// One family with parameters.
pub(crate) struct Example {
    pub(crate) family: &'static str,
    pub(crate) parameters: &'static [f64],
    /// Inner points, in the middle and in both tails, at none of which a derivative jumps.
    pub(crate) outcomes: &'static [f64],
    /// A point of the support to integrate from in both directions (an end where there is one).
    pub(crate) origin: f64,
    /// A typical distance from it.
    pub(crate) scale: f64,
}

pub(crate) static EXAMPLES: LazyLock<Vec<Example>> = LazyLock::new(|| {
    let rows = include_str!("../data/continuous_examples.csv").lines().skip(1);
    rows.map(|row| {
        let cells: Vec<&'static str> = row.split(',').collect();
        let &[family, parameters, origin, scale, outcomes] = &cells[..] else {
            panic!("five cells in {row}")
        };
        let number = |text: &str| text.parse::<f64>().unwrap();
        let numbers = |text: &str| -> &'static [f64] {
            let cells = text.split('|').filter(|cell| !cell.is_empty());
            cells.map(number).collect::<Vec<_>>().leak()
        };
        let (parameters, outcomes) = (numbers(parameters), numbers(outcomes));
        Example { family, parameters, outcomes, origin: number(origin), scale: number(scale) }
    })
    .collect()
});

#[test]
fn every_registered_continuous_family_has_a_row_and_no_other() {
    let rows: BTreeSet<_> = EXAMPLES.iter().map(|e| e.family).collect();
    let registered: BTreeSet<_> = exmc_model::distribution::FAMILIES
        .iter()
        .filter(|f| f.event_rank() == 0 && !f.support().is_discrete())
        .map(|f| f.name())
        .collect();
    assert_eq!(rows, registered);
}
