//! Group lasso by proximal steps: the network stops reading whole pixels.

mod digits;

use burn::module::ParamGroup;
use penalties::{Act, Line, Penalty, Recipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Burn's weight is [inputs, outputs]: axis 0 makes a group of all weights of one pixel.
    let weights = ParamGroup::from_path("input.weight");
    let penalty = Penalty::GroupLasso { axis: 0, size_weighted: false };
    let line = Line::parameters("pixels", 2.5, penalty, weights).act(Act::Prox);
    let title = "First layer of a network for digits, without and with group lasso over pixels";
    let (without, with) = digits::compare(
        "group_lasso",
        title,
        "group lasso, weight 2.5",
        &Recipe::new([line]),
        None,
    )?;
    assert!(with.pixels_left < without.pixels_left - 8, "whole pixels are left out");
    assert!(with.accuracy > without.accuracy - 0.05);
    Ok(())
}
