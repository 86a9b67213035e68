//! L1 by proximal steps: most weights of a network's first layer become exactly zero.

mod digits;

use burn::module::ParamGroup;
use penalties::{Act, Line, Penalty, Recipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weights = ParamGroup::from_path("input.weight");
    let line = Line::parameters("sparse", 0.6, Penalty::L1, weights).act(Act::Prox);
    let title = "First layer of a network for digits, without and with L1 by proximal steps";
    let (without, with) =
        digits::compare("l1", title, "L1, weight 0.6", &Recipe::new([line]), None)?;
    assert_eq!(without.weights_left, 1024, "a gradient makes no exact zeros");
    assert!(with.weights_left < 600 && with.accuracy > without.accuracy - 0.05);
    Ok(())
}
