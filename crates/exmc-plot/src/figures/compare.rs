//! Models by expected log predictive density.

use crate::figure::{Axis, Figure, Key, Mark, Marker, Panel, Style};
use crate::parameter::PlotError;

/// What a comparison says of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedModel {
    /// Its name.
    pub name: String,
    /// Expected log predictive density, in nats.
    pub elpd: f64,
    /// Standard error of it.
    pub elpd_se: f64,
    /// Difference to the best model: 0 or negative.
    pub difference: f64,
    /// Standard error of the difference.
    pub difference_se: f64,
}

/// Each model's expected log predictive density with one standard error, and how far it is below
/// the best model's, with the standard error of that difference; in the order given.
///
/// # Errors
/// No models.
pub fn compare_plot(models: &[ComparedModel]) -> Result<Figure, PlotError> {
    if models.is_empty() {
        return Err(PlotError::new("there are no models to compare"));
    }
    let mut figure = Figure::new(
        "Model comparison",
        format!(
            "Expected log predictive density of {} models and the difference to the best, with one \
             standard error each. Larger is better.",
            models.len()
        ),
    );
    let names: Vec<String> = models.iter().map(|m| m.name.clone()).collect();
    figure.panel_height = (models.len() * 30) as f64 + 12.0;
    let mut panel = Panel::new("", Axis::new("elpd (nats)"), Axis::categories("", &names, true));
    let best = models.iter().map(|m| m.elpd).fold(f64::NEG_INFINITY, f64::max);
    panel.marks.push(Mark::Rule { vertical: true, value: best, style: Style::muted().dashed(1) });
    let estimates: Vec<(f64, f64)> =
        models.iter().enumerate().map(|(k, m)| (m.elpd, k as f64 - 0.14)).collect();
    let bars = |points: &[(f64, f64)], se: &dyn Fn(usize) -> f64| -> Vec<[f64; 4]> {
        points.iter().enumerate().map(|(k, (x, y))| [x - se(k), *y, x + se(k), *y]).collect()
    };
    let segments = bars(&estimates, &|k| models[k].elpd_se);
    panel.marks.push(Mark::Segments { segments, style: Style::series(0).solid() });
    panel.marks.push(Mark::Points {
        points: estimates,
        marker: Marker::Dot,
        style: Style::series(0).width(3.5),
    });
    let below: Vec<(f64, f64)> =
        models.iter().enumerate().map(|(k, m)| (best + m.difference, k as f64 + 0.18)).collect();
    let segments = bars(&below, &|k| models[k].difference_se);
    panel.marks.push(Mark::Segments { segments, style: Style::series(1).solid() });
    panel.marks.push(Mark::Points {
        points: below,
        marker: Marker::Triangle,
        style: Style::series(1).width(3.8),
    });
    figure.explain("elpd ± standard error", Key::Point(Marker::Dot), Style::series(0).width(3.5));
    figure.explain(
        "difference to the best ± its standard error",
        Key::Point(Marker::Triangle),
        Style::series(1).width(3.8),
    );
    figure.panels.push(panel);
    Ok(figure)
}
