//! A chain between two draws <-> the bytes of its file, `chain-K.checkpoint`.
//!
//! All numbers are little-endian, arrays begin with their length (64 bits):
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | the magic word `exmcckpt` |
//! | 8..12 | format version |
//! | 12..16 | number of the chain |
//! | 16..48 | the run's identity ([`Origin`](crate::Origin)) |
//! | 48..56 | number of bytes of the contents |
//! | 56.. | the contents, then their and the header's CRC-32 |
//!
//! The contents are those of [`Checkpoint`], in the order of [`write_all`]. They are written in
//! pieces of 64 KiB.

use std::io;

use crc32fast::Hasher;
use exmc_fault::{Fault, planted};
use exmc_infer::metric::running_moments::{RunningCovariance, RunningMoments};
use exmc_infer::warmup::adaptation::{
    Adaptation, MetricEstimator, OverlappingMoments, PairedMoments, StoredWindows,
};
use exmc_infer::warmup::restart::StuckDetector;
use exmc_infer::warmup::step_size::DualAveraging;
use exmc_infer::warmup::target_acceptance::TargetReview;
use exmc_infer::{AlignedVec, Checkpoint, InverseMetric, Restart, RestartReason, State};

/// Version of the format.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"exmcckpt";
const HEADER: usize = 56;
const CHECKSUM: usize = 4;
/// Bytes that are written at once, or a few more.
const PIECE: usize = 1 << 16;

/// What distinguishes a run from all that have other draws.
pub(crate) type Identity = [u8; 32];

/// A checkpoint with the time that the chain took to get there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredCheckpoint {
    pub(crate) checkpoint: Checkpoint,
    /// Wall-clock seconds of warmup and of sampling, over all processes that worked on the chain.
    pub(crate) seconds: [f64; 2],
}

/// A file's bytes, in pieces as they are to be written: a second copy of a chain in many dimensions
/// would double what it takes.
pub(crate) fn encode(
    identity: &Identity,
    stored: &StoredCheckpoint,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut contents = 0;
    let mut count = |piece: &[u8]| {
        contents += piece.len() as u64;
        Ok(())
    };
    let mut counted = Out::new(&mut count);
    write_all(&mut counted, stored);
    counted.finish()?;
    let mut out = Out::new(write);
    out.bytes(&MAGIC);
    out.bytes(&VERSION.to_le_bytes());
    out.bytes(&stored.checkpoint.chain.to_le_bytes());
    out.bytes(identity);
    out.u64(contents);
    write_all(&mut out, stored);
    out.hand_on();
    let checksum = out.checksum.clone().finalize();
    out.bytes(&checksum.to_le_bytes());
    out.finish()
}

/// The checkpoint of a run's chain; why it is none, in words.
pub(crate) fn decode(
    bytes: &[u8],
    identity: &Identity,
    chain: u32,
) -> Result<StoredCheckpoint, &'static str> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else { return Err("it is cut off") };
    if header[..8] != MAGIC {
        return Err("it is no checkpoint");
    }
    if header[8..12] != VERSION.to_le_bytes() {
        return Err("it has another format version");
    }
    let length = u64::from_le_bytes(*header.last_chunk().expect("a header has 56 bytes"));
    let contents = rest.len().checked_sub(CHECKSUM).ok_or("it is cut off")?;
    if length != contents as u64 {
        return Err("it is cut off");
    }
    let (payload, stored) = bytes.split_at(HEADER + contents);
    if stored != checksum(payload).to_le_bytes() {
        return Err("it is damaged");
    }
    if header[12..16] != chain.to_le_bytes() || header[16..48] != *identity {
        return Err("it belongs to another run");
    }
    let mut input = In(&rest[..contents]);
    let read = read_all(&mut input, chain).filter(|_| input.0.is_empty());
    read.ok_or("it is damaged")
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Hasher::new();
    crc.update(bytes);
    crc.finalize()
}

fn write_all(out: &mut Out, stored: &StoredCheckpoint) {
    let StoredCheckpoint { checkpoint, seconds } = stored;
    let Checkpoint {
        chain: _,
        iteration,
        state,
        inverse_metric,
        step_size,
        adaptation,
        stuck_detector,
        rng_position,
        leapfrogs,
    } = checkpoint;
    out.u64(*iteration);
    out.bytes(&rng_position.to_le_bytes());
    out.u64(*leapfrogs);
    out.f64(*step_size);
    seconds.iter().for_each(|s| out.f64(*s));
    out.numbers(&state.position);
    out.f64(state.logp);
    out.numbers(&state.gradient);
    match inverse_metric {
        InverseMetric::Dense { dim, covariance } => {
            out.u64(1);
            out.u64(*dim as u64);
            out.numbers(covariance);
        }
        InverseMetric::LowRank { scale, vectors, values } => {
            out.u64(2);
            [scale, vectors, values].into_iter().for_each(|part| out.numbers(part));
        }
        diagonal => {
            out.u64(0);
            out.numbers(&diagonal.diagonal());
        }
    }
    write_adaptation(out, adaptation);
    write_detector(out, stuck_detector);
}

fn read_all(input: &mut In<'_>, chain: u32) -> Option<StoredCheckpoint> {
    let iteration = input.u64()?;
    let rng_position = u128::from_le_bytes(input.take()?);
    let leapfrogs = input.u64()?;
    let step_size = input.f64()?;
    let seconds = [input.f64()?, input.f64()?];
    let position = AlignedVec::from(input.numbers()?);
    let logp = input.f64()?;
    let state = State { position, logp, gradient: input.numbers()?.into() };
    let inverse_metric = match input.u64()? {
        0 => InverseMetric::Diagonal(input.numbers()?),
        1 => InverseMetric::Dense {
            dim: input.u64()?.try_into().ok()?,
            covariance: input.numbers()?,
        },
        2 => {
            let (scale, vectors) = (input.numbers()?, input.numbers()?);
            InverseMetric::LowRank { scale, vectors, values: input.numbers()? }
        }
        _ => return None,
    };
    let adaptation = read_adaptation(input)?;
    let stuck_detector = read_detector(input)?;
    let checkpoint = Checkpoint {
        chain,
        iteration,
        state,
        inverse_metric,
        step_size,
        adaptation,
        stuck_detector,
        rng_position,
        leapfrogs,
    };
    Some(StoredCheckpoint { checkpoint, seconds })
}

fn write_adaptation(out: &mut Out, adaptation: &Adaptation) {
    let Adaptation { step_size, review, estimator } = adaptation;
    let DualAveraging {
        target,
        mu,
        mean_error,
        log_step,
        log_step_averaged,
        log_step_recent,
        count,
    } = step_size;
    for number in [target, mu, mean_error, log_step, log_step_averaged, log_step_recent] {
        out.f64(*number);
    }
    out.u64(*count);
    // One more than the count; zero where there is no review.
    out.u64(review.map_or(0, |review| review.half_divergences + 1));
    match estimator {
        MetricEstimator::Fixed => out.u64(0),
        MetricEstimator::Variances(moments) => {
            out.u64(1);
            out.moments(moments);
        }
        MetricEstimator::Covariance(RunningCovariance { count, mean, products }) => {
            out.u64(2);
            out.u64(*count);
            out.numbers(mean);
            out.numbers(products);
        }
        MetricEstimator::DrawsAndGradients(windows) => {
            out.u64(3);
            out.windows(windows);
        }
        MetricEstimator::Stored(stored) => {
            let StoredWindows {
                moments,
                draws,
                gradients,
                logp,
                rows_at_estimate,
                steps_since_estimate,
            } = stored;
            out.u64(4);
            out.windows(moments);
            [draws, gradients, logp].into_iter().for_each(|part| out.numbers(part));
            out.u64(*rows_at_estimate);
            out.u64(*steps_since_estimate);
        }
    }
}

fn read_adaptation(input: &mut In<'_>) -> Option<Adaptation> {
    let step_size = DualAveraging {
        target: input.f64()?,
        mu: input.f64()?,
        mean_error: input.f64()?,
        log_step: input.f64()?,
        log_step_averaged: input.f64()?,
        log_step_recent: input.f64()?,
        count: input.u64()?,
    };
    let review =
        input.u64()?.checked_sub(1).map(|half_divergences| TargetReview { half_divergences });
    let estimator = match input.u64()? {
        0 => MetricEstimator::Fixed,
        1 => MetricEstimator::Variances(input.moments()?),
        2 => MetricEstimator::Covariance(RunningCovariance {
            count: input.u64()?,
            mean: input.numbers()?,
            products: input.numbers()?,
        }),
        3 => MetricEstimator::DrawsAndGradients(input.windows()?),
        4 => MetricEstimator::Stored(StoredWindows {
            moments: input.windows()?,
            draws: input.numbers()?,
            gradients: input.numbers()?,
            logp: input.numbers()?,
            rows_at_estimate: input.u64()?,
            steps_since_estimate: input.u64()?,
        }),
        _ => return None,
    };
    Some(Adaptation { step_size, review, estimator })
}

fn write_detector(out: &mut Out, detector: &StuckDetector) {
    let StuckDetector {
        draws,
        least,
        most,
        still,
        saturated,
        is_judged,
        due,
        reached,
        searches,
        in_vain,
        restarts,
    } = detector;
    for count in [draws, still, saturated, in_vain, &u32::from(*is_judged)] {
        out.u64(u64::from(*count));
    }
    for number in [least, most, reached] {
        out.f64(*number);
    }
    out.u64(*searches);
    out.u64(due.map_or(0, number_of));
    out.u64(restarts.len() as u64);
    for restart in restarts {
        out.u64(restart.iteration);
        out.u64(number_of(restart.reason));
        out.f64(restart.logp_before);
        out.f64(restart.logp_after);
        out.u64(restart.evaluations);
    }
}

fn read_detector(input: &mut In<'_>) -> Option<StuckDetector> {
    let mut counts = [0_u32; 5];
    for count in &mut counts {
        *count = input.u64()?.try_into().ok()?;
    }
    let [draws, still, saturated, in_vain, is_judged] = counts;
    let [least, most, reached] = [input.f64()?, input.f64()?, input.f64()?];
    let searches = input.u64()?;
    let due = match input.u64()? {
        0 => None,
        number => Some(reason_of(number)?),
    };
    let mut restarts = Vec::new();
    for _ in 0..input.u64()? {
        let (iteration, reason) = (input.u64()?, reason_of(input.u64()?)?);
        let logps = [input.f64()?, input.f64()?];
        restarts.push(Restart::new(iteration, reason, logps, input.u64()?));
    }
    Some(StuckDetector {
        draws,
        least,
        most,
        still,
        saturated,
        is_judged: is_judged != 0,
        due,
        reached,
        searches,
        in_vain,
        restarts,
    })
}

/// The place of a reason among all, from 1.
fn number_of(reason: RestartReason) -> u64 {
    let place = RestartReason::ALL.iter().position(|other| *other == reason);
    place.expect("all reasons are listed") as u64 + 1
}

fn reason_of(number: u64) -> Option<RestartReason> {
    RestartReason::ALL.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
}

/// Bytes in the making, of which a piece is handed on when it is full. After an error nothing is.
struct Out<'a> {
    piece: Vec<u8>,
    checksum: Hasher,
    write: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
    result: io::Result<()>,
}

impl<'a> Out<'a> {
    fn new(write: &'a mut dyn FnMut(&[u8]) -> io::Result<()>) -> Self {
        Self { piece: Vec::new(), checksum: Hasher::new(), write, result: Ok(()) }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        if self.result.is_ok() && !self.piece.is_empty() {
            self.checksum.update(&self.piece);
            self.result = (self.write)(&self.piece);
        }
        self.piece.clear();
    }

    fn finish(mut self) -> io::Result<()> {
        self.hand_on();
        self.result
    }

    fn u64(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn f64(&mut self, number: f64) {
        self.bytes(&number.to_le_bytes());
    }

    fn numbers(&mut self, numbers: &[f64]) {
        self.u64(numbers.len() as u64);
        numbers.iter().for_each(|number| self.f64(*number));
    }

    fn moments(&mut self, moments: &RunningMoments) {
        let RunningMoments { count, mean, squares } = moments;
        self.u64(*count);
        self.numbers(mean);
        self.numbers(squares);
    }

    fn windows(&mut self, windows: &OverlappingMoments) {
        let OverlappingMoments { foreground, background, later_window, started } = windows;
        for PairedMoments { draws, gradients } in [foreground, background] {
            self.moments(draws);
            self.moments(gradients);
        }
        self.u64(*later_window);
        self.u64(u64::from(*started));
    }
}

/// Bytes that are left to read; nothing comes where they end early.
struct In<'a>(&'a [u8]);

impl In<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn f64(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    /// No memory is asked for that the bytes do not fill.
    fn numbers(&mut self) -> Option<Vec<f64>> {
        let bytes = usize::try_from(self.u64()?).ok()?.checked_mul(8)?;
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken.as_chunks::<8>().0.iter().map(|number| f64::from_le_bytes(*number)).collect())
    }

    fn moments(&mut self) -> Option<RunningMoments> {
        let count = self.u64()?;
        Some(RunningMoments { count, mean: self.numbers()?, squares: self.numbers()? })
    }

    fn pair(&mut self) -> Option<PairedMoments> {
        Some(PairedMoments { draws: self.moments()?, gradients: self.moments()? })
    }

    fn windows(&mut self) -> Option<OverlappingMoments> {
        let (foreground, mut background) = (self.pair()?, self.pair()?);
        if planted(Fault::ResumedWindow) {
            background.draws.count += 1;
        }
        let (later_window, started) = (self.u64()?, self.u64()? != 0);
        Some(OverlappingMoments { foreground, background, later_window, started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many_dimensions() -> StoredCheckpoint {
        let numbers = |shift: f64| (0..20_000).map(|i| f64::from(i) + shift).collect::<Vec<f64>>();
        let moments = |shift| RunningMoments {
            count: 7,
            mean: numbers(shift),
            squares: numbers(shift + 0.1),
        };
        let step_size = DualAveraging {
            target: 0.8,
            mu: 1.0,
            mean_error: 0.1,
            log_step: -1.0,
            log_step_averaged: -1.1,
            log_step_recent: -1.2,
            count: 12,
        };
        let estimator = MetricEstimator::Variances(moments(0.25));
        let stuck_detector = StuckDetector {
            draws: 1,
            least: -3.0,
            most: -2.0,
            still: 0,
            saturated: 0,
            is_judged: true,
            due: None,
            reached: -2.5,
            searches: 1,
            in_vain: 0,
            restarts: Vec::new(),
        };
        let (position, gradient) = (numbers(0.5).into(), numbers(-0.5).into());
        let checkpoint = Checkpoint {
            chain: 3,
            iteration: 12,
            state: State { position, logp: -4.0, gradient },
            inverse_metric: InverseMetric::Diagonal(numbers(1.0)),
            step_size: 0.3,
            adaptation: Adaptation { step_size, review: None, estimator },
            stuck_detector,
            rng_position: 1 << 70,
            leapfrogs: 99,
        };
        StoredCheckpoint { checkpoint, seconds: [1.5, 0.0] }
    }

    #[test]
    fn many_dimensions_go_in_pieces_and_come_back() {
        let (identity, stored) = ([9; 32], many_dimensions());
        let mut pieces = Vec::new();
        let mut keep = |piece: &[u8]| {
            pieces.push(piece.to_vec());
            Ok(())
        };
        encode(&identity, &stored, &mut keep).unwrap();
        assert!(pieces.len() > 10 && pieces.iter().all(|piece| piece.len() < PIECE + 32));
        let mut bytes = pieces.concat();
        assert_eq!(decode(&bytes, &identity, 3).as_ref(), Ok(&stored));
        for offset in (0..bytes.len()).step_by(PIECE / 2) {
            bytes[offset] ^= 1;
            assert!(decode(&bytes, &identity, 3).is_err(), "byte {offset}");
            bytes[offset] ^= 1;
        }
        let cut = &bytes[..pieces[0].len()];
        assert_eq!(decode(cut, &identity, 3), Err("it is cut off"));
    }

    #[test]
    fn nothing_is_written_after_an_error() {
        let mut writes = 0;
        let mut fail = |_: &[u8]| {
            writes += 1;
            if writes == 2 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        };
        let error = encode(&[9; 32], &many_dimensions(), &mut fail).unwrap_err();
        assert_eq!((error.kind(), writes), (io::ErrorKind::StorageFull, 2));
    }
}
