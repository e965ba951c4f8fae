//! Answers of calls that were in doubt, by the word of a person, and of calls that are repeated from the journal.

use std::time::Instant;

use limbeck_domain::{CallCode, CallError, CallForm, EffectClass, HostCall, Settlement};
use serde_json::value::RawValue;

use super::answer_budget::Work;
use super::prepare::target_of;
use super::queries;
use super::result_value::value_for_program;
use super::{Answer, Broker};

impl Broker {
    /// Answers a call of which a person said what happened to it. Nothing is sent, except for one that is tried again: it is
    /// decided again.
    pub(crate) async fn answer_settled(&self, call: HostCall, how: Settlement) -> Answer {
        let (id, started) = (call.id, Instant::now());
        let (result, reached) = match how {
            Settlement::Retry => return self.answer(call).await,
            Settlement::Happened { result } => {
                let result = match result {
                    Some(result) => self.value_of_settled(&call, result).await,
                    None => Ok("null".to_owned()),
                };
                (result, Some(EffectClass::Unknown))
            }
            Settlement::DidNotHappen => {
                let error = CallError::new(
                    CallCode::NotSent,
                    "the call did not happen, as a person found out",
                );
                (Err(error.retryable()), None)
            }
            Settlement::GiveUp => {
                let error = CallError::new(
                    CallCode::InDoubt,
                    "it is not known whether the call happened",
                )
                .with_hint("do not repeat it: check with a read what the server has");
                (Err(error), Some(EffectClass::Unknown))
            }
        };
        let text = result.as_ref().map(String::as_str);
        let not_sent = reached.is_none();
        let written = self
            .journal
            .outcome_of(id, text, EffectClass::Unknown, not_sent, started);
        let result = match written.await {
            Ok(()) => result,
            Err(error) => Err(error),
        };
        Answer {
            reached,
            ..Answer::of(id, result)
        }
    }

    /// What the program gets of the result that a person gave.
    async fn value_of_settled(&self, call: &HostCall, result: String) -> Result<String, CallError> {
        let target = target_of(call)?;
        let result = RawValue::from_string(result).map_err(|error| {
            let message = format!("the result that a person gave is not JSON: {error}");
            CallError::new(CallCode::GatewayFault, message)
        })?;
        if target.form == CallForm::Raw {
            return Ok(Box::<str>::from(result).into_string());
        }
        let resolved = self
            .resolve(&target)
            .await
            .map_err(|refused| refused.error)?;
        value_for_program(&result, resolved.tool.definition())
    }

    /// Emits again what a call of the journal emitted. What is gone meanwhile, such as an artifact, is left out.
    pub(crate) async fn emit_again(&self, call: &HostCall) {
        let Ok(body) = queries::parse(&call.body) else {
            return;
        };
        let room = queries::room_of(call);
        let mut room = self.answers.reserve(Work::Own, room).await;
        if let Err(error) = self.emit(call.id, body, &mut room).await {
            tracing::warn!(call = %call.id, error = %error, "a block could not be emitted again");
        }
    }
}
