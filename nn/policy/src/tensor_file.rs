//! Arrays with names <-> the bytes of a safetensors file, and files that are whole or not there.
//!
//! A file is the length of the header (8 bytes, little endian), the header as JSON (for each name
//! its type, shape and place), and the elements, little endian, one array after the other.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::named::Array;

/// Longest header that is read.
const LONGEST_HEADER: u64 = 100_000_000;

#[derive(Debug)]
struct Entry {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    begin: usize,
    end: usize,
}

/// A file in memory.
#[derive(Debug, Default)]
pub(crate) struct TensorFile {
    metadata: Vec<(String, String)>,
    entries: Vec<Entry>,
    data: Vec<u8>,
}

impl TensorFile {
    pub(crate) fn new(metadata: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { metadata: metadata.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn push_f32(&mut self, name: String, shape: &[usize], values: &[f32]) {
        let begin = self.data.len();
        self.data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.entry(name, "F32", shape.to_vec(), begin);
    }

    pub(crate) fn push_bytes(&mut self, name: String, bytes: &[u8]) {
        // Other arrays come first, so these bytes do not spoil their alignment.
        let begin = self.data.len();
        self.data.extend_from_slice(bytes);
        self.entry(name, "U8", vec![bytes.len()], begin);
    }

    fn entry(&mut self, name: String, dtype: &str, shape: Vec<usize>, begin: usize) {
        let end = self.data.len();
        self.entries.push(Entry { name, dtype: dtype.to_owned(), shape, begin, end });
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut header = Map::new();
        let metadata = self.metadata.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str())));
        header.insert("__metadata__".to_owned(), Value::Object(metadata.collect()));
        for entry in &self.entries {
            let value = json!({
                "dtype": entry.dtype, "shape": entry.shape,
                "data_offsets": [entry.begin, entry.end],
            });
            header.insert(entry.name.clone(), value);
        }
        let mut header = serde_json::to_string(&header)
            .map_err(|e| Error::internal(format!("the header of arrays: {e}")))?;
        // Elements begin at a multiple of 8.
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(&self.data);
        Ok(bytes)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let short = || Error::data("the file is cut off: its header is incomplete");
        let length = u64::from_le_bytes(*bytes.first_chunk::<8>().ok_or_else(short)?);
        if length > LONGEST_HEADER {
            return Err(Error::data("this is no safetensors file: its header has no length"));
        }
        let begin = 8 + length as usize;
        let header = bytes.get(8..begin).ok_or_else(short)?;
        let header: Map<String, Value> = serde_json::from_slice(header)
            .map_err(|e| Error::data(format!("this is no safetensors file: its header: {e}")))?;
        let mut file = Self { data: bytes[begin..].to_vec(), ..Self::default() };
        for (name, value) in header {
            if name == "__metadata__" {
                let texts = value.as_object().into_iter().flatten();
                let texts = texts.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())));
                file.metadata = texts.collect();
                continue;
            }
            let entry = entry_of(&name, &value, file.data.len());
            let entry = entry.ok_or_else(|| {
                Error::data(format!("array `{name}`: its place does not lie in the file"))
            })?;
            file.entries.push(entry);
        }
        Ok(file)
    }

    pub(crate) fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        self.data.get(entry.begin..entry.end)
    }

    /// The arrays whose names begin so, without that beginning.
    pub(crate) fn arrays(&self, prefix: &str) -> Result<Vec<Array>, Error> {
        let mut found = Vec::new();
        for entry in &self.entries {
            let Some(name) = entry.name.strip_prefix(prefix) else { continue };
            let data = &self.data[entry.begin..entry.end];
            let size = entry.shape.iter().try_fold(4_usize, |size, n| size.checked_mul(*n));
            if entry.dtype != "F32" || size != Some(data.len()) {
                let (name, dtype, shape) = (&entry.name, &entry.dtype, &entry.shape);
                let bytes = data.len();
                return Err(Error::data(format!(
                    "array `{name}` is {dtype} in {bytes} bytes; expected F32 of the shape {shape:?}"
                )));
            }
            let values = data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            found.push(Array { name: name.to_owned(), shape: entry.shape.clone(), values });
        }
        Ok(found)
    }
}

fn entry_of(name: &str, value: &Value, size: usize) -> Option<Entry> {
    let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let shape = value.get("shape")?.as_array()?.iter().map(number).collect::<Option<Vec<_>>>()?;
    let offsets = value.get("data_offsets")?.as_array()?;
    let [begin, end] = offsets.iter().map(number).collect::<Option<Vec<_>>>()?.try_into().ok()?;
    let dtype = value.get("dtype")?.as_str()?.to_owned();
    (begin <= end && end <= size).then(|| Entry { name: name.to_owned(), dtype, shape, begin, end })
}

/// Writes a file beside its place, forces it to the disk and renames it, so that its place holds
/// the old file or the new one at any time.
///
/// # Errors
/// When the folder or the disk does not take it.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let unwritable = |e: std::io::Error| Error::unwritable(path, &e);
    let beside = path.with_extension("new");
    let mut file = File::create(&beside).map_err(unwritable)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(unwritable)?;
    std::fs::rename(&beside, path).map_err(unwritable)?;
    // The name is on the disk only when the folder is; not every system has folders as files.
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        folder.sync_all().ok();
    }
    Ok(())
}
