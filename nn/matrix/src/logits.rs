//! A device's name -> policies that are trained, saved and loaded on it, and their logits beside
//! loops over `f64`.
//!
//! Each device works in a process of its own: it trains networks of every backbone for some steps
//! and saves them; every other process loads these files, writes their logits, and saves them
//! again. The parent compares logits with the reference and files byte by byte.

use std::path::{Path, PathBuf};
use std::process::Command;

use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::{DType, Device};
use features::{Action, Batch, Discretiser, Schema, View, Window};
use plain::policy::{
    Architecture, Backbone, Checkpoint, Contract, HeadKind, Heads, Live, evaluate,
};
use policy::{LossConfig, Network, Random, Tensors};
use serde::Serialize;

/// Frames of a window.
pub const FRAMES: usize = 32;
/// Windows.
pub const WINDOWS: usize = 4;
/// The executor without Burn, beside the devices.
pub const PLAIN: &str = "plain f32";
/// Steps of training before a network is saved.
const STEPS: usize = 5;
/// The bar: difference from `f64` over the largest logit.
pub const BAR: f64 = 1e-6;

/// What went wrong, in a sentence.
pub type Failure = Box<dyn std::error::Error>;

/// One policy that was saved on one device and loaded on another.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The kind of the network.
    pub backbone: &'static str,
    /// Its parameters.
    pub parameters: usize,
    /// Where it was trained and saved.
    pub saved_on: String,
    /// Where it was loaded, in another process.
    pub loaded_on: String,
    /// The largest logit of loops over `f64`.
    pub largest: f64,
    /// The largest difference from these over the largest logit.
    pub apart: f64,
    /// Whether the loaded weights have the bits of the saved ones.
    pub has_equal_bits: bool,
}

impl Outcome {
    /// Whether both are as they should be.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.has_equal_bits && self.apart <= BAR
    }
}

/// The networks, of 100 to 250 thousand parameters each.
#[must_use]
pub fn networks() -> [(&'static str, Backbone); 5] {
    [
        ("mlp", Backbone::Mlp { hidden: 256, layers: 2 }),
        ("gru", Backbone::Gru { hidden: 128, layers: 1 }),
        ("lstm", Backbone::Lstm { hidden: 128, layers: 1 }),
        // A window shorter than the sequence, so that the mask's far side counts.
        (
            "attention",
            Backbone::Attention { hidden: 96, layers: 2, heads: 4, window: 20, feed_forward: 192 },
        ),
        (
            "selective_scan",
            Backbone::SelectiveScan {
                hidden: 64,
                layers: 2,
                state: 8,
                expand: 2,
                convolution: 4,
                rank: 4,
            },
        ),
    ]
}

fn contract(backbone: Backbone) -> Contract {
    let heads = Heads { kind: HeadKind::Autoregressive, residual: 64 };
    let architecture = Architecture { embedding: 16, backbone, heads };
    Contract::new(architecture, &Schema::egocentric(), Discretiser::default(), 1)
}

/// Features and classes that look random, the same in every process.
fn batch(contract: &Contract) -> Batch {
    let schema = Schema::egocentric();
    let mut random = Random::new(7);
    let view = View { own_port: 0, opponent: 1, name: 0 };
    let windows = (0..WINDOWS).map(|file| Window { file, view, start: 0 }).collect();
    let (mut features, mut targets) = (Vec::new(), Vec::new());
    for _ in 0..FRAMES * WINDOWS {
        let from = features.len();
        features.extend((0..schema.width()).map(|_| random.uniform() as f32 * 2.0 - 1.0));
        for (column, rows) in schema.tables() {
            features[from + column] = (random.bits() % rows as u64) as f32;
        }
        targets.extend(contract.components().map(|classes| (random.bits() % classes as u64) as u8));
    }
    Batch { windows, features, targets }
}

fn policy_path(folder: &Path, kind: &str, saved_on: &str) -> PathBuf {
    folder.join(format!("{kind}.{saved_on}.safetensors"))
}

fn loaded_path(folder: &Path, kind: &str, saved_on: &str, loaded_on: &str) -> PathBuf {
    folder.join(format!("{kind}.{saved_on}.on.{loaded_on}.safetensors"))
}

fn on(batch: &Batch, device: &Device) -> Tensors {
    Tensors::new(batch, &Schema::egocentric(), FRAMES, None, device, DType::F32)
}

fn opened(name: &str) -> Result<Device, Failure> {
    Ok(policy::open_device(name)?)
}

/// Trains the networks on a device for some steps and saves them into a folder.
///
/// # Errors
/// A device that is not there, or a folder that cannot be written.
pub fn save(name: &str, folder: &Path) -> Result<(), Failure> {
    let device = opened(name)?.autodiff();
    for (kind, backbone) in networks() {
        let contract = contract(backbone);
        let batch = on(&batch(&contract), &device);
        let mut network = Network::new(&contract, 11, &device, DType::F32)?;
        let mut optimiser = AdamWConfig::new().init();
        for _ in 0..STEPS {
            let output = network.forward(&batch);
            let loss = LossConfig::default().of(&output.logits, &batch.targets, None, &[1.0; 8]);
            let gradients = GradientsParams::from_grads(loss.total.backward(), &network);
            network = optimiser.step(0.01, network, gradients);
        }
        let checkpoint = network.checkpoint(&contract)?;
        std::fs::write(policy_path(folder, kind, name), checkpoint.write())?;
    }
    Ok(())
}

/// Loads the policies that `saved_on` left in a folder, writes their logits, and saves them again.
///
/// # Errors
/// As [`save`], and a policy that is not there.
pub fn load(name: &str, saved_on: &str, folder: &Path) -> Result<(), Failure> {
    for (kind, _) in networks() {
        let bytes = std::fs::read(policy_path(folder, kind, saved_on))?;
        let checkpoint = Checkpoint::read(&bytes)?;
        let batch = batch(checkpoint.contract());
        let (logits, again) = match name {
            PLAIN => (play(&checkpoint, &batch)?, checkpoint.write()),
            _ => {
                let device = opened(name)?;
                let network = Network::open(&checkpoint, &device, DType::F32)?;
                let again = network.checkpoint(checkpoint.contract())?.write();
                let mut logits = Vec::new();
                for component in network.forward(&on(&batch, &device)).logits {
                    logits.extend(component.try_into_vec_as::<f32>().map_err(|e| e.to_string())?);
                }
                (logits, again)
            }
        };
        let path = loaded_path(folder, kind, saved_on, name);
        std::fs::write(&path, again)?;
        let bytes: Vec<u8> = logits.iter().flat_map(|logit| logit.to_le_bytes()).collect();
        std::fs::write(path.with_extension("logits"), bytes)?;
    }
    Ok(())
}

/// Logits by component, frame and window, as Burn's networks give them.
fn in_order<T: Copy>(logits: &[Vec<[Vec<T>; 13]>]) -> Vec<T> {
    let mut all = Vec::new();
    for component in 0..13 {
        for frame in 0..FRAMES {
            all.extend(logits.iter().flat_map(|window| window[frame][component].iter().copied()));
        }
    }
    all
}

fn play(checkpoint: &Checkpoint, batch: &Batch) -> Result<Vec<f32>, Failure> {
    let width = Schema::egocentric().width();
    let mut live = Live::<f32>::new(checkpoint)?;
    let mut windows = Vec::new();
    for window in 0..WINDOWS {
        live.reset();
        let mut frames = Vec::new();
        for frame in 0..FRAMES {
            let row = window * FRAMES + frame;
            let classes = &batch.targets[row * 13..(row + 1) * 13];
            let features = &batch.features[row * width..(row + 1) * width];
            let _: Action = live.step(features, |component, _| classes[component])?;
            frames.push(std::array::from_fn(|component| live.logits(component).to_vec()));
        }
        windows.push(frames);
    }
    Ok(in_order(&windows))
}

fn reference(checkpoint: &Checkpoint, batch: &Batch) -> Result<Vec<f64>, Failure> {
    let width = Schema::egocentric().width();
    let mut windows = Vec::new();
    for window in 0..WINDOWS {
        let rows = window * FRAMES..(window + 1) * FRAMES;
        let features = &batch.features[rows.start * width..rows.end * width];
        let classes = batch.targets[rows.start * 13..rows.end * 13].as_chunks().0;
        windows.push(evaluate(checkpoint, features, classes)?.logits);
    }
    Ok(in_order(&windows))
}

/// Every pair of a device that saves and one that loads, each in a process of its own, which
/// `program` starts: its arguments are `save DEVICE FOLDER` and `load DEVICE SAVED_ON FOLDER`.
///
/// # Errors
/// A process that fails, or a file that is not there.
pub fn compare(
    program: &Path,
    savers: &[&str],
    loaders: &[&str],
    folder: &Path,
) -> Result<Vec<Outcome>, Failure> {
    let start = |args: &[&str]| -> Result<(), Failure> {
        let output = Command::new(program).args(args).arg(folder).output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}: {}: {said}", args.join(" "), output.status).into())
    };
    let mut outcomes = Vec::new();
    for saved_on in savers {
        start(&["save", saved_on])?;
        let mut expected = Vec::new();
        for (kind, _) in networks() {
            let bytes = std::fs::read(policy_path(folder, kind, saved_on))?;
            let checkpoint = Checkpoint::read(&bytes)?;
            let logits = reference(&checkpoint, &batch(checkpoint.contract()))?;
            expected.push((kind, bytes, checkpoint.contract().parameters()?, logits));
        }
        for loaded_on in loaders {
            start(&["load", loaded_on, saved_on])?;
            for (kind, bytes, parameters, expected) in &expected {
                let path = loaded_path(folder, kind, saved_on, loaded_on);
                let logits = std::fs::read(path.with_extension("logits"))?;
                let logits = logits.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
                if logits.len() != expected.len() {
                    let (found, expected) = (logits.len(), expected.len());
                    return Err(format!("{kind}: {found} logits instead of {expected}").into());
                }
                let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
                // A NaN must count as far away.
                let far = |(a, b): (f32, &f64)| match (f64::from(a) - b).abs() {
                    apart if apart.is_nan() => f64::INFINITY,
                    apart => apart,
                };
                let apart = logits.zip(expected).map(far).fold(0.0, f64::max);
                outcomes.push(Outcome {
                    backbone: kind,
                    parameters: *parameters,
                    saved_on: (*saved_on).to_owned(),
                    loaded_on: (*loaded_on).to_owned(),
                    largest,
                    apart: apart / largest,
                    has_equal_bits: std::fs::read(&path)? == *bytes,
                });
            }
        }
    }
    Ok(outcomes)
}
