//! Arguments of `stanc` -> what is asked for.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

pub(super) const HELP: &str = "\
Usage: stanc [OPTION] ... FILE.stan

  --info                      write the program's variables and functions as JSON
  --auto-format               write the program in canonical form, comments kept
  --print-canonical           the same, with all canonicalizations
  --canonicalize=LIST         the same, with those of the list: braces, parentheses, includes,
                              strip-comments, deprecations (arrays of Stan before 2.33)
  --max-line-length=N         break longer lines of the canonical form (78)
  --include-paths=DIR,...     folders of files that the program includes, after its own
  --filename-in-msg=NAME      name of the program in messages
  --name=NAME                 name of the model
  --o=FILE                    where to write
  --warn-pedantic             warn of parameters without priors and unused ones
  --allow-undefined           accepted where no function lacks its body: there is no C++ here
  --executable=FILE           write a model executable
  --library=FILE              write a model library, for BridgeStan's clients
  --version, --help
Options of stanc that concern the C++ that it writes (--O0, --O1, --Oexperimental, --use-opencl,
--warn-uninitialized, --standalone-functions) are accepted and change nothing.
";

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) file: Option<PathBuf>,
    pub(super) info: bool,
    pub(super) auto_format: bool,
    pub(super) print_canonical: bool,
    pub(super) canonicalize: Vec<String>,
    pub(super) max_line_length: usize,
    pub(super) include_paths: Vec<PathBuf>,
    pub(super) filename_in_msg: Option<String>,
    pub(super) name: Option<String>,
    pub(super) output: Option<PathBuf>,
    pub(super) warn_pedantic: bool,
    pub(super) allow_undefined: bool,
    pub(super) executable: Option<PathBuf>,
    pub(super) library: Option<PathBuf>,
    pub(super) switches: Vec<String>,
    pub(super) version: bool,
    pub(super) help: bool,
    /// Those that a model executable tells of.
    pub(super) flags: Vec<String>,
}

/// Options that concern C++ alone.
const OF_CPP: [&str; 10] = [
    "O",
    "O0",
    "O1",
    "Oexperimental",
    "use-opencl",
    "warn-uninitialized",
    "standalone-functions",
    "print-cpp",
    "debug-generate-data",
    "color",
];

impl Options {
    /// # Errors
    /// An option that stanc does not have, or one without its value.
    pub(super) fn read(args: &[String]) -> Result<Self, Failure> {
        let mut options = Self { max_line_length: 78, ..Self::default() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let Some(option) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
                if let Some(other) = &options.file {
                    let other = other.display();
                    return Err(Failure::new(format!(
                        "stanc: one program at a time, found `{other}` and `{arg}`"
                    )));
                }
                options.file = Some(PathBuf::from(arg));
                continue;
            };
            let (key, inline) = match option.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (option, None),
            };
            let key = key.replace('_', "-");
            let mut value = || {
                let given = inline.clone().or_else(|| args.next().cloned());
                given.ok_or_else(|| Failure::new(format!("stanc: `--{key}` lacks its value")))
            };
            match key.as_str() {
                "info" => options.info = true,
                "auto-format" => options.auto_format = true,
                "print-canonical" => options.print_canonical = true,
                "canonicalize" => {
                    options.canonicalize.extend(value()?.split(',').map(str::to_owned));
                }
                "max-line-length" => {
                    let text = value()?;
                    options.max_line_length = text.parse().map_err(|_| {
                        Failure::new(format!("stanc: `{text}` is no length of a line"))
                    })?;
                }
                "include-paths" | "I" => {
                    let paths = value()?;
                    let given = paths.split(',').filter(|path| !path.is_empty());
                    options.include_paths.extend(given.map(PathBuf::from));
                }
                "filename-in-msg" => options.filename_in_msg = Some(value()?),
                "name" => options.name = Some(value()?),
                "o" | "output" => options.output = Some(PathBuf::from(value()?)),
                "warn-pedantic" => options.warn_pedantic = true,
                "allow-undefined" => options.allow_undefined = true,
                "executable" => options.executable = Some(PathBuf::from(value()?)),
                "library" => options.library = Some(PathBuf::from(value()?)),
                "switch" => options.switches.push(value()?),
                "version" => options.version = true,
                "help" | "h" => options.help = true,
                _ if OF_CPP.contains(&key.as_str()) => {}
                _ => {
                    return Err(Failure::new(format!(
                        "stanc: unknown option `{arg}`; see `stanc --help`"
                    )));
                }
            }
            if !matches!(key.as_str(), "executable" | "library" | "switch" | "o" | "output") {
                options.flags.push(arg.clone());
            }
        }
        Ok(options)
    }

    /// Whether a canonical form is asked for that includes what `--canonicalize` calls so.
    pub(super) fn asks_for(&self, name: &str) -> bool {
        self.canonicalize.iter().any(|listed| listed == name)
            || (self.print_canonical && matches!(name, "braces" | "parentheses" | "deprecations"))
    }

    /// The program's name in messages.
    pub(super) fn shown_name(&self, path: &Path) -> String {
        self.filename_in_msg.clone().unwrap_or_else(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options, Failure> {
        let args: Vec<String> = text.split(' ').map(str::to_owned).collect();
        Options::read(&args)
    }

    #[test]
    fn options_are_those_of_stanc() {
        let all = read("--include-paths=a,b --O1 --filename-in-msg=x.stan --o out m.stan").unwrap();
        assert_eq!(all.include_paths, [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(all.file, Some(PathBuf::from("m.stan")));
        assert_eq!(all.output, Some(PathBuf::from("out")));
        assert_eq!(all.shown_name(Path::new("m.stan")), "x.stan");
        assert_eq!(all.flags, ["--include-paths=a,b", "--O1", "--filename-in-msg=x.stan"]);
        assert!(read("--frobnicate m.stan").unwrap_err().to_string().contains("--frobnicate"));
        assert!(read("m.stan --name").unwrap_err().to_string().contains("lacks its value"));
        assert!(read("a.stan b.stan").unwrap_err().to_string().contains("one program"));
    }
}
