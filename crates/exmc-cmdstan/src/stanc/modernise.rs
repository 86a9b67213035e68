//! A text with arrays as Stan had them before 2.33 -> the same with `array[...]` before the type.
//!
//! `int y[N];` and `real[,] f(vector[] x)` are what older programs that write Stan code give out
//! (brms before 2.20 among them), and ask `stanc` to bring up to date with
//! `--canonicalize=deprecations`. Everything else of the text stays as it is.

/// Types that arrays are of.
const TYPES: [&str; 19] = [
    "int",
    "real",
    "complex",
    "vector",
    "row_vector",
    "matrix",
    "complex_vector",
    "complex_row_vector",
    "complex_matrix",
    "simplex",
    "unit_vector",
    "ordered",
    "positive_ordered",
    "corr_matrix",
    "cov_matrix",
    "cholesky_factor_corr",
    "cholesky_factor_cov",
    "sum_to_zero_vector",
    "stochastic_column_matrix",
];

/// A word or a single mark, by its place.
#[derive(Clone, Copy, Debug)]
struct Token<'t> {
    text: &'t str,
    start: usize,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }
}

/// See the module.
pub(super) fn modernise(text: &str) -> String {
    let tokens = tokens(text);
    let is = |index: usize, mark: &str| tokens.get(index).is_some_and(|t| t.text == mark);
    let (mut out, mut from, mut index) = (String::with_capacity(text.len()), 0, 0);
    while index < tokens.len() {
        let first = index;
        index += 1;
        let begins = first.checked_sub(1).is_none_or(|before| {
            matches!(tokens[before].text, "{" | "}" | ";" | "(" | "," | ")" | "data")
        });
        if !begins || !TYPES.contains(&tokens[first].text) {
            continue;
        }
        // `real[,]`: a type without sizes.
        let mut last = first + 2;
        while is(last, ",") {
            last += 1;
        }
        let unsized_array = (is(first + 1, "[") && is(last, "]")).then_some((first + 1, last));
        let Some((open, close)) = unsized_array.or_else(|| sizes_behind_name(&tokens, first))
        else {
            continue;
        };
        let (start, sizes) = (tokens[first].start, tokens[open].start..tokens[close].end());
        out.push_str(&text[from..start]);
        out.push_str("array");
        out.push_str(&text[sizes.clone()]);
        out.push(' ');
        out.push_str(text[start..sizes.start].trim_end());
        (from, index) = (sizes.end, close + 1);
    }
    out.push_str(&text[from..]);
    out
}

/// The brackets behind the name of `TYPE<...>[...] name[...];`.
fn sizes_behind_name(tokens: &[Token<'_>], first: usize) -> Option<(usize, usize)> {
    let is = |index: usize, mark: &str| tokens.get(index).is_some_and(|t| t.text == mark);
    let mut index = first + 1;
    if is(index, "<") {
        index = matching(tokens, index, "<", ">")? + 1;
    }
    if is(index, "[") {
        index = matching(tokens, index, "[", "]")? + 1;
    }
    if !tokens.get(index)?.is_word() || !is(index + 1, "[") {
        return None;
    }
    let close = matching(tokens, index + 1, "[", "]")?;
    (is(close + 1, ";") || is(close + 1, "=")).then_some((index + 1, close))
}

/// The place of the mark that closes the one at `open`. Within parentheses `<` and `>` compare.
fn matching(tokens: &[Token<'_>], open: usize, opening: &str, closing: &str) -> Option<usize> {
    let (mut depth, mut parentheses) = (0, 0);
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" => parentheses += 1,
            ")" => parentheses -= 1,
            ";" => return None,
            mark if mark == opening && parentheses == 0 => depth += 1,
            mark if mark == closing && parentheses == 0 => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

/// Words, numbers and marks of a text, without comments and texts in quotes.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut all = Vec::new();
    let mut offset = 0;
    while let Some(c) = text[offset..].chars().next() {
        let rest = &text[offset..];
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                let length = rest.find(end).unwrap_or(rest.len());
                all.push(Token { text: &rest[..length], start: offset });
                length
            }
            c => {
                if !c.is_whitespace() {
                    all.push(Token { text: &rest[..c.len_utf8()], start: offset });
                }
                c.len_utf8()
            }
        };
        offset += length;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::modernise;

    #[test]
    fn sizes_move_before_types() {
        for (old, new) in [
            ("data { int y[N]; }", "data { array[N] int y; }"),
            (
                "data { int<lower=1> J_1[N];  // y[N];\n}",
                "data { array[N] int<lower=1> J_1;  // y[N];\n}",
            ),
            ("{ vector[K] z[M, 2] = f(a[1]); }", "{ array[M, 2] vector[K] z = f(a[1]); }"),
            (
                "{ real<lower=(a > b ? 1 : 0)> x[n[2]]; }",
                "{ array[n[2]] real<lower=(a > b ? 1 : 0)> x; }",
            ),
            (
                "functions { real[,] f(data vector[] x, int[] n) { real a[2]; return g(x[1]); } }",
                "functions { array[,] real f(data array[] vector x, array[] int n) { array[2] real a; return g(x[1]); } }",
            ),
            ("{ if (a) vector[N_1] z_1[M_1]; }", "{ if (a) array[M_1] vector[N_1] z_1; }"),
        ] {
            assert_eq!(modernise(old), new);
            assert_eq!(modernise(new), new, "what is new stays as it is");
        }
        for same in [
            "{ array[3] real x; vector[N] y; y[1] = x[2]; }",
            "{ print(\"int y[N];\"); /* int y[N]; */ int k = y[1]; }",
            "{ matrix[N, K] X; Xc[, i] = X[, i]; target += normal_lpdf(x[1] | real_[2], 1); }",
            "{ int y[N",
        ] {
            assert_eq!(modernise(same), same);
        }
    }
}
