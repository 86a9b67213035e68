//! A figure -> text for a terminal of a given width: braille dots, blocks and line characters, or
//! plain ASCII.
//!
//! Panels stand side by side where each has 40 columns, else below each other. Lines are dots of
//! braille (2 by 4 in a character), bars are blocks in eighths, markers differ between series.

use crate::axis::{Span, spans};
use crate::figure::{Anchor, Figure, Ink, Key, Mark, Marker, Panel, Style, TickPlaces};
use crate::ticks::Tick;

/// The terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns.
    pub width: usize,
    /// Whether to keep to ASCII.
    pub ascii: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self { width: 80, ascii: false }
    }
}

/// Rows of a panel that has no categories.
const ROWS: usize = 10;
/// The fewest columns of a panel that has others beside it.
const NARROWEST: usize = 40;

/// The text of a figure, each line with its line end.
pub fn terminal(figure: &Figure, options: &TerminalOptions) -> String {
    let width = options.width.max(30);
    let mut lines: Vec<String> = wrap(&figure.title, width);
    let mut keys = String::new();
    for entry in &figure.legend {
        let key = match entry.key {
            Key::Line => glyph_of_line(entry.style, options.ascii),
            Key::Patch => shade(options.ascii),
            Key::Point(marker) => glyph(marker, options.ascii),
        };
        let words = format!("{key} {}", cut(&entry.label, width - 2, options.ascii));
        let needed = words.chars().count() + 3 + keys.chars().count();
        if !keys.is_empty() && needed > width {
            lines.push(std::mem::take(&mut keys));
        }
        keys = if keys.is_empty() { words } else { format!("{keys}   {words}") };
    }
    lines.extend(Some(keys).filter(|k| !k.is_empty()));
    let columns = figure.columns.len().min(width / NARROWEST).max(1);
    // Rows of panels stay together, whatever the number of columns.
    for row in figure.panels.chunks(figure.columns.len().max(1)) {
        let shown: Vec<&Panel> = row.iter().filter(|p| !p.marks.is_empty()).collect();
        for beside in shown.chunks(columns) {
            let each = (width - 2 * (columns - 1)) / columns;
            let blocks: Vec<Vec<String>> =
                beside.iter().map(|panel| panel_lines(panel, each, options.ascii)).collect();
            let height = blocks.iter().map(Vec::len).max().unwrap_or(0);
            lines.push(String::new());
            for k in 0..height {
                let cells: Vec<String> = blocks
                    .iter()
                    .map(|block| padded(block.get(k).map_or("", String::as_str), each))
                    .collect();
                lines.push(cells.join("  ").trim_end().to_owned());
            }
        }
    }
    if !figure.notes.is_empty() {
        lines.push(String::new());
    }
    for note in &figure.notes {
        lines.extend(wrap(note, width));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    if options.ascii {
        text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
    } else {
        text
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn padded(text: &str, width: usize) -> String {
    let n = text.chars().count();
    format!("{text}{}", " ".repeat(width.saturating_sub(n)))
}

/// A text of at most so many characters, cut in the middle.
fn cut(text: &str, most: usize, ascii: bool) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let tail = kept / 3;
    let mark = if ascii { '~' } else { '…' };
    letters[..kept - tail].iter().chain([&mark]).chain(&letters[letters.len() - tail..]).collect()
}

fn glyph(marker: Marker, ascii: bool) -> char {
    match (marker, ascii) {
        (Marker::Dot, false) => '•',
        (Marker::Circle, false) => '○',
        (Marker::Square, false) => '■',
        (Marker::Triangle, false) => '▲',
        (Marker::Tick, false) => '╵',
        (Marker::Dot, true) => '*',
        (Marker::Circle, true) => 'o',
        (Marker::Square, true) => '#',
        (Marker::Triangle, true) => '^',
        (Marker::Tick, true) => '\'',
        (Marker::Plus, _) => '+',
        (Marker::Cross, _) => 'x',
    }
}

fn glyph_of_line(style: Style, ascii: bool) -> char {
    match (style.ink, ascii) {
        (Ink::Series(k), true) => ['*', '+', 'o', 'x', '#', '%'][k % 6],
        (_, true) => '.',
        (_, false) => {
            if style.width > 3.0 {
                '━'
            } else {
                '─'
            }
        }
    }
}

fn shade(ascii: bool) -> char {
    if ascii { ':' } else { '░' }
}

/// A panel with its title, axes and labels, as lines.
fn panel_lines(panel: &Panel, width: usize, ascii: bool) -> Vec<String> {
    let (x, y) = spans(panel);
    let rows = match &panel.y.ticks {
        TickPlaces::At(places) => places.len().max(1) * markers_beside(panel, places.len()),
        _ => ROWS,
    };
    let is_category = matches!(panel.y.ticks, TickPlaces::At(_));
    let y_ticks = y.ticks(&panel.y, 4);
    let longest = y_ticks.iter().map(|t| t.label.chars().count()).max().unwrap_or(0);
    let left = longest.min(width / 3);
    let inner = width.saturating_sub(left + 2).max(8);
    let mut canvas = Canvas::new(inner, rows, ascii);
    for mark in &panel.marks {
        canvas.draw(mark, &x, &y);
    }
    let mut labels = vec![String::new(); rows];
    for tick in &y_ticks {
        if let Some(row) = y.place(tick.value).and_then(|p| canvas.row(p)) {
            labels[row] = cut(&tick.label, left, ascii);
        }
    }
    let (side, corner, floor, at_tick) =
        if ascii { ('|', '+', '-', '+') } else { ('│', '└', '─', '┴') };
    let mut lines = Vec::new();
    let unit = if is_category || panel.y.label.is_empty() { "" } else { &panel.y.label };
    let head = [panel.title.as_str(), unit].into_iter().filter(|t| !t.is_empty());
    let head = head.collect::<Vec<_>>().join("   y: ");
    if !head.is_empty() {
        let head = if panel.title.is_empty() { format!("y: {head}") } else { head };
        lines.push(cut(&head, width, ascii));
    }
    for (label, row) in labels.iter().zip(canvas.rows()) {
        let gap = " ".repeat(left - label.chars().count());
        lines.push(format!("{gap}{label} {side}{row}"));
    }
    let x_ticks = x.ticks(&panel.x, (inner / 10).max(2));
    let (marks, words) = x_axis(&x, &x_ticks, inner, (floor, at_tick));
    lines.push(format!("{} {corner}{marks}", " ".repeat(left)));
    if !x_ticks.is_empty() {
        lines.push(format!("{}{words}", " ".repeat(left + 2)));
    }
    if !panel.x.label.is_empty() {
        let label = cut(&panel.x.label, width, ascii);
        let gap = left + 2 + inner.saturating_sub(label.chars().count()) / 2;
        lines.push(format!("{}{label}", " ".repeat(gap.min(width - label.chars().count()))));
    }
    lines
}

/// How many markers stand below each other in a category: each gets a row.
fn markers_beside(panel: &Panel, n_categories: usize) -> usize {
    let mut heights: Vec<f64> = Vec::new();
    for mark in &panel.marks {
        if let Mark::Points { points, .. } = mark {
            heights.extend(points.iter().map(|p| p.1));
        }
    }
    heights.sort_by(f64::total_cmp);
    heights.dedup();
    heights.len().div_ceil(n_categories.max(1)).max(1)
}

/// The line under a panel and the labels under it; labels that would touch are left out.
fn x_axis(
    x: &Span,
    ticks: &[Tick],
    inner: usize,
    (floor, at_tick): (char, char),
) -> (String, String) {
    let mut marks = vec![floor; inner];
    let mut words = vec![' '; inner];
    let mut free = 0;
    for tick in ticks {
        let Some(place) = x.place(tick.value).filter(|p| (0.0..=1.0).contains(p)) else { continue };
        let column = ((place * inner as f64) as usize).min(inner - 1);
        marks[column] = at_tick;
        let label: Vec<char> = tick.label.chars().collect();
        let begin = column.saturating_sub(label.len() / 2).min(inner.saturating_sub(label.len()));
        if begin >= free && begin + label.len() <= inner {
            words[begin..begin + label.len()].copy_from_slice(&label);
            free = begin + label.len() + 1;
        }
    }
    (marks.into_iter().collect(), words.into_iter().collect::<String>().trim_end().to_owned())
}

/// What a cell shows, from the back to the front.
#[derive(Clone, Copy)]
enum Cell {
    Empty,
    Shade,
    Block(u8),
    Rule(char),
    Dots(u8),
    Glyph(char),
}

struct Canvas {
    width: usize,
    height: usize,
    ascii: bool,
    cells: Vec<Cell>,
}

impl Canvas {
    fn new(width: usize, height: usize, ascii: bool) -> Self {
        Self { width, height, ascii, cells: vec![Cell::Empty; width * height] }
    }

    /// The row of a place between 0 (below) and 1.
    fn row(&self, place: f64) -> Option<usize> {
        let from_top = (1.0 - place) * self.height as f64;
        (-1e-6..=self.height as f64 + 1e-6)
            .contains(&from_top)
            .then(|| (from_top.max(0.0) as usize).min(self.height - 1))
    }

    fn column(&self, place: f64) -> Option<usize> {
        (-1e-6..=1.0 + 1e-6)
            .contains(&place)
            .then(|| ((place.max(0.0) * self.width as f64) as usize).min(self.width - 1))
    }

    /// Puts something into a cell unless what is there lies in front of it.
    fn put(&mut self, column: usize, row: usize, new: Cell) {
        let cell = &mut self.cells[row * self.width + column];
        *cell = match (*cell, new) {
            (Cell::Dots(a), Cell::Dots(b)) => Cell::Dots(a | b),
            (Cell::Block(a), Cell::Block(b)) => Cell::Block(a.max(b)),
            (old, new) if rank(new) >= rank(old) => new,
            (old, _) => old,
        };
    }

    fn put_at(&mut self, x: Option<f64>, y: Option<f64>, new: Cell) {
        let column = x.and_then(|p| self.column(p));
        let row = y.and_then(|p| self.row(p));
        if let (Some(column), Some(row)) = (column, row) {
            self.put(column, row, new);
        }
    }

    fn draw(&mut self, mark: &Mark, x: &Span, y: &Span) {
        match mark {
            Mark::Line { points, style } => {
                for pair in points.windows(2) {
                    let ends = pair.iter().map(|(px, py)| Some((x.place(*px)?, y.place(*py)?)));
                    if let [Some(a), Some(b)] = ends.collect::<Vec<_>>()[..] {
                        self.line(a, b, *style);
                    }
                }
            }
            Mark::Band { x: xs, lower, upper, .. } => self.band(xs, lower, upper, x, y),
            Mark::Bars { edges, heights, filled, style } => {
                if *filled {
                    self.bars(edges, heights, x, y);
                } else {
                    let top = |e: &[f64], h: f64| [(e[0], h), (e[1], h)];
                    let steps = edges.windows(2).zip(heights).flat_map(|(e, h)| top(e, *h));
                    self.draw(&Mark::Line { points: steps.collect(), style: *style }, x, y);
                }
            }
            Mark::Points { points, marker, .. } => {
                let glyph = Cell::Glyph(glyph(*marker, self.ascii));
                for (px, py) in points {
                    self.put_at(x.place(*px), y.place(*py), glyph);
                }
            }
            Mark::Segments { segments, style } => {
                for [x1, y1, x2, y2] in segments {
                    self.segment([x.place(*x1), y.place(*y1), x.place(*x2), y.place(*y2)], *style);
                }
            }
            Mark::Rule { vertical, value, .. } => {
                let rule = match (vertical, self.ascii) {
                    (true, false) => '┊',
                    (false, false) => '┄',
                    (true, true) => '|',
                    (false, true) => '-',
                };
                if *vertical {
                    let Some(column) = x.place(*value).and_then(|p| self.column(p)) else { return };
                    for row in 0..self.height {
                        self.put(column, row, Cell::Rule(rule));
                    }
                } else {
                    let Some(row) = y.place(*value).and_then(|p| self.row(p)) else { return };
                    for column in 0..self.width {
                        self.put(column, row, Cell::Rule(rule));
                    }
                }
            }
            Mark::Text { position, text, anchor } => {
                let place = x.place(position.0).and_then(|p| self.column(p));
                let row = y.place(position.1).and_then(|p| self.row(p));
                let (Some(column), Some(row)) = (place, row) else { return };
                let length = text.chars().count();
                let begin = match anchor {
                    Anchor::Start => column,
                    Anchor::Middle => column.saturating_sub(length / 2),
                    Anchor::End => (column + 1).saturating_sub(length),
                };
                let room = self.width.saturating_sub(begin);
                for (k, letter) in text.chars().enumerate().take(room) {
                    self.put(begin + k, row, Cell::Glyph(letter));
                }
            }
        }
    }

    /// A line between places of the unit square.
    fn line(&mut self, a: (f64, f64), b: (f64, f64), style: Style) {
        let (w, h) = (2.0 * self.width as f64, 4.0 * self.height as f64);
        let length = ((b.0 - a.0).abs() * w).max((b.1 - a.1).abs() * h);
        let steps = length.ceil().clamp(1.0, 1e4) as usize;
        for k in 0..=steps {
            let t = k as f64 / steps as f64;
            let (px, py) = (a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1));
            let cell = if self.ascii {
                Cell::Glyph(glyph_of_line(style, true))
            } else {
                let (dx, dy) = ((px * w).min(w - 1.0), ((1.0 - py) * h).min(h - 1.0));
                Cell::Dots(BRAILLE[dy.max(0.0) as usize % 4][dx.max(0.0) as usize % 2])
            };
            self.put_at(Some(px), Some(py), cell);
        }
    }

    fn segment(&mut self, places: [Option<f64>; 4], style: Style) {
        let [Some(x1), Some(y1), Some(x2), Some(y2)] = places else { return };
        let horizontal = self.row(y1) == self.row(y2);
        if !horizontal {
            return self.line((x1, y1), (x2, y2), style);
        }
        let heavy = style.width > 3.0;
        let glyph = match (self.ascii, heavy) {
            (true, true) => '=',
            (true, false) => '-',
            (false, true) => '━',
            (false, false) => '─',
        };
        let Some(row) = self.row(y1) else { return };
        let ends = [x1.min(x2), x1.max(x2)].map(|p| self.column(p.clamp(0.0, 1.0)));
        if let [Some(first), Some(last)] = ends {
            for column in first..=last {
                self.put(column, row, Cell::Glyph(glyph));
            }
        }
    }

    fn band(&mut self, xs: &[f64], lower: &[f64], upper: &[f64], x: &Span, y: &Span) {
        let placed: Vec<[f64; 3]> = (0..xs.len())
            .filter_map(|k| Some([x.place(xs[k])?, y.place(lower[k])?, y.place(upper[k])?]))
            .collect();
        for pair in placed.windows(2) {
            let [a, b] = [pair[0], pair[1]];
            let columns = (self.column(a[0].clamp(0.0, 1.0)), self.column(b[0].clamp(0.0, 1.0)));
            let (Some(first), Some(last)) = columns else { continue };
            for column in first.min(last)..=last.max(first) {
                let centre = (column as f64 + 0.5) / self.width as f64;
                let t = if b[0] > a[0] {
                    ((centre - a[0]) / (b[0] - a[0])).clamp(0.0, 1.0)
                } else {
                    0.5
                };
                let (low, high) = (a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2]));
                for row in 0..self.height {
                    let middle = 1.0 - (row as f64 + 0.5) / self.height as f64;
                    if (low..=high).contains(&middle) {
                        self.put(column, row, Cell::Shade);
                    }
                }
            }
        }
    }

    fn bars(&mut self, edges: &[f64], heights: &[f64], x: &Span, y: &Span) {
        let zero = y.place(0.0).unwrap_or(0.0);
        for (edge, height) in edges.windows(2).zip(heights) {
            let (Some(a), Some(b)) = (x.place(edge[0]), x.place(edge[1])) else { continue };
            let Some(top) = y.place(*height) else { continue };
            let (low, high) = (zero.min(top), zero.max(top));
            let w = self.width as f64;
            let first = (a.clamp(0.0, 1.0) * w).round() as usize;
            let last = ((b.clamp(0.0, 1.0) * w).round() as usize).max(first + 1).min(self.width);
            for column in first..last {
                for row in 0..self.height {
                    let bottom = 1.0 - (row as f64 + 1.0) / self.height as f64;
                    let share = ((high.min(bottom + 1.0 / self.height as f64) - low.max(bottom))
                        * self.height as f64)
                        .max(0.0);
                    let eighths = (8.0 * share).round() as u8;
                    if eighths > 0 {
                        self.put(column, row, Cell::Block(eighths.min(8)));
                    }
                }
            }
        }
    }

    fn rows(&self) -> Vec<String> {
        let text = |cell: &Cell| match (*cell, self.ascii) {
            (Cell::Empty, _) => ' ',
            (Cell::Shade, ascii) => shade(ascii),
            (Cell::Block(n), true) => {
                if n >= 4 {
                    '#'
                } else {
                    '_'
                }
            }
            (Cell::Block(n), false) => char::from_u32(0x2580 + u32::from(n)).unwrap_or('█'),
            (Cell::Rule(c) | Cell::Glyph(c), _) => c,
            (Cell::Dots(bits), _) => char::from_u32(0x2800 + u32::from(bits)).unwrap_or('*'),
        };
        self.cells.chunks(self.width).map(|row| row.iter().map(text).collect()).collect()
    }
}

fn rank(cell: Cell) -> u8 {
    match cell {
        Cell::Empty => 0,
        Cell::Shade => 1,
        Cell::Block(_) => 2,
        Cell::Rule(_) => 3,
        Cell::Dots(_) => 4,
        Cell::Glyph(_) => 5,
    }
}

/// Bits of the dots of a braille character, by row and column.
const BRAILLE: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
