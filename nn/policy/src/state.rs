//! A run's state <-> one file, which is written beside the old one and then takes its place.
//!
//! The file is a safetensors file: weights `model.*`, their average `average.*`, the optimiser's
//! state as bytes, and settings and progress as JSON in the header's metadata. It is complete or
//! not there, whenever the process is killed.

use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::tensor::Bytes;
use penalties::Average;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::named::{Array, arrays, with_arrays};
use crate::network::Network;
use crate::tensor_file::{TensorFile, write_atomically};
use crate::train::Progress;
use crate::train_config::TrainConfig;

/// The version of the file.
const VERSION: u32 = 1;
const OPTIMISER: &str = "optimiser";

/// What the header says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    config: TrainConfig,
    progress: Progress,
    /// Models that the average took in.
    updates: u64,
}

/// Writes and opens states.
#[derive(Debug)]
pub(crate) struct State;

/// A state that was read.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(crate) config: TrainConfig,
    progress: Progress,
    updates: u64,
    file: TensorFile,
    path: PathBuf,
}

/// A network, its average, its optimiser and where they are.
type Restored = (Network, Average<Network>, ModuleOptimizer, Progress);

impl State {
    pub(crate) fn path(directory: &Path) -> PathBuf {
        directory.join("state.safetensors")
    }

    pub(crate) fn policy_path(directory: &Path) -> PathBuf {
        directory.join("policy.safetensors")
    }

    pub(crate) fn save(
        directory: &Path,
        config: &TrainConfig,
        network: &Network,
        average: &Average<Network>,
        optimiser: &ModuleOptimizer,
        progress: &Progress,
    ) -> Result<(), Error> {
        let header = Header {
            version: VERSION,
            config: config.clone(),
            progress: progress.clone(),
            updates: average.updates(),
        };
        let header = serde_json::to_string(&header)
            .map_err(|e| Error::internal(format!("the state's header: {e}")))?;
        let mut file = TensorFile::new([("state".to_owned(), header)]);
        for array in arrays(&network.valid())? {
            file.push_f32(format!("model.{}", array.name), &array.shape, &array.values);
        }
        for array in arrays(average.model())? {
            file.push_f32(format!("average.{}", array.name), &array.shape, &array.values);
        }
        let bytes = optimiser
            .into_bytes()
            .map_err(|e| Error::internal(format!("the optimiser's state: {e}")))?;
        file.push_bytes(OPTIMISER.to_owned(), &bytes);
        write_atomically(&Self::path(directory), &file.to_bytes()?)
    }

    pub(crate) fn save_policy(
        directory: &Path,
        config: &TrainConfig,
        average: &Average<Network>,
        step: u64,
    ) -> Result<(), Error> {
        let checkpoint = average.model().checkpoint(&config.network.contract(step)?)?;
        write_atomically(&Self::policy_path(directory), &checkpoint.write())
    }

    pub(crate) fn open(directory: &Path) -> Result<Saved, Error> {
        let path = Self::path(directory);
        let bytes = std::fs::read(&path).map_err(|e| {
            Error::unreadable(&path, &e)
                .hint("a run writes its first state after `save_every` steps")
        })?;
        let in_file = |e: Error| e.context(format!("`{}`", path.display()));
        let file = TensorFile::parse(&bytes).map_err(in_file)?;
        let text = file.metadata("state").ok_or_else(|| {
            in_file(Error::data("this is no run's state: the header has no `state`"))
        })?;
        let header: Header = serde_json::from_str(text)
            .map_err(|e| in_file(Error::data(format!("`state`: {e}"))))?;
        if header.version != VERSION {
            let message = format!("`version` is {}; this program writes {VERSION}", header.version);
            return Err(in_file(Error::data(message)));
        }
        let Header { config, progress, updates, .. } = header;
        Ok(Saved { config, progress, updates, file, path: path.clone() })
    }
}

impl Saved {
    /// Puts the state into a network and an optimiser of the same settings.
    pub(crate) fn restore(
        self,
        network: Network,
        decay: f64,
        optimiser: ModuleOptimizer,
    ) -> Result<Restored, Error> {
        let in_file = |e: Error| e.context(format!("`{}`", self.path.display()));
        let load = |prefix: &str, network: Network| {
            let names: Vec<Array> = self.file.arrays(prefix)?;
            with_arrays(network, &|name| {
                let found = names.iter().find(|array| array.name == name)?;
                Some((found.shape.as_slice(), found.values.as_slice()))
            })
        };
        let average = load("average.", network.valid()).map_err(in_file)?;
        let network = load("model.", network).map_err(in_file)?;
        let average = Average::resumed(&average, decay, true, self.updates)?;
        let bytes = self
            .file
            .bytes(OPTIMISER)
            .ok_or_else(|| in_file(Error::data(format!("there is no array `{OPTIMISER}`"))))?;
        let optimiser = optimiser
            .from_bytes(Bytes::from_bytes_vec(bytes.to_vec()))
            .map_err(|e| in_file(Error::data(format!("the optimiser's state: {e}"))))?;
        Ok((network, average, optimiser, self.progress))
    }
}
