//! Orthogonality in the loss: hidden units look at different things.

mod digits;

use burn::module::ParamGroup;
use penalties::{Line, Orthogonality, Penalty, Recipe, RowsOf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Units are columns of [inputs, outputs]: rows of the transposed matrix.
    let penalty = Penalty::Orthogonality {
        mode: Orthogonality::Soft,
        normalise: true,
        rows_of: RowsOf::Vocabulary,
    };
    let line = Line::parameters("units", 0.02, penalty, ParamGroup::from_path("input.weight"));
    let title = "First layer of a network for digits, without and with orthogonality of its units";
    let (without, with) = digits::compare(
        "orthogonality",
        title,
        "orthogonality, weight 0.02",
        &Recipe::new([line]),
        None,
    )?;
    assert!(with.cosine < 0.3 * without.cosine, "units are nearly orthogonal");
    assert!(with.accuracy > without.accuracy - 0.05);
    Ok(())
}
