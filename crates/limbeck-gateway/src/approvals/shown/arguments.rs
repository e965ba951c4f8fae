//! Arguments of a call as fields, one on each line, with the origin of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::json::{self, FIELDS_MAX, Fields};
use super::lookalikes::Lookalikes;
use super::safe::{self, name, thousands};
use super::{ArgumentBytes, ArgumentOrigin, OTHER_BYTES};

/// Values are aligned up to this length.
const ALIGNED_CHARS_MAX: usize = 44;
/// A value of more bytes is shown with its size.
const SIZE_SHOWN_FROM: usize = 40;
/// Most origins listed for one argument; fewer where there are many arguments.
const ORIGINS_MAX: usize = 3;
/// Most names listed as changed, added or removed.
const CHANGED_MAX: usize = 8;
/// Of a value of which no part was found in what the program received. It may have been made of that all the same.
const UNFOLLOWED: &str = "computed, where it comes from could not be followed";
/// Bytes of a mark of a cut and of the spaces around a value.
const CUT_BYTES: usize = 128;

/// Arguments of one call, byte for byte.
pub(super) struct Arguments<'a> {
    whole: &'a str,
    /// `None` where they are not a JSON object.
    fields: Option<Fields<'a>>,
}

/// One line of the list.
struct Row<'a> {
    name: String,
    value: &'a str,
    origin: String,
}

impl<'a> Arguments<'a> {
    pub(super) fn of(whole: &'a str) -> Self {
        Self::in_order(whole, &[], ArgumentBytes::FORM)
    }

    /// Those with a name of `first` before the others, as many as the place has room for.
    pub(super) fn in_order(whole: &'a str, first: &[String], width: ArgumentBytes) -> Self {
        Self {
            whole,
            fields: json::fields_in_order(whole, first, width.fields_max()),
        }
    }

    /// Appends a line for each argument. Some `width` bytes of each value are shown, fewer where there is not enough room
    /// for all of them. Returns whether all of each is in the text.
    pub(super) fn write(
        &self,
        text: &mut String,
        origins: &BTreeMap<String, Vec<ArgumentOrigin>>,
        width: ArgumentBytes,
    ) -> bool {
        let bytes_max = width.text_bytes_max() - OTHER_BYTES;
        let width = width.0;
        let Some(fields) = &self.fields else {
            let width = width.min(bytes_max - CUT_BYTES);
            let shown = safe::quoted(self.whole, width);
            let _ = write!(text, "\n  arguments that are not a JSON object: {shown}");
            return shown == safe::quoted(self.whole, usize::MAX);
        };
        if fields.listed.is_empty() {
            text.push_str("\n  no arguments");
            return true;
        }
        let origins_max = (FIELDS_MAX / fields.listed.len()).clamp(1, ORIGINS_MAX);
        let rows: Vec<Row<'_>> = fields
            .listed
            .iter()
            .map(|field| Row {
                name: name(&field.name),
                value: field.value,
                origin: origin(field.value, origins.get(&field.name), origins_max),
            })
            .collect();
        let width = width.min(room_for_each(&rows, bytes_max));
        let is_cut = write_rows(text, &rows, width);
        if fields.more > 0 {
            let (more, rest) = (thousands(fields.more), &*fields.rest);
            let (bytes, sha256) = (thousands(rest.len()), safe::sha256(rest));
            let _ = write!(
                text,
                "\n  ... {more} more arguments, {bytes} more bytes, sha256 {sha256}"
            );
        }
        if is_cut || fields.more > 0 {
            let (bytes, sha256) = (thousands(self.whole.len()), safe::sha256(self.whole));
            let _ = write!(text, "\n  all arguments: {bytes} bytes, sha256 {sha256}");
        }
        !is_cut && fields.more == 0
    }

    /// What is different from the arguments of an earlier call, as a sentence without its full stop.
    pub(super) fn changes_since(&self, previous: &Self) -> String {
        const LAST: &str = "since the last approved call";
        if self.whole == previous.whole {
            return "the same arguments as in the last approved call".to_owned();
        }
        let (Some(now), Some(before)) = (&self.fields, &previous.fields) else {
            return format!("the arguments changed {LAST}");
        };
        let by_name = |fields: &Fields<'a>| {
            let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for field in &fields.listed {
                let values = values.entry(field.name.clone()).or_default();
                values.push(field.value.to_owned());
            }
            values
        };
        let (now_values, before_values) = (by_name(now), by_name(before));
        let names: BTreeSet<&String> = now_values.keys().chain(before_values.keys()).collect();
        let (mut changed, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            match (now_values.get(name), before_values.get(name)) {
                (Some(now), Some(before)) if now == before => {}
                (Some(_), Some(_)) => changed.push(name),
                (Some(_), None) => added.push(name),
                (None, _) => removed.push(name),
            }
        }
        let mut parts = Vec::new();
        for (what, names) in [
            (format!("changed {LAST}"), changed),
            (format!("new {LAST}"), added),
            (format!("gone {LAST}"), removed),
        ] {
            if !names.is_empty() {
                parts.push(format!("{what}: {}", listed(&names)));
            }
        }
        if now.more > 0 || before.more > 0 {
            parts.push("arguments that are not listed were not compared".to_owned());
        }
        if parts.is_empty() {
            return format!("only order or spaces changed {LAST}");
        }
        parts.join("; ")
    }

    /// Reports names and values that look like others, and names that are given twice.
    pub(super) fn look_for_lookalikes(&self, lookalikes: &mut Lookalikes) {
        let Some(fields) = &self.fields else {
            lookalikes.argument("(all)", self.whole);
            return;
        };
        let mut seen = BTreeSet::new();
        for field in &fields.listed {
            if !seen.insert(&field.name) {
                let name = name(&field.name);
                lookalikes.warn(format!(
                    "argument {name} is given more than once; servers differ in which one they use."
                ));
            }
            lookalikes.argument(&field.name, field.value);
        }
    }
}

/// Appends the lines; returns whether a value was cut.
fn write_rows(text: &mut String, rows: &[Row<'_>], width: usize) -> bool {
    let shown: Vec<String> = rows
        .iter()
        .map(|row| safe::json(row.value, width))
        .collect();
    let chars = |text: &str| text.chars().count();
    let aligned = |lengths: &mut dyn Iterator<Item = usize>| {
        lengths
            .filter(|length| *length <= ALIGNED_CHARS_MAX)
            .max()
            .unwrap_or(0)
    };
    let names = aligned(&mut rows.iter().map(|row| chars(&row.name)));
    let values = aligned(&mut shown.iter().map(|value| chars(value)));
    let mut is_cut = false;
    for (row, value) in rows.iter().zip(&shown) {
        // A value may have these words itself.
        is_cut |=
            value.contains(" more bytes, sha256 ") && *value != safe::json(row.value, usize::MAX);
        let line = format!("  {:<names$}  {value:<values$}  {}", row.name, row.origin);
        let _ = write!(text, "\n{}", line.trim_end());
    }
    is_cut
}

/// Bytes that each value may have so that all of them fit: short ones leave their part to the others.
fn room_for_each(rows: &[Row<'_>], bytes_max: usize) -> usize {
    let beside: usize = rows
        .iter()
        .map(|row| {
            row.name.len().max(ALIGNED_CHARS_MAX) + row.origin.len() + ALIGNED_CHARS_MAX + CUT_BYTES
        })
        .sum();
    let mut room = bytes_max.saturating_sub(beside);
    let mut sizes: Vec<usize> = rows
        .iter()
        .map(|row| row.value.len().saturating_mul(safe::EXPANSION_MAX))
        .collect();
    sizes.sort_unstable();
    for (at, size) in sizes.iter().enumerate() {
        let left = sizes.len() - at;
        if size.saturating_mul(left) > room {
            return room / left;
        }
        room -= size;
    }
    bytes_max
}

/// Size of a value and where it comes from.
fn origin(value: &str, origins: Option<&Vec<ArgumentOrigin>>, origins_max: usize) -> String {
    let origins = origins.map_or(&[][..], Vec::as_slice);
    let mut parts = Vec::new();
    let is_from_call = |origin: &ArgumentOrigin| matches!(origin, ArgumentOrigin::FromCall { .. });
    if value.len() > SIZE_SHOWN_FROM || origins.iter().any(is_from_call) {
        parts.push(format!("{} bytes", thousands(value.len())));
    }
    for origin in origins.iter().take(origins_max) {
        parts.push(match origin {
            ArgumentOrigin::WrittenAt { line } => format!("written at line {line}"),
            ArgumentOrigin::Input => "from the input".to_owned(),
            ArgumentOrigin::Computed => UNFOLLOWED.to_owned(),
            ArgumentOrigin::FromCall { call, tool, bytes } => {
                let (server, tool) = (name(tool.server.as_str()), name(&tool.tool));
                let bytes = thousands(*bytes);
                format!("{bytes} from call {call} {server}.{tool} (untrusted)")
            }
        });
    }
    let more = origins.len().saturating_sub(origins_max);
    if more > 0 {
        parts.push(format!("and {more} more origins"));
    }
    parts.join(", ")
}

/// Names, separated by commas.
fn listed(names: &[&String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(CHANGED_MAX)
        .map(|text| name(text))
        .collect();
    let mut text = shown.join(", ");
    let more = names.len().saturating_sub(CHANGED_MAX);
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}
