//! A question about one call: made, recorded, shown, and its answer waited for.

use std::sync::Arc;

use limbeck_catalog::Tool;
use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalId, ApprovalState, ApprovalTerms,
    CallCode, CallError, CallId, ErrorKind, HostCall, ProgramError, RememberOffer, ToolId,
};
use limbeck_policy::rules::{AskOptions, Channels, OnExpiry};
use limbeck_policy::{DenialCause, Question, Ticket, budget_of_question};
use limbeck_store::StoreError;
use sha2::{Digest as _, Sha256};

use super::asks::{DenialAct, OnAsk};
use crate::broker::Broker;
use crate::clock::now_us;
use crate::config::LOCAL_PRINCIPAL;
use crate::sha256::sha256_hex;
use crate::store_errors::call_error;

/// Bytes of a person's reason in an error.
pub(super) const REASON_BYTES_MAX: usize = 1_000;
pub(super) const HINT_DENIED: &str =
    "a person said no: do not try it again in another way; tell the user what you wanted to do";
const HINT_DENIED_BY_MODEL: &str =
    "no person decided: tell the user that you denied the call yourself, and why";

/// Why a call is asked about that the preset allows.
const REPEATED: &str = "the program makes the same call once more";

/// A call that a person allowed.
#[derive(Debug)]
pub(crate) struct Approved {
    /// The question, to be spent with the intent of the call.
    pub(crate) id: ApprovalId,
    pub(crate) ticket: Ticket,
    /// JSON text of the arguments to send, when the person changed them.
    pub(crate) edited: Option<String>,
    /// Channels of rules that name none.
    default_channels: Channels,
    terms: ApprovalTerms,
    /// The rule that asked.
    rule: Option<String>,
    /// Who asked for the call.
    requester: String,
    approvals: Vec<ApprovalDecision>,
}

impl Approved {
    /// Whether a person let the call out although a budget had no room for it.
    pub(crate) fn is_about_budget(&self) -> bool {
        self.rule.as_deref().and_then(budget_of_question).is_some()
    }

    /// Whether those who allowed the call may do so by `options`, which are those of the rules now. A list of approvers that was in
    /// force when they decided was checked with their groups, which no person knows later.
    pub(crate) fn is_by_right(&self, options: &AskOptions) -> bool {
        let Self {
            terms, requester, ..
        } = self;
        is_by_right(
            &self.approvals,
            terms,
            requester,
            options,
            self.default_channels,
        )
    }
}

impl Broker {
    /// Asks a person about `call` and waits for the answer. A question that the journal has of it already is not asked again.
    /// `pin` is that of the tool's definition now.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the call was denied, and when no person can be asked.
    pub(crate) async fn approved(
        &self,
        call: &HostCall,
        tool: &Arc<Tool>,
        question: &Question,
        pin: &str,
    ) -> Result<Approved, CallError> {
        let sha256 = sha256_hex(question.arguments().as_str().as_bytes());
        let asked = self.asked_hash(tool.id(), call.id, question.arguments().as_str());
        if let Some(error) = self.asks.denied_before(tool.id(), &asked) {
            return Err(error);
        }
        if let Some(error) = self.denied_lately(call, tool, &sha256).await? {
            return Err(error);
        }
        if let Some(approval) = self.remembered(call, tool, question, &sha256, pin).await? {
            return self.answered(approval, tool.id(), question, pin);
        }
        match self.asks.on_ask() {
            OnAsk::Wait | OnAsk::Pause => {}
            OnAsk::Deny => return Err(nobody_to_ask(tool.id(), question)),
            OnAsk::Fail => {
                let error = nobody_to_ask(tool.id(), question);
                self.asks.end(
                    ProgramError::new(ErrorKind::ApprovalNeeded, error.message.clone()).with_hint(
                        "run it where a person can be asked, or let the policy allow the call",
                    ),
                );
                return Err(error);
            }
        }
        let approval = match self.asked_before(call, &sha256, pin).await? {
            Some(approval) => approval,
            None => {
                let approval = self.new_question(call, tool, question, &sha256, pin)?;
                self.ask(call, tool, approval).await?
            }
        };
        let decided = if approval.state == ApprovalState::Pending {
            let _waiting = self.asks.wait(call.id, &approval.id);
            self.ask_client(&approval);
            let decided = self.context().approvals.decided(&approval.id).await;
            decided.map_err(|error| not_asked(&error, tool.id()))?
        } else {
            approval
        };
        self.answered(decided, tool.id(), question, pin)
    }

    /// Hash by which it is known that the program asks for a call again: of the arguments that it gave, without the key that each
    /// call has of its own.
    fn asked_hash(&self, tool: &ToolId, call: CallId, arguments: &str) -> String {
        sha256_hex(self.without_key(tool, call, arguments).as_bytes())
    }

    /// The error of a call that a person denied, or that no person decided about in time, also where the rules ask about it no more. A
    /// question that is open then is withdrawn.
    pub(crate) async fn denied_earlier(
        &self,
        call: &HostCall,
        tool: &Arc<Tool>,
    ) -> Option<CallError> {
        let id = self.asks.recorded(call.id)?;
        let store = &self.context().store;
        let approval = match store.approval(id).await {
            Ok(approval) => approval?,
            Err(error) => return Some(not_asked(&error, tool.id())),
        };
        match approval.state {
            ApprovalState::Denied => {
                let error = denied_by_person(&approval, tool.id());
                let asked = self.asked_hash(tool.id(), call.id, &approval.arguments);
                self.asks.deny(tool.id(), &asked, &error, act_of(&approval));
                Some(error)
            }
            ApprovalState::Expired => Some(self.expired(&approval, tool.id())),
            ApprovalState::Pending | ApprovalState::Approved => {
                let withdrawn = store.withdraw(id).await;
                withdrawn.err().map(|error| not_asked(&error, tool.id()))
            }
            ApprovalState::Withdrawn | ApprovalState::Spent => None,
        }
    }

    /// The error of a question that no person answered in time. It ends the run, unless the rule says otherwise.
    fn expired(&self, approval: &Approval, tool: &ToolId) -> CallError {
        let error = CallError::new(
            CallCode::Denied,
            format!("no person decided in time whether `{tool}` may be called, so it was not sent"),
        )
        .with_target(tool.server.as_str(), &*tool.tool)
        .with_hint("tell the user that the question expired, and run the program again when a person can answer");
        if !approval.terms.deny_on_expiry {
            self.asks.end(
                ProgramError::new(ErrorKind::ApprovalExpired, error.message.clone())
                    .with_hint("run the program again when a person can answer"),
            );
        }
        error
    }

    /// What an answer means for its call.
    fn answered(
        &self,
        approval: Approval,
        tool: &ToolId,
        question: &Question,
        pin: &str,
    ) -> Result<Approved, CallError> {
        match approval.state {
            ApprovalState::Approved => {
                let edited = approval.decisions.last().and_then(|it| it.edited.clone());
                let mut ticket = question.ticket(Some(pin));
                if let Some(edited) = &edited {
                    ticket.sha256 = Sha256::digest(edited.as_bytes()).into();
                }
                let approvals = approval.decisions.into_iter();
                Ok(Approved {
                    id: approval.id,
                    ticket,
                    edited,
                    default_channels: self.default_channels(),
                    terms: approval.terms,
                    rule: approval.rule,
                    requester: format!("user:{}", approval.principal),
                    approvals: approvals.filter(|it| it.approve).collect(),
                })
            }
            ApprovalState::Denied => {
                let error = denied_by_person(&approval, tool);
                let asked = self.asked_hash(tool, approval.call, &approval.arguments);
                self.asks.deny(tool, &asked, &error, act_of(&approval));
                Err(error)
            }
            ApprovalState::Expired => Err(self.expired(&approval, tool)),
            ApprovalState::Withdrawn | ApprovalState::Spent | ApprovalState::Pending => {
                let message =
                    format!("the question about `{tool}` was withdrawn, so it was not sent");
                Err(CallError::new(CallCode::Cancelled, message)
                    .with_target(tool.server.as_str(), &*tool.tool))
            }
        }
    }

    /// The question that the journal has of `call`, unless it was about other bytes or another definition of the tool: then
    /// it is withdrawn, and the call is asked about again.
    async fn asked_before(
        &self,
        call: &HostCall,
        sha256: &str,
        pin: &str,
    ) -> Result<Option<Approval>, CallError> {
        let Some(id) = self.asks.recorded(call.id) else {
            return Ok(None);
        };
        let store = &self.context().store;
        let gone = |error: StoreError| {
            call_error(
                &error,
                "the answer of the person could not be read, so the call was not sent",
            )
        };
        let Some(approval) = store.approval(id).await.map_err(gone)? else {
            return Ok(None);
        };
        let is_same = approval.sha256 == sha256 && approval.pin.as_deref() == Some(pin);
        let is_open = matches!(
            approval.state,
            ApprovalState::Pending | ApprovalState::Approved
        );
        if !is_same && is_open {
            store.withdraw(id).await.map_err(gone)?;
        }
        let is_over = matches!(
            approval.state,
            ApprovalState::Withdrawn | ApprovalState::Spent
        );
        Ok(Some(approval).filter(|_| is_same && !is_over))
    }

    /// Channels of a rule that names none.
    pub(super) fn default_channels(&self) -> Channels {
        default_channels(self.principal())
    }

    /// A new question about a call.
    pub(super) fn new_question(
        &self,
        call: &HostCall,
        tool: &Arc<Tool>,
        question: &Question,
        sha256: &str,
        pin: &str,
    ) -> Result<Approval, CallError> {
        let now = now_us();
        let options = question.options();
        let offer = question.offer(Some(pin), self.principal()).map(|offer| {
            let session = self.context().approvals.session();
            let session = session.map(str::to_owned);
            Box::new(RememberOffer { session, ..offer })
        });
        let (rule, preset, reason) = match question.cause() {
            DenialCause::Rule { id, reason } => (Some(id.clone()), None, reason.clone()),
            DenialCause::Preset { preset, .. } => {
                let reason = question.is_repeat().then(|| REPEATED.to_owned());
                (None, Some((*preset).to_owned()), reason)
            }
            DenialCause::Fault(fault) => (None, None, Some(fault.problem.clone())),
        };
        let class = question.class();
        Ok(Approval {
            changed: self.context().live_catalog.differences(tool.id()),
            id: mint_id().map_err(|error| {
                let message = format!("the system gave no random id for a question: {error}");
                CallError::new(CallCode::GatewayFault, message)
            })?,
            execution: self
                .journal()
                .execution()
                .cloned()
                .ok_or_else(|| nobody_to_ask(tool.id(), question))?,
            call: call.id,
            principal: self.principal().to_owned(),
            origin: self.origin().to_owned(),
            tool: tool.id().clone(),
            pin: Some(pin.to_owned()),
            arguments: question.arguments().as_str().to_owned(),
            sha256: sha256.to_owned(),
            class: class.class,
            class_from: class.source.as_str().to_owned(),
            rule,
            preset,
            reason,
            line: self.line_of(tool.id()),
            origins: self.origins_of(tool.id(), question.arguments().as_str()),
            terms: terms_of(options, self.default_channels(), offer),
            created_us: now,
            expires_us: now.saturating_add(u64::from(options.expires_s) * 1_000_000),
            state: ApprovalState::Pending,
            decisions: Vec::new(),
        })
    }

    /// Records a new question. It is on disk before any person sees it.
    async fn ask(
        &self,
        call: &HostCall,
        tool: &Arc<Tool>,
        approval: Approval,
    ) -> Result<Approval, CallError> {
        let not_asked = |error: &StoreError| not_asked(error, tool.id());
        let approvals = &self.context().approvals;
        loop {
            let asked = self.journal().ask(call.clone(), approval.clone()).await;
            match asked {
                Ok(()) => {
                    approvals.notices.asked(&approval);
                    return Ok(approval);
                }
                // As many questions of the principal are open as one person can look through: this one waits, unseen.
                Err(StoreError::TooManyPending { .. }) => {
                    let _waiting = self.asks.wait_unasked(call.id);
                    approvals.changed_or_later().await;
                }
                Err(error) => return Err(not_asked(&error)),
            }
        }
    }
}

/// Channels of a rule that names none, for calls of `principal`. A client that came over the network vouches for no person.
pub(super) fn default_channels(principal: &str) -> Channels {
    if principal == LOCAL_PRINCIPAL {
        Channels::DEFAULT
    } else {
        Channels::HTTP
    }
}

/// Whether these approvals, of a question with these terms that `requester` caused, are enough by `options`.
pub(super) fn is_by_right(
    approvals: &[ApprovalDecision],
    terms: &ApprovalTerms,
    requester: &str,
    options: &AskOptions,
    default_channels: Channels,
) -> bool {
    let channels = options.channels(default_channels);
    let counted = approvals.iter().filter(|approval| {
        let mut channels = channels.iter();
        let by_channel = channels.any(|it| it.as_str() == approval.channel.as_str());
        let is_requester = approval.by == requester;
        let lists = options.approvers.lists();
        let is_named = lists
            .iter()
            .all(|list| list.contains(&approval.by) || terms.approvers.contains(list));
        by_channel && is_named && !(options.not_requester && is_requester)
    });
    counted.count() >= usize::from(options.quorum)
}

pub(super) fn terms_of(
    options: &AskOptions,
    default: Channels,
    offer: Option<Box<RememberOffer>>,
) -> ApprovalTerms {
    let channels = options.channels(default).iter();
    let channels = channels.filter_map(|channel| ApprovalChannel::from_name(channel.as_str()));
    ApprovalTerms {
        channels: channels.collect(),
        approvers: options.approvers.lists().to_vec(),
        quorum: u32::from(options.quorum),
        not_requester: options.not_requester,
        edit: options.edit.clone(),
        view_arguments: options.viewers.lists().to_vec(),
        offer,
        deny_on_expiry: options.on_expiry == OnExpiry::Deny,
    }
}

/// `ap_` and 128 random bits: an id is not guessed, and says nothing about how many there are.
pub(super) fn mint_id() -> Result<ApprovalId, getrandom::Error> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)?;
    let digits: String = bits.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(ApprovalId::new(format!("ap_{digits}")))
}

fn nobody_to_ask(tool: &ToolId, question: &Question) -> CallError {
    let by = match question.cause() {
        DenialCause::Rule { id, reason } => match reason {
            Some(reason) => format!("rule `{id}`: {reason}"),
            None => format!("rule `{id}`"),
        },
        DenialCause::Preset { preset, .. } => format!("the policy `{preset}`"),
        DenialCause::Fault(fault) => fault.problem.clone(),
    };
    let message =
        format!("`{tool}` has to be approved by a person, by {by}; no person can be asked here");
    CallError::new(CallCode::Denied, message)
        .with_target(tool.server.as_str(), &*tool.tool)
        .with_hint("do not try it again in another way; tell the user what you wanted to do")
}

pub(super) fn not_asked(error: &StoreError, tool: &ToolId) -> CallError {
    call_error(
        error,
        "the question to the user could not be recorded, so the call was not sent",
    )
    .with_target(tool.server.as_str(), &*tool.tool)
}

/// Who denied, and when.
fn act_of(approval: &Approval) -> DenialAct {
    let denial = approval.decisions.iter().rev().find(|it| !it.approve);
    denial.map_or_else(Default::default, |it| DenialAct {
        by: it.by.clone(),
        at_us: it.at_us,
        stop: it.stop,
    })
}

fn denied_by_person(approval: &Approval, tool: &ToolId) -> CallError {
    let denial = approval.decisions.iter().rev().find(|it| !it.approve);
    match denial {
        Some(denial) => denial_error(denial, tool),
        None => CallError::new(CallCode::Denied, format!("`{tool}` was denied by a person"))
            .with_target(tool.server.as_str(), &*tool.tool)
            .with_hint(HINT_DENIED),
    }
}

/// The error of a call that a person denied.
pub(super) fn denial_error(denial: &ApprovalDecision, tool: &ToolId) -> CallError {
    let by_model = denial.channel == ApprovalChannel::Model;
    let mut message = if by_model {
        format!("`{tool}` was denied with the tool `resume`, by the model and not by a person")
    } else {
        let by = limbeck_domain::text::clean_line(&denial.by, 128);
        format!("`{tool}` was denied by {by}")
    };
    if let Some(reason) = denial.reason.as_deref() {
        message.push_str(": ");
        message.push_str(&limbeck_domain::text::clean_line(reason, REASON_BYTES_MAX));
    }
    CallError::new(CallCode::Denied, message)
        .with_target(tool.server.as_str(), &*tool.tool)
        .with_hint(if by_model {
            HINT_DENIED_BY_MODEL
        } else {
            HINT_DENIED
        })
}
