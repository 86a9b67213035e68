//! CmdStan's CSV files: their names, and lines as they are made.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::grammar::Arguments;
use crate::number::Digits;

/// A name without the ending of its file, and that ending with its point.
pub(super) fn split_ending(name: &str) -> (&str, &str) {
    let file = name.rsplit('/').next().unwrap_or(name);
    match file.rfind('.') {
        // A leading point, `.` and `..` are no ending.
        Some(point) if point > 0 && point + 1 < file.len() && !file[..point].ends_with('.') => {
            name.split_at(name.len() - file.len() + point)
        }
        _ => (name, ""),
    }
}

/// The file's name for each chain: `STEM[TAG][_ID]ENDING`; the number only of several.
pub(super) fn file_names(name: &str, tag: &str, ending: &str, n: u64, id: u64) -> Vec<String> {
    let (stem, given_ending) = split_ending(name);
    let ending = if ending != ".csv" || given_ending.is_empty() { ending } else { given_ending };
    let number = |k: u64| if n == 1 { String::new() } else { format!("_{}", id + k) };
    (0..n).map(|k| format!("{stem}{tag}{}{ending}", number(k))).collect()
}

/// The file of the arguments as JSON.
pub(super) fn config_name(output: &str) -> String {
    format!("{}_config.json", split_ending(output).0)
}

/// Refuses outputs that are no file's name, or that would overwrite what is read.
pub(super) fn check_names(arguments: &Arguments) -> Result<(), Failure> {
    for path in ["output/file", "output/diagnostic_file"] {
        let name = arguments.text(path);
        if name.ends_with('/') || name.ends_with("..") || name.ends_with("/.") {
            return Err(Failure::new(format!("Ill-formed output filename {name}")));
        }
    }
    let method = arguments.method();
    let input = match method {
        "generate_quantities" => "fitted_params",
        "laplace" => "mode",
        "log_prob" => "constrained_params",
        _ => return Ok(()),
    };
    let (read, written) =
        (arguments.text(&format!("method/{method}/{input}")), arguments.text("output/file"));
    let real = |name: &str| Path::new(name).canonicalize().unwrap_or(PathBuf::from(name));
    if !read.is_empty() && real(read) == real(written) {
        return Err(Failure::new(format!(
            "Filename conflict, {input} file {read} and output file names are identical, must be \
             different."
        )));
    }
    Ok(())
}

/// A file that is being written.
pub(super) struct Csv {
    path: PathBuf,
    out: BufWriter<File>,
    digits: Digits,
    line: String,
}

impl Csv {
    /// Creates the file, with comment lines at its top.
    pub(super) fn create(path: &str, digits: Digits, header: &[String]) -> Result<Self, Failure> {
        let path = PathBuf::from(path);
        let file = File::create(&path).map_err(|e| Failure::unwritable(&path, &e))?;
        let mut csv = Self { path, out: BufWriter::new(file), digits, line: String::new() };
        header.iter().try_for_each(|line| csv.comment(line))?;
        Ok(csv)
    }

    fn put(&mut self) -> Result<(), Failure> {
        self.line.push('\n');
        let written = self.out.write_all(self.line.as_bytes());
        self.line.clear();
        written.map_err(|e| Failure::unwritable(&self.path, &e))
    }

    /// A line behind `# `.
    pub(super) fn comment(&mut self, text: &str) -> Result<(), Failure> {
        self.line.push_str("# ");
        self.line.push_str(text);
        self.put()
    }

    /// The names of columns.
    pub(super) fn names(&mut self, names: &[String]) -> Result<(), Failure> {
        self.line.push_str(&names.join(","));
        self.put()
    }

    /// A line of numbers.
    pub(super) fn row(&mut self, values: impl IntoIterator<Item = f64>) -> Result<(), Failure> {
        for (k, value) in values.into_iter().enumerate() {
            if k > 0 {
                self.line.push(',');
            }
            self.line.push_str(&self.digits.write(value));
        }
        self.put()
    }

    /// Hands everything to the system.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|e| Failure::unwritable(&self.path, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as CmdStan 2.36 makes them.
    #[test]
    fn files_of_several_chains_are_numbered_from_the_first_id() {
        assert_eq!(file_names("o.csv", "", ".csv", 1, 3), ["o.csv"]);
        assert_eq!(file_names("o.csv", "", ".csv", 2, 3), ["o_3.csv", "o_4.csv"]);
        assert_eq!(file_names("a.b/o", "_path", ".csv", 1, 1), ["a.b/o_path.csv"]);
        assert_eq!(
            file_names("o.csv", "_metric", ".json", 2, 1),
            ["o_metric_1.json", "o_metric_2.json"]
        );
        assert_eq!(file_names("o.txt", "", ".csv", 1, 1), ["o.txt"]);
        assert_eq!(split_ending("../x"), ("../x", ""));
        assert_eq!(split_ending("..csv"), ("..csv", ""));
        assert_eq!(config_name("dir/out.csv"), "dir/out_config.json");
    }
}
