//! Replays of the real game, if the folder that `EXMC_REPLAYS` names is there.

#![expect(clippy::print_stdout, reason = "a test that is skipped says why")]

use std::path::PathBuf;

use replay::{Game, differences};

/// A file of the folder; nothing, with a line that says why, without the folder.
fn file(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("EXMC_REPLAYS") else {
        println!("skipped: EXMC_REPLAYS does not name a folder with replays");
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            println!("skipped: {}: {error}", path.display());
            None
        }
    }
}

/// What the live agent saw of the same run, to two digits. It numbers frames from the first one on.
#[test]
fn a_drill_has_the_actions_that_the_live_agent_saw() {
    let (Some(bytes), Some(trace)) = (file("fox_ms_frame1.slp"), file("fox_ms_frame1.trace"))
    else {
        return;
    };
    let game = Game::read_whole(&bytes).expect("the file is whole");
    let post = &game.ports[0].as_ref().expect("a player").leader.post;
    let trace = String::from_utf8(trace).expect("text");
    let mut seen = 0;
    for line in trace.lines().filter(|line| line.starts_with("[trace] f")) {
        let mut words = line["[trace] f".len()..].split(' ');
        let row: usize = words.next().expect("a frame").parse().expect("a number");
        let value = |name: &str| {
            let found = line.split(' ').find_map(|word| word.strip_prefix(name));
            found.unwrap_or_else(|| panic!("no {name} in {line}"))
        };
        assert_eq!(post.action[row].to_string(), value("act="), "{line}");
        assert_eq!((post.airborne[row] == 0).to_string(), value("gnd="), "{line}");
        let y: f32 = value("y=").parse().expect("a number");
        assert!((post.y[row] - y).abs() < 0.005_01, "{line}");
        seen += 1;
    }
    assert_eq!(seen, 300);
}

/// Facts of the files that are known from elsewhere, and the way through our writer.
#[test]
fn drills_are_read_and_written() {
    // Frames and version as the collection's notes have them; characters are Fox and Game & Watch.
    if let Some(bytes) = file("fox_multishine.slp") {
        let game = Game::read_whole(&bytes).expect("the file is whole");
        assert_eq!((game.len(), game.first_frame, game.rollbacks), (1901, -123, 0));
        assert_eq!(game.start.version.to_string(), "3.19.1");
        assert_eq!(game.start.stage, 32);
        let players = game.start.players.iter().flatten().map(|p| p.character);
        assert_eq!(players.collect::<Vec<_>>(), [2, 3]);
        let written = game.write().expect("the game is whole");
        let read = Game::read_whole(&written).expect("the file is whole");
        assert_eq!(differences(&game, &read), Vec::<String>::new());
    }
}

#[cfg(feature = "archive")]
#[test]
fn a_game_is_read_out_of_its_archive() {
    let Some(bytes) = file("human_ranked_game.zip") else { return };
    let mut games = Vec::new();
    replay::archive::each("human_ranked_game.zip", &bytes, &mut |name, bytes| {
        games.push((name.to_owned(), Game::read_whole(bytes).expect("the file is whole")));
    })
    .expect("the archive is whole");
    let [(name, game)] = games.as_slice() else { panic!("{} games", games.len()) };
    assert!(name.starts_with("human_ranked_game.zip:diamond-diamond"), "{name}");
    assert_eq!((game.len(), game.frame_of(0), game.frame_of(6401)), (6402, -123, 6278));
    assert_eq!(game.start.version.to_string(), "3.16.0");
}
