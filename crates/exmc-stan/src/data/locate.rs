//! Where an element of a value stands in JSON text. Values are not kept with their places: the text
//! is walked a second time, only for messages.

use crate::data::cursor::{Cursor, Malformed};
use crate::host::Step;

/// First byte and one past the last of the part at `path` of the value that starts at `start`; of
/// the last part that is there, if the path leads nowhere.
pub(crate) fn locate(text: &str, start: usize, path: &[Step]) -> (usize, usize) {
    let mut cursor = Cursor::new(text, start);
    for step in path {
        cursor.peek();
        let here = cursor.position;
        if !matches!(enter(&mut cursor, *step), Ok(true)) {
            cursor.position = here;
            break;
        }
    }
    cursor.peek();
    let first = cursor.position;
    let _ = cursor.skip(0);
    (first, cursor.position.max(first))
}

/// Moves to the start of a part; `false` if there is none.
fn enter(cursor: &mut Cursor<'_>, step: Step) -> Result<bool, Malformed> {
    match step {
        Step::Index(index) => {
            if !cursor.take(b'[') {
                return Ok(false);
            }
            for _ in 1..index {
                cursor.skip(0)?;
                if !cursor.take(b',') {
                    return Ok(false);
                }
            }
            Ok(cursor.peek() != Some(b']'))
        }
        Step::Slot(slot) => {
            if !cursor.take(b'{') {
                return Ok(false);
            }
            loop {
                let key = cursor.string()?;
                cursor.colon()?;
                if *key == *slot.to_string().as_bytes() {
                    return Ok(true);
                }
                cursor.skip(0)?;
                if !cursor.take(b',') {
                    return Ok(false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_elements_and_slots() {
        let text = r#"{"x": [[1, 2], [3, 44]], "t": {"1": 5, "2": [6, 7]}}"#;
        let text_at = |start: usize, path: &[Step]| {
            let (first, end) = locate(text, start, path);
            &text[first..end]
        };
        assert_eq!(text_at(5, &[Step::Index(2), Step::Index(2)]), "44");
        assert_eq!(text_at(5, &[Step::Index(1)]), "[1, 2]");
        assert_eq!(text_at(30, &[Step::Slot(2), Step::Index(1)]), "6");
        assert_eq!(text_at(5, &[Step::Index(9)]), "[[1, 2], [3, 44]]");
    }
}
