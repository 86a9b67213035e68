//! Observations against replications where values are counts, or 0 and 1.

use exmc_diagnose::quantile_of_sorted;

use super::percent;
use super::predictive::Predictive;
use crate::figure::{Axis, Figure, Key, Mark, Marker, Panel, Style};
use crate::parameter::PlotError;
use crate::statistics::{count_table, isotonic};

/// Most different counts that are told apart.
const MOST: f64 = 400.0;

/// How often each count occurs: observed (points) against the median and the pointwise interval
/// over replications, on the scale of square roots, where all frequencies vary alike.
///
/// **Reference**: Säilynoja et al. 2025, arXiv:2503.01509, section 4 (discrete rootograms);
/// Kleiber, Zeileis 2016, *The American Statistician* 70.
///
/// # Errors
/// Values that are not whole numbers, or more than 400 different ones.
pub fn rootogram_plot(check: &Predictive, probability: f64) -> Result<Figure, PlotError> {
    if !check.is_whole() {
        return Err(PlotError::new(
            "a rootogram is of counts, and some values are no whole numbers",
        )
        .hint("a density or an ECDF shows continuous outcomes"));
    }
    let mut figure = Figure::new(
        "Rootogram",
        format!(
            "Square roots of how often each count occurs: observed, and median and {} interval over \
             replications; {}.",
            percent(probability),
            check.describe()
        ),
    );
    let (band, line) = (Style::series(0).opacity(0.3), Style::series(0).width(1.2));
    let dots = Style::foreground().width(2.6);
    figure.explain("observed", Key::Point(Marker::Dot), dots);
    figure.explain("median of replications", Key::Line, line);
    figure.explain(
        format!("{} of replications, pointwise", percent(probability)),
        Key::Patch,
        band,
    );
    for (name, group) in check.groups() {
        let all = || group.replications().iter().flatten().chain(group.observed());
        let low = all().copied().fold(f64::INFINITY, f64::min);
        let high = all().copied().fold(f64::NEG_INFINITY, f64::max);
        if high - low >= MOST {
            return Err(PlotError::new(format!(
                "counts range from {low} to {high}, too far for a rootogram"
            ))
            .hint("an ECDF shows them"));
        }
        let table = |values: &[f64]| count_table(values, low as i64, high as i64);
        let observed = table(group.observed());
        let replicated: Vec<Vec<usize>> = group.replications().iter().map(|r| table(r)).collect();
        let tail = 0.5 * (1.0 - probability);
        let (mut lower, mut median, mut upper) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..observed.len() {
            let mut roots: Vec<f64> = replicated.iter().map(|t| (t[k] as f64).sqrt()).collect();
            roots.sort_by(f64::total_cmp);
            lower.push(quantile_of_sorted(&roots, tail));
            median.push(quantile_of_sorted(&roots, 0.5));
            upper.push(quantile_of_sorted(&roots, 1.0 - tail));
        }
        let x: Vec<f64> = (0..observed.len()).map(|k| low + k as f64).collect();
        let mut panel =
            Panel::new(name, Axis::new("count").whole_numbers(low, high), Axis::new("√ frequency"));
        panel.marks.push(Mark::Band { x: x.clone(), lower, upper, style: band });
        panel
            .marks
            .push(Mark::Line { points: x.iter().copied().zip(median).collect(), style: line });
        let roots = observed.iter().map(|n| (*n as f64).sqrt());
        panel.marks.push(Mark::Points {
            points: x.into_iter().zip(roots).collect(),
            marker: Marker::Dot,
            style: dots,
        });
        figure.panels.push(panel);
    }
    Ok(figure.in_columns(2))
}

/// Whether events happen as often as predicted: observed frequencies, smoothed to be
/// non-decreasing ([`isotonic`]), by predicted probability, with the histogram of predictions. A
/// curve on the diagonal is calibrated.
///
/// **Shapes**: `probability[i]` predicts whether `outcome[i]` is 1. **Reference**: Dimitriadis,
/// Gneiting, Jordan 2021, *PNAS* 118.
///
/// # Errors
/// Outcomes other than 0 and 1, probabilities outside [0, 1], or other numbers of them.
pub fn calibration_plot(probability: &[f64], outcome: &[f64]) -> Result<Figure, PlotError> {
    if probability.len() != outcome.len() || outcome.is_empty() {
        let (p, o) = (probability.len(), outcome.len());
        return Err(PlotError::new(format!("there are {p} probabilities for {o} outcomes")));
    }
    if outcome.iter().any(|y| *y != 0.0 && *y != 1.0) {
        return Err(PlotError::new("a calibration plot is of outcomes 0 and 1"));
    }
    if probability.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return Err(PlotError::new("a predicted probability is outside of 0 to 1"));
    }
    let mut pairs: Vec<(f64, f64)> =
        probability.iter().copied().zip(outcome.iter().copied()).collect();
    // Equal predictions are one: their outcomes' mean stands for each.
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let means = pairs.chunk_by(|a, b| a.0 == b.0).flat_map(|equal| {
        let mean = equal.iter().map(|p| p.1).sum::<f64>() / equal.len() as f64;
        std::iter::repeat_n(mean, equal.len())
    });
    let calibrated = isotonic(&means.collect::<Vec<_>>());
    let points: Vec<(f64, f64)> = pairs.iter().map(|p| p.0).zip(calibrated).collect();
    let mut figure = Figure::new(
        "Calibration",
        format!(
            "Observed frequency of the event by predicted probability, of {} outcomes; a calibrated \
             model is on the diagonal.",
            outcome.len()
        ),
    );
    figure.panel_height = 280.0;
    let bars = Style::muted().opacity(0.35);
    figure.explain("calibration curve", Key::Line, Style::series(0).width(2.0));
    figure.explain("perfect calibration", Key::Line, Style::foreground().dashed(1).width(1.0));
    figure.explain("predictions (height: share of the largest bin)", Key::Patch, bars);
    let mut panel = Panel::new(
        "",
        Axis::new("predicted probability").between(0.0, 1.0),
        Axis::new("observed frequency").between(0.0, 1.0),
    );
    let edges: Vec<f64> = (0..=20).map(|k| f64::from(k) / 20.0).collect();
    let mut counts = [0_usize; 20];
    for p in probability {
        counts[((p * 20.0) as usize).min(19)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let heights = counts.iter().map(|n| 0.15 * *n as f64 / most).collect();
    panel.marks.push(Mark::Bars { edges, heights, filled: true, style: bars });
    panel.marks.push(Mark::Line {
        points: vec![(0.0, 0.0), (1.0, 1.0)],
        style: Style::foreground().dashed(1).width(1.0),
    });
    panel.marks.push(Mark::Line { points, style: Style::series(0).solid().width(2.0) });
    figure.panels.push(panel);
    Ok(figure)
}
