//! `man`: manual pages.

use crate::harness::Folder;

#[test]
fn every_command_has_a_page_with_its_options() {
    let folder = Folder::with_models();
    let ran = folder.exmc(&["man", "--out", "pages"]).ends_with(0);
    let names = folder.names("pages");
    for name in ["exmc.1", "exmc-sample.1", "exmc-export.1"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
        assert!(ran.stdout.contains(&format!("pages/{name}\n")), "{ran:?}");
    }
    let page = String::from_utf8(folder.read("pages/exmc-sample.1")).unwrap();
    assert!(page.contains(".TH exmc-sample 1") && page.contains("\\-\\-warmup"), "{page}");
    let alone = folder.exmc(&["man"]).ends_with(0);
    assert!(alone.stdout.contains(".TH exmc 1"), "{alone:?}");
    folder.exmc(&["man", "--out", "schools.json"]).ends_with(4);
}
