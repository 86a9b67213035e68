//! Model libraries, loaded as clients load them -> closed-form densities, names and messages.
#![expect(unsafe_code, reason = "functions of C are called")]

mod library;
mod models;
