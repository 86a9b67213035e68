//! The notation in which signatures are written down: one line of text -> all argument lists that
//! it stands for, with their result types.
//!
//! A pattern is `slot, slot, … -> result`; several are separated by `;`. A slot is one or several
//! types with `|` between them, after `data` if it takes data only. Types are Stan's names
//! (`vector`), and
//! - `int[]`, `real[,]`: arrays;
//! - `T`: each of the nine types without parts; `R`: real, vector, row vector, matrix; `V`: the
//!   last three of these; `C`: the four complex ones. A letter stands for the same type in the
//!   whole pattern; `real(C)` and `complex(R)` are the types of the same shape;
//! - `vector{0..7}`: arrays of any depth from 0 to 7, and `{d}`, `{d+1}` … for the same depth
//!   again;
//! - `ints`, `reals`, `numbers`, `vectors`: what a vectorised density takes in one slot;
//! - a result `a ~ b`: `a` if all arguments are scalars, `b` otherwise.

use rustc_hash::FxHashSet;

use super::{Parameter, Signature};
use crate::check::types::{complex_of, real_of};
use crate::typed::Type;

/// Types without parts, in the order of the language.
const PLAIN: [(&str, Type); 9] = [
    ("int", Type::Int),
    ("real", Type::Real),
    ("complex", Type::Complex),
    ("vector", Type::Vector),
    ("row_vector", Type::RowVector),
    ("matrix", Type::Matrix),
    ("complex_vector", Type::ComplexVector),
    ("complex_row_vector", Type::ComplexRowVector),
    ("complex_matrix", Type::ComplexMatrix),
];

/// Words that stand for several types in a slot.
const SHORT: [(&str, &str); 4] = [
    ("ints", "int|int[]"),
    ("reals", "real|real[]|vector|row_vector"),
    ("numbers", "int|int[]|real|real[]|vector|row_vector"),
    ("vectors", "vector|vector[]|row_vector|row_vector[]"),
];

/// What the letters and `d` stand for in one of the signatures of a pattern.
struct Binding {
    letter: Option<(char, Type)>,
    depth: usize,
}

/// All signatures that a text stands for, each list of arguments once.
pub(in crate::check) fn expand(text: &str) -> Vec<Signature> {
    let (mut all, mut seen) = (Vec::new(), FxHashSet::default());
    for pattern in text.split(';').map(str::trim).filter(|p| !p.is_empty()) {
        expand_one(pattern, &mut all, &mut seen);
    }
    all
}

fn expand_one(pattern: &str, all: &mut Vec<Signature>, seen: &mut FxHashSet<Vec<Parameter>>) {
    let (arguments, result) = pattern.split_once("->").expect("a pattern has an arrow");
    let slots: Vec<&str> = split_slots(arguments);
    let (scalar, other) = result.split_once('~').map_or((result, result), |(a, b)| (a, b));
    for binding in bindings(pattern) {
        let choices: Vec<Vec<Parameter>> = slots.iter().map(|s| choices(s, &binding)).collect();
        let count: usize = choices.iter().map(Vec::len).product();
        // There are up to some thousand combinations, but two results.
        let [of_scalars, of_others] = [scalar, other].map(|text| parse_type(text, &binding));
        for index in 0..count {
            let mut step = count;
            let pick = |choice: &Vec<Parameter>| {
                step /= choice.len();
                choice[index / step % choice.len()].clone()
            };
            let arguments: Vec<Parameter> = choices.iter().map(pick).collect();
            let scalars = arguments.iter().all(|a| matches!(a.ty, Type::Int | Type::Real));
            if seen.insert(arguments.clone()) {
                let returns = if scalars { &of_scalars } else { &of_others };
                all.push(Signature { arguments, returns: returns.clone() });
            }
        }
    }
}

/// The combinations of a letter's types and of depths that a pattern ranges over.
fn bindings(pattern: &str) -> Vec<Binding> {
    let letter = pattern
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .find_map(|word| Some((word, letter_types(word)?)));
    let depths = pattern.split_once("..").map_or(0..=0, |(before, after)| {
        let digit = |c: Option<char>| c.and_then(|c| c.to_digit(10)).expect("a digit") as usize;
        digit(before.chars().last())..=digit(after.chars().next())
    });
    let letters: Vec<Option<(char, Type)>> = match letter {
        Some((word, types)) => {
            let letter = word.chars().next().expect("a letter");
            types.iter().map(|ty| Some((letter, ty.clone()))).collect()
        }
        None => vec![None],
    };
    let pairs = letters.iter().flat_map(|letter| depths.clone().map(move |depth| (letter, depth)));
    pairs.map(|(letter, depth)| Binding { letter: letter.clone(), depth }).collect()
}

fn letter_types(word: &str) -> Option<Vec<Type>> {
    let all = || PLAIN.iter().map(|(_, ty)| ty.clone());
    match word {
        "T" => Some(all().collect()),
        "R" => Some(vec![Type::Real, Type::Vector, Type::RowVector, Type::Matrix]),
        "V" => Some(vec![Type::Vector, Type::RowVector, Type::Matrix]),
        "C" => Some(vec![
            Type::Complex,
            Type::ComplexVector,
            Type::ComplexRowVector,
            Type::ComplexMatrix,
        ]),
        _ => None,
    }
}

/// Slots at commas that are outside all brackets.
fn split_slots(text: &str) -> Vec<&str> {
    let (mut slots, mut start, mut open) = (Vec::new(), 0, 0);
    for (offset, c) in text.char_indices() {
        match c {
            '[' | '(' | '{' => open += 1,
            ']' | ')' | '}' => open -= 1,
            ',' if open == 0 => {
                slots.push(text[start..offset].trim());
                start = offset + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        slots.push(last);
    }
    slots
}

fn choices(slot: &str, binding: &Binding) -> Vec<Parameter> {
    let (data_only, slot) = slot.strip_prefix("data ").map_or((false, slot), |rest| (true, rest));
    let mut words: Vec<&str> = Vec::new();
    for word in slot.split('|').map(str::trim) {
        match SHORT.iter().find(|(short, _)| *short == word) {
            Some((_, types)) => words.extend(types.split('|')),
            None => words.push(word),
        }
    }
    words.iter().map(|word| Parameter { data_only, ty: parse_type(word, binding) }).collect()
}

fn parse_type(word: &str, binding: &Binding) -> Type {
    let word = word.trim();
    if let Some(inner) = word.strip_prefix("tuple(").and_then(|rest| rest.strip_suffix(')')) {
        return Type::Tuple(
            split_slots(inner).iter().map(|slot| parse_type(slot, binding)).collect(),
        );
    }
    if let Some((base, brackets)) = word.split_once('[') {
        return parse_type(base, binding).array(brackets.len());
    }
    if let Some((base, depth)) = word.split_once('{') {
        let extra = depth.split_once('+').map_or(0, |(_, digits)| {
            digits.trim_end_matches('}').parse::<usize>().expect("a number after +")
        });
        return parse_type(base, binding).array(binding.depth + extra);
    }
    if let Some(inner) = word.strip_prefix("real(").and_then(|rest| rest.strip_suffix(')')) {
        return real_of(&parse_type(inner, binding));
    }
    if let Some(inner) = word.strip_prefix("complex(").and_then(|rest| rest.strip_suffix(')')) {
        return complex_of(&parse_type(inner, binding));
    }
    if let Some((letter, ty)) = &binding.letter
        && word.len() == 1
        && word.starts_with(*letter)
    {
        return ty.clone();
    }
    let found = PLAIN.iter().find(|(name, _)| *name == word);
    found.unwrap_or_else(|| unreachable!("no type is called `{word}`")).1.clone()
}
