//! Archives that are made here -> the replays in them.
#![cfg(feature = "archive")]

use crate::common;

use std::io::Write;

use replay::archive::each;

fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).expect("an entry");
        archive.write_all(bytes).expect("memory");
    }
    archive.finish().expect("memory").into_inner()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut stream = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    stream.write_all(bytes).expect("memory");
    stream.finish().expect("memory")
}

fn found(name: &str, bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut found = Vec::new();
    each(name, bytes, &mut |name, bytes| found.push((name.to_owned(), bytes.to_vec())))
        .map_err(|e| e.to_string())?;
    Ok(found)
}

#[test]
fn replays_come_out_of_every_kind_of_archive() {
    let a = common::game((3, 19), 5, 1).write().expect("whole");
    let b = common::game((0, 1), 5, 2).write().expect("whole");
    let one = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    assert_eq!(found("a.slp", &a), Ok(vec![one("a.slp", &a)]));
    assert_eq!(found("a.slp.gz", &gzipped(&a)), Ok(vec![one("a.slp", &a)]));
    let archive = zipped(&[
        ("x/a.slp", &a),
        ("readme.txt", b"{U"),
        ("b.slp.gz", &gzipped(&b)),
        ("empty.slp", b""),
    ]);
    let expected = vec![one("g.zip:x/a.slp", &a), one("g.zip:b.slp", &b)];
    assert_eq!(found("g.zip", &archive), Ok(expected));
}

#[cfg(feature = "seven-zip")]
#[test]
fn replays_come_out_of_seven_zip() {
    use sevenz_rust2::{ArchiveEntry, ArchiveWriter};
    let a = common::game((3, 19), 5, 1).write().expect("whole");
    let mut archive = ArchiveWriter::new(std::io::Cursor::new(Vec::new())).expect("memory");
    for (name, bytes) in [("notes.txt", &b"no replay"[..]), ("x/a.slp", &a)] {
        archive.push_archive_entry(ArchiveEntry::new_file(name), Some(bytes)).expect("an entry");
    }
    let archive = archive.finish().expect("memory").into_inner();
    assert_eq!(found("g.7z", &archive), Ok(vec![("g.7z:x/a.slp".to_owned(), a)]));
    assert!(found("g.7z", &archive[..archive.len() / 2]).is_err());
}

#[test]
fn damaged_archives_and_other_files_are_refused_by_name() {
    let a = common::game((3, 19), 5, 1).write().expect("whole");
    let archive = zipped(&[("a.slp", &a)]);
    for (bytes, message) in [
        (&b"plain text"[..], "g: expected a replay"),
        (&archive[..archive.len() - 30], "g: "),
        (&gzipped(&a)[..200], "g: "),
    ] {
        let error = found("g", bytes).expect_err("damaged");
        assert!(error.starts_with(message), "{error}");
    }
}
