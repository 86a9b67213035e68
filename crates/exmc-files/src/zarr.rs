//! Groups -> a Zarr v3 directory that ArviZ and xarray open: one chunk a chain, gzip, consolidated
//! metadata.
//!
//! A directory of this form is a few files of JSON and compressed numbers, so it is written here;
//! libraries for it bring C compressors. The metadata that lists all arrays repeats each array's
//! own, word for word. **Reference**: Zarr core specification, version 3.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use serde_json::{Map, Value, json};

use crate::error::FileError;
use crate::groups::{Array, Group, Numbers};
use crate::whole_file::write_bytes;

/// Writes groups as a new directory.
///
/// The root's metadata, without which nothing opens the directory, is written last.
///
/// # Errors
/// When there is something of that name, or writing fails.
pub fn write_zarr(path: &Path, groups: &[Group]) -> Result<(), FileError> {
    if path.exists() {
        return Err(FileError::exists(path));
    }
    let mut all = Map::new();
    for group in groups {
        let folder = path.join(&group.name);
        let attributes: Map<String, Value> =
            group.attributes.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
        let group_metadata =
            json!({"zarr_format": 3, "node_type": "group", "attributes": attributes});
        for array in group.coordinates.iter().chain(&group.arrays) {
            if let Numbers::Text(_) = array.numbers {
                let what =
                    format!("`{}` is of texts, which have no common form in Zarr", array.name);
                return Err(FileError::malformed(path, what));
            }
            let metadata = metadata(array);
            write_array(&folder.join(&array.name), array, &metadata)?;
            all.insert(format!("{}/{}", group.name, array.name), metadata);
        }
        write_json(&folder, &group_metadata)?;
        all.insert(group.name.clone(), group_metadata);
    }
    let root = json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {},
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": all},
    });
    write_json(path, &root)
}

fn write_json(folder: &Path, value: &Value) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(|error| FileError::write(folder, error))?;
    write_bytes(&folder.join("zarr.json"), value.to_string().as_bytes())
}

/// Extents of a chunk: a chain, of other arrays all.
fn chunk(array: &Array) -> Vec<usize> {
    let mut chunk: Vec<usize> = array.shape.iter().map(|extent| (*extent).max(1)).collect();
    if let (Some(first), Some("chain")) =
        (chunk.first_mut(), array.dims.first().map(String::as_str))
    {
        *first = 1;
    }
    chunk
}

fn metadata(array: &Array) -> Value {
    let (data_type, fill) = match array.numbers {
        Numbers::Real(_) => ("float64", json!("NaN")),
        Numbers::Integer(_) => ("int64", json!(0)),
        Numbers::Boolean(_) | Numbers::Text(_) => ("bool", json!(false)),
    };
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": array.shape,
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk(array)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "gzip", "configuration": {"level": 5}},
        ],
        "attributes": {},
        "dimension_names": array.dims,
        "storage_transformers": [],
    })
}

fn write_array(folder: &Path, array: &Array, metadata: &Value) -> Result<(), FileError> {
    let size = chunk(array).iter().product::<usize>();
    for number in 0..array.numbers.len().div_ceil(size.max(1)) {
        let range = number * size..((number + 1) * size).min(array.numbers.len());
        let bytes: Vec<u8> = match &array.numbers {
            Numbers::Real(all) => all[range].iter().flat_map(|x| x.to_le_bytes()).collect(),
            Numbers::Integer(all) => all[range].iter().flat_map(|x| x.to_le_bytes()).collect(),
            Numbers::Boolean(all) => all[range].iter().map(|x| u8::from(*x)).collect(),
            Numbers::Text(_) => Vec::new(),
        };
        // The first dimension counts chunks, the others have one.
        let mut file = folder.join("c");
        for k in 0..array.shape.len() {
            file.push(if k == 0 { number.to_string() } else { "0".to_owned() });
        }
        let parent = file.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| FileError::write(parent, error))?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::new(5));
        let packed = packed.write_all(&bytes).and_then(|()| packed.finish());
        write_bytes(&file, &packed.map_err(|error| FileError::write(&file, error))?)?;
    }
    write_json(folder, metadata)
}
