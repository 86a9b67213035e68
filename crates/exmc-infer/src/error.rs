//! What can go wrong in a run: one opaque error with predicates, a plain sentence and a hint.

use std::fmt;

use exmc_density::EvaluationError;

/// Why a run or one of its chains could not go on.
///
/// The text is one lower-case sentence; [`hint`](Self::hint) says what may help where we know it.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleError {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Config { field: &'static str, message: String },
    InitialPoint { position: Vec<f64>, logp: f64, attempts: u32, reason: Option<String> },
    Fatal { reason: String },
    Ended { reason: String },
    Interrupted,
    Panicked { message: String },
    OutOfMemory { bytes: usize },
    Checkpoint { message: String },
    Stored { message: String },
}

/// The last point that a search for an initial point tried, so that a caller can name the variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RejectedPoint<'a> {
    /// The last position tried (unconstrained scale).
    pub position: &'a [f64],
    /// Its log density: `-inf`, NaN, or finite when only the gradient was not.
    pub logp: f64,
    /// How many positions were tried.
    pub attempts: u32,
}

impl SampleError {
    /// An error of an earlier run, known by its text only.
    pub fn stored(message: impl Into<String>) -> Self {
        Self { kind: Kind::Stored { message: message.into() } }
    }

    /// That the model asks for the whole run to end, in its own words.
    pub fn ended(reason: impl Into<String>) -> Self {
        Self { kind: Kind::Ended { reason: reason.into() } }
    }

    pub(crate) fn config(field: &'static str, message: impl Into<String>) -> Self {
        Self { kind: Kind::Config { field, message: message.into() } }
    }

    pub(crate) fn initial_point(
        position: Vec<f64>,
        logp: f64,
        attempts: u32,
        reason: Option<String>,
    ) -> Self {
        Self { kind: Kind::InitialPoint { position, logp, attempts, reason } }
    }

    pub(crate) fn fatal(reason: impl Into<String>) -> Self {
        Self { kind: Kind::Fatal { reason: reason.into() } }
    }

    /// That somebody asked for the work to end amid a draw.
    pub(crate) fn interrupted() -> Self {
        Self { kind: Kind::Interrupted }
    }

    /// What ends a chain at a position; nothing where the position is only unusable.
    pub(crate) fn from_evaluation(error: EvaluationError) -> Option<Self> {
        match error {
            EvaluationError::Recoverable(_) => None,
            EvaluationError::Ended(reason) => Some(Self::ended(reason)),
            EvaluationError::Interrupted => Some(Self::interrupted()),
            error => Some(Self::fatal(error.to_string())),
        }
    }

    pub(crate) fn panicked(message: impl Into<String>) -> Self {
        Self { kind: Kind::Panicked { message: message.into() } }
    }

    /// That so many bytes for draws cannot be had.
    pub fn out_of_memory(bytes: usize) -> Self {
        Self { kind: Kind::OutOfMemory { bytes } }
    }

    pub(crate) fn checkpoint(message: impl Into<String>) -> Self {
        Self { kind: Kind::Checkpoint { message: message.into() } }
    }

    /// Whether a setting (or the shape of the initial values) was invalid; nothing has run.
    pub fn is_config(&self) -> bool {
        matches!(self.kind, Kind::Config { .. })
    }

    /// Whether no usable initial point was found.
    pub fn is_initial_point(&self) -> bool {
        matches!(self.kind, Kind::InitialPoint { .. })
    }

    /// Whether the density said that it cannot be evaluated any more.
    pub fn is_fatal(&self) -> bool {
        matches!(self.kind, Kind::Fatal { .. })
    }

    /// Whether the model asked for the whole run to end; the text is then the model's own, with its
    /// place.
    pub fn is_ended(&self) -> bool {
        matches!(self.kind, Kind::Ended { .. })
    }

    /// Whether somebody asked for the work to end.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, Kind::Interrupted)
    }

    /// Whether the density or the observer panicked inside a chain.
    pub fn is_panic(&self) -> bool {
        matches!(self.kind, Kind::Panicked { .. })
    }

    /// Whether the draws did not fit into memory.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self.kind, Kind::OutOfMemory { .. })
    }

    /// Whether a checkpoint does not belong to this density or these settings.
    pub fn is_checkpoint(&self) -> bool {
        matches!(self.kind, Kind::Checkpoint { .. })
    }

    /// The last point tried, when no initial point was found.
    pub fn rejected_point(&self) -> Option<RejectedPoint<'_>> {
        match &self.kind {
            Kind::InitialPoint { position, logp, attempts, .. } => {
                Some(RejectedPoint { position, logp: *logp, attempts: *attempts })
            }
            _ => None,
        }
    }

    /// What may help, when we know it.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.kind {
            Kind::InitialPoint { .. } => Some(
                "give initial values inside the support, or a smaller radius for random ones; a \
                 log density that is nan everywhere points at the data or at a parameter's scale",
            ),
            Kind::OutOfMemory { .. } => {
                Some("ask for fewer draws, or record them with an observer instead of keeping them")
            }
            Kind::Panicked { .. } => Some("this is a bug in the density or the observer"),
            Kind::Stored { .. } => None,
            Kind::Checkpoint { .. } => Some("resume with the model and settings of the first run"),
            Kind::Config { .. } | Kind::Fatal { .. } | Kind::Ended { .. } | Kind::Interrupted => {
                None
            }
        }
    }
}

impl fmt::Display for SampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Config { field, message } => write!(f, "invalid setting `{field}`: {message}"),
            Kind::InitialPoint { position, logp, attempts, reason } => {
                let tried = if *attempts == 1 { "attempt" } else { "attempts" };
                write!(f, "no usable initial point in {attempts} {tried}: ")?;
                match reason {
                    Some(reason) => write!(f, "{reason}")?,
                    None if logp.is_finite() => write!(f, "the gradient is not finite")?,
                    None => write!(f, "the log density is {logp}")?,
                }
                write!(f, " at the last position tried (length {})", position.len())
            }
            Kind::Fatal { reason } => write!(f, "the log density cannot be evaluated: {reason}"),
            Kind::Interrupted => f.write_str("somebody asked for the work to end"),
            Kind::Panicked { message } => write!(f, "a chain panicked: {message}"),
            Kind::OutOfMemory { bytes } => {
                write!(f, "there is no memory for the draws: they take {bytes} bytes")
            }
            Kind::Checkpoint { message } => write!(f, "cannot resume: {message}"),
            Kind::Stored { message: text } | Kind::Ended { reason: text } => f.write_str(text),
        }
    }
}

impl std::error::Error for SampleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_the_setting_and_the_predicate_agrees() {
        let error = SampleError::config("chains", "expected at least 1, found 0");
        assert!(error.is_config() && !error.is_panic());
        assert_eq!(error.to_string(), "invalid setting `chains`: expected at least 1, found 0");
    }

    #[test]
    fn initial_point_error_carries_the_last_point() {
        let error = SampleError::initial_point(vec![1.0, 2.0], f64::NAN, 100, None);
        let point = error.rejected_point().expect("an initial-point error has a point");
        assert_eq!((point.position, point.attempts), (&[1.0, 2.0][..], 100));
        assert!(error.to_string().contains("the log density is NaN"));
        assert!(error.hint().is_some());
    }
}
