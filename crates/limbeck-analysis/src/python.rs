//! Analysis of Python programs: finds the calls of tools without running anything.
//!
//! The parser is not the guest's. A program that it rejects is therefore not checked before it runs; the guest
//! runs it, or reports the syntax error in CPython's words.

mod arguments;
mod facts;
mod fence;
mod flow;
mod names;
mod nesting;
mod positions;
mod semantics;
mod servers;
mod sites;
mod targets;
#[cfg(test)]
mod tests;
mod tree;
mod unawaited;
mod unresolved;

use std::borrow::Cow;

use limbeck_domain::Sites;
use limbeck_domain::limits::PROGRAM_BYTES_MAX;
use ruff_python_ast::{ModModule, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};

use self::servers::ServerAliases;

/// The guest's version.
const VERSION: PythonVersion = PythonVersion::PY314;
/// Finds the calls of tools in a program. `servers` is the JSON list of servers that the program may name.
///
/// `None` for text that this parser does not accept.
pub fn sites(program: &str, servers: &str) -> Option<Sites> {
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
            &ServerAliases::new(servers),
        ));
    }
    let other = fence::first(&text).or_else(|| dedented(&text))?;
    let parsed = parsed(&other)?;
    Some(sites::collect(
        parsed.syntax(),
        &other,
        &ServerAliases::new(servers),
    ))
}

/// Whether a text can be read as a program.
pub fn accepts(program: &str) -> bool {
    sites(program, "[]").is_some()
}

/// Runs the code that every program needs once, so that the first program finds its pages in memory.
pub fn warm_up() {
    let warm = sites("a = await tools.a.b(c=f\"{1}\")\nreturn a[\"d\"]", "[]");
    debug_assert!(warm.is_some());
}

/// The tree of a text that Python accepts.
fn parsed(text: &str) -> Option<Parsed<ModModule>> {
    if text.contains('\0') || nesting::is_too_deep(text) {
        return None;
    }
    let options = ParseOptions::from(Mode::Module).with_target_version(VERSION);
    let parsed = parse_unchecked(text, options);
    let is_whole = parsed.has_no_syntax_errors();
    let parsed = parsed.try_into_module().filter(|_| is_whole)?;
    semantics::are_right(parsed.syntax(), text).then_some(parsed)
}

/// The text without what all of its lines begin with.
fn dedented(text: &str) -> Option<String> {
    let dedented = textwrap::dedent(text);
    (dedented != text).then_some(dedented)
}
