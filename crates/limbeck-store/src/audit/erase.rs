//! Erasure of what records commit to: salts, and the words of people. The lines and their chains stay.

use limbeck_domain::ExecutionId;
use rusqlite::types::Value;
use rusqlite::{Transaction, params_from_iter};

use super::noted::{AuditEvent, AuditEventKind};
use crate::tables::timestamp::to_stored;

/// Whose salts and words are erased. What is not set limits nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditErasure {
    /// Those of one principal.
    pub principal: Option<String>,
    /// Those of one execution.
    pub execution: Option<ExecutionId>,
    /// Those with a lower number.
    pub before: Option<u64>,
}

/// Erases, and notes that it was done. Returns the number of records that had something to erase.
pub(crate) fn erase(
    transaction: &Transaction<'_>,
    erasure: &AuditErasure,
) -> rusqlite::Result<u64> {
    let mut values = Vec::new();
    let mut conditions = vec!["salt IS NOT NULL".to_owned()];
    let mut condition = |text: &str, value: Value| {
        values.push(value);
        conditions.push(text.replace('#', &format!("?{}", values.len())));
    };
    let mut said = Vec::new();
    if let Some(principal) = &erasure.principal {
        condition("principal = #", Value::from(principal.clone()));
        said.push(format!("principal {principal}"));
    }
    if let Some(execution) = &erasure.execution {
        let of_execution = "json_valid(line) AND line ->> '$.execution' = #";
        condition(of_execution, Value::from(execution.to_string()));
        said.push(format!("execution {execution}"));
    }
    if let Some(before) = erasure.before {
        condition("seq < #", Value::from(to_stored(before)));
        said.push(format!("before {before}"));
    }
    // A record with a text has a salt.
    let which = conditions.join(" AND ");
    let texts =
        format!("DELETE FROM audit_detail WHERE seq IN (SELECT seq FROM audit WHERE {which})");
    transaction.execute(&texts, params_from_iter(&values))?;
    let salts = format!("UPDATE audit SET salt = NULL WHERE {which}");
    let erased = transaction.execute(&salts, params_from_iter(&values))?;
    let event = AuditEvent {
        status: Some(format!("{erased} records of {}", said.join(", "))),
        ..AuditEvent::new(AuditEventKind::Erase, "")
    };
    event.note(transaction)?;
    Ok(u64::try_from(erased).unwrap_or(u64::MAX))
}
