//! Source text of calls and programs.
//!
//! A program consists of one block for each call, written in the style of the call and in either language. Lines are
//! separate, so that the line of every call and of every read of a result is known.

use limbeck_domain::Language;
use serde_json::{Map, Value};

use super::calls::Call;
use super::{python, typescript};

/// Style of a call in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Result in a variable.
    Const,
    /// In a loop over items.
    Loop,
    /// In parallel with another call.
    Parallel,
    /// Property of its result in a variable.
    Destructured,
    /// By `callMCPTool` or `call_tool`.
    ByName,
    /// Through a variable for the server.
    Alias,
    /// With a value of an earlier result.
    Piped,
    /// In a function that is called.
    Function,
}

impl Style {
    pub(super) const ALL: [Self; 8] = [
        Self::Const,
        Self::Loop,
        Self::Parallel,
        Self::Destructured,
        Self::ByName,
        Self::Alias,
        Self::Piped,
        Self::Function,
    ];
}

/// Frame around the blocks of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// No frame; in Python nothing is awaited.
    Plain,
    /// No frame; Python awaits.
    Awaiting,
    /// A function `main` that is called.
    Main,
    /// The program is a function that the engine calls.
    Handed,
}

impl Frame {
    pub(super) const ALL: [Self; 4] = [Self::Awaiting, Self::Main, Self::Plain, Self::Handed];
}

/// Argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Constant(Value),
    /// Property of an earlier result with this value.
    Earlier(Value),
}

/// Call with its style.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) arguments: Vec<(String, Given)>,
    pub(super) style: Style,
    /// Whether arguments are positional.
    pub(super) positional: bool,
    pub(super) awaited: bool,
    pub(super) endless: bool,
    /// Property of the result that is read.
    pub(super) read: Option<String>,
    /// Seed of the choice between equivalent forms.
    pub(super) taste: usize,
}

impl Written {
    pub(super) fn new(call: &Call, style: Style, taste: usize) -> Self {
        let constants = call.arguments.iter();
        let mut arguments: Vec<(String, Given)> = constants
            .map(|(name, value)| (name.clone(), Given::Constant(value.clone())))
            .collect();
        if style == Style::Piped
            && let Some((_, given)) = arguments.iter_mut().find(|(_, given)| is_piped(given))
            && let Given::Constant(value) = given.clone()
        {
            *given = Given::Earlier(value);
        }
        let id = call.tool.id();
        Self {
            server: id.server.to_string(),
            tool: id.tool.to_string(),
            arguments,
            style,
            positional: false,
            awaited: true,
            endless: false,
            read: call.part.clone().filter(|_| style != Style::ByName),
            taste,
        }
    }

    /// Arguments that would be sent.
    pub(super) fn sent(&self) -> Map<String, Value> {
        let arguments = self.arguments.iter();
        arguments
            .map(|(name, given)| match given {
                Given::Constant(value) | Given::Earlier(value) => (name.clone(), value.clone()),
            })
            .collect()
    }

    /// The call with other arguments. Values of an earlier result that are unchanged stay references to it.
    pub(super) fn sending(&self, arguments: Map<String, Value>) -> Self {
        let arguments = arguments.into_iter().map(|(name, value)| {
            let had = self.arguments.iter().find(|(known, _)| *known == name);
            let given = match had {
                Some((_, Given::Earlier(same))) if *same == value => Given::Earlier(value),
                _ => Given::Constant(value),
            };
            (name, given)
        });
        Self {
            arguments: arguments.collect(),
            ..self.clone()
        }
    }

    pub(super) fn full_name(&self) -> String {
        format!("mcp__{}__{}", self.server, self.tool)
    }
}

fn is_piped(given: &Given) -> bool {
    matches!(given, Given::Constant(Value::String(text)) if !text.is_empty())
        || matches!(given, Given::Constant(Value::Number(number)) if number.is_i64())
}

/// Lines of one call.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) lines: Vec<String>,
    /// Index of the line on which the call begins.
    pub(super) call: usize,
    /// Index of the line that reads the result.
    pub(super) read: usize,
}

impl Block {
    pub(super) fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Adds the lines of the call between `before` and `after`.
    pub(super) fn push_call(&mut self, before: &str, mut call: Vec<String>, after: &str) {
        self.call = self.lines.len();
        if let Some(first) = call.first_mut() {
            first.insert_str(0, before);
        }
        if let Some(last) = call.last_mut() {
            last.push_str(after);
        }
        self.lines.extend(call);
    }

    /// Adds a line that reads the result.
    pub(super) fn push_read(&mut self, line: impl Into<String>) {
        self.read = self.lines.len();
        self.push(line);
    }

    /// The lines with indentation.
    pub(super) fn inside(self, before: &str, after: Option<&str>, indent: &str) -> Self {
        let mut lines = vec![before.to_owned()];
        lines.extend(self.lines.iter().map(|line| format!("{indent}{line}")));
        lines.extend(after.map(str::to_owned));
        Self {
            lines,
            call: self.call + 1,
            read: self.read + 1,
        }
    }
}

/// Source of a program.
pub(super) struct Program {
    pub(super) text: String,
    /// Lines (from 1) of the calls and of the reads of their results.
    pub(super) places: Vec<(u32, u32)>,
}

/// Writes a program of `calls`. The second calls, in the same order, are correct.
pub(super) fn program(
    language: Language,
    frame: Frame,
    calls: &[Written],
    beside: &[Written],
) -> Program {
    let (head, indent, foot) = match language {
        Language::Typescript => typescript::around(frame, calls[0].taste),
        Language::Python => python::around(frame, calls[0].taste),
    };
    let mut lines = head;
    let mut places = Vec::new();
    for (number, (call, beside)) in calls.iter().zip(beside).enumerate() {
        let block = match language {
            Language::Typescript => typescript::block(call, beside, number + 1),
            Language::Python => python::block(call, beside, number + 1, frame),
        };
        let first = lines.len() + 1;
        let line = |index: usize| u32::try_from(first + index).expect("a short program");
        places.push((line(block.call), line(block.read)));
        lines.extend(block.lines.iter().map(|line| format!("{indent}{line}")));
        lines.push(String::new());
    }
    lines.extend(foot);
    Program {
        text: lines.join("\n"),
        places,
    }
}
