//! Runs as files of other programs, and back (internal, unstable; users go through `exmc export`).
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | arrange | a stored run, data and roles of variables -> groups of named arrays, as ArviZ has them | [`inference_data`] |
//! | write | groups -> a netCDF-4 file | [`write_netcdf`] |
//! | write | groups -> a Zarr v3 directory | [`write_zarr`] |
//! | write | groups -> a JSON document | [`write_json`] |
//! | write | a stored run -> a Parquet table, a row a draw | [`write_parquet`] |
//! | read | a netCDF-4 file of ArviZ's -> draws in memory | [`read_netcdf`] |
//!
//! Names of groups and of sampler statistics are those of the ArviZ schema. Files that exist are
//! never written to; a file appears under its name once it is whole.
#![forbid(unsafe_code)]

mod error;
mod groups;
mod json;
mod netcdf;
mod netcdf_read;
mod parquet_table;
mod whole_file;
mod zarr;

pub use error::FileError;
pub use groups::{Array, Group, Numbers, Roles, inference_data, log_likelihood_group};
pub use json::write_json;
pub use netcdf::write_netcdf;
pub use netcdf_read::{Imported, read_netcdf};
pub use parquet_table::write_parquet;
pub use zarr::write_zarr;
