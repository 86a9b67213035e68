//! A program -> its text, a line for every instruction.

use std::fmt;

use exmc_graph::Precision;

use super::{Code, Extra, Instruction, Loop, Place, Program, Region, Slots, Stage};

impl Program {
    /// The program in words, a line for every instruction.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        self.print_stages(&self.stages, "", &mut text);
        let roots: Vec<_> = self.roots.iter().map(|(place, _)| place.to_string()).collect();
        text.push_str(&format!("result {}\n", roots.join(", ")));
        text
    }

    fn print_stages(&self, stages: &[Stage], indent: &str, text: &mut String) {
        for stage in stages {
            match stage {
                Stage::Loop(l) => {
                    let Loop { n, block, registers, shards, .. } = l;
                    text.push_str(&format!(
                        "{indent}loop {n} // blocks of {block}, {registers} registers"
                    ));
                    if *shards > 1 {
                        text.push_str(&format!(", {shards} shards"));
                    }
                    text.push('\n');
                    for i in &l.body {
                        text.push_str(&format!("{indent}  {}\n", line(i, &l.extras)));
                    }
                    for Slots { part, out, .. } in &l.slots {
                        text.push_str(&format!("{indent}  {out} = sum of shards({part})\n"));
                    }
                }
                Stage::Call(call) => {
                    let args: Vec<_> = call.args.iter().map(|(p, _)| p.to_string()).collect();
                    let (name, args) = (call.op.name(), args.join(", "));
                    let (out, shape) = (call.out, &call.shape);
                    text.push_str(&format!("{indent}call {out} = {name}({args}) : {shape}\n"));
                }
                Stage::Scan(k) => {
                    let scan = &self.scans[*k];
                    let args: Vec<_> = scan.args.iter().map(|(_, p, _)| p.to_string()).collect();
                    let outputs: Vec<_> =
                        scan.outputs.iter().map(|(_, p, _)| p.to_string()).collect();
                    let (outputs, args) = (outputs.join(", "), args.join(", "));
                    text.push_str(&format!("{indent}call {outputs} = scan({args})\n"));
                }
                Stage::Recurrence(recurrence) => {
                    text.push_str(&format!("{indent}{recurrence}\n"));
                }
                Stage::LogSumExpScan(markov) => text.push_str(&format!("{indent}{markov}\n")),
                Stage::LinearScan(mixing) => text.push_str(&format!("{indent}{mixing}\n")),
                Stage::ScanLoop(repeat) => {
                    text.push_str(&format!("{indent}{repeat}\n"));
                    self.print_stages(&repeat.body, &format!("{indent}  "), text);
                }
            }
        }
    }
}

/// An instruction in words.
pub(super) fn line(i: &Instruction, extras: &[Extra]) -> String {
    let extra = i.extra.map(|k| &extras[k as usize]);
    let name = match (i.code, extra) {
        (Code::Lane, Some(Extra::Lane { op, .. })) => format!("one by one {}", op.name()),
        (Code::Narrow | Code::Widen, _) => format!("{:?}", i.code),
        (code, _) if i.precision == Precision::F32 => format!("{code:?}.f32"),
        (code, _) => format!("{code:?}"),
    };
    let texts_of = |places: &[Place]| -> Vec<String> {
        places.iter().filter(|p| **p != Place::NONE).map(ToString::to_string).collect()
    };
    let mut args = texts_of(&[i.a, i.b, i.c, i.d]);
    if let Some(Extra::Terms(terms)) = extra {
        let term = |(factors, negative): &([Place; 3], bool)| {
            format!("{}{}", if *negative { "-" } else { "" }, texts_of(factors).join(" "))
        };
        args.extend(terms.iter().map(term));
    }
    format!("{} = {name}({})", i.out, args.join(", "))
}

impl fmt::Display for Place {
    /// `m16` is memory of the instance, `c16` shared memory, `f16` shared memory of `f32`; arrays
    /// that the loop walks end in `[]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let region = match self.region {
            Region::Arena => "m",
            Region::Shared => "c",
            Region::Single => "f",
            Region::Register => "r",
            Region::Own => "s",
        };
        write!(f, "{region}{}{}", self.offset, if self.stream { "[]" } else { "" })
    }
}
