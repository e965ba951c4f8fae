//! Tables `pinned_server` and `tool_pin`: definitions of tools as they were first listed or accepted, by the hash of their
//! server's configuration entry.

use limbeck_domain::PinFacts;
use limbeck_domain::limits::{SERVERS_MAX, TOOLS_PER_SERVER_MAX};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::timestamp::to_stored;
use crate::records::{PinEvent, ToolPin};

/// The step of the migrations that adds the tables.
pub(crate) const SCHEMA: &str = "
    -- Servers whose first list was taken as what is right.
    CREATE TABLE pinned_server (
        row       INTEGER PRIMARY KEY,
        spec_hash TEXT NOT NULL UNIQUE,
        server    TEXT NOT NULL,
        tools     INTEGER NOT NULL,
        seen_us   INTEGER NOT NULL
    ) STRICT;

    -- `current` is set where it differs from `pinned`; `pinned` is not set before a person accepted a tool that came later.
    -- `version` counts changes, so that no process undoes what another did. `event` is the last change.
    CREATE TABLE tool_pin (
        row            INTEGER PRIMARY KEY,
        spec_hash      TEXT NOT NULL,
        server         TEXT NOT NULL,
        tool           TEXT NOT NULL,
        version        INTEGER NOT NULL,
        event          TEXT NOT NULL,
        pinned_sha256  TEXT,
        pinned         TEXT,
        current_sha256 TEXT NOT NULL,
        current        TEXT,
        facts          TEXT NOT NULL,
        UNIQUE (spec_hash, tool)
    ) STRICT;

    -- Counts changes of `tool_pin`, by any process.
    CREATE TABLE pin_change (count INTEGER NOT NULL) STRICT;
    INSERT INTO pin_change VALUES (0);

    CREATE TRIGGER pinned_server_added AFTER INSERT ON pinned_server BEGIN
        UPDATE pin_change SET count = count + 1;
        INSERT INTO audit_note (kind, subject, detail) VALUES ('pins', new.row, 'baseline');
    END;
    CREATE TRIGGER pinned_server_removed AFTER DELETE ON pinned_server BEGIN
        UPDATE pin_change SET count = count + 1;
        INSERT INTO audit_note (kind, subject, detail) VALUES ('pins', old.row, 'forget ' || old.server);
    END;
    CREATE TRIGGER tool_pin_added AFTER INSERT ON tool_pin WHEN new.event <> 'baseline' BEGIN
        UPDATE pin_change SET count = count + 1;
        INSERT INTO audit_note (kind, subject, detail) VALUES ('pin', new.row, new.event);
    END;
    CREATE TRIGGER tool_pin_changed AFTER UPDATE ON tool_pin BEGIN
        UPDATE pin_change SET count = count + 1;
        INSERT INTO audit_note (kind, subject, detail) VALUES ('pin', new.row, new.event);
    END;
    CREATE TRIGGER tool_pin_removed AFTER DELETE ON tool_pin
        WHEN EXISTS (SELECT 1 FROM pinned_server WHERE spec_hash = old.spec_hash) BEGIN
        UPDATE pin_change SET count = count + 1;
        INSERT INTO audit_note (kind, subject, detail)
            VALUES ('pins', old.row, 'forget ' || old.server || '.' || old.tool);
    END;
";

/// Servers kept, as of the cached lists.
const SERVERS_KEPT_MAX: u32 = 2 * SERVERS_MAX as u32;
/// Tools kept of one server, those included that it does not list any more.
const TOOLS_KEPT_MAX: u32 = 2 * TOOLS_PER_SERVER_MAX as u32;

fn read(row: &Row<'_>) -> rusqlite::Result<Option<ToolPin>> {
    let facts: String = row.get(7)?;
    // A row of a newer version that cannot be read holds nothing and is not written over, because its version is not known.
    let Ok(facts) = serde_json::from_str::<PinFacts>(&facts) else {
        return Ok(None);
    };
    Ok(Some(ToolPin {
        tool: row.get(0)?,
        version: row.get(1)?,
        event: PinEvent::Kept,
        pinned_sha256: row.get(3)?,
        pinned: row.get(4)?,
        current_sha256: row.get(5)?,
        current: row.get(6)?,
        facts,
    }))
}

/// Pins of a server by the name of the tool; `None` before its first list. With `whole`, all texts are read, else only those
/// of definitions that are not the pinned ones.
pub(crate) fn list(
    connection: &Connection,
    spec_hash: &str,
    whole: bool,
) -> rusqlite::Result<Option<Vec<ToolPin>>> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT row FROM pinned_server WHERE spec_hash = ?1")?
        .query_row([spec_hash], |row| row.get(0))
        .optional()?;
    if known.is_none() {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(
        "SELECT tool, version, event, pinned_sha256,
                CASE WHEN ?2 OR current IS NOT NULL THEN pinned END, current_sha256, current, facts
         FROM tool_pin WHERE spec_hash = ?1 ORDER BY tool",
    )?;
    let rows = statement.query_map(params![spec_hash, whole], read)?;
    let pins: Vec<Option<ToolPin>> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(Some(pins.into_iter().flatten().collect()))
}

/// Writes pins whose rows have still the version that they were read with. Returns whether all had; else nothing is written.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    (spec_hash, server): (&str, &str),
    pins: &[(ToolPin, String)],
    now_us: u64,
) -> rusqlite::Result<bool> {
    let mut version = transaction
        .prepare_cached("SELECT version FROM tool_pin WHERE spec_hash = ?1 AND tool = ?2")?;
    for (pin, _) in pins {
        let found: Option<i64> = version
            .query_row(params![spec_hash, pin.tool], |row| row.get(0))
            .optional()?;
        if found.unwrap_or(0) != pin.version {
            return Ok(false);
        }
    }
    let mut row = transaction.prepare_cached(
        "INSERT INTO tool_pin (spec_hash, server, tool, version, event, pinned_sha256, pinned, current_sha256, current, facts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (spec_hash, tool) DO UPDATE SET version = ?4, event = ?5, pinned_sha256 = ?6,
             -- A text that was not read is that of the row.
             pinned = CASE WHEN ?7 IS NULL AND pinned_sha256 IS ?6 THEN pinned ELSE ?7 END,
             current_sha256 = ?8, current = ?9, facts = ?10",
    )?;
    for (pin, facts) in pins {
        row.execute(params![
            spec_hash,
            server,
            pin.tool,
            pin.version + 1,
            pin.event.as_str(),
            pin.pinned_sha256,
            pin.pinned,
            pin.current_sha256,
            pin.current,
            facts,
        ])?;
    }
    // After the tools: the record has their number.
    transaction
        .prepare_cached(
            "INSERT INTO pinned_server (spec_hash, server, tools, seen_us)
             VALUES (?1, ?2, (SELECT count(*) FROM tool_pin WHERE spec_hash = ?1), ?3)
             ON CONFLICT (spec_hash) DO UPDATE SET seen_us = ?3",
        )?
        .execute(params![spec_hash, server, to_stored(now_us)])?;
    make_room(transaction, spec_hash)?;
    Ok(true)
}

/// Forgets the servers seen longest ago, and tools that a server does not list any more, above the bounds.
fn make_room(transaction: &Transaction<'_>, spec_hash: &str) -> rusqlite::Result<()> {
    let surplus: Vec<String> = transaction
        .prepare_cached(
            "SELECT spec_hash FROM pinned_server ORDER BY seen_us DESC LIMIT -1 OFFSET ?1",
        )?
        .query_map([SERVERS_KEPT_MAX], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for server in surplus {
        // The server first, so that its tools have no record each.
        for table in ["pinned_server", "tool_pin"] {
            transaction.execute(
                &format!("DELETE FROM {table} WHERE spec_hash = ?1"),
                [&server],
            )?;
        }
    }
    let tools: i64 = transaction
        .prepare_cached("SELECT count(*) FROM tool_pin WHERE spec_hash = ?1")?
        .query_row([spec_hash], |row| row.get(0))?;
    if tools > i64::from(TOOLS_KEPT_MAX) {
        transaction
            .prepare_cached(
                "DELETE FROM tool_pin WHERE spec_hash = ?1 AND facts LIKE '%\"removed_us\"%'
                 AND row IN (SELECT row FROM tool_pin WHERE spec_hash = ?1 ORDER BY row LIMIT ?2)",
            )?
            .execute(params![spec_hash, tools - i64::from(TOOLS_KEPT_MAX)])?;
    }
    Ok(())
}

/// Number of changes by all processes so far.
pub(crate) fn changes(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT coalesce(max(count), 0) FROM pin_change")?
        .query_row([], |row| row.get::<_, i64>(0))
        .map(super::timestamp::from_stored)
}
