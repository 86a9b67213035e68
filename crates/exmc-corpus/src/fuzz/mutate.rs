//! A text of a corpus, another one and random numbers -> the first with a few changes by words,
//! lines and bytes.

/// Words and marks that mutations put in.
const WORDS: [&str; 72] = [
    "data {",
    "model {",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "?",
    "|",
    "~",
    "=",
    "+=",
    ".*=",
    "'",
    "!",
    "-",
    "+",
    "^",
    ".^",
    "*",
    "/",
    "%",
    "%/%",
    "\\",
    "&&",
    "||",
    "==",
    "<=",
    "T[",
    "target",
    "target +=",
    "jacobian +=",
    "if (",
    "else",
    "for (i in ",
    "while (",
    "return",
    "break;",
    "int",
    "real",
    "vector[2]",
    "matrix[2, 2]",
    "array[2]",
    "array[]",
    "tuple(",
    "simplex[2]",
    "complex",
    "<lower=0>",
    "offset=",
    "void",
    "print(",
    "reject(",
    "\"",
    "\"a\"",
    "//",
    "/*",
    "*/",
    "#include x",
    "#",
    "1",
    "1.5",
    ".1",
    "1e400",
    "99999999999999999999",
    "é",
    "\u{0}",
];

/// A small generator, so that failures can be repeated (Steele et al. 2014, SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Mixer(pub(super) u64);

impl Mixer {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; zero for zero.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// A changed text: up to four changes by words, and as `bytes` wishes, up to two by bytes.
pub(super) fn mutate(text: &str, other: &str, bytes: bool, random: &mut Mixer) -> String {
    let mut words = pieces(text);
    let others = pieces(other);
    for _ in 0..=random.below(4) {
        let index = random.below(words.len());
        match random.below(8) {
            0 if !words.is_empty() => _ = words.remove(index),
            1 => words.insert(index, WORDS[random.below(WORDS.len())]),
            2 if !words.is_empty() => words[index] = WORDS[random.below(WORDS.len())],
            // A word for another of the same text: what is most likely to pass the checker.
            3 | 4 if !words.is_empty() => words[index] = words[random.below(words.len())],
            5 if !others.is_empty() => words.insert(index, others[random.below(others.len())]),
            6 => {
                let mut lines = other.split_inclusive('\n');
                let count = lines.clone().count();
                if let Some(line) = lines.nth(random.below(count)) {
                    words.insert(index, line);
                }
            }
            7 if !words.is_empty() => {
                let b = random.below(words.len());
                words.swap(index, b);
            }
            _ => {}
        }
    }
    let mut out = words.concat().into_bytes();
    if bytes {
        for _ in 0..random.below(3) {
            let offset = random.below(out.len());
            match random.below(4) {
                0 if !out.is_empty() => out[offset] = random.next() as u8,
                1 if !out.is_empty() => _ = out.remove(offset),
                2 => out.truncate(offset + 1),
                _ => out.insert(offset.min(out.len()), b"{}()[]<>;,|'\"#/*.0e_~"[random.below(21)]),
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A text as words, numbers, signs and blanks, which joined give the text again.
fn pieces(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
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
