//! Whether the true values' ranks are uniform, quantity by quantity.

use exmc_diagnose::EcdfDifference;

use super::percent;
use crate::figure::{Axis, Figure, Key, Mark, Panel, Style};

/// Most panels of one figure.
const MOST: usize = 24;

/// For each quantity the empirical distribution of the true values' ranks minus the uniform one,
/// and the band that all of them keep to with probability `1 - alpha`. Those that leave it come
/// first.
pub fn sbc_plot(quantities: &[(String, EcdfDifference)], alpha: f64) -> Figure {
    let mut figure = Figure::new(
        "Simulation-based calibration",
        format!(
            "Ranks of true values among posterior draws: their empirical distribution minus the \
             uniform one. Lines of calibrated fits stay in the shaded bands with probability {}. \
             Up, then down: posteriors are too narrow; down, then up: too wide; above: too high; \
             below: too low.",
            percent(1.0 - alpha)
        ),
    );
    figure.panel_height = 150.0;
    let band = Style::muted().opacity(0.25);
    figure.explain(format!("{} simultaneous band", percent(1.0 - alpha)), Key::Patch, band);
    figure.explain("ranks", Key::Line, Style::series(0));
    let mut order: Vec<&(String, EcdfDifference)> = quantities.iter().collect();
    order.sort_by_key(|(_, ecdf)| !ecdf.crosses);
    for (name, ecdf) in order.iter().take(MOST) {
        let title = if ecdf.crosses { format!("{name} (leaves)") } else { name.clone() };
        let mut panel = Panel::new(
            title,
            Axis::new("rank (share)").between(0.0, 1.0),
            Axis::new("ECDF difference"),
        );
        let closed = |values: &[f64]| {
            std::iter::once(0.0).chain(values.iter().copied()).chain([0.0]).collect::<Vec<_>>()
        };
        let x: Vec<f64> =
            std::iter::once(0.0).chain(ecdf.at.iter().copied()).chain([1.0]).collect();
        let points = x.iter().copied().zip(closed(&ecdf.difference)).collect();
        let (lower, upper) = (closed(&ecdf.lower), closed(&ecdf.upper));
        panel.marks.push(Mark::Band { x, lower, upper, style: band });
        panel.marks.push(Mark::Rule {
            vertical: false,
            value: 0.0,
            style: Style::muted().width(1.0),
        });
        panel.marks.push(Mark::Line { points, style: Style::series(0) });
        figure.panels.push(panel);
    }
    if order.len() > MOST {
        figure.notes.push(format!("{MOST} of {} quantities are shown.", order.len()));
    }
    figure.in_columns(3)
}
