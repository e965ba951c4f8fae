//! Edits of JSON with comments: members of the object of servers.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged as _;

use super::{Change, Edit, line_end, whole_lines};
use crate::document::parse_json_tree;

/// Edits that make `change` in the object of servers at the first of `paths` that `text` has.
pub(super) fn edits(
    text: &str,
    paths: &[&[&str]],
    change: &Change<'_>,
) -> Result<Vec<Edit>, String> {
    let Some(root) = parse_json_tree(text).map_err(|error| error.to_string())? else {
        return Ok(vec![new_document(text, paths, change)]);
    };
    let Value::Object(root) = root else {
        return Err("its top level is not an object".to_owned());
    };
    match servers(&root, paths)? {
        Found::Servers(object) => Ok(in_object(text, object, change)),
        Found::Missing { inside, keys } => {
            if change.added.is_empty() {
                return Ok(Vec::new());
            }
            let members = members(change, ", ");
            let value = nested(&keys[1..], &members);
            let change = Change {
                removed: Vec::new(),
                added: vec![(keys[0], value)],
            };
            Ok(in_object(text, inside, &change))
        }
    }
}

/// Texts of the entries.
pub(super) fn entry_texts(text: &str, paths: &[&[&str]]) -> Result<Vec<(String, String)>, String> {
    let root = parse_json_tree(text).map_err(|error| error.to_string())?;
    let Some(Value::Object(root)) = root else {
        return Ok(Vec::new());
    };
    let Found::Servers(object) = servers(&root, paths)? else {
        return Ok(Vec::new());
    };
    let entry = |member: &ObjectProp<'_>| {
        let value = &text[member.value.start()..member.value.end()];
        (member.name.as_str().to_owned(), value.to_owned())
    };
    Ok(object.properties.iter().map(entry).collect())
}

/// Text of a member of the entry `name`.
pub(super) fn member_text<'t>(
    text: &'t str,
    paths: &[&[&str]],
    name: &str,
    key: &str,
) -> Option<&'t str> {
    let Ok(Some(Value::Object(root))) = parse_json_tree(text) else {
        return None;
    };
    let Ok(Found::Servers(object)) = servers(&root, paths) else {
        return None;
    };
    let member = |object: &Object<'_>, key: &str| {
        let mut members = object.properties.iter();
        members.position(|member| member.name.as_str() == key)
    };
    let entry = object.properties.get(member(object, name)?)?;
    let Value::Object(entry) = &entry.value else {
        return None;
    };
    let found = entry.properties.get(member(entry, key)?)?;
    text.get(found.value.start()..found.value.end())
}

/// Where the servers of a document are.
enum Found<'o, 'a> {
    Servers(&'o Object<'a>),
    /// There is no such object: these keys are missing in this one.
    Missing {
        inside: &'o Object<'a>,
        keys: Vec<&'o str>,
    },
}

fn servers<'o, 'a>(root: &'o Object<'a>, paths: &[&'o [&'o str]]) -> Result<Found<'o, 'a>, String> {
    let mut last = Found::Missing {
        inside: root,
        keys: Vec::new(),
    };
    for path in paths {
        let mut object = root;
        let mut missing = None;
        for (index, key) in path.iter().enumerate() {
            let member = object
                .properties
                .iter()
                .find(|member| member.name.as_str() == *key);
            match member.map(|member| &member.value) {
                Some(Value::Object(inner)) => object = inner,
                Some(_) => return Err(format!("`{}` is not an object", path[..=index].join("."))),
                None => {
                    missing = Some(path[index..].to_vec());
                    break;
                }
            }
        }
        match missing {
            // An entry of this name, and not a table of entries.
            None if path.len() > 1 && is_entry(object) => {}
            None => return Ok(Found::Servers(object)),
            Some(keys) => {
                last = Found::Missing {
                    inside: object,
                    keys,
                };
            }
        }
    }
    Ok(last)
}

fn is_entry(object: &Object<'_>) -> bool {
    let mut members = object.properties.iter();
    members.any(|member| {
        ["command", "url"].contains(&member.name.as_str())
            && !matches!(member.value, Value::Object(_))
    })
}

/// `"name": value` of every added entry.
fn members(change: &Change<'_>, between: &str) -> String {
    let member =
        |(name, value): &(&str, String)| format!("{}: {value}", serde_json::Value::from(*name));
    let members: Vec<String> = change.added.iter().map(member).collect();
    members.join(between)
}

fn nested(keys: &[&str], members: &str) -> String {
    let mut text = format!("{{{members}}}");
    for key in keys.iter().rev() {
        text = format!("{{{}: {text}}}", serde_json::Value::from(*key));
    }
    text
}

/// A document after what an empty file, or one of comments alone, has.
fn new_document(text: &str, paths: &[&[&str]], change: &Change<'_>) -> Edit {
    let end = line_end(text);
    let keys = paths.last().copied().unwrap_or_default();
    let object = nested(keys, &members(change, ", "));
    let before = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        end
    };
    Edit {
        range: text.len()..text.len(),
        with: format!("{before}{object}{end}"),
    }
}

fn in_object(text: &str, object: &Object<'_>, change: &Change<'_>) -> Vec<Edit> {
    let properties = &object.properties;
    let is_removed = |member: &ObjectProp<'_>| change.removed.contains(&member.name.as_str());
    let mut edits = Vec::new();
    let first = properties.iter().position(is_removed);
    // The added entries are pasted over the first one that is cut out.
    let replaced = first.filter(|_| !change.added.is_empty());
    if let Some(index) = replaced {
        let member = &properties[index];
        edits.push(Edit {
            range: member.start()..member.end(),
            with: members(change, &separator(text, object)),
        });
    }
    let stays = |index: &usize| Some(*index) == replaced || !is_removed(&properties[*index]);
    for (index, member) in properties.iter().enumerate() {
        if !stays(&index) {
            let is_last = index + 1 == properties.len();
            cut(
                text,
                member.start()..member.end(),
                is_last,
                object,
                &mut edits,
            );
        }
    }
    if let Some(last) = properties.last()
        && !stays(&(properties.len() - 1))
        && comma_after(text, last.end(), object).is_none()
        && let Some(survivor) = (0..properties.len()).rev().find(stays)
        && let Some(comma) = comma_after(text, properties[survivor].end(), object)
    {
        // JSON allows no comma behind the last member.
        edits.push(Edit {
            range: comma..comma + 1,
            with: String::new(),
        });
    }
    if replaced.is_none() && !change.added.is_empty() {
        // Then no member is cut out.
        edits.push(appended(text, object, change));
    }
    edits
}

/// Cuts a member out, with its comma and the lines that it has alone.
fn cut(text: &str, range: Range<usize>, is_last: bool, object: &Object<'_>, edits: &mut Vec<Edit>) {
    let mut range = range;
    if let Some(comma) = comma_after(text, range.end, object) {
        if text[range.end..comma].trim().is_empty() {
            range.end = comma + 1;
        } else {
            // A comment between both stays.
            edits.push(Edit {
                range: comma..comma + 1,
                with: String::new(),
            });
        }
    }
    let range = whole_lines(text, &range).unwrap_or_else(|| {
        let is_space = |byte: &u8| *byte == b' ' || *byte == b'\t';
        let bytes = text.as_bytes();
        let line = &text[..range.start];
        let starts_line = line.trim_end_matches([' ', '\t']).ends_with('\n');
        if is_last && !starts_line {
            let before = bytes[..range.start]
                .iter()
                .rev()
                .take_while(|byte| is_space(byte));
            range.start - before.count()..range.end
        } else {
            let after = bytes[range.end..].iter().take_while(|byte| is_space(byte));
            range.start..range.end + after.count()
        }
    });
    edits.push(Edit {
        range,
        with: String::new(),
    });
}

/// Adds entries behind the last member, or into an empty object.
fn appended(text: &str, object: &Object<'_>, change: &Change<'_>) -> Edit {
    let between = separator(text, object);
    let Some(last) = object.properties.last() else {
        let at = object.start() + 1;
        let is_open = text[at..object.end() - 1].trim().is_empty();
        let end = if is_open { object.end() - 1 } else { at };
        let with = match multi_line(text, object) {
            Some((inner, outer)) if is_open => {
                format!("{inner}{}{outer}", members(change, &between))
            }
            Some((inner, _)) => format!("{inner}{}", members(change, &between)),
            None => members(change, &between),
        };
        return Edit {
            range: at..end,
            with,
        };
    };
    let space = between.strip_prefix(',').unwrap_or(" ");
    match comma_after(text, last.end(), object) {
        Some(comma) => Edit {
            range: comma + 1..comma + 1,
            with: format!("{space}{},", members(change, &between)),
        },
        None => Edit {
            range: last.end()..last.end(),
            with: format!(",{space}{}", members(change, &between)),
        },
    }
}

/// What is between two members of this object: a comma, and the white space before its last member.
fn separator(text: &str, object: &Object<'_>) -> String {
    let Some(last) = object.properties.last() else {
        return match multi_line(text, object) {
            Some((inner, _)) => format!(",{inner}"),
            None => ",".to_owned(),
        };
    };
    let before = &text[..last.start()];
    let blank = before.len() - before.trim_end_matches([' ', '\t']).len();
    let blank = &before[before.len() - blank..];
    let has_own_line =
        before.len() == blank.len() || before[..before.len() - blank.len()].ends_with('\n');
    if has_own_line {
        format!(",{}{blank}", line_end(text))
    } else {
        let is_wide = text[object.start()..object.end()].contains(", ") || text.contains(": ");
        (if is_wide { ", " } else { "," }).to_owned()
    }
}

/// Line end and indentation of the members of an empty object and of its end; `None` in a document of one line.
fn multi_line(text: &str, object: &Object<'_>) -> Option<(String, String)> {
    if !text.trim_end().contains('\n') {
        return None;
    }
    let start = text[..object.start()].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[start..];
    let outer = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
    // The first line that is indented shows the unit.
    let unit = text.lines().find_map(|line| {
        let blank = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        (!blank.is_empty() && !line.trim().is_empty()).then_some(blank)
    });
    let unit = unit.unwrap_or("  ");
    let end = line_end(text);
    Some((format!("{end}{outer}{unit}"), format!("{end}{outer}")))
}

/// Place of the comma behind a member; white space and comments may be between.
fn comma_after(text: &str, from: usize, object: &Object<'_>) -> Option<usize> {
    let bytes = text.as_bytes();
    let end = object.end().saturating_sub(1);
    let mut at = from;
    while at < end {
        match bytes[at] {
            b',' => return Some(at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(end, |length| at + length);
            }
            b'/' => at = text[at..].find("*/").map_or(end, |length| at + length + 2),
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            _ => return None,
        }
    }
    None
}
