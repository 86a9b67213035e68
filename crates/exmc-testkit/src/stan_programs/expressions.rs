//! Random expressions over the names in scope; all containers have four elements along each
//! dimension, values stay near one.

use exmc_math::random::ChainRng;

/// Extent of all dimensions.
pub(super) const EXTENT: u64 = 4;

/// Names in scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Real numbers.
    pub(super) reals: Vec<String>,
    /// Vectors.
    pub(super) vectors: Vec<String>,
    /// Matrices.
    pub(super) matrices: Vec<String>,
    /// Arrays of numbers.
    pub(super) arrays: Vec<String>,
    /// Arrays of vectors.
    pub(super) rows: Vec<String>,
    /// Arrays of indices.
    pub(super) numbers: Vec<String>,
    /// Integers of any size.
    pub(super) counters: Vec<String>,
    /// Integers that are indices.
    pub(super) indices: Vec<String>,
    /// Those of them that are data or variables of loops.
    pub(super) known: Vec<String>,
    /// Functions by name: of (real, vector, int), of (vector, real), of (real, int) into an index.
    pub(super) functions: [Vec<String>; 3],
    /// What may be assigned to, of the above.
    pub(super) locals: Locals,
    /// Whether names of the program's data are in scope.
    pub(super) data: bool,
    /// Variables of long loops, that address the longer data.
    pub(super) long: Vec<String>,
}

/// Names that can be assigned to.
#[derive(Clone, Debug, Default)]
pub(super) struct Locals {
    pub(super) reals: Vec<String>,
    pub(super) vectors: Vec<String>,
    pub(super) matrices: Vec<String>,
    pub(super) arrays: Vec<String>,
    pub(super) rows: Vec<String>,
    pub(super) numbers: Vec<String>,
    pub(super) counters: Vec<String>,
    pub(super) indices: Vec<String>,
}

pub(super) fn pick<'a, T>(rng: &mut ChainRng, list: &'a [T]) -> Option<&'a T> {
    if list.is_empty() { None } else { list.get(rng.below(list.len() as u64) as usize) }
}

pub(super) fn chance(rng: &mut ChainRng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// A number that sums of round ones do not hit: where they did, the order of a sum would decide a
/// comparison.
fn literal(rng: &mut ChainRng) -> String {
    format!("{:.3}", 0.1 * (rng.below(30) as f64 - 14.0) + 0.037)
}

/// An index between 1 and [`EXTENT`].
pub(super) fn index(rng: &mut ChainRng, s: &Scope, depth: u32) -> String {
    match rng.below(14) {
        12 => pick(rng, &s.numbers).cloned().map(|k| format!("{k}[{}]", known_index(rng, s))),
        13 if depth > 0 => {
            let (c, i) = (condition(rng, s, depth - 1), known_index(rng, s));
            Some(format!("({c} ? {i} : {})", known_index(rng, s)))
        }
        0..=5 => pick(rng, &s.known).cloned(),
        6..=7 => pick(rng, &s.indices).cloned(),
        8 if s.data => Some(format!("k[{}]", known_index(rng, s))),
        9 if depth > 0 => pick(rng, &s.functions[2]).cloned().map(|f| {
            let (a, m) = (real(rng, s, depth - 1), known_index(rng, s));
            format!("{f}({a}, {m})")
        }),
        10 if s.data => pick(rng, &s.long).map(|i| format!("idx[{i}]")),
        _ => None,
    }
    .unwrap_or_else(|| (1 + rng.below(EXTENT)).to_string())
}

/// One that data tell.
pub(super) fn known_index(rng: &mut ChainRng, s: &Scope) -> String {
    let known = if chance(rng, 60) { pick(rng, &s.known).cloned() } else { None };
    known.unwrap_or_else(|| (1 + rng.below(EXTENT)).to_string())
}

/// First and last of a range of a length, as text.
pub(super) fn range(rng: &mut ChainRng, len: u64) -> String {
    let low = 1 + rng.below(EXTENT + 1 - len);
    let high = low + len - 1;
    match (low, high) {
        (1, _) if chance(rng, 20) => format!(":{high}"),
        (_, EXTENT) if chance(rng, 20) => format!("{low}:"),
        _ => format!("{low}:{high}"),
    }
}

/// Several indices of a length, by a range or a list without repetitions.
pub(super) fn several(rng: &mut ChainRng, s: &Scope, len: u64) -> String {
    if s.data && len == EXTENT && chance(rng, 30) {
        return "perm".to_owned();
    }
    if chance(rng, 30) {
        let mut all: Vec<u64> = (1..=EXTENT).collect();
        while all.len() as u64 > len {
            let position = rng.below(all.len() as u64) as usize;
            all.remove(position);
        }
        if chance(rng, 50) {
            all.reverse();
        }
        let all: Vec<String> = all.iter().map(u64::to_string).collect();
        return format!("{{{}}}", all.join(", "));
    }
    range(rng, len)
}

/// A real number.
pub(super) fn real(rng: &mut ChainRng, s: &Scope, depth: u32) -> String {
    if depth == 0 || chance(rng, 25) {
        return atom(rng, s);
    }
    let d = depth - 1;
    match rng.below(20) {
        18 => match pick(rng, &s.rows).cloned() {
            Some(a) => format!("{a}[{}, {}]", index(rng, s, d), index(rng, s, 0)),
            None => atom(rng, s),
        },
        19 => match pick(rng, &s.rows).cloned() {
            Some(a) => format!("0.1 * sum({a}[, {}])", index(rng, s, d)),
            None => atom(rng, s),
        },
        16 => guarded(rng, s, d),
        0 | 1 => format!("({} + {})", real(rng, s, d), real(rng, s, d)),
        2 => format!("({} - {})", real(rng, s, d), real(rng, s, d)),
        3 | 4 => format!("tanh({} * {})", real(rng, s, d), real(rng, s, d)),
        5 => format!("sin({})", real(rng, s, d)),
        6 => format!("({} ? {} : {})", condition(rng, s, d), real(rng, s, d), real(rng, s, d)),
        7 => format!("0.2 * sum({})", vector(rng, s, d, EXTENT)),
        8 => format!("tanh(0.1 * dot_product({}, {}))", vector(rng, s, d, 3), vector(rng, s, d, 3)),
        9 => format!("fmax({}, {})", real(rng, s, d), real(rng, s, d)),
        10 => match pick(rng, &s.functions[0]).cloned() {
            Some(f) => {
                let (a, v) = (real(rng, s, d), vector(rng, s, d, EXTENT));
                format!("{f}({a}, {v}, {})", index(rng, s, d))
            }
            None => atom(rng, s),
        },
        11 => match pick(rng, &s.counters) {
            Some(n) => format!("{n} * 0.1"),
            None => atom(rng, s),
        },
        12 => format!("inv_logit({})", real(rng, s, d)),
        13 => match pick(rng, &s.matrices).cloned() {
            Some(m) => format!("{m}[{}, {}]", index(rng, s, d), index(rng, s, 0)),
            None => atom(rng, s),
        },
        _ => element(rng, s, d),
    }
}

/// A choice whose other side is no argument where it is not taken: a square root of the program's
/// own that rejects negative numbers, or a density whose scale must be positive.
fn guarded(rng: &mut ChainRng, s: &Scope, depth: u32) -> String {
    let (a, other) = (atom(rng, s), real(rng, s, depth));
    match rng.below(4) {
        0 => format!("({a} > 0 ? root({a}) : {other})"),
        1 => format!("({a} < 0 ? {other} : root({a}))"),
        // Flat enough that loops of it do not become chaotic.
        2 => format!("({a} > 0.5 ? tanh(0.1 * normal_lpdf({other} | 0.3, {a})) : {other})"),
        _ => format!("({a} > 0 ? root({a}) : root(-1 * {a}))"),
    }
}

/// The function that [`guarded`] calls, from argument to body.
pub(super) const ROOT: (&str, &str) =
    ("real root(real a)", "if (a < 0) reject(\"a negative number\", a); return sqrt(a + 0.5);");

fn element(rng: &mut ChainRng, s: &Scope, depth: u32) -> String {
    let list = if chance(rng, 60) { &s.vectors } else { &s.arrays };
    match pick(rng, list).cloned() {
        Some(v) => format!("{v}[{}]", index(rng, s, depth)),
        None => atom(rng, s),
    }
}

fn atom(rng: &mut ChainRng, s: &Scope) -> String {
    match rng.below(10) {
        0 => literal(rng),
        1 | 2 => pick(rng, &s.vectors)
            .cloned()
            .map(|v| format!("{v}[{}]", known_index(rng, s)))
            .unwrap_or_else(|| literal(rng)),
        3 if s.data => format!("d[{}]", known_index(rng, s)),
        4 => pick(rng, &s.known).map_or_else(|| "0.4".to_owned(), |i| format!("{i} * 0.2")),
        5 if s.data => pick(rng, &s.long).map_or_else(|| "c".to_owned(), |i| format!("w24[{i}]")),
        _ => pick(rng, &s.reals).cloned().unwrap_or_else(|| literal(rng)),
    }
}

/// A vector of a length.
pub(super) fn vector(rng: &mut ChainRng, s: &Scope, depth: u32, len: u64) -> String {
    if depth > 0 && chance(rng, 35) {
        let d = depth - 1;
        match rng.below(10) {
            8 | 9 => {
                if let Some(part) = part_by_function(rng, s, d, len) {
                    return part;
                }
            }
            6 => {
                if let Some(a) = pick(rng, &s.rows).cloned() {
                    let i = index(rng, s, d);
                    return match len {
                        EXTENT => format!("{a}[{i}]"),
                        _ => format!("{a}[{i}][{}]", several(rng, s, len)),
                    };
                }
            }
            7 if len == EXTENT => {
                if let Some(m) = pick(rng, &s.matrices).cloned() {
                    return format!("tanh(0.2 * {m} * {})", vector(rng, s, d, len));
                }
            }
            0 => return format!("({} + {})", vector(rng, s, d, len), real(rng, s, d)),
            1 => return format!("tanh({})", vector(rng, s, d, len)),
            2 => return format!("({} .* {})", vector(rng, s, d, len), vector(rng, s, d, len)),
            3 if len == EXTENT => {
                if let Some(f) = pick(rng, &s.functions[1]).cloned() {
                    return format!("{f}({}, {})", vector(rng, s, d, len), real(rng, s, d));
                }
            }
            4 => {
                if let Some(m) = pick(rng, &s.matrices).cloned() {
                    let (i, several) = (index(rng, s, d), several(rng, s, len));
                    let slice = if chance(rng, 50) {
                        format!("{m}[{several}, {i}]")
                    } else {
                        format!("{m}[{i}, {several}]'")
                    };
                    return slice;
                }
            }
            _ => {
                let (c, a, b) =
                    (condition(rng, s, d), vector(rng, s, d, len), vector(rng, s, d, len));
                return format!("({c} ? {a} : {b})");
            }
        }
    }
    match pick(rng, &s.vectors).cloned() {
        Some(v) if len == EXTENT && chance(rng, 60) => v,
        Some(v) => format!("{v}[{}]", several(rng, s, len)),
        None => format!("rep_vector({}, {len})", real(rng, s, 0)),
    }
}

/// A vector of a length by a function that picks, joins or orders elements; nothing where its
/// argument is not in scope.
fn part_by_function(rng: &mut ChainRng, s: &Scope, depth: u32, len: u64) -> Option<String> {
    let v = pick(rng, &s.vectors).cloned();
    let expression = match rng.below(10) {
        0 => format!("head({}, {len})", v?),
        1 => format!("tail({}, {len})", v?),
        2 => format!("segment({}, {}, {len})", v?, 1 + rng.below(EXTENT + 1 - len)),
        3 if len > 1 => {
            let first = 1 + rng.below(len - 1);
            let (a, b) = (vector(rng, s, depth, first), vector(rng, s, depth, len - first));
            format!("append_row({a}, {b})")
        }
        4 => format!("reverse({})", vector(rng, s, depth, len)),
        5 => format!("cumulative_sum({})", vector(rng, s, depth, len)),
        6 if len == EXTENT => format!("col({}, {})", pick(rng, &s.matrices)?, known_index(rng, s)),
        7 if len == EXTENT => {
            format!("row({}, {})'", pick(rng, &s.matrices)?, index(rng, s, depth))
        }
        8 if len == EXTENT => format!("diagonal({})", pick(rng, &s.matrices)?),
        _ => {
            let array = pick(rng, &s.arrays)?.clone();
            match len {
                EXTENT => format!("to_vector({array})"),
                _ => format!("to_vector({array}[{}])", several(rng, s, len)),
            }
        }
    };
    Some(expression)
}

/// A condition, on parameters or on data.
pub(super) fn condition(rng: &mut ChainRng, s: &Scope, depth: u32) -> String {
    let d = depth.saturating_sub(1);
    match rng.below(13) {
        12 => {
            let a = atom(rng, s);
            let right = format!("root({a}) > {:.1}", 0.8 + 0.1 * rng.below(5) as f64);
            let left = if chance(rng, 50) { format!("{a} > 0 &&") } else { format!("{a} < 0 ||") };
            format!("({left} {right})")
        }
        0 => format!("{} > {}", known_index(rng, s), 1 + rng.below(EXTENT)),
        1 if s.data => format!("d[{}] > {}", known_index(rng, s), literal(rng)),
        2 if s.data => match pick(rng, &s.long) {
            Some(i) => format!("w24[{i}] > 0"),
            None => format!("k[{}] == {}", known_index(rng, s), 1 + rng.below(EXTENT)),
        },
        3 => match pick(rng, &s.counters) {
            Some(n) => format!("{n} > {}", rng.below(4)),
            None => format!("{} < {}", real(rng, s, d), literal(rng)),
        },
        4 if depth > 0 => {
            let op = if chance(rng, 50) { "&&" } else { "||" };
            format!("({} {op} {})", condition(rng, s, d), condition(rng, s, d))
        }
        5 if depth > 0 => format!("!({})", condition(rng, s, d)),
        6 => format!("{} == {}", index(rng, s, 0), known_index(rng, s)),
        _ => format!("{} > {}", real(rng, s, d), real(rng, s, 0)),
    }
}
