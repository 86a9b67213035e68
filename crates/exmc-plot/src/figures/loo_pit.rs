//! Whether predictions of left-out observations are as uncertain as they should be.

use exmc_diagnose::gate::EcdfBand;

use super::percent;
use super::rank::band_mark;
use crate::figure::{Axis, Figure, Key, Mark, Panel, Style};
use crate::parameter::PlotError;

/// Ranks that probabilities are rounded to for the band.
const RANKS: u32 = 9999;

/// The empirical distribution of the leave-one-out probability integral transforms minus the
/// uniform one, with the band that uniform values leave with probability `alpha`. A slope upwards
/// then downwards: observations lie too often in the lower tail; S-shapes: predictions are too wide
/// or too narrow.
///
/// # Errors
/// No values, or a value outside [0, 1].
pub fn loo_pit_plot(pit: &[f64], alpha: f64) -> Result<Figure, PlotError> {
    if let Some(wrong) = pit.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(PlotError::new(format!(
            "a probability integral transform is {wrong}, outside of 0 to 1"
        )));
    }
    let band = EcdfBand::new(pit.len(), RANKS, alpha).map_err(|e| PlotError::new(e.to_string()))?;
    let mut sorted = pit.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mut figure = Figure::new(
        "LOO-PIT ECDF difference",
        format!(
            "Empirical distribution of {n} leave-one-out probability integral transforms minus the \
             uniform one; calibrated predictions stay in the band with probability {}.",
            percent(1.0 - alpha)
        ),
    );
    let style = Style::muted().opacity(0.25);
    figure.explain(format!("{} simultaneous band", percent(1.0 - alpha)), Key::Patch, style);
    let mut panel =
        Panel::new("", Axis::new("LOO-PIT").between(0.0, 1.0), Axis::new("ECDF difference"));
    let (places, limits): (Vec<usize>, Vec<(usize, usize)>) =
        band.limits().map(|(rank, low, high)| (rank as usize + 1, (low, high))).unzip();
    panel.marks.push(band_mark(&places, &limits, n, RANKS as usize + 1, style));
    panel.marks.push(Mark::Rule { vertical: false, value: 0.0, style: Style::muted().width(1.0) });
    let mut points = vec![(0.0, 0.0)];
    for (k, p) in sorted.iter().enumerate() {
        points.push((*p, k as f64 / n as f64 - p));
        points.push((*p, (k + 1) as f64 / n as f64 - p));
    }
    points.push((1.0, 0.0));
    panel.marks.push(Mark::Line { points, style: Style::series(0) });
    figure.panels.push(panel);
    Ok(figure)
}
