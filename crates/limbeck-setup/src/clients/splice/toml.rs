//! Edits of TOML: the sections and lines of the table of servers.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{Change, Edit, line_end};

/// One header or one key with its value.
struct Statement {
    /// The whole key, that of its section included.
    path: Vec<String>,
    /// From the start of its line to the end of its last line.
    range: Range<usize>,
    is_header: bool,
}

/// Edits that make `change` in the table `servers`.
pub(super) fn edits(text: &str, servers: &str, change: &Change<'_>) -> Result<Vec<Edit>, String> {
    let statements = statements(text)?;
    let is_table_of_servers = |statement: &Statement| {
        !statement.is_header
            && statement.path.first().is_some_and(|key| key == servers)
            && statement.path.len() == 1
    };
    if statements.iter().any(is_table_of_servers) {
        return Err(format!("`{servers}` is written on one line"));
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (range, name) in entry_ranges(&statements, servers) {
        if change.removed.contains(&name) {
            ranges.push(with_blank_lines(text, &range));
        }
    }
    let end = line_end(text);
    let mut pasted: String = change
        .added
        .iter()
        .map(|(name, value)| section(servers, name, value, end))
        .collect::<Vec<_>>()
        .join(end);
    let mut edits: Vec<Edit> = ranges
        .iter()
        .map(|range| Edit {
            range: range.clone(),
            with: String::new(),
        })
        .collect();
    if pasted.is_empty() {
        return Ok(edits);
    }
    // A header may not stand between the keys of another section.
    let headers = entry_ranges(&statements, servers);
    let place = ranges.iter().position(|range| {
        headers.iter().any(|(entry, _)| {
            range.start == entry.start && text[entry.clone()].trim_start().starts_with('[')
        })
    });
    match place {
        Some(index) => {
            if !text[ranges[index].end..].trim().is_empty() {
                pasted.push_str(end);
            }
            edits[index].with = pasted;
        }
        None => {
            let before = match text {
                "" => String::new(),
                text if text.ends_with('\n') => end.to_owned(),
                _ => format!("{end}{end}"),
            };
            edits.push(Edit {
                range: text.len()..text.len(),
                with: before + &pasted,
            });
        }
    }
    Ok(edits)
}

/// Texts of the entries: the statements of each without its header.
pub(super) fn entry_texts(text: &str, servers: &str) -> Result<Vec<(String, String)>, String> {
    let statements = statements(text)?;
    let mut entries: Vec<(String, String)> = Vec::new();
    for (range, name) in entry_ranges(&statements, servers) {
        let part = &text[range];
        match entries.iter_mut().find(|(known, _)| known == name) {
            Some((_, entry)) => entry.push_str(part),
            None => entries.push((name.to_owned(), part.to_owned())),
        }
    }
    Ok(entries)
}

/// A section for an entry. A text that has its own header is pasted as it is.
fn section(servers: &str, name: &str, value: &str, end: &str) -> String {
    let body: String = value.lines().map(|line| format!("{line}{end}")).collect();
    if value.trim_start().starts_with('[') || value.trim_start().starts_with('#') {
        return body;
    }
    let key = toml_edit::Key::new(name);
    format!("[{servers}.{key}]{end}{body}")
}

/// Ranges of the entries with their names. A section is one range; below `[mcp_servers]` each statement is one.
fn entry_ranges<'s>(statements: &'s [Statement], servers: &str) -> Vec<(Range<usize>, &'s str)> {
    let mut ranges: Vec<(Range<usize>, &str)> = Vec::new();
    let mut section: Option<Vec<String>> = None;
    for statement in statements {
        if statement.is_header {
            section = Some(statement.path.clone());
        }
        let is_of_server =
            statement.path.len() >= 2 && statement.path.first().is_some_and(|key| key == servers);
        if !is_of_server {
            continue;
        }
        let name = statement.path[1].as_str();
        let continues = !statement.is_header
            && section.as_ref().is_some_and(|section| section.len() >= 2)
            && ranges.last().is_some_and(|(_, last)| *last == name);
        match ranges.last_mut() {
            // Comments between the lines of an entry are about it.
            Some((range, _)) if continues => range.end = statement.range.end,
            _ => ranges.push((statement.range.clone(), name)),
        }
    }
    ranges
}

/// The range with the blank lines behind it, so that cutting leaves no gap.
fn with_blank_lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let mut end = range.end;
    for line in text[range.end..].split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    range.start..end
}

/// Headers and keys of a text that was parsed, so that only the ends of its statements have to be found.
fn statements(text: &str) -> Result<Vec<Statement>, String> {
    DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let mut found = Vec::new();
    let mut section: Vec<String> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let line_end = rest.find('\n').map_or(text.len(), |length| at + length + 1);
        let line = text[at..line_end].trim_start_matches(['\u{feff}', ' ', '\t']);
        if line.trim().is_empty() || line.starts_with('#') {
            at = line_end;
            continue;
        }
        let content = line_end - line.len();
        if line.starts_with('[') {
            let closed = end_of(text, content, Until::Bracket);
            let key = text[content..closed].trim_matches(['[', ']']);
            section = key_path(key)?;
            let end = end_of(text, closed, Until::Line);
            found.push(Statement {
                path: section.clone(),
                range: at..end,
                is_header: true,
            });
            at = end;
            continue;
        }
        let equals = end_of(text, content, Until::Equals);
        let mut path = section.clone();
        path.extend(key_path(&text[content..equals])?);
        let end = end_of(text, equals, Until::Line);
        found.push(Statement {
            path,
            range: at..end,
            is_header: false,
        });
        at = end;
    }
    Ok(found)
}

/// The parts of a dotted key.
fn key_path(key: &str) -> Result<Vec<String>, String> {
    let assignment = format!("{} = 0", key.trim());
    let parsed = DeTable::parse(&assignment).map_err(|error| error.message().to_owned())?;
    let mut path = Vec::new();
    let mut table = parsed.into_inner();
    while let Some((key, value)) = table.into_iter().next() {
        path.push(key.into_inner().into_owned());
        match value.into_inner() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    Ok(path)
}

/// End of a part of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Behind the brackets of a header.
    Bracket,
    /// At the equals sign of a key.
    Equals,
    /// Behind the line end of the statement, whose value may have several lines.
    Line,
}

/// The end of a part that begins at `from`; strings and comments are skipped.
fn end_of(text: &str, from: usize, until: Until) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') => {
                at = behind_string(bytes, at, quote);
                continue;
            }
            b'#' if until == Until::Line => {
                at = text[at..]
                    .find('\n')
                    .map_or(bytes.len(), |length| at + length);
                continue;
            }
            b'=' if until == Until::Equals => return at,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && until == Until::Bracket {
                    return at + 1;
                }
            }
            b'\n' if depth == 0 && until == Until::Line => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The place behind the string that begins at `at`.
fn behind_string(bytes: &[u8], at: usize, quote: u8) -> usize {
    let triple = [quote; 3];
    let is_long = bytes[at..].starts_with(&triple);
    let mut next = at + if is_long { 3 } else { 1 };
    while next < bytes.len() {
        if bytes[next] == b'\\' && quote == b'"' {
            next += 2;
        } else if is_long && bytes[next..].starts_with(&triple) {
            next += 3;
            // Up to two quotes may be the last characters of the string.
            while bytes.get(next) == Some(&quote) {
                next += 1;
            }
            return next;
        } else if !is_long && bytes[next] == quote {
            return next + 1;
        } else {
            next += 1;
        }
    }
    bytes.len()
}
