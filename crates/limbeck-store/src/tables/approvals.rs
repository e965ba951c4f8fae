//! Table `approval`: questions to people about calls that are not sent yet.
//!
//! Column `state` is the state; the one in `body` is that of the time when the body was written.

use limbeck_domain::{Approval, ApprovalId, ApprovalState, ExecutionId};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params, params_from_iter};

use super::journal::{self, CallMarks};
use super::remembered;
use super::timestamp::to_stored;
use crate::error::StoreError;
use crate::journal_operation::encode;
use crate::reader::Reader;
use crate::records::{APPROVAL_BYTES_MAX, APPROVALS_PENDING_MAX, ApprovalFilter, Spent};

/// Questions of one listing.
const LISTED_MAX: u32 = 1_000;
/// Bytes of the questions of one listing, but for its last one.
pub(crate) const LISTED_BYTES_MAX: usize = 64 << 20;

/// A question and its entry, encoded.
pub(crate) struct EncodedQuestion {
    pub(crate) id: String,
    pub(crate) call: u32,
    pub(crate) created_us: u64,
    pub(crate) expires_us: u64,
    pub(crate) body: String,
    pub(crate) entry: String,
}

/// A row, its body not decoded.
pub(crate) struct EncodedApproval {
    pub(crate) row: i64,
    pub(crate) execution: i64,
    state: String,
    pub(crate) body: String,
}

impl EncodedApproval {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(0)?,
            execution: row.get(1)?,
            state: row.get(2)?,
            body: row.get(3)?,
        })
    }

    pub(crate) fn decode(&self, reader: &Reader<'_>) -> Result<Approval, StoreError> {
        let approval: Approval = reader.decode("approval", &self.body)?;
        let state = serde_json::Value::from(self.state.as_str()).to_string();
        Ok(Approval {
            state: reader.decode("approval", &state)?,
            ..approval
        })
    }
}

/// The body of a question.
pub(crate) fn body(approval: &Approval) -> Result<String, StoreError> {
    let body = encode(approval)?;
    if body.len() > APPROVAL_BYTES_MAX {
        return Err(StoreError::ApprovalTooLarge { bytes: body.len() });
    }
    Ok(body)
}

/// Adds questions of an execution that `owner` runs, and their entries.
pub(crate) fn ask(
    transaction: &Transaction<'_>,
    owner: &str,
    id: &ExecutionId,
    questions: &[EncodedQuestion],
) -> rusqlite::Result<Result<(), StoreError>> {
    let execution = match journal::running_row(transaction, owner, id)? {
        Ok(execution) => execution,
        Err(error) => return Ok(Err(error)),
    };
    let pending: u32 = transaction
        .prepare_cached(
            "SELECT count(*) FROM approval INDEXED BY approval_pending WHERE state = 'pending'
             AND principal = (SELECT principal FROM execution WHERE row = ?1)",
        )?
        .query_row([execution], |row| row.get(0))?;
    let room = APPROVALS_PENDING_MAX.saturating_sub(pending);
    if questions.len() > room as usize {
        return Ok(Err(StoreError::TooManyPending { pending }));
    }
    for (place, question) in questions.iter().enumerate() {
        let is_twice = questions
            .iter()
            .take(place)
            .any(|other| other.id == question.id);
        if is_twice || find_by(transaction, &question.id)?.is_some() {
            let id = question.id.clone();
            return Ok(Err(StoreError::DuplicateApproval { id }));
        }
    }
    for question in questions {
        add(transaction, execution, question, ApprovalState::Pending)?;
    }
    Ok(Ok(()))
}

/// Adds a question that a remembered choice answers, its entry, and those of the decisions.
pub(crate) fn add_approved(
    transaction: &Transaction<'_>,
    execution: i64,
    question: &EncodedQuestion,
    decided: &[String],
) -> rusqlite::Result<Result<(), StoreError>> {
    if find_by(transaction, &question.id)?.is_some() {
        let id = question.id.clone();
        return Ok(Err(StoreError::DuplicateApproval { id }));
    }
    add(transaction, execution, question, ApprovalState::Approved)?;
    for entry in decided {
        journal::add(transaction, execution, CallMarks::default(), entry)?;
    }
    Ok(Ok(()))
}

fn add(
    transaction: &Transaction<'_>,
    execution: i64,
    question: &EncodedQuestion,
    state: ApprovalState,
) -> rusqlite::Result<()> {
    let marks = CallMarks::default();
    journal::add(transaction, execution, marks, &question.entry)?;
    transaction
        .prepare_cached(
            "INSERT INTO approval
                 (id, execution, call, state, created_us, expires_us, principal, body)
             SELECT ?1, row, ?3, ?7, ?4, ?5, principal, ?6
             FROM execution WHERE row = ?2",
        )?
        .execute(params![
            question.id,
            execution,
            question.call,
            to_stored(question.created_us),
            to_stored(question.expires_us),
            question.body,
            state.as_str(),
        ])?;
    Ok(())
}

/// The question with this id.
pub(crate) fn find(
    connection: &Connection,
    id: &ApprovalId,
) -> rusqlite::Result<Option<EncodedApproval>> {
    find_by(connection, id.as_str())
}

fn find_by(connection: &Connection, id: &str) -> rusqlite::Result<Option<EncodedApproval>> {
    connection
        .prepare_cached("SELECT row, execution, state, body FROM approval WHERE id = ?1")?
        .query_row([id], EncodedApproval::read)
        .optional()
}

/// Questions, oldest first.
pub(crate) fn list(
    reader: &Reader<'_>,
    filter: &ApprovalFilter,
) -> Result<Vec<Approval>, StoreError> {
    let encoded = select(reader.connection, filter).map_err(|error| reader.error(error))?;
    let decoded = encoded.iter().map(|approval| approval.decode(reader));
    decoded.collect()
}

/// Condition that an approval has lists of approvers, and that each has one of the names in the JSON array of this parameter.
fn names_approver(parameter: usize) -> String {
    format!(
        "CASE WHEN json_valid(body) THEN
             json_array_length(body, '$.terms.approvers') > 0 AND NOT EXISTS (
                 SELECT 1 FROM json_each(body, '$.terms.approvers') AS list WHERE NOT EXISTS (
                     SELECT 1 FROM json_each(list.value) AS name
                     WHERE name.value IN (SELECT value FROM json_each(?{parameter}))))
         ELSE 0 END"
    )
}

fn select(
    connection: &Connection,
    filter: &ApprovalFilter,
) -> rusqlite::Result<Vec<EncodedApproval>> {
    let by_principal: String;
    let mut conditions = vec!["1"];
    let mut values = vec![Value::from(i64::from(filter.limit.min(LISTED_MAX)))];
    if filter.only_pending {
        conditions.push("state = 'pending'");
    }
    if let Some(execution) = &filter.execution {
        values.push(Value::from(execution.to_string()));
        conditions.push("execution = (SELECT row FROM execution WHERE id = ?2)");
    }
    if let Some(principal) = &filter.principal {
        values.push(Value::from(principal.clone()));
        let place = values.len();
        by_principal = if filter.approver.is_empty() {
            format!("principal = ?{place}")
        } else {
            values.push(Value::from(serde_json::json!(filter.approver).to_string()));
            format!("(principal = ?{place} OR {})", names_approver(place + 1))
        };
        conditions.push(&by_principal);
    }
    // The rows are chosen by an index, without a look at bodies, except for those of an approver.
    let sql = format!(
        "SELECT row, execution, state, body FROM approval WHERE row IN (
             SELECT row FROM approval WHERE {} ORDER BY row LIMIT ?1)
         ORDER BY row",
        conditions.join(" AND ")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    let mut bytes = 0;
    while bytes < LISTED_BYTES_MAX
        && let Some(row) = rows.next()?
    {
        let approval = EncodedApproval::read(row)?;
        bytes += approval.body.len();
        found.push(approval);
    }
    Ok(found)
}

/// Replaces the state and the body of a question.
pub(crate) fn replace(
    transaction: &Transaction<'_>,
    row: i64,
    state: ApprovalState,
    body: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE approval SET state = ?2, body = ?3 WHERE row = ?1")?
        .execute(params![row, state.as_str(), body])?;
    Ok(())
}

/// Replaces the state of a question.
pub(crate) fn set_state(
    transaction: &Transaction<'_>,
    row: i64,
    state: ApprovalState,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE approval SET state = ?2 WHERE row = ?1")?
        .execute(params![row, state.as_str()])?;
    Ok(())
}

/// Adds the intent of the call and marks its approval as spent, when it is approved and its time has not passed.
pub(crate) fn spend(
    transaction: &Transaction<'_>,
    owner: &str,
    id: &ExecutionId,
    approval: &ApprovalId,
    now_us: u64,
    intent: (CallMarks, &str),
) -> rusqlite::Result<Result<Spent, StoreError>> {
    let execution = match journal::running_row(transaction, owner, id)? {
        Ok(execution) => execution,
        Err(error) => return Ok(Err(error)),
    };
    let found = transaction
        .prepare_cached(
            "SELECT row, state, expires_us <= ?3 FROM approval WHERE id = ?1 AND execution = ?2",
        )?
        .query_row(
            params![approval.as_str(), execution, to_stored(now_us)],
            |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, bool>(2)?,
                ))
            },
        )
        .optional()?;
    let Some((row, state, is_late)) = found else {
        let id = approval.to_string();
        return Ok(Err(StoreError::UnknownApproval { id }));
    };
    match ApprovalState::from_name(&state) {
        Some(ApprovalState::Approved) if is_late => {
            Ok(Ok(Spent::NotApproved(ApprovalState::Expired)))
        }
        Some(ApprovalState::Approved) => {
            let (marks, entry) = intent;
            journal::add(transaction, execution, marks, entry)?;
            set_state(transaction, row, ApprovalState::Spent)?;
            Ok(Ok(Spent::Now))
        }
        Some(
            state @ (ApprovalState::Pending
            | ApprovalState::Denied
            | ApprovalState::Expired
            | ApprovalState::Withdrawn
            | ApprovalState::Spent),
        ) => Ok(Ok(Spent::NotApproved(state))),
        // A state that this version does not know lets no call out.
        None => Ok(Ok(Spent::NotApproved(ApprovalState::Withdrawn))),
    }
}

/// Ends a question that will not be spent.
pub(crate) fn withdraw(transaction: &Transaction<'_>, id: &ApprovalId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE approval SET state = 'withdrawn'
             WHERE id = ?1 AND state IN ('pending', 'approved')",
        )?
        .execute([id.as_str()])?;
    Ok(())
}

/// Ends the questions of an execution that ends: none of them will be spent. What was remembered for it is forgotten.
pub(crate) fn withdraw_of(
    transaction: &Transaction<'_>,
    execution: &ExecutionId,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE approval SET state = 'withdrawn'
             WHERE execution = (SELECT row FROM execution WHERE id = ?1)
               AND state IN ('pending', 'approved')",
        )?
        .execute([execution.as_str()])?;
    remembered::forget_of(transaction, execution)
}

/// Pending questions of an execution, oldest first.
pub(crate) fn pending_of(
    connection: &Connection,
    execution: i64,
) -> rusqlite::Result<Vec<EncodedApproval>> {
    connection
        .prepare_cached(
            "SELECT row, execution, state, body FROM approval
             WHERE execution = ?1 AND state = 'pending' ORDER BY row",
        )?
        .query_map([execution], EncodedApproval::read)?
        .collect()
}

/// The pending question whose time passed first.
pub(crate) fn first_late(
    connection: &Connection,
    now_us: u64,
) -> rusqlite::Result<Option<EncodedApproval>> {
    connection
        .prepare_cached(
            "SELECT row, execution, state, body FROM approval INDEXED BY approval_expiry
             WHERE state = 'pending' AND expires_us <= ?1 ORDER BY expires_us, row LIMIT 1",
        )?
        .query_row([to_stored(now_us)], EncodedApproval::read)
        .optional()
}

/// Gives each question that was created since `since_us` to `each`, oldest first. Memory is that of one question.
pub(crate) fn each(
    reader: &Reader<'_>,
    since_us: u64,
    mut each: impl FnMut(Approval),
) -> Result<(), StoreError> {
    let mut statement = reader
        .connection
        .prepare_cached(
            "SELECT row, execution, state, body FROM approval WHERE created_us >= ?1 ORDER BY row",
        )
        .map_err(|error| reader.error(error))?;
    let mut rows = statement
        .query([to_stored(since_us)])
        .map_err(|error| reader.error(error))?;
    while let Some(row) = rows.next().map_err(|error| reader.error(error))? {
        let found = EncodedApproval::read(row).map_err(|error| reader.error(error))?;
        each(found.decode(reader)?);
    }
    Ok(())
}

/// A number that grows with each change of the table.
pub(crate) fn changes(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(count), 0) FROM approval_change")?
        .query_row([], |row| row.get(0))
}

/// Removes arguments above `kept` bytes from the questions of an execution that ended; their hash stays.
pub(crate) fn remove_arguments(
    transaction: &Transaction<'_>,
    execution: i64,
    kept: usize,
) -> rusqlite::Result<()> {
    let large: Vec<i64> = transaction
        .prepare_cached(
            "SELECT row FROM approval WHERE execution = ?1 AND octet_length(body) > ?2 ORDER BY row",
        )?
        .query_map(params![execution, kept as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for row in large {
        let body: String = transaction
            .prepare_cached("SELECT body FROM approval WHERE row = ?1")?
            .query_row([row], |row| row.get(0))?;
        let Ok(mut approval) = serde_json::from_str::<Approval>(&body) else {
            continue;
        };
        if approval.arguments.len() <= kept {
            continue;
        }
        approval.arguments.clear();
        if let Ok(body) = serde_json::to_string(&approval) {
            transaction
                .prepare_cached("UPDATE approval SET body = ?2 WHERE row = ?1")?
                .execute(params![row, body])?;
        }
    }
    Ok(())
}
