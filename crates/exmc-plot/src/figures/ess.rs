//! Effective sample size as draws add up, and of each quantile.

use exmc_diagnose::{Draws, ess_bulk, ess_quantile, ess_tail};

use super::names_of;
use crate::figure::{Axis, Figure, Key, Mark, Marker, Panel, Style};
use crate::parameter::Parameter;

/// What the line across the panels is.
const LEAST: &str = "Dashed line: 100 a chain, the least for reliable diagnostics.";
/// Parts of a run.
const PARTS: usize = 20;

/// Bulk and tail effective sample size of the first part of all chains, for 20 parts up to all
/// draws. It should rise in proportion; the dotted line is 100 a chain, below which R-hat and the
/// size itself are unreliable.
///
/// **Reference**: Vehtari et al. 2021, *Bayesian Analysis* 16, section 5.
pub fn ess_evolution_plot(parameters: &[Parameter]) -> Figure {
    let mut figure = Figure::new(
        "Evolution of the effective sample size",
        format!(
            "Bulk and tail effective sample size of {} over the first draws of all chains. Both \
             should rise in proportion to the number of draws.",
            names_of(parameters)
        ),
    );
    figure.panel_height = 150.0;
    type Kind = (&'static str, fn(&Draws) -> f64);
    let kinds: [Kind; 2] = [("bulk", ess_bulk), ("tail", ess_tail)];
    for (k, (name, _)) in kinds.iter().enumerate() {
        figure.explain(*name, Key::Line, Style::series(k));
    }
    for parameter in parameters {
        let mut panel =
            Panel::new(parameter.name(), Axis::new("draws of all chains"), Axis::new("ESS"));
        let (n, n_chains) = (parameter.chains()[0].len(), parameter.chains().len());
        panel.marks.push(minimum(n_chains));
        for (k, (_, estimator)) in kinds.iter().enumerate() {
            let mut points = Vec::new();
            for part in 1..=PARTS {
                let kept = n * part / PARTS;
                let chains: Vec<&[f64]> = parameter.chains().iter().map(|c| &c[..kept]).collect();
                let Ok(draws) = Draws::new(&chains) else { continue };
                let ess = estimator(&draws);
                if ess.is_finite() {
                    points.push(((kept * n_chains) as f64, ess));
                }
            }
            let marker = Marker::of_series(k);
            panel.marks.push(Mark::Line { points: points.clone(), style: Style::series(k) });
            panel.marks.push(Mark::Points { points, marker, style: Style::series(k).width(2.2) });
        }
        let top = highest(&panel, 100.0 * n_chains as f64);
        panel.x = panel.x.between(0.0, 1.02 * (n * n_chains) as f64);
        panel.y = panel.y.between(0.0, top);
        figure.panels.push(panel);
    }
    figure.notes.push(LEAST.to_owned());
    figure.in_columns(3)
}

/// Effective sample size of the estimates of the quantiles at 0.05, 0.1 and so on to 0.95.
///
/// **Reference**: Vehtari et al. 2021, section 4.3.
pub fn ess_quantile_plot(parameters: &[Parameter]) -> Figure {
    let mut figure = Figure::new(
        "Effective sample size by quantile",
        format!(
            "Effective sample size of each quantile of {}. Small values at the ends mean that the \
             chains rarely visit a tail.",
            names_of(parameters)
        ),
    );
    figure.panel_height = 150.0;
    for parameter in parameters {
        let mut panel =
            Panel::new(parameter.name(), Axis::new("quantile").between(0.0, 1.0), Axis::new("ESS"));
        let n_chains = parameter.chains().len();
        panel.marks.push(minimum(n_chains));
        let point_at =
            |k: usize| (k as f64 / 20.0, parameter.statistic(|d| ess_quantile(d, k as f64 / 20.0)));
        let points: Vec<(f64, f64)> =
            (1..20).map(point_at).filter(|(_, ess)| ess.is_finite()).collect();
        panel.marks.push(Mark::Line { points: points.clone(), style: Style::series(0) });
        let style = Style::series(0).width(2.5);
        panel.marks.push(Mark::Points { points, marker: Marker::Dot, style });
        let top = highest(&panel, 100.0 * n_chains as f64);
        panel.y = panel.y.between(0.0, top);
        figure.panels.push(panel);
    }
    figure.notes.push(LEAST.to_owned());
    figure.in_columns(3)
}

fn minimum(n_chains: usize) -> Mark {
    Mark::Rule { vertical: false, value: 100.0 * n_chains as f64, style: Style::muted().dashed(1) }
}

/// An upper end for an axis from 0 that shows the points and a line at `least`.
fn highest(panel: &Panel, least: f64) -> f64 {
    let points = panel.marks.iter().flat_map(|mark| match mark {
        Mark::Line { points, .. } => points.as_slice(),
        _ => &[],
    });
    1.08 * points.map(|p| p.1).fold(least, f64::max)
}
