//! A figure as plain data: panels with axes and marks; writers turn it into SVG or text.
//!
//! A figure knows no pixel, colour or font. What it holds is in data units, so that a test compares
//! numbers ([`crate::describe`]) and every writer shows the same ones.

/// A picture of one or more panels.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows, in a few words.
    pub title: String,
    /// What is to be seen and how to read it, for who cannot see it.
    pub description: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Widths of the columns that panels stand in, relative to each other; at least one.
    pub columns: Vec<f64>,
    /// Height of a panel's frame in pixels of an SVG.
    pub panel_height: f64,
    /// What styles mean.
    pub legend: Vec<LegendEntry>,
    /// Remarks under the panels: what was left out, what was assumed.
    pub notes: Vec<String>,
}

impl Figure {
    /// A figure without panels, in one column.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            description: description.into(),
            panels: Vec::new(),
            columns: vec![1.0],
            panel_height: 200.0,
            legend: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The same with at most `most` columns of equal width.
    pub(crate) fn in_columns(mut self, most: usize) -> Self {
        self.columns = vec![1.0; self.panels.len().clamp(1, most.max(1))];
        self
    }

    /// Adds a line to the legend.
    pub(crate) fn explain(&mut self, label: impl Into<String>, key: Key, style: Style) {
        self.legend.push(LegendEntry { label: label.into(), key, style });
    }
}

/// A frame with two axes and what is drawn in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its heading; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, from back to front. None: the place stays empty.
    pub marks: Vec<Mark>,
}

impl Panel {
    /// A panel without marks.
    pub(crate) fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, marks: Vec::new() }
    }
}

/// One direction of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity, with its unit; may be empty.
    pub label: String,
    /// How values become places.
    pub scale: Scale,
    /// The ends; from the marks when `None`.
    pub limits: Option<(f64, f64)>,
    /// Where ticks stand.
    pub ticks: TickPlaces,
    /// Whether larger values are to the left or below.
    pub reversed: bool,
}

impl Axis {
    /// A linear axis whose ends come from the marks.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
            limits: None,
            ticks: TickPlaces::Automatic,
            reversed: false,
        }
    }

    /// Rows or columns with a name each, at 0, 1, 2 and so on; the first one at the top or left.
    pub(crate) fn categories(label: impl Into<String>, names: &[String], vertical: bool) -> Self {
        let ticks = names.iter().enumerate().map(|(k, name)| (k as f64, name.clone())).collect();
        Self {
            limits: Some((-0.5, names.len() as f64 - 0.5)),
            ticks: TickPlaces::At(ticks),
            reversed: vertical,
            ..Self::new(label)
        }
    }

    /// The same with a tick at each whole number, where there are few.
    pub(crate) fn whole_numbers(mut self, low: f64, high: f64) -> Self {
        const MOST: f64 = 12.0;
        if high - low <= MOST {
            let numbers = low.ceil() as i64..=high.floor() as i64;
            self.ticks = TickPlaces::At(numbers.map(|k| (k as f64, k.to_string())).collect());
        }
        self
    }

    /// The same between these ends.
    pub(crate) fn between(mut self, low: f64, high: f64) -> Self {
        self.limits = Some((low, high));
        self
    }

    /// The same without ticks: heights of densities carry no meaning of their own.
    pub(crate) fn unmarked(mut self) -> Self {
        self.ticks = TickPlaces::None;
        self
    }

    /// The same with a logarithmic scale.
    pub(crate) fn log(mut self) -> Self {
        self.scale = Scale::Log;
        self
    }
}

/// How an axis maps values to places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal lengths.
    Linear,
    /// Equal ratios are equal lengths; values must be positive.
    Log,
}

/// Where an axis has ticks.
#[derive(Clone, Debug, PartialEq)]
pub enum TickPlaces {
    /// At multiples of 1, 2 or 5 times a power of ten.
    Automatic,
    /// At these values, with these labels.
    At(Vec<(f64, String)>),
    /// Nowhere.
    None,
}

/// Something that is drawn. All coordinates are data values.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// Straight lines through points.
    Line {
        /// The points, in order.
        points: Vec<(f64, f64)>,
        /// How.
        style: Style,
    },
    /// The area between two curves.
    Band {
        /// Abscissas.
        x: Vec<f64>,
        /// The lower curve.
        lower: Vec<f64>,
        /// The upper curve.
        upper: Vec<f64>,
        /// How.
        style: Style,
    },
    /// Bars beside each other.
    Bars {
        /// The bars' edges: one more than bars.
        edges: Vec<f64>,
        /// Where each bar ends; it begins at 0.
        heights: Vec<f64>,
        /// Whether they are filled; else only their outline is drawn.
        filled: bool,
        /// How.
        style: Style,
    },
    /// Markers.
    Points {
        /// Their centres.
        points: Vec<(f64, f64)>,
        /// Their form.
        marker: Marker,
        /// How; the width is the markers' radius.
        style: Style,
    },
    /// Separate straight lines, each from `(x1, y1)` to `(x2, y2)`.
    Segments {
        /// `[x1, y1, x2, y2]` of each.
        segments: Vec<[f64; 4]>,
        /// How.
        style: Style,
    },
    /// A line across the panel at one value, which does not widen the axis.
    Rule {
        /// Whether it is vertical: at a value of the x axis.
        vertical: bool,
        /// Where.
        value: f64,
        /// How.
        style: Style,
    },
    /// Text that begins at, is centred on, or ends at a place.
    Text {
        /// The place.
        position: (f64, f64),
        /// The words.
        text: String,
        /// Where the place is in the text.
        anchor: Anchor,
    },
}

/// The form of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A filled circle.
    Dot,
    /// A ring.
    Circle,
    /// An upright cross.
    Plus,
    /// A slanted cross.
    Cross,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
    /// A vertical stroke.
    Tick,
}

impl Marker {
    /// The marker of the series of that number, so that series differ in form too.
    pub(crate) fn of_series(k: usize) -> Self {
        [Self::Dot, Self::Square, Self::Triangle, Self::Circle, Self::Cross, Self::Plus][k % 6]
    }
}

/// Where a text's place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// At its middle.
    Middle,
    /// At its end.
    End,
}

/// How a mark is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Its colour, by meaning.
    pub ink: Ink,
    /// Number of the dash pattern; 0 is a solid line.
    pub dash: usize,
    /// Width of lines or radius of markers, in pixels of an SVG.
    pub width: f64,
    /// 0 invisible, 1 opaque.
    pub opacity: f64,
}

impl Style {
    /// Series `k`: a colour and a dash pattern of its own.
    pub(crate) fn series(k: usize) -> Self {
        Self { ink: Ink::Series(k), dash: k, width: 1.5, opacity: 1.0 }
    }

    /// The colour of text.
    pub(crate) fn foreground() -> Self {
        Self { ink: Ink::Foreground, ..Self::series(0) }
    }

    /// For what is only context.
    pub(crate) fn muted() -> Self {
        Self { ink: Ink::Muted, ..Self::series(0) }
    }

    pub(crate) fn width(self, width: f64) -> Self {
        Self { width, ..self }
    }

    pub(crate) fn opacity(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }

    pub(crate) fn dashed(self, dash: usize) -> Self {
        Self { dash, ..self }
    }

    pub(crate) fn solid(self) -> Self {
        self.dashed(0)
    }
}

/// A colour by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// One of several like things. Colours repeat after seven; dash patterns and markers after six,
    /// so that pairs of them repeat after 42.
    Series(usize),
    /// As text.
    Foreground,
    /// Context: references, prior draws.
    Muted,
}

/// What a style in a figure means.
#[derive(Clone, Debug, PartialEq)]
pub struct LegendEntry {
    /// In words.
    pub label: String,
    /// How the sample beside the words looks.
    pub key: Key,
    /// The style.
    pub style: Style,
}

/// The sample of a legend entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A line.
    Line,
    /// A filled patch.
    Patch,
    /// A marker.
    Point(Marker),
}
