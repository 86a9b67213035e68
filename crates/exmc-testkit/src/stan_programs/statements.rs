//! Random statements: loops, branches on data and on parameters, early ends, assignments to parts,
//! terms of the density.

use exmc_math::random::ChainRng;

use super::expressions::{
    EXTENT, ROOT, Scope, chance, condition, index, known_index, pick, range, real, several, vector,
};
use super::tree::{Node, Part, Text};

/// What statements may do where they stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Statements inside of statements that are still allowed.
    pub(super) depth: u32,
    /// Whether `break` and `continue` have a loop.
    pub(super) in_loop: bool,
    /// What `return` gives, if it may stand here.
    pub(super) returns: Option<Returns>,
    /// Whether terms of the density may be added.
    pub(super) adds: bool,
    /// Whether densities may leave out terms.
    pub(super) drops: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returns {
    Real,
    Vector,
    Index,
    Nothing,
}

/// Makes statements.
pub(super) struct Maker<'r> {
    pub(super) rng: &'r mut ChainRng,
    /// Number of names so far.
    names: u32,
    /// Statements that may still be made.
    pub(super) left: u32,
    /// Functions that add to the density: of (real, int).
    pub(super) adders: Vec<String>,
    /// The same that give a number.
    pub(super) tellers: Vec<String>,
    /// Densities: of (real | real).
    pub(super) densities: Vec<String>,
}

/// Elements of the longer data.
pub(super) const LONG: u64 = 24;

const DATA: &str =
    "array[4] int k; vector[4] d; real c; array[4] int perm; array[24] int idx; vector[24] w24;";

/// The data of every program.
pub(super) const VALUES: &str = r#"{"k": [3, 1, 4, 2], "d": [0.5, -1.2, 0.3, -0.7], "c": 0.8, "perm": [2, 4, 1, 3],
"idx": [1, 4, 2, 2, 3, 1, 1, 4, 3, 2, 4, 4, 1, 3, 2, 3, 2, 1, 4, 3, 1, 2, 4, 3],
"w24": [0.3, -0.4, 0.9, -1.1, 0.2, 0.6, -0.8, -0.2, 1.3, 0.1, -0.5, 0.7, -0.9, 0.4, 0.8, -0.3, 0.5, -0.6, 1.1, -1.2, 0.25, 0.35, -0.45, 0.55]}"#;

/// A program.
pub(super) fn program(rng: &mut ChainRng, three_blocks: bool) -> Text {
    let mut maker = Maker {
        rng,
        names: 0,
        left: 0,
        adders: Vec::new(),
        tellers: Vec::new(),
        densities: Vec::new(),
    };
    maker.program(three_blocks)
}

/// The scope of a block: parameters, data, and variables under the names that [`declarations`]
/// gives.
fn block_scope(functions: [Vec<String>; 3]) -> Scope {
    let owned = |all: &[&str]| -> Vec<String> { all.iter().map(|n| (*n).to_owned()).collect() };
    let mut s = Scope { functions, data: true, ..Scope::default() };
    s.reals = owned(&["x", "y", "@r", "@q", "@t"]);
    s.vectors = owned(&["v", "w", "@a", "@b"]);
    s.matrices = owned(&["M", "@m"]);
    s.arrays = owned(&["@z"]);
    s.rows = owned(&["@g"]);
    s.numbers = owned(&["@j"]);
    s.counters = owned(&["@n", "@f"]);
    s.indices = owned(&["@l"]);
    s.locals.reals = owned(&["@r", "@q", "@t"]);
    s.locals.vectors = owned(&["@a", "@b"]);
    s.locals.matrices = owned(&["@m"]);
    s.locals.arrays = owned(&["@z"]);
    s.locals.rows = owned(&["@g"]);
    s.locals.numbers = owned(&["@j"]);
    s.locals.counters = owned(&["@n", "@f"]);
    s.locals.indices = owned(&["@l"]);
    s
}

/// Declarations; integers are not declared where a block must not have them.
fn declarations(integers_as: Option<&str>) -> Vec<String> {
    let mut all: Vec<String> = [
        "real @r = 0.3 * x;",
        "real @q = 0;",
        "real @t = y;",
        "vector[4] @a = v;",
        "vector[4] @b = rep_vector(0.2, 4);",
        "matrix[4, 4] @m = M;",
        "array[4] real @z = rep_array(0.5 * x, 4);",
        "array[4] vector[4] @g = {v, w, 0.5 * v, rep_vector(y, 4)};",
    ]
    .map(str::to_owned)
    .to_vec();
    if integers_as.is_some() {
        let integers =
            ["int @n = 0;", "int @f = 0;", "int @l = 1;", "array[4] int @j = {2, 4, 1, 2};"];
        all.extend(integers.map(str::to_owned));
    }
    all
}

const SUM: &str = "0.3 * @r + 0.2 * @t - 0.4 * @q - 0.1 * dot_self(@a) + 0.1 * sum(@b .* [1, 2, 3, 4]') - 0.05 * sum(square(@m)) \
    + 0.1 * dot_product(to_row_vector(@z), [1, -2, 3, 0.5]) + 0.15 * @n - 0.25 * @f + 0.35 * @l \
    + 0.06 * dot_product(@g[1], @g[3]) - 0.04 * sum(@g[2] .* [3, 1, -2, 1]') + 0.05 * @g[4, 2] + 0.03 * (@j[1] - 2 * @j[2] + 3 * @j[3] * @j[4])";

impl Maker<'_> {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    pub(super) fn name(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    fn program(&mut self, three_blocks: bool) -> Text {
        let root = Part {
            head: ROOT.0.to_owned(),
            first: vec![ROOT.1.to_owned()],
            body: Vec::new(),
            last: Vec::new(),
            mark: "",
        };
        let mut parts = vec![root];
        let mut functions = [Vec::new(), Vec::new(), Vec::new()];
        for number in 0..self.below(4) {
            let part = self.function(number, &mut functions, three_blocks);
            parts.push(part);
        }
        let plain = |head: &str, line: &str| Part {
            head: head.to_owned(),
            first: vec![line.to_owned()],
            body: Vec::new(),
            last: Vec::new(),
            mark: "",
        };
        parts.push(plain("data", DATA));
        parts
            .push(plain("parameters", "real x; real y; vector[4] v; vector[4] w; matrix[4, 4] M;"));
        let s = block_scope(functions);
        let place =
            Place { depth: 3, in_loop: false, returns: None, adds: !three_blocks, drops: true };
        self.left = 4 + self.below(14) as u32;
        let mut body = self.list(&s, place, 5);
        if chance(self.rng, 40) {
            let recurrence = self.recurrence(&s, place);
            let position = self.below(body.len() as u64 + 1) as usize;
            body.insert(position, recurrence);
        }
        for call in self.calls(&s) {
            let position = self.below(body.len() as u64 + 1) as usize;
            body.insert(position, call);
        }
        if three_blocks {
            // Integers cannot be transformed parameters: they stand in a block of their own there,
            // in the density and in the quantities.
            let sum = format!("@w = {SUM};");
            let inner = |mark| Part {
                head: String::new(),
                first: declarations(Some("")),
                body: body.clone(),
                last: vec![sum.clone()],
                mark,
            };
            for (head, mark) in
                [("transformed parameters", "t_"), ("model", "m_"), ("generated quantities", "g_")]
            {
                let outer =
                    ["real @w; vector[4] @u; matrix[4, 4] @o; array[4] real @p;".to_owned()];
                let mut part = inner(mark);
                part.head = head.to_owned();
                let mut first = outer.to_vec();
                first.push("{".to_owned());
                first.extend(part.first);
                part.first = first;
                part.last.extend(["@u = @a; @o = @m; @p = @z;", "}"].map(str::to_owned));
                if head == "model" {
                    part.last.push("target += @w;".to_owned());
                }
                parts.push(part);
            }
            return Text { parts };
        }
        if chance(self.rng, 25) {
            let place = Place { adds: false, ..place };
            self.left = 3 + self.below(4) as u32;
            let body = self.list(&s, place, 3);
            let mut first = vec!["real t_w; vector[4] t_u;".to_owned(), "{".to_owned()];
            first.extend(declarations(Some("")));
            let last = vec![format!("t_w = {SUM}; t_u = @a + @b;"), "}".to_owned()];
            let head = "transformed parameters".to_owned();
            parts.push(Part { head, first, body, last, mark: "t_" });
        }
        let last = vec![format!("target += {SUM};")];
        let first = declarations(Some(""));
        parts.push(Part { head: "model".to_owned(), first, body, last, mark: "" });
        Text { parts }
    }

    pub(super) fn list(&mut self, s: &Scope, place: Place, most: u64) -> Vec<Node> {
        let mut s = s.clone();
        let mut all = Vec::new();
        for _ in 0..1 + self.below(most) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let node = self.statement(&mut s, place);
            all.push(node);
        }
        all
    }

    fn statement(&mut self, s: &mut Scope, place: Place) -> Node {
        let inner = Place { depth: place.depth.saturating_sub(1), ..place };
        if place.depth > 0 {
            match self.below(20) {
                0..=3 => return self.branch(s, inner),
                4..=8 => return self.loop_over_range(s, inner),
                9 => return self.loop_over_elements(s, inner),
                10 => return self.loop_while(s, inner),
                11 if place.depth > 1 => {
                    let found = match self.below(5) {
                        0 => self.sections(s, inner),
                        1 => self.ragged(s, inner),
                        2 => None,
                        _ => self.grids(s, inner),
                    };
                    if let Some(node) = found {
                        return node;
                    }
                }
                _ => {}
            }
        }
        if chance(self.rng, 12) && (place.in_loop || place.returns.is_some()) {
            let c = condition(self.rng, s, 1);
            let leave = self.leave(s, place);
            return Node::Arms(vec![(format!("if ({c})"), vec![Node::Line(leave)])]);
        }
        if chance(self.rng, 10) {
            return self.declaration(s);
        }
        if place.adds && chance(self.rng, 25) {
            return Node::Line(self.term(s, place));
        }
        if chance(self.rng, 15)
            && let Some(node) = self.nested(s)
        {
            return node;
        }
        Node::Line(self.assignment(s))
    }

    pub(super) fn leave(&mut self, s: &Scope, place: Place) -> String {
        match (place.in_loop, place.returns) {
            (true, None) => ["break;", "continue;"][self.below(2) as usize].to_owned(),
            (true, Some(_)) if chance(self.rng, 50) => {
                ["break;", "continue;"][self.below(2) as usize].to_owned()
            }
            (_, Some(Returns::Real)) => format!("return {};", real(self.rng, s, 1)),
            (_, Some(Returns::Vector)) => format!("return {};", vector(self.rng, s, 1, EXTENT)),
            (_, Some(Returns::Index)) => format!("return {};", index(self.rng, s, 0)),
            _ => "return;".to_owned(),
        }
    }

    fn branch(&mut self, s: &Scope, place: Place) -> Node {
        let mut arms = Vec::new();
        for number in 0..1 + self.below(3) {
            let c = condition(self.rng, s, 2);
            let head = format!("{}if ({c})", if number == 0 { "" } else { "else " });
            let mut body = self.list(s, place, 2);
            if place.returns.is_some() && chance(self.rng, 20) {
                body.push(Node::Line(self.leave(s, place)));
            }
            arms.push((head, body));
        }
        if chance(self.rng, 40) {
            let body = self.list(s, place, 2);
            arms.push(("else".to_owned(), body));
        }
        Node::Arms(arms)
    }

    fn loop_over_range(&mut self, s: &Scope, place: Place) -> Node {
        let i = self.name("i");
        let mut inner = s.clone();
        let head = match self.below(10) {
            0 | 1 if s.data => {
                inner.long.push(i.clone());
                let high = 17 + self.below(8);
                let low = 1 + self.below(2);
                format!("for ({i} in {low}:{high})")
            }
            2 => format!("for ({i} in {}:{EXTENT})", known_index(self.rng, s)),
            3 => format!("for ({i} in 1:{})", known_index(self.rng, s)),
            4 if s.data => format!("for ({i} in 1:k[{}])", known_index(self.rng, s)),
            5 => {
                let len = 2 + self.below(2);
                format!("for ({i} in {})", bounded(&range(self.rng, len), len))
            }
            // Its bound may change as it runs.
            6 => {
                let n = pick(self.rng, &s.locals.counters).map_or("1", String::as_str);
                format!("for ({i} in 1:min({EXTENT}, 2 + abs({n})))")
            }
            _ => format!("for ({i} in 1:{EXTENT})"),
        };
        if inner.long.last() != Some(&i) {
            inner.known.push(i.clone());
        }
        let body = self.list(&inner, Place { in_loop: true, ..place }, 3);
        Node::Arms(vec![(head, body)])
    }

    fn loop_over_elements(&mut self, s: &Scope, place: Place) -> Node {
        let e = self.name("e");
        let mut inner = s.clone();
        if let Some(rows) = pick(self.rng, &s.rows).filter(|_| chance(self.rng, 20)) {
            inner.vectors.push(e.clone());
            let body = self.list(&inner, Place { in_loop: true, ..place }, 3);
            return Node::Arms(vec![(format!("for ({e} in {rows})"), body)]);
        }
        let over = match self.below(4) {
            0 => pick(self.rng, &s.matrices).cloned(),
            1 => pick(self.rng, &s.arrays).cloned(),
            2 if s.data => Some(["d", "w24[1:18]"][self.below(2) as usize].to_owned()),
            _ => Some(vector(self.rng, s, 1, EXTENT)),
        };
        let Some(over) = over else { return Node::Line(self.assignment(s)) };
        inner.reals.push(e.clone());
        let body = self.list(&inner, Place { in_loop: true, ..place }, 3);
        Node::Arms(vec![(format!("for ({e} in {over})"), body)])
    }

    /// One that may go on beyond what is compiled: as many iterations as a parameter says, up
    /// to 150.
    fn long_while(&mut self, s: &Scope) -> Node {
        let (z, q) = (self.name("z"), pick(self.rng, &s.locals.reals).cloned());
        let a = real(self.rng, s, 0);
        let line = q.map_or_else(String::new, |q| format!("{q} = 0.9 * {q} + 0.02 * {a};"));
        let head = format!("while ({z} > 0)");
        let body = vec![Node::Line(format!("{z} -= 1;")), Node::Line(line)];
        let first = Node::Line(format!("real {z} = 100 * abs(x);"));
        Node::Arms(vec![(String::new(), vec![first, Node::Arms(vec![(head, body)])])])
    }

    fn loop_while(&mut self, s: &Scope, place: Place) -> Node {
        if s.data && !place.in_loop && chance(self.rng, 8) {
            return self.long_while(s);
        }
        let n = self.name("c");
        let most = 1 + self.below(4);
        let on = if chance(self.rng, 50) {
            format!(" && {}", condition(self.rng, s, 1))
        } else {
            String::new()
        };
        let mut inner = s.clone();
        inner.counters.push(n.clone());
        let mut body = vec![Node::Line(format!("{n} += 1;"))];
        body.extend(self.list(&inner, Place { in_loop: true, ..place }, 3));
        let head = format!("while ({n} < {most}{on})");
        let nodes = vec![Node::Line(format!("int {n} = 0;")), Node::Arms(vec![(head, body)])];
        Node::Arms(vec![(String::new(), nodes)])
    }

    fn declaration(&mut self, s: &mut Scope) -> Node {
        let name = self.name("b");
        match self.below(5) {
            0 => {
                let line = format!("vector[4] {name} = {};", vector(self.rng, s, 1, EXTENT));
                s.vectors.push(name.clone());
                s.locals.vectors.push(name);
                Node::Line(line)
            }
            1 => {
                let line = format!("int {name} = {};", index(self.rng, s, 0));
                s.indices.push(name.clone());
                s.locals.indices.push(name);
                Node::Line(line)
            }
            // Both branches give it a value.
            2 => {
                let (c, a, b) =
                    (condition(self.rng, s, 1), real(self.rng, s, 1), real(self.rng, s, 1));
                let line = format!("real {name}; if ({c}) {name} = {a}; else {name} = {b};");
                s.reals.push(name.clone());
                s.locals.reals.push(name);
                Node::Line(line)
            }
            _ => {
                let line = format!("real {name} = {};", real(self.rng, s, 2));
                s.reals.push(name.clone());
                s.locals.reals.push(name);
                Node::Line(line)
            }
        }
    }

    pub(super) fn term(&mut self, s: &Scope, place: Place) -> String {
        let scale = match self.below(4) {
            0 => "2".to_owned(),
            1 => format!("exp(tanh({}))", real(self.rng, s, 1)),
            2 if s.data => "c".to_owned(),
            _ => "0.7".to_owned(),
        };
        let (a, b) = (real(self.rng, s, 1), real(self.rng, s, 1));
        if let Some(f) = pick(self.rng, &self.tellers).cloned()
            && chance(self.rng, 30)
        {
            let (c, i) = (condition(self.rng, s, 1), known_index(self.rng, s));
            return match (self.below(3), pick(self.rng, &s.locals.reals).cloned()) {
                (0, Some(q)) => format!("{q} = ({c} ? {f}({a}, {i}) : {b});"),
                (1, Some(q)) => format!("{q} = ({c} ? {b} : 0.5 * {f}({a}, {i}));"),
                _ => format!("if ({c} && {f}({a}, {i}) > {b}) target += 0.2 * {a};"),
            };
        }
        match self.below(14) {
            0..=2 => format!("target += 0.2 * {a};"),
            3 | 4 => format!("{a} ~ normal({b}, {scale});"),
            5 => {
                let v = vector(self.rng, s, 1, 3);
                format!("{v} ~ normal({b}, {scale});")
            }
            6 if s.data => format!("d[{}] ~ cauchy({b}, {scale});", known_index(self.rng, s)),
            7 => match pick(self.rng, &s.counters) {
                Some(n) => format!("abs({n}) ~ poisson(exp(tanh({a})));"),
                None => format!("target += cauchy_lpdf({a} | 0, {scale});"),
            },
            8 => match pick(self.rng, &self.adders).cloned() {
                Some(f) => format!("{f}({a}, {});", known_index(self.rng, s)),
                None => format!("target += normal_lpdf({a} | {b}, {scale});"),
            },
            9 => match pick(self.rng, &self.densities).cloned() {
                Some(f) => format!("{a} ~ {f}({b});"),
                None => format!("target += normal_lpdf({a} | {b}, {scale});"),
            },
            10 if place.drops => format!("target += normal_lupdf({a} | {b}, {scale});"),
            11 if s.data => format!("exp(tanh({a})) ~ gamma({scale}, 1.3);"),
            12 => self.category(s),
            _ => {
                let v = vector(self.rng, s, 1, 2);
                format!("target += 0.1 * {v};")
            }
        }
    }

    /// A term of a category's probability, as item response models write it; some probabilities are
    /// zero but for rounding.
    fn category(&mut self, s: &Scope) -> String {
        let (len, k) = (2 + self.below(EXTENT - 1), index(self.rng, s, 1));
        let mut x = vector(self.rng, s, 1, len);
        if chance(self.rng, 70) {
            x = format!("3 * tanh({x})");
        }
        if chance(self.rng, 30) {
            x = format!("cumulative_sum({x})");
        }
        let k = if len == EXTENT { k } else { (1 + self.below(len)).to_string() };
        match self.below(4) {
            0 => format!("target += log(softmax({x})[{k}]);"),
            1 => format!("target += 0.5 * log_softmax({x})[{k}];"),
            2 => format!("target += sum(softmax({x})) * log(softmax({x})[{k}]);"),
            _ => format!("target += categorical_lpmf({k} | softmax({x}));"),
        }
    }

    fn assignment(&mut self, s: &Scope) -> String {
        let l = &s.locals;
        for _ in 0..8 {
            match self.below(14) {
                0..=3 => {
                    let Some(q) = pick(self.rng, &l.reals).cloned() else { continue };
                    let e = real(self.rng, s, 2);
                    return match self.below(5) {
                        0 => format!("{q} += 0.3 * {e};"),
                        1 => format!("{q} -= 0.2 * {e};"),
                        2 => format!("{q} = 0.5 * {q} + {e};"),
                        _ => format!("{q} = {e};"),
                    };
                }
                4 | 5 => {
                    let list = if chance(self.rng, 60) { &l.vectors } else { &l.arrays };
                    let Some(v) = pick(self.rng, list).cloned() else { continue };
                    // What is assigned to must not be read in its own index.
                    let (i, e) = (index(self.rng, s, 0), real(self.rng, s, 2));
                    let op = ["=", "=", "+="][self.below(3) as usize];
                    return format!("{v}[{i}] {op} {e};");
                }
                6 => {
                    let Some(v) = pick(self.rng, &l.vectors).cloned() else { continue };
                    let len = 1 + self.below(EXTENT);
                    let (indices, e) = (several(self.rng, s, len), vector(self.rng, s, 1, len));
                    return format!("{v}[{indices}] = {e};");
                }
                7 => {
                    let Some(v) = pick(self.rng, &l.vectors).cloned() else { continue };
                    return format!("{v} = {};", vector(self.rng, s, 2, EXTENT));
                }
                8 => {
                    let Some(m) = pick(self.rng, &l.matrices).cloned() else { continue };
                    return self.matrix(&m, s);
                }
                9 => {
                    let Some(z) = pick(self.rng, &l.arrays).cloned() else { continue };
                    let e: Vec<String> = (0..EXTENT).map(|_| real(self.rng, s, 1)).collect();
                    return format!("{z} = {{{}}};", e.join(", "));
                }
                10 | 11 => {
                    let Some(n) = pick(self.rng, &l.counters).cloned() else { continue };
                    return match self.below(4) {
                        0 => format!("{n} = {};", self.rng.below(3)),
                        1 => format!("{n} = {};", index(self.rng, s, 0)),
                        _ => format!("{n} += 1;"),
                    };
                }
                12 => {
                    let Some(i) = pick(self.rng, &l.indices).cloned() else { continue };
                    return format!("{i} = {};", index(self.rng, s, 1));
                }
                _ => {
                    let Some(v) = pick(self.rng, &l.vectors).cloned() else { continue };
                    return format!("{v} = 0.5 * {v} + {};", vector(self.rng, s, 1, EXTENT));
                }
            }
        }
        "{ }".to_owned()
    }
}

/// A range with both of its ends.
fn bounded(range: &str, len: u64) -> String {
    match range.split_once(':') {
        Some(("", high)) => format!("1:{high}"),
        Some((low, "")) => format!("{low}:{EXTENT}"),
        Some((low, high)) => format!("{low}:{high}"),
        None => format!("1:{len}"),
    }
}
