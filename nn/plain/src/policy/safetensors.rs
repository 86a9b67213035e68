//! Tensors with names <-> the bytes of a safetensors file.
//!
//! A file is the length of the header (8 bytes, little endian), the header as JSON (for each name
//! its type, shape and place), and the elements, little endian. No length of the file is believed
//! before it was compared with the bytes that are there.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::checkpoint::Tensor;
use super::error::CheckpointError;

/// Longest header that is read.
const LONGEST_HEADER: u64 = 16 << 20;
const METADATA: &str = "__metadata__";

/// A file's texts and tensors.
pub(super) struct File {
    pub(super) metadata: Map<String, Value>,
    pub(super) tensors: BTreeMap<String, Tensor>,
}

pub(super) fn write(metadata: &[(&str, String)], tensors: &[(&str, &Tensor)]) -> Vec<u8> {
    let mut header = Map::new();
    let texts = metadata.iter().map(|(key, text)| ((*key).to_owned(), json!(text)));
    header.insert(METADATA.to_owned(), Value::Object(texts.collect()));
    let mut end = 0;
    for (name, tensor) in tensors {
        let begin = end;
        end += 4 * tensor.values.len();
        header.insert(
            (*name).to_owned(),
            json!({"dtype": "F32", "shape": tensor.shape, "data_offsets": [begin, end]}),
        );
    }
    let mut text = Value::Object(header).to_string();
    // Elements begin at a multiple of 8.
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(8) - text.len()));
    let mut bytes = Vec::with_capacity(8 + text.len() + end);
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    for (_, tensor) in tensors {
        bytes.extend(tensor.values.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes
}

pub(super) fn read(bytes: &[u8]) -> Result<File, CheckpointError> {
    let damaged = CheckpointError::damaged;
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        let message = format!("the file has {} bytes, too few for a safetensors file", bytes.len());
        return Err(damaged(bytes.len(), message));
    };
    let length = u64::from_le_bytes(*length);
    if length > LONGEST_HEADER {
        let message = format!("the header has {length} bytes; it is no safetensors file of ours");
        return Err(damaged(0, message));
    }
    let header = usize::try_from(length).ok().and_then(|length| rest.get(..length));
    let Some(header) = header else {
        let message = format!("the header has {length} bytes, but the file ends before it does");
        return Err(damaged(bytes.len(), message));
    };
    let begin = 8 + header.len();
    let data = &bytes[begin..];
    // Only a line is in the text, so its column is the place in the header.
    let mut header: Map<String, Value> = serde_json::from_slice(header)
        .map_err(|e| damaged(8 + e.column().saturating_sub(1), format!("the header: {e}")))?;
    let metadata = match header.remove(METADATA) {
        Some(Value::Object(texts)) => texts,
        Some(_) => return Err(damaged(8, format!("`{METADATA}` is no object"))),
        None => Map::new(),
    };
    let mut places = Vec::with_capacity(header.len());
    let mut tensors = BTreeMap::new();
    for (name, entry) in header {
        let (shape, from, to) = place(&name, &entry)?;
        let Some(elements) = (from <= to).then(|| data.get(from..to)).flatten() else {
            let message = format!(
                "tensor `{name}` lies at {from} to {to} of the elements, which have {} bytes",
                data.len()
            );
            return Err(damaged(begin + from.min(data.len()), message));
        };
        let size = shape.iter().try_fold(4_usize, |size, n| size.checked_mul(*n));
        if size != Some(elements.len()) {
            let message =
                format!("tensor `{name}` has {} bytes for the shape {shape:?}", elements.len());
            return Err(damaged(begin + from, message));
        }
        let values = elements.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        places.push((from, to));
        tensors.insert(name, Tensor { shape, values });
    }
    places.sort_unstable();
    let mut end = 0;
    for (from, to) in places {
        if from != end {
            let message = "tensors do not lie one after the other".to_owned();
            return Err(damaged(begin + from.min(end), message));
        }
        end = to;
    }
    if end != data.len() {
        return Err(damaged(begin + end, "there are bytes behind the last tensor".to_owned()));
    }
    Ok(File { metadata, tensors })
}

/// Shape, begin and end of a tensor by its entry in the header.
fn place(name: &str, entry: &Value) -> Result<(Vec<usize>, usize, usize), CheckpointError> {
    let wrong = || {
        CheckpointError::damaged(8, format!("the header's entry of tensor `{name}` is incomplete"))
    };
    let numbers = |key: &str| -> Option<Vec<usize>> {
        let numbers = entry.get(key)?.as_array()?;
        numbers.iter().map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok())).collect()
    };
    let dtype = entry.get("dtype").and_then(Value::as_str).ok_or_else(wrong)?;
    if dtype != "F32" {
        return Err(CheckpointError::mismatch(format!("tensor `{name}`"), dtype, "F32"));
    }
    let shape = numbers("shape").ok_or_else(wrong)?;
    match numbers("data_offsets").ok_or_else(wrong)?[..] {
        [from, to] => Ok((shape, from, to)),
        _ => Err(wrong()),
    }
}
