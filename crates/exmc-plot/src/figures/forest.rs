//! Medians and intervals of many parameters, of one run or several.

use exmc_diagnose::quantile_of_sorted;

use super::percent;
use crate::figure::{Axis, Figure, Key, Mark, Marker, Panel, Style};
use crate::parameter::{Parameter, PlotError};
use crate::statistics::Interval;

/// Positive values that differ by more than this factor are on a logarithmic axis.
const DECADES: f64 = 1000.0;

/// A row a parameter: the median, a thick line over the `inner` interval and a thin one over the
/// `outer` one. Runs stand below each other within a row, each with its colour and marker; a
/// parameter that only some runs have is shown for those.
///
/// # Errors
/// No runs, or no parameters.
pub fn forest_plot(
    runs: &[(String, Vec<Parameter>)],
    kind: Interval,
    (inner, outer): (f64, f64),
) -> Result<Figure, PlotError> {
    let mut names: Vec<String> = Vec::new();
    for (_, parameters) in runs {
        for parameter in parameters {
            if !names.iter().any(|n| n == parameter.name()) {
                names.push(parameter.name().to_owned());
            }
        }
    }
    if names.is_empty() {
        return Err(PlotError::new("there are no parameters to show"));
    }
    let mut figure = Figure::new(
        "Forest",
        format!(
            "Median (marker), {} (thick) and {} (thin) {} interval of {} parameters.",
            percent(inner),
            percent(outer),
            kind.name(),
            names.len()
        ),
    );
    let n_runs = runs.len();
    let mut ends: Option<(f64, f64)> = None;
    figure.panel_height = (names.len() * (8 + 11 * n_runs)) as f64 + 8.0;
    let mut panel = Panel::new("", Axis::new("value"), Axis::categories("", &names, true));
    for (r, (label, parameters)) in runs.iter().enumerate() {
        let (mut thin, mut thick, mut medians) = (Vec::new(), Vec::new(), Vec::new());
        for parameter in parameters {
            let row = names.iter().position(|n| n == parameter.name());
            let row = row.expect("names are those of all runs") as f64;
            // The runs of a row share the middle three quarters of it.
            let y = row + 0.75 * ((r as f64 + 0.5) / n_runs as f64 - 0.5);
            let sorted = parameter.sorted();
            if sorted.is_empty() {
                continue;
            }
            let (low, high) = kind.of(&sorted, outer);
            thin.push([low, y, high, y]);
            let (least, most) = ends.unwrap_or((low, high));
            ends = Some((least.min(low), most.max(high)));
            let (low, high) = kind.of(&sorted, inner);
            thick.push([low, y, high, y]);
            medians.push((quantile_of_sorted(&sorted, 0.5), y));
        }
        let style = Style::series(r).solid();
        panel.marks.push(Mark::Segments { segments: thin, style: style.width(1.3) });
        panel.marks.push(Mark::Segments { segments: thick, style: style.width(4.0) });
        let marker = Marker::of_series(r);
        let dot = if n_runs == 1 { Style::foreground().width(3.0) } else { style.width(3.6) };
        panel.marks.push(Mark::Points { points: medians, marker, style: dot });
        if n_runs > 1 {
            figure.explain(label, Key::Point(marker), style.width(4.0));
        }
    }
    if ends.is_some_and(|(low, high)| low > 0.0 && high > DECADES * low) {
        panel.x = panel.x.log();
    }
    figure.notes.push(format!(
        "Marker: median; thick line: {}, thin line: {} {} interval.",
        percent(inner),
        percent(outer),
        kind.name()
    ));
    figure.panels.push(panel);
    Ok(figure)
}

/// The same of an array too long for names: medians as a line over the elements' numbers, with
/// bands for the intervals. One panel a variable.
pub fn forest_by_index_plot(
    variables: &[(String, Vec<Parameter>)],
    kind: Interval,
    (inner, outer): (f64, f64),
) -> Figure {
    let mut figure = Figure::new(
        "Forest by element",
        format!(
            "For each element of {} arrays: median (line), {} (dark) and {} (light) {} interval.",
            variables.len(),
            percent(inner),
            percent(outer),
            kind.name()
        ),
    );
    figure.panel_height = 150.0;
    let (light, dark) = (Style::series(0).opacity(0.2), Style::series(0).opacity(0.4));
    figure.explain("median", Key::Line, Style::foreground());
    figure.explain(format!("{} interval", percent(inner)), Key::Patch, dark);
    figure.explain(format!("{} interval", percent(outer)), Key::Patch, light);
    for (name, elements) in variables {
        let mut panel = Panel::new(name, Axis::new("element"), Axis::new("value"));
        let sorted: Vec<Vec<f64>> = elements.iter().map(Parameter::sorted).collect();
        let x: Vec<f64> = (0..sorted.len()).map(|k| (k + 1) as f64).collect();
        for (probability, style) in [(outer, light), (inner, dark)] {
            let ends = sorted.iter().map(|s| kind.of(s, probability));
            let (lower, upper): (Vec<f64>, Vec<f64>) = ends.unzip();
            panel.marks.push(Mark::Band { x: x.clone(), lower, upper, style });
        }
        let median =
            |s: &Vec<f64>| if s.is_empty() { f64::NAN } else { quantile_of_sorted(s, 0.5) };
        let points = x.iter().copied().zip(sorted.iter().map(median)).collect();
        panel.marks.push(Mark::Line { points, style: Style::foreground().width(1.2) });
        figure.panels.push(panel);
    }
    figure
}
