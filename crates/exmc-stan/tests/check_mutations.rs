//! Programs with words exchanged for words of other programs: the checker must answer each with a
//! typed program or with errors, whatever it is given.

use std::fs;
use std::path::Path;

use exmc_stan::check::{check, print};
use exmc_stan::diagnostic::Severity;
use exmc_stan::source::Sources;
use exmc_stan::syntax::{NoIncludes, parse};

/// A small generator, so that failures can be repeated (Steele et al. 2014, SplitMix64).
struct Mixer(u64);

impl Mixer {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % n
    }
}

/// A text as words, numbers, signs and blanks, which joined give the text again.
fn pieces(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut all, mut start, mut last) = (Vec::new(), 0, None);
    for (offset, c) in text.char_indices() {
        if let Some(before) = last
            && !(word(before) && word(c))
        {
            all.push(&text[start..offset]);
            start = offset;
        }
        last = Some(c);
    }
    all.push(&text[start..]);
    all
}

fn is_word(piece: &str) -> bool {
    piece.starts_with(|c: char| c.is_alphanumeric())
}

#[test]
fn exchanged_words_are_answered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let folder = std::env::var("EXMC_STAN_MUTATED").map_or(folder, Into::into);
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "stan"));
    paths.sort();
    let texts: Vec<String> =
        paths.iter().map(|path| fs::read_to_string(path).expect("a program")).collect();
    let words: Vec<&str> =
        texts.iter().flat_map(|text| pieces(text)).filter(|piece| is_word(piece)).collect();
    let rounds = std::env::var("EXMC_STAN_MUTATIONS").map_or(15, |n| n.parse().expect("a number"));
    let (mut accepted, mut refused) = (0, 0);
    for (k, text) in texts.iter().enumerate() {
        for round in 0..rounds {
            let mut mixer = Mixer(((k as u64) << 32) + round);
            let mut changed = pieces(text);
            let places: Vec<usize> =
                (0..changed.len()).filter(|index| is_word(changed[*index])).collect();
            if places.is_empty() {
                continue;
            }
            for _ in 0..=mixer.below(3) {
                changed[places[mixer.below(places.len())]] = words[mixer.below(words.len())];
            }
            let mut sources = Sources::single("mutated.stan", changed.concat());
            let (tree, syntax) = parse(&mut sources, &mut NoIncludes);
            let (program, semantic) = check(sources, &tree);
            let errors = semantic.iter().any(|d| d.severity == Severity::Error);
            assert_eq!(program.is_none(), errors, "{} round {round}", paths[k].display());
            if let Some(program) = program {
                print(&program);
                accepted += usize::from(syntax.is_empty());
            } else {
                refused += 1;
            }
        }
    }
    // Both must happen often, or the test tests nothing.
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > texts.len() && refused > texts.len(), "{accepted} and {refused}");
}
