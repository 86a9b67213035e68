//! Seed -> a random Stan program -> whether its lowering agrees with the host interpreter.
//!
//! The interpreter follows the statements one by one over values and shares no code with the
//! lowering but the library's formulas. Log densities are compared at eight points with and without
//! the constants that `~` leaves out, gradients with the interpreter's tape, the tape with
//! differences of the interpreter's values, transformed parameters with its own. The lowered graph
//! is evaluated by the reference executor, in a share of the programs by the native one too. Half
//! of the programs are lowered with loops walked as steps from two iterations on, which long ones
//! are otherwise, and one in seven with blocks of few lanes. In some programs the same statements
//! stand in transformed parameters, model and generated quantities. A program that the lowering
//! refuses with an error of class `unsupported` or `limit` is counted, not judged.

mod collapse;
mod compare;
mod containers;
mod expressions;
mod functions;
mod grids;
mod ragged;
mod recurrences;
mod sections;
mod shrink;
mod statements;
mod tree;

pub use compare::{Compared, Verdict, Workshop};

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use exmc_math::random::{ChainRng, Phase};
use tree::Text;

/// What came of a seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the comparison says.
    pub verdict: Verdict,
    /// The program.
    pub text: String,
}

/// What came of many seeds.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Programs that agree.
    pub agree: u64,
    /// Programs that the lowering refuses, by its words without names and numbers.
    pub refused: BTreeMap<String, u64>,
    /// Points at which they were compared.
    pub points: Compared,
    /// Programs with the same statements in three blocks.
    pub in_three_blocks: u64,
    /// Programs that agree with loops that were walked as steps.
    pub in_steps: u64,
    /// Seeds that fail, with what is said of a smaller program.
    pub failures: Vec<(u64, String)>,
}

/// Failures that are made smaller; of the others the seed is said.
const MAX_SHRUNK: usize = 5;

impl Tally {
    fn add(&mut self, other: Self) {
        self.agree += other.agree;
        self.in_three_blocks += other.in_three_blocks;
        self.in_steps += other.in_steps;
        self.points.add(other.points);
        for (words, count) in other.refused {
            *self.refused.entry(words).or_default() += count;
        }
        self.failures.extend(other.failures);
    }

    fn note(&mut self, seed: u64, outcome: Outcome) {
        match outcome.verdict {
            Verdict::Agrees(points) => {
                self.agree += 1;
                self.in_steps += u64::from(points.steps > 0);
                self.in_three_blocks += u64::from(is_in_three_blocks(seed));
                self.points.add(points);
            }
            Verdict::Refused(words) => {
                let words = words.replace(|c: char| c.is_ascii_digit(), "");
                *self.refused.entry(words).or_default() += 1;
            }
            Verdict::Differs(why) | Verdict::Invalid(why) => {
                let text = if self.failures.len() < MAX_SHRUNK {
                    let small = shrink(seed);
                    format!("{why}\nsmaller: {:?}\n{}", small.verdict, small.text)
                } else {
                    why
                };
                self.failures.push((seed, text));
            }
        }
    }

    /// What was found, as lines of text.
    pub fn table(&self, first: u64, count: u64, seconds: f64) -> String {
        let refused: u64 = self.refused.values().sum();
        let mut lines = vec![format!(
            "{count} random Stan programs from seed {first}: {} agree with the interpreter at {} points ({} by the native executor too; {} \
             derivatives by differences; {} without gradients, for overflow; {} without digits), {} of them with the same statements in three blocks, {} with loops walked as steps; {refused} are refused, {} DIFFER; {:.0} s, {:.0} a second",
            self.agree,
            self.points.points,
            self.points.native,
            self.points.differences,
            self.points.overflows,
            self.points.without_digits,
            self.in_three_blocks,
            self.in_steps,
            self.failures.len(),
            seconds,
            count as f64 / seconds.max(1e-9),
        )];
        lines.extend(self.refused.iter().map(|(words, n)| format!("refused {n}: {words}")));
        lines.extend(self.failures.iter().map(|(seed, text)| format!("FAIL: seed {seed}: {text}")));
        lines.join("\n")
    }
}

/// Judges the programs of `count` seeds from `first` on, shared among threads.
pub fn run(first: u64, count: u64, threads: usize) -> Tally {
    // What panics is a failure that is told below, not here.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let next = AtomicU64::new(0);
    let all = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let (mut tally, mut workshop) = (Tally::default(), Workshop::default());
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    if k >= count {
                        break;
                    }
                    tally.note(first + k, check_in(first + k, &mut workshop));
                }
                all.lock().unwrap_or_else(|poison| poison.into_inner()).add(tally);
            });
        }
    });
    std::panic::set_hook(hook);
    let mut all = all.into_inner().unwrap_or_else(|poison| poison.into_inner());
    all.failures.sort_by_key(|(seed, _)| *seed);
    all
}

/// One program in so many has the same statements in three blocks.
const THREE_BLOCKS: u64 = 20;

/// Makes the program of a seed.
fn program(seed: u64) -> Text {
    let mut rng = ChainRng::new(seed, 0, Phase::Predictive);
    statements::program(&mut rng, seed.is_multiple_of(THREE_BLOCKS))
}

/// Text of the program of a seed.
pub fn text(seed: u64) -> String {
    program(seed).print()
}

/// Compares the program of a seed.
pub fn check(seed: u64) -> Outcome {
    check_in(seed, &mut Workshop::default())
}

/// The same with what is kept from one program to the next.
fn check_in(seed: u64, workshop: &mut Workshop) -> Outcome {
    let text = text(seed);
    Outcome { verdict: judged(&text, seed, workshop), text }
}

/// Whether the interpreter's tape gives the program of a seed the same value, and the same
/// derivatives within rounding, with loops collapsed after every iteration as without: at how many
/// points it does.
///
/// # Errors
/// How they differ, with the program.
pub fn check_collapse(seed: u64) -> Result<usize, String> {
    let text = program(seed).print();
    collapse::compare(&text, seed).map_err(|why| format!("{why}\n{text}"))
}

/// Whether the program of a seed has the same statements in three blocks.
pub fn is_in_three_blocks(seed: u64) -> bool {
    seed.is_multiple_of(THREE_BLOCKS)
}

/// A panic is a failure like any other.
fn judged(text: &str, seed: u64, workshop: &mut Workshop) -> Verdict {
    let compared = catch_unwind(AssertUnwindSafe(|| compare::compare(text, seed, workshop)));
    compared.unwrap_or_else(|_| Verdict::Differs("it panics".to_owned()))
}

/// The words of a failure that a smaller program must share: without numbers and places.
fn kind_of(why: &str) -> String {
    let words = why.split(" at [").next().unwrap_or(why);
    words.chars().filter(|c| c.is_alphabetic() || *c == ' ').collect()
}

/// A smaller program that fails in the same way, of a seed whose program does.
pub fn shrink(seed: u64) -> Outcome {
    let mut workshop = Workshop::default();
    let kind = |verdict: Verdict| match verdict {
        Verdict::Differs(why) => Some(kind_of(&why)),
        _ => None,
    };
    let first = kind(judged(&text(seed), seed, &mut workshop));
    let mut fails = |text: &str| kind(judged(text, seed, &mut workshop)) == first;
    let text = shrink::shrunk(program(seed), &mut fails).print();
    Outcome { verdict: judged(&text, seed, &mut workshop), text }
}
