//! The marginal distribution of each parameter, with an interval.

use exmc_diagnose::quantile_of_sorted;

use super::shape::Shape;
use super::{names_of, percent};
use crate::decimal::short;
use crate::figure::{Anchor, Axis, Figure, Mark, Marker, Panel, Style};
use crate::parameter::Parameter;
use crate::statistics::Interval;

/// A density (bars for whole numbers) of all draws of each parameter; the area of the interval is
/// shaded, its ends and the median are written below.
pub fn posterior_plot(parameters: &[Parameter], kind: Interval, probability: f64) -> Figure {
    let mut figure = Figure::new(
        "Posterior",
        format!(
            "Marginal density of {} with median and {} {} interval.",
            names_of(parameters),
            percent(probability),
            kind.name()
        ),
    );
    figure.panel_height = 130.0;
    for parameter in parameters {
        let sorted = parameter.sorted();
        let mut panel = Panel::new(parameter.name(), Axis::new(""), Axis::new("").unmarked());
        if sorted.is_empty() {
            let position = (0.5, 0.5);
            panel.marks.push(Mark::Text {
                position,
                text: "no finite draws".into(),
                anchor: Anchor::Middle,
            });
            figure.panels.push(panel);
            continue;
        }
        let shape = Shape::of(&sorted);
        let (low, high) = kind.of(&sorted, probability);
        let peak = shape.peak();
        panel.y = panel.y.between(-0.3 * peak, 1.08 * peak);
        panel.marks.extend(shape.area(low, high, Style::series(0).opacity(0.25)));
        panel.marks.extend(shape.mark(Style::series(0), 1.0));
        let (y, median) = (-0.08 * peak, quantile_of_sorted(&sorted, 0.5));
        let line = Style::foreground().width(3.2);
        panel.marks.push(Mark::Segments { segments: vec![[low, y, high, y]], style: line });
        panel.marks.push(Mark::Points {
            points: vec![(median, y)],
            marker: Marker::Dot,
            style: Style::foreground().width(4.0),
        });
        let [low_text, median_text, high_text] =
            [low, median, high].map(|x| with_decimals(x, high - low));
        let middle = 0.5 * (sorted[0] + sorted[sorted.len() - 1]);
        let text = format!("{median_text} [{low_text}, {high_text}]");
        panel.marks.push(Mark::Text {
            position: (middle, -0.22 * peak),
            text,
            anchor: Anchor::Middle,
        });
        figure.panels.push(panel);
        let left_out = parameter.chains().iter().flatten().count() - sorted.len();
        if left_out > 0 {
            figure.notes.push(format!(
                "`{}`: {left_out} draws are not finite and left out.",
                parameter.name()
            ));
        }
    }
    figure.notes.push(format!(
        "Below: median [{} {} interval].",
        percent(probability),
        kind.name()
    ));
    figure.in_columns(3)
}

/// A number with so many decimals that the length of its interval has three digits.
fn with_decimals(x: f64, length: f64) -> String {
    if !(1e-9..1e6).contains(&length) {
        return short(x, 4);
    }
    let decimals = (2.0 - exmc_math::log10(length).floor()).max(0.0);
    let text = format!("{x:.*}", decimals as usize);
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}
