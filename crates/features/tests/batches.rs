//! Batches of files: every window in one file, behind the countdown, with the targets that are
//! meant.

use std::collections::BTreeSet;

use features::{
    Batch, BatchSettings, Discretiser, Epoch, FrameState, Part, Players, Schema, Window, part_of,
};
use replay::{Game, GameStart, Player, Version};

/// A game whose position tells the file and the row, and whose stick tells the row.
fn file(number: usize, frames: usize) -> Vec<u8> {
    let mut start = GameStart::new(Version::new(3, 18, 0), 32);
    start.players[0] = Some(Player::human(2));
    start.players[2] = Some(Player::human(10));
    let mut game = Game::blank(start, frames);
    for (which, port) in game.ports.iter_mut().flatten().enumerate() {
        for row in 0..frames {
            port.leader.post.x[row] = row as f32;
            port.leader.post.y[row] = (number + 100 * which) as f32;
            port.leader.pre.stick_x[row] = (row % 17) as f32 / 8.0 - 1.0;
            port.leader.pre.physical_buttons[row] = if row % 3 == 0 { 0x100 } else { 0 };
        }
    }
    game.write().expect("the game is whole")
}

fn files() -> (Vec<String>, Vec<Vec<u8>>) {
    let lengths = [300, 123, 124, 170, 500, 155, 400];
    let files = lengths.iter().enumerate().map(|(k, length)| file(k, *length));
    ((0..lengths.len()).map(|k| format!("game-{k}.slp")).collect(), files.collect())
}

fn schema() -> Schema {
    Schema::parse("own.x * 1 in [0, 10000]\nown.y * 1 in [0, 10000]\ninput.stick_x * 1 in [-1, 1]")
        .expect("a schema")
}

fn settings() -> BatchSettings {
    let mut settings = BatchSettings::default();
    (settings.batch, settings.window, settings.open_files) = (5, 16, 3);
    settings
}

fn pass(settings: &BatchSettings, number: u64) -> Vec<Batch> {
    let (names, files) = files();
    let schema = schema();
    let read = |name: &str| {
        let k = names.iter().position(|n| n == name).expect("a name of ours");
        Ok(files[k].clone())
    };
    let mut epoch = Epoch::new(&names, &schema, settings.clone(), number, read).expect("settings");
    let mut batches = Vec::new();
    let mut batch = Batch::default();
    while epoch.next_batch(&mut batch).expect("files are read") {
        batches.push(batch.clone());
    }
    assert!(epoch.refused().is_empty());
    batches
}

#[test]
fn a_window_is_rows_of_one_file_behind_the_countdown_with_inputs_to_come() {
    let discretiser = Discretiser::default();
    for delay in [1, 3] {
        let mut settings = settings();
        settings.delay = delay;
        for batch in pass(&settings, 0) {
            let count = batch.windows.len();
            assert_eq!(batch.features.len(), count * 16 * 3);
            assert_eq!(batch.targets.len(), count * 16 * 13);
            for (w, Window { file, view, start }) in batch.windows.iter().enumerate() {
                for k in 0..16 {
                    let features = &batch.features[(w * 16 + k) * 3..][..3];
                    let targets = &batch.targets[(w * 16 + k) * 13..][..13];
                    let row = start + k;
                    assert!(row >= 123, "row {row} lies in the countdown");
                    let owner = file + if view.own_port == 0 { 0 } else { 100 };
                    assert_eq!(features[0], row as f32);
                    assert_eq!(features[1], owner as f32, "the window goes into another file");
                    // The target is what is pressed `delay` frames later, never what is seen.
                    let later = row + delay;
                    assert_eq!(usize::from(targets[8]), later % 17);
                    assert_eq!(targets[0], u8::from(later % 3 == 0));
                    let seen = ((features[2] + 1.0) * 8.0).round() as usize;
                    assert_eq!(seen, row % 17);
                    assert_eq!(targets[9], discretiser.action(&Default::default()).0[9]);
                }
            }
        }
    }
}

#[test]
fn a_pass_draws_every_window_once_in_an_order_of_its_seed() {
    let windows = |settings: &BatchSettings, number| {
        pass(settings, number).into_iter().flat_map(|b| b.windows).collect::<Vec<_>>()
    };
    let first = windows(&settings(), 0);
    let places: BTreeSet<_> = first.iter().map(|w| (w.file, w.view.own_port, w.start)).collect();
    assert_eq!(places.len(), first.len(), "no window comes twice");
    // Of each file and player all whole windows behind the phase.
    for (file, length) in [300_usize, 123, 124, 170, 500, 155, 400].into_iter().enumerate() {
        for port in [0, 2] {
            let of_file: Vec<_> =
                first.iter().filter(|w| w.file == file && w.view.own_port == port).collect();
            let most = length.saturating_sub(123 + 1) / 16;
            assert!((most.saturating_sub(1)..=most).contains(&of_file.len()), "file {file}");
        }
    }
    assert_eq!(first, windows(&settings(), 0), "the same seed draws the same");
    assert_ne!(first, windows(&settings(), 1), "the next pass draws otherwise");
    let mut other = settings();
    other.seed = 1;
    assert_ne!(first, windows(&other, 0));
    // Windows of the files that are open are mixed.
    let mut all_open = settings();
    all_open.open_files = 7;
    let mixed = windows(&all_open, 0);
    let changes = mixed.windows(2).filter(|w| w[0].file != w[1].file).count();
    assert!(changes > mixed.len() / 2, "{changes} of {}", mixed.len());
}

#[test]
fn players_are_chosen_by_port_or_character() {
    let ports_of = |players| {
        let mut settings = settings();
        settings.players = players;
        let windows = pass(&settings, 0).into_iter().flat_map(|b| b.windows);
        windows.map(|w| (w.view.own_port, w.view.opponent)).collect::<BTreeSet<_>>()
    };
    assert_eq!(ports_of(Players::All), BTreeSet::from([(0, 2), (2, 0)]));
    assert_eq!(ports_of(Players::Port(2)), BTreeSet::from([(2, 0)]));
    assert_eq!(ports_of(Players::Character(2)), BTreeSet::from([(0, 2)]));
    assert_eq!(ports_of(Players::Character(3)), BTreeSet::new());
}

#[test]
fn files_that_cannot_be_read_are_named_and_the_others_used() {
    let (mut names, files) = files();
    names.push("broken.slp".to_owned());
    let schema = schema();
    let read = |name: &str| match names.iter().position(|n| n == name) {
        Some(k) if k < files.len() => Ok(files[k].clone()),
        _ => Ok(b"no replay".to_vec()),
    };
    let mut epoch = Epoch::new(&names, &schema, settings(), 0, read).expect("settings");
    let mut batch = Batch::default();
    let mut windows = 0;
    while epoch.next_batch(&mut batch).expect("some files are read") {
        windows += batch.windows.len();
    }
    assert!(windows > 50);
    let [(file, why)] = epoch.refused() else { panic!("{:?}", epoch.refused()) };
    assert!(*file == 7 && why.starts_with("at byte 0"), "{why}");

    let nothing = |_: &str| Err("no such file".to_owned());
    let mut epoch = Epoch::new(&names, &schema, settings(), 0, nothing).expect("settings");
    let error = epoch.next_batch(&mut batch).expect_err("no file").to_string();
    assert!(error.contains("game-") && error.contains("no such file"), "{error}");
}

#[test]
fn a_delay_of_nothing_is_refused() {
    let (names, _) = files();
    let mut settings = settings();
    settings.delay = 0;
    let epoch = Epoch::new(&names, &schema(), settings, 0, |_| Ok(Vec::new())).err();
    let error = epoch.expect("the observed frame shows its inputs").to_string();
    assert!(error.starts_with("`delay` is 0"), "{error}");
}

#[test]
fn a_file_stays_in_its_part_when_others_come() {
    let names: Vec<String> = (0..1000).map(|k| format!("Game_2026010{}T{k}.slp", k % 9)).collect();
    let validation: Vec<_> = names.iter().filter(|n| part_of(n, 0.2) == Part::Validation).collect();
    assert!(validation.len().abs_diff(200) < 65, "five standard deviations of a binomial count");
    // A larger share adds files and takes none away.
    assert!(validation.iter().all(|n| part_of(n, 0.3) == Part::Validation));
    assert!(names.iter().all(|n| part_of(n, 0.0) == Part::Training));
}

#[test]
fn versions_without_a_field_have_a_zero_for_it() {
    let mut start = GameStart::new(Version::new(0, 1, 0), 2);
    start.players[0] = Some(Player::human(2));
    let file = Game::blank(start, 3).write().expect("whole");
    let game = Game::read_whole(&file).expect("whole");
    let state = FrameState::of(&game, 1);
    let leader = state.ports[0].expect("a player").leader;
    assert_eq!((leader.airborne, leader.jumps, leader.action_age), (0, 0, 0.0));
    assert_eq!((state.frame, state.stage), (-122, 2));
}

#[test]
fn shares_of_frames_have_no_frame_in_common() {
    let rows = |share: std::ops::Range<f64>| {
        let mut settings = settings();
        (settings.frames, settings.delay) = (share, 2);
        let windows = pass(&settings, 0).into_iter().flat_map(|batch| batch.windows);
        // From the first observed frame to the frame of the last target.
        let spans = windows.map(|w| (w.file, w.start, w.start + 16 - 1 + 2));
        spans.collect::<Vec<_>>()
    };
    let (training, held_out) = (rows(0.0..0.75), rows(0.75..1.0));
    assert!(!training.is_empty() && !held_out.is_empty());
    for (file, _, last) in &training {
        let first = held_out.iter().filter(|(f, ..)| f == file).map(|(_, start, _)| *start).min();
        assert!(first.is_none_or(|first| *last < first), "frame {last} of file {file}");
    }
}
