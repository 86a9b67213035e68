//! Windowed attention: one frame and the keys and values of those before it -> the frame's mixture.

use super::kernels::{self, Instructions, add_to, dot, rectify};
use super::real::Real;
use super::weights::{Affine, Norm, Source};

/// Sizes of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) hidden: usize,
    pub(super) heads: usize,
    pub(super) window: usize,
    pub(super) feed_forward: usize,
}

/// A layer of attention and rectified units.
#[derive(Clone, Debug)]
pub(super) struct Attention<R> {
    sizes: Sizes,
    norm_1: Norm<R>,
    query_key_value: Affine<R>,
    distance: Vec<R>,
    output: Affine<R>,
    norm_2: Norm<R>,
    up: Affine<R>,
    down: Affine<R>,
    instructions: Instructions,
    /// The state: a ring of the last frames' keys and values, `[window, hidden]`.
    keys: Vec<R>,
    values: Vec<R>,
    /// Frames in the ring, and the place of the next.
    seen: usize,
    next: usize,
    normed: Vec<R>,
    parts: Vec<R>,
    scores: Vec<R>,
    mixed: Vec<R>,
    out: Vec<R>,
    wide: Vec<R>,
}

impl<R: Real> Attention<R> {
    pub(super) fn new(source: &Source<'_>, name: &str, sizes: Sizes) -> Self {
        let Sizes { hidden, window, feed_forward, .. } = sizes;
        let zeros = |count: usize| vec![R::default(); count];
        Self {
            sizes,
            norm_1: source.norm(&format!("{name}.norm_1")),
            query_key_value: source.affine(&format!("{name}.query_key_value")),
            distance: source.values(&format!("{name}.distance")),
            output: source.affine(&format!("{name}.output")),
            norm_2: source.norm(&format!("{name}.norm_2")),
            up: source.affine(&format!("{name}.up")),
            down: source.affine(&format!("{name}.down")),
            instructions: source.instructions,
            keys: zeros(window * hidden),
            values: zeros(window * hidden),
            seen: 0,
            next: 0,
            normed: zeros(hidden),
            parts: zeros(3 * hidden),
            scores: zeros(window),
            mixed: zeros(hidden),
            out: zeros(hidden),
            wide: zeros(feed_forward),
        }
    }

    pub(super) fn reset(&mut self) {
        (self.seen, self.next) = (0, 0);
    }

    pub(super) fn step(&mut self, x: &mut [R]) {
        let Sizes { hidden, window, .. } = self.sizes;
        self.norm_1.apply(x, &mut self.normed);
        self.query_key_value.apply(&self.normed, &mut self.parts);
        let place = self.next;
        self.keys[place * hidden..][..hidden].copy_from_slice(&self.parts[hidden..2 * hidden]);
        self.values[place * hidden..][..hidden].copy_from_slice(&self.parts[2 * hidden..]);
        self.seen = (self.seen + 1).min(window);
        self.next = (place + 1) % window;
        let instructions = self.instructions;
        instructions.run(
            #[inline(always)]
            || self.mix(place),
        );
        self.output.apply(&self.mixed, &mut self.out);
        add_to(x, &self.out);
        self.norm_2.apply(x, &mut self.normed);
        self.up.apply(&self.normed, &mut self.wide);
        rectify(&mut self.wide);
        self.down.apply(&self.wide, &mut self.out);
        kernels::add_to(x, &self.out);
    }

    /// The mixture of values that the newest frame, at `place` of the ring, sees.
    #[inline(always)]
    fn mix(&mut self, place: usize) {
        let Sizes { hidden, heads, window, .. } = self.sizes;
        let size = hidden / heads;
        let factor = R::ONE / R::rounded(size as f64).root();
        let row = |d: usize| (place + window - d) % window * hidden;
        let seen = self.seen;
        for head in 0..heads {
            let from = head * size;
            let query = &self.parts[from..][..size];
            let distance = &self.distance[head * window..][..seen];
            let scores = &mut self.scores[..seen];
            let mut most = R::LOWEST;
            for (d, (score, bias)) in scores.iter_mut().zip(distance).enumerate() {
                *score = dot(query, &self.keys[row(d) + from..][..size]) * factor + *bias;
                most = if *score > most { *score } else { most };
            }
            for score in scores.iter_mut() {
                *score = (*score - most).exp();
            }
            let mut total = R::default();
            let mixed = &mut self.mixed[from..][..size];
            mixed.fill(R::default());
            for (d, share) in scores.iter().enumerate() {
                total += *share;
                for (mixed, value) in mixed.iter_mut().zip(&self.values[row(d) + from..][..size]) {
                    *mixed += *share * *value;
                }
            }
            let unit = R::ONE / total;
            for mixed in mixed {
                *mixed = *mixed * unit;
            }
        }
    }
}
