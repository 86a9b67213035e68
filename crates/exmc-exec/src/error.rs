//! What can go wrong before a program runs: a source that does not compile, data that do not fit.

use std::fmt;

macro_rules! message_error {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            message: String,
        }

        impl $name {
            pub(crate) fn new(message: impl Into<String>) -> Self {
                Self { message: message.into() }
            }

            /// The reason, in words.
            pub fn message(&self) -> &str {
                &self.message
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.message)
            }
        }

        impl std::error::Error for $name {}
    };
}

message_error!(
    /// Why a source cannot be compiled: an operation without a derivative, a log density that is no
    /// scalar, parameters that do not tile the position, or a malformed graph (our bug).
    CompileError
);
message_error!(
    /// Why data cannot be bound: a variable that is missing, of another shape or kind than declared, or
    /// an index outside its extent. The message names the variable.
    BindError
);
