//! Adds the records of one transaction.

use std::collections::HashMap;
use std::path::PathBuf;

use limbeck_domain::{Approval, JournalEntry};
use rusqlite::{OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};

use super::chain::{self, FIRST, Link, hex};
use super::checkpoint::Checkpoints;
use super::newest::Newest;
use super::noted::AuditEvent;
use super::record::{Event, Head, Line, PinRow};
use super::segments;
use crate::options::LineRedactor;
use crate::tables::timestamp::{from_stored, to_stored};

/// Oldest records that are removed at once, so that a commit removes few or none.
const REMOVED_AT_ONCE: u64 = 1_000;
/// Principal of what belongs to no execution any more.
const NO_PRINCIPAL: &str = "";
/// Principal of the user who runs the gateway.
const OWN_PRINCIPAL: &str = "local";

/// Random bytes that are hashed before the bytes of a commitment.
type Salt = [u8; 16];

/// What the writer does with records.
pub(crate) struct RecordKeeping {
    pub(crate) redact: Option<LineRedactor>,
    /// When there are more, the oldest go.
    pub(crate) records_max: u64,
    /// Where they go.
    pub(crate) segments: Option<PathBuf>,
    /// Taken by the writer.
    pub(crate) checkpoints: Option<Checkpoints>,
}

/// What triggers noted in this transaction.
struct Note {
    row: i64,
    kind: String,
    subject: i64,
    detail: String,
}

/// The execution of a note.
struct Subject {
    id: String,
    principal: String,
    epoch: u64,
}

/// Turns the notes of this transaction, and what an older version left, into records. Returns the newest record when there
/// is a new one.
pub(crate) fn append(
    transaction: &Transaction<'_>,
    now_us: u64,
    keeping: &RecordKeeping,
) -> rusqlite::Result<Option<Newest>> {
    let notes: Vec<Note> = transaction
        .prepare_cached("SELECT row, kind, subject, detail FROM audit_note ORDER BY row")?
        .query_map([], |row| {
            Ok(Note {
                row: row.get(0)?,
                kind: row.get(1)?,
                subject: row.get(2)?,
                detail: row.get(3)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    let Some(last) = notes.last() else {
        return Ok(None);
    };
    transaction
        .prepare_cached("DELETE FROM audit_note WHERE row <= ?1")?
        .execute([last.row])?;
    let mut batch = Batch::new(transaction, now_us, keeping)?;
    for note in &notes {
        let salt = batch.salt();
        if let Some((principal, event)) = batch.event(note, &salt)? {
            batch.add(&principal, &event, &salt)?;
        }
    }
    let newest = batch.finish()?;
    remove_oldest(transaction, newest.seq, keeping)?;
    Ok(Some(newest))
}

/// The newest record; number 0 before the first.
pub(super) fn newest(connection: &rusqlite::Connection) -> rusqlite::Result<Newest> {
    let found = connection
        .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| {
            Ok(Newest {
                seq: from_stored(row.get(0)?),
                hash: row.get(1)?,
            })
        })
        .optional()?;
    Ok(found.unwrap_or(Newest {
        seq: 0,
        hash: FIRST,
    }))
}

/// The records of one transaction. What several of them need is read and written once.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    now_us: u64,
    keeping: &'a RecordKeeping,
    newest: Newest,
    /// The newest record of each principal in the batch.
    principals: HashMap<String, (u64, Link)>,
    /// The execution that the last note was about.
    subject: Option<(i64, Subject)>,
    /// The salts of the records come from it.
    seed: [u8; 32],
}

impl<'a> Batch<'a> {
    fn new(
        transaction: &'a Transaction<'a>,
        now_us: u64,
        keeping: &'a RecordKeeping,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            transaction,
            now_us,
            keeping,
            newest: newest(transaction)?,
            principals: HashMap::new(),
            subject: None,
            seed: transaction
                .prepare_cached("SELECT randomblob(32)")?
                .query_row([], |row| row.get(0))?,
        })
    }

    /// The salt of the next record.
    fn salt(&self) -> Salt {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.newest.seq.to_be_bytes());
        let mut salt = Salt::default();
        for (byte, from) in salt.iter_mut().zip(hash.finalize()) {
            *byte = from;
        }
        salt
    }

    fn add(&mut self, principal: &str, event: &Event, salt: &Salt) -> rusqlite::Result<()> {
        let (pseq, pprev) = match self.principals.get(principal) {
            Some(newest) => *newest,
            None => newest_of(self.transaction, principal)?,
        };
        let (seq, pseq) = (self.newest.seq + 1, pseq + 1);
        let line = Line {
            head: Head {
                v: 1,
                seq,
                time_us: self.now_us,
                principal,
                pseq,
                pprev: &hex(&pprev),
            },
            event,
        };
        let line = serde_json::to_string(&line)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let line = match &self.keeping.redact {
            Some(redact) => redact(&line),
            None => line,
        };
        let hash = chain::link(&self.newest.hash, seq, &line);
        let phash = chain::principal_link(&pprev, pseq, &line);
        let salt = event.has_commitment().then_some(salt);
        self.transaction
            .prepare_cached(
                "INSERT INTO audit (seq, principal, line, hash, salt) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![to_stored(seq), principal, line, hash, salt])?;
        if let Some(detail) = event.detail() {
            self.transaction
                .prepare_cached("INSERT INTO audit_detail (seq, detail) VALUES (?1, ?2)")?
                .execute(params![to_stored(seq), detail])?;
        }
        self.principals.insert(principal.to_owned(), (pseq, phash));
        self.newest = Newest { seq, hash };
        Ok(())
    }

    fn finish(self) -> rusqlite::Result<Newest> {
        for (principal, (seq, hash)) in &self.principals {
            self.transaction
                .prepare_cached(
                    "INSERT INTO audit_principal (principal, seq, hash) VALUES (?1, ?2, ?3)
                     ON CONFLICT (principal) DO UPDATE SET seq = ?2, hash = ?3",
                )?
                .execute(params![principal, to_stored(*seq), hash])?;
        }
        Ok(self.newest)
    }

    /// The principal and the event of a note; `None` for one that says nothing, such as an entry that was removed again.
    fn event(&mut self, note: &Note, salt: &Salt) -> rusqlite::Result<Option<(String, Event)>> {
        match note.kind.as_str() {
            "start" => start(self.transaction, note.subject),
            "status" => self.status(note.subject, &note.detail),
            "entry" => self.entry(note.subject, salt),
            "approval" => self.approval(note.subject, &note.detail),
            "event" => Ok(serde_json::from_str(&note.detail)
                .ok()
                .map(|noted: AuditEvent| (noted.principal.clone(), Event::noted(&noted, salt)))),
            // Lists of tools belong to the user who runs the gateway.
            "pin" => {
                Ok(pin(self.transaction, note)?.map(|event| (OWN_PRINCIPAL.to_owned(), event)))
            }
            "pins" => {
                Ok(pins(self.transaction, note)?.map(|event| (OWN_PRINCIPAL.to_owned(), event)))
            }
            // A newer version may note more; what this one cannot read is not passed over in silence.
            _ => Ok(Some((NO_PRINCIPAL.to_owned(), Event::unknown(&note.kind)))),
        }
    }

    fn status(
        &mut self,
        execution: i64,
        status: &str,
    ) -> rusqlite::Result<Option<(String, Event)>> {
        // Read again, because a process that takes an execution changes its epoch.
        self.subject = None;
        let transaction = self.transaction;
        let Some(subject) = self.subject(execution)? else {
            return Ok(None);
        };
        let event = match status {
            "paused" => Event::lease("pause", &subject.id, subject.epoch),
            "running" => Event::lease("take", &subject.id, subject.epoch),
            _ => transaction
                .prepare_cached("SELECT error, calls, took_us FROM execution WHERE row = ?1")?
                .query_row([execution], |row| {
                    let (code, calls) = (row.get(0)?, row.get(1)?);
                    let took_us = row.get::<_, Option<i64>>(2)?.map(from_stored);
                    Ok(Event::end(&subject.id, status, code, calls, took_us))
                })?,
        };
        Ok(Some((subject.principal.clone(), event)))
    }

    fn entry(&mut self, row: i64, salt: &Salt) -> rusqlite::Result<Option<(String, Event)>> {
        let transaction = self.transaction;
        let mut statement =
            transaction.prepare_cached("SELECT execution, entry FROM journal WHERE row = ?1")?;
        let mut rows = statement.query([row])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let execution: i64 = row.get(0)?;
        // Read from SQLite's own memory: an entry may have many megabytes.
        let text = row.get_ref(1)?.as_str()?;
        let Ok(entry) = serde_json::from_str::<JournalEntry>(text) else {
            return Ok(None);
        };
        let Some(subject) = self.subject(execution)? else {
            return Ok(None);
        };
        let event = Event::entry(&subject.id, &entry, salt);
        Ok(event.map(|event| (subject.principal.clone(), event)))
    }

    fn approval(&mut self, row: i64, state: &str) -> rusqlite::Result<Option<(String, Event)>> {
        let found: Option<(i64, String)> = self
            .transaction
            .prepare_cached("SELECT execution, body FROM approval WHERE row = ?1")?
            .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((execution, body)) = found else {
            return Ok(None);
        };
        let event = match state {
            "spent" => "spend",
            "expired" => "expire",
            _ => "withdraw",
        };
        let (Some(subject), Ok(approval)) = (
            self.subject(execution)?,
            serde_json::from_str::<Approval>(&body),
        ) else {
            return Ok(None);
        };
        let event = Event::approval(event, &subject.id, &approval);
        Ok(Some((subject.principal.clone(), event)))
    }

    fn subject(&mut self, execution: i64) -> rusqlite::Result<Option<&Subject>> {
        if self
            .subject
            .as_ref()
            .is_none_or(|(row, _)| *row != execution)
        {
            self.subject = self
                .transaction
                .prepare_cached("SELECT id, principal, epoch FROM execution WHERE row = ?1")?
                .query_row([execution], |row| {
                    Ok(Subject {
                        id: row.get(0)?,
                        principal: row.get(1)?,
                        epoch: from_stored(row.get(2)?),
                    })
                })
                .optional()?
                .map(|subject| (execution, subject));
        }
        Ok(self.subject.as_ref().map(|(_, subject)| subject))
    }
}

/// Number and hash of the newest record of a principal; number 0 before the first.
fn newest_of(transaction: &Transaction<'_>, principal: &str) -> rusqlite::Result<(u64, Link)> {
    let found = transaction
        .prepare_cached("SELECT seq, hash FROM audit_principal WHERE principal = ?1")?
        .query_row([principal], |row| {
            Ok((from_stored(row.get(0)?), row.get(1)?))
        })
        .optional()?;
    Ok(found.unwrap_or((0, FIRST)))
}

fn start(
    transaction: &Transaction<'_>,
    execution: i64,
) -> rusqlite::Result<Option<(String, Event)>> {
    transaction
        .prepare_cached(
            "SELECT id, principal, origin, start.start
             FROM execution LEFT JOIN start ON start.execution = execution.row
             WHERE execution.row = ?1",
        )?
        .query_row([execution], |row| {
            let (id, principal): (String, String) = (row.get(0)?, row.get(1)?);
            let (client, start): (String, Option<String>) = (row.get(2)?, row.get(3)?);
            let start = start.and_then(|start| serde_json::from_str(&start).ok());
            Ok((principal, Event::start(&id, &client, start.as_ref())))
        })
        .optional()
}

/// The change of one pin. One that was forgotten in the same transaction says nothing.
fn pin(transaction: &Transaction<'_>, note: &Note) -> rusqlite::Result<Option<Event>> {
    transaction
        .prepare_cached(
            "SELECT server, tool, pinned_sha256, current_sha256, facts FROM tool_pin WHERE row = ?1",
        )?
        .query_row([note.subject], |row| {
            let server: String = row.get(0)?;
            let facts: String = row.get(4)?;
            let pin = PinRow {
                tool: row.get(1)?,
                pinned_sha256: row.get(2)?,
                current_sha256: row.get(3)?,
                facts: serde_json::from_str(&facts).unwrap_or_default(),
            };
            Ok(Event::pin(&note.detail, &server, &pin))
        })
        .optional()
}

/// The first list of a server, or pins that were forgotten.
fn pins(transaction: &Transaction<'_>, note: &Note) -> rusqlite::Result<Option<Event>> {
    if let Some(forgotten) = note.detail.strip_prefix("forget ") {
        return Ok(Some(Event::pins_forgotten(forgotten)));
    }
    transaction
        .prepare_cached("SELECT server, tools FROM pinned_server WHERE row = ?1")?
        .query_row([note.subject], |row| {
            let (server, tools): (String, i64) = (row.get(0)?, row.get(1)?);
            Ok(Event::baseline(&server, from_stored(tools)))
        })
        .optional()
}

/// Removes the oldest records above the bound. The hash of the last one that is gone stays, for the check of the others.
fn remove_oldest(
    transaction: &Transaction<'_>,
    newest: u64,
    keeping: &RecordKeeping,
) -> rusqlite::Result<()> {
    let removed: i64 = transaction
        .prepare_cached("SELECT seq FROM audit_removed")?
        .query_row([], |row| row.get(0))?;
    let removed = from_stored(removed);
    if newest.saturating_sub(removed) < keeping.records_max + REMOVED_AT_ONCE {
        return Ok(());
    }
    if let Some(directory) = &keeping.segments
        && segments::write(transaction, directory, removed + REMOVED_AT_ONCE).is_err()
    {
        // They stay until they can be written; the log has said so.
        return Ok(());
    }
    let last = to_stored(removed + REMOVED_AT_ONCE);
    transaction
        .prepare_cached(
            "UPDATE audit_removed SET seq = ?1, hash = (SELECT hash FROM audit WHERE seq = ?1)",
        )?
        .execute([last])?;
    transaction
        .prepare_cached("DELETE FROM audit WHERE seq <= ?1")?
        .execute([last])?;
    transaction
        .prepare_cached("DELETE FROM audit_detail WHERE seq <= ?1")?
        .execute([last])?;
    Ok(())
}
