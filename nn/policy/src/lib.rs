//! Policies that play: replays -> batches -> a trained network on Burn -> a policy file.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | find | paths -> replays by name | [`Replays::find`] |
//! | batch | replays -> features and classes on a device | [`pass`], [`Tensors::new`] |
//! | forward | a batch -> logits of 13 components | [`Network::forward`] |
//! | loss | logits and classes -> a number | [`LossConfig::of`] |
//! | train | settings -> a policy, metrics, states | [`train`](fn@train), [`resume`] |
//! | judge | a policy and replays -> likelihoods, accuracies, calibration | [`evaluate`](fn@evaluate) |
//! | play | a policy and a game -> frames | [`Player`] |
//! | export | a policy and replays -> data of one head for Stan, and back | [`export_head`](fn@export_head) |
//!
//! There is no stage before training and no cache: features are made when a batch is, by the
//! function that play uses too.
#![forbid(unsafe_code)]

mod chart;
mod data;
mod demonstration;
mod error;
mod evaluate;
mod export_head;
mod figures;
mod judge;
mod loss;
mod memory;
mod metrics;
mod named;
mod network;
mod network_config;
mod play;
mod random;
mod state;
mod tensor_file;
mod train;
mod train_config;

pub use chart::{Chart, Panel, Series};
pub use data::{
    DataConfig, Frames, ReadReplay, Replays, Tensors, parse_players, pass, read_replay,
};
pub use demonstration::{DEMONSTRATION_SCHEMA, demonstration};
pub use error::{Error, Kind};
pub use evaluate::{EvaluateSettings, Evaluation, Onsets, evaluate};
pub use export_head::{component_of, export_head, with_head};
pub use figures::{accuracy_chart, calibration_chart, offset_chart, training_chart};
pub use judge::{BINS, Bin, ComponentScore, Count, JudgedFrame, Judgement, OFFSETS};
pub use loss::{Auto, Loss, LossConfig, PositiveWeight, positive_weight};
pub use memory::keep_memory;
pub use metrics::{Row, metrics_path, read_metrics};
pub use named::{Array, Found, arrays, with_arrays};
pub use network::{Network, Output};
pub use network_config::NetworkConfig;
pub use play::{Choice, Player};
pub use random::Random;
pub use train::{Progress, Trained, open_device, resume, train};
pub use train_config::{OptimiserConfig, TrainConfig};
