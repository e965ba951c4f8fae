//! Notices to people that a question waits: which tool, of which class, and where to answer. Arguments are not part of it.
//!
//! One a minute for each approver and run, however many calls ask. A notice is sent beside the call, which waits for its answer
//! and never for the notice.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use limbeck_domain::text::clean_line;
use limbeck_domain::{Approval, ApprovalId, ExecutionId};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::clock::rfc3339;

/// Time between two notices to one approver about one run.
const NOTICE_EVERY: Duration = Duration::from_secs(60);
/// Pairs of an approver and a run that are remembered; beyond that the oldest minute has to pass.
const PAIRS_MAX: usize = 10_000;
/// Notices that are sent at the same time.
const SENDING_MAX: usize = 8;
/// Bytes of a name.
const NAME_BYTES_MAX: usize = 120;

/// That a question waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// `approval_waits`, or `approval_escalates` where no person has answered for the time of [`Escalation`].
    pub event: &'static str,
    /// The question.
    pub approval_id: String,
    /// Execution that made the call.
    pub execution_id: String,
    /// Server of the tool.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Class of the tool.
    pub class: &'static str,
    /// Who may approve, as `user:NAME` and `group:NAME`; those of [`Escalation`], where it escalates.
    pub approvers: Vec<String>,
    /// When the question expires, RFC 3339 in UTC.
    pub expires_at: Option<String>,
}

/// To whom a question is reported that no person has answered. It gives them no right: that is `approvers` of the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    /// Time after the question.
    pub after: Duration,
    /// Names, as `user:NAME` and `group:NAME`.
    pub to: Vec<String>,
}

/// Way by which a person is notified.
pub trait Notifier: fmt::Debug + Send + Sync {
    /// Sends a notice, in a bounded time.
    ///
    /// The error says what went wrong, for the log.
    fn notify(&self, notice: Notice) -> BoxFuture<'static, Result<(), String>>;
}

/// The ways, and who was notified lately.
#[derive(Debug)]
pub(super) struct Notices {
    notifiers: OnceLock<Vec<Arc<dyn Notifier>>>,
    last: Mutex<HashMap<(String, ExecutionId), Instant>>,
    sending: Arc<Semaphore>,
    escalation: OnceLock<Escalation>,
    /// Pending questions that were reported so.
    escalated: Mutex<HashSet<ApprovalId>>,
}

impl Default for Notices {
    fn default() -> Self {
        Self {
            notifiers: OnceLock::new(),
            last: Mutex::default(),
            sending: Arc::new(Semaphore::new(SENDING_MAX)),
            escalation: OnceLock::new(),
            escalated: Mutex::default(),
        }
    }
}

impl Notices {
    /// Takes up the ways; a second time has no effect.
    pub(super) fn set(&self, notifiers: Vec<Arc<dyn Notifier>>, escalation: Option<Escalation>) {
        let _ = self.notifiers.set(notifiers);
        if let Some(escalation) = escalation {
            let _ = self.escalation.set(escalation);
        }
    }

    /// Whether questions that no person answers are reported to others.
    pub(super) fn escalates(&self) -> bool {
        self.escalation.get().is_some()
    }

    /// Reports those of `pending`, the pending questions from the oldest on, that no person has answered in time: each once in
    /// this process.
    pub(super) fn escalate(&self, pending: &[Approval], now_us: u64) {
        for notice in self.due_escalations(pending, now_us) {
            self.send(&notice);
        }
    }

    fn due_escalations(&self, pending: &[Approval], now_us: u64) -> Vec<Notice> {
        let Some(escalation) = self.escalation.get() else {
            return Vec::new();
        };
        let after_us = u64::try_from(escalation.after.as_micros()).unwrap_or(u64::MAX);
        let mut escalated = self
            .escalated
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let listed: HashSet<&ApprovalId> = pending.iter().map(|approval| &approval.id).collect();
        escalated.retain(|id| listed.contains(id));
        let due = pending.iter().filter(|approval| {
            now_us.saturating_sub(approval.created_us) >= after_us
                && escalated.insert(approval.id.clone())
        });
        due.map(|approval| notice("approval_escalates", approval, escalation.to.clone()))
            .collect()
    }

    /// Notifies of a question that was just recorded.
    pub(super) fn asked(&self, approval: &Approval) {
        if self.notifiers.get().is_some_and(|it| !it.is_empty())
            && let Some(notice) = self.due(approval, Instant::now())
        {
            self.send(&notice);
        }
    }

    /// Sends a notice on all ways, beside the caller.
    fn send(&self, notice: &Notice) {
        for notifier in self.notifiers.get().into_iter().flatten() {
            // A slow receiver costs notices, and nothing else.
            let Ok(permit) = Arc::clone(&self.sending).try_acquire_owned() else {
                tracing::warn!("a notice of a question is left out: too many are being sent");
                return;
            };
            let sent = notifier.notify(notice.clone());
            tokio::spawn(async move {
                if let Err(problem) = sent.await {
                    let problem = clean_line(&problem, 500);
                    tracing::warn!(problem, "a notice of a question was not delivered");
                }
                drop(permit);
            });
        }
    }

    /// The notice, for those approvers who got none about this run in the last minute.
    fn due(&self, approval: &Approval, now: Instant) -> Option<Notice> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.retain(|_, at| now.duration_since(*at) < NOTICE_EVERY);
        let mut approvers = Vec::new();
        for approver in approvers_of(approval) {
            let pair = (approver.clone(), approval.execution.clone());
            if last.len() < PAIRS_MAX && !last.contains_key(&pair) {
                last.insert(pair, now);
                approvers.push(approver);
            }
        }
        drop(last);
        (!approvers.is_empty()).then(|| notice("approval_waits", approval, approvers))
    }
}

fn notice(event: &'static str, approval: &Approval, approvers: Vec<String>) -> Notice {
    let name = |name: &str| clean_line(name, NAME_BYTES_MAX);
    Notice {
        event,
        approval_id: approval.id.to_string(),
        execution_id: approval.execution.to_string(),
        server: name(approval.tool.server.as_str()),
        tool: name(&approval.tool.tool),
        class: approval.class.as_str(),
        approvers,
        expires_at: rfc3339(approval.expires_us),
    }
}

/// Who may approve, each once; the person for whom the program runs, where no rule names an approver.
fn approvers_of(approval: &Approval) -> Vec<String> {
    let lists = &approval.terms.approvers;
    let mut approvers: Vec<String> = lists.iter().flatten().cloned().collect();
    if approvers.is_empty() {
        approvers.push(format!("user:{}", approval.principal));
    }
    approvers.sort_unstable();
    approvers.dedup();
    approvers
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ApprovalId, ApprovalState, ApprovalTerms, CallId, EffectClass, ToolId};

    use super::*;

    fn approval(execution: &str, approvers: &[&str]) -> Approval {
        let list: Vec<String> = approvers.iter().map(|it| (*it).to_owned()).collect();
        Approval {
            changed: Vec::new(),
            id: ApprovalId::new("ap_1"),
            execution: ExecutionId::new(execution),
            call: CallId(1),
            principal: "anna".to_owned(),
            origin: "mcp".to_owned(),
            tool: ToolId::new("mail", "send"),
            pin: None,
            arguments: r#"{"text":"canary"}"#.to_owned(),
            sha256: String::new(),
            class: EffectClass::Write,
            class_from: "operator".to_owned(),
            rule: None,
            preset: None,
            reason: None,
            line: None,
            origins: Default::default(),
            terms: ApprovalTerms {
                channels: Vec::new(),
                approvers: if list.is_empty() {
                    Vec::new()
                } else {
                    vec![list]
                },
                quorum: 1,
                not_requester: false,
                edit: Vec::new(),
                offer: None,
                view_arguments: Vec::new(),
                deny_on_expiry: false,
            },
            created_us: 0,
            expires_us: 1,
            state: ApprovalState::Pending,
            decisions: Vec::new(),
        }
    }

    #[test]
    fn ten_thousand_questions_are_one_notice_a_minute_for_each_approver_and_run() {
        let notices = Notices::default();
        let start = Instant::now();
        let due = |execution: &str, approvers: &[&str], after_s: u64| {
            let now = start + Duration::from_secs(after_s);
            notices.due(&approval(execution, approvers), now)
        };
        let first = due("ex_1", &[], 0).unwrap();
        assert_eq!(first.approvers, ["user:anna"]);
        assert!((0..10_000).all(|_| due("ex_1", &[], 59).is_none()));
        // Others are not held up, and after the minute there is another.
        assert!(due("ex_2", &[], 1).is_some());
        let leads = due("ex_1", &["user:anna", "group:leads"], 1).unwrap();
        assert_eq!(leads.approvers, ["group:leads"]);
        assert!(due("ex_1", &[], 60).is_some());
    }

    #[test]
    fn a_question_that_nobody_answers_is_reported_once_to_others() {
        let notices = Notices::default();
        let asked = [approval("ex_1", &[])];
        let at = |seconds: u64| asked[0].created_us + seconds * 1_000_000;
        // Without the setting nothing escalates.
        assert!(!notices.escalates());
        assert_eq!(notices.due_escalations(&asked, at(9_999)), []);
        let to = vec!["group:leads".to_owned()];
        let after = Duration::from_secs(60);
        notices.set(
            Vec::new(),
            Some(Escalation {
                after,
                to: to.clone(),
            }),
        );
        assert_eq!(notices.due_escalations(&asked, at(59)), []);
        let sent = notices.due_escalations(&asked, at(60));
        assert_eq!(
            (sent[0].event, &sent[0].approvers),
            ("approval_escalates", &to)
        );
        assert_eq!(notices.due_escalations(&asked, at(61)), []);
        // One that is decided is forgotten.
        assert_eq!(notices.due_escalations(&[], at(62)), []);
        assert!(notices.escalated.lock().unwrap().is_empty());
    }

    #[test]
    fn a_notice_has_no_arguments() {
        let notice = Notices::default().due(&approval("ex_1", &[]), Instant::now());
        let json = serde_json::to_string(&notice.unwrap()).unwrap();
        assert!(
            json.contains("\"tool\":\"send\"") && !json.contains("canary"),
            "{json}"
        );
    }
}
