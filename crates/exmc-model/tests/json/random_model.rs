//! Random texts of models: most nearly right, some wrong in every way that comes to mind.

use exmc_graph::{Binary, Ternary};
use exmc_model::distribution::FAMILIES;
use exmc_model::function_names;

use crate::json::support::Random;

/// Shared expressions of a model.
const SHARED: usize = 2;

/// A model of a few nodes that refer to each other.
pub(crate) fn random_model(r: &mut Random) -> String {
    let mut nodes = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for k in 0..1 + r.below(6) {
        let name = if r.one_in(300) { "n0".to_owned() } else { format!("n{k}") };
        let mut node = random_node(r, &name, &names);
        // An observation of what was just declared, which makes discrete variables possible.
        if node.starts_with("{\"rv\"") && r.one_in(2) {
            nodes.push(node);
            node = random_observation(r, &format!("o{k}"), &name, &names);
            names.push(name.clone());
        }
        // Observations and potentials have no value that others could refer to.
        if !node.starts_with("{\"obs") && !node.starts_with("{\"pot") || r.one_in(100) {
            names.push(name);
        }
        nodes.push(node);
    }
    let mut shared = Vec::new();
    while shared.len() < SHARED {
        let entry = expression(r, &names, 2);
        if !entry.contains("\"shared\"") || r.one_in(10) {
            shared.push(entry);
        }
    }
    format!(
        "{{\"exmc\": 1, \"plates\": {{\"p\": 3, \"q\": 2}}, \"expressions\": [{}], \"nodes\": [\n{}\n]}}",
        shared.join(", "),
        nodes.join(",\n")
    )
}

fn random_node(r: &mut Random, name: &str, names: &[String]) -> String {
    match r.below(10) {
        0 => format!("{{\"det\": \"{name}\", \"value\": {}}}", expression(r, names, 3)),
        1 => format!("{{\"potential\": \"{name}\", \"value\": {}}}", expression(r, names, 3)),
        2 | 3 => {
            let dtype = if r.one_in(2) { "real" } else { "int" };
            if r.one_in(4) {
                format!("{{\"data\": \"{name}\", \"dtype\": \"{dtype}\", \"shape\": {}}}", shape(r))
            } else {
                format!("{{\"data\": \"{name}\", \"value\": {}}}", array(r))
            }
        }
        4 if !names.is_empty() => {
            let target = r.pick(names).clone();
            random_observation(r, name, &target, names)
        }
        _ => {
            let mut text = format!("{{\"rv\": \"{name}\", {}", distribution(r, names, 2));
            match r.below(4) {
                0 => text.push_str(&format!(", \"shape\": {}", shape(r))),
                1 => text.push_str(r.text(&[", \"over\": [\"p\"]", ", \"over\": [\"q\", \"p\"]"])),
                _ => {}
            }
            if r.one_in(4) {
                text.push_str(&format!(", \"transform\": {}", transform(r, names)));
            }
            if r.one_in(4) {
                text.push_str(
                    r.text(&[", \"centring\": \"centred\"", ", \"centring\": \"non-centred\""]),
                );
            }
            if r.one_in(20) {
                let (a, b) = (expression(r, names, 1), expression(r, names, 1));
                text.push_str(&format!(
                    ", \"standardised\": {{\"location\": {a}, \"scale\": {b}}}"
                ));
            }
            text + "}"
        }
    }
}

fn random_observation(r: &mut Random, name: &str, target: &str, names: &[String]) -> String {
    let value = match r.below(6) {
        0 => expression(r, names, 1),
        1 => r.text(&["[null, 1]", "[0.5, null, 2]", "null", "[[1, null], [null, 0]]"]).to_string(),
        2 => "0".to_owned(),
        _ => array(r),
    };
    let mut text = format!("{{\"obs\": \"{name}\", \"of\": \"{target}\", \"value\": {value}");
    for key in ["weight", "mask", "log_jacobian"] {
        if r.one_in(if key == "log_jacobian" { 20 } else { 5 }) {
            text.push_str(&format!(", \"{key}\": {}", expression(r, names, 1)));
        }
    }
    if r.one_in(4) {
        text.push_str(r.text(&[
            ", \"reduce\": \"mean\"",
            ", \"reduce\": \"logsumexp\"",
            ", \"likelihood\": false",
            ", \"joint\": true",
            ", \"missing\": [0]",
        ]));
    }
    if r.one_in(4) {
        let upper = expression(r, names, 1);
        let censored = match r.below(4) {
            0 => "\"right\"".to_owned(),
            1 => "\"left\"".to_owned(),
            2 => format!("{{\"interval\": {upper}}}"),
            _ => format!("{{\"code\": {}, \"upper\": {upper}}}", array(r)),
        };
        text.push_str(&format!(", \"censored\": {censored}"));
    }
    text + "}"
}

/// `"dist": ..., "params": ...`
fn distribution(r: &mut Random, names: &[String], depth: usize) -> String {
    if depth > 0 && r.one_in(4) {
        let base = nested(r, names, depth - 1);
        let wrapper = match r.below(5) {
            0 => {
                let other = nested(r, names, depth - 1);
                let weights =
                    if r.one_in(2) { "[0.25, 0.75]".to_owned() } else { expression(r, names, 1) };
                format!(
                    "{{\"mixture\": {{\"weights\": {weights}, \"components\": [{base}, {other}]}}}}"
                )
            }
            1 => {
                let counts = r.text(&[
                    r#"{"dist": "poisson", "params": [2]}"#,
                    r#"{"dist": "binomial", "params": [3, 0.5]}"#,
                    r#"{"dist": "negative_binomial", "params": [[1.0, 2.0, 3.0], 1.5]}"#,
                ]);
                let base = if r.one_in(4) { base.as_str() } else { counts };
                format!("{{\"zero_inflated\": {{\"base\": {base}, \"probability\": 0.25}}}}")
            }
            2 => {
                let (a, b) =
                    (expression(r, names, 1), expression(r, &["value".into(), "a".into()], 2));
                let support = r.text(&["real", "positive", "unit", "count", "circle"]);
                format!(
                    "{{\"custom\": {{\"params\": {{\"a\": {a}}}, \"support\": \"{support}\", \"logp\": {b}}}}}"
                )
            }
            kind => {
                let kind = if kind == 3 { "truncated" } else { "censored" };
                let (a, b) = (expression(r, names, 1), expression(r, names, 1));
                match r.below(3) {
                    0 => format!("{{\"{kind}\": {{\"base\": {base}, \"lower\": {a}}}}}"),
                    1 => format!("{{\"{kind}\": {{\"base\": {base}, \"upper\": {b}}}}}"),
                    _ => {
                        format!("{{\"{kind}\": {{\"base\": {base}, \"lower\": -1, \"upper\": 2}}}}")
                    }
                }
            }
        };
        return format!("\"dist\": {wrapper}");
    }
    let family = r.pick(FAMILIES);
    let mut params = Vec::new();
    for parameter in family.parameters() {
        if r.one_in(30) {
            continue;
        }
        let value = match (parameter.rank, r.below(3)) {
            (0, 0) => "0.5".to_owned(),
            (0, 1) => r.text(&["1", "2.5", "3", "0", "-1"]).to_string(),
            (1, 0) => "[0.25, 0.75]".to_owned(),
            (1, 1) => "[0.2, 0.3, 0.5]".to_owned(),
            (2, 0 | 1) => "[[2.0, 0.0], [0.5, 1.0]]".to_owned(),
            _ => expression(r, names, 2),
        };
        params.push(format!("\"{}\": {value}", parameter.name));
    }
    format!("\"dist\": \"{}\", \"params\": {{{}}}", family.name(), params.join(", "))
}

fn nested(r: &mut Random, names: &[String], depth: usize) -> String {
    let text = distribution(r, names, depth);
    format!("{{{text}}}")
}

fn transform(r: &mut Random, names: &[String]) -> String {
    const NAMES: &[&str] = &[
        "identity",
        "log",
        "softplus",
        "logit",
        "circle",
        "ordered",
        "positive_ordered",
        "simplex",
        "simplex_plain",
        "simplex_softmax",
        "correlation_cholesky",
        "covariance_cholesky",
        "correlation_matrix",
        "covariance_matrix",
        "column_simplex",
        "sum_to_zero_matrix",
        "sum_to_zero",
        "unit_vector",
    ];
    match r.below(6) {
        0 => format!("{{\"lower\": {}}}", expression(r, names, 1)),
        1 => format!("{{\"upper\": {}}}", expression(r, names, 1)),
        2 => format!("{{\"interval\": [{}, 3]}}", expression(r, names, 1)),
        _ => format!("\"{}\"", r.text(NAMES)),
    }
}

/// A loop over one sequence or some steps, whose parts refer to each other and to what is outside.
fn scan(r: &mut Random, names: &[String], depth: usize) -> String {
    let mut inside = names.to_vec();
    inside.extend(["state", "row", "part"].map(str::to_owned));
    let rows = if r.one_in(4) {
        format!("\"length\": {}", r.below(4))
    } else {
        format!("\"sequences\": {{\"row\": {}}}", expression(r, names, depth - 1))
    };
    let value = expression(r, &inside, depth - 1);
    let start = if r.one_in(3) { expression(r, names, depth - 1) } else { number(r) };
    let next = match r.below(3) {
        0 => expression(r, &inside, depth - 1),
        1 => "[\"tanh\", \"state\"]".to_owned(),
        _ => format!("[\"mul\", \"state\", [\"sum\", {}]]", expression(r, &inside, depth - 1)),
    };
    let result =
        r.text(&[r#""last": "state""#, r#""each": "part""#, r#""each": ["exp", "state"]"#]);
    let reverse = if r.one_in(3) { "\"reverse\": true, " } else { "" };
    format!(
        "{{\"scan\": {{{rows}, {reverse}\"values\": {{\"part\": {value}}}, \
         \"carries\": {{\"state\": {{\"start\": {start}, \"next\": {next}}}}}, {result}}}}}"
    )
}

fn expression(r: &mut Random, names: &[String], depth: usize) -> String {
    if depth == 0 || r.one_in(3) {
        return match r.below(8) {
            0 => array(r),
            1 | 2 => number(r),
            3 if r.one_in(8) => format!("{{\"shared\": {}}}", r.below(SHARED)),
            4 if r.one_in(8) => r
                .pick(&[
                    r#"{"tensor": ["NaN"], "shape": []}"#,
                    r#"{"tensor": [], "shape": [0, 2]}"#,
                ])
                .to_string(),
            _ if names.is_empty() => number(r),
            _ => format!("\"{}\"", r.pick(names)),
        };
    }
    if r.one_in(12) {
        return scan(r, names, depth);
    }
    let functions: Vec<_> = function_names().collect();
    let common = ["add", "mul", "sub", "exp", "matmul", "gather", "sum", "div", "neg"];
    let function = if r.one_in(2) { *r.pick(&common) } else { *r.pick(&functions) };
    let arity = match function {
        "matmul" | "gather" | "scatter_add" | "triangular_solve" | "solve" | "dot" | "outer" => 2,
        "concat" | "stack" => 1 + r.below(3),
        "lu_solve" => 3,
        _ if r.one_in(50) => r.below(4),
        _ if Binary::from_name(function).is_some() => 2,
        _ if Ternary::from_name(function).is_some() => 3,
        _ => 1,
    };
    let mut parts = vec![format!("\"{function}\"")];
    parts.extend((0..arity).map(|_| expression(r, names, depth - 1)));
    if function == "gather" && parts.len() == 3 && !r.one_in(4) {
        parts[2] = r.text(&["[0, 1]", "[1, 0, 0]", "0", "[[0], [1]]"]).to_owned();
    }
    if let Some(settings) = settings(r, function) {
        parts.push(settings);
    }
    format!("[{}]", parts.join(", "))
}

fn settings(r: &mut Random, function: &str) -> Option<String> {
    let mut n = || r.below(4);
    Some(match function {
        "broadcast" | "reshape" => format!("{{\"shape\": [{}, {}]}}", n(), n()),
        "permute" => format!("{{\"order\": [{}, {}]}}", n() % 2, n() % 2),
        "slice" => format!("{{\"start\": {}, \"stop\": {}, \"step\": {}}}", n(), n(), n()),
        "unslice" => {
            format!(
                "{{\"axis\": {}, \"start\": {}, \"step\": {}, \"extent\": 9}}",
                n() / 2,
                n(),
                n()
            )
        }
        "concat" | "stack" => format!("{{\"axis\": {}}}", n() / 2),
        "at" => format!("{{\"index\": {}}}", n()),
        "scatter_add" => format!("{{\"len\": {}}}", n()),
        "sum" | "mean" | "max_of" | "min_of" | "log_sum_exp" if n() == 0 => {
            format!("{{\"axes\": [{}]}}", n() / 2)
        }
        "cumulative_sum" => format!("{{\"axis\": {}, \"reverse\": true}}", n() / 2),
        "triangular_solve" | "lu_solve" => "{\"transposed\": true}".to_owned(),
        _ => return None,
    })
}

fn number(r: &mut Random) -> String {
    const NUMBERS: &[&str] = &["0", "1", "2", "-1", "0.5", "1.5", "-0.0", "1e-3", "3", "1e300"];
    r.text(NUMBERS).to_string()
}

fn array(r: &mut Random) -> String {
    const ARRAYS: &[&str] = &[
        "1",
        "0.5",
        "[]",
        "[1]",
        "[0, 1]",
        "[0.25, 0.75]",
        "[1.0, 2.0, 3.0]",
        "[0, 1, 2]",
        "[1, 0, 1]",
        "[[1.0, 0.0], [0.5, 2.0]]",
        "[[1, 2, 3], [4, 5, 6]]",
        "[[1.0], [2.0], [3.0]]",
        "[[[1.5]]]",
        "[[], []]",
        "[[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]]",
    ];
    r.text(ARRAYS).to_string()
}

fn shape(r: &mut Random) -> String {
    r.text(&["[]", "[1]", "[2]", "[3]", "[2, 2]", "[3, 3]", "[2, 3]", "[0]", "[2, 1, 3]"])
        .to_string()
}

/// A text with a few bytes or tokens changed, taken from or put in place of those of another text.
pub(crate) fn mutate(r: &mut Random, text: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..1 + r.below(4) {
        if bytes.is_empty() {
            break;
        }
        if r.one_in(3) {
            let position = r.below(bytes.len());
            match r.below(4) {
                0 => bytes[position] = (r.next() & 0xFF) as u8,
                1 => drop(bytes.remove(position)),
                2 => bytes.insert(position, *r.pick(b"{}[],:\"0123456789-.eE \\nNI")),
                _ => bytes.truncate(position),
            }
        } else {
            let (mut mine, theirs) = (tokens(&bytes), tokens(other));
            let position = r.below(mine.len());
            let token = if r.one_in(2) { r.pick(&theirs).clone() } else { r.pick(&mine).clone() };
            match r.below(3) {
                0 => mine[position] = token,
                1 => mine.insert(position, token),
                _ => drop(mine.remove(position)),
            }
            bytes = mine.concat();
        }
    }
    bytes
}

/// Strings, words and single marks.
fn tokens(text: &[u8]) -> Vec<Vec<u8>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_');
        let len = if first == b'"' {
            rest[1..].iter().position(|b| *b == b'"').map_or(1, |k| k + 2)
        } else {
            rest.iter().take_while(|b| word(b)).count().max(1)
        };
        let (token, after) = rest.split_at(len);
        tokens.push(token.to_vec());
        rest = after;
    }
    tokens.push(b" ".to_vec());
    tokens
}
