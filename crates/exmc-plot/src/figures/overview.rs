//! The health of all parameters at once, however many there are.

use exmc_diagnose::Summary;

use crate::figure::{Axis, Figure, Mark, Panel, Style};
use crate::statistics::histogram;

/// Histograms of R-hat, bulk and tail effective sample size over all parameters, with the limits
/// that warnings go by: R-hat 1.01, and 100 effective draws a chain.
pub fn overview_plot(summaries: &[(String, Summary)], n_chains: usize) -> Figure {
    let least = 100.0 * n_chains as f64;
    let worst = summaries.iter().filter(|(_, s)| s.rhat.is_finite());
    let worst = worst.max_by(|a, b| a.1.rhat.total_cmp(&b.1.rhat));
    let mut figure = Figure::new(
        "All parameters",
        format!(
            "Histograms over {} parameters of R-hat and of bulk and tail effective sample size. \
             Dashed: the limits that warnings go by.",
            summaries.len()
        ),
    );
    figure.panel_height = 130.0;
    let values_of = |value: fn(&Summary) -> f64| {
        let mut values: Vec<f64> =
            summaries.iter().map(|(_, s)| value(s)).filter(|x| x.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let panels: [(&str, Vec<f64>, f64); 3] = [
        ("R-hat", values_of(|s| s.rhat), 1.01),
        ("bulk ESS", values_of(|s| s.ess_bulk), least),
        ("tail ESS", values_of(|s| s.ess_tail), least),
    ];
    for (name, values, limit) in panels {
        let y = if name == "R-hat" { "parameters" } else { "" };
        let mut panel = Panel::new(name, Axis::new(""), Axis::new(y));
        let found = histogram(&values, 30);
        let heights = found.counts.iter().map(|n| *n as f64).collect();
        let style = Style::series(0).opacity(0.6);
        if let (Some(low), Some(high)) = (values.first(), values.last()) {
            let (low, high) = (low.min(limit), high.max(limit));
            let room = 0.05 * (high - low).max(1e-3);
            panel.x = panel.x.between(low - room, high + room);
        }
        panel.marks.push(Mark::Bars { edges: found.edges, heights, filled: true, style });
        let style = Style::foreground().dashed(1);
        panel.marks.push(Mark::Rule { vertical: true, value: limit, style });
        figure.panels.push(panel);
    }
    if let Some((name, summary)) = worst {
        let rhat = crate::decimal::short(summary.rhat, 4);
        figure.notes.push(format!("Largest R-hat: {rhat}, of `{name}`."));
    }
    let constant = summaries.iter().filter(|(_, s)| !s.rhat.is_finite()).count();
    if constant > 0 {
        figure.notes.push(format!("{constant} parameters are constant or too short and left out."));
    }
    figure.in_columns(3)
}
