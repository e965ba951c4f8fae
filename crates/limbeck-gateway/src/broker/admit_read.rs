//! Admission of a program's read, which a person may have to allow first.
//!
//! As with calls ([`super::invoke_approved`]) the read holds nothing that others wait for while a person thinks, and after the
//! answer everything is decided again.

use std::sync::Arc;

use limbeck_domain::{CallCode, CallError, EffectClass, HostCall};
use limbeck_policy::{DecidedRead, ReadPermit, ReadQuestion, ReadRequest};
use tokio::sync::OwnedSemaphorePermit;

use super::answer_budget::{AnswerPermit, CALL_BYTES_MIN, Work};
use super::invoke_approved::{ASKED_MAX, edited_note};
use super::prepare::{RefusedCall, denied_error};
use super::read::Reading;
use super::{Broker, read_tool};
use crate::config::other_principal;
use crate::policy_in_force::PolicyVersion;

/// A read that is sent next.
pub(super) struct AdmittedRead {
    pub(super) reading: Reading,
    /// Room for the result.
    pub(super) room: AnswerPermit,
    /// Place among the calls that the server has of this execution.
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// Reports that a person changed the params.
    pub(super) note: Option<String>,
}

/// A permit for one request of a read, and the policy that gave it; otherwise the question about the read.
type Asked<T> = Result<T, Box<ReadQuestion>>;

impl Broker {
    /// Admits a read of an execution: asks a person where the policy says so, reserves room for the result, and waits until the
    /// server can take it.
    pub(super) async fn admit_read(&self, call: &HostCall) -> Result<AdmittedRead, RefusedCall> {
        let unresolved = |error| RefusedCall { error, tool: None };
        let mut reading = self.reading(&call.body).await.map_err(unresolved)?;
        for _ in 0..=ASKED_MAX {
            let refused = |error, reading: &Reading| RefusedCall {
                error,
                tool: Some(reading.target()),
            };
            let decided = self.decide_reading(&reading, None);
            let tool = read_tool::tool_of(&reading.server, reading.method);
            let Err(question) = decided.map_err(unresolved)? else {
                // The rules may ask no more: what a person said about this read counts all the same.
                if reading.approved.is_none()
                    && let Some(error) = self.denied_earlier(call, &tool).await
                {
                    return Err(refused(error, &reading));
                }
                let target = reading.target();
                let budgets = self.budgets_of(&target, EffectClass::Read, reading.params.len());
                let paced = self.paced(&budgets, None, None).await;
                paced.map_err(|error| refused(error, &reading))?;
                return Ok(self.place_read(call, reading).await);
            };
            if let Some(earlier) = reading.approved.take() {
                self.withdraw(&earlier).await;
            }
            let before = self.refused_before_asking(question.question()).await;
            before.map_err(|error| refused(error, &reading))?;
            let pin = read_tool::pin_of(reading.method);
            let answer = self.approved(call, &tool, question.question(), &pin).await;
            let answer = answer.map_err(|error| refused(error, &reading))?;
            if let Some(edited) = &answer.edited {
                reading.params.clone_from(edited);
            }
            reading.approved = Some(Arc::new(answer));
        }
        Err(unsettled(&reading))
    }

    async fn place_read(&self, call: &HostCall, reading: Reading) -> AdmittedRead {
        let room = self.answers.reserve(Work::Remote, CALL_BYTES_MIN).await;
        let slot = self.slot_at(&reading.server).await;
        let principal = other_principal(&self.principal);
        let upstreams = &self.context.upstreams;
        let place = upstreams.place(&reading.server, principal.as_ref()).await;
        let approved = reading.approved.as_ref();
        let is_edited = approved.is_some_and(|approved| approved.edited.is_some());
        AdmittedRead {
            note: is_edited.then(|| edited_note(call, None)),
            reading: Reading { place, ..reading },
            room,
            slot,
        }
    }

    /// Decides about one request of a read by the newest policy. `cursor` is that of a further page of a list: what a person
    /// allowed is the list.
    ///
    /// # Errors
    ///
    /// The error of a read that is denied.
    pub(super) fn decide_reading(
        &self,
        reading: &Reading,
        cursor: Option<&str>,
    ) -> Result<Asked<(ReadPermit, Arc<PolicyVersion>)>, CallError> {
        let request = ReadRequest {
            server: reading.server.clone(),
            method: reading.method,
            params: reading.params.clone(),
        };
        let by = self.context.policy.newest();
        let pin = read_tool::pin_of(reading.method);
        let approved = reading.approved.as_deref();
        let approved = approved.map(|approved| (approved, pin.as_str()));
        let decide = |request: ReadRequest| {
            let decided = by.decide_read_or_ask(request, &self.scope, &self.requester(), approved);
            decided.map_err(|denied| denied_error(&denied))
        };
        let page = cursor.and_then(|cursor| request.next_page(cursor));
        let permit = match decide(request)? {
            DecidedRead::Permit(permit) => permit,
            DecidedRead::Ask(question) => return Ok(Err(question)),
        };
        // A page that a rule denies is not read. One that it asks about is a part of what was decided about.
        if let Some(page) = page {
            drop(decide(page)?);
        }
        let permit = match cursor {
            Some(cursor) => permit.next_page(cursor),
            None => permit,
        };
        Ok(Ok((permit, by)))
    }

    /// [`Self::decide_reading`], where no person can be asked any more.
    ///
    /// # Errors
    ///
    /// The error of a read that is denied, or that a person has to allow first.
    pub(super) fn permit_of(
        &self,
        reading: &Reading,
        cursor: Option<&str>,
    ) -> Result<(ReadPermit, Arc<PolicyVersion>), CallError> {
        let decided = self.decide_reading(reading, cursor)?;
        decided.map_err(|question| denied_error(&question.into_denied()))
    }
}

/// A read whose rules changed each time that a person had answered.
fn unsettled(reading: &Reading) -> RefusedCall {
    let tool = reading.target();
    let message = format!(
        "the rules about `{tool}` changed each time that a person had answered, so it was not sent"
    );
    let error =
        CallError::new(CallCode::Denied, message).with_target(tool.server.as_str(), &*tool.tool);
    RefusedCall {
        error,
        tool: Some(tool),
    }
}
