//! One attempt to make a direct call: its first, or one after people have decided about it.
//!
//! An attempt ends with the result of the call, or waits for a person. Then it is dropped: nothing was sent, the question is in
//! the store, and the execution is paused, so that any process can go on with it.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use limbeck_domain::{
    ApprovalId, CallCode, CallError, CallId, EffectClass, Effects, Envelope, ErrorKind,
    ExecutionId, ExecutionLimits, ExecutionStatus, HostCall, HostOp, Language, ProgramError,
    ToolTarget,
};
use limbeck_store::{ApprovalFilter, ExecutionSummary, PausedExecution, StoreError};
use limbeck_upstream::{CallContext, UpstreamError};
use serde_json::value::RawValue;

use super::{DirectError, ORIGIN};
use crate::approvals::{Asks, OnAsk};
use crate::broker::{
    Answer, Broker, BrokerContext, CallerKind, Invoked, Journal, ProgramText, ReadForm,
};
use crate::clock::now_us;
use crate::store_errors::call_error;

/// One attempt to make a direct call.
pub(crate) struct DirectAttempt {
    /// Its execution, which this process has.
    pub(crate) id: ExecutionId,
    pub(crate) principal: Arc<str>,
    pub(crate) journal: Journal,
    pub(crate) call: HostCall,
    /// The program that it is recorded with.
    pub(crate) program: String,
    /// When the execution began, in microseconds since 1970.
    pub(crate) created_us: u64,
    /// The question that the journal has of the call.
    pub(crate) asked: BTreeMap<CallId, ApprovalId>,
}

/// The result of a call or read, as the server sent it.
type DirectResult = Result<Box<RawValue>, DirectError>;

/// How an attempt went.
#[derive(Debug)]
pub(crate) enum Attempted {
    /// The execution has ended with this result, which is as the server sent it.
    Ended(Result<Box<RawValue>, DirectError>),
    /// It is paused until a person has decided.
    Waits,
}

impl DirectAttempt {
    /// Makes the call, as far as people have decided.
    pub(crate) async fn make(
        self,
        broker: &Arc<BrokerContext>,
        context: CallContext,
        on_ask: OnAsk,
    ) -> Attempted {
        let asks = Asks::new(on_ask, self.asked.clone());
        let program = ProgramText::new(
            self.program.clone(),
            Language::Typescript,
            ORIGIN.to_owned(),
        );
        let calls = Broker::new(broker, &self.principal, self.journal.clone(), context)
            .with_asks(Arc::clone(&asks), program);
        // What the client gave is the input of the program.
        calls.note_input(&self.call.body);
        let answered = {
            let mut answered = pin!(self.answer(&calls));
            loop {
                tokio::select! {
                    biased;
                    answered = &mut answered => break Some(answered),
                    // Where it was decided at once, it goes on.
                    () = asks.began_waiting() => if asks.waiting() > 0 {
                        break None;
                    }
                }
            }
        };
        match answered {
            Some((result, reached)) => self.ended(broker, result, reached).await,
            None => match self.pause(broker).await {
                Ok(()) => Attempted::Waits,
                Err(error) => {
                    let what = "the call could not wait for a person, so it was not sent";
                    let error = call_error(&error, what);
                    self.ended(broker, Err(error.into()), None).await
                }
            },
        }
    }

    /// Makes the call or the read. Also what it may have done; `None` when nothing was sent.
    async fn answer(&self, calls: &Broker) -> (DirectResult, Option<EffectClass>) {
        if self.call.op == HostOp::Read {
            let Answer {
                result, reached, ..
            } = calls.answer_read_as(self.call.clone(), ReadForm::Raw).await;
            let result = result.and_then(|text| RawValue::from_string(text).map_err(not_json));
            return (result.map_err(DirectError::from), reached);
        }
        let target: ToolTarget = match serde_json::from_str(&self.call.head) {
            Ok(target) => target,
            Err(error) => return (Err(not_json(error).into()), None),
        };
        let Invoked {
            result, reached, ..
        } = calls
            .invoke(self.call.clone(), &target, CallerKind::Direct)
            .await;
        let result = match result {
            Ok(output) => output.into_json().map_err(DirectError::from),
            Err(error) => Err(error.into()),
        };
        (result, reached)
    }

    /// Gives the execution up until people have decided.
    async fn pause(&self, broker: &BrokerContext) -> Result<(), StoreError> {
        let pending = ApprovalFilter {
            execution: Some(self.id.clone()),
            only_pending: true,
            limit: 1,
            ..ApprovalFilter::default()
        };
        let pending = broker.store.approvals(pending).await?;
        let paused = PausedExecution {
            wall_left_ms: ExecutionLimits::default().wall_ms,
            wake_us: None,
            expires_us: pending.iter().map(|approval| approval.expires_us).min(),
        };
        broker.store.pause(&self.id, paused).await
    }

    /// Writes the end of the execution.
    async fn ended(
        &self,
        broker: &BrokerContext,
        result: Result<Box<RawValue>, DirectError>,
        reached: Option<EffectClass>,
    ) -> Attempted {
        let error = result.as_ref().err().map(program_error);
        write_end(broker, &self.id, self.created_us, error, reached).await;
        Attempted::Ended(result)
    }
}

/// Writes the end of an execution of one call that began at `created_us`.
pub(super) async fn write_end(
    broker: &BrokerContext,
    id: &ExecutionId,
    created_us: u64,
    error: Option<ProgramError>,
    reached: Option<EffectClass>,
) {
    let status = match &error {
        None => ExecutionStatus::Completed,
        Some(error) if error.kind == ErrorKind::Cancelled => ExecutionStatus::Cancelled,
        Some(_) => ExecutionStatus::Failed,
    };
    let effects = effects_of(reached);
    let envelope = Envelope {
        error,
        effects: Some(effects).filter(|effects| effects.reads + effects.writes > 0),
        ..Envelope::new(id.clone(), status)
    };
    let summary = ExecutionSummary {
        calls: 1,
        took_us: now_us().saturating_sub(created_us),
    };
    if let Err(error) = broker.store.finish(id, &envelope, summary).await {
        tracing::error!(execution = %id, error = &error as &dyn std::error::Error, "end of a direct call could not be written");
    }
}

fn not_json(error: serde_json::Error) -> CallError {
    CallError::new(CallCode::GatewayFault, error.to_string())
}

/// The error that the execution of a failed call has.
pub(crate) fn program_error(error: &DirectError) -> ProgramError {
    match error {
        DirectError::Upstream(UpstreamError::Cancelled | UpstreamError::CancelledUnsent) => {
            given_up()
        }
        // It waited for its place at the server.
        DirectError::Call(error) if error.code == CallCode::Cancelled => given_up(),
        DirectError::Upstream(error) => ProgramError::new(ErrorKind::Exception, error.full_text()),
        DirectError::Call(error) => {
            let shown = ProgramError::new(ErrorKind::Exception, &error.message);
            match &error.hint {
                Some(hint) => shown.with_hint(hint.as_str()),
                None => shown,
            }
        }
    }
}

fn given_up() -> ProgramError {
    ProgramError::new(ErrorKind::Cancelled, "the client gave the call up")
}

/// Effects of one call; none when nothing was sent.
fn effects_of(reached: Option<EffectClass>) -> Effects {
    match reached {
        Some(effect) if effect.may_write() => Effects {
            reads: 0,
            writes: 1,
        },
        Some(_) => Effects {
            reads: 1,
            writes: 0,
        },
        None => Effects::default(),
    }
}
