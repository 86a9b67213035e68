//! Settings and replays -> a trained policy, a file of metrics, and states to resume from.
//!
//! A run is a function of its settings and its replays: initial weights, the order of windows and
//! every step follow from the seed, and nothing is drawn while it runs. So a state is the number of
//! steps, the place in the data, the weights, their average and the optimiser's state, and a run
//! that is killed and resumed ends with the bits of one that was not.

use std::path::{Path, PathBuf};
use std::time::Instant;

use burn::optim::{AdamWConfig, GradientsAccumulator, ModuleOptimizer};
use burn::tensor::{DType, Device, Tensor};
use features::{Batch, BatchSettings, Epoch, Schema};
use penalties::{Average, Outputs, Transform, Transforms};
use serde::{Deserialize, Serialize};

use crate::data::{Frames, ReadReplay, Replays, Tensors, parse_players, pass};
use crate::error::Error;
use crate::loss::{BUTTONS, PositiveWeight, positive_weight};
use crate::memory::keep_memory;
use crate::metrics::{Metrics, Row};
use crate::network::Network;
use crate::state::{Saved, State};
use crate::train_config::TrainConfig;

/// Where a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Steps that were taken.
    pub step: u64,
    /// Passes over the data that are complete.
    pub pass: u64,
    /// Batches of the present pass that were drawn.
    pub batches: u64,
    /// The best loss on held-out frames, and the step after which it was.
    pub best: Option<(f64, u64)>,
    /// Evaluations since then.
    pub since_best: u64,
    /// Whether the run ended.
    pub is_over: bool,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Trained {
    /// Where the policy is.
    pub policy: PathBuf,
    /// Where the run ended.
    pub progress: Progress,
    /// Mean loss of the last steps that were logged.
    pub last_loss: f64,
    /// Seconds of this process's first step, in which some devices compile; 0 without a step.
    pub first_step: f64,
    /// Mean seconds of the steps behind it, with evaluations and states; 0 without any.
    pub each_step: f64,
    /// Files that could not be read, and why.
    pub refused: Vec<(String, String)>,
}

/// Batches without an end, pass after pass.
struct Batches<'a> {
    names: &'a [String],
    schema: &'a Schema,
    settings: BatchSettings,
    config: &'a TrainConfig,
    frames: Frames,
    epoch: Epoch<'a, ReadReplay>,
    batch: Batch,
    pass: u64,
    drawn: u64,
}

impl<'a> Batches<'a> {
    /// Goes on behind `drawn` batches of a pass, which are drawn again and left out.
    fn new(
        names: &'a [String],
        schema: &'a Schema,
        config: &'a TrainConfig,
        frames: Frames,
        (pass_number, drawn): (u64, u64),
    ) -> Result<Self, Error> {
        let settings = batch_settings(config)?;
        let epoch = pass(names, schema, settings.clone(), &config.data, frames, pass_number)?;
        let batch = Batch::default();
        let mut batches = Self {
            names,
            schema,
            settings,
            config,
            frames,
            epoch,
            batch,
            pass: pass_number,
            drawn: 0,
        };
        for _ in 0..drawn {
            batches.epoch.next_batch(&mut batches.batch)?;
            batches.drawn += 1;
        }
        Ok(batches)
    }

    fn next(&mut self) -> Result<&Batch, Error> {
        if !self.epoch.next_batch(&mut self.batch)? {
            if self.drawn == 0 {
                let message = format!("no replay has a window of {} frames", self.settings.window);
                return Err(Error::data(message)
                    .hint("shorten `data.window`, or see `data.players` and held-out shares"));
            }
            (self.pass, self.drawn) = (self.pass + 1, 0);
            self.epoch = pass(
                self.names,
                self.schema,
                self.settings.clone(),
                &self.config.data,
                self.frames,
                self.pass,
            )?;
            return self.next();
        }
        self.drawn += 1;
        Ok(&self.batch)
    }
}

/// The settings of batches.
pub(crate) fn batch_settings(config: &TrainConfig) -> Result<BatchSettings, Error> {
    let mut settings = BatchSettings::default();
    settings.batch = config.data.batch;
    settings.window = config.data.window;
    settings.delay = config.network.delay;
    settings.players = parse_players(&config.data.players)?;
    settings.open_files = config.data.open_files;
    settings.seed = config.data.seed;
    settings.discretiser = config.network.discretiser();
    Ok(settings)
}

/// Reads numbers from the device in one transfer: the one place where training waits for it.
fn read_all(values: Vec<Tensor<1>>) -> Result<Vec<f64>, Error> {
    let all = Tensor::cat(values.into_iter().map(Tensor::detach).collect(), 0);
    let all = all.try_into_vec_as::<f64>();
    all.map_err(|e| Error::internal(format!("numbers cannot be read from the device: {e}")))
}

/// The device of a name that was compiled in.
///
/// # Errors
/// A name that is not, with those that are.
pub fn open_device(name: &str) -> Result<Device, Error> {
    let (opened, closed) = backends::open();
    if let Some(found) = opened.iter().find(|o| o.name == name) {
        return match found.dtypes.contains(&DType::F32) {
            true => Ok(found.device.clone()),
            false => Err(Error::data(format!("device `{name}` does not compute rightly in f32"))),
        };
    }
    if let Some((_, why)) = closed.iter().find(|(n, _)| *n == name) {
        return Err(Error::data(format!("device `{name}` cannot be opened: {why}")));
    }
    let known: Vec<&str> = opened.iter().map(|o| o.name).collect();
    Err(Error::usage(format!("there is no device `{name}` (there are {})", known.join(", "))))
}

/// Everything of a run that does not change.
struct Run<'a> {
    config: &'a TrainConfig,
    schema: Schema,
    device: Device,
    training: Vec<String>,
    held_out: Vec<String>,
    pressed: [f64; BUTTONS],
    clip: Transforms,
    directory: &'a Path,
}

/// Trains a policy into a directory, which must not hold a run yet.
///
/// # Errors
/// Settings or data that are wrong, or files that cannot be written.
pub fn train(
    config: &TrainConfig,
    directory: &Path,
    report: &mut dyn FnMut(&Row),
) -> Result<Trained, Error> {
    let state = State::path(directory);
    if state.exists() {
        let message = format!("`{}` holds a run already", directory.display());
        return Err(Error::usage(message).hint("`policy resume` goes on with it"));
    }
    std::fs::create_dir_all(directory).map_err(|e| Error::unwritable(directory, &e))?;
    config.check()?;
    run(config, directory, None, report)
}

/// Goes on with a run from its last state; a run that is over is left as it is.
///
/// # Errors
/// As [`train`], and a state that does not fit.
pub fn resume(directory: &Path, report: &mut dyn FnMut(&Row)) -> Result<Trained, Error> {
    let saved = State::open(directory)?;
    let config = saved.config.clone();
    run(&config, directory, Some(saved), report)
}

fn run(
    config: &TrainConfig,
    directory: &Path,
    saved: Option<Saved>,
    report: &mut dyn FnMut(&Row),
) -> Result<Trained, Error> {
    let schema = config.network.features()?;
    let replays = Replays::find(&config.data.paths)?;
    let training = replays.part(&config.data, Frames::Training);
    let held_out = match config.data.held_out_files + config.data.held_out_frames > 0.0 {
        true => replays.part(&config.data, Frames::HeldOut),
        false => Vec::new(),
    };
    if training.is_empty() {
        return Err(Error::usage("all files are held out; lower `data.held_out_files`"));
    }
    let device = open_device(&config.device)?.autodiff();
    let mut run = Run {
        config,
        schema,
        device,
        training,
        held_out,
        pressed: [1.0; BUTTONS],
        clip: Transforms::new([Transform::ClipGlobalNorm { limit: config.optimiser.clip }]),
        directory,
    };
    run.pressed = run.pressed_weights()?;
    run.go(saved, report)
}

impl Run<'_> {
    /// Weights of pressed buttons, from one pass over the training frames where they are `auto`.
    fn pressed_weights(&self) -> Result<[f64; BUTTONS], Error> {
        if let PositiveWeight::Fixed(weight) = self.config.loss.positive_weight {
            return Ok([weight; BUTTONS]);
        }
        let settings = batch_settings(self.config)?;
        let data = &self.config.data;
        let mut epoch = pass(&self.training, &self.schema, settings, data, Frames::Training, 0)?;
        let (mut frames, mut pressed) = (0_u64, [0_u64; BUTTONS]);
        let mut batch = Batch::default();
        while epoch.next_batch(&mut batch)? {
            for action in batch.targets.chunks_exact(features::COMPONENTS.len()) {
                frames += 1;
                pressed.iter_mut().zip(action).for_each(|(n, class)| *n += u64::from(*class));
            }
        }
        Ok(pressed.map(|n| positive_weight(n as f64 / frames.max(1) as f64)))
    }

    fn optimiser(&self) -> ModuleOptimizer {
        let settings = &self.config.optimiser;
        AdamWConfig::new()
            .with_beta_1(settings.beta_1 as f32)
            .with_beta_2(settings.beta_2 as f32)
            .with_epsilon(settings.epsilon as f32)
            .with_weight_decay(settings.weight_decay as f32)
            .init()
    }

    fn tensors(&self, batch: &Batch, device: &Device) -> Tensors {
        let window = self.config.data.window;
        let weights = self.config.loss.frame_weights(&batch.targets, window);
        Tensors::new(batch, &self.schema, window, weights.as_deref(), device, DType::F32)
    }

    fn go(&self, saved: Option<Saved>, report: &mut dyn FnMut(&Row)) -> Result<Trained, Error> {
        let config = self.config;
        keep_memory();
        let mut network =
            Network::new(&config.network.contract(0)?, config.seed, &self.device, DType::F32)?;
        config.penalties.check(&network)?;
        let mut optimiser = self.optimiser();
        let mut average = Average::new(&network, config.optimiser.average, true)?;
        let mut progress = Progress::default();
        if let Some(saved) = saved {
            (network, average, optimiser, progress) =
                saved.restore(network, config.optimiser.average, optimiser)?;
        }
        let mut metrics = Metrics::open(self.directory, progress.step)?;
        let place = (progress.pass, progress.batches);
        let mut batches =
            Batches::new(&self.training, &self.schema, config, Frames::Training, place)?;
        let mut last_loss = f64::NAN;
        let started = Instant::now();
        let (mut taken, mut first_step) = (0_u32, 0.0);
        while progress.step < config.steps && !progress.is_over {
            let step = progress.step;
            let rate = config.optimiser.rate(step, config.steps);
            let is_logged = (step + 1) % config.log_every == 0 || step + 1 == config.steps;
            let mut accumulator = GradientsAccumulator::new();
            let mut losses = Vec::new();
            for _ in 0..config.optimiser.accumulate {
                let batch = self.tensors(batches.next()?, &self.device);
                let share = 1.0 / config.optimiser.accumulate as f64;
                let (gradients, read) = network.gradients(&batch, config.on_graph, |output| {
                    let loss = config.loss.of(
                        &output.logits,
                        &batch.targets,
                        batch.weights.as_ref(),
                        &self.pressed,
                    );
                    let outputs = Outputs::new().with("trunk", output.trunk.clone());
                    let penalty = config.penalties.evaluate(&network, &outputs, step)?;
                    let mut read = vec![loss.total.clone(), penalty.total.clone()];
                    read.extend(loss.parts);
                    let total = match penalty.rows.is_empty() {
                        true => loss.total,
                        false => loss.total + penalty.total,
                    };
                    Ok((total.mul_scalar(share), read))
                })?;
                if is_logged {
                    losses.extend(read);
                }
                accumulator.accumulate(&network, gradients);
            }
            let gradients = accumulator.grads();
            let gradients = config.penalties.transform(&network, gradients, step)?;
            let gradients = self.clip.apply(&network, gradients, step)?;
            network = optimiser.step(rate, network, gradients);
            network = config.penalties.project(network, rate, step)?;
            average.update(&network);
            progress.step += 1;
            taken += 1;
            if taken == 1 {
                first_step = started.elapsed().as_secs_f64();
            }
            (progress.pass, progress.batches) = (batches.pass, batches.drawn);
            if is_logged {
                let row = training_row(&progress, rate, losses, started)?;
                last_loss = row.loss;
                if !last_loss.is_finite() {
                    let message = format!("the loss of step {} is {last_loss}", progress.step);
                    return Err(Error::data(message)
                        .hint("lower `optimiser.learning_rate` or `optimiser.clip`"));
                }
                metrics.write(&row)?;
                report(&row);
            }
            let is_end = progress.step == config.steps;
            if progress.step % config.evaluate_every == 0 || is_end {
                self.evaluate(&average, &mut progress, &mut metrics, started, report)?;
            }
            if progress.step % config.save_every == 0 || is_end || progress.is_over {
                progress.is_over |= is_end;
                State::save(self.directory, config, &network, &average, &optimiser, &progress)?;
            }
        }
        let names = &self.training;
        let refused = batches.epoch.refused().iter();
        let refused = refused.map(|(index, why)| (names[*index].clone(), why.clone())).collect();
        let policy = State::policy_path(self.directory);
        let rest = started.elapsed().as_secs_f64() - first_step;
        let each_step = if taken > 1 { rest / f64::from(taken - 1) } else { 0.0 };
        Ok(Trained { policy, progress, last_loss, first_step, each_step, refused })
    }

    /// The loss of the average on held-out frames; the best one so far becomes the policy. Without
    /// held-out frames, the latest does.
    fn evaluate(
        &self,
        average: &Average<Network>,
        progress: &mut Progress,
        metrics: &mut Metrics,
        started: Instant,
        report: &mut dyn FnMut(&Row),
    ) -> Result<(), Error> {
        let config = self.config;
        if self.held_out.is_empty() {
            return State::save_policy(self.directory, config, average, progress.step);
        }
        let settings = batch_settings(config)?;
        let mut epoch =
            pass(&self.held_out, &self.schema, settings, &config.data, Frames::HeldOut, 0)?;
        let model = average.model();
        let device = self.device.clone().inner();
        let (mut sums, mut frames) = (vec![0.0; 1 + features::COMPONENTS.len()], 0.0);
        let mut batch = Batch::default();
        for _ in 0..config.evaluate_batches {
            if !epoch.next_batch(&mut batch)? {
                break;
            }
            let batch = self.tensors(&batch, &device);
            let output = model.forward(&batch);
            // The plain likelihood, whatever is minimised, so that runs can be compared.
            let plain = crate::loss::LossConfig::default();
            let loss = plain.of(&output.logits, &batch.targets, None, &[1.0; BUTTONS]);
            let rows = (batch.windows * batch.frames) as f64;
            let values = read_all(std::iter::once(loss.total).chain(loss.parts).collect())?;
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += rows * value);
            frames += rows;
        }
        if frames == 0.0 {
            return Err(Error::data("no held-out replay has a window").hint(
                "hold more out (`data.held_out_frames`, `data.held_out_files`) or shorten \
                 `data.window`",
            ));
        }
        let means: Vec<f64> = sums.iter().map(|sum| sum / frames).collect();
        let row = Row {
            kind: "held_out".to_owned(),
            step: progress.step,
            pass: progress.pass,
            loss: means[0],
            penalty: 0.0,
            rate: 0.0,
            components: means[1..].to_vec(),
            seconds: started.elapsed().as_secs_f64(),
        };
        metrics.write(&row)?;
        report(&row);
        if progress.best.is_none_or(|(best, _)| row.loss < best) {
            progress.best = Some((row.loss, progress.step));
            progress.since_best = 0;
            State::save_policy(self.directory, config, average, progress.step)?;
        } else {
            progress.since_best += 1;
            progress.is_over |= config.patience > 0 && progress.since_best >= config.patience;
        }
        Ok(())
    }
}

/// The line of a step: means over its batches, read in one transfer.
fn training_row(
    progress: &Progress,
    rate: f64,
    losses: Vec<Tensor<1>>,
    started: Instant,
) -> Result<Row, Error> {
    let each = 2 + features::COMPONENTS.len();
    let batches = (losses.len() / each) as f64;
    let mut means = vec![0.0; each];
    for batch in read_all(losses)?.chunks_exact(each) {
        means.iter_mut().zip(batch).for_each(|(mean, value)| *mean += value / batches);
    }
    Ok(Row {
        kind: "training".to_owned(),
        step: progress.step,
        pass: progress.pass,
        loss: means[0],
        penalty: means[1],
        rate,
        components: means[2..].to_vec(),
        seconds: started.elapsed().as_secs_f64(),
    })
}
