//! A figure -> an SVG image: text of its own, accessible, light and dark, the same bytes each time.
//!
//! Dash patterns and markers repeat what colours say. Fonts are generic; sizes are chosen by
//! estimates of text widths.

use std::fmt::Write;

use crate::axis::{Span, spans};
use crate::decimal::pixels;
use crate::figure::{Anchor, Figure, Key, Panel};
use crate::palette::{Theme, style_sheet};
use crate::svg_marks::{Frame, area, draw_mark, escaped, label, markers, path};
use crate::text_width::{fitted, text_width, wrapped};
use crate::ticks::Tick;

/// How an SVG looks.
#[derive(Clone, Debug, PartialEq)]
pub struct SvgOptions {
    /// Width in pixels; the height follows.
    pub width: f64,
    /// Colours.
    pub theme: Theme,
    /// Beginning of the ids in it, which must differ between the images of a page.
    pub id: String,
    /// Whether it carries its style sheet; else the page that it is part of has
    /// [`style_sheet`].
    pub styled: bool,
}

impl Default for SvgOptions {
    fn default() -> Self {
        Self { width: 760.0, theme: Theme::Automatic, id: "exmc".to_owned(), styled: true }
    }
}

const SIZE: f64 = 12.0;
const SMALL: f64 = 11.0;
const LINE: f64 = 16.0;

/// The image of a figure.
pub fn svg(figure: &Figure, options: &SvgOptions) -> String {
    let width = options.width.max(160.0);
    let mut body = String::new();
    let mut top = 8.0;
    for line in wrapped(&figure.title, 15.0, width - 16.0) {
        top += 14.0;
        label(&mut body, "t h", (8.0, top), Anchor::Start, &line);
        top += 6.0;
    }
    top += legend(&mut body, figure, top, width);
    top += panels(&mut body, figure, top, width);
    for note in &figure.notes {
        for line in wrapped(note, SMALL, width - 16.0) {
            top += LINE - 1.0;
            label(&mut body, "n", (8.0, top), Anchor::Start, &line);
        }
    }
    let height = (top + 10.0).ceil();
    let id = &options.id;
    let style = match options.styled {
        true => format!("<style>\n{}</style>\n", style_sheet(options.theme)),
        false => String::new(),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"exmc-figure\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\">\n<title id=\"{id}-title\">{title}</title>\n\
         <desc id=\"{id}-desc\">{description}</desc>\n{style}\
         <rect class=\"b\" width=\"{w}\" height=\"{h}\"/>\n{body}</svg>\n",
        w = pixels(width),
        h = pixels(height),
        title = escaped(&figure.title),
        description = escaped(&figure.description),
    )
}

/// Draws the legend from `top` on; how high it is.
fn legend(out: &mut String, figure: &Figure, top: f64, width: f64) -> f64 {
    const SAMPLE: f64 = 26.0;
    if figure.legend.is_empty() {
        return 0.0;
    }
    let (mut x, mut y) = (8.0, top + 10.0);
    for entry in &figure.legend {
        let text = fitted(&entry.label, SMALL, width - SAMPLE - 24.0);
        let needed = SAMPLE + 6.0 + text_width(&text, SMALL) + 16.0;
        if x + needed > width && x > 8.0 {
            (x, y) = (8.0, y + LINE);
        }
        match entry.key {
            Key::Line => path(out, &[(x, y), (x + SAMPLE, y)], entry.style),
            Key::Patch => {
                let corners =
                    [(x, y - 5.0), (x + SAMPLE, y - 5.0), (x + SAMPLE, y + 5.0), (x, y + 5.0)];
                area(out, &corners, entry.style);
            }
            Key::Point(marker) => markers(out, &[(x + 0.5 * SAMPLE, y)], marker, entry.style),
        }
        label(out, "t", (x + SAMPLE + 6.0, y + 4.0), Anchor::Start, &text);
        x += needed;
    }
    y + 10.0 - top
}

/// Room around a panel's frame.
#[derive(Clone, Copy, Default)]
struct Margins {
    left: f64,
    right: f64,
    above: f64,
    below: f64,
}

fn margins(panel: &Panel, height: f64, width: f64) -> Margins {
    let (x, y) = spans(panel);
    let widest =
        |ticks: &[Tick]| ticks.iter().map(|t| text_width(&t.label, SMALL)).fold(0.0, f64::max);
    let left = widest(&y.ticks(&panel.y, most_y(height))).min(0.42 * width);
    let x_ticks = x.ticks(&panel.x, 4);
    // Half of the last label may stand out of the frame.
    let right = 0.5 * widest(&x_ticks);
    let if_any = |text: &str, size: f64| if text.is_empty() { 0.0 } else { size };
    Margins {
        left: left + 8.0 + if_any(&panel.y.label, 16.0),
        right: right.clamp(6.0, 30.0),
        above: 6.0 + if_any(&panel.title, LINE),
        below: 6.0 + if x_ticks.is_empty() { 0.0 } else { 14.0 } + if_any(&panel.x.label, LINE),
    }
}

fn most_y(height: f64) -> usize {
    (height / 34.0) as usize
}

/// Between columns of panels.
const GAP: f64 = 10.0;
/// A column is at least so wide, or there are fewer of them. Panels that stand in a grid, which
/// their places say something in, keep it.
const NARROWEST: f64 = 140.0;

/// The widths of the columns of panels.
fn column_widths(figure: &Figure, width: f64) -> Vec<f64> {
    let widths = |weights: &[f64]| -> Vec<f64> {
        let inner = width - 16.0 - GAP * (weights.len() - 1) as f64;
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| inner * w / total).collect()
    };
    let is_grid = figure.panels.iter().any(|panel| panel.marks.is_empty());
    let mut weights = if figure.columns.is_empty() { vec![1.0] } else { figure.columns.clone() };
    while !is_grid && weights.len() > 1 && widths(&weights).iter().any(|w| *w < NARROWEST) {
        // Fewer of the same, or one below the other where they differ.
        let is_even = weights.windows(2).all(|pair| pair[0] == pair[1]);
        weights.truncate(if is_even { weights.len() - 1 } else { 1 });
    }
    widths(&weights)
}

/// Draws all panels from `top` on; how high they are.
fn panels(out: &mut String, figure: &Figure, top: f64, width: f64) -> f64 {
    let widths = column_widths(figure, width);
    let columns = widths.len();
    let height = figure.panel_height;
    let room = |panel: &Panel, k: usize| match panel.marks.is_empty() {
        true => Margins::default(),
        false => margins(panel, height, widths[k % columns]),
    };
    let rooms: Vec<Margins> = figure.panels.iter().enumerate().map(|(k, p)| room(p, k)).collect();
    // Frames of a column begin and end at the same places.
    let most = |column: usize, margin_of: fn(&Margins) -> f64| {
        rooms.iter().skip(column).step_by(columns).map(margin_of).fold(0.0, f64::max)
    };
    let mut y = top;
    for (row, panels) in figure.panels.chunks(columns).enumerate() {
        let rooms = &rooms[row * columns..row * columns + panels.len()];
        let above = rooms.iter().map(|m| m.above).fold(0.0, f64::max);
        let below = rooms.iter().map(|m| m.below).fold(0.0, f64::max);
        let mut x = 8.0;
        for (k, panel) in panels.iter().enumerate() {
            if !panel.marks.is_empty() {
                let (left, right) = (most(k, |m| m.left), most(k, |m| m.right));
                let frame = Frame {
                    x: x + left,
                    y: y + above,
                    width: (widths[k] - left - right).max(20.0),
                    height,
                };
                draw_panel(out, panel, &frame, x);
            }
            x += widths[k] + GAP;
        }
        y += above + height + below;
    }
    y - top
}

fn draw_panel(out: &mut String, panel: &Panel, frame: &Frame, left: f64) {
    let (x, y) = spans(panel);
    let right = frame.x + frame.width;
    let bottom = frame.y + frame.height;
    if !panel.title.is_empty() {
        let title = fitted(&panel.title, 1.05 * SIZE, frame.width + frame.x - left);
        label(out, "t p", (frame.x, frame.y - 6.0), Anchor::Start, &title);
    }
    let is_inside = |place: Option<f64>| place.filter(|p| (-1e-6..=1.0 + 1e-6).contains(p));
    for tick in x_ticks(panel, &x, frame.width) {
        let Some(place) = is_inside(x.place(tick.value)) else { continue };
        let tick_x = frame.x + place * frame.width;
        let (a, y1, y2) = (pixels(tick_x), pixels(frame.y), pixels(bottom + 4.0));
        let _ = writeln!(out, "<path class=\"g\" d=\"M{a} {y1}V{y2}\"/>");
        label(out, "t", (tick_x, bottom + 15.0), Anchor::Middle, &tick.label);
    }
    let y_label = if panel.y.label.is_empty() { 0.0 } else { 16.0 };
    for tick in y.ticks(&panel.y, most_y(frame.height)) {
        let Some(place) = is_inside(y.place(tick.value)) else { continue };
        let tick_y = bottom - place * frame.height;
        let (a, x1, x2) = (pixels(tick_y), pixels(frame.x - 4.0), pixels(right));
        let _ = writeln!(out, "<path class=\"g\" d=\"M{x1} {a}H{x2}\"/>");
        let text = fitted(&tick.label, SMALL, frame.x - left - 6.0 - y_label);
        label(out, "t", (frame.x - 6.0, tick_y + 4.0), Anchor::End, &text);
    }
    if !panel.x.label.is_empty() {
        let below = if x.ticks(&panel.x, 4).is_empty() { 14.0 } else { 30.0 };
        let text = fitted(&panel.x.label, SMALL, frame.width + 40.0);
        label(out, "t", (frame.x + 0.5 * frame.width, bottom + below), Anchor::Middle, &text);
    }
    if !panel.y.label.is_empty() {
        let (cx, cy) = (pixels(left + 10.0), pixels(frame.y + 0.5 * frame.height));
        let text = escaped(&fitted(&panel.y.label, SMALL, frame.height + 20.0));
        let _ = writeln!(
            out,
            "<text class=\"t\" transform=\"translate({cx} {cy}) rotate(-90)\" \
             text-anchor=\"middle\">{text}</text>"
        );
    }
    let (fx, fy) = (pixels(frame.x), pixels(frame.y));
    let (fw, fh) = (pixels(frame.width), pixels(frame.height));
    // The inner image cuts off what lies outside of the axes.
    let _ = writeln!(
        out,
        "<svg x=\"{fx}\" y=\"{fy}\" width=\"{fw}\" height=\"{fh}\" overflow=\"hidden\" \
         role=\"presentation\">"
    );
    let place = |px: f64, py: f64| {
        let (px, py) = (x.place(px)?, y.place(py)?);
        Some((px * frame.width, (1.0 - py) * frame.height))
    };
    for mark in &panel.marks {
        draw_mark(out, mark, frame, &place);
    }
    out.push_str("</svg>\n");
    let _ =
        writeln!(out, "<rect class=\"a\" x=\"{fx}\" y=\"{fy}\" width=\"{fw}\" height=\"{fh}\"/>");
}

/// As many ticks as fit beside each other.
fn x_ticks(panel: &Panel, x: &Span, width: f64) -> Vec<Tick> {
    let fits = |ticks: &[Tick]| {
        let mut end = f64::NEG_INFINITY;
        ticks.iter().all(|tick| {
            let Some(place) = x.place(tick.value) else { return true };
            let half = 0.5 * text_width(&tick.label, SMALL);
            let begin = place * width - half;
            let is_free = begin > end;
            end = begin + 2.0 * half + 6.0;
            is_free
        })
    };
    for most in (2..=(width / 45.0) as usize).rev() {
        let ticks = x.ticks(&panel.x, most);
        if fits(&ticks) {
            return ticks;
        }
    }
    let mut ticks = x.ticks(&panel.x, 2);
    while !fits(&ticks) && ticks.len() > 1 {
        ticks = ticks.into_iter().step_by(2).collect();
    }
    ticks
}
