//! The sampler's own cost a leapfrog step -> a table, beside nuts-rs where its program was built.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{build, number, ratio, records, text};
use crate::root;

/// Where the peers' folder has the program that measures nuts-rs.
const NUTS_RS: &str = "nutsrs/target/release/nutsrs-bench";

/// Runs exmc's measurement and, with a peers' folder, that of nuts-rs just before it.
///
/// # Errors
/// When a program fails; that one is not there is said in the table's place.
pub(super) fn transitions(peers: Option<&Path>) -> Result<String, String> {
    let source = root().join("crates/exmc-infer/examples/transition_time.rs");
    if !source.exists() {
        return Ok(
            "\n## The sampler itself\n\nNot measured: this commit has no example that does.\n"
                .to_owned(),
        );
    }
    let program = build("exmc-infer", "--example", "transition_time")?;
    let other: Option<PathBuf> = peers.map(|p| p.join(NUTS_RS)).filter(|p| p.exists());
    let others = other.as_ref().map_or_else(|| Ok(Vec::new()), |p| records(p, &["5"]))?;
    Ok(table(&records(&program, &["--json"])?, &others, peers.is_some() && other.is_none()))
}

fn table(own_rows: &[Value], others: &[Value], missing: bool) -> String {
    let mut page = String::from(
        "\n## The sampler itself\n\nNanoseconds a leapfrog step with the cost of the gradient taken off; `iid` are independent normal \
         variables, `ar0.9` an autoregression, with their dimension.\n\n\
         | target | metric | exmc | nuts-rs | nuts-rs / exmc |\n|---|---|---|---|---|\n",
    );
    for row in own_rows {
        let key = |row: &Value| (text(row, "target").to_owned(), text(row, "metric").to_owned());
        let overhead = |row: &Value| number(row, "overhead_ns_per_grad");
        let other = others.iter().find(|other| key(other) == key(row)).and_then(overhead);
        let both = overhead(row).zip(other).map(|(nanoseconds, other)| other / nanoseconds);
        let cell = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.0}"));
        let (target, metric) = key(row);
        let (own_cell, other) = (cell(overhead(row)), cell(other));
        let _ = writeln!(page, "| {target} | {metric} | {own_cell} | {other} | {} |", ratio(both));
    }
    if missing {
        let _ = writeln!(page, "\nnuts-rs was left out: the peers' folder has no `{NUTS_RS}`.");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_are_joined_by_target_and_metric() {
        let row = |target: &str, metric: &str, ns: f64| json!({ "target": target, "metric": metric, "overhead_ns_per_grad": ns });
        let own_rows = [row("iid_2", "diag", 50.0), row("iid_2", "dense", 60.0)];
        let others = [row("iid_9", "diag", 1.0), row("iid_2", "diag", 150.0)];
        let page = table(&own_rows, &others, false);
        assert!(page.contains("| iid_2 | diag | 50 | 150 | 3.00 |\n"), "{page}");
        assert!(page.contains("| iid_2 | dense | 60 |  |  |\n"), "{page}");
        assert!(table(&own_rows, &[], true).contains("left out"));
    }
}
