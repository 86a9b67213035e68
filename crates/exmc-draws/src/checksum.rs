//! Bytes -> CRC-32 (the polynomial of IEEE 802.3, reflected, as in zlib).
//!
//! Eight bytes at a time: table k says what a byte does to the checksum after k more bytes. **Reference**:
//! Kounavis and Berry 2005 ("slicing-by-8").

/// A running checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crc32(u32);

impl Default for Crc32 {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Crc32 {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let word = u64::from_le_bytes(*eight) ^ u64::from(self.0);
            let parts = word.to_le_bytes().into_iter().zip(TABLES.iter().rev());
            self.0 = parts.fold(0, |crc, (byte, table)| crc ^ table[usize::from(byte)]);
        }
        for byte in rest {
            let index = (self.0 ^ u32::from(*byte)) & 0xff;
            self.0 = (self.0 >> 8) ^ TABLES[0][index as usize];
        }
    }

    pub(crate) fn value(self) -> u32 {
        !self.0
    }
}

static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_check_value() {
        let mut crc = Crc32::default();
        crc.update(b"1234");
        crc.update(b"56789");
        assert_eq!(crc.value(), 0xcbf4_3926);
    }

    /// Against the definition, a division of polynomials bit by bit, in pieces of all lengths.
    #[test]
    fn is_the_remainder_of_the_polynomial_division() {
        let bytes: Vec<u8> = (0..100_u32).map(|k| (k * k * 31 + 7 * k) as u8).collect();
        for length in 0..bytes.len() {
            let mut remainder = u32::MAX;
            for byte in &bytes[..length] {
                remainder ^= u32::from(*byte);
                for _ in 0..8 {
                    let out = remainder & 1;
                    remainder = (remainder >> 1) ^ (out * 0xedb8_8320);
                }
            }
            let mut crc = Crc32::default();
            let (first, second) = bytes[..length].split_at(length / 3);
            crc.update(first);
            crc.update(second);
            assert_eq!(crc.value(), !remainder, "{length} bytes");
        }
    }
}
