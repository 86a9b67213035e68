//! Cells -> aligned text: the first column to the left, all others to the right.

/// Lays out a table with two spaces between columns. Every row has as many cells as the head.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let length = |cell: &str| cell.chars().count();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().map(|row| length(&row[column]));
            cells.chain([length(head[column])]).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut out = String::new();
        for ((column, cell), width) in cells.enumerate().zip(&widths) {
            let padding = " ".repeat(width - length(cell));
            if column == 0 {
                out.push_str(cell);
                out.push_str(&padding);
            } else {
                out.push_str("  ");
                out.push_str(&padding);
                out.push_str(cell);
            }
        }
        text.push_str(out.trim_end());
        text.push('\n');
    };
    line(&mut head.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["σ".into(), "1.25".into()], vec!["theta[0]".into(), "-10".into()]];
        let text = table(&["name", "mean"], &rows);
        assert_eq!(text, "name      mean\nσ         1.25\ntheta[0]   -10\n");
    }
}
