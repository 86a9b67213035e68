//! Model, metric and settings -> a number that changes with any bit of any draw.

use exmc::SamplerConfig;
use exmc::advanced::{BoundModel, sample};

/// 64-bit FNV-1a over the bits of all recorded draws, chain after chain.
///
/// Reference: Fowler, Noll and Vo, draft-eastlake-fnv.
///
/// # Errors
/// When sampling fails.
pub fn fingerprint(model: &BoundModel, config: &SamplerConfig) -> Result<u64, exmc::Error> {
    let posterior = sample(model, config)?;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for chain in &posterior.chains {
        for byte in chain.values.iter().flat_map(|x| x.to_bits().to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(hash)
}
