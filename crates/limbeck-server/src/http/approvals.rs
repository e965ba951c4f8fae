//! Questions about calls over HTTP, for a page or a program of the person who decides.
//!
//! ```text
//! GET  /approvals       pending questions about calls of the token's principal, and those that name its owner as an approver
//! GET  /approvals/ID    one question whole, with the text that a person is shown
//! POST /approvals/ID    {"decision": "approve" | "deny" | "deny_and_stop", "reason"?: string, "edited"?: object, "lines"?: number[],
//!                        "many"?: number, "remember"?: string, "members"?: [string]}
//! ```
//!
//! A question of another principal reads as one that does not exist, unless it names the token's owner as an approver. Who decides follows from the token, never from the body.
//! No page of another origin can send a decision: it has no token, and a body must be JSON.

use std::sync::Arc;

use http::request::Parts;
use http::uri::Authority;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use limbeck_domain::{Approval, ApprovalChannel, ApprovalId, RememberChoice};
use limbeck_gateway::approval_groups::are_one_question;
use limbeck_gateway::approval_view::{
    approval_view, approval_views, as_readable_by, decision_reason, earlier_outcome, is_visible_to,
    may_view_arguments,
};
use limbeck_gateway::{ChosenLines, Decider, DecisionError, DecisionReport, DecisionRequest};
use limbeck_policy::Requester;
use limbeck_upstream::Direction;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::answer_body::AnswerBody;
use super::authentication::TokenOwner;
use super::bodies::{HttpResponse, later, typed};
use super::connection_places::ConnectionPlace;
use super::metrics::RefusalReason;
use super::service::{HttpService, JSON, is_plain_json};
use crate::answer_place::AnswerPlace;

/// Path of a question, without its id.
pub(super) const APPROVALS: &str = "/approvals/";
/// Arguments above this are left out of a list and of the answer to a decision, which stay small.
const ARGUMENTS_LISTED_BYTES_MAX: usize = 16 << 10;
/// Other questions that one decision is about: as many as a principal has open.
const MEMBERS_MAX: usize = 20;
/// Questions in a list; a principal has far fewer pending at a time.
const LISTED_MAX: usize = 200;

/// Body of a decision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DecisionBody {
    decision: DecisionName,
    #[serde(default)]
    reason: Option<String>,
    /// All arguments of the call, to be sent instead.
    #[serde(default)]
    edited: Option<Box<RawValue>>,
    /// Numbers of the accepted lines of a plan.
    #[serde(default)]
    lines: Option<Vec<u32>>,
    /// For how long the approval counts for calls that are alike.
    #[serde(default)]
    remember: Option<RememberChoice>,
    /// Ids of other questions of the same group, which are decided in the same way.
    #[serde(default)]
    members: Vec<String>,
    /// Calls of each line that is repeated many times.
    #[serde(default)]
    many: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DecisionName {
    Approve,
    Deny,
    DenyAndStop,
}

/// Answer to a request about questions that is not carried out.
#[derive(Debug)]
struct Refused {
    status: StatusCode,
    /// What it is, for programs.
    code: &'static str,
    message: String,
    hint: Option<String>,
}

impl Refused {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            code: match status {
                StatusCode::NOT_FOUND => "unknown",
                StatusCode::FORBIDDEN => "not_allowed",
                StatusCode::CONFLICT => "denied",
                StatusCode::INTERNAL_SERVER_ERROR => "gateway_fault",
                _ => "invalid",
            },
            message: message.into(),
            hint: None,
        }
    }

    /// The same for an unknown id and for a question of another principal.
    fn unknown() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such question")
    }

    fn response(self) -> HttpResponse {
        let Self {
            status,
            code,
            message,
            hint,
        } = self;
        let error = json!({"error": {"code": code, "message": message, "hint": hint}});
        typed(status, JSON, error.to_string())
    }
}

/// The answer when the store failed; `message` is what a client may read of it.
fn store_failed(error: &(dyn std::error::Error + 'static), message: String) -> Refused {
    tracing::error!(error, "questions could not be read or decided");
    Refused::new(StatusCode::INTERNAL_SERVER_ERROR, message)
}

impl HttpService {
    /// Answers a request to `/approvals` or below it. `Err` is the response to an unauthenticated request.
    pub(super) async fn approvals(
        &self,
        request: Request<Incoming>,
        host: &Authority,
        place: &ConnectionPlace,
    ) -> Result<HttpResponse, Box<HttpResponse>> {
        let id = request.uri().path().strip_prefix(APPROVALS);
        let id = id.map(str::to_owned);
        let is_get = request.method() == Method::GET;
        match &id {
            _ if is_get => {}
            Some(_) if request.method() == Method::POST => {}
            Some(_) => return Err(self.not_allowed("GET, POST")),
            None => return Err(self.not_allowed("GET")),
        }
        let owner = self.owner(request.headers(), host, place).await?;
        if self.draining.is_cancelled() {
            return Err(Box::new(later(StatusCode::SERVICE_UNAVAILABLE)));
        }
        let entered = match self.entered(&owner.principal) {
            Ok(entered) => entered,
            Err(too_many) => return Ok(*too_many),
        };
        let decider = decider(&owner);
        let (parts, body) = request.into_parts();
        let done = match id.map(approval_id) {
            None => self.listed(&decider).await,
            Some(None) => Err(Refused::unknown()),
            Some(Some(id)) if is_get => self.shown(&id, &decider).await,
            Some(Some(id)) => match self.decision(&owner, &parts, body).await {
                Ok(decision) => self.decided(id, decision, decider).await,
                Err(refused) => Err(refused),
            },
        };
        let (status, answer) = match done {
            Ok(done) => done,
            Err(refused) => {
                if refused.status.is_client_error() {
                    self.metrics.refused(RefusalReason::Form);
                }
                return Ok(refused.response());
            }
        };
        let redaction = self.gateway.redaction();
        let answer = redaction.json(Direction::ToModel, &answer).into_owned();
        let room = Arc::new(AnswerPlace::new(&self.answers, &owner.principal));
        if room.settle(answer.len()).await.is_err() {
            self.metrics.refused(RefusalReason::TooMany);
            return Ok(later(StatusCode::TOO_MANY_REQUESTS));
        }
        let (stall, closed) = (self.write_stall, place.closing());
        let answer = typed(status, JSON, answer);
        Ok(answer.map(|body| AnswerBody::new(body, room, entered, stall, closed).boxed_unsync()))
    }

    async fn listed(&self, decider: &Decider) -> Result<(StatusCode, String), Refused> {
        let listed = self.gateway.approvals_for(decider).await;
        let mut approvals =
            listed.map_err(|error| store_failed(&error, error.for_callers().message))?;
        let more = approvals.len().saturating_sub(LISTED_MAX);
        approvals.truncate(LISTED_MAX);
        let views = approval_views(&approvals, ARGUMENTS_LISTED_BYTES_MAX).into_iter();
        let views: Vec<_> = views
            .zip(&approvals)
            .map(|(view, approval)| view.for_reader(approval, decider))
            .collect();
        written(StatusCode::OK, &json!({"more": more}), "approvals", &views)
    }

    async fn shown(
        &self,
        id: &ApprovalId,
        decider: &Decider,
    ) -> Result<(StatusCode, String), Refused> {
        let approval = self.visible(id, decider).await?;
        let readable = as_readable_by(&approval, decider);
        let question = self.gateway.question_text(&readable).await;
        let of_execution = self.of_execution(&approval).await?;
        let view = approval_view(&approval, &of_execution).for_reader(&approval, decider);
        written(
            StatusCode::OK,
            &json!({ "question": question }),
            "approval",
            &view,
        )
    }

    /// Pending questions of the execution that `approval` is of.
    async fn of_execution(&self, approval: &Approval) -> Result<Vec<Approval>, Refused> {
        let Approval {
            principal,
            execution,
            ..
        } = approval;
        let pending = self
            .gateway
            .pending_approvals(Some(principal), Some(execution), true);
        let pending = pending.await;
        pending.map_err(|error| store_failed(&error, error.for_callers().message))
    }

    async fn visible(&self, id: &ApprovalId, decider: &Decider) -> Result<Approval, Refused> {
        let found = self.gateway.approval(id).await;
        found
            .map_err(|error| store_failed(&error, error.for_callers().message))?
            .filter(|approval| is_visible_to(approval, decider))
            .ok_or_else(Refused::unknown)
    }

    /// The other questions that a decision names, each of them one question with `asked`.
    async fn members(
        &self,
        asked: &Approval,
        ids: Vec<String>,
        decider: &Decider,
    ) -> Result<Vec<ApprovalId>, Refused> {
        let other = || {
            let message = "`members` has a question that is not one with this one";
            Refused::new(StatusCode::UNPROCESSABLE_ENTITY, message)
        };
        if ids.len() > MEMBERS_MAX {
            return Err(other());
        }
        let mut members = Vec::with_capacity(ids.len());
        for id in ids {
            let id = approval_id(id).ok_or_else(other)?;
            let member = self.visible(&id, decider).await;
            let member = member.map_err(|refused| match refused.status {
                StatusCode::NOT_FOUND => other(),
                _ => refused,
            })?;
            if !are_one_question(asked, &member) {
                return Err(other());
            }
            if id != asked.id && !members.contains(&id) {
                members.push(id);
            }
        }
        Ok(members)
    }

    /// The decision in the body of a request.
    async fn decision(
        &self,
        owner: &TokenOwner,
        parts: &Parts,
        body: Incoming,
    ) -> Result<DecisionBody, Refused> {
        let form = |status| Refused::new(status, status.canonical_reason().unwrap_or("Refused"));
        if !is_plain_json(&parts.headers) {
            return Err(form(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        let read = self.bodies.read(&owner.principal, &parts.headers, body);
        let (body, _held) = read.await.map_err(form)?;
        let decision: DecisionBody = serde_json::from_slice(&body).map_err(|_| Refused {
            hint: Some(
                "send {\"decision\": \"approve\" | \"deny\" | \"deny_and_stop\", \"reason\"?: string, \"edited\"?: object, \"lines\"?: number[], \"many\"?: number, \"remember\"?: \"run\" | \"session\" | \"8h\"}"
                    .to_owned(),
            ),
            ..Refused::new(StatusCode::BAD_REQUEST, "the body is not a decision")
        })?;
        if decision.edited.is_some() && decision.decision != DecisionName::Approve {
            let message = "`edited` belongs to an approval";
            return Err(Refused::new(StatusCode::BAD_REQUEST, message));
        }
        let has_lines = decision.lines.is_some() || decision.many.is_some();
        if has_lines && decision.decision == DecisionName::Deny {
            let message = "`lines` and `many` belong to an approval";
            return Err(Refused::new(StatusCode::BAD_REQUEST, message));
        }
        Ok(decision)
    }

    async fn decided(
        &self,
        id: ApprovalId,
        body: DecisionBody,
        decider: Decider,
    ) -> Result<(StatusCode, String), Refused> {
        let reason = decision_reason(body.reason.as_deref().unwrap_or_default())
            .map_err(|error| Refused::new(StatusCode::BAD_REQUEST, error.to_string()))?;
        let lines = (body.lines.is_some() || body.many.is_some()).then_some(ChosenLines {
            numbers: body.lines,
            many: body.many,
        });
        // First of all: what a refusal says of it must not show that a question of another principal exists.
        let asked = self.visible(&id, &decider).await?;
        let members = self.members(&asked, body.members, &decider).await?;
        if body.edited.is_some() && !may_view_arguments(&asked, &decider) {
            let message = "who may not read the arguments may not change them";
            return Err(Refused::new(StatusCode::FORBIDDEN, message));
        }
        if body.edited.is_some() && !members.is_empty() {
            let message = "`edited` belongs to a decision about one question";
            return Err(Refused::new(StatusCode::BAD_REQUEST, message));
        }
        let request = DecisionRequest {
            approval: id,
            approve: body.decision == DecisionName::Approve,
            decider,
            reason,
            edited: body
                .edited
                .map(|edited| Box::<str>::from(edited).into_string()),
            lines,
            stop: body.decision == DecisionName::DenyAndStop,
            remember: body.remember,
        };
        let reader = request.decider.clone();
        let others = members.into_iter().map(|approval| DecisionRequest {
            approval,
            ..request.clone()
        });
        let requests = std::iter::once(request.clone()).chain(others).collect();
        let mut reports = self.gateway.decide_together(requests).await.into_iter();
        let first = reports.next().unwrap_or(Err(DecisionError::Unknown));
        // The others say for themselves what came out: `GET /approvals/ID`.
        for error in reports.filter_map(Result::err) {
            tracing::warn!(error = %error, "a member of a group is not decided");
        }
        let (status, outcome, approval) = match first {
            Ok(DecisionReport::Decided(approval)) => {
                (StatusCode::OK, json!({"outcome": "decided"}), approval)
            }
            Ok(DecisionReport::Same(approval)) => {
                (StatusCode::OK, json!({"outcome": "same"}), approval)
            }
            Ok(DecisionReport::TooLate(approval)) => {
                let message = format!("this question is {}", earlier_outcome(&approval));
                let outcome = json!({"outcome": "too_late", "error": {"message": message}});
                (StatusCode::CONFLICT, outcome, approval)
            }
            Err(error) => return Err(refused(error)),
        };
        let of_execution = self.of_execution(&approval).await?;
        let view = approval_view(&approval, &of_execution).for_reader(&approval, &reader);
        let view = view.with_arguments_within(ARGUMENTS_LISTED_BYTES_MAX);
        written(status, &outcome, "approval", &view)
    }
}

fn refused(error: DecisionError) -> Refused {
    match error {
        DecisionError::Unknown => Refused::unknown(),
        DecisionError::NotAllowed { why, hint } => Refused {
            hint: Some(hint),
            ..Refused::new(StatusCode::FORBIDDEN, why)
        },
        DecisionError::Overruled { why, hint } => Refused {
            hint: Some(hint),
            ..Refused::new(StatusCode::CONFLICT, why)
        },
        DecisionError::InvalidEdit(error) => Refused {
            hint: error.hint,
            ..Refused::new(StatusCode::UNPROCESSABLE_ENTITY, error.message)
        },
        DecisionError::Store(error) => store_failed(&error, error.for_callers().message),
    }
}

/// The person of a token: its principal first, then its groups.
fn decider(owner: &TokenOwner) -> Decider {
    let requester = Requester::of_principal(&owner.principal);
    let person = requester.names().map(str::to_owned);
    let groups = owner.groups.iter().map(|group| format!("group:{group}"));
    Decider {
        who: person.into_iter().chain(groups).collect(),
        principal: owner.principal.to_string(),
        channel: ApprovalChannel::Browser,
    }
}

/// The id in a path, when it has the form of one.
fn approval_id(id: String) -> Option<ApprovalId> {
    let digits = id.strip_prefix("ap_")?;
    let is_id = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| ApprovalId::new(id))
}

/// JSON of `object` with `key` as another member. Arguments of a call are written as they are, byte for byte, which a parsed
/// value would not keep.
fn written(
    status: StatusCode,
    object: &serde_json::Value,
    key: &str,
    value: &impl Serialize,
) -> Result<(StatusCode, String), Refused> {
    #[derive(Serialize)]
    struct Written<'a, T> {
        #[serde(flatten)]
        object: &'a serde_json::Value,
        #[serde(flatten)]
        member: std::collections::BTreeMap<&'a str, T>,
    }
    let member = [(key, value)].into();
    let text = serde_json::to_string(&Written { object, member });
    let text =
        text.map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok((status, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_has_a_known_form_and_no_name_of_who_decides() {
        let read = |body: &str| serde_json::from_str::<DecisionBody>(body);
        let approved =
            read(r#"{"decision":"approve","edited":{"amount":9007199254740993}}"#).unwrap();
        assert_eq!(approved.decision, DecisionName::Approve);
        assert_eq!(
            approved.edited.unwrap().get(),
            r#"{"amount":9007199254740993}"#
        );
        assert_eq!(
            read(r#"{"decision":"deny","reason":"no"}"#)
                .unwrap()
                .reason
                .as_deref(),
            Some("no")
        );
        let group = read(r#"{"decision":"deny_and_stop","members":["ap_1"]}"#).unwrap();
        assert_eq!(group.decision, DecisionName::DenyAndStop);
        assert_eq!(group.members, ["ap_1"]);
        let remembered = read(r#"{"decision":"approve","remember":"run:40"}"#).unwrap();
        assert_eq!(remembered.remember.and_then(|it| it.count), Some(40));
        for body in [
            "",
            "{}",
            r#"{"decision":"approve","remember":"for ever"}"#,
            r#"{"decision":"approve","members":"ap_1"}"#,
            "[]",
            r#"{"decision":"maybe"}"#,
            r#"{"decision":"approve","by":"user:anna"}"#,
            r#"{"decision":"approve","channel":"browser"}"#,
            r#"{"decision":"approve","decision":"deny"}"#,
        ] {
            assert!(read(body).is_err(), "{body}");
        }
    }

    #[test]
    fn who_decides_is_the_owner_of_the_token_and_its_groups() {
        let owner = TokenOwner {
            principal: "jwt:https://id.example#anna".into(),
            groups: vec!["leads".to_owned()],
        };
        let decider = decider(&owner);
        assert_eq!(
            decider.who,
            ["user:jwt:https://id.example#anna", "group:leads"]
        );
        assert_eq!(decider.channel, ApprovalChannel::Browser);
        assert_eq!(decider.principal, "jwt:https://id.example#anna");
    }

    #[test]
    fn only_an_id_is_looked_up() {
        let id = format!("ap_{}", "0f".repeat(16));
        assert_eq!(approval_id(id.clone()), Some(ApprovalId::new(id.clone())));
        for other in [
            "",
            "ap_",
            &id[..34],
            &format!("{id}0"),
            "ap_../../../../etc/passwd_________",
            &id.replace('f', "%"),
        ] {
            assert_eq!(approval_id(other.to_owned()), None, "{other}");
        }
    }

    #[test]
    fn arguments_keep_their_bytes_in_an_answer() {
        let exact = RawValue::from_string(r#"{"n":1.10,"n":9007199254740993}"#.to_owned()).unwrap();
        let (_, text) = written(
            StatusCode::OK,
            &json!({"outcome": "same"}),
            "approval",
            &exact,
        )
        .unwrap();
        assert_eq!(
            text,
            r#"{"outcome":"same","approval":{"n":1.10,"n":9007199254740993}}"#
        );
    }
}
