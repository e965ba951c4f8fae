//! `limbeck policy backtest`: what other rules would have decided about recorded calls.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use anyhow::anyhow;
use limbeck_catalog::Catalog;
use limbeck_domain::text::clean_line;
use limbeck_domain::{CallId, CompactArguments};
use limbeck_policy::rules::{CallFacts, DecidedBy, Effect};
use limbeck_policy::{Policy, PolicyDenial, Requester, Subject};
use limbeck_store::{RecordedCall, RecordedDecision};
use serde::Serialize;

use crate::cli::PolicyBacktestArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::{counted, grouped_digits};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::wiring;

/// Calls that are named for each difference.
const EXAMPLES_MAX: usize = 3;
/// Longest name of a rule or tool in the table, in bytes.
const NAME_BYTES_MAX: usize = 60;

/// Decides about each recorded call again and prints the differences.
pub(super) async fn backtest(
    invocation: &Invocation,
    catalog: &Arc<Catalog>,
    arguments: &PolicyBacktestArgs,
) -> Result<ExitStatus, CommandError> {
    let policy = policy_of(invocation, arguments)?;
    let now_us = invocation.world.now_us();
    let since_us = arguments.since.map_or(0, |since| since.before(now_us));
    let store = wiring::open_past(invocation).await?;
    let catalog = Arc::clone(catalog);
    let decide = move |report: &mut Report, call: RecordedCall<'_>| {
        report.add(&call, &policy, &catalog);
    };
    let report = store.fold_calls(since_us, Report::default(), decide);
    let report = report.await?;
    if arguments.json {
        invocation.printer.json(&report.json())?;
    } else {
        report.print(&invocation.printer);
    }
    Ok(ExitStatus::Completed)
}

/// The rules of the file, beside the administrator's. Which servers say what their tools do stays as it is configured.
fn policy_of(
    invocation: &Invocation,
    arguments: &PolicyBacktestArgs,
) -> Result<Policy, CommandError> {
    let file = arguments.file.display();
    let mut settings = wiring::read_file_alone(invocation, &arguments.file)?
        .settings
        .policy;
    if !settings.is_set {
        let error = anyhow!("{file} has no section `[policy]`");
        return Err(CommandError::usage(error)
            .with_hint("name a limbeck.toml with the rules that you want to try"));
    }
    let configured = wiring::read_configuration(invocation)?.settings.policy;
    settings.trusted_servers.extend(configured.trusted_servers);
    let policy = wiring::WayIn::Command.policy(&settings);
    match &policy.fault {
        Some(fault) => {
            let error = anyhow!("the rules cannot be read: {}", fault.problem);
            Err(CommandError::usage(error).with_hint("correct this line"))
        }
        None => Ok(policy),
    }
}

/// What decided, and how it differs from the record. Differences are listed in this order: denials first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    to: std::cmp::Reverse<Effect>,
    from: Effect,
    rule: Option<String>,
    preset: Option<&'static str>,
}

#[derive(Clone, Default)]
struct Differing {
    calls: u64,
    executions: u64,
    last_execution: String,
    examples: Vec<Example>,
}

#[derive(Clone, Serialize)]
struct Example {
    execution_id: String,
    call: CallId,
    tool: String,
}

/// Calls that were decided about again.
#[derive(Default)]
pub(super) struct Report {
    calls: u64,
    unknown: u64,
    changed: BTreeMap<Difference, Differing>,
}

impl Report {
    /// Decides about a call by `policy`.
    pub(super) fn add(&mut self, call: &RecordedCall<'_>, policy: &Policy, catalog: &Catalog) {
        self.calls += 1;
        let arguments = call.arguments.map(CompactArguments::parse);
        let Some(Ok((_, values))) = arguments else {
            self.unknown += 1;
            return;
        };
        // A hint that is not known any more is at most the class of that time: who may believe it decides the policy.
        let hinted = catalog
            .tool(call.tool)
            .map_or(call.class, |tool| tool.effect());
        let class = policy.classes.of(call.tool, hinted);
        let requester = Requester::of_principal(call.principal);
        let facts = CallFacts {
            tool: call.tool,
            // Reads of resources are calls by their method here.
            subject: match super::is_read_method(call.tool) {
                true => Subject::Read,
                false => Subject::Tool,
            },
            class: class.class,
            class_by_operator: class.source.is_operators(),
            arguments: &values,
            who: &requester.names(),
        };
        let decision = policy.rules.decide(&facts);
        let from = effect_of(call);
        if from == decision.effect {
            return;
        }
        let (rule, preset) = match decision.by {
            DecidedBy::Rule(rule) => (Some(rule.id.clone()), None),
            DecidedBy::Preset { preset, .. } => (None, Some(preset.as_str())),
        };
        let difference = Difference {
            to: std::cmp::Reverse(decision.effect),
            from,
            rule,
            preset,
        };
        let differing = match self.changed.entry(difference) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Differing::default()),
        };
        differing.add(call);
    }

    /// The part of it that the rule `id` decides.
    pub(super) fn of_rule(&self, id: &str) -> Self {
        let of_rule = self.changed.iter();
        let of_rule = of_rule.filter(|(difference, _)| difference.rule.as_deref() == Some(id));
        Self {
            calls: self.calls,
            unknown: self.unknown,
            changed: of_rule.map(|(of, it)| (of.clone(), it.clone())).collect(),
        }
    }

    /// Calls that would have been allowed and were not, and their executions.
    pub(super) fn allowed(&self) -> (u64, u64) {
        let allowed = self.changed.iter();
        let allowed = allowed.filter(|(difference, _)| difference.to.0 == Effect::Allow);
        allowed.fold((0, 0), |(calls, executions), (_, it)| {
            (calls + it.calls, executions + it.executions)
        })
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let changed = self.changed.iter().map(|(difference, differing)| {
            serde_json::json!({
                "rule": difference.rule,
                "preset": difference.preset,
                "from": difference.from.as_str(),
                "to": difference.to.0.as_str(),
                "calls": differing.calls,
                "executions": differing.executions,
                "examples": differing.examples,
            })
        });
        serde_json::json!({
            "calls": self.calls,
            "unknown": self.unknown,
            "changed": changed.collect::<Vec<_>>(),
        })
    }

    fn print(&self, printer: &Printer) {
        let calls = usize::try_from(self.calls).unwrap_or(usize::MAX);
        let changed: u64 = self.changed.values().map(|it| it.calls).sum();
        printer.data_line(&format!(
            "{}, {} would be decided differently",
            counted(calls, "recorded call"),
            grouped_digits(changed)
        ));
        if self.unknown > 0 {
            printer.note(&format!(
                "{} of them were not decided about again, because their arguments are not kept any more",
                grouped_digits(self.unknown)
            ));
        }
        if self.changed.is_empty() {
            return;
        }
        printer.data("\n");
        let header = ["BEFORE", "NOW", "BY", "CALLS", "EXECUTIONS", "SUCH AS"];
        let mut table = TextTable::with_header(header).right([3, 4]);
        for (difference, differing) in &self.changed {
            let by = match (&difference.rule, difference.preset) {
                (Some(rule), _) => format!("rule `{}`", clean_line(rule, NAME_BYTES_MAX)),
                (None, preset) => format!("preset `{}`", preset.unwrap_or_default()),
            };
            let example = differing.examples.first().map(|example| {
                let tool = clean_line(&example.tool, NAME_BYTES_MAX);
                format!("{tool} in {}", example.execution_id)
            });
            table.row([
                difference.from.to_string(),
                difference.to.0.to_string(),
                by,
                grouped_digits(differing.calls),
                grouped_digits(differing.executions),
                example.unwrap_or_default(),
            ]);
        }
        printer.table(&table);
    }
}

impl Differing {
    /// Counts a call. Those of one execution come one after the other.
    fn add(&mut self, call: &RecordedCall<'_>) {
        self.calls += 1;
        if self.last_execution != call.execution {
            call.execution.clone_into(&mut self.last_execution);
            self.executions += 1;
        }
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(Example {
                execution_id: call.execution.to_owned(),
                call: call.id,
                tool: call.tool.to_string(),
            });
        }
    }
}

/// What was decided then. A call that was denied in another way than by the rules was one that a person was asked about, or
/// would have been: `--on-ask deny`, and the denial of an equal call before.
fn effect_of(call: &RecordedCall<'_>) -> Effect {
    match call.decision {
        RecordedDecision::Allowed => Effect::Allow,
        RecordedDecision::Denied(message) if PolicyDenial::is_message(message, call.tool) => {
            Effect::Deny
        }
        RecordedDecision::Asked | RecordedDecision::Denied(_) => Effect::Ask,
    }
}
