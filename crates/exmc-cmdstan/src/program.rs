//! A Stan program behind an executable or a shared library: written there by `make`, read back when
//! the executable runs or the library is loaded.
//!
//! A model executable is a copy of exmc with the program's texts behind it, as JSON, then the
//! JSON's length (eight bytes, little-endian) and `MAGIC`. Loaders of executables ignore what
//! stands behind the image. A copy of the file is the same model, wherever it lies.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use exmc::StanProgram;
use exmc::stan::StanError;
use exmc_stan::source::{SourceFile, Sources};
use exmc_stan::syntax::Resolver;
use serde_json::{Value, json};

/// The last bytes of a model executable.
const MAGIC: &[u8; 16] = b"\0exmc model 0001";

/// A text of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The name that messages use.
    pub name: String,
    /// The text itself.
    pub text: String,
}

/// What stands behind an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The model's name, `NAME_model` of `NAME.stan`.
    pub name: String,
    /// The program.
    pub main: Text,
    /// The files that it includes, by the name that `#include` gives.
    pub included: BTreeMap<String, Text>,
    /// Options of `stanc`, as they were given.
    pub stanc_flags: String,
    /// Switches of CmdStan's makefile that were on: `STAN_THREADS` and others.
    pub switches: Vec<String>,
}

/// Gives out the included texts that were stored.
struct Stored<'a>(&'a BTreeMap<String, Text>);

impl Resolver for Stored<'_> {
    fn resolve(&mut self, name: &str) -> Result<SourceFile, String> {
        match self.0.get(name) {
            Some(text) => Ok(SourceFile::new(text.name.as_str(), text.text.as_str())),
            None => Err(format!("the model has no text of `{name}`; compile the model again")),
        }
    }
}

impl Payload {
    /// The checked program.
    ///
    /// # Errors
    /// All mistakes of the program.
    pub fn program(&self) -> Result<StanProgram, StanError> {
        let sources = Sources::single(self.main.name.as_str(), self.main.text.as_str());
        StanProgram::read(sources, &mut Stored(&self.included))
    }

    fn to_json(&self) -> Value {
        let text = |t: &Text| json!({"name": t.name, "text": t.text});
        let included: serde_json::Map<String, Value> =
            self.included.iter().map(|(key, t)| (key.clone(), text(t))).collect();
        json!({
            "name": self.name,
            "main": text(&self.main),
            "included": included,
            "stanc_flags": self.stanc_flags,
            "switches": self.switches,
        })
    }

    fn of_json(json: &Value) -> Option<Self> {
        let text = |t: &Value| {
            let (name, text) = (t["name"].as_str()?.to_owned(), t["text"].as_str()?.to_owned());
            Some(Text { name, text })
        };
        let included = json["included"].as_object()?.iter();
        let switches = json["switches"].as_array()?.iter();
        Some(Self {
            name: json["name"].as_str()?.to_owned(),
            main: text(&json["main"])?,
            included: included.map(|(k, t)| Some((k.clone(), text(t)?))).collect::<Option<_>>()?,
            stanc_flags: json["stanc_flags"].as_str()?.to_owned(),
            switches: switches.map(|s| Some(s.as_str()?.to_owned())).collect::<Option<_>>()?,
        })
    }

    /// Writes this behind an image, in place of what stood there.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub fn append_to(&self, path: &Path) -> io::Result<()> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        let image = payload_range(&mut file)?.map_or(length, |(start, _)| start);
        file.set_len(image)?;
        file.seek(SeekFrom::Start(image))?;
        let json = self.to_json().to_string();
        file.write_all(json.as_bytes())?;
        file.write_all(&(json.len() as u64).to_le_bytes())?;
        file.write_all(MAGIC)
    }

    /// What stands behind an image; nothing where nothing does.
    ///
    /// # Errors
    /// A file that cannot be read, and what stands there in another form than this version's.
    pub fn read_from(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let Some((start, length)) = payload_range(&mut file)? else { return Ok(None) };
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; length as usize];
        file.read_exact(&mut bytes)?;
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let json: Value = serde_json::from_slice(&bytes)
            .map_err(|_| wrong("the model behind this file is damaged: compile it again"))?;
        let read = Self::of_json(&json);
        let other = "the model behind this file is of another version: compile it again";
        read.map(Some).ok_or_else(|| wrong(other))
    }
}

/// Where the JSON behind an image begins, and its length.
fn payload_range(file: &mut File) -> io::Result<Option<(u64, u64)>> {
    const TAIL: u64 = 24;
    let length = file.metadata()?.len();
    if length < TAIL {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(length - TAIL))?;
    let mut tail = [0; TAIL as usize];
    file.read_exact(&mut tail)?;
    if &tail[8..] != MAGIC {
        return Ok(None);
    }
    let payload_length = u64::from_le_bytes(tail[..8].try_into().unwrap_or_default());
    Ok((length - TAIL).checked_sub(payload_length).map(|start| (start, payload_length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(flags: &str) -> Payload {
        let text = |name: &str, text: &str| Text { name: name.to_owned(), text: text.to_owned() };
        let main = "#include f.stan\nparameters { real x; } model { x ~ normal(f(), 1); }";
        let included = text("lib/f.stan", "functions { real f() { return 3; } }");
        Payload {
            name: "coin_model".to_owned(),
            main: text("coin.stan", main),
            included: BTreeMap::from([("f.stan".to_owned(), included)]),
            stanc_flags: flags.to_owned(),
            switches: vec!["STAN_THREADS".to_owned()],
        }
    }

    #[test]
    fn what_is_written_behind_an_executable_is_read_back() {
        let folder = std::env::temp_dir().join(format!("exmc-payload-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("model");
        std::fs::write(&path, b"an image").unwrap();
        assert_eq!(Payload::read_from(&path).unwrap(), None);
        let first = payload("--O1");
        first.append_to(&path).unwrap();
        assert_eq!(Payload::read_from(&path).unwrap(), Some(first.clone()));
        // A second program takes the place of the first.
        let second = payload("");
        second.append_to(&path).unwrap();
        assert_eq!(Payload::read_from(&path).unwrap(), Some(second.clone()));
        assert!(std::fs::read(&path).unwrap().starts_with(b"an image{"));
        assert!(second.program().is_ok());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
