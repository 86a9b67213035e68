//! How much draws of a chain resemble those before them.

use exmc_diagnose::autocorrelation;

use super::{explain_chains, names_of};
use crate::figure::{Axis, Figure, Mark, Panel, Style};
use crate::parameter::Parameter;

/// The autocorrelation of each chain up to `most` lags, and the band of ±1.96/√n that independent
/// draws keep to at each lag with probability 95 %.
pub fn autocorrelation_plot(parameters: &[Parameter], most: usize) -> Figure {
    let mut figure = Figure::new(
        "Autocorrelation",
        format!(
            "Autocorrelation of each chain of {} by lag. The faster it falls to the grey band, the \
             more the draws are worth.",
            names_of(parameters)
        ),
    );
    figure.panel_height = 130.0;
    explain_chains(&mut figure, parameters.first().map_or(0, |p| p.chains().len()));
    for parameter in parameters {
        let n = parameter.chains()[0].len();
        let lags = most.min(n.saturating_sub(1)).max(1);
        let mut panel =
            Panel::new(parameter.name(), Axis::new("lag").between(0.0, lags as f64), Axis::new(""));
        let limit = 1.96 / (n as f64).sqrt();
        panel.marks.push(Mark::Band {
            x: vec![0.0, lags as f64],
            lower: vec![-limit; 2],
            upper: vec![limit; 2],
            style: Style::muted().opacity(0.25),
        });
        for (c, chain) in parameter.chains().iter().enumerate() {
            let points = autocorrelation(chain).into_iter().take(lags + 1).enumerate();
            let points = points.map(|(lag, r)| (lag as f64, r)).collect();
            panel.marks.push(Mark::Line { points, style: Style::series(c) });
        }
        figure.panels.push(panel);
    }
    figure.notes.push("Grey: where 95 % of independent draws' would lie at each lag.".to_owned());
    figure.in_columns(3)
}
