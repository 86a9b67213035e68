//! Files of every version, with rollbacks, followers and damage -> what must be read of them.

use crate::common;

use crate::common::damage::damaged;
use crate::common::{Random, VERSIONS, game, split};
use replay::{Columns, Game, Item, Post, Pre, Reader, differences};

#[test]
fn what_is_written_is_read_back_in_every_version() {
    let mut reader = Reader::default();
    let mut old = None;
    for (seed, version) in VERSIONS.into_iter().enumerate() {
        let game = game(version, 150, seed as u64);
        let file = game.write().expect("the game is whole");
        let read = Game::read_whole(&file).expect("the file is whole");
        assert_eq!(differences(&game, &read), Vec::<String>::new(), "version {version:?}");
        assert_eq!(read.write().as_ref(), Ok(&file), "version {version:?}");
        // Memory of a longer or shorter game of another version leaves nothing behind.
        let again = reader.read_into(&file, old.take()).expect("the file is whole");
        assert_eq!(differences(&game, &again), Vec::<String>::new(), "version {version:?}");
        old = Some(again);
    }
}

#[test]
fn fields_of_a_version_are_those_and_no_others() {
    for version in VERSIONS {
        let game = game(version, 3, 1);
        let file = game.write().expect("the game is whole");
        let read = Game::read_whole(&file).expect("the file is whole");
        let port = read.ports[1].as_ref().expect("two players");
        let is_of_version = |since: replay::Version| (since.major, since.minor) <= version;
        for (field, column) in Pre::FIELDS.iter().zip(port.leader.pre.columns()) {
            assert_eq!(!column.is_empty(), is_of_version(field.since), "{}", field.name);
        }
        for (field, column) in Post::FIELDS.iter().zip(port.leader.post.columns()) {
            assert_eq!(!column.is_empty(), is_of_version(field.since), "{}", field.name);
        }
    }
}

/// Frames 20 to 29 are played three times: as in `first`, as in `second`, as in `last`.
#[test]
fn a_frame_that_a_rollback_repeats_is_what_it_was_last() {
    for version in [(2, 2), (3, 0), (3, 7), (3, 19)] {
        let last = game(version, 100, 5);
        let file = last.write().expect("the game is whole");
        let plain = split(&file);
        let mut events = split(&file);
        // Another game with as many players, whose follower and items are there at other times.
        let other = (6..).map(|seed| game(version, 100, seed));
        let mut other = other
            .filter(|g| g.ports.iter().flatten().count() == last.ports.iter().flatten().count());
        for _ in 0..2 {
            let first = split(&other.next().expect("games do not end").write().expect("whole"));
            let again = (20..30).map(|k| first.frames[k].clone());
            // Frames shifted by one take the follower where the last time has none.
            let again = again.map(|(frame, mut bytes)| {
                renumber(&mut bytes, frame, frame, &first.head);
                (frame, bytes)
            });
            events.frames.splice(20..20, again.collect::<Vec<_>>());
        }
        let read = Game::read_whole(&events.join()).expect("the file is whole");
        assert_eq!(read.rollbacks, 20);
        assert_eq!(differences(&last, &read), Vec::<String>::new(), "version {version:?}");

        // Frame 22 is played again without the follower, who was there before.
        let mut events = split(&file);
        let mut lonely = plain.frames[22].1.clone();
        drop_followers(&mut lonely, &plain.head);
        let rest: Vec<_> = plain.frames[23..30].to_vec();
        events.frames.splice(30..30, [(-123 + 22, lonely)].into_iter().chain(rest));
        let read = Game::read_whole(&events.join()).expect("the file is whole");
        let follower = read.ports[0].as_ref().and_then(|p| p.follower.as_ref()).expect("there");
        assert!(
            last.ports[0].as_ref().and_then(|p| p.follower.as_ref()).expect("there").is_present(22)
        );
        assert!(!follower.is_present(22));
        assert_eq!(follower.post.action[22], 0, "nothing of the frame before remains");
        assert!(follower.is_present(23) && !follower.is_present(25));
    }
}

fn sizes(head: &[u8]) -> [usize; 256] {
    let mut sizes = [0; 256];
    for row in head[2..1 + usize::from(head[1])].chunks(3) {
        sizes[usize::from(row[0])] = usize::from(u16::from_be_bytes([row[1], row[2]]));
    }
    sizes
}

fn renumber(bytes: &mut [u8], from: i32, to: i32, head: &[u8]) {
    let sizes = sizes(head);
    let mut offset = 0;
    while offset < bytes.len() {
        assert_eq!(bytes[offset + 1..offset + 5], from.to_be_bytes());
        bytes[offset + 1..offset + 5].copy_from_slice(&to.to_be_bytes());
        offset += 1 + sizes[usize::from(bytes[offset])];
    }
}

fn drop_followers(bytes: &mut Vec<u8>, head: &[u8]) {
    let sizes = sizes(head);
    let (mut offset, mut kept) = (0, Vec::new());
    while offset < bytes.len() {
        let event = &bytes[offset..offset + 1 + sizes[usize::from(bytes[offset])]];
        offset += event.len();
        if !(matches!(event[0], 0x37 | 0x38) && event[6] == 1) {
            kept.extend_from_slice(event);
        }
    }
    *bytes = kept;
}

#[test]
fn followers_are_kept_apart_from_leaders() {
    let game = game((3, 19), 40, 2);
    let read = Game::read(&game.write().expect("whole")).expect("read");
    let port = read.ports[0].as_ref().expect("a player");
    let follower = port.follower.as_ref().expect("a follower");
    let written = game.ports[0].as_ref().expect("a player");
    assert_eq!(port.leader.pre.random_seed, written.leader.pre.random_seed);
    assert_ne!(port.leader.pre.random_seed[1], follower.pre.random_seed[1]);
    assert!(read.ports[1].as_ref().expect("a player").follower.is_none());
}

#[test]
fn a_file_cut_anywhere_gives_the_frames_before_the_cut_and_says_where_it_ends() {
    for version in [(0, 1), (2, 2), (3, 19)] {
        let game = game(version, 12, 3);
        let file = game.write().expect("whole");
        let events = split(&file);
        let mut ends = vec![15 + events.head.len()];
        for (_, bytes) in &events.frames {
            ends.push(ends[ends.len() - 1] + bytes.len());
        }
        for cut in 0..file.len() {
            match Game::read(&file[..cut]) {
                Ok(read) => {
                    let damage = read.damage.as_ref().expect("the file was cut");
                    assert!(damage.offset <= cut, "{damage} of {cut} bytes");
                    let complete_frames = ends.iter().filter(|end| **end <= cut).count() - 1;
                    // A version without events that close a frame shows its end with the next.
                    let end = ends[12] + events.tail.len();
                    let certain = if version.0 < 3 && cut < end {
                        complete_frames.max(1) - 1
                    } else {
                        complete_frames
                    };
                    assert!(
                        (certain..=complete_frames).contains(&read.len()),
                        "{} of {complete_frames}",
                        read.len()
                    );
                    let port = read.ports[1].as_ref().expect("two players");
                    let written = &game.ports[1].as_ref().expect("two players").leader;
                    assert_eq!(port.leader.post.action, written.post.action[..read.len()]);
                }
                Err(error) => {
                    assert!(cut < ends[0], "{error}");
                    assert!(error.offset <= cut);
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_still_written_is_read_as_far_as_it_is() {
    let game = game((3, 19), 20, 4);
    let mut file = game.write().expect("whole");
    file[11..15].fill(0);
    let read = Game::read(&file).expect("read");
    // With its end the game is whole, whatever the length says.
    assert_eq!(differences(&game, &read), Vec::<String>::new());
    assert!(read.damage.is_none());
    let frames = split(&game.write().expect("whole"));
    let cut = 15 + frames.head.len() + frames.frames[..9].iter().map(|f| f.1.len()).sum::<usize>();
    let read = Game::read(&file[..cut + 30]).expect("read");
    assert_eq!(read.len(), 9);
    assert!(read.damage.is_some());
}

#[test]
fn damage_is_located_and_named() {
    let game = game((3, 19), 5, 8);
    let file = game.write().expect("whole");
    let events = split(&file);
    let second = 15 + events.head.len() + events.frames[0].1.len();
    let with = |place: usize, byte: u8| {
        let mut file = file.clone();
        file[place] = byte;
        Game::read(&file).expect("the beginning is whole").damage.expect("damaged").to_string()
    };
    assert_eq!(with(second, 0x77), format!("at byte {second}: event 0x77 has no declared size"));
    let message = with(second + 1, 0x12);
    assert!(message.starts_with(&format!("at byte {second}: frame 3")), "{message}");
    assert!(message.ends_with("does not follow frame -123"), "{message}");
    let pre = second + 13;
    assert_eq!(with(pre + 5, 9), format!("at byte {pre}: a port behind the fourth"));
    assert!(with(pre + 4, 0).contains("inside of frame -122"));
    for (bytes, message) in [
        (&b"PK\x03\x04"[..], "at byte 0: expected `{U\\3raw[$U#l`"),
        (b"{U\x03raw[$U#l\0\0", "at byte 11: the file ends before the length"),
        (b"{U\x03raw[$U#l\0\0\0\x09\x39", "at byte 15: expected the sizes of events"),
    ] {
        let error = Game::read(bytes).expect_err("no replay").to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

/// 3000 files with random damage are read without a panic, in memory that goes by their size.
#[test]
fn three_thousand_damaged_files_are_read_or_refused() {
    let files: Vec<Vec<u8>> = [(0, 1), (1, 4), (2, 2), (3, 7), (3, 19)]
        .into_iter()
        .map(|version| game(version, 60, 9).write().expect("whole"))
        .collect();
    let random = &mut Random(2026);
    let (mut undamaged, mut cut, mut refused) = (0, 0, 0);
    let mut reader = Reader::default();
    for round in 0..3000 {
        let file = damaged(&files, round, 60, random);
        match reader.read(&file) {
            Ok(read) => {
                if read.damage.is_some() {
                    cut += 1;
                } else {
                    undamaged += 1;
                }
                assert!(bytes_of(&read) <= 64 * file.len() + 4096, "{} frames", read.len());
            }
            Err(error) => {
                assert!(error.offset <= file.len());
                refused += 1;
            }
        }
    }
    // The mutations must reach all three ways.
    assert!(undamaged > 100 && cut > 500 && refused > 100, "{undamaged} {cut} {refused}");
}

fn bytes_of(game: &Game) -> usize {
    let column_bytes =
        |columns: Vec<replay::Column<'_>>| columns.iter().map(|c| 4 * c.len()).sum::<usize>();
    let ports = game.ports.iter().flatten();
    let characters = ports.flat_map(|p| [Some(&p.leader), p.follower.as_ref()]).flatten();
    characters
        .map(|c| column_bytes(c.pre.columns()) + column_bytes(c.post.columns()))
        .sum::<usize>()
        + column_bytes(game.items.rows.columns())
        + 4 * game.items.offsets.len()
}

#[test]
fn metadata_cannot_make_memory_out_of_nothing() {
    let file = game((3, 19), 2, 1).write().expect("whole");
    let end = file.len() - split(&file).metadata.len();
    let with = |metadata: &[u8]| {
        let mut file = file[..end].to_vec();
        file.extend_from_slice(metadata);
        let read = Game::read(&file).expect("the events are whole");
        (read.len(), read.damage.map(|d| d.to_string()).unwrap_or_default())
    };
    // A billion values without bytes, and arrays in arrays without end.
    let (frames, damage) = with(b"U\x01a[$Z#l\x40\0\0\0}");
    assert!(frames == 2 && damage.contains("more values than the file has bytes"), "{damage}");
    let mut deep = b"U\x01a".to_vec();
    deep.extend([b'['; 10_000]);
    let (frames, damage) = with(&deep);
    assert!(frames == 2 && damage.contains("inside of each other"), "{damage}");
    let (frames, damage) = with(b"U\x08metadata{U\x01aSU\x05abc");
    assert!(frames == 2 && damage.contains("expected 5 more bytes"), "{damage}");
}

#[test]
fn a_game_that_is_not_whole_is_not_written() {
    let mut game = game((3, 19), 4, 1);
    if let Some(port) = &mut game.ports[1] {
        port.leader.post.percent.pop();
    }
    let error = game.write().expect_err("a row is missing").to_string();
    assert_eq!(error, "port 2: column `percent` has 3 rows, where version 3.19.0 needs 4");
    let mut items = common::game((3, 19), 4, 1);
    items.items.offsets[2] = 1_000_000;
    assert!(items.write().expect_err("offsets").to_string().starts_with("items: "));
    assert!(Item::FIELDS.iter().all(|f| f.offset + f.kind.size() <= 0x2d));
}
