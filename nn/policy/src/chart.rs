//! Series of points -> an SVG image: panels with axes, a legend and words for who cannot see it.

use std::fmt::Write;

/// Points of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What they are; empty leaves them out of the legend.
    pub label: String,
    /// Where they are, in order.
    pub points: Vec<(f64, f64)>,
    /// Whether they are joined by lines; else they are dots.
    pub is_line: bool,
    /// Colour and form, by number.
    pub style: usize,
}

/// A frame with two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its heading.
    pub title: String,
    /// The horizontal axis: its label, and its ends unless they come from the points.
    pub x: (String, Option<(f64, f64)>),
    /// The vertical axis.
    pub y: (String, Option<(f64, f64)>),
    /// Whether the vertical axis is logarithmic.
    pub is_log: bool,
    /// What stands at the vertical axis instead of numbers: names at 0, 1, 2, from above.
    pub names: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub description: String,
    /// Panels side by side, three in a row.
    pub panels: Vec<Panel>,
}

const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#999999", "#009e73"];
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];
const WIDTH: f64 = 280.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 26.0;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|v| v.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    match (low <= high, high - low) {
        (false, _) => (0.0, 1.0),
        (true, width) if width > 0.0 => (low, high),
        _ => (low - 0.5, high + 0.5),
    }
}

/// Round numbers between two ends: their places on the axis, and their texts.
fn ticks((low, high): (f64, f64), is_log: bool) -> Vec<(f64, String)> {
    if is_log && high - low >= 2.0 {
        let powers = (low.ceil() as i32)..=(high.floor() as i32);
        return powers.map(|power| (f64::from(power), format!("1e{power}"))).collect();
    }
    let value = |place: f64| if is_log { 10.0_f64.powf(place) } else { place };
    let (from, to) = (value(low), value(high));
    let least = (to - from) / 5.0;
    let power = least.log10().floor();
    let digits = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * 10.0_f64.powf(power) >= least);
    let step = digits.unwrap_or(10.0) * 10.0_f64.powf(power);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    // Ends are round numbers too, but for rounding.
    let (first, last) = ((from / step - 1e-9).ceil(), (to / step + 1e-9).floor());
    let numbers = (0..=(last - first) as u32).map(|k| (first + f64::from(k)) * step);
    numbers
        .map(|v| (if is_log { v.log10() } else { v }, format!("{v:.decimals$}")))
        .filter(|(place, _)| place.is_finite())
        .collect()
}

/// How wide a series' entry in the legend is; a letter is about 6 wide.
fn entry_width(series: &Series) -> f64 {
    44.0 + 6.0 * series.label.chars().count() as f64
}

impl Chart {
    /// The image.
    #[must_use]
    pub fn svg(&self) -> String {
        let columns = self.panels.len().clamp(1, 3);
        let rows = self.panels.len().div_ceil(columns);
        let mut legend: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if !series.label.is_empty() && legend.iter().all(|seen| seen.label != series.label) {
                legend.push(series);
            }
        }
        let legend_width: f64 = legend.iter().map(|series| entry_width(series)).sum();
        let width = (WIDTH * columns as f64).max(legend_width) + 20.0;
        let height = HEIGHT * rows as f64 + 60.0;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"10\" y=\"20\" font-size=\"15\">{}</text>\n",
            escaped(&self.title),
            escaped(&self.description),
            escaped(&self.title)
        );
        let mut x = 10.0;
        for series in legend {
            let line = [(x, 34.0), (x + 22.0, 34.0)];
            let dot = [(x + 14.0, 34.0)];
            mark(&mut out, series, if series.is_line { &line } else { &dot });
            let label = escaped(&series.label);
            writeln!(out, "<text x=\"{}\" y=\"38\">{label}</text>", x + 28.0).ok();
            x += entry_width(series);
        }
        for (number, panel) in self.panels.iter().enumerate() {
            let (row, column) = (number / columns, number % columns);
            panel.draw(&mut out, 10.0 + WIDTH * column as f64, 50.0 + HEIGHT * row as f64);
        }
        out + "</svg>\n"
    }
}

fn mark(out: &mut String, series: &Series, places: &[(f64, f64)]) {
    let colour = COLOURS[series.style % COLOURS.len()];
    if series.is_line {
        let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = DASHES[series.style % DASHES.len()];
        writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" \
             stroke-dasharray=\"{dash}\"/>",
            points.join(" ")
        )
        .ok();
        return;
    }
    for (x, y) in places {
        // The second kind of dots is hollow, so that colours are not all that tells them apart.
        let fill = if series.style == 0 { colour } else { "none" };
        writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{fill}\" stroke=\"{colour}\"/>"
        )
        .ok();
    }
}

impl Panel {
    fn draw(&self, out: &mut String, left: f64, top: f64) {
        let scaled = |y: f64| if self.is_log { y.log10() } else { y };
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x_ends = self.x.1.unwrap_or_else(|| ends(points().map(|p| p.0)));
        let y_ends = self.y.1.unwrap_or_else(|| ends(points().map(|p| scaled(p.1))));
        let (width, height) = (WIDTH - LEFT - 20.0, HEIGHT - TOP - BOTTOM);
        let (left, top) = (left + LEFT, top + TOP);
        let x_place = |x: f64| left + width * (x - x_ends.0) / (x_ends.1 - x_ends.0);
        let y_place = |y: f64| top + height * (1.0 - (y - y_ends.0) / (y_ends.1 - y_ends.0));
        let title = escaped(&self.title);
        writeln!(out, "<text x=\"{left}\" y=\"{}\">{title}</text>", top - 8.0).ok();
        writeln!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             stroke=\"#888\"/>"
        )
        .ok();
        for (position, text) in ticks(x_ends, false) {
            let (x, y) = (x_place(position), top + height + 14.0);
            writeln!(out, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>").ok();
        }
        let names = self.names.iter().enumerate().map(|(k, name)| (k as f64, escaped(name)));
        let named: Vec<(f64, String)> = names.collect();
        let at_y = if named.is_empty() { ticks(y_ends, self.is_log) } else { named };
        for (position, text) in at_y {
            let (x, y) = (left - 5.0, y_place(position) + 4.0);
            writeln!(out, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>").ok();
        }
        let (x, y) = (left + width / 2.0, top + height + 30.0);
        let label = escaped(&self.x.0);
        writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>").ok();
        let (x, y, label) = (left - 50.0, top + height / 2.0, escaped(&self.y.0));
        writeln!(
            out,
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\">{label}</text>"
        )
        .ok();
        for series in &self.series {
            let places: Vec<(f64, f64)> = series
                .points
                .iter()
                .map(|(x, y)| (x_place(*x), y_place(scaled(*y))))
                .filter(|(x, y)| x.is_finite() && y.is_finite())
                .collect();
            mark(out, series, &places);
        }
    }
}
