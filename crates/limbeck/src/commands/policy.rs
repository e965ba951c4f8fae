//! `limbeck policy`: checks the rules of the configuration, explains a decision, shows the classes of tools, and decides about
//! recorded calls again.
//!
//! All use the cached tool lists and start no server.

mod ambiguous;
mod backtest;
pub(super) mod budgets;
mod cedar;
mod classes;
mod export;
mod in_doubt;
mod presets;
mod suggest;
mod toml_text;
mod verbs;

use std::sync::Arc;

use anyhow::anyhow;
use limbeck_catalog::{Catalog, Tool};
use limbeck_domain::text::clean_line;
use limbeck_domain::{CompactArguments, EffectClass, ReadMethod, ToolId};
use limbeck_gateway::{BudgetLeft, LOCAL_PRINCIPAL};
use limbeck_policy::rules::{
    AskOptions, AskUnit, CallFacts, Channel, Channels, DecidedBy, Effect, Explanation, Rule,
};
use limbeck_policy::{ClassSource, Policy, Requester, Scope, Subject, ToolClass};
use serde_json::{Value, json};

use crate::cli::{PolicyCheckArgs, PolicyCommand, PolicyExplainArgs};
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::table::TextTable;
use crate::wiring::{GatewayLifetime, GatewaySession, presets_by_way};

/// Longest name of a tool in a message, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Runs one of the commands.
pub(super) async fn policy(
    invocation: &Invocation,
    command: &PolicyCommand,
) -> Result<ExitStatus, CommandError> {
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
    let catalog = session.gateway.catalog();
    let policy = session.gateway.policy();
    let printer = &invocation.printer;
    let done = match command {
        PolicyCommand::Check(arguments) => check(&session, printer, &policy, &catalog, arguments),
        PolicyCommand::Explain(arguments) => {
            explain(&session, printer, &policy, &catalog, arguments).await
        }
        PolicyCommand::Budgets(arguments) => {
            budgets::budgets(&session, printer, &policy, arguments).await
        }
        PolicyCommand::Backtest(arguments) => {
            backtest::backtest(invocation, &catalog, arguments).await
        }
        PolicyCommand::Suggest(arguments) => {
            suggest::suggestions(invocation, &catalog, arguments).await
        }
        PolicyCommand::Export(arguments) => {
            export::export(invocation, &policy, &catalog, arguments)
        }
        PolicyCommand::Classes(arguments) => {
            let written = classes::classes(invocation, &policy, &catalog, arguments);
            if written.is_ok() && arguments.write {
                presets::note_new_defaults(invocation, session.policy_settings());
            }
            written
        }
    };
    session.close().await;
    done
}

/// Something about a rule that its author does not expect.
struct Finding<'a> {
    rule: &'a Rule,
    finding: String,
}

fn check(
    session: &GatewaySession,
    printer: &Printer,
    policy: &Policy,
    catalog: &Catalog,
    arguments: &PolicyCheckArgs,
) -> Result<ExitStatus, CommandError> {
    let rules = policy.rules.rules();
    let findings: Vec<Finding<'_>> = rules
        .iter()
        .filter_map(|rule| {
            let finding = finding(rule, rules, catalog)?;
            Some(Finding { rule, finding })
        })
        .collect();
    let classes = ambiguous::classes(policy, catalog);
    let doubtful = in_doubt::findings(policy, catalog);
    let fault = policy.fault.as_ref().map(|fault| &*fault.problem);
    let odd_budgets = budgets::findings(policy, catalog);
    let is_fine = fault.is_none()
        && findings.is_empty()
        && classes.is_empty()
        && doubtful.is_empty()
        && odd_budgets.is_empty();
    if arguments.json {
        let findings = findings.iter().map(|Finding { rule, finding }| {
            json!({ "rule": rule.id, "origin": rule.origin, "finding": finding })
        });
        let classes = classes
            .iter()
            .map(|(pattern, finding)| json!({ "class_of": pattern, "finding": finding }));
        let doubtful = doubtful.iter().map(|(tool, origin, finding)| {
            json!({ "in_doubt": tool.to_string(), "origin": origin, "finding": finding })
        });
        let odd_budgets = odd_budgets.iter().map(|(origin, budget, finding)| {
            json!({ "budget": budget, "origin": origin, "finding": finding })
        });
        printer.json(&json!({
            "ok": is_fine,
            "preset": policy.rules.preset().as_str(),
            "presets": presets::json(session.policy_settings()),
            "rules": rules.len(),
            "budgets": policy.budgets.all().len(),
            "fault": fault,
            "findings": findings.chain(classes).chain(doubtful).chain(odd_budgets).collect::<Vec<_>>(),
        }))?;
    } else {
        if let Some(fault) = fault {
            printer.error(&format!("the policy cannot be read: {fault}"));
            printer.hint("correct this line; until then only tools are called that `[policy.classes]` or a trusted server says only read");
        }
        for Finding { rule, finding } in &findings {
            printer.warning(&format!("{}: rule `{}` {finding}", rule.origin, rule.id));
        }
        for (pattern, finding) in &classes {
            printer.warning(&format!("the class of `{pattern}` {finding}"));
        }
        for (tool, origin, finding) in &doubtful {
            let tool = clean_line(&tool.to_string(), NAME_BYTES_MAX);
            printer.warning(&format!(
                "{origin}: what is said about calls of `{tool}` in doubt {finding}"
            ));
        }
        for (origin, budget, finding) in &odd_budgets {
            printer.warning(&format!("{origin}: budget `{budget}` {finding}"));
        }
        let presets = presets_by_way(session.policy_settings());
        let mut rules = counted(rules.len(), "rule");
        if !policy.budgets.all().is_empty() {
            let budgets = counted(policy.budgets.all().len(), "budget");
            rules = format!("{rules}, {budgets}");
        }
        printer.data_line(&match presets.as_slice() {
            [one] => format!("{rules}, preset {one}"),
            several => format!("{rules}, presets {}", several.join("; ")),
        });
    }
    Ok(if is_fine {
        ExitStatus::Completed
    } else {
        ExitStatus::Failed
    })
}

/// What is odd about a rule, given the tools that are known.
fn finding(rule: &Rule, rules: &[Rule], catalog: &Catalog) -> Option<String> {
    let servers: Vec<_> = catalog.servers().map(|server| server.name()).collect();
    let reached = servers
        .iter()
        .any(|server| rule.tools.may_reach(server.as_str()));
    if !reached {
        return Some("is about no server of the configuration".to_owned());
    }
    if let Some(finding) = ambiguous::rule(rule, catalog) {
        return Some(finding);
    }
    let covered: Vec<&Arc<Tool>> = catalog
        .tools()
        .filter(|tool| rule.covers(tool.id()))
        .collect();
    let all_listed = servers
        .iter()
        .filter(|server| rule.tools.may_reach(server.as_str()))
        .all(|server| !catalog.tools_of(server).is_empty());
    if covered.is_empty() {
        // The list of a server that was never started is not known.
        let is_dead = all_listed && !rule_is_of_methods(&rule.tools);
        return is_dead.then(|| "matches no tool of its servers".to_owned());
    }
    let mut arguments = rule.arguments.iter().map(|(path, _)| path.argument());
    let without = |argument: &&str| covered.iter().all(|tool| never_has(tool, argument));
    if let Some(argument) = arguments.find(without) {
        let argument = clean_line(argument, NAME_BYTES_MAX);
        return Some(format!(
            "has a condition on `{argument}`, which no tool of it has as an argument"
        ));
    }
    let hides = |other: &&Rule| {
        other.id != rule.id
            && other.effect > rule.effect
            && is_unconditional(other)
            && covered.iter().all(|tool| other.covers(tool.id()))
    };
    let hiding = rules.iter().find(hides)?;
    Some(format!(
        "never decides: rule `{}` ({}) covers all of its tools with `{}`",
        hiding.id, hiding.origin, hiding.effect
    ))
}

/// Whether the schema of a tool forbids an argument. A schema that says more than a list of properties is not judged.
fn never_has(tool: &Tool, argument: &str) -> bool {
    let schema = &tool.definition().input_schema;
    let says_more = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref"];
    schema["additionalProperties"] == Value::Bool(false)
        && says_more.iter().all(|key| schema.get(key).is_none())
        && schema["properties"].get(argument).is_none()
}

fn is_unconditional(rule: &Rule) -> bool {
    let Rule {
        classes,
        arguments,
        who,
        is_default,
        ..
    } = rule;
    classes.is_none() && arguments.is_empty() && who.is_none() && !is_default
}

/// Whether a pattern names a method such as `resources/read`, which is in no list of tools.
fn rule_is_of_methods(tools: &Scope) -> bool {
    tools
        .patterns()
        .is_none_or(|patterns| patterns.iter().any(|pattern| pattern.contains('/')))
}

async fn explain(
    session: &GatewaySession,
    printer: &Printer,
    policy: &Policy,
    catalog: &Catalog,
    arguments: &PolicyExplainArgs,
) -> Result<ExitStatus, CommandError> {
    let (tool, hinted) = named_tool(catalog, &arguments.tool)?;
    let (_, values) = CompactArguments::parse(&arguments.args).map_err(|error| {
        CommandError::usage(anyhow!("`--args`: {error}"))
            .with_hint("give the arguments of the call as one JSON object in quotes: '{\"id\": 7}'")
    })?;
    let class = match is_read_method(&tool) && catalog.tool(&tool).is_none() {
        true => ToolClass::READ_METHOD,
        false => policy.classes.of(&tool, hinted),
    };
    let ToolClass { class, source } = class;
    let principal = arguments.principal.as_deref().unwrap_or(LOCAL_PRINCIPAL);
    let requester = Requester::of_principal(principal);
    let facts = CallFacts {
        tool: &tool,
        subject: match is_read_method(&tool) && catalog.tool(&tool).is_none() {
            true => Subject::Read,
            false => Subject::Tool,
        },
        class,
        class_by_operator: source.is_operators(),
        arguments: &values,
        who: &requester.names(),
    };
    let explanation = policy.rules.explain(&facts);
    let fault = policy.fault_that_stops(ToolClass { class, source });
    let left = budgets::about(session, policy, (&tool, class), principal).await?;
    let ways = presets::decisions(session.policy_settings(), &facts);
    if arguments.json {
        let mut explained = explained(&explanation);
        if fault.is_some() {
            explained["effect"] = json!(Effect::Deny.as_str());
        } else if explanation.decision.effect == Effect::Ask {
            let unit = explanation.decision.unit();
            explained["ask"] = asked(unit, &policy.rules.ask_options(&facts));
        }
        if fault.is_none() {
            explained["ways"] = presets::decisions_json(&ways);
        }
        explained["class"] = json!(class.as_str());
        explained["class_from"] = json!(source.as_str());
        explained["in_doubt"] = in_doubt::json(policy, &tool);
        explained["budgets"] = left.iter().map(BudgetLeft::json).collect();
        explained["fault"] = json!(policy.fault.as_ref().map(|fault| &fault.problem));
        printer.json(&explained)?;
    } else {
        match fault {
            Some(fault) => {
                printer.data_line(&format!(
                    "deny: the policy cannot be read: {}",
                    fault.problem
                ));
            }
            None => {
                print(printer, &tool, class, source, &explanation);
                presets::print_decisions(printer, &ways);
            }
        }
        if let Some(line) = in_doubt::line(policy, &tool) {
            printer.data_line(&line);
        }
        if !left.is_empty() {
            printer.data("\n");
            budgets::print(printer, &left);
        }
        if catalog.tool(&tool).is_none() && !is_read_method(&tool) {
            printer.note(&format!(
                "no tool `{tool}` is listed; `limbeck tools` asks the servers"
            ));
        }
    }
    Ok(ExitStatus::Completed)
}

/// Whether the name is that of a method that reads, such as `resources/read`, which is decided about as a tool is.
fn is_read_method(tool: &ToolId) -> bool {
    serde_json::from_value::<ReadMethod>(json!(tool.tool)).is_ok()
}

/// The tool that the user named, and its class by its server's hints. A tool that is not listed has none.
fn named_tool(catalog: &Catalog, named: &str) -> Result<(ToolId, EffectClass), CommandError> {
    let is_named = |tool: &ToolId| {
        named == tool.to_string() || named == format!("mcp__{}__{}", tool.server, tool.tool)
    };
    if let Some(tool) = catalog.tools().find(|tool| is_named(tool.id())) {
        return Ok((tool.id().clone(), tool.effect()));
    }
    let unlisted = named
        .split_once('.')
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    match unlisted {
        Some((server, tool)) => Ok((ToolId::new(server, tool), EffectClass::Unknown)),
        None => {
            let named = clean_line(named, NAME_BYTES_MAX);
            let error = anyhow!("`{named}` is not the name of a tool");
            Err(CommandError::usage(error)
                .with_hint("write it as `server.tool`; `limbeck tools` lists servers"))
        }
    }
}

/// How a person is asked.
fn asked(unit: AskUnit, options: &AskOptions) -> Value {
    let channels = options.channels(Channels::DEFAULT);
    let channels: Vec<&str> = channels.iter().map(Channel::as_str).collect();
    json!({
        "unit": unit.as_str(),
        "preset": (unit == AskUnit::Program).then_some("plan"),
        "approvers": options.approvers.lists(),
        "view_arguments": options.viewers.lists(),
        "quorum": options.quorum,
        "not_requester": options.not_requester,
        "channels": channels,
        "expires_s": options.expires_s,
        "on_expiry": options.on_expiry.as_str(),
        "remember": options.remember.name(),
        "edit": options.edit,
    })
}

fn explained(explanation: &Explanation<'_>) -> Value {
    let others = explanation.others.iter().map(|(rule, failed)| {
        json!({ "rule": rule.id, "effect": rule.effect.as_str(), "origin": rule.origin, "failed": failed.to_string() })
    });
    let (rule, layer, origin, preset) = match &explanation.decision.by {
        DecidedBy::Rule(rule) => (
            Some(&*rule.id),
            Some(rule.layer.as_str()),
            Some(&*rule.origin),
            None,
        ),
        DecidedBy::Preset { preset, .. } => (None, None, None, Some(preset.as_str())),
    };
    json!({
        "effect": explanation.decision.effect.as_str(),
        "rule": rule,
        "layer": layer,
        "origin": origin,
        "preset": preset,
        "others": others.collect::<Vec<_>>(),
    })
}

fn print(
    printer: &Printer,
    tool: &ToolId,
    class: EffectClass,
    source: ClassSource,
    explanation: &Explanation<'_>,
) {
    let effect = explanation.decision.effect;
    let by = match &explanation.decision.by {
        DecidedBy::Rule(rule) => format!("rule `{}` ({})", rule.id, rule.origin),
        DecidedBy::Preset { preset, .. } => {
            format!("the preset `{preset}`, because no rule matches")
        }
    };
    printer.data_line(&format!("{effect}: {by}"));
    let by = match source {
        ClassSource::Operator => " (by the configuration or the protocol)",
        ClassSource::TrustedServer => " (by its server, whose hints are trusted)",
        ClassSource::Server => " (by its server)",
        ClassSource::Unknown => "",
    };
    printer.data_line(&format!("class of {tool}: {}{by}", class.as_str()));
    if effect == Effect::Ask {
        printer.note(match explanation.decision.unit() {
            AskUnit::Program => {
                "a person is asked once for such calls of a program, before it runs; a single call is asked about when it is made"
            }
            AskUnit::Call => {
                "a person is asked before such a call is sent, `limbeck approvals` lists the questions"
            }
        });
    }
    if explanation.others.is_empty() {
        return;
    }
    printer.data("\n");
    let mut table = TextTable::with_header(["OTHER RULE", "EFFECT", "WHY IT DOES NOT DECIDE"]);
    for (rule, failed) in &explanation.others {
        table.row([rule.id.clone(), rule.effect.to_string(), failed.to_string()]);
    }
    printer.table(&table);
}
