//! Marks and texts -> elements of an SVG.
//!
//! Lines with far more points than pixels keep the extremes of each pixel column.

use std::fmt::Write;

use crate::decimal::pixels;
use crate::figure::{Anchor, Ink, Mark, Marker, Style};

const DASHES: [&str; 6] = ["", "7 3", "2 2.5", "9 3 2 3", "5 2 1.5 2 1.5 2", "1.5 5"];

/// A panel's frame in pixels.
pub(crate) struct Frame {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// The class of an ink: `l` for lines, `f` for areas.
fn class(kind: char, ink: Ink) -> String {
    match ink {
        Ink::Series(k) => format!("{kind}{}", k % 7),
        Ink::Foreground => format!("{kind}k"),
        Ink::Muted => format!("{kind}m"),
    }
}

/// Text for XML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no control characters.
            c if c < ' ' && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A line of text.
pub(crate) fn label(out: &mut String, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let (x, y, text) = (pixels(x), pixels(y), escaped(text));
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>");
}

/// One mark of a panel, clipped by the image that it is in.
pub(crate) fn draw_mark(
    out: &mut String,
    mark: &Mark,
    frame: &Frame,
    place: &impl Fn(f64, f64) -> Option<(f64, f64)>,
) {
    match mark {
        Mark::Line { points, style } => {
            let placed = points.iter().map(|(x, y)| place(*x, *y));
            let placed: Vec<Option<(f64, f64)>> = placed.collect();
            for part in placed.split(Option::is_none) {
                let part: Vec<(f64, f64)> = part.iter().flatten().copied().collect();
                path(out, &thinned(&part, frame.width), *style);
            }
        }
        Mark::Band { x, lower, upper, style } => {
            let up = x.iter().zip(upper);
            let down = x.iter().zip(lower).rev();
            let corners: Vec<_> = up.chain(down).filter_map(|(x, y)| place(*x, *y)).collect();
            area(out, &corners, *style);
        }
        Mark::Bars { edges, heights, filled, style } => {
            let mut outline = Vec::new();
            for (edge, height) in edges.windows(2).zip(heights) {
                let corners =
                    [(edge[0], 0.0), (edge[0], *height), (edge[1], *height), (edge[1], 0.0)];
                let corners: Vec<_> = corners.iter().filter_map(|(x, y)| place(*x, *y)).collect();
                if *filled && *height != 0.0 {
                    area(out, &corners, *style);
                }
                if !*filled && corners.len() == 4 {
                    outline.extend([corners[1], corners[2]]);
                }
            }
            path(out, &outline, *style);
        }
        Mark::Points { points, marker, style } => {
            let placed: Vec<_> = points.iter().filter_map(|(x, y)| place(*x, *y)).collect();
            markers(out, &placed, *marker, *style);
        }
        Mark::Segments { segments, style } => {
            let mut d = String::new();
            for [x1, y1, x2, y2] in segments {
                if let (Some(a), Some(b)) = (place(*x1, *y1), place(*x2, *y2)) {
                    let _ = write!(
                        d,
                        "M{} {}L{} {}",
                        pixels(a.0),
                        pixels(a.1),
                        pixels(b.0),
                        pixels(b.1)
                    );
                }
            }
            stroke(out, &d, *style);
        }
        Mark::Rule { vertical, value, style } => {
            // The other coordinate plays no part; half of all axes cannot show a 0.
            let d = if *vertical {
                place_on(place, *value, true)
                    .map(|x| format!("M{} 0V{}", pixels(x), pixels(frame.height)))
            } else {
                place_on(place, *value, false)
                    .map(|y| format!("M0 {}H{}", pixels(y), pixels(frame.width)))
            };
            stroke(out, &d.unwrap_or_default(), *style);
        }
        Mark::Text { position, text, anchor } => {
            if let Some((x, y)) = place(position.0, position.1) {
                label(out, "t", (x, y + 4.0), *anchor, text);
            }
        }
    }
}

/// One coordinate of a value, whatever the other axis can show.
fn place_on(
    place: &impl Fn(f64, f64) -> Option<(f64, f64)>,
    value: f64,
    vertical: bool,
) -> Option<f64> {
    [1.0, 0.0].into_iter().find_map(|other| {
        if vertical { place(value, other).map(|p| p.0) } else { place(other, value).map(|p| p.1) }
    })
}

/// A line with at most four points for each pixel column, in which it looks the same: the first,
/// the extremes and the last one of each.
fn thinned(points: &[(f64, f64)], width: f64) -> Vec<(f64, f64)> {
    let ascending = points.windows(2).all(|w| w[0].0 <= w[1].0);
    if !ascending || (points.len() as f64) < 3.0 * width {
        return points.to_vec();
    }
    let mut kept = Vec::new();
    for column in points.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let extreme = |better: fn(f64, f64) -> bool| {
            let best = |a: usize, b: usize| if better(column[b].1, column[a].1) { b } else { a };
            (0..column.len()).reduce(best).expect("a chunk has a point")
        };
        let mut places = [0, extreme(|a, b| a < b), extreme(|a, b| a > b), column.len() - 1];
        places.sort_unstable();
        let mut last = None;
        for place in places {
            if last != Some(place) {
                kept.push(column[place]);
            }
            last = Some(place);
        }
    }
    kept
}

pub(crate) fn path(out: &mut String, points: &[(f64, f64)], style: Style) {
    if points.len() >= 2 {
        stroke(out, &through(points), style);
    }
}

fn through(points: &[(f64, f64)]) -> String {
    let mut d = String::with_capacity(12 * points.len());
    for (k, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{} {}", if k == 0 { 'M' } else { 'L' }, pixels(*x), pixels(*y));
    }
    d
}

fn stroke(out: &mut String, d: &str, style: Style) {
    if d.is_empty() {
        return;
    }
    let (class, width) = (class('l', style.ink), pixels(style.width));
    let _ = write!(out, "<path class=\"{class}\" d=\"{d}\" stroke-width=\"{width}\"");
    let dash = DASHES[style.dash % DASHES.len()];
    if !dash.is_empty() {
        let _ = write!(out, " stroke-dasharray=\"{dash}\"");
    }
    if style.opacity < 1.0 {
        let _ = write!(out, " stroke-opacity=\"{}\"", style.opacity);
    }
    out.push_str(" stroke-linejoin=\"round\"/>\n");
}

pub(crate) fn area(out: &mut String, corners: &[(f64, f64)], style: Style) {
    if corners.len() >= 3 {
        let (class, d) = (class('f', style.ink), through(corners));
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"{d}Z\" fill-opacity=\"{}\"/>",
            style.opacity
        );
    }
}

/// All markers of a mark as one path.
pub(crate) fn markers(out: &mut String, points: &[(f64, f64)], marker: Marker, style: Style) {
    if points.is_empty() {
        return;
    }
    let r = style.width;
    let mut d = String::with_capacity(40 * points.len());
    for (x, y) in points {
        let (x, y) = (*x, *y);
        let p = pixels;
        let _ = match marker {
            Marker::Dot | Marker::Circle => {
                let (r, two) = (p(r), p(2.0 * r));
                write!(
                    d,
                    "M{} {}a{r} {r} 0 1 0 {two} 0a{r} {r} 0 1 0 -{two} 0Z",
                    p(x - style.width),
                    p(y)
                )
            }
            Marker::Plus => write!(
                d,
                "M{} {}h{}m{} {}v{}",
                p(x - r),
                p(y),
                p(2.0 * r),
                p(-r),
                p(-r),
                p(2.0 * r)
            ),
            Marker::Cross => write!(
                d,
                "M{a} {b}l{s} {s}M{a} {c}l{s} -{s}",
                a = p(x - r),
                b = p(y - r),
                c = p(y + r),
                s = p(2.0 * r)
            ),
            Marker::Square => write!(d, "M{} {}h{s}v{s}h-{s}Z", p(x - r), p(y - r), s = p(2.0 * r)),
            Marker::Triangle => {
                write!(d, "M{} {}L{} {}H{}Z", p(x), p(y - r), p(x + r), p(y + r), p(x - r))
            }
            Marker::Tick => write!(d, "M{} {}v{}", p(x), p(y - r), p(2.0 * r)),
        };
    }
    match marker {
        Marker::Dot | Marker::Square | Marker::Triangle => {
            let class = class('f', style.ink);
            let _ = writeln!(
                out,
                "<path class=\"{class}\" d=\"{d}\" fill-opacity=\"{}\"/>",
                style.opacity
            );
        }
        _ => stroke(out, &d, Style { width: 1.4, dash: 0, ..style }),
    }
}
