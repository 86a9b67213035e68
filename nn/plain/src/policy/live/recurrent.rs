//! GRU and LSTM: one frame's inputs and the state -> the next state.

use super::kernels::Instructions;
use super::real::Real;
use super::weights::{Affine, Source};

/// A layer of gated recurrent units.
#[derive(Clone, Debug)]
pub(super) struct Gru<R> {
    input: Affine<R>,
    recurrent: Affine<R>,
    instructions: Instructions,
    /// The state.
    h: Vec<R>,
    a: Vec<R>,
    v: Vec<R>,
}

impl<R: Real> Gru<R> {
    pub(super) fn new(source: &Source<'_>, name: &str, hidden: usize) -> Self {
        Self {
            input: source.affine(&format!("{name}.input")),
            recurrent: source.affine(&format!("{name}.recurrent")),
            instructions: source.instructions,
            h: vec![R::default(); hidden],
            a: vec![R::default(); 3 * hidden],
            v: vec![R::default(); 3 * hidden],
        }
    }

    pub(super) fn reset(&mut self) {
        self.h.fill(R::default());
    }

    pub(super) fn step(&mut self, x: &[R], out: &mut [R]) {
        self.input.apply(x, &mut self.a);
        self.recurrent.apply(&self.h, &mut self.v);
        let Self { a, v, h, .. } = self;
        self.instructions.run(
            #[inline(always)]
            || gru_gates(a, v, h),
        );
        out.copy_from_slice(&self.h);
    }
}

#[inline(always)]
fn gru_gates<R: Real>(a: &[R], v: &[R], h: &mut [R]) {
    let hidden = h.len();
    let (a_r, a) = a.split_at(hidden);
    let (a_z, a_n) = a.split_at(hidden);
    let (v_r, v) = v.split_at(hidden);
    let (v_z, v_n) = v.split_at(hidden);
    let (a_n, v_n) = (&a_n[..hidden], &v_n[..hidden]);
    for i in 0..hidden {
        let r = (a_r[i] + v_r[i]).sigmoid();
        let z = (a_z[i] + v_z[i]).sigmoid();
        let n = (a_n[i] + r * v_n[i]).tanh();
        h[i] = (R::ONE - z) * n + z * h[i];
    }
}

/// A layer of long short-term memory.
#[derive(Clone, Debug)]
pub(super) struct Lstm<R> {
    input: Affine<R>,
    recurrent: Affine<R>,
    instructions: Instructions,
    /// The state.
    h: Vec<R>,
    c: Vec<R>,
    a: Vec<R>,
}

impl<R: Real> Lstm<R> {
    pub(super) fn new(source: &Source<'_>, name: &str, hidden: usize) -> Self {
        Self {
            input: source.affine(&format!("{name}.input")),
            recurrent: source.affine(&format!("{name}.recurrent")),
            instructions: source.instructions,
            h: vec![R::default(); hidden],
            c: vec![R::default(); hidden],
            a: vec![R::default(); 4 * hidden],
        }
    }

    pub(super) fn reset(&mut self) {
        self.h.fill(R::default());
        self.c.fill(R::default());
    }

    pub(super) fn step(&mut self, x: &[R], out: &mut [R]) {
        self.input.apply(x, &mut self.a);
        self.recurrent.add(&self.h, &mut self.a);
        let Self { a, h, c, .. } = self;
        self.instructions.run(
            #[inline(always)]
            || lstm_gates(a, h, c),
        );
        out.copy_from_slice(&self.h);
    }
}

#[inline(always)]
fn lstm_gates<R: Real>(a: &[R], h: &mut [R], c: &mut [R]) {
    let hidden = h.len();
    let (a_i, a) = a.split_at(hidden);
    let (a_f, a) = a.split_at(hidden);
    let (a_g, a_o) = a.split_at(hidden);
    let (a_o, c) = (&a_o[..hidden], &mut c[..hidden]);
    for i in 0..hidden {
        c[i] = a_f[i].sigmoid() * c[i] + a_i[i].sigmoid() * a_g[i].tanh();
        h[i] = a_o[i].sigmoid() * c[i].tanh();
    }
}
