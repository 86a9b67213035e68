//! A figure -> a PNG image: its SVG, drawn by `resvg` with the fonts of the system.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

use crate::figure::Figure;
use crate::palette::Theme;
use crate::parameter::PlotError;
use crate::svg::{SvgOptions, svg};

/// The image, `scale` device pixels to a pixel of the SVG. [`Theme::Automatic`] is light: a PNG
/// cannot adapt.
///
/// # Errors
/// A system without fonts, or an image too large for memory.
pub fn png(figure: &Figure, options: &SvgOptions, scale: f64) -> Result<Vec<u8>, PlotError> {
    let theme = if options.theme == Theme::Automatic { Theme::Light } else { options.theme };
    let text = svg(figure, &SvgOptions { theme, styled: true, ..options.clone() });
    let mut parse = usvg::Options::default();
    let fonts = Arc::make_mut(&mut parse.fontdb);
    fonts.load_system_fonts();
    let Some(family) = fonts.faces().find_map(|face| {
        let name = &face.families.first()?.0;
        ["DejaVu Sans", "Arial", "Helvetica", "Liberation Sans", "Noto Sans", "Segoe UI"]
            .contains(&name.as_str())
            .then(|| name.clone())
    }) else {
        let message = "a PNG needs a sans-serif font, and this system has none that is known";
        return Err(PlotError::new(message).hint("write an SVG, which needs none"));
    };
    fonts.set_sans_serif_family(family);
    let broken = |e: &dyn std::fmt::Display| PlotError::new(format!("cannot draw the image: {e}"));
    let tree = usvg::Tree::from_str(&text, &parse).map_err(|e| broken(&e))?;
    let size = tree.size();
    let (width, height) = (size.width() * scale as f32, size.height() * scale as f32);
    let mut image = tiny_skia::Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or_else(|| PlotError::new("the image is too large"))?;
    let transform = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut image.as_mut());
    image.encode_png().map_err(|e| broken(&e))
}
