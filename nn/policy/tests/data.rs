//! Replays by path, and batches of real and of damaged files.

use burn::tensor::{DType, Device};
use features::Batch;
use policy::{DataConfig, Error, Frames, Kind, Replays, Tensors, TrainConfig, pass, train};

use crate::support::{Folder, expert_game, real_replays};

#[test]
fn paths_without_replays_are_errors_that_name_them() {
    let folder = Folder::new("empty");
    let find = |path: &std::path::Path| Replays::find(&[path.to_owned()]).map(drop);
    let error: Error = find(folder.path()).expect_err("the folder is empty");
    assert!(error.to_string().contains("no replays in"), "{error}");
    let error = find(&folder.path().join("absent.slp")).expect_err("there is no file");
    assert_eq!((error.kind(), error.exit_code()), (Kind::Io, 4));
    assert!(error.to_string().contains("absent.slp"), "{error}");
}

/// `tests/data/game.7z` holds `games/game.slp`: 223 frames of two players that `Game::write` wrote,
/// where player 1 presses A in 3 of 20 frames.
#[cfg(feature = "seven-zip")]
#[test]
fn replays_of_an_archive_of_seven_zip_are_found_and_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/game.7z");
    // As a file that is given, and as one in a folder.
    let given = Replays::find(&[path.into()]).expect("one replay");
    let folder = std::path::Path::new(path).parent().expect("a folder").to_owned();
    let found = Replays::find(&[folder]).expect("one replay");
    assert_eq!(given.names(), [format!("{path}:games/game.slp")]);
    assert_eq!(found.names(), given.names());
    let bytes = policy::read_replay(&given.names()[0]).expect("the entry is there");
    let game = replay::Game::read_whole(&bytes).expect("the file is whole");
    let buttons = &game.ports[0].as_ref().expect("player 1").leader.pre.buttons;
    assert_eq!(game.len(), 223);
    assert!((0..223).all(|k| (buttons[k] != 0) == (k % 20 < 3)));
}

#[test]
fn damaged_replays_never_end_the_program() {
    let folder = Folder::new("damaged");
    let original = expert_game(1);
    // Cut off, with a changed byte, and empty.
    for k in 0..60 {
        let mut bytes = original.clone();
        match k % 3 {
            0 => bytes.truncate(k * 997 % original.len()),
            1 => bytes[k * 7919 % original.len()] ^= 0x5a,
            _ => bytes.truncate(k / 20),
        }
        std::fs::write(folder.path().join(format!("{k}.slp")), bytes).expect("a file");
    }
    let mut config = TrainConfig::default();
    config.data.paths = vec![folder.path().to_owned()];
    let small = ["steps=3", "data.window=8", "network.backbone.hidden=8", "data.players=port 1"];
    let config = config.with(&small.map(str::to_owned)).expect("settings");
    let trained = train(&config, &folder.path().join("run"), &mut |_| {}).expect("the run ends");
    assert!(!trained.refused.is_empty(), "empty files cannot be read");
    // Nothing but damaged files: an error that names the first.
    let nothing = Folder::new("nothing");
    std::fs::write(nothing.path().join("bad.slp"), b"no replay").expect("a file");
    let mut config = config;
    config.data.paths = vec![nothing.path().to_owned()];
    let error = train(&config, &nothing.path().join("run"), &mut |_| {}).expect_err("no data");
    assert!(error.to_string().contains("bad.slp"), "{error}");
}

#[test]
fn rows_of_a_frame_lie_together_on_the_device() {
    let folder = Folder::new("rows");
    std::fs::write(folder.path().join("game.slp"), expert_game(3)).expect("a file");
    let config = DataConfig::default();
    let names = Replays::find(&[folder.path().to_owned()]).expect("a replay");
    let names = names.part(&config, Frames::All);
    let schema = features::Schema::egocentric();
    let mut settings = features::BatchSettings::default();
    (settings.batch, settings.window) = (3, 4);
    let mut epoch = pass(&names, &schema, settings, &config, Frames::All, 0).expect("a pass");
    let mut batch = Batch::default();
    assert!(epoch.next_batch(&mut batch).expect("a batch"));
    let weights: Vec<f32> = (0_u8..12).map(f32::from).collect();
    let tensors = Tensors::new(&batch, &schema, 4, Some(&weights), &Device::flex(), DType::F32);
    // Weight of window w and frame f is 4 w + f; the row is 3 f + w.
    let weights = tensors.weights.expect("weights").try_into_vec_as::<f32>().expect("numbers");
    assert_eq!(weights, [0.0, 4.0, 8.0, 1.0, 5.0, 9.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0]);
    let plain = tensors.plain.try_into_vec_as::<f32>().expect("numbers");
    let width = schema.width() - schema.tables().count();
    let first_table = schema.tables().next().expect("a table").0;
    for (window, frame) in [(0, 0), (1, 2), (2, 3)] {
        let row = &plain[(frame * 3 + window) * width..][..first_table];
        let expected = &batch.features[(window * 4 + frame) * schema.width()..][..first_table];
        assert_eq!(row, expected);
    }
}

#[test]
fn real_replays_give_windows_of_the_player_that_is_asked_for() {
    let Some(folder) = real_replays() else { return };
    let config = DataConfig::default();
    let replays = Replays::find(&[folder.join("fox_multishine.slp")]).expect("the replay");
    let names = replays.part(&config, Frames::All);
    let schema = features::Schema::egocentric();
    let mut settings = features::BatchSettings::default();
    settings.players = policy::parse_players("port 1").expect("a port");
    let mut epoch = pass(&names, &schema, settings, &config, Frames::All, 0).expect("a pass");
    let (mut batch, mut windows) = (Batch::default(), 0);
    while epoch.next_batch(&mut batch).expect("a batch") {
        assert!(batch.windows.iter().all(|w| w.view.own_port == 0));
        windows += batch.windows.len();
    }
    // 1901 frames, 123 of them before frame 0: 1778, so 55 windows of 32 and a target behind.
    assert!((54..=55).contains(&windows), "{windows}");
}
