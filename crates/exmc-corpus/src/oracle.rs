//! Points of a Stan program -> log densities and gradients by another implementation, where Python
//! has one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running oracle.
#[derive(Debug)]
pub struct Oracle {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What the oracle says of one program at some points.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Number of unconstrained coordinates.
    pub dim: usize,
    /// Log density (with Jacobian; without the constants that `~` drops) at each point.
    pub lp: Vec<f64>,
    /// Its gradient.
    pub gradient: Vec<Vec<f64>>,
}

impl Answer {
    /// Log density and gradient, point by point.
    pub fn points(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.lp.iter().copied().zip(self.gradient.iter().map(Vec::as_slice))
    }
}

impl Oracle {
    /// Starts it with a Python interpreter that has stanli.
    pub fn start(python: &Path) -> Result<Self, String> {
        let mut child = Command::new(python)
            .args(["-c", include_str!("oracle.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start `{}`: {e}", python.display()))?;
        let input = child.stdin.take().ok_or("the oracle has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("the oracle has no output")?);
        Ok(Self { child, input, output })
    }

    /// Asks for one program.
    pub fn ask(
        &mut self,
        stan: &Path,
        data: Option<&Path>,
        points: &[Vec<f64>],
    ) -> Result<Answer, String> {
        let request = json!({"stan": stan, "data": data, "points": points});
        let gone = |e: std::io::Error| format!("the oracle is gone: {e}");
        writeln!(self.input, "{request}").map_err(gone)?;
        self.input.flush().map_err(gone)?;
        let mut line = String::new();
        if self.output.read_line(&mut line).map_err(gone)? == 0 {
            return Err("the oracle ended; has this Python stanli?".to_owned());
        }
        let answer: Value = serde_json::from_str(&line).map_err(|e| e.to_string())?;
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_owned());
        }
        let numbers = |v: &Value| -> Vec<f64> {
            v.as_array().into_iter().flatten().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
        };
        Ok(Answer {
            dim: answer["dim"].as_u64().unwrap_or(0) as usize,
            lp: numbers(&answer["lp"]),
            gradient: answer["gradient"].as_array().into_iter().flatten().map(numbers).collect(),
        })
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Its input closes with it; a process that hangs must not outlive us.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
