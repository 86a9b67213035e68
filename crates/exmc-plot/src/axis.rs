//! A panel's axes and marks -> the ends of the axes, and values -> shares of their lengths.

use exmc_math::log10;

use crate::figure::{Axis, Mark, Panel, Scale, TickPlaces};
use crate::ticks::{Tick, ticks};

/// An axis with its ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
    reversed: bool,
}

impl Span {
    /// Where a value lies: 0 at the left or lower end, 1 at the right or upper one; `None` for what
    /// the axis cannot show.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let (value, low, high) = match self.scale {
            Scale::Linear => (value, self.low, self.high),
            Scale::Log => (log10(value), log10(self.low), log10(self.high)),
        };
        let place = (value - low) / (high - low);
        // Far outside is as good as just outside, and shorter.
        let place = if self.reversed { 1.0 - place } else { place };
        (!place.is_nan() && place.abs() < f64::INFINITY).then(|| place.clamp(-3.0, 4.0))
    }

    /// The ticks of an axis with these ends.
    pub(crate) fn ticks(&self, axis: &Axis, most: usize) -> Vec<Tick> {
        match &axis.ticks {
            TickPlaces::Automatic => ticks(self.scale, self.low, self.high, most),
            TickPlaces::At(places) => {
                let tick =
                    |(value, label): &(f64, String)| Tick { value: *value, label: label.clone() };
                places.iter().map(tick).collect()
            }
            TickPlaces::None => Vec::new(),
        }
    }
}

/// Both axes of a panel, with ends from the marks where none are given.
pub(crate) fn spans(panel: &Panel) -> (Span, Span) {
    let (mut x, mut y) = (Extent::default(), Extent::default());
    for mark in &panel.marks {
        match mark {
            Mark::Line { points, .. } | Mark::Points { points, .. } => {
                for (px, py) in points {
                    x.include(*px);
                    y.include(*py);
                }
            }
            Mark::Band { x: xs, lower, upper, .. } => {
                xs.iter().for_each(|v| x.include(*v));
                lower.iter().chain(upper).for_each(|v| y.include(*v));
            }
            Mark::Bars { edges, heights, .. } => {
                edges.iter().for_each(|v| x.include(*v));
                heights.iter().for_each(|v| y.include(*v));
                y.include(0.0);
                y.from_zero = true;
            }
            Mark::Segments { segments, .. } => {
                for [x1, y1, x2, y2] in segments {
                    x.include(*x1);
                    x.include(*x2);
                    y.include(*y1);
                    y.include(*y2);
                }
            }
            Mark::Text { position, .. } => {
                x.include(position.0);
                y.include(position.1);
            }
            Mark::Rule { .. } => {}
        }
    }
    (x.span(&panel.x), y.span(&panel.y))
}

#[derive(Default)]
struct Extent {
    ends: Option<(f64, f64)>,
    positive: Option<f64>,
    from_zero: bool,
}

impl Extent {
    fn include(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let (low, high) = self.ends.unwrap_or((value, value));
        self.ends = Some((low.min(value), high.max(value)));
        if value > 0.0 {
            self.positive = Some(self.positive.map_or(value, |p| p.min(value)));
        }
    }

    fn span(&self, axis: &Axis) -> Span {
        let (low, high) = axis.limits.unwrap_or_else(|| self.padded(axis.scale));
        Span { scale: axis.scale, low, high, reversed: axis.reversed }
    }

    /// The ends with some room, so that nothing lies on the frame.
    fn padded(&self, scale: Scale) -> (f64, f64) {
        const ROOM: f64 = 0.04;
        let Some((low, high)) = self.ends else { return (0.0, 1.0) };
        if scale == Scale::Log {
            let low = self.positive.unwrap_or(0.1);
            let high = high.max(low);
            let factor = if high > low { exmc_math::pow(high / low, ROOM) } else { 2.0 };
            return (low / factor, high * factor);
        }
        if low == high {
            let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
            return (low - room, high + room);
        }
        let room = ROOM * (high - low);
        match self.from_zero {
            true if low >= 0.0 => (0.0, high + room),
            true if high <= 0.0 => (low - room, 0.0),
            _ => (low - room, high + room),
        }
    }
}
