//! Which observations importance sampling cannot leave out.

use crate::decimal::short;
use crate::figure::{Axis, Figure, Key, Mark, Marker, Panel, Style};

/// The Pareto shape k of each observation, in order, with the limits of reliability: `limit` (0.7
/// for 2200 draws and more) and 1. Worse ones are larger and have another marker.
///
/// **Reference**: Vehtari et al. 2024, *JMLR* 25 (Pareto smoothed importance sampling).
pub fn pareto_k_plot(k: &[f64], limit: f64) -> Figure {
    let bad = k.iter().filter(|x| **x > limit || x.is_nan()).count();
    let mut figure = Figure::new(
        "Pareto k",
        format!(
            "Pareto shape of {} observations; {bad} are above {}, where leaving them out by \
             importance sampling is unreliable.",
            k.len(),
            short(limit, 2)
        ),
    );
    let axis = Axis::new("observation").whole_numbers(1.0, k.len() as f64);
    let mut panel = Panel::new("", axis, Axis::new("Pareto k"));
    for value in [limit, 1.0] {
        panel.marks.push(Mark::Rule { vertical: false, value, style: Style::muted().dashed(1) });
    }
    type Kind = (&'static str, Marker, Style, fn(f64, f64) -> bool);
    let groups: [Kind; 2] = [
        ("reliable", Marker::Dot, Style::series(0).width(2.2).opacity(0.7), |k, limit| k <= limit),
        ("unreliable", Marker::Cross, Style::series(1).width(4.0), |k, limit| {
            k > limit || k.is_nan()
        }),
    ];
    for (label, marker, style, is_of) in groups {
        let all = k.iter().enumerate().filter(|(_, x)| is_of(**x, limit));
        let points: Vec<(f64, f64)> = all.map(|(n, x)| ((n + 1) as f64, *x)).collect();
        if !points.is_empty() {
            figure.explain(format!("{label} ({})", points.len()), Key::Point(marker), style);
        }
        panel.marks.push(Mark::Points { points, marker, style });
    }
    let low = k.iter().copied().filter(|x| x.is_finite()).fold(0.0, f64::min);
    let high = k.iter().copied().filter(|x| x.is_finite()).fold(limit, f64::max);
    panel.y = panel.y.between(low - 0.05, high.max(1.0) + 0.08);
    figure.notes.push(format!(
        "Dashed lines: {}, above which an observation cannot be left out by weights, and 1.",
        short(limit, 2)
    ));
    let infinite = k.iter().filter(|x| !x.is_finite()).count();
    if infinite > 0 {
        figure.notes.push(format!("{infinite} observations have no finite k and are not shown."));
    }
    figure.panels.push(panel);
    figure
}
