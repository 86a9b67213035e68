//! Bytes -> their SHA-256 digest, so that a reader can check files with `sha256sum`.
//!
//! **Reference**: FIPS 180-4, section 6.2. The constants are the first 32 bits of the fractional
//! parts of square and cube roots of primes, computed here exactly with integers.

/// The digest as 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let primes: Vec<u128> =
        (2..312_u128).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).collect();
    let mut state: Vec<u32> = primes[..8].iter().map(|p| root(*p, 2)).collect();
    let constants: Vec<u32> = primes[..64].iter().map(|p| root(*p, 3)).collect();

    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((8 * bytes.len() as u64).to_be_bytes());
    for block in message.chunks(64) {
        let mut w: Vec<u32> =
            block.chunks(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        for t in 16..64 {
            let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
            let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
            w.push(w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1));
        }
        let mut s = state.clone();
        for (k, word) in constants.iter().zip(&w) {
            let s1 = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
            let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
            let first = [s[7], s1, choice, *k, *word].into_iter().fold(0, u32::wrapping_add);
            let s0 = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
            let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
            let second = s0.wrapping_add(majority);
            s.rotate_right(1);
            s[4] = s[4].wrapping_add(first);
            s[0] = first.wrapping_add(second);
        }
        state.iter_mut().zip(&s).for_each(|(own, new)| *own = own.wrapping_add(*new));
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

/// The first 32 bits of the fractional part of a number's square or cube root.
fn root(number: u128, power: u32) -> u32 {
    // floor(root * 2^32), bit by bit.
    let target = number << (32 * power);
    let mut found: u128 = 0;
    for bit in (0..37).rev() {
        let next = found | 1 << bit;
        if next.pow(power) <= target {
            found = next;
        }
    }
    found as u32
}

#[cfg(test)]
mod tests {
    use super::sha256;

    /// The examples of FIPS 180-4, and lengths around the block from Python's `hashlib`.
    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            sha256(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
        assert_eq!(
            sha256(&[b'a'; 1000]),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
        );
    }
}
