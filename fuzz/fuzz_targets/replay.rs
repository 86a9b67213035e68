//! A file's bytes -> a replay or a located error; what is read whole is written and read again.
#![no_main]

use replay::{Game, differences};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(game) = Game::read(bytes) else { return };
    assert!(game.damage.as_ref().is_none_or(|damage| damage.offset <= bytes.len()));
    // A game of a version whose events are shorter or longer than the version's is not written.
    if let Ok(written) = game.write() {
        let again = Game::read(&written).expect("what we write has a beginning");
        if again.start == game.start {
            let found = differences(&game, &again);
            let is_of_columns = |what: &String| what.contains('`') || what.contains("presence");
            assert!(!found.iter().any(is_of_columns), "{found:?}");
        }
    }
});
