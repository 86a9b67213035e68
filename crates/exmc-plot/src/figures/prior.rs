//! What the data taught: prior and posterior of each parameter in one panel.

use super::names_of;
use super::shape::Shape;
use crate::figure::{Axis, Figure, Key, Panel, Style};
use crate::parameter::{Parameter, PlotError};

/// Densities of prior and posterior draws; the range is the posterior's and as much of the prior as
/// is within four of its widths. Heights are densities, so that areas compare.
///
/// # Errors
/// A parameter without prior draws.
pub fn prior_posterior_plot(
    posterior: &[Parameter],
    prior: &[Parameter],
) -> Result<Figure, PlotError> {
    let mut figure = Figure::new(
        "Prior and posterior",
        format!("Densities of {} before and after the data.", names_of(posterior)),
    );
    figure.panel_height = 130.0;
    let (before, after) = (Style::muted().dashed(1), Style::series(0));
    figure.explain("prior", Key::Line, before);
    figure.explain("posterior", Key::Line, after);
    for parameter in posterior {
        let Some(prior_parameter) = prior.iter().find(|p| p.name() == parameter.name()) else {
            return Err(PlotError::new(format!(
                "there are no prior draws of `{}`",
                parameter.name()
            )));
        };
        let (sorted, of_prior) = (parameter.sorted(), prior_parameter.sorted());
        let mut panel = Panel::new(parameter.name(), Axis::new(""), Axis::new("").unmarked());
        let (mut shown, mut share) = (of_prior.as_slice(), 1.0);
        if let (Some(low), Some(high)) = (sorted.first(), sorted.last()) {
            let room = 2.0 * (high - low);
            let prior_low = of_prior.first().map_or(*low, |x| x.max(low - room));
            let prior_high = of_prior.last().map_or(*high, |x| x.min(high + room));
            let (low, high) = (low.min(prior_low), high.max(prior_high));
            if low < high {
                panel.x = panel.x.between(low, high);
                // A grid over tails that are not shown would be too coarse for what is.
                let first = of_prior.partition_point(|x| *x < low);
                let last = of_prior.partition_point(|x| *x <= high);
                shown = &of_prior[first..last];
                share = shown.len() as f64 / of_prior.len().max(1) as f64;
            }
            let shape = Shape::of(&sorted);
            panel.marks.extend(shape.area(sorted[0], sorted[sorted.len() - 1], after.opacity(0.2)));
            panel.marks.extend(shape.mark(after, 1.0));
        }
        panel.marks.extend(Shape::of(shown).mark(before, share));
        figure.panels.push(panel);
    }
    Ok(figure.in_columns(3))
}
