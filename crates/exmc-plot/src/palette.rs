//! Themes -> the rules that colour the images' classes.
//!
//! Colours are those of Okabe and Ito (<https://jfly.uni-koeln.de/color/>), which people with
//! any common colour blindness tell apart. `lN` are lines and `fN` areas of series N, `k` and `m`
//! in its place the text's colour and a muted one.

use std::fmt::Write;

/// Which colours a figure has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// As the reader's system prefers.
    Automatic,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// Text, muted, grid, background, then the seven series.
type Palette = [&'static str; 11];

const LIGHT: Palette = [
    "#1a1a1a", "#6b6b6b", "#e4e4e4", "#ffffff", "#0072b2", "#d55e00", "#009e73", "#cc79a7",
    "#e69f00", "#56b4e9", "#000000",
];
/// The same hues, in an order that keeps the lighter ones in front.
const DARK: Palette = [
    "#ececec", "#a6a6a6", "#3a3a3a", "#16181b", "#56b4e9", "#e69f00", "#009e73", "#cc79a7",
    "#f0e442", "#d55e00", "#ffffff",
];

/// The rules that the classes of the images need.
pub fn style_sheet(theme: Theme) -> String {
    let mut css = String::from(
        ".exmc-figure text{font-family:system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,\
         'DejaVu Sans',sans-serif;font-size:11px}\n\
         .exmc-figure .h{font-size:14px;font-weight:600}\n\
         .exmc-figure .p{font-size:12px;font-weight:600}\n",
    );
    match theme {
        Theme::Automatic => {
            css.push_str(&colours(&LIGHT));
            let _ = write!(css, "@media (prefers-color-scheme:dark){{\n{}}}\n", colours(&DARK));
        }
        Theme::Light => css.push_str(&colours(&LIGHT)),
        Theme::Dark => css.push_str(&colours(&DARK)),
    }
    css
}

fn colours(palette: &Palette) -> String {
    let [text, muted, grid, background, series @ ..] = palette;
    let mut css = format!(
        ".exmc-figure .t{{fill:{text}}}\n.exmc-figure .n{{fill:{muted}}}\n\
         .exmc-figure .b{{fill:{background}}}\n\
         .exmc-figure .g{{stroke:{grid};fill:none}}\n.exmc-figure .a{{stroke:{muted};fill:none}}\n"
    );
    let inks = [("k", text), ("m", muted)].map(|(n, c)| (n.to_owned(), c));
    let all = inks.into_iter().chain(series.iter().enumerate().map(|(k, c)| (k.to_string(), c)));
    for (name, colour) in all {
        let _ = writeln!(
            css,
            ".exmc-figure .l{name}{{stroke:{colour};fill:none}}.exmc-figure .f{name}{{fill:{colour}}}"
        );
    }
    css
}
