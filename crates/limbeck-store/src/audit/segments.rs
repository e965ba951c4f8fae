//! Files with records that are about to be removed, as an export has them: `audit-FIRST.jsonl`, at most 64 MiB each.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::Transaction;

use super::export::export_line;
use crate::tables::timestamp::{from_stored, to_stored};

/// Size after which the next segment is begun.
const SEGMENT_BYTES_MAX: u64 = 64 << 20;

/// Writes the records up to `last` to the newest segment of `directory`, on disk.
///
/// A transaction that fails afterwards leaves them in the store as well: they are then in the segment twice, with the same bytes.
///
/// # Errors
///
/// The records must not be removed.
pub(super) fn write(
    transaction: &Transaction<'_>,
    directory: &Path,
    last: u64,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "SELECT seq, line, salt, detail FROM audit LEFT JOIN audit_detail USING (seq)
         WHERE seq <= ?1 ORDER BY seq",
    )?;
    let mut rows = statement.query([to_stored(last)])?;
    let mut text = String::new();
    let mut first = None;
    while let Some(row) = rows.next()? {
        first = first.or(Some(from_stored(row.get(0)?)));
        let line: String = row.get(1)?;
        let (salt, detail): (Option<Vec<u8>>, Option<String>) = (row.get(2)?, row.get(3)?);
        let exported = export_line(&line, salt.as_deref(), detail.as_deref());
        text.push_str(&exported.unwrap_or(line));
        text.push('\n');
    }
    let Some(first) = first else {
        return Ok(());
    };
    append(directory, first, text.as_bytes()).map_err(|error| {
        tracing::error!(
            directory = %directory.display(),
            error = &error as &dyn std::error::Error,
            "records of the audit trail are kept, because they could not be written to a segment"
        );
        rusqlite::Error::ToSqlConversionFailure(Box::new(error))
    })
}

fn append(directory: &Path, first: u64, text: &[u8]) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(directory)?;
    let path = match newest(directory)? {
        Some(path) if fs::metadata(&path)?.len() < SEGMENT_BYTES_MAX => path,
        Some(_) | None => directory.join(format!("audit-{first:012}.jsonl")),
    };
    let mut file = options.open(path)?;
    file.write_all(text)?;
    file.sync_data()
}

/// The segment with the highest first number.
fn newest(directory: &Path) -> io::Result<Option<PathBuf>> {
    let mut newest = None;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let is_segment =
            name.is_some_and(|name| name.starts_with("audit-") && name.ends_with(".jsonl"));
        if is_segment && newest.as_ref().is_none_or(|newest| *newest < path) {
            newest = Some(path);
        }
    }
    Ok(newest)
}
