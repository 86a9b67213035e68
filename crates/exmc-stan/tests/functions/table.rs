//! A table's text -> sections of rows: arguments, what Stan gives there, derivatives.

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Real,
    Int,
}

/// What a function gives at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Want {
    /// This number.
    Number(f64),
    /// No number: an error or NaN.
    Nothing,
    /// An error.
    Error,
    /// An outcome that cannot be: an error or minus infinity.
    Impossible,
    /// Nothing is claimed.
    Any,
}

/// What one function gives at a point, with derivatives by the real arguments where they are
/// claimed.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) value: Want,
    pub(crate) slopes: Vec<Option<f64>>,
}

/// One point.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) args: Vec<f64>,
    /// One for each of the section's functions.
    pub(crate) claims: Vec<Claim>,
}

/// The points of one function, or of several of one distribution.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    /// Suffixes of the functions, `""` for a function of its own.
    pub(crate) functions: Vec<String>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) rows: Vec<Row>,
}

impl Section {
    /// Positions of real arguments.
    pub(crate) fn reals(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.kinds.len()).filter(|&k| self.kinds[k] == Kind::Real)
    }
}

fn want(word: &str) -> Want {
    match word {
        "nan" => Want::Nothing,
        "error" => Want::Error,
        "none" => Want::Impossible,
        "skip" | "-" => Want::Any,
        number => Want::Number(number.parse().expect("a number or a token")),
    }
}

/// The sections of a file of this folder: `# name kinds` or `# name suffixes : kinds`, then rows.
pub(crate) fn sections(file: &str) -> Vec<Section> {
    let path = format!("{}/tests/functions/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut all: Vec<Section> = Vec::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"#") {
            let name = words[1].to_owned();
            let colon = words.iter().position(|w| *w == ":");
            let functions = match colon {
                Some(colon) => words[2..colon].iter().map(|w| (*w).to_owned()).collect(),
                None => vec![String::new()],
            };
            let kinds = words.split_off(colon.map_or(2, |colon| colon + 1));
            let kind = |w: &&str| if *w == "int" { Kind::Int } else { Kind::Real };
            let kinds = kinds.iter().map(kind).collect();
            all.push(Section { name, functions, kinds, rows: Vec::new() });
            continue;
        }
        let section = all.last_mut().expect("a section before its rows");
        let (args, rest) = words.split_at(section.kinds.len());
        let args = args.iter().map(|w| w.parse().expect("an argument")).collect();
        let reals = section.reals().count();
        let claim = |words: &[&str]| Claim {
            value: want(words[0]),
            slopes: words[1..].iter().map(|w| w.parse().ok()).collect(),
        };
        let claims: Vec<Claim> = rest.chunks(1 + reals).map(claim).collect();
        assert_eq!(rest.len(), section.functions.len() * (1 + reals), "{}: {line}", section.name);
        section.rows.push(Row { args, claims });
    }
    all
}
