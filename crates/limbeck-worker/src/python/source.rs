//! Reads a program before it runs, without running anything: which tools it calls, and how.
//!
//! The parser is not the guest's, so what it does not accept is the guest's to judge: a program that cannot be
//! read here is not judged before it runs.

mod arguments;
mod facts;
mod flow;
mod names;
mod places;
mod semantics;
mod servers;
mod sites;
mod targets;
#[cfg(test)]
mod tests;
mod tree;
mod unawaited;

use std::borrow::Cow;

use limbeck_wire::domain::Sites;
use limbeck_wire::limits::PROGRAM_BYTES_MAX;
use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};

use self::servers::Servers;

/// The guest's version.
const VERSION: PythonVersion = PythonVersion::PY314;
/// Brackets that are open at once, counted without parsing. Python's own parser refuses 200.
const BRACKETS_MAX: usize = 200;
/// Levels of indentation; Python's own parser refuses 100.
const LEVELS_MAX: usize = 100;

/// The calls of tools that stand in a program, given the servers it may name as JSON. `None` for a text that is
/// no program to the parser here.
pub(super) fn sites(program: &str, servers: &str) -> Option<Sites> {
    if program.len() > PROGRAM_BYTES_MAX {
        return None;
    }
    let text = program.trim_start_matches('\u{feff}');
    let text = match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    };
    if let Some(parsed) = parsed(&text) {
        return Some(sites::collect(
            parsed.syntax(),
            &text,
            &Servers::new(servers),
        ));
    }
    let other = fenced(&text).or_else(|| dedented(&text))?;
    let parsed = parsed(&other)?;
    Some(sites::collect(
        parsed.syntax(),
        &other,
        &Servers::new(servers),
    ))
}

/// The tree of a text that Python accepts.
fn parsed(text: &str) -> Option<Parsed<ModModule>> {
    if text.contains('\0') || nests_too_deeply(text) {
        return None;
    }
    let options = ParseOptions::from(Mode::Module).with_target_version(VERSION);
    let parsed = parse_unchecked(text, options);
    let is_whole = parsed.has_no_syntax_errors();
    let parsed = parsed.try_into_module().filter(|_| is_whole)?;
    semantics::are_right(parsed.syntax(), text).then_some(parsed)
}

/// Whether brackets or blocks may be nested deeper than Python allows. Those in texts and comments are counted
/// too: so many unclosed ones are as rare there as in code.
fn nests_too_deeply(text: &str) -> bool {
    let mut open = 0_usize;
    let mut levels: Vec<usize> = Vec::new();
    for line in text.split('\n') {
        let code = line.trim_start_matches([' ', '\t', '\u{c}']);
        if !code.is_empty() {
            let indent = line.len() - code.len();
            levels.truncate(levels.partition_point(|level| *level < indent));
            levels.push(indent);
        }
        for byte in code.bytes() {
            match byte {
                b'(' | b'[' | b'{' => open += 1,
                b')' | b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > BRACKETS_MAX {
                return true;
            }
        }
        if levels.len() > LEVELS_MAX {
            return true;
        }
    }
    false
}

/// The first fenced block in Python, else the first, at the lines where it stands.
fn fenced(text: &str) -> Option<String> {
    struct Block<'a> {
        is_python: bool,
        lines_before: usize,
        lines: Vec<&'a str>,
    }
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.split('\n').enumerate() {
        match (fence(line), blocks.last_mut()) {
            (Some(""), Some(_)) if is_open => is_open = false,
            (_, Some(block)) if is_open => block.lines.push(line),
            (Some(language), _) => {
                let language = language.to_lowercase();
                is_open = true;
                blocks.push(Block {
                    is_python: matches!(&*language, "" | "py" | "python" | "python3" | "py3"),
                    lines_before: number + 1,
                    lines: Vec::new(),
                });
            }
            (None, _) => {}
        }
    }
    let first = blocks.iter().position(|block| block.is_python).unwrap_or(0);
    let block = blocks.into_iter().nth(first)?;
    let before = "\n".repeat(block.lines_before);
    Some(format!("{before}{}\n", block.lines.join("\n")))
}

/// The language of a line that begins a block, or nothing when it ends one.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_matches([' ', '\t']);
    let language = line.strip_prefix("```")?.trim_start_matches([' ', '\t']);
    let is_named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '.' | '=' | '-');
    language.chars().all(is_named).then_some(language)
}

/// The text without what all of its lines begin with.
fn dedented(text: &str) -> Option<String> {
    let dedented = textwrap::dedent(text);
    (dedented != text).then_some(dedented)
}
