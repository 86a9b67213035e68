//! Bytes -> CRC-32 (the polynomial of IEEE 802.3, reflected, as in zlib).

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
        for byte in bytes {
            let index = (self.0 ^ u32::from(*byte)) & 0xff;
            self.0 = (self.0 >> 8) ^ TABLE[index as usize];
        }
    }

    pub(crate) fn value(self) -> u32 {
        !self.0
    }
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
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
}
