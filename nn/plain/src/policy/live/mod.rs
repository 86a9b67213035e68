//! A checkpoint, frame after frame -> logits, with the state carried from frame to frame.
//!
//! All memory is taken when it is made: a step allocates nothing. Its numbers are `f32` in play and
//! `f64` where the step itself is checked.

mod attention;
mod kernels;
mod real;
mod recurrent;
mod scan;
mod weights;

use features::{Action, COMPONENTS};

use super::checkpoint::Checkpoint;
use super::contract::{Backbone, HeadKind};
use super::error::CheckpointError;
use super::layout::Inputs;
use attention::Attention;
use kernels::{Instructions, rectify};
pub use real::Real;
use recurrent::{Gru, Lstm};
use scan::Scan;
use weights::{Affine, Norm, Source};

#[derive(Clone, Debug)]
enum Layers<R> {
    Mlp(Vec<Affine<R>>),
    Gru(Vec<Gru<R>>),
    Lstm(Vec<Lstm<R>>),
    Attention(Affine<R>, Vec<Attention<R>>, Norm<R>),
    SelectiveScan(Affine<R>, Vec<Scan<R>>, Norm<R>),
}

/// A network that plays: it sees one frame at a time.
#[derive(Clone, Debug)]
pub struct Live<R> {
    features: usize,
    embedding: usize,
    inputs: Inputs,
    tables: Vec<Vec<R>>,
    layers: Layers<R>,
    head_input: Affine<R>,
    outputs: Vec<Affine<R>>,
    /// Rows that a component's class adds to the residual; none of independent heads.
    conditions: Vec<Vec<R>>,
    u: Vec<R>,
    x: Vec<R>,
    trunk: Vec<R>,
    residual: Vec<R>,
    rectified: Vec<R>,
    logits: Vec<Vec<R>>,
}

impl<R: Real> Live<R> {
    /// The network of a checkpoint, before the first frame of a game.
    ///
    /// # Errors
    /// A text that is no schema, which a checkpoint does not have.
    pub fn new(checkpoint: &Checkpoint) -> Result<Self, CheckpointError> {
        let contract = checkpoint.contract();
        let source = Source { checkpoint, instructions: Instructions::new() };
        let inputs = contract.inputs()?;
        let backbone = &contract.architecture.backbone;
        let residual = contract.architecture.heads.residual;
        let conditions = match contract.architecture.heads.kind {
            HeadKind::Autoregressive => COMPONENTS.len() - 1,
            HeadKind::Independent => 0,
        };
        let zeros = |count: usize| vec![R::default(); count];
        Ok(Self {
            features: contract.features()?.width(),
            embedding: contract.architecture.embedding,
            tables: (0..inputs.rows.len())
                .map(|k| source.values(&format!("embedding.{k}")))
                .collect(),
            layers: layers(&source, backbone),
            head_input: source.affine("heads.input"),
            outputs: (0..COMPONENTS.len())
                .map(|c| source.affine(&format!("heads.output.{c}")))
                .collect(),
            conditions: (0..conditions)
                .map(|c| source.values(&format!("heads.embedding.{c}")))
                .collect(),
            u: zeros(inputs.width),
            x: zeros(backbone.hidden()),
            trunk: zeros(backbone.hidden()),
            residual: zeros(residual),
            rectified: zeros(residual),
            logits: contract.components().iter().map(|count| zeros(*count)).collect(),
            inputs,
        })
    }

    /// Forgets all frames, for the next game.
    pub fn reset(&mut self) {
        match &mut self.layers {
            Layers::Mlp(_) => {}
            Layers::Gru(layers) => layers.iter_mut().for_each(Gru::reset),
            Layers::Lstm(layers) => layers.iter_mut().for_each(Lstm::reset),
            Layers::Attention(_, layers, _) => layers.iter_mut().for_each(Attention::reset),
            Layers::SelectiveScan(_, layers, _) => layers.iter_mut().for_each(Scan::reset),
        }
    }

    /// Sees a frame and chooses an action: `choose` gets a component's number and its logits, and
    /// gives the class that components behind it see. A class behind the last counts as the last.
    ///
    /// # Errors
    /// Another number of features than the schema has; the state is then as before.
    pub fn step(
        &mut self,
        features: &[f32],
        mut choose: impl FnMut(usize, &[R]) -> u8,
    ) -> Result<Action, CheckpointError> {
        if features.len() != self.features {
            let found = features.len();
            return Err(CheckpointError::mismatch("number of features", self.features, found));
        }
        self.see(features);
        self.head_input.apply(&self.trunk, &mut self.residual);
        let mut action = Action::default();
        for (component, output) in self.outputs.iter_mut().enumerate() {
            self.rectified.copy_from_slice(&self.residual);
            rectify(&mut self.rectified);
            let logits = &mut self.logits[component];
            output.apply(&self.rectified, logits);
            let last = logits.len() - 1;
            let class = usize::from(choose(component, logits)).min(last);
            action.0[component] = class as u8;
            if let Some(rows) = self.conditions.get(component) {
                let width = self.residual.len();
                kernels::add_to(&mut self.residual, &rows[class * width..][..width]);
            }
        }
        Ok(action)
    }

    /// What the heads saw of the last frame.
    #[must_use]
    pub fn trunk(&self) -> &[R] {
        &self.trunk
    }

    /// The last frame's logits of a component.
    #[must_use]
    pub fn logits(&self, component: usize) -> &[R] {
        self.logits.get(component).map_or(&[], Vec::as_slice)
    }

    fn see(&mut self, features: &[f32]) {
        let Self { inputs, tables, u, x, trunk, embedding, .. } = self;
        let (plain, rest) = u.split_at_mut(inputs.plain.len());
        for (place, column) in plain.iter_mut().zip(&inputs.plain) {
            *place = R::of(features[*column]);
        }
        for (place, (column, table)) in rest.chunks_exact_mut(*embedding).zip(&inputs.tables) {
            let row = (features[*column].max(0.0) as usize).min(inputs.rows[*table] - 1);
            place.copy_from_slice(&tables[*table][row * *embedding..][..*embedding]);
        }
        // Layer after layer from `x` to `trunk`; the first reads `u`.
        match &mut self.layers {
            Layers::Mlp(layers) => {
                for (k, layer) in layers.iter_mut().enumerate() {
                    layer.apply(if k == 0 { u } else { x }, trunk);
                    rectify(trunk);
                    x.copy_from_slice(trunk);
                }
            }
            Layers::Gru(layers) => {
                for (k, layer) in layers.iter_mut().enumerate() {
                    layer.step(if k == 0 { u } else { x }, trunk);
                    x.copy_from_slice(trunk);
                }
            }
            Layers::Lstm(layers) => {
                for (k, layer) in layers.iter_mut().enumerate() {
                    layer.step(if k == 0 { u } else { x }, trunk);
                    x.copy_from_slice(trunk);
                }
            }
            Layers::Attention(input, layers, norm) => {
                input.apply(u, x);
                layers.iter_mut().for_each(|layer| layer.step(x));
                norm.apply(x, trunk);
            }
            Layers::SelectiveScan(input, layers, norm) => {
                input.apply(u, x);
                layers.iter_mut().for_each(|layer| layer.step(x));
                norm.apply(x, trunk);
            }
        }
    }
}

fn layers<R: Real>(source: &Source<'_>, backbone: &Backbone) -> Layers<R> {
    let names = (0..backbone.layers()).map(|layer| format!("backbone.layers.{layer}"));
    match *backbone {
        Backbone::Mlp { .. } => Layers::Mlp(names.map(|name| source.affine(&name)).collect()),
        Backbone::Gru { hidden, .. } => {
            Layers::Gru(names.map(|name| Gru::new(source, &name, hidden)).collect())
        }
        Backbone::Lstm { hidden, .. } => {
            Layers::Lstm(names.map(|name| Lstm::new(source, &name, hidden)).collect())
        }
        Backbone::Attention { hidden, heads, window, feed_forward, .. } => {
            let sizes = attention::Sizes { hidden, heads, window, feed_forward };
            let layers = names.map(|name| Attention::new(source, &name, sizes)).collect();
            Layers::Attention(source.affine("backbone.input"), layers, source.norm("backbone.norm"))
        }
        Backbone::SelectiveScan { hidden, state, expand, convolution, rank, .. } => {
            let sizes = scan::Sizes { hidden, inner: expand * hidden, state, convolution, rank };
            let layers = names.map(|name| Scan::new(source, &name, sizes)).collect();
            let (input, norm) = (source.affine("backbone.input"), source.norm("backbone.norm"));
            Layers::SelectiveScan(input, layers, norm)
        }
    }
}
