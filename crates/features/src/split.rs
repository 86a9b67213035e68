//! A file's name -> the part of the data that it belongs to, whatever other files there are.

use crate::hash::stable_hash;

/// What a file is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Part {
    Training,
    Validation,
}

/// The part of a file by a hash of its name without folders, so that a file stays where it is when
/// others are added, moved or renamed. `share` is that of validation, from 0 to 1.
///
/// ```
/// use features::{Part, part_of};
/// let names: Vec<String> = (0..10_000).map(|k| format!("game-{k}.slp")).collect();
/// let held_out = names.iter().filter(|n| part_of(n, 0.1) == Part::Validation).count();
/// // 10 standard deviations of a binomial count around 1000.
/// assert!(held_out.abs_diff(1000) < 300);
/// assert_eq!(part_of("folder/game-1.slp", 0.1), part_of("game-1.slp", 0.1));
/// ```
#[must_use]
pub fn part_of(path: &str, share: f64) -> Part {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    // The upper 53 bits as a number in [0, 1).
    let place = (stable_hash(name) >> 11) as f64 / (1_u64 << 53) as f64;
    if place < share { Part::Validation } else { Part::Training }
}
