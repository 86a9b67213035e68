//! Groups -> a netCDF-4 file that ArviZ opens: an HDF5 group each, compressed, with coordinates.
//!
//! Truth values are bytes with the attribute `dtype = "bool"`, missing real numbers are NaN, as
//! xarray writes them. The file is made in memory.

use std::path::Path;

use netcdf_writer::{
    DimensionId, NcAttrValue, NcFileBuilder, NcWriteFormat, NcWriteOptions, VariableId,
};

use crate::error::FileError;
use crate::groups::{Array, Group, Numbers};
use crate::whole_file::write_bytes;

/// Compression that costs little for what it saves: noise in the last digits stays.
const DEFLATE_LEVEL: u8 = 4;

/// Writes groups as a new file.
///
/// # Errors
/// When there is something of that name, a name cannot be one of netCDF's, or writing fails.
pub fn write_netcdf(path: &Path, groups: &[Group]) -> Result<(), FileError> {
    if path.exists() {
        return Err(FileError::exists(path));
    }
    let bytes = encode(groups).map_err(|error| FileError::malformed(path, error.to_string()))?;
    write_bytes(path, &bytes)
}

fn encode(groups: &[Group]) -> netcdf_writer::Result<Vec<u8>> {
    let mut file = NcFileBuilder::new();
    for group in groups {
        let mut dims = Vec::new();
        for coordinate in &group.coordinates {
            let path = format!("{}/{}", group.name, coordinate.name);
            let size = coordinate.shape.first().copied().unwrap_or(1) as u64;
            dims.push((coordinate.name.as_str(), file.add_dimension_path(path, size)?));
        }
        for array in group.coordinates.iter().chain(&group.arrays) {
            add(&mut file, &group.name, array, &dims)?;
        }
        for (name, value) in &group.attributes {
            file.add_group_attribute(&group.name, name, NcAttrValue::Chars(value.clone()))?;
        }
    }
    Ok(file.to_vec(NcWriteOptions { format: NcWriteFormat::Nc4 })?.1)
}

fn add(
    file: &mut NcFileBuilder,
    group: &str,
    array: &Array,
    all: &[(&str, DimensionId)],
) -> netcdf_writer::Result<()> {
    let path = format!("{group}/{}", array.name);
    let dims: Vec<DimensionId> = array
        .dims
        .iter()
        .filter_map(|dim| all.iter().find(|(name, _)| name == dim).map(|(_, id)| *id))
        .collect();
    match &array.numbers {
        Numbers::Real(values) => {
            let id = file.add_variable_path::<f64>(path, &dims)?;
            file.write_variable(id, values)?;
            file.set_variable_fill_value(id, f64::NAN)?;
            compress(file, id, array)
        }
        Numbers::Integer(values) => {
            let id = file.add_variable_path::<i64>(path, &dims)?;
            file.write_variable(id, values)?;
            compress(file, id, array)
        }
        Numbers::Boolean(values) => {
            let id = file.add_variable_path::<i8>(path, &dims)?;
            let values: Vec<i8> = values.iter().map(|v| i8::from(*v)).collect();
            file.write_variable(id, &values)?;
            file.add_variable_attribute(id, "dtype", NcAttrValue::Chars("bool".to_owned()))?;
            compress(file, id, array)
        }
        Numbers::Text(values) => {
            let id = file.add_string_variable_path(path, &dims)?;
            file.write_string_variable(id, values)
        }
    }
}

fn compress(file: &mut NcFileBuilder, id: VariableId, array: &Array) -> netcdf_writer::Result<()> {
    // A number alone, or nothing, has no chunks.
    if array.shape.is_empty() || array.numbers.is_empty() {
        return Ok(());
    }
    file.set_variable_deflate(id, Some(DEFLATE_LEVEL), true)
}
