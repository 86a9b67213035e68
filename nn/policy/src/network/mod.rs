//! A batch -> logits of every frame: embeddings of tables, a backbone, heads.
//!
//! The formulas, and the names and shapes of all parameters, are in `docs/policy.md`; `plain` holds
//! the same networks as loops, and tests compare the two.

mod attention;
mod build;
mod heads;
mod host;
mod product;
mod recurrent;
mod scan;

use burn::module::{Module, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{DType, Device, Tensor, activation::relu};
use plain::policy::{Backbone, Checkpoint, Contract, HeadKind};

use crate::data::Tensors;
use crate::error::Error;
use crate::named::{arrays, with_arrays};
use attention::Attention;
use build::{Affine, Build, Norm};
use heads::Heads;
use recurrent::{Gru, Lstm};
use scan::{Scan, ScanSizes};

/// A layer of the backbone.
#[derive(Module, Debug)]
pub(crate) enum Layer {
    Mlp(Affine),
    Gru(Gru),
    Lstm(Lstm),
    Attention(Attention),
    Scan(Scan),
}

/// The part between features and heads.
#[derive(Module, Debug)]
pub(crate) struct Trunk {
    input: Option<Affine>,
    layers: Vec<Layer>,
    norm: Option<Norm>,
}

/// The whole network.
#[derive(Module, Debug)]
pub struct Network {
    /// Tables, which columns with equally many rows share.
    embedding: Vec<Param<Tensor<2>>>,
    backbone: Trunk,
    heads: Heads,
    /// The table of each column that holds rows of one.
    #[module(skip)]
    tables: Vec<usize>,
}

/// What the network makes of a batch.
#[derive(Clone, Debug)]
pub struct Output {
    /// What the heads see of each frame, `[frames * windows, hidden]`.
    pub trunk: Tensor<2>,
    /// Logits of each component, `[frames * windows, classes]`.
    pub logits: Vec<Tensor<2>>,
}

impl Trunk {
    fn new(build: &mut Build<'_>, backbone: &Backbone, inputs: usize) -> Self {
        let hidden = backbone.hidden();
        let mut trunk = Self { input: None, layers: Vec::new(), norm: None };
        let is_residual =
            matches!(backbone, Backbone::Attention { .. } | Backbone::SelectiveScan { .. });
        if is_residual {
            trunk.input = Some(build.affine(inputs, hidden));
        }
        for layer in 0..backbone.layers() {
            let inputs = if layer == 0 { inputs } else { hidden };
            trunk.layers.push(match *backbone {
                Backbone::Mlp { .. } => Layer::Mlp(build.affine(inputs, hidden)),
                Backbone::Gru { .. } => Layer::Gru(Gru::new(build, inputs, hidden)),
                Backbone::Lstm { .. } => Layer::Lstm(Lstm::new(build, inputs, hidden)),
                Backbone::Attention { heads, window, feed_forward, .. } => {
                    Layer::Attention(Attention::new(build, hidden, heads, window, feed_forward))
                }
                Backbone::SelectiveScan { state, expand, convolution, rank, .. } => {
                    let inner = expand * hidden;
                    let sizes = ScanSizes { hidden, state, inner, convolution, rank };
                    Layer::Scan(Scan::new(build, sizes))
                }
            });
        }
        if is_residual {
            trunk.norm = Some(build.norm(hidden));
        }
        trunk
    }

    fn forward(&self, x: Tensor<2>, frames: usize) -> Tensor<2> {
        let x = match &self.input {
            Some(input) => input.forward(x),
            None => x,
        };
        let x = self.layers.iter().fold(x, |x, layer| match layer {
            Layer::Mlp(affine) => relu(affine.forward(x)),
            Layer::Gru(gru) => gru.forward(x, frames),
            Layer::Lstm(lstm) => lstm.forward(x, frames),
            Layer::Attention(attention) => attention.forward(x, frames),
            Layer::Scan(scan) => scan.forward(x, frames),
        });
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }
}

impl Network {
    /// A network with initial weights of a seed.
    ///
    /// # Errors
    /// A contract that is not sound.
    pub fn new(
        contract: &Contract,
        seed: u64,
        device: &Device,
        dtype: DType,
    ) -> Result<Self, Error> {
        contract.check()?;
        let inputs = contract.inputs()?;
        let architecture = &contract.architecture;
        let mut build = Build::new(seed, device, dtype);
        let width = architecture.embedding;
        let embedding = inputs.rows.iter().map(|rows| build.uniform([*rows, width], 0.1)).collect();
        let backbone = Trunk::new(&mut build, &architecture.backbone, inputs.width);
        let heads = Heads::new(
            &mut build,
            architecture.backbone.hidden(),
            architecture.heads.residual,
            &contract.components(),
            architecture.heads.kind == HeadKind::Autoregressive,
        );
        let tables = inputs.tables.iter().map(|(_, table)| *table).collect();
        Ok(Self { embedding, backbone, heads, tables })
    }

    /// The network of a checkpoint.
    ///
    /// # Errors
    /// A tensor that this program's network does not have as the checkpoint does.
    pub fn open(checkpoint: &Checkpoint, device: &Device, dtype: DType) -> Result<Self, Error> {
        let network = Self::new(checkpoint.contract(), 0, device, dtype)?;
        with_arrays(network, &|name| {
            let (_, tensor) = checkpoint.tensors().find(|(n, _)| *n == name)?;
            Some((tensor.shape.as_slice(), tensor.values.as_slice()))
        })
    }

    /// The checkpoint of the network.
    ///
    /// # Errors
    /// Weights that are not finite.
    pub fn checkpoint(&self, contract: &Contract) -> Result<Checkpoint, Error> {
        let tensors = arrays(self)?.into_iter().map(|array| {
            (array.name, plain::policy::Tensor { shape: array.shape, values: array.values })
        });
        Ok(Checkpoint::new(contract.clone(), tensors.collect())?)
    }

    /// Logits of every frame of a batch; autoregressive heads see its true classes.
    #[must_use]
    pub fn forward(&self, batch: &Tensors) -> Output {
        let trunk = self.backbone.forward(self.inputs(batch), batch.frames);
        Output { logits: self.heads.forward(trunk.clone(), &batch.targets), trunk }
    }

    /// Gradients of a loss of the network's output, and what `loss` gives beside it.
    ///
    /// Recurrent layers in `f32` run on the host, outside of the graph; other networks, and all
    /// with `on_graph`, are one graph. Both give the same numbers but for rounding.
    ///
    /// # Errors
    /// What `loss` reports, or a device that does not give its data.
    pub fn gradients<T>(
        &self,
        batch: &Tensors,
        on_graph: bool,
        loss: impl FnOnce(&Output) -> Result<(Tensor<1>, T), Error>,
    ) -> Result<(GradientsParams, T), Error> {
        let is_recurrent = |layer: &Layer| matches!(layer, Layer::Gru(_) | Layer::Lstm(_));
        let on_host = self.backbone.layers.iter().all(is_recurrent)
            && batch.plain.dtype() == DType::F32
            && batch.plain.is_autodiff();
        if on_graph || !on_host {
            let (total, value) = loss(&self.forward(batch))?;
            return Ok((GradientsParams::from_grads(total.backward(), self), value));
        }
        let mut x = self.inputs(batch);
        let mut passed = Vec::with_capacity(self.backbone.layers.len());
        for layer in &self.backbone.layers {
            let (gates, recurrent) = match layer {
                Layer::Gru(gru) => gru.on_host(x),
                Layer::Lstm(lstm) => lstm.on_host(x),
                _ => return Err(Error::internal("a layer of another kind among recurrent ones")),
            };
            let tape = recurrent.forward(gates.clone().inner(), batch.frames)?;
            // A new beginning of the graph: what it comes from is in the tape.
            let states = tape.states(&gates.device().inner()).autodiff().require_grad();
            x = states.clone();
            passed.push((layer, gates, recurrent, tape, states));
        }
        let output = Output { logits: self.heads.forward(x.clone(), &batch.targets), trunk: x };
        let (total, value) = loss(&output)?;
        let mut slopes = total.backward();
        let mut all = GradientsAccumulator::new();
        for (layer, gates, recurrent, tape, states) in passed.into_iter().rev() {
            let slope = states.grad_remove(&mut slopes);
            let slope = slope.ok_or_else(|| Error::internal("the states have no gradient"))?;
            all.accumulate(self, GradientsParams::from_grads(slopes, self));
            let found = recurrent.backward(&tape, slope)?;
            // The gradient of this sum with respect to the gates is what was found.
            slopes = (gates * found.gates.clone().autodiff()).sum().backward();
            let mut layer_gradients = GradientsParams::new();
            match layer {
                Layer::Gru(gru) => gru.register(found, &mut layer_gradients),
                Layer::Lstm(lstm) => lstm.register(found, &mut layer_gradients),
                _ => {}
            }
            all.accumulate(self, layer_gradients);
        }
        all.accumulate(self, GradientsParams::from_grads(slopes, self));
        Ok((all.grads(), value))
    }

    /// What the backbone sees of every frame: plain columns and rows of tables.
    fn inputs(&self, batch: &Tensors) -> Tensor<2> {
        let mut inputs = vec![batch.plain.clone()];
        for (rows, table) in batch.tables.iter().zip(&self.tables) {
            inputs.push(self.embedding[*table].val().select(0, rows.clone()));
        }
        Tensor::cat(inputs, 1)
    }
}
