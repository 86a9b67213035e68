//! Every pair of some parameters as a cloud of points, with the divergent transitions on top.

use exmc_fault::{Fault, planted};

use super::names_of;
use super::shape::Shape;
use super::spread;
use crate::figure::{Axis, Figure, Key, Mark, Marker, Panel, Style};
use crate::parameter::{Parameter, PlotError};

/// Most parameters of one figure.
const MOST: usize = 8;
/// Most points of a cloud; divergent ones are all shown.
const POINTS: usize = 800;

/// A triangle of panels: clouds below the diagonal, marginal densities on it. `divergent` says of
/// each draw, chain after chain, whether its transition diverged; divergences that lie together
/// show where the sampler cannot go.
///
/// # Errors
/// Fewer than two or more than 8 parameters, or another number of flags than draws.
pub fn pair_plot(
    parameters: &[Parameter],
    divergent: Option<&[bool]>,
) -> Result<Figure, PlotError> {
    let n = parameters.len();
    if !(2..=MOST).contains(&n) {
        return Err(PlotError::new(format!("a pair plot is of 2 to {MOST} parameters, not {n}"))
            .hint("name the parameters, for example `mu tau`"));
    }
    let values: Vec<Vec<f64>> = parameters.iter().map(Parameter::pooled).collect();
    let total = values[0].len();
    let flags = divergent.map_or_else(|| vec![false; total], <[bool]>::to_vec);
    if values.iter().any(|v| v.len() != total) || flags.len() != total {
        return Err(PlotError::new("the parameters and divergences are not of the same draws"));
    }
    let flags: Vec<bool> = flags.iter().map(|is| *is && !planted(Fault::LostDivergences)).collect();
    let diverged = flags.iter().filter(|is| **is).count();
    let mut figure = Figure::new(
        "Pairs",
        format!(
            "Draws of {} in pairs, {diverged} divergent transitions among them marked by crosses.",
            names_of(parameters)
        ),
    );
    figure.columns = vec![1.0; n];
    figure.panel_height = (560.0 / n as f64).clamp(70.0, 200.0);
    let cross = Style::series(1).width(3.2);
    if diverged > 0 {
        let label = format!("divergent ({diverged})");
        figure.explain(label, Key::Point(Marker::Cross), cross);
    }
    let quiet: Vec<usize> = (0..total).filter(|t| !flags[*t]).collect();
    let shown: Vec<usize> = spread(quiet.len(), POINTS).map(|k| quiet[k]).collect();
    for row in 0..n {
        for column in 0..n {
            let name = |k: usize, is: bool| if is { parameters[k].name() } else { "" };
            let x = Axis::new(name(column, row + 1 == n));
            let y = Axis::new(name(row, column == 0));
            let mut panel = Panel::new("", x, y);
            if row == column {
                panel.y = Axis::new(name(row, column == 0)).unmarked();
                panel
                    .marks
                    .extend(Shape::of(&parameters[row].sorted()).mark(Style::series(0), 1.0));
            } else if row > column {
                let point_of = |t: &usize| (values[column][*t], values[row][*t]);
                let points = shown.iter().map(point_of).collect();
                let style = Style::series(0).width(1.4).opacity(0.45);
                panel.marks.push(Mark::Points { points, marker: Marker::Dot, style });
                let points: Vec<_> =
                    (0..total).filter(|t| flags[*t]).map(|t| point_of(&t)).collect();
                if !points.is_empty() {
                    panel.marks.push(Mark::Points { points, marker: Marker::Cross, style: cross });
                }
            }
            figure.panels.push(panel);
        }
    }
    if quiet.len() > POINTS {
        figure
            .notes
            .push(format!("{POINTS} of {} ordinary draws are shown, evenly spread.", quiet.len()));
    }
    Ok(figure)
}
