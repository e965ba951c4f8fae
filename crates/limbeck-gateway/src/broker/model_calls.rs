//! The path of a program's question to a model: read, decide, reserve, journal, put, settle.
//!
//! The client is asked first, where it declared that it can. Where it says that it cannot after all, the configured provider is
//! asked, for the rest of the run. A person who refused, and a client that failed, are the end of the question: no provider gets
//! what a person did not want to be put.

mod client;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use limbeck_catalog::schema_mismatch;
use limbeck_domain::text::cut;
use limbeck_domain::{CallCode, CallError, EffectClass, HostCall, ModelTerms};
use limbeck_policy::{DecidedModel, ModelPermit, ModelRequest};
use limbeck_upstream::models::{ModelAnswer, ModelPrompt, Speaker};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::answer_budget::{AnswerPermit, CALL_BYTES_MIN, Work};
use super::invoke_approved::{ASKED_MAX, edited_note};
use super::journal::Intent;
use super::model_prompt::{Prompt, label, request_of};
use super::prepare::{RefusedCall, denied_error};
use super::{Answer, Broker, cancelled, model_tool, result_bytes};
use crate::approvals::Approved;
use crate::clock::now_us;
use crate::models::quota::{QuotaError, Reservation, estimate};
use crate::models::{LeftJson, ModelAnswerJson, ModelQuota, ModelRound, filtered};

/// Answers of a model that do not fit a schema before the question fails: the first, and one that it corrected.
const ROUNDS_OF_SCHEMA: usize = 2;
/// Bytes of an answer that does not fit, in the question that asks to correct it.
const WRONG_ANSWER_BYTES_MAX: usize = 64 << 10;

/// Questions of one run.
#[derive(Debug)]
pub(crate) struct ModelRun {
    terms: ModelTerms,
    quota: Arc<ModelQuota>,
    /// The client said that it cannot answer, although it had declared that it can.
    client_cannot: AtomicBool,
}

impl ModelRun {
    /// The questions of a run with these terms, of which an earlier part has used rounds and tokens.
    pub(crate) fn new(terms: &ModelTerms, used: (u32, u64)) -> Arc<Self> {
        Arc::new(Self {
            quota: ModelQuota::new(terms, used),
            terms: terms.clone(),
            client_cannot: AtomicBool::new(false),
        })
    }
}

impl Default for ModelRun {
    /// No questions.
    fn default() -> Self {
        Self {
            terms: ModelTerms::default(),
            quota: ModelQuota::new(&ModelTerms::default(), (0, 0)),
            client_cannot: AtomicBool::new(false),
        }
    }
}

/// A question that is put next.
struct AdmittedQuestion {
    permit: ModelPermit,
    prompt: Prompt,
    approved: Option<Arc<Approved>>,
    reservation: Reservation,
    room: AnswerPermit,
    note: Option<String>,
}

/// Why a question has no answer.
struct Unanswered {
    error: CallError,
    /// Whether neither client nor provider got it.
    not_sent: bool,
}

impl Unanswered {
    fn sent(error: CallError) -> Self {
        Self {
            error,
            not_sent: false,
        }
    }
}

/// One answer, and who gave it.
struct Answered {
    answer: ModelAnswer,
    via: &'static str,
}

impl Broker {
    /// Answers one question to a model and writes both ends of it into the journal.
    pub(super) async fn answer_llm(&self, call: HostCall) -> Answer {
        let (id, started) = (call.id, Instant::now());
        let admitted = tokio::select! {
            biased;
            () = self.reads.cancelled() => Err(RefusedCall::cancelled()),
            admitted = self.admit_question(&call) => admitted,
        };
        let AdmittedQuestion {
            permit,
            prompt,
            approved,
            reservation,
            mut room,
            note,
        } = match admitted {
            Ok(admitted) => admitted,
            Err(RefusedCall { error, tool }) => {
                return self.refuse(call, tool, error, started).await;
            }
        };
        let tool = permit.request().action.tool();
        let intent = Intent {
            call,
            tool: &tool,
            effect: EffectClass::Read,
            key: None,
            plan_line: None,
        };
        let journalled = match &approved {
            Some(approved) => self.journal.intent_approved(intent, &approved.id).await,
            None => self.journal.intent(intent).await,
        };
        if let Err(error) = journalled {
            reservation.refund();
            return Answer::of(id, Err(error));
        }
        let asked = tokio::select! {
            biased;
            // Dropping the question ends it at the provider and at the client.
            () = self.reads.cancelled() => Err(Unanswered::sent(cancelled())),
            asked = self.ask_model(&permit, prompt, reservation) => asked,
        };
        let (result, not_sent) = match asked {
            Ok(json) => (Ok(json), false),
            Err(Unanswered { error, not_sent }) => {
                let error = error.with_target(tool.server.as_str(), &*tool.tool);
                (Err(error), not_sent)
            }
        };
        room.set(result_bytes(&result));
        let text = result.as_ref().map(String::as_str);
        let outcome = self
            .journal
            .outcome_of(id, text, EffectClass::Read, not_sent, started);
        let result = match outcome.await {
            Ok(()) => result,
            Err(error) => Err(error),
        };
        if let Ok(json) = &result {
            // A person who is asked about a later call sees which of its arguments a model wrote.
            self.note_received(id, &tool, json);
        }
        Answer {
            reached: (!not_sent).then_some(EffectClass::Read),
            note,
            permit: Some(room),
            ..Answer::of(id, result)
        }
    }

    /// Admits a question: someone has to be there to answer, the run has to be allowed to ask, and the policy too. Reserves a round
    /// and tokens last, so that what is refused costs nothing.
    async fn admit_question(&self, call: &HostCall) -> Result<AdmittedQuestion, RefusedCall> {
        let unread = |error| RefusedCall { error, tool: None };
        let mut request = request_of(&call.body).map_err(unread)?;
        let tool = model_tool::tool_of(request.action);
        let refused = |error: CallError| {
            let id = tool.id();
            RefusedCall::of(&tool, error.with_target(id.server.as_str(), &*id.tool))
        };
        self.may_ask(&request).map_err(refused)?;
        let pin = model_tool::pin_of(request.action);
        let mut approved: Option<Arc<Approved>> = None;
        for _ in 0..=ASKED_MAX {
            let models = &self.context.models;
            let prompt = Prompt::read(&request, &self.models.terms, models).map_err(refused)?;
            let policy = self.context.policy.newest();
            let with_pin = approved.as_deref().map(|it| (it, pin.as_str()));
            let decided = policy.decide_model_or_ask(
                request.clone(),
                &self.scope,
                &self.requester(),
                with_pin,
            );
            let question = match decided.map_err(|denied| refused(denied_error(&denied)))? {
                DecidedModel::Permit(permit) => {
                    // The rules may ask no more: what a person said about this question counts all the same.
                    if approved.is_none()
                        && let Some(error) = self.denied_earlier(call, &tool).await
                    {
                        return Err(refused(error));
                    }
                    let is_edited = approved.as_ref().is_some_and(|it| it.edited.is_some());
                    let admitted = self.reserved(permit, prompt).await.map_err(refused)?;
                    return Ok(AdmittedQuestion {
                        note: match is_edited {
                            true => Some(edited_note(call, admitted.note)),
                            false => admitted.note,
                        },
                        approved,
                        ..admitted
                    });
                }
                DecidedModel::Ask(question) => question,
            };
            if let Some(earlier) = approved.take() {
                self.withdraw(&earlier).await;
            }
            let answer = self.approved(call, &tool, question.question(), &pin).await;
            let answer = answer.map_err(refused)?;
            if let Some(edited) = &answer.edited {
                let arguments = limbeck_domain::CompactArguments::parse(edited);
                let (arguments, _) = arguments.map_err(|error| {
                    refused(CallError::new(
                        CallCode::InvalidArguments,
                        error.to_string(),
                    ))
                })?;
                request = ModelRequest {
                    arguments,
                    ..request
                };
            }
            approved = Some(Arc::new(answer));
        }
        let message = format!(
            "the rules about `{}` changed each time that a person had answered, so it was not put",
            label(request.action)
        );
        Err(refused(CallError::new(CallCode::Denied, message)))
    }

    /// Refuses a question where the run may ask none, or there is neither client nor provider to answer.
    fn may_ask(&self, request: &ModelRequest) -> Result<(), CallError> {
        let label = label(request.action);
        let off = |why: &str, hint: &str| {
            let message = format!("{label}: {why}");
            Err(CallError::new(CallCode::Unsupported, message).with_hint(hint))
        };
        let models = &self.context.models;
        if !models.config().enabled {
            return off(
                "sampling is not enabled: the user has turned questions to models off",
                "`return` the data and answer yourself; `enabled` of [llm] turns them on",
            );
        }
        if !self.models.terms.enabled {
            return off(
                "sampling is not enabled for this execution",
                "pass `enableSampling: true` with the request, or `return` the data and answer yourself",
            );
        }
        if self.client_can_answer() || models.provider(&self.models.terms).is_some() {
            return Ok(());
        }
        match models.problem() {
            Some(problem) => off(
                &format!("the provider that the user configured cannot be used: {problem}"),
                "correct [llm] in the user's configuration",
            ),
            None => off(
                "sampling is not enabled: this client cannot sample, and no provider is configured",
                "`return` the data and answer yourself; a client that offers sampling, or a provider in [llm] of the user's configuration, answers such questions",
            ),
        }
    }

    fn client_can_answer(&self) -> bool {
        let caller = self.caller.as_ref();
        caller.is_some_and(|caller| caller.capabilities().sampling)
            && !self.models.client_cannot.load(Ordering::Relaxed)
    }

    /// Reserves a round, tokens and room for the answer.
    async fn reserved(
        &self,
        permit: ModelPermit,
        mut prompt: Prompt,
    ) -> Result<AdmittedQuestion, CallError> {
        let label = label(permit.request().action);
        if let Some(schema) = &prompt.schema {
            let instruction = format!(
                "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n{schema}"
            );
            prompt.add(&instruction);
        }
        let wanted = prompt.max_tokens;
        let reserved = self.models.quota.reserve(prompt.tokens(), wanted).await;
        let reservation = reserved.map_err(|error| self.over_quota(&label, error))?;
        let note = (reservation.answer_tokens < wanted).then(|| {
            format!(
                "{label}: the answer was limited to {} tokens instead of {wanted}, because no more were left for this execution",
                reservation.answer_tokens
            )
        });
        let room = self.answers.reserve(Work::Remote, CALL_BYTES_MIN).await;
        Ok(AdmittedQuestion {
            permit,
            prompt,
            approved: None,
            reservation,
            room,
            note,
        })
    }

    fn over_quota(&self, label: &str, error: QuotaError) -> CallError {
        let terms = &self.models.terms;
        let message = match error {
            QuotaError::Rounds => format!(
                "{label}: the quota of {} rounds of this execution is used up",
                terms.rounds
            ),
            QuotaError::Tokens { left, prompt } => format!(
                "{label}: the quota of {} tokens of this execution has {left} left, and the prompt has about {prompt}",
                terms.tokens
            ),
        };
        CallError::new(CallCode::LimitExceeded, message).with_hint(
            "ask less, or several things in one question; `budget.llm` has what is left, and the user's [llm] how much there is",
        )
    }

    /// Puts a question, and once more where its answer does not fit the schema that was asked for.
    async fn ask_model(
        &self,
        permit: &ModelPermit,
        mut prompt: Prompt,
        reservation: Reservation,
    ) -> Result<String, Unanswered> {
        let mut reservation = Some(reservation);
        let mut rounds = Vec::new();
        let schema = prompt.schema.take();
        let mut problem = String::new();
        for _ in 0..ROUNDS_OF_SCHEMA {
            let reserved = match reservation.take() {
                Some(reserved) => reserved,
                None => {
                    let quota = &self.models.quota;
                    let reserved = quota.reserve(prompt.tokens(), prompt.max_tokens).await;
                    let label = label(permit.request().action);
                    reserved.map_err(|error| Unanswered::sent(self.over_quota(&label, error)))?
                }
            };
            let (answered, round) = self.round(permit, &prompt, reserved).await?;
            rounds.push(round);
            let Answered { answer, via } = answered;
            let Some(schema) = &schema else {
                return self.answer_json(answer.text, None, via, rounds).await;
            };
            match self.fitting(schema, &answer.text).await {
                Ok(value) => {
                    return self
                        .answer_json(answer.text, Some(value), via, rounds)
                        .await;
                }
                Err(why) => problem = why,
            }
            let wrong = cut(&answer.text, WRONG_ANSWER_BYTES_MAX).to_owned();
            prompt.messages.push((Speaker::Assistant, wrong));
            prompt.add(&format!(
                "That does not fit the schema: {problem}. Send the corrected JSON value, and nothing else."
            ));
        }
        let message = format!(
            "{}: the model's answer does not fit the schema, also after a correction: {problem}",
            label(permit.request().action)
        );
        Err(Unanswered::sent(
            CallError::new(CallCode::UpstreamError, message)
                .with_hint("simplify the schema, allow more tokens, or ask for text"),
        ))
    }

    /// Puts a question once, and settles what it cost.
    async fn round(
        &self,
        permit: &ModelPermit,
        prompt: &Prompt,
        reservation: Reservation,
    ) -> Result<(Answered, ModelRound), Unanswered> {
        let (started, at_us) = (Instant::now(), now_us());
        let put = self.put(permit, prompt, reservation.answer_tokens).await;
        let mut answered = match put {
            Ok(answered) => answered,
            Err(unanswered) if unanswered.not_sent => {
                reservation.refund();
                return Err(unanswered);
            }
            Err(unanswered) => {
                // What arrived of an answer that was cut off is not known here: the prompt was read at least.
                reservation.settle(prompt.tokens());
                return Err(unanswered);
            }
        };
        let answer = &mut answered.answer;
        let input_tokens = answer.input_tokens.unwrap_or_else(|| prompt.tokens());
        let output_tokens = answer.output_tokens;
        let output_tokens = output_tokens.unwrap_or_else(|| estimate([answer.text.as_str()]));
        let round = ModelRound {
            model: answer
                .model
                .clone()
                .or_else(|| prompt.model.clone())
                .unwrap_or_default(),
            stop_reason: answer.stop_reason.clone().unwrap_or_default(),
            input_tokens,
            output_tokens,
            took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            at_ms: at_us / 1_000,
        };
        reservation.settle(round.tokens());
        if self.models.terms.filter {
            answer.text = filtered(&answer.text);
        }
        Ok((answered, round))
    }

    /// Asks the client, or the provider.
    async fn put(
        &self,
        permit: &ModelPermit,
        prompt: &Prompt,
        max_tokens: u64,
    ) -> Result<Answered, Unanswered> {
        if self.client_can_answer()
            && let Some(caller) = &self.caller
        {
            match client::ask(&**caller, permit, prompt, max_tokens).await {
                Ok(answer) => {
                    return Ok(Answered {
                        answer,
                        via: "client",
                    });
                }
                Err(client::NoAnswer::Failed(error)) => return Err(Unanswered::sent(error)),
                Err(client::NoAnswer::Cannot) => {
                    self.models.client_cannot.store(true, Ordering::Relaxed);
                }
            }
        }
        let Some(provider) = self.context.models.provider(&self.models.terms) else {
            let error = self.may_ask(permit.request()).err();
            let error = error.unwrap_or_else(cancelled);
            return Err(Unanswered {
                error,
                not_sent: true,
            });
        };
        let question = ModelPrompt {
            model: match &prompt.model {
                Some(model) => model.clone(),
                None => provider.spec().model().to_owned(),
            },
            system: prompt.system.clone(),
            messages: prompt.messages.clone(),
            max_tokens,
        };
        match provider.ask(permit, &question).await {
            Ok(answer) => Ok(Answered {
                answer,
                via: provider.spec().name(),
            }),
            Err(error) => Err(Unanswered {
                not_sent: !error.was_sent(),
                error: error.to_call_error(),
            }),
        }
    }

    /// The value in an answer, where it fits the schema, or why it does not.
    async fn fitting(&self, schema: &Value, text: &str) -> Result<Box<RawValue>, String> {
        let value = json_in(text).ok_or("it is not JSON")?;
        let schema = schema.clone();
        let checked = self.computed(move || match schema_mismatch(&schema, &value) {
            Some(problem) => Err(problem),
            None => to_raw_value(&value).map_err(|error| error.to_string()),
        });
        checked.await.map_err(|error| error.message)?
    }

    async fn answer_json(
        &self,
        text: String,
        value: Option<Box<RawValue>>,
        via: &'static str,
        rounds: Vec<ModelRound>,
    ) -> Result<String, Unanswered> {
        let left = self.models.quota.left();
        let answer = ModelAnswerJson {
            text,
            value,
            via: via.to_owned(),
            rounds,
            left: LeftJson {
                rounds: left.rounds,
                tokens: left.tokens,
            },
        };
        serde_json::to_string(&answer).map_err(|error| {
            Unanswered::sent(CallError::new(CallCode::GatewayFault, error.to_string()))
        })
    }
}

/// The JSON value that an answer is, with or without a fence around it.
fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let fenced = text.split_once("```")?.1;
    let fenced = fenced
        .split_once("```")
        .map_or(fenced, |(inside, _)| inside);
    let inside = fenced.strip_prefix("json").unwrap_or(fenced);
    serde_json::from_str(inside.trim()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_in_an_answer_alone_and_in_a_fence() {
        for text in [
            "{\"a\": 1}",
            " {\"a\":1}\n",
            "```json\n{\"a\": 1}\n```",
            "Here:\n```\n{\"a\":1}\n```\nDone",
        ] {
            assert_eq!(json_in(text), Some(json!({"a": 1})), "{text}");
        }
        for text in ["", "no", "```json\n{\n```"] {
            assert_eq!(json_in(text), None, "{text}");
        }
    }
}
