//! Table `audit`: listings.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::timestamp::to_stored;
use crate::audit::export_line;
use crate::records::AuditFilter;

/// Records of one listing.
const LISTED_MAX: u32 = 1_000;

/// Records as an extract has them, oldest first.
pub(crate) fn list(connection: &Connection, filter: &AuditFilter) -> rusqlite::Result<Vec<String>> {
    let mut values = vec![
        Value::from(i64::from(filter.limit.min(LISTED_MAX))),
        Value::from(to_stored(filter.after)),
    ];
    let mut conditions = vec!["seq > ?2".to_owned()];
    if let Some(principal) = &filter.principal {
        values.push(Value::from(principal.clone()));
        conditions.push(format!("principal = ?{}", values.len()));
    }
    if let Some(execution) = &filter.execution {
        values.push(Value::from(execution.to_string()));
        conditions.push(format!(
            "json_valid(line) AND line ->> '$.execution' = ?{}",
            values.len()
        ));
    }
    let order = if filter.newest { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT line, salt, detail FROM (
             SELECT seq, line, salt, detail FROM audit LEFT JOIN audit_detail USING (seq)
             WHERE {} ORDER BY seq {order} LIMIT ?1
         ) ORDER BY seq",
        conditions.join(" AND ")
    );
    connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(values), |row| {
            let line: String = row.get(0)?;
            let (salt, detail): (Option<Vec<u8>>, Option<String>) = (row.get(1)?, row.get(2)?);
            // A line that is not what was written is shown as it is: the check of the extract names it.
            Ok(export_line(&line, salt.as_deref(), detail.as_deref()).unwrap_or(line))
        })?
        .collect()
}
