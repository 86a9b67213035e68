//! Functions of a random program, and statements that call them.

use super::expressions::{EXTENT, Scope, chance, index, real, vector};
use super::statements::{Maker, Place, Returns};
use super::tree::{Node, Part};

impl Maker<'_> {
    pub(super) fn function(
        &mut self,
        number: u64,
        functions: &mut [Vec<String>; 3],
        three: bool,
    ) -> Part {
        let owned = |all: &[&str]| -> Vec<String> { all.iter().map(|n| (*n).to_owned()).collect() };
        let mut s = Scope { functions: functions.clone(), ..Scope::default() };
        s.reals = owned(&["p", "r"]);
        s.locals.reals = owned(&["r"]);
        s.vectors = owned(&["u"]);
        s.counters = owned(&["n"]);
        s.locals.counters = owned(&["n"]);
        let kind = self.below(if three { 3 } else { 6 });
        let (name, arguments, returns) = match kind {
            0 => ("ff", "real p, vector o, int i0", Returns::Real),
            1 => ("gg", "vector o, real p", Returns::Vector),
            2 => ("hh", "real p, int i0", Returns::Index),
            3 => ("add", "real p, int i0", Returns::Nothing),
            5 => ("tell", "real p, int i0", Returns::Real),
            _ => ("own", "real p, real o", Returns::Real),
        };
        let (mut name, mut u) =
            (format!("{name}{number}"), "vector[4] u = rep_vector(0.3 * p, 4);");
        match kind {
            0 | 1 => {
                u = "vector[4] u = o;";
                s.vectors.push("o".to_owned());
                s.locals.vectors.push("u".to_owned());
            }
            3 | 5 => name.push_str("_lp"),
            4 => {
                name.push_str("_lpdf");
                s.reals.push("o".to_owned());
            }
            _ => {}
        }
        if matches!(kind, 0 | 2 | 3 | 5) {
            s.known.push("i0".to_owned());
        }
        let place = Place {
            depth: 2,
            in_loop: false,
            returns: Some(returns),
            adds: matches!(kind, 3 | 5),
            drops: kind == 4,
        };
        self.left = 2 + self.below(6) as u32;
        let mut body = self.list(&s, place, 2);
        if kind == 4 {
            let m = real(self.rng, &s, 1);
            body.insert(0, Node::Line(format!("r += normal_lupdf(p | {m}, 1.5);")));
        }
        let last = match returns {
            Returns::Real => vec![format!("return {};", real(self.rng, &s, 1))],
            Returns::Vector => vec![format!("return {};", vector(self.rng, &s, 1, EXTENT))],
            Returns::Index => vec![format!("return {};", index(self.rng, &s, 0))],
            Returns::Nothing => Vec::new(),
        };
        let ty = match returns {
            Returns::Real => "real",
            Returns::Vector => "vector",
            Returns::Index => "int",
            Returns::Nothing => "void",
        };
        let head = format!("{ty} {name}({arguments})");
        match kind {
            0..=2 => functions[kind as usize].push(name),
            3 => self.adders.push(name),
            5 => self.tellers.push(name),
            _ => self.densities.push(name.trim_end_matches("_lpdf").to_owned()),
        }
        let first = vec!["real r = p; int n = 0;".to_owned(), u.to_owned()];
        Part { head, first, body, last, mark: "" }
    }

    /// Statements that call the functions of the program, some of them in each iteration of a
    /// loop: expressions call one so rarely that most would stand there for nothing.
    pub(super) fn calls(&mut self, s: &Scope) -> Vec<Node> {
        let mut all = Vec::new();
        for (kind, names) in s.functions.clone().iter().enumerate() {
            for f in names {
                if !chance(self.rng, 60) {
                    continue;
                }
                let mut inner = s.clone();
                let i = chance(self.rng, 60).then(|| self.name("i"));
                inner.known.extend(i.clone());
                let (place, subscript) = match &i {
                    Some(i) => (format!("@z[{i}]"), i.clone()),
                    None => ("@t".to_owned(), index(self.rng, &inner, 1)),
                };
                let a = real(self.rng, &inner, 1);
                let v = vector(self.rng, &inner, 1, EXTENT);
                let value = match kind {
                    0 => format!("{f}({a}, {v}, {subscript})"),
                    1 => format!("sum({f}({v}, {a}))"),
                    _ => format!("0.1 * {f}({a}, {subscript})"),
                };
                let line = Node::Line(format!("{place} = tanh({place} + {value});"));
                all.push(match i {
                    Some(i) => Node::Arms(vec![(format!("for ({i} in 1:{EXTENT})"), vec![line])]),
                    None => line,
                });
            }
        }
        all
    }
}
