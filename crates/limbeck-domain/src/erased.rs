//! Program text as a guest runs it, when that is not the text that the model sent.

use serde::{Deserialize, Serialize};

/// Version of what a worker gives a guest beside its program and its journal: the globals, the clock, the files of Python,
/// and how results are delivered. Raised with every change that a program could notice, because an execution that began with
/// another version would not be repeated as it was. 0 is an execution recorded before there was a version.
pub const GUEST_ABI: u32 = 1;

/// A TypeScript program without its types, as the compiler of one release wrote it.
///
/// It is in the journal, so that an execution that is continued or replayed runs the script that it began with, also when
/// a newer compiler would write another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedProgram {
    /// Script that the guest evaluates.
    pub script: String,
    /// Where the places of the script are in the model's text, in the encoding of `analysis`.
    pub positions: String,
    /// Names such as `mcp__server__tool` that the guest gets as globals, separated by spaces.
    pub full_names: String,
    /// What the model should know about how its text was read.
    pub warnings: Vec<String>,
}

impl ErasedProgram {
    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        let warnings = self.warnings.iter().map(String::len);
        self.script.len() + self.positions.len() + self.full_names.len() + warnings.sum::<usize>()
    }
}

/// An [`ErasedProgram`] as a journal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedErasure {
    /// As it is.
    Plain(ErasedProgram),
    /// A large one: base64 of its JSON text, deflated.
    Deflated(String),
}

impl RecordedErasure {
    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Plain(program) => program.bytes(),
            Self::Deflated(text) => text.len(),
        }
    }
}
