//! The tests of `exmc-draws` as one program; one file's:
//! `cargo test -p exmc-draws --test all NAME::`.

mod resume;
mod run_directory;
mod stan_csv;
