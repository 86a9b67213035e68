//! Precision: positions that were sampled, and data -> warnings where computing in `f32` changes
//! the posterior.
//!
//! A density in `f32` is rough: its value at each position is off by what rounding makes there. An
//! offset that is the same everywhere changes nothing, so what counts is how much the error varies
//! between draws, which is measured.

use std::ops::ControlFlow;
use std::sync::Mutex;

use exmc_density::{DensityModel, LogDensity};
use exmc_diagnose::Warning;
use exmc_graph::{DType, Precision, Tensor};
use exmc_infer::{ChainResult, Draw, Observer, RunPhase, SamplerConfig, State};

use crate::compile::BoundModel;
use crate::error::Error;

/// Positions of each chain that are looked at.
const POSITIONS: u64 = 16;
/// Nats by which an error may vary between draws: less than a tenth changes acceptance by less than
/// a tenth of it, and averages over draws by far less, because the error has no direction.
const TOLERATED: f64 = 0.1;
/// Part of data's standard deviation that rounding may move them by.
const VISIBLE: f64 = 1e-3;

/// What computing in `f32` changes at some positions; see [`BoundModel::rounding`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rounding {
    /// Positions that were looked at.
    pub positions: usize,
    /// Those of them where the log density is finite in `f64` and not in the model's precision.
    pub not_finite: usize,
    /// Largest error of the log density at the other positions less the smallest, in nats: an
    /// offset that is the same everywhere does not count. 0 where nothing is rounded.
    pub spread: f64,
}

impl BoundModel {
    /// Compares the log density with that of the same model in `f64`, at positions one after the
    /// other.
    ///
    /// **Shapes**: `positions` holds whole positions of [`dim`](DensityModel::dim) numbers.
    /// **Cost**: compiles the model again, if anything in it is rounded.
    ///
    /// # Errors
    /// When the model cannot be evaluated there (an index that a loop computes leaves its extent).
    pub fn rounding(&self, positions: &[f64]) -> Result<Rounding, Error> {
        let dim = self.dim().max(1);
        let mut rounding =
            Rounding { positions: positions.len() / dim, not_finite: 0, spread: 0.0 };
        if !self.compiled().program().rounds() {
            return Ok(rounding);
        }
        let exact = self.in_f64()?;
        let (mut rounded_density, mut exact_density) = (self.instance(), exact.instance());
        let mut gradient = vec![0.0; dim];
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for position in positions.chunks_exact(dim) {
            let exact = exact_density.logp_grad(position, &mut gradient);
            let exact = exact.map_err(|e| Error::internal(e.to_string()))?;
            let found = rounded_density.logp_grad(position, &mut gradient);
            let found = found.map_err(|e| Error::internal(e.to_string()))?;
            if !exact.is_finite() {
                continue;
            }
            if found.is_finite() {
                (low, high) = (low.min(found - exact), high.max(found - exact));
            } else {
                rounding.not_finite += 1;
            }
        }
        rounding.spread = (high - low).max(0.0);
        Ok(rounding)
    }

    /// Warnings about the model's precision, given positions that were sampled; none where nothing
    /// is rounded.
    pub(crate) fn precision_warnings(&self, positions: &[f64]) -> Result<Vec<Warning>, Error> {
        if !self.compiled().program().rounds() {
            return Ok(Vec::new());
        }
        let Rounding { positions: n, not_finite, spread } = self.rounding(positions)?;
        let mut found = Vec::new();
        if not_finite > 0 {
            found
                .push(format!("the log density is not finite in f32 at {not_finite} of {n} draws"));
        }
        if spread > TOLERATED {
            found.push(format!(
                "rounding to f32 changes the log density by up to {spread:.2} nats from draw to draw"
            ));
        }
        for (name, value) in self.data() {
            let moved = moved(value);
            if moved > VISIBLE {
                found.push(format!(
                    "rounding to f32 moves `{name}` by up to {moved:.2} of its standard deviation"
                ));
            }
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Warning::precision(found.join("; "))])
    }
}

/// The most that rounding to `f32` moves a number of an array, as a part of its column's standard
/// deviation (an array of one axis is a column); 0 for arrays that are too short to be rounded, for
/// integers, and for constant columns.
fn moved(value: &Tensor) -> f64 {
    let values = value.values();
    let long = Precision::F32.of(values.len()) == Precision::F32;
    if !long || value.dtype() != DType::Real {
        return 0.0;
    }
    let columns = match value.shape().extents() {
        [_, .., columns] => *columns,
        _ => 1,
    };
    let of_column = |column: usize| {
        let column_values = || values.iter().skip(column).step_by(columns);
        let n = (values.len() / columns) as f64;
        let mean = column_values().sum::<f64>() / n;
        let spread = (column_values().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
        let most =
            column_values().map(|&x| (Precision::F32.round(x) - x).abs()).fold(0.0, f64::max);
        if most == 0.0 || spread == 0.0 { 0.0 } else { most / spread }
    };
    (0..columns).map(of_column).fold(0.0, f64::max)
}

/// An observer that keeps some positions of every chain, after warmup, and passes everything on.
pub(crate) struct Positions<'a> {
    observer: &'a dyn Observer,
    every: u64,
    chains: Vec<Mutex<Vec<f64>>>,
}

impl<'a> Positions<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, config: &SamplerConfig) -> Self {
        let chains = (0..config.chains).map(|_| Mutex::default()).collect();
        Self { observer, every: config.draws.div_ceil(POSITIONS).max(1), chains }
    }

    /// The positions, those of one chain after those of another.
    pub(crate) fn into_positions(self) -> Vec<f64> {
        let chains = self.chains.into_iter();
        chains.flat_map(|c| c.into_inner().unwrap_or_else(|poison| poison.into_inner())).collect()
    }
}

impl Observer for Positions<'_> {
    fn chain_started(&self, chain: u32, state: &State) {
        self.observer.chain_started(chain, state);
    }

    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        if draw.phase == RunPhase::Sampling && draw.index.is_multiple_of(self.every) {
            let positions = self.chains[draw.chain as usize].lock();
            positions.unwrap_or_else(|poison| poison.into_inner()).extend_from_slice(draw.position);
        }
        self.observer.draw(draw)
    }

    fn chain_finished(&self, result: &ChainResult) {
        self.observer.chain_finished(result);
    }
}
