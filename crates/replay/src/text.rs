//! Names as the game keeps them: Shift JIS bytes <-> text.

use std::fmt;

/// A name in Shift JIS, as the game keeps it; the bytes are kept as they are.
///
/// Latin letters, digits, signs, kana, Greek and Cyrillic letters are read; Chinese characters, of
/// which names in the game have none, become U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeleeText {
    bytes: Vec<u8>,
}

/// The characters of 0x8140 to 0x81fc, without 0x817f.
const SIGNS: [&str; 4] = [
    "　、。，．・：；？！゛゜´｀¨＾￣＿ヽヾゝゞ〃仝々〆〇ー―‐／＼～∥｜…‥‘’“”（）〔〕［］",
    "｛｝〈〉《》「」『』【】＋－±×÷＝≠＜＞≦≧∞∴♂♀°′″℃￥＄￠￡％＃＆＊＠§☆★○●◎◇",
    "◆□■△▲▽▼※〒→←↑↓〓�����������∈∋⊆⊇⊂⊃∪∩��������∧∨￢⇒⇔∀",
    "∃�����������∠⊥⌒∂∇≡≒≪≫√∽∝∵∫∬�������Å‰♯♭♪†‡¶����◯",
];

impl MeleeText {
    /// A name from its bytes, up to the first zero.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Self { bytes: bytes[..end].to_vec() }
    }

    /// The bytes, without zeros behind them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the name has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The name with wide letters, digits and signs as their ASCII counterparts, as people write
    /// it: the connect code `ABCD＃123` is `ABCD#123`.
    #[must_use]
    pub fn narrow(&self) -> String {
        let narrow = |c: char| match u32::from(c) {
            0x3000 => ' ',
            wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0).unwrap_or(c),
            _ => c,
        };
        self.to_string().chars().map(narrow).collect()
    }
}

impl fmt::Display for MeleeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.bytes.iter().copied();
        while let Some(first) = bytes.next() {
            let character = match first {
                0x00..=0x80 => char::from(first),
                0xa1..=0xdf => char_at(0xff61, first - 0xa1),
                _ => bytes.next().map_or(char::REPLACEMENT_CHARACTER, |second| wide(first, second)),
            };
            fmt::Write::write_char(f, character)?;
        }
        Ok(())
    }
}

fn char_at(base: u32, distance: u8) -> char {
    char::from_u32(base + u32::from(distance)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A character of two bytes.
fn wide(first: u8, second: u8) -> char {
    // 0x7f is no second byte, so what lies behind it is one place nearer.
    let place = |from: u8| second - from - u8::from(from <= 0x7f && second > 0x7f);
    match (first, second) {
        (_, 0x7f) => char::REPLACEMENT_CHARACTER,
        (0x81, 0x40..=0xfc) => {
            let place = usize::from(place(0x40));
            SIGNS
                .iter()
                .flat_map(|line| line.chars())
                .nth(place)
                .unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        (0x82, 0x4f..=0x58) => char_at(0xff10, second - 0x4f),
        (0x82, 0x60..=0x79) => char_at(0xff21, second - 0x60),
        (0x82, 0x81..=0x9a) => char_at(0xff41, second - 0x81),
        (0x82, 0x9f..=0xf1) => char_at(0x3041, second - 0x9f),
        (0x83, 0x40..=0x96) => char_at(0x30a1, place(0x40)),
        // Greek and Russian alphabets; final sigma and the letter io are out of order.
        (0x83, 0x9f..=0xb6) => char_at(0x391 + u32::from(second > 0xaf), second - 0x9f),
        (0x83, 0xbf..=0xd6) => char_at(0x3b1 + u32::from(second > 0xcf), second - 0xbf),
        (0x84, 0x46) => '\u{401}',
        (0x84, 0x76) => '\u{451}',
        (0x84, 0x40..=0x60) => char_at(0x410 - u32::from(second > 0x46), second - 0x40),
        (0x84, 0x70..=0x91) => char_at(0x430 - u32::from(second > 0x76), place(0x70)),
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::MeleeText;

    #[test]
    fn names_are_read_as_codepage_932() {
        // From Python: text.encode("cp932").
        let cases: [(&[u8], &str); 6] = [
            (b"\x83m\x81[\x83\x7d\x83\x80", "ノーマム"),
            (b"\x82`\x82y\x82\x81\x82\x9a\x82O\x82X", "ＡＺａｚ０９"),
            (b"\x82\x9f\x82\xf1\xb1\xdf", "ぁんｱﾟ"),
            (b"\x83\xaf\x83\xb0\x83\xb6\x83\xbf\x83\xd0\x83\xd6", "ΡΣΩασω"),
            (b"\x84@\x84F\x84G\x84`\x84p\x84v\x84~\x84\x80\x84\x91", "АЁЖЯаёноя"),
            (b"a\x81\x94\x81\xfc\x88\x9f", "a＃◯\u{fffd}"),
        ];
        for (bytes, text) in cases {
            assert_eq!(MeleeText::from_bytes(bytes).to_string(), text);
        }
        assert_eq!(MeleeText::from_bytes(b"ABCD\x81\x94123\0xy").narrow(), "ABCD#123");
    }
}
