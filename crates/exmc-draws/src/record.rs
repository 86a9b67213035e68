//! One draw <-> a record of fixed size in a chain's file, and the header before the records.
//!
//! All numbers are little-endian. A header has [`HEADER_SIZE`] bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | the magic word `exmcdraw` |
//! | 8..12 | format version |
//! | 12..16 | number of the chain |
//! | 16..24 | number of recorded columns |
//! | 24..32 | [`columns_hash`] of their names |
//!
//! A record has `24 + 8 * (6 + columns)` bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | number of the draw within its phase, from 0 |
//! | 8..12 | tree depth |
//! | 12..16 | leapfrog steps |
//! | 16..20 | flags: 1 warmup, 2 moved, 4 divergent, 8 reached the largest depth, 16 last doubling discarded, 32 recovered |
//! | 20..24 | CRC-32 of everything else in the record |
//! | 24..72 | log density, acceptance statistic, energy, energy error, largest energy error, step size |
//! | 72.. | the recorded values |

use crc32fast::Hasher;
use exmc_fault::{Fault, planted};
use exmc_infer::{Info, RunPhase};

use crate::posterior::Variable;

/// Size of a file's header in bytes.
pub(crate) const HEADER_SIZE: usize = 32;

const MAGIC: [u8; 8] = *b"exmcdraw";
const INTEGERS: usize = 24;
const STATISTICS: usize = 6;
const WARMUP: u32 = 1;
const MOVED: u32 = 2;
const DIVERGENT: u32 = 4;
const REACHED_MAX_DEPTH: u32 = 8;
const LAST_DISCARDED: u32 = 16;
/// Never set by versions that did not count these apart from divergences.
const RECOVERED: u32 = 32;

/// What stands at the start of a chain's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) chain: u32,
    pub(crate) width: u64,
    pub(crate) columns: u64,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.chain.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.width.to_le_bytes());
        bytes[24..].copy_from_slice(&self.columns.to_le_bytes());
        bytes
    }

    /// `None` when the bytes do not start with the magic word or are too few.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_SIZE] = bytes.first_chunk()?;
        if bytes[..8] != MAGIC {
            return None;
        }
        Some(Self {
            version: u32_at(bytes, 8),
            chain: u32_at(bytes, 12),
            width: u64_at(bytes, 16),
            columns: u64_at(bytes, 24),
        })
    }
}

/// A hash of the names and shapes of what is recorded (FNV-1a, 64 bits), so that a file is not read
/// with another model's columns.
pub(crate) fn columns_hash(variables: &[Variable]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for variable in variables {
        add(variable.name.as_bytes());
        add(&[0xff]);
        for extent in &variable.shape {
            add(&(*extent as u64).to_le_bytes());
        }
        add(&[0xfe]);
    }
    hash
}

/// Size of a record in bytes, for a number of columns.
pub(crate) fn record_size(width: usize) -> usize {
    INTEGERS + 8 * (STATISTICS + width)
}

/// Where a record's flags are: four bytes.
pub(crate) const FLAGS: usize = 16;

/// Where a column's value is within a record.
pub(crate) fn place_of(column: usize) -> usize {
    INTEGERS + 8 * (STATISTICS + column)
}

/// Whether a record with these flags is of warmup.
pub(crate) fn is_warmup(flags: [u8; 4]) -> bool {
    u32::from_le_bytes(flags) & WARMUP != 0
}

/// Puts one record into its place, but for its checksum, which [`seal`] adds.
///
/// **Shapes**: `record` has [`record_size`] bytes.
pub(crate) fn encode(record: &mut [u8], phase: RunPhase, index: u64, info: &Info, values: &[f64]) {
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    let flags = flag(phase == RunPhase::Warmup, WARMUP)
        | flag(info.moved, MOVED)
        | flag(info.divergent, DIVERGENT)
        | flag(info.reached_max_depth, REACHED_MAX_DEPTH)
        | flag(info.last_discarded, LAST_DISCARDED)
        | flag(info.recovered, RECOVERED);
    record[..8].copy_from_slice(&index.to_le_bytes());
    record[8..12].copy_from_slice(&info.tree_depth.to_le_bytes());
    record[12..16].copy_from_slice(&info.n_steps.to_le_bytes());
    record[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_le_bytes());
    let statistics = [
        info.logp,
        info.accept_stat,
        info.energy,
        info.energy_error,
        info.max_energy_error,
        info.step_size,
    ];
    let numbers = record[INTEGERS..].as_chunks_mut::<8>().0;
    for (place, value) in numbers.iter_mut().zip(statistics.iter().chain(values)) {
        let value = if planted(Fault::DrawsInSingle) { f64::from(*value as f32) } else { *value };
        *place = value.to_le_bytes();
    }
}

/// Gives a record its checksum.
pub(crate) fn seal(record: &mut [u8]) {
    let checksum = checksum(record);
    record[20..INTEGERS].copy_from_slice(&checksum.to_le_bytes());
}

/// The checksum of a whole record, its own field left out.
fn checksum(record: &[u8]) -> u32 {
    let mut crc = Hasher::new();
    crc.update(&record[..20]);
    crc.update(&record[INTEGERS..]);
    crc.finalize()
}

/// A record read back, but for its values.
pub(crate) struct Record {
    pub(crate) phase: RunPhase,
    pub(crate) index: u64,
    pub(crate) info: Info,
}

/// Reads one whole record and appends its values; `None` when its checksum is wrong.
pub(crate) fn decode(record: &[u8], values: &mut Vec<f64>) -> Option<Record> {
    if checksum(record) != u32_at(record, 20) && !planted(Fault::ChecksumIgnored) {
        return None;
    }
    let flags = u32_at(record, 16);
    let mut numbers = record[INTEGERS..].as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b));
    let mut info = Info::still(0.0, 0.0);
    info.tree_depth = u32_at(record, 8);
    info.n_steps = u32_at(record, 12);
    info.moved = flags & MOVED != 0;
    info.divergent = flags & DIVERGENT != 0;
    info.reached_max_depth = flags & REACHED_MAX_DEPTH != 0;
    info.last_discarded = flags & LAST_DISCARDED != 0;
    info.recovered = flags & RECOVERED != 0;
    let statistics = [
        &mut info.logp,
        &mut info.accept_stat,
        &mut info.energy,
        &mut info.energy_error,
        &mut info.max_energy_error,
        &mut info.step_size,
    ];
    for field in statistics {
        *field = numbers.next()?;
    }
    let first = values.len();
    values.extend(numbers);
    if planted(Fault::ColumnsSwapped) && values.len() >= first + 2 {
        values.swap(first, first + 1);
    }
    let in_warmup = flags & WARMUP != 0 && !planted(Fault::WarmupAsDraws);
    let phase = if in_warmup { RunPhase::Warmup } else { RunPhase::Sampling };
    Some(Record { phase, index: u64_at(record, 0), info })
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let array = bytes[offset..].first_chunk().expect("callers pass whole headers and records");
    u32::from_le_bytes(*array)
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let array = bytes[offset..].first_chunk().expect("callers pass whole headers and records");
    u64::from_le_bytes(*array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_to_the_bit() {
        let mut info = Info::still(0.0, 0.0);
        info.tree_depth = 7;
        info.n_steps = 127;
        info.divergent = true;
        info.last_discarded = true;
        info.recovered = true;
        info.logp = -0.1;
        info.energy = f64::from_bits(0x7ff8_0000_dead_beef);
        info.max_energy_error = f64::INFINITY;
        info.step_size = 5e-324;
        let values = [1.0 / 3.0, -0.0, f64::NEG_INFINITY];
        let mut bytes = vec![0; record_size(3)];
        encode(&mut bytes, RunPhase::Warmup, u64::MAX, &info, &values);
        seal(&mut bytes);

        let mut read = Vec::new();
        let record = decode(&bytes, &mut read).unwrap();
        assert_eq!((record.phase, record.index), (RunPhase::Warmup, u64::MAX));
        assert_eq!(record.info.energy.to_bits(), info.energy.to_bits());
        assert_eq!(record.info.max_energy_error, f64::INFINITY);
        assert_eq!((record.info.tree_depth, record.info.n_steps), (7, 127));
        assert!(record.info.divergent && record.info.last_discarded && record.info.recovered);
        assert!(!record.info.moved && !record.info.reached_max_depth);
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&read), bits(&values));
    }

    #[test]
    fn every_flipped_bit_of_a_record_is_seen() {
        let mut bytes = vec![0; record_size(1)];
        encode(&mut bytes, RunPhase::Sampling, 3, &Info::still(0.0, 0.0), &[1.5]);
        seal(&mut bytes);
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes, &mut Vec::new()).is_none(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn names_and_shapes_change_the_hash() {
        let variable = |name: &str, shape: &[usize]| Variable {
            name: name.into(),
            shape: shape.to_vec(),
            dims: Vec::new(),
            offset: 0,
            first_index: 0,
        };
        let hashes = [
            columns_hash(&[variable("ab", &[])]),
            columns_hash(&[variable("a", &[]), variable("b", &[])]),
            columns_hash(&[variable("ab", &[1])]),
            columns_hash(&[variable("ab", &[1, 1])]),
        ];
        for (k, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..k].contains(hash));
        }
    }
}
