//! What the tests share: files of the corpus, a small random stream, and log densities of models.

use std::path::PathBuf;

use exmc_graph::{Tensor, evaluate};
use exmc_model::{DataSet, LowerOptions, Model, ModelError, lower, rewrite};

/// The files of a folder of the corpus with an ending, sorted by name: name, bytes.
pub(crate) fn corpus(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let folder = corpus_folder(folder);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(ending) {
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

pub(crate) fn corpus_folder(folder: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder)
}

/// Splitmix64: a few lines that give the same stream for ever (Steele, Lea and Flood 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Between -1 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    pub(crate) fn text(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.below(choices.len())]
    }

    /// With a chance of one in `n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Log densities of the rewritten model at a few positions, as bits; `data` fills what it lacks.
pub(crate) fn logp_bits(model: &Model, data: &DataSet) -> Result<Vec<u64>, ModelError> {
    logp_bits_of_rewritten(&rewrite(model, &[])?, data)
}

pub(crate) fn logp_bits_of_rewritten(
    model: &Model,
    data: &DataSet,
) -> Result<Vec<u64>, ModelError> {
    let data = data.bind(model)?;
    let lowered = lower(model, LowerOptions::default())?;
    let mut random = Random(17);
    let mut bits = Vec::new();
    for _ in 0..4 {
        let position: Vec<f64> = (0..lowered.dim).map(|_| 1.5 * random.unit()).collect();
        let value = |name: &str| {
            let entry = lowered.layout.iter().find(|e| e.name == name);
            match entry {
                None => data.get(name).cloned(),
                Some(e) => {
                    let part = &position[e.offset..e.offset + e.unconstrained.len()];
                    Tensor::real(e.unconstrained.clone(), part)
                }
            }
        };
        // An index outside of its extent is an error of evaluation, the same on both sides.
        match evaluate(&lowered.graph, &[lowered.logp], &value) {
            Ok(values) => bits.push(values[0].as_scalar().unwrap().to_bits()),
            Err(_) => bits.push(u64::MAX),
        }
    }
    Ok(bits)
}
