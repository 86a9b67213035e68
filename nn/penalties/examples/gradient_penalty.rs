//! A gradient penalty: the score of a digit changes less with the pixels.

mod digits;

use penalties::{Line, Recipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recipe = Recipe::new([Line::computed("smooth", 0.02, "slope")]);
    let title =
        "First layer of a network for digits, without and with a gradient penalty of its scores";
    let (without, with) = digits::compare(
        "gradient_penalty",
        title,
        "gradient penalty, weight 0.02",
        &recipe,
        Some("slope"),
    )?;
    assert!(with.slope < 0.7 * without.slope, "scores are smoother");
    assert!(with.accuracy > without.accuracy - 0.05);
    Ok(())
}
