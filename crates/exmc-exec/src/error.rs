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

/// What keeps a source from being compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompileErrorKind {
    /// An operation of the log density has no derivative.
    NoDerivative,
    /// The program needs more memory than the executor can address.
    TooLarge,
    /// The source is not what a front end must hand over: a log density that is no scalar,
    /// parameters that do not tile the position, a malformed graph, an operation that the executor
    /// does not know. That is a bug of who made the source.
    Malformed,
}

/// Why a source cannot be compiled, in words and as a [kind](CompileErrorKind).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    kind: CompileErrorKind,
    message: String,
}

impl CompileError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { kind: CompileErrorKind::Malformed, message: message.into() }
    }

    pub(crate) fn no_derivative(message: impl Into<String>) -> Self {
        Self { kind: CompileErrorKind::NoDerivative, message: message.into() }
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self { kind: CompileErrorKind::TooLarge, message: message.into() }
    }

    /// What is wrong.
    pub fn kind(&self) -> CompileErrorKind {
        self.kind
    }

    /// The reason, in words.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CompileError {}

message_error!(
    /// Why data cannot be bound: a variable that is missing, of another shape or kind than
    /// declared, or an index outside its extent. The message names the variable.
    BindError
);
