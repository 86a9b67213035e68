//! Figures (internal, unstable): draws -> a [`Figure`], plain data -> SVG, PNG or terminal text.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | choose | a run's draws by name -> [`Parameter`]s | [`parameters`] |
//! | make | arrays -> a [`Figure`], one file a plot | [`figures`] |
//! | write | a figure -> SVG, PNG (feature `png`), terminal text | [`svg()`], [`terminal()`] |
//! | describe | a figure -> text, for tests | [`describe()`] |
//!
//! Figures are made of given numbers: this crate reads no file and samples nothing. The same figure
//! gives the same bytes.
#![forbid(unsafe_code)]

mod axis;
mod decimal;
mod describe;
mod figure;
pub mod figures;
mod palette;
mod parameter;
#[cfg(feature = "png")]
mod png;
pub mod statistics;
mod svg;
mod svg_marks;
mod terminal;
mod text_width;
mod ticks;

pub use decimal::{known, short};
pub use describe::describe;
pub use figure::{
    Anchor, Axis, Figure, Ink, Key, LegendEntry, Mark, Marker, Panel, Scale, Style, TickPlaces,
};
pub use palette::{Theme, style_sheet};
pub use parameter::{Parameter, PlotError, SamplerStatistics, parameters};
#[cfg(feature = "png")]
pub use png::png;
pub use svg::{SvgOptions, svg};
pub use svg_marks::escaped;
pub use terminal::{TerminalOptions, terminal};
pub use ticks::{Tick, ticks};
