//! Selective scan: one frame, last inputs of the convolution, state -> the output of the frame.

use super::kernels::{Instructions, add_to};
use super::real::Real;
use super::weights::{Affine, Norm, Source};

/// Sizes of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) hidden: usize,
    pub(super) inner: usize,
    pub(super) state: usize,
    pub(super) convolution: usize,
    pub(super) rank: usize,
}

/// A layer of selective scans.
#[derive(Clone, Debug)]
pub(super) struct Scan<R> {
    sizes: Sizes,
    norm: Norm<R>,
    input: Affine<R>,
    kernel: Vec<R>,
    kernel_bias: Vec<R>,
    selection: Affine<R>,
    step_size: Affine<R>,
    /// $-e^{\text{log\_decay}}$, `[state, inner]`: channels lie together, as loops over them have
    /// no sums across a vector.
    decay: Vec<R>,
    skip: Vec<R>,
    output: Affine<R>,
    instructions: Instructions,
    /// The state: a ring of the convolution's last inputs, `[convolution, inner]`, and the scans',
    /// `[state, inner]`.
    history: Vec<R>,
    newest: usize,
    memory: Vec<R>,
    normed: Vec<R>,
    parts: Vec<R>,
    convolved: Vec<R>,
    selected: Vec<R>,
    delta: Vec<R>,
    push: Vec<R>,
    scanned: Vec<R>,
    out: Vec<R>,
}

impl<R: Real> Scan<R> {
    pub(super) fn new(source: &Source<'_>, name: &str, sizes: Sizes) -> Self {
        let Sizes { hidden, inner, state, convolution, rank } = sizes;
        let zeros = |count: usize| vec![R::default(); count];
        let log_decay = source.checkpoint.values(&format!("{name}.log_decay"));
        let places = (0..state).flat_map(|n| (0..inner).map(move |i| i * state + n));
        let decay = places.map(|index| R::rounded(-libm::exp(f64::from(log_decay[index]))));
        Self {
            sizes,
            norm: source.norm(&format!("{name}.norm")),
            input: source.affine(&format!("{name}.input")),
            kernel: source.values(&format!("{name}.convolution.weight")),
            kernel_bias: source.values(&format!("{name}.convolution.bias")),
            selection: source.affine(&format!("{name}.selection")),
            step_size: source.affine(&format!("{name}.step")),
            decay: decay.collect(),
            skip: source.values(&format!("{name}.skip")),
            output: source.affine(&format!("{name}.output")),
            instructions: source.instructions,
            history: zeros(convolution * inner),
            newest: 0,
            memory: zeros(inner * state),
            normed: zeros(hidden),
            parts: zeros(2 * inner),
            convolved: zeros(inner),
            selected: zeros(rank + 2 * state),
            delta: zeros(inner),
            push: zeros(inner),
            scanned: zeros(inner),
            out: zeros(hidden),
        }
    }

    pub(super) fn reset(&mut self) {
        self.history.fill(R::default());
        self.memory.fill(R::default());
    }

    pub(super) fn step(&mut self, x: &mut [R]) {
        let Sizes { inner, convolution, rank, .. } = self.sizes;
        let instructions = self.instructions;
        self.norm.apply(x, &mut self.normed);
        self.input.apply(&self.normed, &mut self.parts);
        self.newest = (self.newest + 1) % convolution;
        self.history[self.newest * inner..][..inner].copy_from_slice(&self.parts[..inner]);
        instructions.run(
            #[inline(always)]
            || self.convolve(),
        );
        self.selection.apply(&self.convolved, &mut self.selected);
        self.step_size.apply(&self.selected[..rank], &mut self.delta);
        instructions.run(
            #[inline(always)]
            || self.scan(),
        );
        self.output.apply(&self.convolved, &mut self.out);
        add_to(x, &self.out);
    }

    #[inline(always)]
    fn convolve(&mut self) {
        let Sizes { inner, convolution, .. } = self.sizes;
        self.convolved.copy_from_slice(&self.kernel_bias);
        for k in 0..convolution {
            // The oldest first: tap `convolution - 1` is that of the newest frame.
            let row = (self.newest + 1 + k) % convolution * inner;
            let taps = &self.kernel[k * inner..][..inner];
            let inputs = &self.history[row..][..inner];
            for ((sum, tap), input) in self.convolved.iter_mut().zip(taps).zip(inputs) {
                *sum += *tap * *input;
            }
        }
        for c in &mut self.convolved {
            *c = *c * c.sigmoid();
        }
    }

    /// Moves the state and puts the gated output where the convolution's was.
    #[inline(always)]
    fn scan(&mut self) {
        let Sizes { inner, state, rank, .. } = self.sizes;
        for delta in &mut self.delta {
            *delta = delta.softplus();
        }
        let (delta, input) = (&self.delta[..inner], &mut self.convolved[..inner]);
        let (push, scanned) = (&mut self.push[..inner], &mut self.scanned[..inner]);
        let skip = &self.skip[..inner];
        for i in 0..inner {
            push[i] = delta[i] * input[i];
            scanned[i] = skip[i] * input[i];
        }
        let (b, c) = self.selected[rank..].split_at(state);
        let rows = self.memory.chunks_exact_mut(inner).zip(self.decay.chunks_exact(inner));
        for ((memory, decay), (b, c)) in rows.zip(b.iter().zip(c)) {
            for i in 0..inner {
                let kept = (decay[i] * delta[i]).exp();
                memory[i] = kept * memory[i] + push[i] * *b;
                scanned[i] += *c * memory[i];
            }
        }
        let gates = &self.parts[inner..][..inner];
        for i in 0..inner {
            input[i] = scanned[i] * (gates[i] * gates[i].sigmoid());
        }
    }
}
