//! Approvals as commands, pages and clients read them, and who may see one.

use std::collections::{BTreeMap, HashMap};

use limbeck_domain::limits::DECISION_REASON_BYTES_MAX;
use limbeck_domain::text::clean;
use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalState, EffectClass, Remember,
    RememberChoice,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Decider;
use crate::clock::rfc3339;

/// Most numbers of lines that a person gives.
const NUMBERS_MAX: usize = 1_000;

/// An approval in the form of `limbeck approvals --json` and of the HTTP endpoints.
#[derive(Debug, Serialize)]
pub struct ApprovalView<'a> {
    id: &'a str,
    execution_id: &'a str,
    call_id: u32,
    state: ApprovalState,
    principal: &'a str,
    origin: &'a str,
    server: &'a str,
    tool: &'a str,
    class: EffectClass,
    class_from: &'a str,
    /// As they will be sent, byte for byte; absent where a list has no room for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    /// Whether the reader may not read the values of the arguments.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    arguments_hidden: bool,
    /// Bytes of the arguments.
    bytes: usize,
    /// Of the arguments' bytes.
    sha256: &'a str,
    line: Option<u32>,
    /// Number of the lines of a plan, where the question is about that and not about one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_lines: Option<u32>,
    rule: Option<&'a str>,
    preset: Option<&'a str>,
    reason: Option<&'a str>,
    /// How the definition of the tool differs from the accepted one.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    changed: &'a [String],
    /// Pending approvals of the same execution, tool, definition, class and line, beside this one.
    similar: usize,
    channels: &'a [ApprovalChannel],
    approvers: &'a [Vec<String>],
    quorum: u32,
    not_requester: bool,
    /// For which other calls, and how long, a person may let the approval count.
    #[serde(skip_serializing_if = "Option::is_none")]
    remember: Option<OfferView<'a>>,
    decisions: Vec<DecisionView<'a>>,
    created_at: Option<String>,
    expires_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct OfferView<'a> {
    at_most: Remember,
    /// Arguments that such calls have with the same values.
    same: &'a [String],
    /// Arguments that may have any value.
    any: &'a [String],
}

#[derive(Debug, Serialize)]
struct DecisionView<'a> {
    decision: &'static str,
    by: &'a str,
    channel: ApprovalChannel,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Whether other arguments are sent than those that were asked about.
    edited: bool,
    /// Numbers of the accepted lines of a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<&'a [u32]>,
    /// How long it counts for calls that are alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    remember: Option<RememberChoice>,
    /// The remembered choice that it was made by.
    #[serde(skip_serializing_if = "Option::is_none")]
    remembered: Option<&'a str>,
    /// Calls that each line covers which is repeated many times, where the person said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    many: Option<u32>,
    at: Option<String>,
}

/// What makes approvals equal but for their arguments.
type Group<'a> = (
    &'a str,
    &'a str,
    &'a str,
    Option<&'a str>,
    EffectClass,
    Option<u32>,
);

/// The views of a list of approvals. Arguments of more than `arguments_bytes_max` bytes are left out.
pub fn approval_views(approvals: &[Approval], arguments_bytes_max: usize) -> Vec<ApprovalView<'_>> {
    let mut pending: HashMap<Group<'_>, usize> = HashMap::new();
    for approval in approvals.iter().filter(|approval| is_pending(approval)) {
        *pending.entry(group(approval)).or_default() += 1;
    }
    let view = |approval| {
        let like_it = pending.get(&group(approval)).copied().unwrap_or_default();
        let similar = like_it - usize::from(is_pending(approval));
        ApprovalView::new(approval, similar, arguments_bytes_max)
    };
    approvals.iter().map(view).collect()
}

/// The view of one approval with its whole arguments. `of_execution` are the pending approvals of its execution.
pub fn approval_view<'a>(approval: &'a Approval, of_execution: &[Approval]) -> ApprovalView<'a> {
    let is_similar = |other: &&Approval| {
        other.id != approval.id && is_pending(other) && group(other) == group(approval)
    };
    let similar = of_execution.iter().filter(is_similar).count();
    ApprovalView::new(approval, similar, usize::MAX)
}

impl<'a> ApprovalView<'a> {
    /// The view without arguments of more than `bytes_max` bytes.
    #[must_use]
    pub fn with_arguments_within(mut self, bytes_max: usize) -> Self {
        self.arguments = self.arguments.filter(|_| self.bytes <= bytes_max);
        self
    }

    /// The view for `decider`, without arguments that it may not read.
    #[must_use]
    pub fn for_reader(mut self, approval: &Approval, decider: &Decider) -> Self {
        if !may_view_arguments(approval, decider) {
            self.arguments = None;
            self.arguments_hidden = true;
        }
        self
    }

    fn new(approval: &'a Approval, similar: usize, arguments_bytes_max: usize) -> Self {
        let arguments = &approval.arguments;
        let arguments =
            (arguments.len() <= arguments_bytes_max).then(|| serde_json::from_str(arguments));
        Self {
            id: approval.id.as_str(),
            execution_id: approval.execution.as_str(),
            call_id: approval.call.0,
            state: approval.state,
            principal: &approval.principal,
            origin: &approval.origin,
            server: approval.tool.server.as_str(),
            tool: &approval.tool.tool,
            class: approval.class,
            class_from: &approval.class_from,
            arguments: arguments.and_then(Result::ok),
            arguments_hidden: false,
            bytes: approval.arguments.len(),
            sha256: &approval.sha256,
            line: approval.line,
            plan_lines: plan_lines(approval),
            rule: approval.rule.as_deref(),
            preset: approval.preset.as_deref(),
            reason: approval.reason.as_deref(),
            changed: &approval.changed,
            similar,
            channels: &approval.terms.channels,
            approvers: &approval.terms.approvers,
            quorum: approval.terms.quorum,
            not_requester: approval.terms.not_requester,
            remember: approval.terms.offer.as_ref().map(|offer| OfferView {
                at_most: offer.at_most,
                same: &offer.same,
                any: &offer.any,
            }),
            decisions: approval.decisions.iter().map(DecisionView::new).collect(),
            created_at: rfc3339(approval.created_us),
            expires_at: rfc3339(approval.expires_us),
        }
    }
}

impl<'a> DecisionView<'a> {
    fn new(decision: &'a ApprovalDecision) -> Self {
        Self {
            decision: if decision.approve { "approve" } else { "deny" },
            by: &decision.by,
            channel: decision.channel,
            reason: decision.reason.as_deref(),
            edited: decision.edited.is_some(),
            remember: decision.remember,
            remembered: decision.remembered.as_deref(),
            lines: decision.lines.as_ref().map(|lines| &*lines.numbers),
            many: decision.lines.as_ref().and_then(|lines| lines.many),
            at: rfc3339(decision.at_us),
        }
    }
}

fn is_pending(approval: &Approval) -> bool {
    approval.state == ApprovalState::Pending
}

fn group(approval: &Approval) -> Group<'_> {
    (
        approval.execution.as_str(),
        approval.tool.server.as_str(),
        &approval.tool.tool,
        approval.pin.as_deref(),
        approval.class,
        approval.line,
    )
}

/// Whether `decider` may see an approval: it is about a call of its own, or names it as an approver. To all others it must
/// read as one that does not exist. The command line shows all: who uses it reads the state directory itself, and a client
/// that came over the network has no other terminal.
pub fn is_visible_to(approval: &Approval, decider: &Decider) -> bool {
    if decider.channel == ApprovalChannel::Cli {
        return true;
    }
    let lists = &approval.terms.approvers;
    approval.principal == decider.principal || !lists.is_empty() && is_on_each(lists, decider)
}

fn is_on_each(lists: &[Vec<String>], decider: &Decider) -> bool {
    let is_on = |list: &Vec<String>| list.iter().any(|name| decider.who.contains(name));
    lists.iter().all(is_on)
}

/// Whether `decider`, who may see an approval, may read the values of its arguments: of its own calls, on the command line as in
/// [`is_visible_to`], and where each rule that names readers names it.
pub fn may_view_arguments(approval: &Approval, decider: &Decider) -> bool {
    decider.channel == ApprovalChannel::Cli
        || approval.principal == decider.principal
        || is_on_each(&approval.terms.view_arguments, decider)
}

/// The approval as `decider` may read it, for the text of its question. Where it may not read the arguments, each value is
/// replaced by its size; the lines of the program, which may have the values too, and their origins are left out.
pub fn as_readable_by(approval: &Approval, decider: &Decider) -> Approval {
    let mut readable = approval.clone();
    if may_view_arguments(approval, decider) {
        return readable;
    }
    let named: Option<BTreeMap<String, Box<RawValue>>> =
        serde_json::from_str(&approval.arguments).ok();
    let sizes = named.unwrap_or_default().into_iter().map(|(name, value)| {
        let size = format!("hidden, {} bytes", value.get().len());
        (name, Value::String(size))
    });
    readable.arguments = Value::Object(sizes.collect()).to_string();
    readable.origins = BTreeMap::new();
    readable.line = None;
    readable.terms.offer = None;
    readable
}

/// What became final before a decision arrived, as a fragment: `already approved by user:anna (browser)`.
pub fn earlier_outcome(approval: &Approval) -> String {
    let by = |approve: bool| {
        let mut decisions = approval.decisions.iter().rev();
        let last = decisions.find(|decision| decision.approve == approve);
        last.map_or_else(String::new, |decision| {
            format!(" by {} ({})", decision.by, decision.channel.as_str())
        })
    };
    match approval.state {
        ApprovalState::Pending => "still pending".to_owned(),
        ApprovalState::Approved | ApprovalState::Spent => format!("already approved{}", by(true)),
        ApprovalState::Denied => format!("already denied{}", by(false)),
        ApprovalState::Expired => "expired before a decision".to_owned(),
        ApprovalState::Withdrawn => {
            "withdrawn: its execution ended, or asked about the call again".to_owned()
        }
    }
}

/// Number of the lines of a plan; `None` for a question about one call.
pub fn plan_lines(approval: &Approval) -> Option<u32> {
    let lines = approval.plan()?.lines.len();
    Some(u32::try_from(lines).unwrap_or(u32::MAX))
}

/// A text that names no lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lines are not numbers with commas between them, such as 1,3")]
pub struct LineNumbersError;

/// Numbers of lines as a person writes them, `1,3` or `1 3`; `None` for a blank text.
///
/// # Errors
///
/// [`LineNumbersError`]: what is not understood accepts nothing.
pub fn line_numbers(text: &str) -> Result<Option<Vec<u32>>, LineNumbersError> {
    let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let numbers = words.take(NUMBERS_MAX + 1).map(|word| {
        let number = word.parse().ok().filter(|number| *number > 0);
        number.ok_or(LineNumbersError)
    });
    let numbers: Vec<u32> = numbers.collect::<Result<_, _>>()?;
    if numbers.len() > NUMBERS_MAX {
        return Err(LineNumbersError);
    }
    Ok((!numbers.is_empty()).then_some(numbers))
}

/// A reason that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reason has {bytes} bytes, at most {DECISION_REASON_BYTES_MAX} are allowed")]
pub struct LongReasonError {
    bytes: usize,
}

/// The reason of a decision without hidden characters; `None` for a blank one.
///
/// # Errors
///
/// [`LongReasonError`]: a reason is never cut, because the program and the model act on it.
pub fn decision_reason(text: &str) -> Result<Option<String>, LongReasonError> {
    let text = text.trim();
    if text.len() > DECISION_REASON_BYTES_MAX {
        return Err(LongReasonError { bytes: text.len() });
    }
    let clean = clean(text, DECISION_REASON_BYTES_MAX);
    Ok((!clean.trim().is_empty()).then_some(clean))
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ApprovalId, ApprovalTerms, CallId, ExecutionId, ToolId};
    use serde_json::json;

    use super::*;

    fn approval(number: u32, arguments: &str) -> Approval {
        Approval {
            changed: Vec::new(),
            id: ApprovalId::new(format!("ap_{number:032x}")),
            execution: ExecutionId::new("ex_1"),
            call: CallId(number),
            principal: "token:anna".to_owned(),
            origin: "mcp".to_owned(),
            tool: ToolId::new("mail", "send"),
            pin: None,
            arguments: arguments.to_owned(),
            sha256: "ab".repeat(32),
            class: EffectClass::Write,
            class_from: "operator".to_owned(),
            rule: Some("mail-outside".to_owned()),
            preset: None,
            reason: None,
            line: Some(12),
            origins: Default::default(),
            terms: ApprovalTerms {
                channels: vec![ApprovalChannel::Cli, ApprovalChannel::Browser],
                approvers: vec![vec!["group:leads".to_owned()]],
                quorum: 1,
                not_requester: false,
                edit: Vec::new(),
                offer: None,
                view_arguments: Vec::new(),
                deny_on_expiry: false,
            },
            created_us: 1_778_311_773_000_000,
            expires_us: 1_778_398_173_000_000,
            state: ApprovalState::Pending,
            decisions: Vec::new(),
        }
    }

    fn decider(principal: &str, groups: &[&str]) -> Decider {
        let groups = groups.iter().map(|group| format!("group:{group}"));
        Decider {
            who: std::iter::once(format!("user:{principal}"))
                .chain(groups)
                .collect(),
            principal: principal.to_owned(),
            channel: ApprovalChannel::Browser,
        }
    }

    #[test]
    fn a_view_has_the_arguments_byte_for_byte_and_counts_what_is_like_it() {
        let exact = r#"{"amount":9007199254740993,"rate":1.10}"#;
        let mut list = vec![approval(1, exact), approval(2, "{}"), approval(3, "{}")];
        list[2].state = ApprovalState::Denied;
        list[2].decisions.push(ApprovalDecision {
            approve: false,
            by: "user:token:anna".to_owned(),
            channel: ApprovalChannel::Browser,
            reason: Some("not today".to_owned()),
            edited: None,
            lines: None,
            stop: false,
            remember: None,
            remembered: None,
            at_us: 1_778_311_774_000_000,
        });
        let text = serde_json::to_string(&approval_views(&list, usize::MAX)).unwrap();
        assert!(text.contains(&format!("\"arguments\":{exact}")), "{text}");
        let views: Value = serde_json::from_str(&text).unwrap();
        let first = &views[0];
        assert_eq!(
            (&first["state"], &first["call_id"], &first["similar"]),
            (&json!("pending"), &json!(1), &json!(1))
        );
        assert_eq!(first["created_at"], "2026-05-09T07:29:33.000000Z");
        assert_eq!(first["bytes"], exact.len());
        assert_eq!(views[2]["similar"], 2);
        assert_eq!(views[2]["decisions"][0]["reason"], "not today");
        let one = serde_json::to_value(approval_view(&list[2], &list)).unwrap();
        assert_eq!(
            (&one["state"], &one["similar"]),
            (&json!("denied"), &json!(2))
        );
        let one = approval_view(&list[0], &list).with_arguments_within(8);
        let one = serde_json::to_value(one).unwrap();
        assert_eq!(
            (&one["arguments"], &one["similar"]),
            (&Value::Null, &json!(1))
        );
        let short = serde_json::to_value(approval_views(&list, 8)).unwrap();
        assert_eq!(
            (&short[0]["arguments"], &short[1]["arguments"]),
            (&Value::Null, &json!({}))
        );
    }

    #[test]
    fn an_approval_is_visible_to_its_principal_and_its_approvers_alone() {
        let asked = approval(1, "{}");
        assert!(is_visible_to(&asked, &decider("token:anna", &[])));
        assert!(is_visible_to(
            &asked,
            &decider("token:ben", &["sales", "leads"])
        ));
        assert!(!is_visible_to(&asked, &decider("token:ben", &["sales"])));
        assert!(!is_visible_to(&asked, &decider("local", &[])));
    }

    #[test]
    fn values_are_hidden_from_an_approver_without_the_right_to_read_them() {
        let mut asked = approval(1, r#"{"to":"eve@example.org","amount":1200}"#);
        asked.terms.view_arguments = vec![vec!["group:finance".to_owned()]];
        let lead = decider("token:ben", &["leads"]);
        let both = decider("token:cyd", &["leads", "finance"]);
        let local = Decider {
            channel: ApprovalChannel::Cli,
            ..decider("local", &[])
        };
        let text = |reader: &Decider| {
            let view = approval_view(&asked, &[]).for_reader(&asked, reader);
            let readable = as_readable_by(&asked, reader);
            let view = serde_json::to_value(view).unwrap();
            assert_eq!(view["bytes"], asked.arguments.len());
            (view, readable.arguments)
        };
        let (view, arguments) = text(&lead);
        assert_eq!(
            (view.get("arguments"), &view["arguments_hidden"]),
            (None, &json!(true))
        );
        assert_eq!(
            arguments,
            r#"{"amount":"hidden, 4 bytes","to":"hidden, 17 bytes"}"#
        );
        // The controls: who may read them, who asked, and the user of the machine.
        for reader in [&both, &decider("token:anna", &[]), &local] {
            let (view, arguments) = text(reader);
            assert_eq!(view["arguments"]["to"], "eve@example.org");
            assert_eq!(view.get("arguments_hidden"), None);
            assert_eq!(arguments, asked.arguments);
        }
    }

    #[test]
    fn an_earlier_outcome_names_who_decided() {
        let mut asked = approval(1, "{}");
        let decision = |approve, by: &str| ApprovalDecision {
            approve,
            by: by.to_owned(),
            channel: ApprovalChannel::Cli,
            reason: None,
            edited: None,
            lines: None,
            stop: false,
            remember: None,
            remembered: None,
            at_us: 0,
        };
        asked.decisions = vec![decision(true, "user:a"), decision(false, "user:b")];
        asked.state = ApprovalState::Denied;
        assert_eq!(earlier_outcome(&asked), "already denied by user:b (cli)");
        asked.state = ApprovalState::Spent;
        assert_eq!(earlier_outcome(&asked), "already approved by user:a (cli)");
        asked.state = ApprovalState::Expired;
        assert_eq!(earlier_outcome(&asked), "expired before a decision");
    }

    #[test]
    fn numbers_of_lines_are_read_and_what_else_is_written_accepts_nothing() {
        assert_eq!(line_numbers("1,3"), Ok(Some(vec![1, 3])));
        assert_eq!(line_numbers(" 2, 4 7 "), Ok(Some(vec![2, 4, 7])));
        assert_eq!(line_numbers(" , "), Ok(None));
        for text in ["0", "-1", "1-3", "all", "y", "1;2", "4294967296"] {
            assert_eq!(line_numbers(text), Err(LineNumbersError), "{text}");
        }
        assert!(line_numbers(&"1 ".repeat(NUMBERS_MAX)).is_ok());
        assert!(line_numbers(&"1 ".repeat(NUMBERS_MAX + 1)).is_err());
    }

    #[test]
    fn a_reason_is_cleaned_and_a_long_one_is_refused() {
        let reason = decision_reason(" not\u{202e} this\u{1b}[2J week ").unwrap();
        assert_eq!(reason.as_deref(), Some("not this[2J week"));
        assert_eq!(decision_reason(" \u{200b} "), Ok(None));
        assert!(decision_reason(&"x".repeat(DECISION_REASON_BYTES_MAX)).is_ok());
        assert!(decision_reason(&"x".repeat(DECISION_REASON_BYTES_MAX + 1)).is_err());
    }
}
