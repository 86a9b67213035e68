//! Archives -> the replays in them, one after the other, without files beside them.
//!
//! What a file is shows in its first bytes: a replay, gzip, zip or (with the feature `seven-zip`)
//! 7-Zip. A replay in an archive may be compressed once more, as `.slp.gz` is.

use std::io::{Cursor, Read};

/// Most bytes of one unpacked replay; eight minutes of four players are some 20 MB.
const MAX_UNPACKED: u64 = 1 << 28;
/// Archives inside of archives that are opened.
const MAX_DEPTH: usize = 2;

/// What cannot be unpacked, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveError {
    /// The file, and behind a colon the entry.
    pub name: String,
    message: String,
}

impl std::fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl std::error::Error for ArchiveError {}

fn wrong(name: &str, message: impl std::fmt::Display) -> ArchiveError {
    ArchiveError { name: name.to_owned(), message: message.to_string() }
}

/// Calls `visit` with the name and the bytes of each replay in a file; for a file that is a replay,
/// once. Entries that are neither replays nor archives are passed over.
///
/// # Errors
/// When an archive or an entry is damaged, or an entry unpacks to more than 256 MiB.
pub fn each(
    name: &str,
    bytes: &[u8],
    visit: &mut dyn FnMut(&str, &[u8]),
) -> Result<(), ArchiveError> {
    within(name, bytes, visit, 0)
}

fn within(
    name: &str,
    bytes: &[u8],
    visit: &mut dyn FnMut(&str, &[u8]),
    depth: usize,
) -> Result<(), ArchiveError> {
    let is_archive = depth < MAX_DEPTH;
    match bytes {
        [b'{', b'U', ..] => visit(name, bytes),
        [0x1f, 0x8b, ..] if is_archive => {
            let unpacked = limited(name, flate2::read::MultiGzDecoder::new(bytes))?;
            within(name.trim_end_matches(".gz"), &unpacked, visit, depth + 1)?;
        }
        [b'P', b'K', 3, 4, ..] if is_archive => {
            let archive = zip::ZipArchive::new(Cursor::new(bytes));
            let mut archive = archive.map_err(|e| wrong(name, e))?;
            for place in 0..archive.len() {
                let entry = archive.by_index(place).map_err(|e| wrong(name, e))?;
                let inner = format!("{name}:{}", entry.name());
                if entry.is_file() && is_wanted(&inner) {
                    let unpacked = limited(&inner, entry)?;
                    within(&inner, &unpacked, visit, depth + 1)?;
                }
            }
        }
        #[cfg(feature = "seven-zip")]
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] if is_archive => {
            seven_zip(name, bytes, visit, depth)?;
        }
        _ if depth == 0 => {
            return Err(wrong(name, "expected a replay, or an archive of replays"));
        }
        _ => {}
    }
    Ok(())
}

#[cfg(feature = "seven-zip")]
fn seven_zip(
    name: &str,
    bytes: &[u8],
    visit: &mut dyn FnMut(&str, &[u8]),
    depth: usize,
) -> Result<(), ArchiveError> {
    use sevenz_rust2::{ArchiveReader, Password};
    let archive = ArchiveReader::new(Cursor::new(bytes), Password::empty());
    let mut archive = archive.map_err(|e| wrong(name, e))?;
    let mut first_error = None;
    let done = archive.for_each_entries(
        &mut |entry: &sevenz_rust2::ArchiveEntry, content: &mut dyn Read| {
            let inner = format!("{name}:{}", entry.name());
            if !entry.is_directory() && is_wanted(&inner) {
                let unpacked = limited(&inner, content);
                let seen =
                    unpacked.and_then(|unpacked| within(&inner, &unpacked, visit, depth + 1));
                if let Err(error) = seen {
                    first_error = Some(error);
                    return Ok(false);
                }
            } else {
                // Entries lie in one stream, so what is not wanted must be read past.
                std::io::copy(content, &mut std::io::sink())?;
            }
            Ok(true)
        },
    );
    match first_error {
        Some(error) => Err(error),
        None => done.map_err(|e| wrong(name, e)),
    }
}

fn is_wanted(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".slp", ".slp.gz", ".gz", ".zip", ".7z"].iter().any(|end| name.ends_with(end))
}

/// All bytes of a stream, but no more than a replay can have.
fn limited(name: &str, stream: impl Read) -> Result<Vec<u8>, ArchiveError> {
    let mut unpacked = Vec::new();
    let read = stream.take(MAX_UNPACKED + 1).read_to_end(&mut unpacked);
    read.map_err(|e| wrong(name, e))?;
    if unpacked.len() as u64 > MAX_UNPACKED {
        return Err(wrong(name, "more than 256 MiB in one entry, which is no replay"));
    }
    Ok(unpacked)
}
