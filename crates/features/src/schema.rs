//! A list of features <-> its text, and a frame -> the numbers of that list.

use crate::hash::stable_hash;
use crate::quantity::{Places, Quantity, Shown, View, evaluate};
use crate::state::FrameState;

/// One feature: `quantity * scale`, not below `lower` and not above `upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the formula says it")]
pub struct Field {
    pub quantity: Quantity,
    pub scale: f32,
    pub lower: f32,
    pub upper: f32,
}

/// A list of features in their order.
///
/// Its text has a line for each, `own.percent * 0.01 in [0, 5]`, and is all that a checkpoint has
/// to keep: [`Schema::parse`] makes the same schema of it, and two schemas with one
/// [`Schema::hash`] compute the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    fields: Vec<Field>,
    width: usize,
}

/// What is wrong with a schema's text or with a use of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(String);

impl std::fmt::Display for SchemaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

impl Schema {
    /// A schema of these fields.
    #[must_use]
    pub fn new(fields: Vec<Field>) -> Self {
        let width = fields.iter().map(|field| field.quantity.width()).sum();
        Self { fields, width }
    }

    /// The fields in their order.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Numbers a frame.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The text, a line for each field.
    #[must_use]
    pub fn text(&self) -> String {
        let line =
            |f: &Field| format!("{} * {} in [{}, {}]\n", f.quantity, f.scale, f.lower, f.upper);
        self.fields.iter().map(line).collect()
    }

    /// A number that other schemas do not have: [`stable_hash`] of the text.
    #[must_use]
    pub fn hash(&self) -> u64 {
        stable_hash(&self.text())
    }

    /// The schema of a text.
    ///
    /// # Errors
    /// The first line that is no field.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let field = |(number, line): (usize, &str)| {
            parse_line(line).ok_or_else(|| {
                SchemaError(format!(
                    "line {} of the schema is `{line}`; expected a feature such as \
                     `own.percent * 0.01 in [0, 5]`",
                    number + 1
                ))
            })
        };
        Ok(Self::new(text.lines().enumerate().map(field).collect::<Result<_, _>>()?))
    }

    /// Columns that hold numbers of tables, each with the rows of its table.
    pub fn tables(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let mut next = 0;
        self.fields.iter().filter_map(move |field| {
            let column = next;
            next += field.quantity.width();
            field.quantity.table().map(|rows| (column, rows))
        })
    }

    /// The features of frames, for training and for play alike: play has one frame at a time.
    ///
    /// **Shapes**: `out` holds [`Self::width`] numbers for each of `states`, in their order. All
    /// numbers are finite: what is no number counts as 0. A frame's features do not depend on the
    /// frames beside it.
    ///
    /// # Errors
    /// When `out` has another length.
    pub fn compute(
        &self,
        states: &[FrameState],
        view: View,
        out: &mut [f32],
    ) -> Result<(), SchemaError> {
        if out.len() != states.len() * self.width {
            return Err(SchemaError(format!(
                "{} places for {} features of each of {} frames",
                out.len(),
                self.width,
                states.len()
            )));
        }
        // Most numbers of a wide layout are 0 in most frames: one fill, and loops for the others.
        out.fill(0.0);
        let shown = Shown::of(states);
        let mut place = 0;
        for field in &self.fields {
            let Field { quantity, scale, lower, upper } = *field;
            if scale >= 0.0 && lower <= 0.0 && upper >= 0.0 && quantity.is_zero(&shown, view) {
                place += quantity.width();
                continue;
            }
            let places = Places { out: &mut *out, stride: self.width, place, scale, lower, upper };
            evaluate(quantity, states, view, places);
            place += quantity.width();
        }
        Ok(())
    }
}

fn parse_line(line: &str) -> Option<Field> {
    let (quantity, rest) = line.split_once(" * ")?;
    let (scale, bounds) = rest.split_once(" in [")?;
    let (lower, upper) = bounds.strip_suffix(']')?.split_once(", ")?;
    let number = |text: &str| text.parse::<f32>().ok().filter(|n| n.is_finite());
    let field = Field {
        quantity: Quantity::parse(quantity)?,
        scale: number(scale)?,
        lower: number(lower)?,
        upper: number(upper)?,
    };
    (field.lower <= field.upper).then_some(field)
}
