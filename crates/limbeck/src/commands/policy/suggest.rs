//! `limbeck policy suggest`: rules that allow what people approved again and again, each with what it would have decided.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use limbeck_catalog::Catalog;
use limbeck_domain::{Approval, ApprovalState, CallId, EffectClass, ToolId};
use limbeck_policy::suggest::{APPROVALS_MIN, AnsweredCall, Suggestion, suggest};
use limbeck_policy::{Policy, Requester};
use limbeck_store::{RecordedCall, RecordedDecision};
use serde_json::{Map, Value, json};

use super::backtest::Report;
use super::toml_text::{inline_table, text};
use crate::cli::PolicySuggestArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::wiring;

/// Calls that are read for suggestions, the newest ones: what they have takes memory.
const CALLS_MAX: usize = 20_000;
/// Bytes of the arguments of such a call. A larger one has a text that no rule names.
const ARGUMENTS_BYTES_MAX: usize = 4 << 10;

/// Prints suggestions.
pub(super) async fn suggestions(
    invocation: &Invocation,
    catalog: &Arc<Catalog>,
    arguments: &PolicySuggestArgs,
) -> Result<ExitStatus, CommandError> {
    let now_us = invocation.world.now_us();
    let since_us = arguments.since.map_or(0, |since| since.before(now_us));
    let store = wiring::open_past(invocation).await?;
    let answers = Answers::default();
    let answers = store.fold_questions(since_us, answers, Answers::add_question);
    let answers = answers.await?;
    let answers = store.fold_calls(since_us, answers, |answers, call| answers.add_call(&call));
    let answers = answers.await?;
    let others = |tool: &ToolId| arguments_of(catalog, tool).0;
    let approved: Vec<AnsweredCall> = answers.approved.into_iter().collect();
    let suggestions = suggest(&approved, &answers.denied, others);
    let suggested: Vec<Suggested> = suggestions
        .into_iter()
        .filter_map(|it| Suggested::of(it, catalog))
        .collect();
    // Each rule alone beside those of the configuration: what it would have decided.
    let settings = wiring::read_configuration(invocation)?.settings.policy;
    let mut tests: Vec<(ToolId, Policy, Report)> = Vec::new();
    for one in &suggested {
        let mut settings = settings.clone();
        settings.rules.retain(|rule| rule.id != one.id);
        settings
            .rules
            .extend(one.suggestion.rule(&one.id, &one.reason));
        let policy = wiring::WayIn::Command.policy(&settings);
        let tool = one.suggestion.tool.clone();
        tests.push((tool, policy, Report::default()));
    }
    let catalog = Arc::clone(catalog);
    let decide = move |tests: &mut Vec<(ToolId, Policy, Report)>, call: RecordedCall<'_>| {
        for (tool, policy, report) in tests.iter_mut() {
            // A rule decides about calls of its own tool.
            if call.tool == tool {
                report.add(&call, policy, &catalog);
            }
        }
    };
    let tests = store.fold_calls(since_us, tests, decide).await?;
    let reports: Vec<Report> = tests.into_iter().map(|(_, _, report)| report).collect();
    let shown: Vec<(Suggested, Report)> = suggested.into_iter().zip(reports).collect();
    let by_rules = answers.by_rules;
    if arguments.json {
        let suggestions = shown.iter().map(|(one, report)| one.json(report));
        invocation.printer.json(&json!({
            "approvals": approved.len(),
            "denials": answers.denied.len(),
            "suggestions": suggestions.collect::<Vec<_>>(),
        }))?;
    } else {
        print(&invocation.printer, approved.len(), &shown, &by_rules);
    }
    Ok(ExitStatus::Completed)
}

/// What people answered.
#[derive(Default)]
struct Answers {
    approved: VecDeque<AnsweredCall>,
    denied: Vec<AnsweredCall>,
    /// Calls that had a question of their own, by execution.
    asked: HashSet<(String, CallId)>,
    /// Approvals by the rule that asked: no rule that allows wins over one that asks.
    by_rules: BTreeMap<String, usize>,
}

impl Answers {
    fn add_question(&mut self, question: Approval) {
        let who = who_of(&question.principal);
        let state = question.state;
        if question.is_plan() {
            let accepted: HashSet<u32> = question
                .decisions
                .iter()
                .filter(|decision| decision.approve)
                .flat_map(|decision| decision.lines.iter().flat_map(|lines| lines.numbers.iter()))
                .copied()
                .collect();
            let is_answered = !question.decisions.is_empty();
            let Some(plan) = question.plan().filter(|_| is_answered) else {
                return;
            };
            let lines = plan.lines.into_iter().zip(1_u32..);
            let mut decisions = question.decisions.iter();
            let is_whole = decisions.any(|decision| decision.approve && decision.lines.is_none());
            let refused = lines.filter(|(_, number)| {
                state == ApprovalState::Denied || !(is_whole || accepted.contains(number))
            });
            self.denied.extend(refused.map(|(line, _)| {
                let constants = line.constants.iter().filter_map(|constant| {
                    let value: Value = serde_json::from_str(&constant.json).ok()?;
                    Some((constant.name.clone(), value))
                });
                AnsweredCall {
                    who: who.clone(),
                    is_open: !line.is_exact(),
                    tool: line.tool.clone(),
                    class: line.class,
                    arguments: constants.collect(),
                }
            }));
            return;
        }
        let execution = question.execution.to_string();
        self.asked.insert((execution, question.call));
        let edited = question
            .decisions
            .last()
            .and_then(|it| it.edited.as_deref());
        let arguments = match state {
            ApprovalState::Denied => &question.arguments,
            _ => edited.unwrap_or(&question.arguments),
        };
        let call = answered(who, &question.tool, question.class, arguments);
        match (state, call) {
            (ApprovalState::Denied, Some(call)) => self.denied.push(call),
            // What retention removed may have been anything.
            (ApprovalState::Denied, None) => self.denied.push(AnsweredCall {
                who: who_of(&question.principal),
                tool: question.tool,
                class: question.class,
                arguments: Map::new(),
                is_open: true,
            }),
            (ApprovalState::Spent | ApprovalState::Approved, Some(call)) => match question.rule {
                Some(rule) => *self.by_rules.entry(rule).or_default() += 1,
                None => self.approve(call),
            },
            (
                ApprovalState::Spent
                | ApprovalState::Approved
                | ApprovalState::Pending
                | ApprovalState::Expired
                | ApprovalState::Withdrawn,
                _,
            ) => {}
        }
    }

    /// Adds a call that an accepted plan let out: it had no question of its own.
    fn add_call(&mut self, call: &RecordedCall<'_>) {
        let is_asked = call.decision == RecordedDecision::Asked;
        let named = (call.execution.to_owned(), call.id);
        if !is_asked || self.asked.contains(&named) {
            return;
        }
        let who = who_of(call.principal);
        let arguments = call.arguments.unwrap_or_default();
        if let Some(call) = answered(who, call.tool, call.class, arguments) {
            self.approve(call);
        }
    }

    fn approve(&mut self, call: AnsweredCall) {
        if self.approved.len() >= CALLS_MAX {
            self.approved.pop_front();
        }
        self.approved.push_back(call);
    }
}

fn who_of(principal: &str) -> String {
    Requester::of_principal(principal).names().concat()
}

fn answered(
    who: String,
    tool: &ToolId,
    class: EffectClass,
    arguments: &str,
) -> Option<AnsweredCall> {
    if arguments.len() > ARGUMENTS_BYTES_MAX {
        return None;
    }
    Some(AnsweredCall {
        who,
        tool: tool.clone(),
        class,
        arguments: serde_json::from_str(arguments).ok()?,
        is_open: false,
    })
}

/// Names of the arguments that the schema of a tool has, and whether it takes no others.
fn arguments_of(catalog: &Catalog, tool: &ToolId) -> (Vec<String>, bool) {
    let Some(tool) = catalog.tool(tool) else {
        return (Vec::new(), false);
    };
    let schema = &tool.definition().input_schema;
    let properties = schema["properties"].as_object();
    let names = properties.map(|them| them.keys().cloned().collect());
    let says_more = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref"];
    let is_closed = schema["additionalProperties"] == Value::Bool(false)
        && says_more.iter().all(|key| schema.get(key).is_none());
    (names.unwrap_or_default(), is_closed)
}

/// A suggestion as it is shown.
struct Suggested {
    id: String,
    reason: String,
    suggestion: Suggestion,
    toml: String,
    /// Whether the tool takes arguments that no list names: the rule does not exclude them.
    is_open: bool,
}

impl Suggested {
    /// `None` where the rule cannot be written into a file.
    fn of(suggestion: Suggestion, catalog: &Catalog) -> Option<Self> {
        let calls = counted(suggestion.approvals, "such call");
        let reason = format!("suggested from {calls} that were approved");
        let id = id_of(&suggestion);
        suggestion.rule(&id, &reason)?;
        let (_, is_closed) = arguments_of(catalog, &suggestion.tool);
        let mut toml = format!(
            "[[policy.rule]]\nid = {}\neffect = \"allow\"\ntools = [{}]\nclass = [\"{}\"]\n",
            text(&id),
            text(&suggestion.tool.to_string()),
            suggestion.class.as_str(),
        );
        if !suggestion.arguments.is_empty() {
            let conditions = inline_table(&suggestion.arguments)?;
            toml.push_str(&format!("args = {conditions}\n"));
        }
        toml.push_str(&format!(
            "who = [{}]\nreason = {}\n",
            text(&suggestion.who),
            text(&reason)
        ));
        Some(Self {
            id,
            reason,
            suggestion,
            toml,
            is_open: !is_closed,
        })
    }

    fn json(&self, report: &Report) -> Value {
        let Suggestion {
            tool,
            class,
            who,
            arguments,
            approvals,
        } = &self.suggestion;
        let conditions: Map<String, Value> = arguments.iter().cloned().collect();
        json!({
            "id": self.id,
            "tool": tool.to_string(),
            "class": class.as_str(),
            "who": who,
            "args": conditions,
            "approvals": approvals,
            "other_arguments": self.is_open,
            "toml": self.toml,
            "backtest": report.of_rule(&self.id).json(),
        })
    }
}

/// An id that is the same for the same conditions.
fn id_of(suggestion: &Suggestion) -> String {
    let Suggestion {
        tool,
        class,
        who,
        arguments,
        approvals: _,
    } = suggestion;
    let text = json!([tool.to_string(), class.as_str(), who, arguments]).to_string();
    // FNV-1a: the id is a name, and nothing depends on it.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("suggested-{hash:016x}")
}

fn print(
    printer: &Printer,
    approvals: usize,
    suggested: &[(Suggested, Report)],
    by_rules: &BTreeMap<String, usize>,
) {
    for (index, (one, report)) in suggested.iter().enumerate() {
        if index > 0 {
            printer.data("\n");
        }
        let (calls, executions) = report.of_rule(&one.id).allowed();
        printer.data_line(&format!(
            "# {} were approved; the rule would have allowed {} of {} without a question",
            counted(one.suggestion.approvals, "such call"),
            counted(
                usize::try_from(calls).unwrap_or(usize::MAX),
                "recorded call"
            ),
            counted(
                usize::try_from(executions).unwrap_or(usize::MAX),
                "execution"
            ),
        ));
        if one.is_open {
            printer.data_line(
                "# the schema of the tool takes other arguments too, which the rule does not exclude",
            );
        }
        printer.data(&one.toml);
    }
    if suggested.is_empty() {
        printer.note(&format!(
            "no rule is suggested: of {}, no {APPROVALS_MIN} are equal, or one of them was denied",
            counted(approvals, "approved call")
        ));
    } else {
        printer.hint(
            "put the rules that you want into your own config.toml, or into a file for `limbeck policy backtest FILE`",
        );
    }
    for (rule, count) in by_rules {
        if *count >= APPROVALS_MIN {
            let rule = limbeck_domain::text::clean_line(rule, 200);
            printer.note(&format!(
                "rule `{rule}` asked about {} that were approved: no other rule wins over it, so narrow it if it asks too often",
                counted(*count, "call")
            ));
        }
    }
}
