//! Files -> the archive that a Linux kernel unpacks as its first file system ("newc" of cpio).
//!
//! Reference: the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::collections::BTreeSet;

/// An archive that is being written.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

impl Archive {
    /// A folder, with those that it lies in; `path` has no slash at its ends.
    pub(super) fn folder(&mut self, path: &str) {
        let ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
        for end in ends {
            if self.folders.insert(path[..end].to_owned()) {
                self.entry(&path[..end], FOLDER, &[]);
            }
        }
    }

    /// A file that may be run, with the folders that it lies in.
    pub(super) fn program(&mut self, path: &str, contents: &[u8]) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.folder(folder);
        }
        self.entry(path, PROGRAM, contents);
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8]) {
        self.entries += 1;
        let (size, name_size) = (contents.len(), path.len() + 1);
        // Magic number, inode, mode, owner, group, links, time, size, devices of four kinds, length
        // of the name, checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0];
        let sizes = [size, 0, 0, 0, 0, name_size, 0];
        let fields = fields.map(|field| format!("{field:08x}")).concat();
        let sizes = sizes.map(|size| format!("{size:08x}")).concat();
        self.bytes.extend(format!("070701{fields}{sizes}{path}\0").bytes());
        self.fill();
        self.bytes.extend(contents);
        self.fill();
    }

    /// Names and contents begin at multiples of four.
    fn fill(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;

    #[test]
    fn an_archive_is_what_cpio_writes() {
        let mut archive = Archive::default();
        archive.program("a/b", b"hello");
        let text = String::from_utf8(archive.finish()).unwrap();
        // Entries as `cpio -o -H newc` writes them, but for inodes and times.
        let zeros = |n: usize| "0".repeat(8 * n);
        let folder = format!(
            "07070100000001000041ed{}00000001{}00000002{}a\0",
            zeros(2),
            zeros(6),
            zeros(1)
        );
        assert!(text.starts_with(&folder), "{text:?}");
        let file = format!(
            "07070100000002000081ed{}00000001{}00000005{}00000004{}a/b\0",
            zeros(2),
            zeros(1),
            zeros(4),
            zeros(1)
        );
        let start = folder.len().next_multiple_of(4);
        assert_eq!(&text[start..start + file.len()], file);
        assert_eq!(&text[(start + file.len()).next_multiple_of(4)..][..5], "hello");
        assert!(text.contains("TRAILER!!!"));
    }
}
