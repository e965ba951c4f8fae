//! Calls in doubt that need no person, because the operator said how they are settled: `[policy.in_doubt]`.
//!
//! A call is made again where that is the same as making it once: by the word of the operator, or with the key that it was
//! sent with. Else a read finds out whether it happened; where that read fails or does not say, the call stays in doubt.

use std::sync::Arc;

use limbeck_domain::{CallForm, Settlement, ToolTarget};
use limbeck_policy::Verify;
use limbeck_store::{DoubtfulCall, ExecutionRecord, NO_GUEST};
use limbeck_upstream::CallContext;
use serde_json::{Value, json};

use super::handle::Executor;
use super::resume::ResumeError;
use crate::broker::{Broker, CallKey, Journal};

impl Executor {
    /// Settles the calls in doubt of an execution, all of them or none. Returns whether they are settled.
    ///
    /// # Errors
    ///
    /// [`ResumeError::Store`]
    pub(super) async fn settle_by_operator(
        &self,
        record: &ExecutionRecord,
        context: &CallContext,
    ) -> Result<bool, ResumeError> {
        // A direct call has no program that would go on.
        if record.guest_hash == NO_GUEST {
            return Ok(false);
        }
        let (id, store) = (&record.row.id, &self.broker.store);
        let calls = store.in_doubt(id).await?;
        let mut settled = Vec::with_capacity(calls.len());
        for call in &calls {
            match self.found_out(record, call, context).await {
                Some(how) => settled.push((call.call.id, how)),
                None => return Ok(false),
            }
        }
        for (call, how) in settled {
            tracing::info!(execution = %id, %call, ?how, "a call in doubt was settled by the operator's word");
            // False where a person was faster.
            store.settle(id, call, how).await?;
        }
        Ok(!calls.is_empty())
    }

    /// What is done with a call in doubt; `None` when a person has to say it.
    async fn found_out(
        &self,
        record: &ExecutionRecord,
        call: &DoubtfulCall,
        context: &CallContext,
    ) -> Option<Settlement> {
        let newest = self.broker.policy.newest();
        let rule = newest.policy().in_doubt.of(call.tool.as_ref()?)?;
        let key = rule.key.clone().map(|place| {
            let execution = Some(&record.row.id);
            CallKey::new(place, execution, call.call.id)
        });
        // Only with the very key that it was sent with.
        let has_key = key.is_some_and(|key| call.key.as_deref() == Some(key.value()));
        if rule.is_idempotent || has_key {
            return Some(Settlement::Retry);
        }
        let verify = rule.verify.as_ref()?;
        match self.is_shown(verify, record, call, context).await? {
            true => Some(Settlement::Happened { result: None }),
            false => Some(Settlement::Retry),
        }
    }

    /// Whether the operator's read shows the call; `None` when it fails or does not say.
    async fn is_shown(
        &self,
        verify: &Verify,
        record: &ExecutionRecord,
        call: &DoubtfulCall,
        context: &CallContext,
    ) -> Option<bool> {
        let (of_call, key) = (
            serde_json::from_str(&call.call.body).ok()?,
            call.key.as_deref(),
        );
        let arguments = verify.arguments(&of_call, key)?.to_string();
        let principal: Arc<str> = record.row.principal.as_str().into();
        let broker = Broker::new(
            &self.broker,
            &principal,
            Journal::unrecorded(),
            context.clone(),
        );
        let target = ToolTarget {
            server: Some(verify.tool.server.to_string()),
            tool: verify.tool.tool.to_string(),
            form: CallForm::Raw,
        };
        let (read, _) = broker.call_once(&target, &arguments).await;
        match read.and_then(|report| report.value) {
            Ok(value) => verify.shows(&as_object(&value), &of_call, key),
            Err(error) => {
                tracing::warn!(execution = %record.row.id, tool = %verify.tool, %error, "it could not be found out whether a call happened");
                None
            }
        }
    }
}

/// The value of a result as an object, as conditions look into it: JSON in a text is read, and what is no object is its `result`.
fn as_object(value: &str) -> Value {
    let mut value: Value = serde_json::from_str(value).unwrap_or(Value::Null);
    if let Some(inner) = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
    {
        value = inner;
    }
    match value {
        Value::Object(_) => value,
        other => json!({ "result": other }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_a_text_is_read_and_what_is_no_object_is_a_result() {
        assert_eq!(as_object(r#"{"id":1}"#), json!({"id": 1}));
        assert_eq!(as_object(r#""{\"id\":1}""#), json!({"id": 1}));
        assert_eq!(as_object("[1]"), json!({"result": [1]}));
        assert_eq!(as_object(r#""[1]""#), json!({"result": [1]}));
        assert_eq!(as_object(r#""not found""#), json!({"result": "not found"}));
        assert_eq!(as_object("null"), json!({"result": null}));
    }
}
