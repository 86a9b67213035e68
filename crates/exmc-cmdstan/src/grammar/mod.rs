//! Command line of a model executable -> values of all its arguments, or what is wrong with it.
//!
//! Arguments form a tree ([`tree`]); a category ends where the next word is none of its own
//! arguments, so that their order is free within a level. Each argument of the top level may be
//! given once.

mod argument;
mod tree;

use argument::{Kind, Parser, Value, split};

pub(crate) use argument::Argument;

/// The arguments of a run.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    all: Vec<Argument>,
    /// The seed that stands for -1.
    seed: i64,
}

/// What a command line asks for.
pub(crate) enum Asked {
    /// A run.
    Run(Box<Arguments>),
    /// Text on standard output.
    Help(String),
    /// `info`.
    Info,
    /// `version`.
    Version,
    /// Nothing that can be done: lines for standard error; the usage for standard output where
    /// there was no argument at all.
    Wrong { errors: Vec<String>, usage: Option<String> },
}

/// Reads the arguments behind the program's name. `clock` is the seed where none is given.
pub(crate) fn read(program: &str, args: &[String], clock: u32) -> Asked {
    let mut all = tree::arguments();
    if args.is_empty() {
        return Asked::Wrong { errors: Vec::new(), usage: Some(usage(program, &all)) };
    }
    let args: Vec<String> = args.iter().map(|a| with_method(&all, a)).collect();
    let mut parser = Parser { args: &args, index: 0, errors: Vec::new(), help: None };
    let mut seen: Vec<&str> = Vec::new();
    let (mut is_valid, mut has_method) = (true, false);
    while let Some(next) = args.get(parser.index) {
        match next.as_str() {
            "help" => return Asked::Help(usage(program, &all)),
            "help-all" => {
                let mut text = String::new();
                all.iter().for_each(|a| a.write_help(&mut text, 1, true));
                return Asked::Help(text + &usage(program, &all));
            }
            "info" => return Asked::Info,
            "version" => return Asked::Version,
            _ => {}
        }
        let key = split(next).0;
        has_method |= key == "method";
        let argument = all.iter_mut().find(|a| a.name == key && !seen.contains(&a.name));
        let Some(argument) = argument else {
            parser.errors.push(format!("{next} is either mistyped or misplaced."));
            if key == "opencl" {
                parser.errors.push("exmc has no OpenCL: leave `opencl` out.".to_owned());
            }
            let paths_to = |is_meant: &dyn Fn(&str) -> bool| {
                let mut paths = Vec::new();
                all.iter().for_each(|a| a.paths_to(is_meant, "", &mut paths));
                paths
            };
            let mut paths = paths_to(&|name| name == key);
            if paths.is_empty() {
                paths = paths_to(&|name| looks_like(name, key));
            }
            if !paths.is_empty() {
                let words = "Perhaps you meant one of the following valid configurations?";
                parser.errors.push(words.to_owned());
                parser.errors.extend(paths.into_iter().map(|path| format!("  {path}")));
            }
            is_valid = false;
            break;
        };
        seen.push(argument.name);
        if matches!(argument.kind, Kind::Category(_) | Kind::Mark) {
            parser.index += 1;
        }
        is_valid &= argument.parse(&mut parser);
        if let Some(help) = parser.help.take() {
            return Asked::Help(help);
        }
    }
    if !has_method {
        parser.errors.push("A method must be specified!".to_owned());
    }
    if !is_valid || !has_method {
        let words = "Failed to parse command arguments, cannot run model.";
        parser.errors.push(words.to_owned());
        return Asked::Wrong { errors: parser.errors, usage: None };
    }
    Asked::Run(Box::new(Arguments { all, seed: i64::from(clock) }))
}

/// Whether a name may be what somebody meant who typed another: one is a part of the other, where
/// underscores do not count.
fn looks_like(name: &str, typed: &str) -> bool {
    /// Shorter ones are parts of too many.
    const SHORTEST: usize = 4;
    let [name, typed] = [name, typed].map(|text| text.replace('_', ""));
    let (short, long) = if name.len() < typed.len() { (name, typed) } else { (typed, name) };
    short.len() >= SHORTEST && long.contains(&short)
}

/// A method's name alone stands for `method=NAME`.
fn with_method(all: &[Argument], argument: &str) -> String {
    let is_method = all[0].find(&[argument]).is_some() && !argument.is_empty();
    if is_method { format!("method={argument}") } else { argument.to_owned() }
}

fn usage(program: &str, all: &[Argument]) -> String {
    use std::fmt::Write;
    let mut out = format!(
        "Usage: {program} METHOD [NAME=VALUE ...] [data file=FILE] [output file=FILE] ...\n\n\
         The first argument is a method:\n"
    );
    let mut row = |name: &str, description: &str| {
        let _ = writeln!(out, "  {name:<20}  {description}");
    };
    if let Kind::List { values, .. } = &all[0].kind {
        values.iter().for_each(|v| row(v.name, v.description));
    }
    out.push_str("\nor\n");
    let mut row = |name: &str, description: &str| {
        let _ = writeln!(out, "  {name:<20}  {description}");
    };
    row("help", "Prints help");
    row("help-all", "Prints entire argument tree");
    row("info", "Prints how the executable was made");
    row("version", "Prints versions");
    out.push_str("\nOthers are, in any order:\n");
    for argument in &all[1..] {
        let _ = writeln!(out, "  {:<20}  {}", argument.name, argument.description);
    }
    let _ =
        writeln!(out, "\n`help` behind an argument tells what it takes: {program} sample help\n");
    out
}

impl Arguments {
    /// An argument that the tree has.
    fn argument(&self, path: &str) -> &Argument {
        let mut names = path.split('/');
        let first = names.next().unwrap_or_default();
        let rest: Vec<&str> = names.collect();
        let found = self.all.iter().find(|a| a.name == first).and_then(|a| a.find(&rest));
        found.unwrap_or_else(|| panic!("the tree of arguments has no `{path}`"))
    }

    fn value(&self, path: &str) -> &Value {
        match &self.argument(path).kind {
            Kind::Single { value, .. } => value,
            _ => panic!("`{path}` has no value"),
        }
    }

    pub(crate) fn int(&self, path: &str) -> i64 {
        match self.value(path) {
            Value::Int(n) => *n,
            _ => panic!("`{path}` is no integer"),
        }
    }

    /// Sets an argument of the top level that the command line does not have.
    pub(crate) fn set_int(&mut self, name: &str, n: i64) {
        let argument = self.all.iter_mut().find(|a| a.name == name);
        if let Some(Kind::Single { value, .. }) = argument.map(|a| &mut a.kind) {
            *value = Value::Int(n);
        }
    }

    /// An integer whose range keeps it from being negative.
    pub(crate) fn count(&self, path: &str) -> u64 {
        u64::try_from(self.int(path)).unwrap_or(0)
    }

    pub(crate) fn real(&self, path: &str) -> f64 {
        match self.value(path) {
            Value::Real(x) => *x,
            _ => panic!("`{path}` is no number"),
        }
    }

    pub(crate) fn flag(&self, path: &str) -> bool {
        match self.value(path) {
            Value::Bool(yes) => *yes,
            _ => panic!("`{path}` is no flag"),
        }
    }

    pub(crate) fn text(&self, path: &str) -> &str {
        match self.value(path) {
            Value::Text(text) => text,
            _ => panic!("`{path}` is no text"),
        }
    }

    /// The chosen element of a list.
    pub(crate) fn choice(&self, path: &str) -> &'static str {
        self.argument(path).choice().unwrap_or_else(|| panic!("`{path}` is no list"))
    }

    /// Whether the command line has it.
    pub(crate) fn is_given(&self, path: &str) -> bool {
        match &self.argument(path).kind {
            Kind::Single { given, .. } | Kind::List { given, .. } => *given,
            Kind::Category(_) | Kind::Mark => false,
        }
    }

    pub(crate) fn method(&self) -> &'static str {
        self.choice("method")
    }

    /// The seed, one of the clock where none is given.
    pub(crate) fn seed(&self) -> u32 {
        let given = self.int("random/seed");
        (if given == -1 { self.seed } else { given }) as u32
    }

    /// All arguments with their values, one a line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.all.iter().for_each(|a| a.write(&mut lines, 0));
        let unset = "  seed = -1 (Default)";
        if let Some(line) = lines.iter_mut().find(|line| *line == unset) {
            *line = format!("  seed = {} (Default)", self.seed);
        }
        lines
    }

    /// All arguments as a JSON object.
    pub(crate) fn json(&self, out: &mut serde_json::Map<String, serde_json::Value>) {
        self.all.iter().for_each(|a| a.write_json(out));
        if let Some(random) = out.get_mut("random") {
            random["seed"] = self.seed().into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Arguments {
        let args: Vec<String> = text.split(' ').map(str::to_owned).collect();
        match read("./model", &args, 7) {
            Asked::Run(arguments) => *arguments,
            Asked::Wrong { errors, .. } => panic!("{errors:?}"),
            _ => panic!("no run"),
        }
    }

    fn errors(text: &str) -> String {
        let args: Vec<String> = text.split(' ').map(str::to_owned).collect();
        match read("./model", &args, 7) {
            Asked::Wrong { errors, .. } => errors.join("\n"),
            _ => panic!("not wrong: {text}"),
        }
    }

    #[test]
    fn levels_end_where_the_next_word_is_of_an_outer_one() {
        let all =
            run("id=3 random seed=12 data file=x.json output file=o.csv refresh=5 method=sample \
             num_samples=10 algorithm=hmc engine=nuts max_depth=7 metric=dense_e adapt delta=0.9 \
             num_chains=2");
        assert_eq!(all.int("id"), 3);
        assert_eq!(all.seed(), 12);
        assert_eq!(all.text("data/file"), "x.json");
        assert_eq!(all.int("method/sample/algorithm/hmc/engine/nuts/max_depth"), 7);
        assert_eq!(all.choice("method/sample/algorithm/hmc/metric"), "dense_e");
        assert!(all.is_given("method/sample/algorithm/hmc/metric"));
        assert_eq!(all.real("method/sample/adapt/delta"), 0.9);
        assert_eq!(all.count("method/sample/num_chains"), 2);
        assert!(!all.is_given("method/sample/thin"));
    }

    #[test]
    fn a_method_may_stand_alone_and_defaults_are_marked() {
        let all = run("sample num_warmup=5 random seed=-1");
        let lines = all.lines();
        assert_eq!(lines[0], "method = sample (Default)");
        assert!(lines.contains(&"    num_warmup = 5".to_owned()));
        assert!(lines.contains(&"      delta = 0.8 (Default)".to_owned()));
        assert!(lines.contains(&"        engine = nuts (Default)".to_owned()));
        assert!(lines.contains(&"  seed = 7 (Default)".to_owned()));
        let lines = run("optimize").lines();
        assert!(lines.iter().any(|line| line.trim() == "tol_rel_grad = 1e+07 (Default)"));
        let mut json = serde_json::Map::new();
        run("sample thin=2 id=4").json(&mut json);
        assert_eq!(json["method"]["value"], "sample");
        assert_eq!(json["method"]["sample"]["thin"], 2);
        assert_eq!(json["id"], 4);
    }

    #[test]
    fn mistakes_name_the_argument_and_what_it_may_be() {
        assert!(errors("id=1").contains("A method must be specified!"));
        let wrong = errors("sample num_samples=-1");
        assert!(wrong.contains("-1 is not a valid value for \"num_samples\""), "{wrong}");
        assert!(wrong.contains("Valid values: 0 <= num_samples"), "{wrong}");
        let wrong = errors("sample max_depth=3");
        assert!(wrong.contains("max_depth=3 is either mistyped or misplaced."), "{wrong}");
        let path = "method=sample algorithm=hmc engine=nuts max_depth=<int>";
        assert!(wrong.contains(path), "{wrong}");
        for (typed, meant) in [
            ("num_sample=5", "  method=sample num_samples=<int>"),
            ("step_size=1", "  method=sample algorithm=hmc stepsize=<double>"),
            ("adapt_delta=0.9", "  method=sample adapt delta=<double>"),
        ] {
            let wrong = errors(&format!("sample {typed}"));
            assert!(wrong.lines().any(|line| line == meant), "{wrong}");
        }
        assert!(!errors("sample xyz=1").contains("Perhaps"));
        assert!(errors("sample opencl device=0").contains("exmc has no OpenCL"));
        assert!(errors("sample algorithm=foo").contains("Valid values: hmc, fixed_param"));
        assert!(errors("sample id=1 id=2").contains("id=2 is either mistyped"));
        assert!(errors("sample random seed=4294967296").contains("seed"));
        assert!(errors("sample adapt delta=1").contains("0 < delta < 1"));
    }

    #[test]
    fn help_is_of_the_argument_before_it() {
        let args = ["sample".to_owned(), "adapt".to_owned(), "help".to_owned()];
        let Asked::Help(text) = read("./model", &args, 7) else { panic!("no help") };
        assert!(
            text.starts_with("adapt\n  Warmup\n  Valid subarguments: engaged, gamma"),
            "{text}"
        );
        assert!(matches!(read("m", &["info".to_owned()], 7), Asked::Info));
        let Asked::Help(all) = read("m", &["help-all".to_owned()], 7) else { panic!("no help") };
        assert!(all.contains("num_elbo_draws=<int>"));
    }
}
