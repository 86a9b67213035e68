//! Kinds of events: codes, names, and how many bytes a file says that each has.

use crate::error::ReplayError;
use crate::start::MIN_START;

pub(crate) const PAYLOADS: u8 = 0x35;
pub(crate) const GAME_START: u8 = 0x36;
pub(crate) const PRE: u8 = 0x37;
pub(crate) const POST: u8 = 0x38;
pub(crate) const GAME_END: u8 = 0x39;
pub(crate) const FRAME_START: u8 = 0x3a;
pub(crate) const ITEM: u8 = 0x3b;
pub(crate) const FRAME_END: u8 = 0x3c;
pub(crate) const PLATFORM: u8 = 0x3f;
pub(crate) const WIND: u8 = 0x40;
pub(crate) const TRANSFORMATION: u8 = 0x41;

/// Names of events for messages, and the fewest bytes behind their codes in any version.
const EVENTS: [(u8, &str, usize); 10] = [
    (GAME_START, "game start", MIN_START),
    (PRE, "pre-frame", 58),
    (POST, "post-frame", 33),
    (GAME_END, "game end", 1),
    (FRAME_START, "frame start", 8),
    (ITEM, "item", 37),
    (FRAME_END, "frame end", 4),
    (PLATFORM, "platform", 9),
    (WIND, "wind", 5),
    (TRANSFORMATION, "transformation", 8),
];

pub(crate) fn name(code: u8) -> String {
    let known = EVENTS.iter().find(|(c, ..)| *c == code);
    known.map_or_else(|| format!("event {code:#04x}"), |(_, name, _)| format!("{name} event"))
}

/// Bytes behind the code of each kind of event, as the file declares them.
pub(crate) struct Sizes([u32; 256]);

const UNDECLARED: u32 = u32::MAX;

impl Sizes {
    #[inline(always)]
    pub(crate) fn of(&self, code: u8) -> Option<usize> {
        let size = self.0[usize::from(code)];
        (size != UNDECLARED).then_some(size as usize)
    }

    pub(crate) fn payload(&self, code: u8) -> usize {
        self.of(code).unwrap_or(0)
    }

    /// The first event, at `event_offset`; also the place behind it.
    pub(crate) fn read(bytes: &[u8], event_offset: usize) -> Result<(Self, usize), ReplayError> {
        let fail = |offset, message: &str| Err(ReplayError::new(offset, message));
        if bytes.get(event_offset) != Some(&PAYLOADS) {
            return fail(
                event_offset,
                "expected the sizes of events (0x35): no Slippi replay, or a damaged one",
            );
        }
        let Some(&length) = bytes.get(event_offset + 1) else {
            return fail(event_offset + 1, "the file ends before the sizes of events");
        };
        if length % 3 != 1 {
            return fail(
                event_offset + 1,
                "the sizes of events have a length that is no multiple of three",
            );
        }
        let Some(table) = bytes.get(event_offset + 2..event_offset + 1 + usize::from(length))
        else {
            return fail(event_offset + 1, "the file ends within the sizes of events");
        };
        let mut sizes = Self([UNDECLARED; 256]);
        for row in table.chunks_exact(3) {
            sizes.0[usize::from(row[0])] = u32::from(u16::from_be_bytes([row[1], row[2]]));
        }
        for (code, name, least) in EVENTS {
            if sizes.of(code).is_some_and(|size| size < least) {
                let message =
                    format!("{name} events have fewer bytes than the {least} of version 0.1");
                return Err(ReplayError::new(event_offset, message));
            }
        }
        Ok((sizes, event_offset + 1 + usize::from(length)))
    }
}
