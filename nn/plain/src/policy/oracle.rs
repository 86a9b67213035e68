//! A checkpoint and the features of a whole sequence -> trunk and logits in `f64`, by the formulas.
//!
//! Every layer runs over all frames before the next, nothing is carried between calls, and products
//! are summed with compensation. It is slow, and what every other executor is compared with.

use features::COMPONENTS;

use super::checkpoint::Checkpoint;
use super::contract::{Backbone, HeadKind};
use super::error::CheckpointError;
use super::layout::Inputs;
use crate::sum;

/// Added to variances.
pub(super) const NORM_EPSILON: f64 = 1e-5;

type Rows = Vec<Vec<f64>>;

/// What the network makes of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// What the heads see of each frame.
    pub trunk: Rows,
    /// Logits of each component of each frame.
    pub logits: Vec<[Vec<f64>; 13]>,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

fn silu(x: f64) -> f64 {
    x * sigmoid(x)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| x.max(0.0)).collect()
}

fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The tensors of a checkpoint as `f64`, by what is in front of their names.
struct Weights<'a> {
    checkpoint: &'a Checkpoint,
}

impl Weights<'_> {
    fn get(&self, name: &str) -> Vec<f64> {
        self.checkpoint.values(name).iter().map(|value| f64::from(*value)).collect()
    }

    /// $xW$ for each row; columns of $W$ by the lengths.
    fn product(&self, name: &str, x: &Rows) -> Rows {
        let weight = self.get(&format!("{name}.weight"));
        x.iter().map(|x| product(x, &weight)).collect()
    }

    fn affine(&self, name: &str, x: &Rows) -> Rows {
        let bias = self.get(&format!("{name}.bias"));
        self.product(name, x).iter().map(|y| add(y, &bias)).collect()
    }

    fn norm(&self, name: &str, x: &Rows) -> Rows {
        let scale = self.get(&format!("{name}.scale"));
        let shift = self.get(&format!("{name}.shift"));
        let one = |x: &Vec<f64>| {
            let count = x.len() as f64;
            let mean = sum(x.iter().copied()) / count;
            let variance = sum(x.iter().map(|x| (x - mean) * (x - mean))) / count;
            let root = (variance + NORM_EPSILON).sqrt();
            (0..x.len()).map(|i| (x[i] - mean) / root * scale[i] + shift[i]).collect()
        };
        x.iter().map(one).collect()
    }
}

fn product(x: &[f64], weight: &[f64]) -> Vec<f64> {
    let columns = weight.len() / x.len();
    let column = |j: usize| sum((0..x.len()).map(|i| x[i] * weight[i * columns + j]));
    (0..columns).map(column).collect()
}

/// Trunk and logits of a sequence that begins with a game.
///
/// **Shapes**: `features` holds the schema's width of numbers for each frame, `classes` the classes
/// of each frame that autoregressive heads condition on (others do not look at them).
///
/// # Errors
/// Lengths that do not fit each other.
pub fn evaluate(
    checkpoint: &Checkpoint,
    features: &[f32],
    classes: &[[u8; 13]],
) -> Result<Outputs, CheckpointError> {
    let contract = checkpoint.contract();
    let width = contract.features()?.width();
    if features.len() != width * classes.len() {
        let expected = format!("{width} for each of {} frames", classes.len());
        return Err(CheckpointError::mismatch("number of features", features.len(), expected));
    }
    let inputs = contract.inputs()?;
    let weights = Weights { checkpoint };
    let tables: Rows =
        (0..inputs.rows.len()).map(|k| weights.get(&format!("embedding.{k}"))).collect();
    let embedding = contract.architecture.embedding;
    let u: Rows =
        features.chunks(width).map(|frame| input(frame, &inputs, &tables, embedding)).collect();
    let trunk = trunk(&contract.architecture.backbone, &weights, u);
    let is_autoregressive = contract.architecture.heads.kind == HeadKind::Autoregressive;
    let first = weights.affine("heads.input", &trunk);
    let heads = first.into_iter().zip(classes).map(|(mut residual, classes)| {
        std::array::from_fn(|c| {
            let name = format!("heads.output.{c}");
            let logits = weights.affine(&name, &vec![relu(&residual)]).concat();
            if is_autoregressive && c + 1 < COMPONENTS.len() {
                let rows = weights.get(&format!("heads.embedding.{c}"));
                let class = usize::from(classes[c]).min(logits.len() - 1);
                residual = add(&residual, &rows[class * residual.len()..][..residual.len()]);
            }
            logits
        })
    });
    let logits = heads.collect();
    Ok(Outputs { trunk, logits })
}

fn input(frame: &[f32], inputs: &Inputs, tables: &Rows, embedding: usize) -> Vec<f64> {
    let mut u: Vec<f64> = inputs.plain.iter().map(|column| f64::from(frame[*column])).collect();
    for (column, table) in &inputs.tables {
        let row = (frame[*column].max(0.0) as usize).min(inputs.rows[*table] - 1);
        u.extend(&tables[*table][row * embedding..][..embedding]);
    }
    u
}

fn trunk(backbone: &Backbone, weights: &Weights<'_>, mut x: Rows) -> Rows {
    let names = (0..backbone.layers()).map(|layer| format!("backbone.layers.{layer}"));
    match *backbone {
        Backbone::Mlp { .. } => {
            for name in names {
                x = weights.affine(&name, &x).iter().map(|x| relu(x)).collect();
            }
            x
        }
        Backbone::Gru { hidden, .. } => {
            for name in names {
                x = gru(weights, &name, &x, hidden);
            }
            x
        }
        Backbone::Lstm { hidden, .. } => {
            for name in names {
                x = lstm(weights, &name, &x, hidden);
            }
            x
        }
        Backbone::Attention { hidden, heads, window, .. } => {
            x = weights.affine("backbone.input", &x);
            for name in names {
                let seen = weights.norm(&format!("{name}.norm_1"), &x);
                let parts = weights.affine(&format!("{name}.query_key_value"), &seen);
                let distance = weights.get(&format!("{name}.distance"));
                let mixed = attention(&parts, &distance, hidden, heads, window);
                x = residual(&x, &weights.affine(&format!("{name}.output"), &mixed));
                let seen = weights.norm(&format!("{name}.norm_2"), &x);
                let up = weights.affine(&format!("{name}.up"), &seen);
                let up = up.iter().map(|x| relu(x)).collect();
                x = residual(&x, &weights.affine(&format!("{name}.down"), &up));
            }
            weights.norm("backbone.norm", &x)
        }
        Backbone::SelectiveScan { state, rank, .. } => {
            x = weights.affine("backbone.input", &x);
            for name in names {
                let seen = weights.norm(&format!("{name}.norm"), &x);
                let y = scan(weights, &name, &seen, state, rank);
                x = residual(&x, &weights.product(&format!("{name}.output"), &y));
            }
            weights.norm("backbone.norm", &x)
        }
    }
}

fn residual(x: &Rows, y: &Rows) -> Rows {
    x.iter().zip(y).map(|(x, y)| add(x, y)).collect()
}

fn gru(weights: &Weights<'_>, name: &str, x: &Rows, hidden: usize) -> Rows {
    let mut h = vec![0.0; hidden];
    let step = |a: &Vec<f64>| {
        let v = weights.affine(&format!("{name}.recurrent"), &vec![h.clone()]).concat();
        let next = (0..hidden).map(|i| {
            let r = sigmoid(a[i] + v[i]);
            let z = sigmoid(a[hidden + i] + v[hidden + i]);
            let n = libm::tanh(a[2 * hidden + i] + r * v[2 * hidden + i]);
            (1.0 - z) * n + z * h[i]
        });
        h = next.collect();
        h.clone()
    };
    weights.affine(&format!("{name}.input"), x).iter().map(step).collect()
}

fn lstm(weights: &Weights<'_>, name: &str, x: &Rows, hidden: usize) -> Rows {
    let (mut h, mut c) = (vec![0.0; hidden], vec![0.0; hidden]);
    let step = |a: &Vec<f64>| {
        let v = weights.product(&format!("{name}.recurrent"), &vec![h.clone()]).concat();
        let gate = |part: usize, i: usize| a[part * hidden + i] + v[part * hidden + i];
        for i in 0..hidden {
            c[i] = sigmoid(gate(1, i)) * c[i] + sigmoid(gate(0, i)) * libm::tanh(gate(2, i));
            h[i] = sigmoid(gate(3, i)) * libm::tanh(c[i]);
        }
        h.clone()
    };
    weights.affine(&format!("{name}.input"), x).iter().map(step).collect()
}

fn attention(parts: &Rows, distance: &[f64], hidden: usize, heads: usize, window: usize) -> Rows {
    let size = hidden / heads;
    let output_at = |t: usize| {
        let head = |head: usize| {
            let part = |row: usize, part: usize| &parts[row][part * hidden + head * size..][..size];
            let scores = (0..window.min(t + 1)).map(|d| {
                let (q, k) = (part(t, 0), part(t - d, 1));
                let dot = sum(q.iter().zip(k).map(|(q, k)| q * k));
                dot / (size as f64).sqrt() + distance[head * window + d]
            });
            let scores: Vec<f64> = scores.collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shares: Vec<f64> = scores.iter().map(|s| libm::exp(s - most)).collect();
            let total = sum(shares.iter().copied());
            let value =
                |i: usize| sum(shares.iter().enumerate().map(|(d, s)| s * part(t - d, 2)[i]));
            (0..size).map(|i| value(i) / total).collect::<Vec<f64>>()
        };
        (0..heads).flat_map(head).collect()
    };
    (0..parts.len()).map(output_at).collect()
}

fn scan(weights: &Weights<'_>, name: &str, x: &Rows, state: usize, rank: usize) -> Rows {
    let parts = weights.product(&format!("{name}.input"), x);
    let kernel = weights.get(&format!("{name}.convolution.weight"));
    let bias = weights.get(&format!("{name}.convolution.bias"));
    let inner = bias.len();
    let taps = kernel.len() / inner;
    let convolved = |t: usize| {
        let one = |i: usize| {
            let seen = (0..taps).filter(|k| t + 1 + k >= taps);
            silu(bias[i] + sum(seen.map(|k| kernel[k * inner + i] * parts[t + 1 + k - taps][i])))
        };
        (0..inner).map(one).collect::<Vec<f64>>()
    };
    let c: Rows = (0..x.len()).map(convolved).collect();
    let selection = weights.product(&format!("{name}.selection"), &c);
    let low = selection.iter().map(|s| s[..rank].to_vec()).collect();
    let steps = weights.affine(&format!("{name}.step"), &low);
    let decay = weights.get(&format!("{name}.log_decay"));
    let skip = weights.get(&format!("{name}.skip"));
    let mut memory = vec![0.0; inner * state];
    let mut y = Rows::new();
    for t in 0..x.len() {
        let (b, out) = selection[t][rank..].split_at(state);
        let mut row = Vec::with_capacity(inner);
        for i in 0..inner {
            let delta = softplus(steps[t][i]);
            for n in 0..state {
                let kept = libm::exp(-delta * libm::exp(decay[i * state + n]));
                let place = &mut memory[i * state + n];
                *place = kept * *place + delta * b[n] * c[t][i];
            }
            let seen = sum((0..state).map(|n| out[n] * memory[i * state + n]));
            row.push((seen + skip[i] * c[t][i]) * silu(parts[t][inner + i]));
        }
        y.push(row);
    }
    y
}
