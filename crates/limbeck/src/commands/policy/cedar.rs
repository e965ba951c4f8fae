//! The rules, the preset and the classes as Cedar policies, and the known tools as a Cedar schema.
//!
//! Each tool is an action, its server the resource, and its arguments are the context. Patterns and classes are resolved to the
//! tools that are known, so that the translation is exact for these. An answer *ask* is a `permit` with `@effect("ask")`: a request
//! with such a policy among its determining ones is asked about.
//!
//! What Cedar cannot say (regular expressions, elements of lists, hosts, numbers with fractions) is written so that it allows less,
//! never more, and is named in a comment and in [`Exported::not_expressed`].

mod expression;
mod schema;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use limbeck_catalog::{Catalog, Tool};
use limbeck_domain::EffectClass;
use limbeck_domain::text::clean_line;
use limbeck_policy::rules::{AskUnit, Effect, Layer, PresetAnswer, Rule};
use limbeck_policy::{Policy, ToolClass};

use expression::{Meaning, conditions, text};
use schema::Arguments;

/// Bytes of a name in a comment.
const COMMENT_BYTES_MAX: usize = 300;

/// What is written.
pub(super) struct Exported {
    pub(super) policies: String,
    pub(super) schema: String,
    /// What could not be said, each a sentence about one rule.
    pub(super) not_expressed: Vec<String>,
}

/// A tool with what decides about its calls besides rules.
struct KnownTool<'a> {
    tool: &'a Arc<Tool>,
    class: ToolClass,
    arguments: Arguments,
}

impl KnownTool<'_> {
    fn action(&self) -> String {
        format!("Limbeck::Action::{}", text(&self.tool.id().to_string()))
    }
}

/// Translates `policy`.
pub(super) fn exported(policy: &Policy, catalog: &Catalog) -> Exported {
    let mut tools: Vec<KnownTool<'_>> = catalog
        .tools()
        .map(|tool| KnownTool {
            tool,
            class: policy.classes.of(tool.id(), tool.effect()),
            arguments: Arguments::of(&tool.definition().input_schema),
        })
        .collect();
    tools.sort_by_key(|known| known.tool.id().to_string());
    let mut translation = Translation {
        tools: &tools,
        out: String::from(HEAD),
        not_expressed: Vec::new(),
        allowing: Vec::new(),
    };
    for rule in policy.rules.rules() {
        translation.rule(rule);
    }
    translation.preset(policy);
    if !policy.budgets.all().is_empty() {
        translation.missing("budgets are not exported: they only limit what is allowed");
    }
    Exported {
        schema: schema::written(&tools),
        policies: translation.out,
        not_expressed: translation.not_expressed,
    }
}

const HEAD: &str = "\
// Cedar policies of Limbeck, for the tools that were known when they were written.
//
// principal  Limbeck::User::\"NAME\", a member of its groups
// action     one for each tool
// resource   the server of the tool
// context    { arguments: { … } }, without the arguments that the schema leaves out and without those that are null
//
// A request that is allowed by a policy with @effect(\"ask\") among others is one that a person is asked about.
// Reads of resources and prompts are no tools, and are not in here.
";

struct Translation<'a> {
    tools: &'a [KnownTool<'a>],
    out: String,
    not_expressed: Vec<String>,
    /// Conditions under which a rule allows: there the preset does not count.
    allowing: Vec<String>,
}

impl Translation<'_> {
    fn missing(&mut self, what: &str) {
        let what = clean_line(what, COMMENT_BYTES_MAX);
        // Writing into a text does not fail.
        let _ = write!(self.out, "\n// not expressed: {what}\n");
        self.not_expressed.push(what);
    }

    fn rule(&mut self, rule: &Rule) {
        let of_rule = |known: &&KnownTool<'_>| {
            let is_class = |classes: &Vec<EffectClass>| classes.contains(&known.class.class);
            rule.covers(known.tool.id()) && rule.classes.as_ref().is_none_or(is_class)
        };
        if rule.is_default {
            self.missing(&format!(
                "rule `{}` yields to rules of users that match; here it counts beside them",
                rule.id
            ));
        }
        let asks_for_project = rule.layer == Layer::Project && rule.effect == Effect::Ask;
        if asks_for_project {
            self.missing(&format!(
                "rule `{}` of a repository asks, and the preset counts beside it; here what it asks about is forbidden",
                rule.id
            ));
        }
        // Tools for which the conditions read alike are one policy.
        let mut groups: BTreeMap<String, Vec<&KnownTool<'_>>> = BTreeMap::new();
        let mut missing: Vec<String> = Vec::new();
        for known in self.tools.iter().filter(of_rule) {
            let read = conditions(rule, &known.arguments, known.tool.id());
            missing.extend(read.missing);
            match read.meaning {
                Meaning::Never => {}
                Meaning::When(condition) => groups.entry(condition).or_default().push(known),
            }
        }
        missing.sort_unstable();
        missing.dedup();
        let is_exact = missing.is_empty();
        for what in missing {
            let instead = match rule.effect {
                Effect::Allow => "the rule is left out for such tools",
                Effect::Ask => "what the rule may ask about is forbidden",
                Effect::Deny => "the rule forbids any value",
            };
            self.missing(&format!("rule `{}`: {what}; here {instead}", rule.id));
        }
        for (index, (condition, tools)) in groups.into_iter().enumerate() {
            let id = match index {
                0 => rule.id.clone(),
                more => format!("{}#{}", rule.id, more + 1),
            };
            let actions: Vec<String> = tools.iter().map(|known| known.action()).collect();
            let who = rule.who.as_deref().map(who);
            let all: Vec<&str> = [who.as_deref().unwrap_or(""), &condition]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect();
            let when = all.join(" && ");
            let effect = match rule.effect {
                Effect::Ask if !is_exact || asks_for_project => Effect::Deny,
                effect => effect,
            };
            if effect == Effect::Allow {
                let mut allowing = format!("(action in [{}]", actions.join(", "));
                if !when.is_empty() {
                    let _ = write!(allowing, " && {when}");
                }
                allowing.push(')');
                self.allowing.push(allowing);
            }
            let _ = writeln!(
                self.out,
                "\n// {}",
                clean_line(&rule.origin, COMMENT_BYTES_MAX)
            );
            let annotations = [("reason", rule.reason.as_deref())];
            self.policy(&id, effect, None, &annotations, &actions, &when, "");
        }
    }

    /// What decides where no rule is about a call.
    fn preset(&mut self, policy: &Policy) {
        let preset = policy.rules.preset();
        let mut answers: BTreeMap<&str, (PresetAnswer, Vec<String>)> = BTreeMap::new();
        for known in self.tools {
            let by_operator = known.class.source.is_operators();
            let answer = preset.answer(known.class.class, by_operator);
            let name = match answer {
                PresetAnswer::Allow => "allow",
                PresetAnswer::Ask(AskUnit::Program) => "ask-program",
                PresetAnswer::Ask(AskUnit::Call) => "ask-call",
                PresetAnswer::Deny => continue,
            };
            let answers = answers.entry(name).or_insert((answer, Vec::new()));
            answers.1.push(known.action());
        }
        let unless = self.allowing.join(" || ");
        for (name, (answer, actions)) in answers {
            let id = format!("preset:{preset}:{name}");
            let _ = writeln!(self.out, "\n// preset {preset}");
            match answer {
                PresetAnswer::Allow => {
                    self.policy(&id, Effect::Allow, None, &[], &actions, "", "");
                }
                PresetAnswer::Ask(unit) => {
                    // A rule that allows is stronger than a preset that asks.
                    self.policy(&id, Effect::Ask, Some(unit), &[], &actions, "", &unless);
                }
                PresetAnswer::Deny => {}
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a policy, written in this order"
    )]
    fn policy(
        &mut self,
        id: &str,
        effect: Effect,
        unit: Option<AskUnit>,
        annotations: &[(&str, Option<&str>)],
        actions: &[String],
        when: &str,
        unless: &str,
    ) {
        let _ = writeln!(self.out, "@id({})", text(id));
        if effect == Effect::Ask {
            let _ = writeln!(self.out, "@effect(\"ask\")");
        }
        if let Some(unit) = unit {
            let _ = writeln!(self.out, "@unit({})", text(unit.as_str()));
        }
        for (name, value) in annotations {
            if let Some(value) = value {
                let _ = writeln!(self.out, "@{name}({})", text(value));
            }
        }
        let verb = match effect {
            Effect::Allow | Effect::Ask => "permit",
            Effect::Deny => "forbid",
        };
        let action = match actions {
            all if all.len() == self.tools.len() => "action".to_owned(),
            [one] => format!("action == {one}"),
            several => format!("action in [\n    {}\n  ]", several.join(",\n    ")),
        };
        let _ = write!(
            self.out,
            "{verb} (\n  principal,\n  {action},\n  resource\n)"
        );
        if !when.is_empty() {
            let _ = write!(self.out, "\nwhen {{ {when} }}");
        }
        if !unless.is_empty() {
            let _ = write!(self.out, "\nunless {{ {unless} }}");
        }
        self.out.push_str(";\n");
    }
}

/// Whether the principal is one of these.
fn who(names: &[String]) -> String {
    let one = |name: &String| match name.split_once(':') {
        Some(("group", group)) => format!("principal in Limbeck::Group::{}", text(group)),
        Some((_, user)) => format!("principal == Limbeck::User::{}", text(user)),
        None => format!("principal == Limbeck::User::{}", text(name)),
    };
    let names: Vec<String> = names.iter().map(one).collect();
    format!("({})", names.join(" || "))
}

#[cfg(test)]
mod tests;
