//! Figures: what stands at the axes and in the legend.

use policy::{Chart, Panel, Series};

fn chart(ends: (f64, f64), is_log: bool, label: &str) -> String {
    let (low, high) = ends;
    let points = vec![(1.0, low), (8.0, high)];
    let series = Series { label: label.to_owned(), points, is_line: true, style: 0 };
    let panel = Panel {
        title: String::new(),
        x: ("x".to_owned(), None),
        y: ("y".to_owned(), None),
        is_log,
        names: Vec::new(),
        series: vec![series],
    };
    let words = String::new();
    Chart { title: words.clone(), description: words, panels: vec![panel] }.svg()
}

fn shows(svg: &str, numbers: &[&str]) {
    for number in numbers {
        assert!(svg.contains(&format!(">{number}</text>")), "{number} is missing in\n{svg}");
    }
}

#[test]
fn axes_have_round_numbers() {
    let svg = chart((0.0, 1.0), false, "");
    shows(&svg, &["2", "4", "6", "8", "0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    // The panel's right end is at 270.
    assert!(svg.contains(r#"<text x="270.0" y="260" text-anchor="middle">8</text>"#), "{svg}");
    shows(&chart((0.5, 0.69), true, ""), &["0.50", "0.55", "0.60", "0.65"]);
    shows(&chart((0.01, 20.0), true, ""), &["1e-2", "1e-1", "1e0", "1e1"]);
    // Equal values have an axis around them.
    shows(&chart((3.0, 3.0), false, ""), &["2.6", "3.0", "3.4"]);
}

#[test]
fn the_legend_lies_in_the_picture() {
    let width = |svg: &str| -> f64 {
        let rest = svg.split("viewBox=\"0 0 ").nth(1).expect("a box");
        rest.split(' ').next().and_then(|text| text.parse().ok()).expect("a width")
    };
    assert_eq!(width(&chart((0.0, 1.0), false, "short")), 300.0);
    // 28 before the text, and 80 letters of 6.
    assert!(width(&chart((0.0, 1.0), false, &"w".repeat(80))) >= 10.0 + 28.0 + 480.0);
}
