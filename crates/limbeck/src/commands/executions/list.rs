//! List of executions, as a table or as JSON.

use std::collections::{HashMap, HashSet};

use limbeck_domain::text::clean_line;
use limbeck_domain::{CountBasis, ExecutionStatus, ToolId};
use limbeck_gateway::clock::rfc3339;
use limbeck_gateway::direct::called_tool;
use limbeck_store::{ExecutionRow, LedgerRow, RemovedExecutions, Store};
use serde::Serialize;
use serde_json::json;

use super::{NAME_BYTES_MAX, Waiting, asked_by, direct_call, status_text, status_tone, waiting};
use crate::cli::ExecutionsArgs;
use crate::exit::CommandError;
use crate::format::{duration_text, grouped_digits};
use crate::printer::Printer;
use crate::table::{LastColumn, TextTable};
use crate::time_zone::TimeZone;

/// Columns of a terminal from which all columns of the list have room.
const WIDE_COLUMNS: usize = 184;
/// Columns of a terminal from which a list of few columns has room for the number of writes.
const WRITES_COLUMNS: usize = 100;
/// Characters of a date and a time in hours and minutes.
const WITHOUT_SECONDS: usize = "2026-05-09 07:29".len();
/// Least characters of a shortened id.
const ID_CHARS_MIN: usize = 11;
/// Longest title of a program in the list, in characters.
const TITLE_CHARS: usize = 60;
/// Longest name of who asked in the list, in characters.
const ASKED_BY_CHARS: usize = 24;
/// The same in a terminal without room for all columns.
const ASKED_BY_CHARS_NARROW: usize = 8;

/// Prints the list.
pub(super) async fn list(
    printer: &Printer,
    store: &Store,
    arguments: &ExecutionsArgs,
) -> Result<(), CommandError> {
    let rows = store.executions(arguments.limit, None).await?;
    let removed = store.removed().await?;
    let waiting = waiting(store, &rows.iter().collect::<Vec<_>>()).await?;
    if arguments.json {
        let row = |row| RowJson::new(row, &waiting);
        let rows: Vec<RowJson<'_>> = rows.iter().map(row).collect();
        return printer.json(&json!({"executions": rows, "removed": removed}));
    }
    let zone = printer.zone();
    for removed in &removed {
        printer.note(&removed_text(removed, zone));
    }
    if rows.is_empty() {
        printer.note("no executions are recorded; run a program with `limbeck run FILE`");
        return Ok(());
    }
    if let Some(width) = printer.width().filter(|width| *width < WIDE_COLUMNS) {
        printer.table(&narrow_list(&rows, &waiting, zone, width));
        return Ok(());
    }
    let header = [
        "id",
        &format!("when ({})", zone.name()),
        "asked by",
        "status",
        "took",
        "calls",
        "reads",
        "writes",
        "Limbeck tokens",
        "direct tokens",
        "program",
    ];
    let mut table = TextTable::with_header(header)
        .right([4, 5, 6, 7, 8, 9])
        .tones(3, status_tone)
        .last(LastColumn::CutEnd);
    let estimates = token_texts(store, &rows).await?;
    for row in &rows {
        let [tokens, direct] = estimates.get(row.id.as_str()).cloned().unwrap_or_default();
        table.row([
            row.id.to_string(),
            zone.time(row.created_us),
            shortened(&asked_by(row), ASKED_BY_CHARS),
            status_text(row, &waiting),
            row.took_us.map(duration_text).unwrap_or_default(),
            row.calls.to_string(),
            row.effects.reads.to_string(),
            row.effects.writes.to_string(),
            tokens,
            direct,
            shortened(&title(row), TITLE_CHARS),
        ]);
    }
    printer.table(&table);
    Ok(())
}

/// List for a terminal without room for all columns: short ids, times without seconds, who asked without the way.
fn narrow_list(
    rows: &[ExecutionRow],
    waiting: &Waiting,
    zone: TimeZone,
    width: usize,
) -> TextTable {
    let when = format!("when ({})", zone.name());
    let mut header = vec!["id", &when, "asked by", "status"];
    let with_writes = width >= WRITES_COLUMNS;
    if with_writes {
        header.push("writes");
    }
    header.push("program");
    let mut table = TextTable::default()
        .right(if with_writes { vec![4] } else { Vec::new() })
        .tones(3, status_tone)
        .last(LastColumn::CutEnd);
    table.row_of(header.into_iter().map(str::to_owned).collect());
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let length = distinct_length(&ids);
    for row in rows {
        let when = zone.time(row.created_us);
        let mut cells: Vec<String> = vec![
            row.id.as_str().chars().take(length).collect(),
            when.chars().take(WITHOUT_SECONDS).collect(),
            shortened(&row.principal, ASKED_BY_CHARS_NARROW),
            status_text(row, waiting),
        ];
        if with_writes {
            cells.push(row.effects.writes.to_string());
        }
        cells.push(title(row));
        table.row_of(cells);
    }
    table
}

/// Number of characters by which all ids differ, with a few more for those that are not listed.
fn distinct_length(ids: &[&str]) -> usize {
    let longest = ids.iter().map(|id| id.len()).max().unwrap_or_default();
    let differ = |length: usize| {
        let beginnings: HashSet<&str> = ids.iter().filter_map(|id| id.get(..length)).collect();
        beginnings.len() == ids.len()
    };
    let length = (ID_CHARS_MIN..longest).find(|length| differ(*length));
    length.map_or(longest, |length| (length + 2).min(longest))
}

/// What retention removed of one principal on one day.
fn removed_text(removed: &RemovedExecutions, zone: TimeZone) -> String {
    let RemovedExecutions {
        principal,
        executions,
        thinned,
        bytes,
        first_us,
        last_us,
    } = removed;
    let principal = clean_line(principal, NAME_BYTES_MAX);
    let (first, last, zone) = (zone.time(*first_us), zone.time(*last_us), zone.name());
    format!(
        "retention: {executions} executions of `{principal}` from {first} to {last} ({zone}) were removed and {thinned} \
         lost results ({} bytes)",
        grouped_digits(*bytes)
    )
}

/// Tokens through Limbeck and with direct calls, by execution; an estimate begins with `~`.
async fn token_texts(
    store: &Store,
    rows: &[ExecutionRow],
) -> Result<HashMap<String, [String; 2]>, CommandError> {
    let Some(oldest) = rows.iter().map(|row| row.created_us).min() else {
        return Ok(HashMap::new());
    };
    let entry = |row: LedgerRow| {
        let account = row.usage_or_estimate();
        let tokens = [account.limbeck(), account.direct()].map(|tokens| match tokens.basis {
            CountBasis::Estimated => format!("~{}", grouped_digits(tokens.count)),
            CountBasis::Measured | CountBasis::Computed => grouped_digits(tokens.count),
        });
        (row.id, tokens)
    };
    let ledger = store.ledger(oldest).await?;
    Ok(ledger.into_iter().map(entry).collect())
}

/// Beginning of a text, so that a row fits on one line.
fn shortened(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars_max - 1).collect();
    format!("{}…", kept.trim_end())
}

/// First line of the program, or the tool of a direct call.
fn title(row: &ExecutionRow) -> String {
    direct_call(&row.origin, &row.title).unwrap_or_else(|| row.title.clone())
}

/// JSON of one execution in the list.
#[derive(Serialize)]
pub(super) struct RowJson<'a> {
    #[serde(flatten)]
    row: &'a ExecutionRow,
    /// `created_us` as people and other programs read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    /// What the client called, when it was a direct call and no program.
    #[serde(skip_serializing_if = "Option::is_none")]
    direct_call: Option<ToolId>,
    /// Questions that wait, of a paused execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<usize>,
}

impl<'a> RowJson<'a> {
    pub(super) fn new(row: &'a ExecutionRow, waiting: &Waiting) -> Self {
        Self {
            row,
            created_at: rfc3339(row.created_us),
            direct_call: called_tool(&row.origin, &row.title),
            pending: (row.status == ExecutionStatus::Paused)
                .then(|| waiting.get(row.id.as_str()).copied().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_ids_stay_distinct() {
        let ids = [
            "ex_01a202bd838872dbaa931",
            "ex_01a202bd838899dbaa931",
            "ex_02b202bd838872dbaa931",
        ];
        let length = distinct_length(&ids);
        assert_eq!(length, "ex_01a202bd838872d".len());
        assert_eq!(distinct_length(&["ex_1"]), 4);
        assert_eq!(distinct_length(&[]), 0);
        assert_eq!(
            distinct_length(&["ex_01a202bd838872dbaa931"]),
            ID_CHARS_MIN + 2
        );
    }
}
