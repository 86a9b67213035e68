//! A seed and files -> damaged files: cut off, with changed, lost and repeated bytes, and heads of
//! others.
//!
//! `cargo xtask policy damage` includes this file, so it depends on nothing.

/// Numbers that look random (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// One of the files with one to three damages. The first `head` bytes, where sizes, lengths and
/// settings are, are damaged more often than others.
pub(crate) fn damaged(
    files: &[Vec<u8>],
    number: usize,
    head: usize,
    random: &mut Random,
) -> Vec<u8> {
    let mut file = files[number % files.len()].clone();
    for _ in 0..1 + random.below(3) {
        let place = random.below(file.len());
        match random.below(7) {
            0 => file.truncate(place.max(1)),
            1 => file[place] ^= 1 << random.below(8),
            2 => file[place] = random.next() as u8,
            3 => {
                let end = (place + random.below(200)).min(file.len());
                file.drain(place..end);
                file.push(0);
            }
            4 => {
                let copied = file[place..(place + random.below(300)).min(file.len())].to_vec();
                file.splice(place..place, copied);
            }
            5 => {
                let place = random.below(file.len().min(head));
                file[place] = random.next() as u8;
            }
            _ => {
                let other = &files[random.below(files.len())];
                let length = random.below(other.len().min(file.len()).min(2 * head) + 1);
                file[..length].copy_from_slice(&other[..length]);
            }
        }
    }
    file
}
