//! Checks the records as they are stored: hashes over bytes, in constant memory.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};
use std::path::Path;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::chain::{self, AuditFault, AuditFaultKind, FIRST, Link, link_of_hex};
use super::checkpoint::KnownCheckpoints;
use super::export::{Extracted, split_export};
use super::newest;
use crate::tables::timestamp::from_stored;

/// Longest line of an extract, in bytes: a record has bounded texts.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AuditCheck {
    /// Whether every record is as it was written.
    pub ok: bool,
    /// Records that were read.
    pub records: u64,
    /// Number of the oldest record that is kept; the older ones were removed for their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// The first record that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<AuditFault>,
    /// Number of the newest record that a checkpoint covers, where checkpoints were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed: Option<u64>,
}

impl AuditCheck {
    fn new(records: u64, first: Option<u64>, first_bad: Option<AuditFault>) -> Self {
        Self {
            ok: first_bad.is_none(),
            records,
            first,
            first_bad,
            signed: None,
        }
    }
}

/// Result of the check of an extract. Records that are cut off at an end leave no trace in it: who compares these parts with what
/// was written down elsewhere finds that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtractCheck {
    /// Result of the check of what is there.
    #[serde(flatten)]
    pub check: AuditCheck,
    /// The part of each principal's chain, by principal. Up to the first record that is wrong.
    pub chains: Vec<ExtractChain>,
}

/// Records of one principal in an extract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtractChain {
    /// Whose records these are.
    pub principal: String,
    /// Their number.
    pub records: u64,
    /// Number of the first among all records.
    pub from: u64,
    /// Number of the last.
    pub to: u64,
    /// Hash of the last, `phash`, which covers all before it.
    pub last: String,
}

impl ExtractCheck {
    /// Numbers of the first and the last record; `None` without records.
    pub fn range(&self) -> Option<(u64, u64)> {
        let from = self.chains.iter().map(|chain| chain.from).min()?;
        let to = self.chains.iter().map(|chain| chain.to).max()?;
        Some((from, to))
    }
}

/// Number that a line says of itself.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

fn number_in(line: &str) -> Option<u64> {
    serde_json::from_str(line).ok().map(|Numbered { seq }| seq)
}

fn fault(seq: u64, kind: AuditFaultKind) -> Option<AuditFault> {
    Some(AuditFault { seq, kind })
}

/// Checks all records of a store, and that those are there which the file beside it and the checkpoints name.
pub(crate) fn check(
    connection: &Connection,
    store: &Path,
    checkpoints: &KnownCheckpoints,
) -> rusqlite::Result<AuditCheck> {
    let (removed, mut previous): (u64, Link) =
        connection.query_row("SELECT seq, hash FROM audit_removed", [], |row| {
            Ok((from_stored(row.get(0)?), row.get(1)?))
        })?;
    let noted = newest::read(store);
    let mut seq = removed;
    let mut bad = None;
    let mut statement = connection.prepare("SELECT seq, line, hash FROM audit ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let (None, Some(row)) = (bad, rows.next()?) {
        seq += 1;
        if from_stored(row.get(0)?) != seq {
            bad = fault(seq, AuditFaultKind::Missing);
            break;
        }
        // Damage by another program may have left any type in the row.
        let (Ok(line), Ok(hash)) = (row.get_ref(1)?.as_str(), row.get::<_, Link>(2)) else {
            bad = fault(seq, AuditFaultKind::Edited);
            break;
        };
        let expected = chain::link(&previous, seq, line);
        if expected != hash {
            let is_other = number_in(line).is_some_and(|number| number != seq);
            let kind = match is_other {
                true => AuditFaultKind::Reordered,
                false => AuditFaultKind::Edited,
            };
            bad = fault(seq, kind);
        }
        let is_other = |known: &Link| *known != hash;
        let noted = noted.as_ref().ok().and_then(Option::as_ref);
        let is_noted = noted.is_some_and(|noted| noted.seq == seq && is_other(&noted.hash));
        let is_signed = checkpoints.hashes.get(&seq).is_some_and(is_other);
        if (is_noted || is_signed) && bad.is_none() {
            bad = fault(seq, AuditFaultKind::Forked);
        }
        previous = hash;
    }
    if bad.is_none() {
        bad = match noted {
            Ok(Some(noted)) if noted.seq > seq => fault(seq + 1, AuditFaultKind::Truncated),
            Ok(Some(_)) => None,
            // The file is written with the first record.
            Ok(None) if seq == 0 => None,
            Ok(None) => fault(seq, AuditFaultKind::Truncated),
            Err(_) => fault(seq, AuditFaultKind::Edited),
        };
    }
    if bad.is_none() && checkpoints.newest().is_some_and(|newest| newest > seq) {
        bad = fault(seq + 1, AuditFaultKind::Truncated);
    }
    if let Some(signed) = checkpoints.bad
        && bad.is_none_or(|bad| signed.seq <= bad.seq)
    {
        bad = Some(signed);
    }
    let first = (removed > 0).then_some(removed + 1);
    Ok(AuditCheck {
        signed: checkpoints.newest(),
        ..AuditCheck::new(seq - removed, first, bad)
    })
}

/// Checks the chain of each principal in an extract: one record a line, as `limbeck audit export` writes them. The first
/// record of a principal may be any; between it and the last none may be missing or changed. The last one is held by the
/// hash that the extract has for it.
///
/// # Errors
///
/// An extract that cannot be read.
pub fn check_extract(mut extract: impl BufRead) -> std::io::Result<ExtractCheck> {
    let mut records = 0;
    let mut bad = None;
    let mut newest: BTreeMap<String, (u64, Link)> = BTreeMap::new();
    let mut chains: BTreeMap<String, ExtractChain> = BTreeMap::new();
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut extract).take(LINE_BYTES_MAX);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        records += 1;
        let parsed = std::str::from_utf8(&line).ok();
        let parsed = parsed.and_then(|line| split_export(line.strip_suffix('\n').unwrap_or(line)));
        let number = |line: &str| number_in(line).unwrap_or(records);
        let Some((line, phash)) = parsed else {
            bad = fault(records, AuditFaultKind::Edited);
            break;
        };
        let Ok(Extracted {
            principal,
            pseq,
            pprev,
        }) = serde_json::from_str(&line)
        else {
            bad = fault(number(&line), AuditFaultKind::Edited);
            break;
        };
        let pprev = link_of_hex(&pprev).unwrap_or(FIRST);
        let previous = newest.get(&principal).copied();
        let kind = match previous {
            Some((seq, _)) if pseq <= seq => Some(AuditFaultKind::Reordered),
            Some((seq, _)) if pseq > seq + 1 => Some(AuditFaultKind::Missing),
            Some((_, hash)) if hash != pprev => Some(AuditFaultKind::Edited),
            _ if chain::principal_link(&pprev, pseq, &line) != phash => {
                Some(AuditFaultKind::Edited)
            }
            Some(_) | None => None,
        };
        if let Some(kind) = kind {
            bad = fault(number(&line), kind);
            break;
        }
        let seq = number(&line);
        let chain = chains.entry(principal.clone());
        let chain = chain.or_insert_with(|| ExtractChain {
            principal: principal.clone(),
            records: 0,
            from: seq,
            to: seq,
            last: String::new(),
        });
        chain.records += 1;
        chain.to = seq;
        chain.last = chain::hex(&phash);
        newest.insert(principal, (pseq, phash));
    }
    Ok(ExtractCheck {
        check: AuditCheck::new(records, None, bad),
        chains: chains.into_values().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::export::export_line;
    use super::*;

    /// Records of two principals in turns, as an extract has them.
    fn extract() -> Vec<String> {
        let mut heads = BTreeMap::from([("a", (0, FIRST)), ("b", (0, FIRST))]);
        let mut lines = Vec::new();
        for seq in 1..=8_u64 {
            let principal = if seq % 2 == 0 { "b" } else { "a" };
            let (pseq, pprev) = heads[principal];
            let pprev_hex = chain::hex(&pprev);
            let line = format!(
                r#"{{"v":1,"seq":{seq},"principal":"{principal}","pseq":{},"pprev":"{pprev_hex}","event":"x"}}"#,
                pseq + 1
            );
            let phash = chain::principal_link(&pprev, pseq + 1, &line);
            heads.insert(principal, (pseq + 1, phash));
            lines.push(export_line(&line, None, None).expect("a record"));
        }
        lines
    }

    fn bad(lines: &[String]) -> Option<(u64, &'static str)> {
        let result = check_extract(lines.join("\n").as_bytes()).expect("readable");
        let result = result.check;
        result
            .first_bad
            .map(|fault| (fault.seq, fault.kind.as_str()))
    }

    #[test]
    fn an_extract_is_checked_without_the_records_of_others_and_each_change_is_found() {
        let lines = extract();
        assert_eq!(bad(&lines), None);
        let own: Vec<String> = lines.iter().step_by(2).cloned().collect();
        assert_eq!(bad(&own), None);
        assert_eq!(bad(&own[1..]), None, "an extract begins anywhere");

        let mut missing = own.clone();
        missing.remove(1);
        assert_eq!(bad(&missing), Some((5, "missing")));
        let mut swapped = own.clone();
        swapped.swap(1, 2);
        assert_eq!(bad(&swapped), Some((5, "missing")));
        let mut twice = own.clone();
        twice.insert(1, own[0].clone());
        assert_eq!(bad(&twice), Some((1, "reordered")));
        for place in 0..own[1].len() {
            let mut edited = own.clone();
            let mut bytes = edited[1].clone().into_bytes();
            bytes[place] ^= 1;
            let Ok(text) = String::from_utf8(bytes) else {
                continue;
            };
            edited[1] = text;
            assert!(bad(&edited).is_some(), "byte {place}");
        }
    }

    #[test]
    fn an_extract_has_the_ends_of_each_chain_so_that_a_cut_can_be_seen() {
        let lines = extract();
        let of = |lines: &[String]| check_extract(lines.join("\n").as_bytes()).expect("readable");
        let whole = of(&lines);
        assert_eq!(whole.range(), Some((1, 8)));
        let ends = |check: &ExtractCheck| -> Vec<(String, u64, u64, u64)> {
            let chains = check.chains.iter();
            let ends = chains.map(|it| (it.principal.clone(), it.records, it.from, it.to));
            ends.collect()
        };
        let expected = [("a".to_owned(), 4, 1, 7), ("b".to_owned(), 4, 2, 8)];
        assert_eq!(ends(&whole), expected);
        assert!(lines[7].contains(&format!("\"phash\":\"{}\"", whole.chains[1].last)));
        // The last record of one principal is gone, and the extract is right in itself.
        let mut cut = lines.clone();
        cut.remove(6);
        let cut = of(&cut);
        assert!(cut.check.ok);
        assert_eq!(cut.range(), Some((1, 8)));
        assert_ne!(cut.chains[0].last, whole.chains[0].last);
        assert_eq!(cut.chains[1], whole.chains[1]);
        assert_eq!(of(&[]).range(), None);
    }

    #[test]
    fn a_line_without_an_end_is_no_record() {
        assert_eq!(bad(&["x".repeat(100_000)]), Some((1, "edited")));
        assert_eq!(bad(&[String::new()]), None);
    }
}
