//! The tables of `docs/replays.md` are those of the columns.

use replay::{Columns, FrameEnd, FrameStart, Item, Platform, Post, Pre, Transformation, Wind};

/// Rows of a kind's table, as the document has them.
fn rows<C: Columns>(prefix: &str) -> String {
    let row = |f: &replay::Field| {
        let (name, kind) = (f.name, f.kind.name());
        let (major, minor) = (f.since.major, f.since.minor);
        format!("| `{prefix}{name}` | {kind} | {:#04x} | {major}.{minor} |\n", f.offset)
    };
    C::FIELDS.iter().map(row).collect()
}

#[test]
fn the_document_lists_every_column() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/replays.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    for table in [
        rows::<Pre>(""),
        rows::<Post>(""),
        rows::<Item>(""),
        rows::<FrameStart>("frame_start."),
        rows::<FrameEnd>("frame_end."),
        rows::<Platform>("platforms."),
        rows::<Wind>("wind."),
        rows::<Transformation>("transformations."),
    ] {
        assert!(text.contains(&table), "docs/replays.md lacks\n{table}");
    }
}
