//! Recurrent layers on the host: gates' inputs of all frames -> states, and slopes of states ->
//! slopes of gates and weights.
//!
//! A graph of small tensors pays for every operation of every frame, in both directions. Here a
//! layer's frames are one loop over arrays: a product with weights that were laid out once, and
//! one pass over memory between two products. Values and gradients are those of the graph but for
//! rounding; tests compare the two.

use burn::tensor::{Device, Tensor, TensorData};
use plain::policy::Real;

use super::product::Packed;
use crate::error::Error;

/// Which cell a layer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Gru,
    Lstm,
}

/// A layer's recurrent weights on the device, without autodiff.
pub(super) struct Recurrent {
    pub(super) cell: Cell,
    /// `[hidden, gates]`.
    pub(super) weight: Tensor<2>,
    /// `[gates]`; an LSTM has none.
    pub(super) bias: Option<Tensor<1>>,
}

/// What a forward pass leaves for the backward pass. Arrays are frame by frame, window by window.
pub(super) struct Tape {
    windows: usize,
    hidden: usize,
    /// Activated gates: `r, z, n` and the recurrent part of `n` of a GRU; `i, f, g, o` of an LSTM.
    gates: Vec<f32>,
    /// States, `[frames * windows, hidden]`.
    states: Vec<f32>,
    /// An LSTM's memory and its hyperbolic tangent, side by side.
    memory: Vec<f32>,
}

/// Slopes of a layer.
pub(super) struct Slopes {
    /// Of the gates' inputs, `[frames * windows, gates]`.
    pub(super) gates: Tensor<2>,
    pub(super) weight: Tensor<2>,
    pub(super) bias: Option<Tensor<1>>,
}

fn read<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, Error> {
    let read = tensor.try_into_vec_as::<f32>();
    read.map_err(|e| Error::internal(format!("a product cannot be read from the device: {e}")))
}

fn on(values: Vec<f32>, columns: usize, device: &Device) -> Tensor<2> {
    let rows = values.len() / columns;
    Tensor::from_data(TensorData::new(values, [rows, columns]), device)
}

impl Recurrent {
    /// Gates of a frame: 3 or 4 parts of `hidden`.
    fn parts(&self) -> usize {
        if self.cell == Cell::Gru { 3 } else { 4 }
    }

    /// States of all frames from the gates' inputs, `[frames * windows, gates]`.
    ///
    /// # Errors
    /// When the device does not give its data.
    pub(super) fn forward(&self, inputs: Tensor<2>, frames: usize) -> Result<Tape, Error> {
        let [hidden, width] = self.weight.dims();
        let windows = inputs.dims()[0] / frames;
        let inputs = read(inputs)?;
        let bias = match &self.bias {
            Some(bias) => read(bias.clone())?,
            None => vec![0.0; width],
        };
        let rows = windows * frames;
        let memories = if self.cell == Cell::Lstm { 2 * rows * hidden } else { 0 };
        let mut tape = Tape {
            windows,
            hidden,
            gates: vec![0.0; rows * 4 * hidden],
            states: vec![0.0; rows * hidden],
            memory: vec![0.0; memories],
        };
        let arch = pulp::Arch::new();
        let weight = Packed::of(arch, &read(self.weight.clone())?, width);
        // Before the first frame the state is 0, and so is its product.
        let mut recurrent = vec![0.0; windows * width];
        for frame in 0..frames {
            if frame > 0 {
                let state = &tape.states[(frame - 1) * windows * hidden..][..windows * hidden];
                recurrent.fill(0.0);
                weight.add_product(arch, state, &mut recurrent);
            }
            for window in 0..windows {
                let row = frame * windows + window;
                let input = &inputs[row * width..][..width];
                let recurrent = &recurrent[window * width..][..width];
                match self.cell {
                    Cell::Gru => arch.dispatch(
                        #[inline(always)]
                        || tape.gru(row, input, recurrent, &bias),
                    ),
                    Cell::Lstm => arch.dispatch(
                        #[inline(always)]
                        || tape.lstm(row, input, recurrent),
                    ),
                }
            }
        }
        Ok(tape)
    }

    /// Slopes of the layer from those of its states.
    ///
    /// # Errors
    /// When the device does not give its data.
    pub(super) fn backward(&self, tape: &Tape, slopes: Tensor<2>) -> Result<Slopes, Error> {
        let Tape { windows, hidden, .. } = *tape;
        let (parts, device) = (self.parts(), slopes.device());
        let width = parts * hidden;
        let frames = tape.states.len() / (windows * hidden);
        let mut slopes = read(slopes)?;
        let mut gates = vec![0.0; tape.states.len() * parts];
        // A GRU's recurrent part of `n` has a slope of its own; other gates share theirs.
        let mut recurrent = vec![0.0; if self.cell == Cell::Gru { gates.len() } else { 0 }];
        let mut memory = vec![0.0; windows * hidden];
        let arch = pulp::Arch::new();
        let back = Packed::transposed(arch, &read(self.weight.clone())?, hidden);
        for frame in (0..frames).rev() {
            for window in 0..windows {
                let row = frame * windows + window;
                let (before, after) = slopes.split_at_mut(row * hidden);
                let state = &after[..hidden];
                let gates = &mut gates[row * width..][..width];
                match self.cell {
                    Cell::Gru => {
                        // What goes past the gates straight to the state before.
                        let kept = row.checked_sub(windows).map(|row| row * hidden);
                        let kept = kept.map(|start| &mut before[start..start + hidden]);
                        let recurrent = &mut recurrent[row * width..][..width];
                        arch.dispatch(
                            #[inline(always)]
                            || tape.gru_back(row, state, gates, recurrent, kept),
                        );
                    }
                    Cell::Lstm => {
                        let memory = &mut memory[window * hidden..][..hidden];
                        arch.dispatch(
                            #[inline(always)]
                            || tape.lstm_back(row, state, gates, memory),
                        );
                    }
                }
            }
            if frame > 0 {
                let all = if self.cell == Cell::Gru { &recurrent } else { &gates };
                let frame_slopes = &all[frame * windows * width..][..windows * width];
                let before = &mut slopes[(frame - 1) * windows * hidden..][..windows * hidden];
                back.add_product(arch, frame_slopes, before);
            }
        }
        let all = if self.cell == Cell::Gru { &recurrent } else { &gates };
        let weight = match frames > 1 {
            true => {
                let before = tape.states[..(frames - 1) * windows * hidden].to_vec();
                let before = on(before, hidden, &device).transpose();
                before.matmul(on(all[windows * width..].to_vec(), width, &device))
            }
            false => self.weight.zeros_like(),
        };
        let bias = self.bias.as_ref().map(|_| {
            let mut sums = vec![0.0_f32; width];
            for row in all.chunks_exact(width) {
                sums.iter_mut().zip(row).for_each(|(sum, slope)| *sum += slope);
            }
            Tensor::from_data(TensorData::new(sums, [width]), &device)
        });
        Ok(Slopes { gates: on(gates, width, &device), weight, bias })
    }
}

impl Tape {
    /// States of all frames, `[frames * windows, hidden]`.
    pub(super) fn states(&self, device: &Device) -> Tensor<2> {
        on(self.states.clone(), self.hidden, device)
    }

    /// $r = \sigma$, $z = \sigma$, $n = \tanh(a_n + r v_n)$, $h' = n + z (h - n)$.
    #[inline(always)]
    fn gru(&mut self, row: usize, input: &[f32], recurrent: &[f32], bias: &[f32]) {
        let hidden = self.hidden;
        let (before, after) = self.states.split_at_mut(row * hidden);
        let state = &mut after[..hidden];
        let last = row.checked_sub(self.windows).map(|row| &before[row * hidden..][..hidden]);
        let (r, rest) = self.gates[row * 4 * hidden..][..4 * hidden].split_at_mut(hidden);
        let (z, rest) = rest.split_at_mut(hidden);
        let (n, v) = rest.split_at_mut(hidden);
        let part = |x: &[f32], k: usize, i: usize| x[k * hidden + i];
        for i in 0..hidden {
            r[i] = (part(input, 0, i) + (part(recurrent, 0, i) + part(bias, 0, i))).sigmoid();
            z[i] = (part(input, 1, i) + (part(recurrent, 1, i) + part(bias, 1, i))).sigmoid();
            v[i] = part(recurrent, 2, i) + part(bias, 2, i);
            n[i] = Real::tanh(part(input, 2, i) + r[i] * v[i]);
        }
        match last {
            Some(last) => (0..hidden).for_each(|i| state[i] = n[i] + z[i] * (last[i] - n[i])),
            None => (0..hidden).for_each(|i| state[i] = n[i] - z[i] * n[i]),
        }
    }

    /// Slopes of the gates' inputs and of their recurrent parts; `kept` gets what the state before
    /// has of the state itself.
    #[inline(always)]
    fn gru_back(
        &self,
        row: usize,
        state: &[f32],
        gates: &mut [f32],
        recurrent: &mut [f32],
        kept: Option<&mut [f32]>,
    ) {
        let hidden = self.hidden;
        let (r, rest) = self.gates[row * 4 * hidden..][..4 * hidden].split_at(hidden);
        let (z, rest) = rest.split_at(hidden);
        let (n, v) = rest.split_at(hidden);
        let (dr, rest) = gates.split_at_mut(hidden);
        let (dz, dn) = rest.split_at_mut(hidden);
        let (or, rest) = recurrent.split_at_mut(hidden);
        let (oz, on) = rest.split_at_mut(hidden);
        let (state, v, dn, on) =
            (&state[..hidden], &v[..hidden], &mut dn[..hidden], &mut on[..hidden]);
        let last = row.checked_sub(self.windows).map(|row| &self.states[row * hidden..][..hidden]);
        for i in 0..hidden {
            let last = last.map_or(0.0, |last| last[i]);
            let slope_n = state[i] * (1.0 - z[i]) * (1.0 - n[i] * n[i]);
            let slope_z = state[i] * (last - n[i]) * (z[i] * (1.0 - z[i]));
            let slope_r = slope_n * v[i] * (r[i] * (1.0 - r[i]));
            (dr[i], dz[i], dn[i]) = (slope_r, slope_z, slope_n);
            (or[i], oz[i], on[i]) = (slope_r, slope_z, slope_n * r[i]);
        }
        if let Some(kept) = kept {
            for i in 0..hidden {
                kept[i] += state[i] * z[i];
            }
        }
    }

    /// $c' = f c + i g$, $h' = o \tanh c'$.
    #[inline(always)]
    fn lstm(&mut self, row: usize, input: &[f32], recurrent: &[f32]) {
        let hidden = self.hidden;
        let state = &mut self.states[row * hidden..][..hidden];
        let (before, after) = self.memory.split_at_mut(row * 2 * hidden);
        let (memory, bent) = after[..2 * hidden].split_at_mut(hidden);
        let last = row.checked_sub(self.windows).map(|row| &before[row * 2 * hidden..][..hidden]);
        let (i, rest) = self.gates[row * 4 * hidden..][..4 * hidden].split_at_mut(hidden);
        let (f, rest) = rest.split_at_mut(hidden);
        let (g, o) = rest.split_at_mut(hidden);
        let part = |k: usize, unit: usize| input[k * hidden + unit] + recurrent[k * hidden + unit];
        for k in 0..hidden {
            i[k] = part(0, k).sigmoid();
            f[k] = part(1, k).sigmoid();
            g[k] = Real::tanh(part(2, k));
            o[k] = part(3, k).sigmoid();
        }
        for k in 0..hidden {
            memory[k] = f[k] * last.map_or(0.0, |last| last[k]) + i[k] * g[k];
            bent[k] = Real::tanh(memory[k]);
            state[k] = o[k] * bent[k];
        }
    }

    /// Slopes of the gates' inputs; `memory` holds those of the memory behind the frame, then of
    /// the memory before it.
    #[inline(always)]
    fn lstm_back(&self, row: usize, state: &[f32], gates: &mut [f32], memory: &mut [f32]) {
        let hidden = self.hidden;
        let (i, rest) = self.gates[row * 4 * hidden..][..4 * hidden].split_at(hidden);
        let (f, rest) = rest.split_at(hidden);
        let (g, o) = rest.split_at(hidden);
        let bent = &self.memory[row * 2 * hidden..][hidden..2 * hidden];
        let last = row.checked_sub(self.windows);
        let last = last.map(|row| &self.memory[row * 2 * hidden..][..hidden]);
        let (di, rest) = gates.split_at_mut(hidden);
        let (df, rest) = rest.split_at_mut(hidden);
        let (dg, d_o) = rest.split_at_mut(hidden);
        let (state, o, d_o, memory) =
            (&state[..hidden], &o[..hidden], &mut d_o[..hidden], &mut memory[..hidden]);
        for k in 0..hidden {
            let last = last.map_or(0.0, |last| last[k]);
            let slope = memory[k] + state[k] * o[k] * (1.0 - bent[k] * bent[k]);
            di[k] = slope * g[k] * (i[k] * (1.0 - i[k]));
            df[k] = slope * last * (f[k] * (1.0 - f[k]));
            dg[k] = slope * i[k] * (1.0 - g[k] * g[k]);
            d_o[k] = state[k] * bent[k] * (o[k] * (1.0 - o[k]));
            memory[k] = slope * f[k];
        }
    }
}
