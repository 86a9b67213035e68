//! A figure -> a text of what it holds, for tests and for who cannot see it.

use std::fmt::Write;

use crate::axis::{Span, spans};
use crate::decimal::short;
use crate::figure::{Axis, Figure, Ink, Mark, Scale, Style, TickPlaces};

/// Most numbers of a list that are all written out.
const ALL: usize = 8;

/// Panels, axes and marks in words and numbers, rounded to five digits.
pub fn describe(figure: &Figure) -> String {
    let mut text = format!("figure: {}\n{}\n", figure.title, figure.description);
    for entry in &figure.legend {
        let _ = writeln!(text, "legend: {} = {:?} {}", entry.label, entry.key, style(entry.style));
    }
    for panel in &figure.panels {
        if panel.marks.is_empty() {
            text.push_str("empty place\n");
            continue;
        }
        let (x, y) = spans(panel);
        let _ = writeln!(text, "panel: {}", panel.title);
        let _ = writeln!(text, "  x {}\n  y {}", axis(&panel.x, &x), axis(&panel.y, &y));
        for mark in &panel.marks {
            let _ = writeln!(text, "  {}", describe_mark(mark));
        }
    }
    for note in &figure.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn axis(axis: &Axis, span: &Span) -> String {
    let scale = if axis.scale == Scale::Log { " log" } else { "" };
    let turned = if axis.reversed { " reversed" } else { "" };
    let ends = format!(
        "\"{}\"{scale}{turned} {} to {}",
        axis.label,
        short(span.low, 5),
        short(span.high, 5)
    );
    match &axis.ticks {
        TickPlaces::Automatic => ends,
        TickPlaces::None => format!("{ends}, no ticks"),
        TickPlaces::At(places) => {
            let names: Vec<&str> = places.iter().take(ALL).map(|(_, name)| name.as_str()).collect();
            let more = if places.len() > ALL { ", ..." } else { "" };
            format!("{ends}: {}{more}", names.join(", "))
        }
    }
}

fn style(style: Style) -> String {
    let ink = match style.ink {
        Ink::Series(k) => format!("series {k}"),
        Ink::Foreground => "foreground".to_owned(),
        Ink::Muted => "muted".to_owned(),
    };
    let dash = if style.dash == 0 { String::new() } else { format!(" dash {}", style.dash) };
    format!("({ink}{dash}, width {}, opacity {})", style.width, style.opacity)
}

fn describe_mark(mark: &Mark) -> String {
    match mark {
        Mark::Line { points, style: s } => format!("line {} {}", style(*s), list_of_points(points)),
        Mark::Points { points, marker, style: s } => {
            format!("points {marker:?} {} {}", style(*s), list_of_points(points))
        }
        Mark::Band { x, lower, upper, style: s } => {
            format!("band {} x {} lower {} upper {}", style(*s), list(x), list(lower), list(upper))
        }
        Mark::Bars { edges, heights, filled, style: s } => {
            let kind = if *filled { "bars" } else { "outline" };
            format!("{kind} {} edges {} heights {}", style(*s), list(edges), list(heights))
        }
        Mark::Segments { segments, style: s } => {
            let from: Vec<(f64, f64)> = segments.iter().map(|s| (s[0], s[1])).collect();
            let to: Vec<(f64, f64)> = segments.iter().map(|s| (s[2], s[3])).collect();
            format!(
                "segments {} from {} to {}",
                style(*s),
                list_of_points(&from),
                list_of_points(&to)
            )
        }
        Mark::Rule { vertical, value, style: s } => {
            let axis = if *vertical { "x" } else { "y" };
            format!("rule {axis} = {} {}", short(*value, 5), style(*s))
        }
        Mark::Text { position, text, .. } => {
            format!("text \"{text}\" at ({}, {})", short(position.0, 5), short(position.1, 5))
        }
    }
}

/// All numbers, or how many there are with ends, range and mean.
fn list(values: &[f64]) -> String {
    let text = |x: &f64| short(*x, 5);
    if values.len() <= ALL {
        return format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(", "));
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    format!(
        "[{}, {} .. {}: {} numbers from {} to {}, mean {}]",
        text(&values[0]),
        text(&values[1]),
        text(&values[values.len() - 1]),
        values.len(),
        text(&low),
        text(&high),
        text(&mean)
    )
}

fn list_of_points(points: &[(f64, f64)]) -> String {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    format!("x {} y {}", list(&x), list(&y))
}
