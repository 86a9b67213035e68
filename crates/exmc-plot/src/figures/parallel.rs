//! Draws as lines across parameters, the divergent ones on top.

use exmc_fault::{Fault, planted};

use super::{names_of, spread};
use crate::figure::{Axis, Figure, Key, Mark, Panel, Style};
use crate::parameter::{Parameter, PlotError};

/// Most ordinary draws that are shown.
const LINES: usize = 200;

/// Each draw is a line through its standardised values (mean 0, standard deviation 1); divergent
/// transitions are on top. Where those meet, the sampler has trouble.
///
/// # Errors
/// Fewer than two parameters, or another number of flags than draws.
pub fn parallel_plot(parameters: &[Parameter], divergent: &[bool]) -> Result<Figure, PlotError> {
    if parameters.len() < 2 {
        return Err(PlotError::new("parallel coordinates are of two parameters or more"));
    }
    let values: Vec<Vec<f64>> = parameters.iter().map(|p| standardised(&p.pooled())).collect();
    let total = divergent.len();
    if values.iter().any(|v| v.len() != total) {
        return Err(PlotError::new("the parameters and divergences are not of the same draws"));
    }
    let flags: Vec<bool> =
        divergent.iter().map(|d| *d && !planted(Fault::LostDivergences)).collect();
    let diverged: Vec<usize> = (0..total).filter(|t| flags[*t]).collect();
    let quiet: Vec<usize> = (0..total).filter(|t| !flags[*t]).collect();
    let mut figure = Figure::new(
        "Parallel coordinates",
        format!(
            "Standardised draws of {} as lines; {} divergent transitions are on top.",
            names_of(parameters),
            diverged.len()
        ),
    );
    figure.panel_height = 260.0;
    let names: Vec<String> = parameters.iter().map(|p| p.name().to_owned()).collect();
    let x = if names.len() <= 30 {
        Axis::categories("", &names, false).between(-0.1, names.len() as f64 - 0.9)
    } else {
        Axis::new("number of the parameter")
    };
    let mut panel = Panel::new("", x, Axis::new("standard deviations from the mean"));
    let line = |t: usize| values.iter().enumerate().map(|(k, v)| (k as f64, v[t])).collect();
    let ordinary = Style::muted().width(0.6).opacity(0.35);
    for k in spread(quiet.len(), LINES) {
        panel.marks.push(Mark::Line { points: line(quiet[k]), style: ordinary });
    }
    let loud = Style::series(1).solid().width(1.1);
    for t in &diverged {
        panel.marks.push(Mark::Line { points: line(*t), style: loud });
    }
    figure.explain("draw", Key::Line, Style::muted());
    if !diverged.is_empty() {
        figure.explain(format!("divergent ({})", diverged.len()), Key::Line, loud);
    }
    if quiet.len() > LINES {
        figure
            .notes
            .push(format!("{LINES} of {} ordinary draws are shown, evenly spread.", quiet.len()));
    }
    figure.panels.push(panel);
    Ok(figure)
}

/// Values minus their mean, over their standard deviation; zeros for equal ones.
fn standardised(values: &[f64]) -> Vec<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let sd = variance.sqrt();
    values.iter().map(|x| if sd > 0.0 { (x - mean) / sd } else { 0.0 }).collect()
}
