//! Functions that do the same work -> nanoseconds a call, measured in turn on one thread.
//!
//! The speed of a shared machine drifts, so candidates take turns in short blocks and ratios are
//! taken within a round. Time is usually the thread's own, which leaves out what other processes
//! took.

use std::hint::black_box;

/// Thread time of a block, long against the clock's resolution and short against the machine's
/// drift.
const BLOCK_NANOSECONDS: f64 = 2e6;

/// Nanoseconds a call, of one candidate.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Median over rounds.
    pub nanoseconds: f64,
    rounds: Vec<f64>,
}

impl Timing {
    /// The median over rounds of this time over the other's in the same round.
    pub fn over(&self, other: &Self) -> f64 {
        median(self.rounds.iter().zip(&other.rounds).map(|(a, b)| a / b).collect())
    }
}

/// Nanoseconds from any point: [`thread_nanoseconds`] or [`wall_nanoseconds`].
pub type Clock = fn() -> f64;

/// Runs every candidate in turn, `rounds` times (at least once), in blocks of at least one call.
pub fn in_turn(
    candidates: &mut [Box<dyn FnMut() -> f64 + '_>],
    rounds: usize,
    clock: Clock,
) -> Vec<Timing> {
    in_blocks(BLOCK_NANOSECONDS, candidates, rounds, clock)
}

/// The same in blocks of so many nanoseconds: where a candidate has threads, which sleep while
/// others run and take a while to wake.
pub fn in_blocks(
    nanoseconds: f64,
    candidates: &mut [Box<dyn FnMut() -> f64 + '_>],
    rounds: usize,
    clock: Clock,
) -> Vec<Timing> {
    // The first call warms caches, the second tells how many make a block.
    let calls: Vec<u32> = candidates
        .iter_mut()
        .map(|candidate| {
            block(candidate, 1, clock);
            let mut calls = 1;
            loop {
                let each = block(candidate, calls, clock);
                let wanted = (nanoseconds / each.max(1.0)).max(1.0) as u32;
                if wanted < calls.saturating_mul(4) {
                    return wanted.max(1);
                }
                calls = wanted.min(calls.saturating_mul(100));
            }
        })
        .collect();
    let mut measured = vec![Vec::new(); candidates.len()];
    for _ in 0..rounds.max(1) {
        for ((candidate, &calls), measured) in candidates.iter_mut().zip(&calls).zip(&mut measured)
        {
            measured.push(block(candidate, calls, clock));
        }
    }
    measured
        .into_iter()
        .map(|rounds| Timing { nanoseconds: median(rounds.clone()), rounds })
        .collect()
}

/// Nanoseconds of a call within a block of them.
fn block(candidate: &mut dyn FnMut() -> f64, calls: u32, clock: Clock) -> f64 {
    let began = clock();
    for _ in 0..calls {
        black_box(candidate());
    }
    (clock() - began) / f64::from(calls)
}

/// Processor time of this thread, in nanoseconds from any point.
#[cfg(unix)]
pub fn thread_nanoseconds() -> f64 {
    read(rustix::time::ClockId::ThreadCPUTime)
}

/// Processor time of all threads of this process, in nanoseconds from its start.
#[cfg(unix)]
pub fn process_nanoseconds() -> f64 {
    read(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(unix)]
fn read(id: rustix::time::ClockId) -> f64 {
    let now = rustix::time::clock_gettime(id);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Wall time, in nanoseconds from the first call: for candidates that use several threads.
pub fn wall_nanoseconds() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as f64
}

/// Wall time where there is no clock of threads.
#[cfg(not(unix))]
pub fn thread_nanoseconds() -> f64 {
    wall_nanoseconds()
}

/// Wall time where there is no clock of processes.
#[cfg(not(unix))]
pub fn process_nanoseconds() -> f64 {
    wall_nanoseconds()
}

/// The middle number; the mean of the two in the middle of an even count, NaN of none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn ten_times_the_work_takes_several_times_as_long() {
        let work = |n: u32| {
            let mut x = 1.0_f64;
            for _ in 0..n {
                x = black_box(x).sqrt() + 1.0;
            }
            x
        };
        let mut candidates: Vec<Box<dyn FnMut() -> f64>> =
            vec![Box::new(move || work(1000)), Box::new(move || work(10_000))];
        let times = in_turn(&mut candidates, 5, thread_nanoseconds);
        let ratio = times[1].over(&times[0]);
        assert!((5.0..20.0).contains(&ratio), "ten times the work took {ratio} times as long");
    }
}
