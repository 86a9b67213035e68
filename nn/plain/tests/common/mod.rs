//! Sizes -> checkpoints with weights that look random, and frames for them.
#![allow(dead_code, reason = "each program of tests uses a part")]

use features::{Discretiser, Schema};
use plain::policy::{
    Architecture, Backbone, Checkpoint, Contract, HeadKind, Heads, Tensor, TensorShape,
};

/// Numbers that look random in [-1, 1) (Marsaglia 2003, xorshift).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn draw(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// One of each kind, of sizes that are no multiples of a vector's length.
pub(crate) fn backbones() -> Vec<Backbone> {
    vec![
        Backbone::Mlp { hidden: 50, layers: 3 },
        Backbone::Gru { hidden: 37, layers: 2 },
        Backbone::Lstm { hidden: 37, layers: 2 },
        Backbone::Attention { hidden: 36, layers: 2, heads: 3, window: 17, feed_forward: 70 },
        Backbone::SelectiveScan {
            hidden: 21,
            layers: 2,
            state: 11,
            expand: 2,
            convolution: 4,
            rank: 3,
        },
    ]
}

pub(crate) fn checkpoint(backbone: Backbone, kind: HeadKind) -> Checkpoint {
    let heads = Heads { kind, residual: 33 };
    let architecture = Architecture { embedding: 5, backbone, heads };
    let schema = Schema::egocentric();
    checkpoint_of(Contract::new(architecture, &schema, Discretiser::default(), 1))
}

/// Weights as a network of this size begins with, larger in the heads.
pub(crate) fn checkpoint_of(contract: Contract) -> Checkpoint {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let tensor = |TensorShape { name, shape }: TensorShape| {
        let inputs = shape.first().copied().unwrap_or(1) as f32;
        let scale = if shape.len() == 1 || name.ends_with("log_decay") {
            0.5
        } else if name.starts_with("heads") {
            3.0 / inputs.sqrt()
        } else {
            1.5 / inputs.sqrt()
        };
        let centre = if name.ends_with(".scale") { 1.0 } else { 0.0 };
        let count = shape.iter().product::<usize>();
        let values = (0..count).map(|_| centre + scale * numbers.draw()).collect();
        (name, Tensor { shape, values })
    };
    let shapes = contract.tensors().expect("a schema");
    let tensors = shapes.into_iter().map(tensor).collect();
    Checkpoint::new(contract, tensors).expect("they fit")
}

/// Features and classes of frames.
pub(crate) fn frames(checkpoint: &Checkpoint, count: usize) -> (Vec<f32>, Vec<[u8; 13]>) {
    let contract = checkpoint.contract();
    let schema = contract.features().expect("a schema");
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut features = Vec::new();
    for _ in 0..count {
        let from = features.len();
        features.extend((0..schema.width()).map(|_| 2.0 * numbers.draw()));
        for (column, rows) in schema.tables() {
            features[from + column] = ((numbers.draw() + 1.0) / 2.0 * rows as f32).floor();
        }
    }
    let mut class = |count: usize| ((numbers.draw() + 1.0) / 2.0 * count as f32) as u8;
    let components = contract.components();
    let classes = (0..count).map(|_| components.map(&mut class)).collect();
    (features, classes)
}
