//! Model libraries, loaded as clients load them -> closed-form densities, names and messages.
#![expect(unsafe_code, reason = "functions of C are called")]
#![expect(clippy::disallowed_methods, reason = "the oracle shares no code with what it judges")]
#![expect(clippy::unwrap_used, reason = "a test fails where something is wrong")]

mod library;
mod models;
