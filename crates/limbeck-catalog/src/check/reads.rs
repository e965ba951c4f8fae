//! What a check says about parts of results that a program reads and that are not there.

use std::collections::BTreeSet;

use limbeck_domain::site::{ANY_ITEM, PARSED};
use limbeck_domain::{Language, Site, SiteRead};

use super::findings::{Edit, Finding, FindingKind};
use super::results::{Available, MissingPart, PartLookup};
use super::shown;
use crate::names;
use crate::nearest::nearest;
use crate::tool::Tool;
use crate::words;

/// Reads of one result that are compared as alternatives.
const ALTERNATIVES_MAX: usize = 64;
/// Letters of the shorter of two names that may be one with a mistake in it, and letters with which names begin alike that may
/// be one with two.
const SLIP_LETTERS_MIN: usize = 4;
/// Names under which programs look for the outcome of a call.
const OUTCOMES: [&str; 4] = ["ok", "success", "succeeded", "successful"];

/// Whether nothing is wrong where the part is absent.
pub(crate) fn is_only_asked(read: &SiteRead) -> bool {
    read.asked && read.optional
}

/// Whether an optional read surely means a part that is there under a similar name: `total` for `total_cents`, `state` for
/// `status`. Names that differ in their digits alone are of different parts.
pub(crate) fn is_slip(asked: &str, name: &str) -> bool {
    let letters = |name: &str| -> String {
        let mut folded = names::fold(name);
        folded.retain(|letter| !letter.is_ascii_digit());
        folded
    };
    let (one, other) = (letters(asked), letters(name));
    if one == other {
        return names::fold(asked) == names::fold(name);
    }
    let (words, listed) = (words::stems(asked), words::stems(name));
    let is_within = |one: &[String], other: &[String]| {
        !one.is_empty() && one.iter().all(|word| other.contains(word))
    };
    is_within(&words, &listed)
        || is_within(&listed, &words)
        || match strsim::levenshtein(&one, &other) {
            1 => one.len().min(other.len()) >= SLIP_LETTERS_MIN,
            2 => one
                .bytes()
                .zip(other.bytes())
                .take(SLIP_LETTERS_MIN)
                .all(|(a, b)| a == b),
            _ => false,
        }
}

/// Whether a read asks whether a call succeeded, and takes it for a failure where nothing says so.
pub(crate) fn asks_for_outcome(read: &SiteRead) -> bool {
    // `r.ok ?? r` has the whole result instead.
    let has_whole_instead = read.asked && read.either != 0;
    let path = read.path.as_slice();
    let path = match path {
        [parsed, rest @ ..] if parsed == PARSED => rest,
        path => path,
    };
    matches!(path, [name] if OUTCOMES.contains(&name.as_str()))
        && !read.absent_is_well
        && !has_whole_instead
}

/// Whether a read asks a call that may write whether it succeeded. A program that reads this from a result without such a
/// property reports a failure of what was done, and its reader does it again.
pub(crate) fn is_outcome_of_write(tool: &Tool, read: &SiteRead) -> bool {
    asks_for_outcome(read) && tool.effect().may_write() && !tool.seems_to_read()
}

/// The hint for a program that may report a write as failed. `available` names the properties of the result, if it has any.
pub(crate) fn before_repeating(available: Option<&str>) -> String {
    let look = "look at the result before you make the call again: a call that fails throws";
    match available {
        Some(available) => format!("{look}; {available}"),
        None => look.to_owned(),
    }
}

/// Whether a read has another way to its part, as in `(typeof r === "string" ? JSON.parse(r) : r).items`, that may find it.
pub(crate) fn is_found_otherwise(read: &SiteRead, looked_up: &[(&SiteRead, PartLookup)]) -> bool {
    let is_same = |other: &SiteRead| {
        (other.line, other.column) == (read.line, read.column)
            && other.path != read.path
            && other.path.last() == read.path.last()
    };
    let mut others = looked_up.iter().filter(|(other, _)| is_same(other));
    others.any(|(_, part)| *part == PartLookup::Possible)
}

/// Numbers of the alternatives of which one may exist. What leads to another part is not an alternative itself.
pub(crate) fn alternatives_found(looked_up: &[(&SiteRead, PartLookup)]) -> BTreeSet<u32> {
    let alternatives = looked_up.iter().filter(|(read, _)| read.either != 0);
    let alternatives: Vec<_> = alternatives.take(ALTERNATIVES_MAX).collect();
    let leads_on = |read: &SiteRead| {
        alternatives.iter().any(|(further, _)| {
            further.either == read.either
                && further.path.len() > read.path.len()
                && further.path.starts_with(&read.path)
        })
    };
    let existing = alternatives
        .iter()
        .filter(|(read, part)| *part == PartLookup::Possible && !leads_on(read));
    existing.map(|(read, _)| read.either).collect()
}

pub(crate) fn missing_part(tool: &Tool, read: &SiteRead, missing: &MissingPart) -> Finding {
    let name = shown(&read.path[missing.depth - 1]);
    let of = match path(&read.path[..missing.depth - 1]) {
        parent if parent.is_empty() => "the result".to_owned(),
        parent => format!("`{parent}` of the result"),
    };
    let call = tool.call_expression();
    let (message, hint, edit) = match &missing.available {
        Available::Properties(names, count) => {
            let listed: Vec<String> = names
                .iter()
                .map(|name| format!("`{}`", shown(name)))
                .collect();
            let more = count - names.len();
            let more = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            let hint = format!("available properties: {}{more}", listed.join(", "));
            let nearest = nearest(&name, names.iter().map(|name| (name.as_str(), name)));
            let edit = nearest
                .first()
                .map(|meant| Edit::new(name.clone(), shown(meant)));
            (
                format!("{of} of `{call}` has no property `{name}`"),
                (!names.is_empty()).then_some(hint),
                edit,
            )
        }
        Available::Kind(kind) => (
            format!("{of} of `{call}` is of type {kind} and has no property `{name}`"),
            None,
            None,
        ),
    };
    Finding::new((read.line, read.column), FindingKind::Result, message)
        .with_hint(hint)
        .with_edit(edit)
}

pub(crate) fn path(names: &[String]) -> String {
    let shown_names = names.iter().filter(|name| *name != PARSED);
    let shown_names: Vec<&str> = shown_names.map(String::as_str).collect();
    let joined = shown_names.join(".").replace(".[]", "[]");
    shown(&joined)
}

/// Members of MCP's own results, which a program that calls `tools` does not see.
pub(crate) fn is_of_raw_result(path: &[String]) -> bool {
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(
        names.as_slice(),
        [
            "content" | "structuredContent" | "isError" | "text" | "result",
            ..
        ] | [ANY_ITEM, "text" | "type", ..]
    ) || matches!(names.as_slice(), [.., "content", ANY_ITEM, "text"])
}

/// Whether a program looks at the types of content blocks: it knows that a result without a declared type may be a list of them.
pub(crate) fn takes_blocks(site: &Site) -> bool {
    let is_of_blocks = |read: &SiteRead| matches!(read.path.as_slice(), [item, kind] if item == ANY_ITEM && kind == "type");
    site.reads.iter().any(is_of_blocks)
}

/// How to read a value that is a text or a list.
pub(crate) const AS_IT_IS: &str = "use it as it is, a text is a string";

/// What a program that reads a result as MCP's own clients see it finds instead. `available` names the properties of the
/// value, if it has any.
pub(crate) fn instead_of_raw(
    read: &SiteRead,
    missing: &MissingPart,
    available: Option<&str>,
) -> String {
    if read.path.first().is_some_and(|name| name == "isError") {
        return "a call that fails throws, so a result has no `isError`".to_owned();
    }
    let of = path(&read.path[..missing.depth - 1]);
    match (available, &missing.available) {
        (Some(available), _) => available.to_owned(),
        (None, Available::Kind("string")) if !of.trim_end_matches("[]").is_empty() => {
            format!("`{}` is a text itself", of.trim_end_matches("[]"))
        }
        (None, Available::Kind(_) | Available::Properties(..)) => AS_IT_IS.to_owned(),
    }
}

/// The hint for a program that reads a result as MCP's own clients see it.
pub(crate) fn unwrapped(language: Language, is: &str) -> String {
    let raw = match language {
        Language::Typescript => ".raw({…})",
        Language::Python => ".raw(…)",
    };
    format!("the value is unwrapped already: {is}; `{raw}` gives the CallToolResult")
}
