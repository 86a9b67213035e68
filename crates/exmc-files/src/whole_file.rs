//! Bytes -> a file that appears under its name once it is whole and on disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::error::FileError;

/// Writes a new file by a function.
///
/// # Errors
/// When there is something of that name, or the operating system refuses to write; then nothing is
/// left.
pub(crate) fn write_new(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), FileError> {
    if path.exists() {
        return Err(FileError::exists(path));
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = (|| {
        let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        write(&mut writer)?;
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()
    })();
    // A hard link fails where the name was taken meanwhile; a rename would overwrite.
    let placed = written.and_then(|()| match fs::hard_link(&part, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => fs::rename(&part, path),
        Ok(()) => fs::remove_file(&part),
    });
    placed.map_err(|error| {
        // The first error is the one to tell.
        let _ = fs::remove_file(&part);
        match error.kind() {
            io::ErrorKind::AlreadyExists => FileError::exists(path),
            _ => FileError::write(path, error),
        }
    })
}

/// The same for bytes.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_new(path, |file| file.write_all(bytes))
}
