//! Changes of a client's file that paste and cut bytes: everything else in it stays as its user wrote it.
//!
//! Parsers find ranges here and write nothing. So comments, order, numbers, white space and line ends outside of a range
//! are the same bytes afterwards, which a serializer of any of these formats does not promise.

mod json;
mod toml;

use std::ops::Range;

use super::table::{EntryForm, Form};

/// A change of the servers in one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Change<'c> {
    /// Entries that are cut out, by their names.
    pub(super) removed: Vec<&'c str>,
    /// Entries that are pasted: name and text of the value. They take the place of the first that is cut out.
    pub(super) added: Vec<(&'c str, String)>,
}

/// Bytes that replace a range of a text.
#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    with: String,
}

/// `text` with its servers changed.
///
/// # Errors
///
/// Why the change cannot be made by a program, a fragment.
pub(super) fn changed(text: &str, form: Form, change: &Change<'_>) -> Result<String, String> {
    let edits = match form {
        Form::Json(paths, _) => json::edits(text, paths, change)?,
        Form::Codex | Form::Toml => toml::edits(text, "mcp_servers", change)?,
        Form::Own => toml::edits(text, "servers", change)?,
    };
    apply(text, edits)
}

/// Texts of the entries in `text`, each with its name, as they can be pasted by [`changed`].
pub(super) fn entry_texts(text: &str, form: Form) -> Result<Vec<(String, String)>, String> {
    match form {
        Form::Json(paths, _) => json::entry_texts(text, paths),
        Form::Codex | Form::Toml => toml::entry_texts(text, "mcp_servers"),
        Form::Own => toml::entry_texts(text, "servers"),
    }
}

/// Text of an entry that starts `program` with `args`.
pub(super) fn own_entry(form: Form, program: &str, args: &[&str]) -> String {
    let word = |text: &str| serde_json::Value::from(text).to_string();
    let args: Vec<String> = args.iter().map(|arg| word(arg)).collect();
    match form {
        Form::Json(_, EntryForm::Standard(members)) => {
            let mut entry = String::from("{");
            for (key, value) in members {
                entry.push_str(&format!("\"{key}\": {value}, "));
            }
            entry
                + &format!(
                    "\"command\": {}, \"args\": [{}]}}",
                    word(program),
                    args.join(", ")
                )
        }
        Form::Json(_, EntryForm::CommandList) => {
            let command: Vec<String> = std::iter::once(word(program)).chain(args).collect();
            format!(
                "{{\"type\": \"local\", \"command\": [{}]}}",
                command.join(", ")
            )
        }
        Form::Codex | Form::Toml | Form::Own => {
            let mut table = toml_edit::Table::new();
            table.insert("command", toml_edit::value(program));
            let args: toml_edit::Array = args
                .iter()
                .map(|arg| serde_json::from_str::<String>(arg).unwrap_or_default())
                .collect();
            table.insert("args", toml_edit::value(args));
            table.to_string()
        }
    }
}

/// Text of the entry `name` of an earlier gateway as one that starts `program`, with the same variables; `None` when its form
/// is not JSON.
pub(super) fn adopted_entry(text: &str, form: Form, name: &str, program: &str) -> Option<String> {
    let Form::Json(paths, entry) = form else {
        return None;
    };
    let key = match entry {
        EntryForm::Standard(_) => "env",
        EntryForm::CommandList => "environment",
    };
    let own = own_entry(form, program, &["serve"]);
    let own = own.strip_suffix('}')?;
    match json::member_text(text, paths, name, key) {
        Some(variables) => Some(format!("{own}, \"{key}\": {variables}}}")),
        None => Some(format!("{own}}}")),
    }
}

/// Text of the entry `name`, which starts `old`, as one that starts `program`: what else is in it stays. An entry whose program
/// is not written as it is read is written again.
pub(super) fn renewed_entry(
    text: &str,
    form: Form,
    name: &str,
    old: &str,
    program: &str,
) -> Option<String> {
    let entries = entry_texts(text, form).ok()?;
    let (_, entry) = entries.into_iter().find(|(found, _)| found == name)?;
    let word = |text: &str| serde_json::Value::from(text).to_string();
    let literal = match form {
        Form::Codex | Form::Toml | Form::Own => format!("'{old}'"),
        Form::Json(..) => word(old),
    };
    for written in [word(old), literal] {
        if entry.matches(&written).count() == 1 {
            return Some(entry.replacen(&written, &word(program), 1));
        }
    }
    Some(own_entry(form, program, &["serve"]))
}

/// Applies edits. Two that overlap both cut, so their union is cut.
fn apply(text: &str, mut edits: Vec<Edit>) -> Result<String, String> {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let start = edit.range.start.max(at);
        let kept = text.get(at..start).ok_or("its parts overlap")?;
        out.push_str(kept);
        out.push_str(&edit.with);
        at = edit.range.end.max(at);
    }
    out.push_str(text.get(at..).ok_or("its parts overlap")?);
    Ok(out)
}

/// Line end of a text.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The range from the start of the line of `range` to the end of its last line, its line end included, when there is only
/// white space on these lines beside it.
fn whole_lines(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[range.end..];
    let end = rest.find('\n').map_or(text.len(), |at| range.end + at + 1);
    let is_blank = |part: &str| part.trim().is_empty();
    (is_blank(&text[start..range.start]) && is_blank(&text[range.end..end])).then_some(start..end)
}

#[cfg(test)]
mod tests;
