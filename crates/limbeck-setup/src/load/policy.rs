//! `[policy]` of `limbeck.toml`: preset, classes of tools, and rules.
//!
//! The section of one file is read whole or not at all: a rule that is left out because of a slip of the pen would allow what
//! its author forbade. A wrong section of the user's file stops every call that is not a known read until it is mended.

pub(super) mod ask;
mod in_doubt;

use std::collections::HashSet;
use std::path::PathBuf;

use limbeck_domain::{EffectClass, ServerName};
use limbeck_policy::Scope as ToolScope;
use limbeck_policy::rules::{ArgumentPath, Condition, Effect, Layer, Preset, Rule};

use super::Loader;
use super::open_file::OpenFile;
use super::sources::{ConfigSource, FileRole};
use crate::configuration::PolicySettings;
use crate::diagnostic::{Diagnostic, Severity, ValueError};
use crate::document::ConfigPlace;
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;

/// Keys of `[policy]`.
const POLICY_KEYS: &[&str] = &["preset", "classes", "trust_annotations", "rule", "in_doubt"];
/// Keys of `[[policy.rule]]`.
const RULE_KEYS: &[&str] = &[
    "id", "effect", "tools", "except", "class", "args", "who", "reason", "ask", "default",
];
/// Beginning of the id of a rule that an answer has written; a hexadecimal key follows.
const ANSWER_ID: &str = "always-";
const CLASSES: [EffectClass; 4] = [
    EffectClass::Read,
    EffectClass::Write,
    EffectClass::Destructive,
    EffectClass::Unknown,
];

impl Loader<'_> {
    /// Reads the section. What a repository's file says can only tighten what the user's files say.
    pub(super) fn read_policy(
        &mut self,
        file: &OpenFile<'_>,
        place: &ConfigPlace<'_>,
    ) -> Result<(), ValueError> {
        let read = section(file, place, &self.found.settings.policy);
        let policy = &mut self.found.settings.policy;
        match read {
            Ok(section) => {
                policy.add(section);
                Ok(())
            }
            Err(error) => {
                // A stranger's file must not stop the user's calls.
                if file.source.scope != EntryScope::Repository {
                    let finding = file.diagnostic(Severity::Error, error.clone());
                    policy.fault.get_or_insert(without_directory(&finding));
                    // Known reads are still called.
                    policy.add(classes_alone(place));
                }
                Err(error)
            }
        }
    }
}

impl Loader<'_> {
    /// Remembers that a file of the user was not read which may have rules: calls that they would deny must not be sent.
    pub(super) fn note_unread_policy(
        &mut self,
        source: &ConfigSource,
        text: &str,
        finding: &Diagnostic,
    ) {
        // A table is written in several ways, and a wrong file has any of them.
        if text.contains("policy") || text.contains("budget") {
            self.note_unread_file(source, finding);
        }
    }

    /// Remembers a file of the user or the administrator of which nothing is known.
    pub(super) fn note_unread_file(&mut self, source: &ConfigSource, finding: &Diagnostic) {
        let may_have_rules = match source.role {
            FileRole::Limbeck => source.scope != EntryScope::Repository,
            FileRole::Managed => true,
            FileRole::ClaudeState | FileRole::Repository | FileRole::Earlier | FileRole::Named => {
                false
            }
        };
        if may_have_rules {
            let problem = without_directory(finding);
            self.found.settings.policy.fault.get_or_insert(problem);
        }
    }
}

/// A finding with the name of its file alone: programs and other principals read it, and no path
/// of the machine reaches them. Findings about the configuration have the whole path.
pub(super) fn without_directory(finding: &Diagnostic) -> String {
    let file = finding.file.file_name().map(PathBuf::from);
    let finding = Diagnostic {
        file: file.unwrap_or_default(),
        ..finding.clone()
    };
    finding.to_string()
}

/// Reads the section of one file; `before` is what other files said.
fn section(
    file: &OpenFile<'_>,
    place: &ConfigPlace<'_>,
    before: &PolicySettings,
) -> Result<PolicySettings, ValueError> {
    let layer = layer_of(file);
    let mut section = PolicySettings {
        is_set: true,
        is_operators: layer != Layer::Project,
        ..PolicySettings::default()
    };
    for (key, value) in place.entries()? {
        match key {
            "preset" => section.presets.push((layer, preset(&value)?)),
            "classes" => {
                own_alone(layer, &value)?;
                section.classes = classes(&value)?;
            }
            "trust_annotations" => {
                own_alone(layer, &value)?;
                section.trusted_servers = servers(&value)?;
            }
            "in_doubt" => {
                own_alone(layer, &value)?;
                section.in_doubt = in_doubt::rules(file, &value, &before.in_doubt)?;
            }
            "rule" => {
                for rule_place in value.list()? {
                    let rule = rule(file, layer, &rule_place)?;
                    let mut others = before.rules.iter().chain(&section.rules);
                    if let Some(other) = others.find(|other| other.id == rule.id) {
                        let problem =
                            format!("`{}` is the id of another rule ({})", rule.id, other.origin);
                        return Err(rule_place.malformed(problem));
                    }
                    section.rules.push(rule);
                }
            }
            _ => return Err(value.malformed_key(unknown_key(POLICY_KEYS, key))),
        }
    }
    if layer != Layer::Project && is_by_answers_alone(place, &section.rules)? {
        section.is_operators = false;
    }
    Ok(section)
}

/// Whose file it is.
pub(super) fn layer_of(file: &OpenFile<'_>) -> Layer {
    match (file.source.role, &file.source.scope) {
        (FileRole::Managed, _) => Layer::Managed,
        (_, EntryScope::User | EntryScope::Project(_)) => Layer::User,
        (_, EntryScope::Given) => Layer::File,
        (_, EntryScope::Repository) => Layer::Project,
    }
}

/// Whether a section has only rules that the answer `always` to a question has written. Such an answer allows calls like one; it is
/// not the wish to be asked about others.
fn is_by_answers_alone(place: &ConfigPlace<'_>, rules: &[Rule]) -> Result<bool, ValueError> {
    let has_rules_alone = place.entries()?.iter().all(|(key, _)| *key == "rule");
    let is_answer = |rule: &Rule| {
        let key = rule.id.strip_prefix(ANSWER_ID);
        let is_key = |key: &str| key.bytes().all(|byte| byte.is_ascii_hexdigit());
        rule.effect == Effect::Allow && key.is_some_and(|key| !key.is_empty() && is_key(key))
    };
    Ok(has_rules_alone && !rules.is_empty() && rules.iter().all(is_answer))
}

/// What a section with a mistake says about the effects of tools, where the mistake is elsewhere.
fn classes_alone(place: &ConfigPlace<'_>) -> PolicySettings {
    let read = |key| place.get(key).ok().flatten();
    PolicySettings {
        is_set: true,
        is_operators: true,
        classes: read("classes")
            .and_then(|value| classes(&value).ok())
            .unwrap_or_default(),
        trusted_servers: read("trust_annotations")
            .and_then(|value| servers(&value).ok())
            .unwrap_or_default(),
        ..PolicySettings::default()
    }
}

/// Classes of tools by patterns.
fn classes(place: &ConfigPlace<'_>) -> Result<Vec<(ToolScope, EffectClass)>, ValueError> {
    let one = |(pattern, value): (&str, ConfigPlace<'_>)| {
        Ok((scope_of([pattern], &value)?, class(&value)?))
    };
    place.entries()?.into_iter().map(one).collect()
}

fn servers(place: &ConfigPlace<'_>) -> Result<HashSet<ServerName>, ValueError> {
    let names = place.list()?;
    names.iter().map(|name| Ok(name.text()?.into())).collect()
}

/// Refuses what loosens in a repository's file.
fn own_alone(layer: Layer, place: &ConfigPlace<'_>) -> Result<(), ValueError> {
    if layer == Layer::Project {
        let problem = "a repository's file cannot say which tools only read or may be called again";
        return Err(place.malformed_key(problem));
    }
    Ok(())
}

fn rule(file: &OpenFile<'_>, layer: Layer, place: &ConfigPlace<'_>) -> Result<Rule, ValueError> {
    let (mut id, mut effect, mut tools) = (None, None, None);
    let mut rule = Rule {
        id: String::new(),
        effect: Effect::Deny,
        tools: ToolScope::everything(),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: None,
        ask: None,
        layer,
        is_default: false,
        origin: file.origin(place).to_string(),
    };
    for (key, value) in place.entries()? {
        match key {
            "id" => id = Some(value.text()?.to_owned()),
            "effect" => effect = Some(named_effect(&value)?),
            "tools" => tools = Some(scope(&value)?),
            "except" => rule.except = Some(scope(&value)?),
            "class" => {
                rule.classes = Some(value.list()?.iter().map(class).collect::<Result<_, _>>()?)
            }
            "args" => rule.arguments = arguments(&value)?,
            "who" => rule.who = Some(people(&value)?),
            "default" => rule.is_default = value.boolean()?,
            "ask" => rule.ask = Some(ask::options(&value)?),
            "reason" => rule.reason = Some(value.text()?.to_owned()),
            _ => return Err(value.malformed_key(unknown_key(RULE_KEYS, key))),
        }
    }
    let required = |key: &str| place.malformed(format!("a rule needs `{key}`"));
    rule.id = id.ok_or_else(|| required("id"))?;
    rule.effect = effect.ok_or_else(|| required("effect"))?;
    rule.tools = tools.ok_or_else(|| required("tools"))?;
    rule.check()
        .map_err(|error| place.malformed(error.to_string()))?;
    Ok(rule)
}

/// Conditions by the paths of arguments.
fn arguments(place: &ConfigPlace<'_>) -> Result<Vec<(ArgumentPath, Condition)>, ValueError> {
    let condition = |(path, value): (&str, ConfigPlace<'_>)| {
        let path =
            ArgumentPath::parse(path).map_err(|error| value.malformed_key(error.to_string()))?;
        let operators = serde_json::from_str(&value.canonical())
            .map_err(|_| value.malformed("a date is no operand; write it as a text"))?;
        let condition = Condition::from_value(&operators)
            .map_err(|error| value.malformed(error.to_string()))?;
        Ok((path, condition))
    };
    place.entries()?.into_iter().map(condition).collect()
}

/// Names of people: each `user:NAME` or `group:NAME`.
pub(super) fn people(place: &ConfigPlace<'_>) -> Result<Vec<String>, ValueError> {
    let one = |value: &ConfigPlace<'_>| {
        let text = value.text()?;
        let is_known = ["user:", "group:"]
            .iter()
            .any(|kind| text.strip_prefix(kind).is_some_and(|name| !name.is_empty()));
        if is_known {
            Ok(text.to_owned())
        } else {
            Err(value.malformed("expected `user:NAME` or `group:NAME`"))
        }
    };
    place.list()?.iter().map(one).collect()
}

pub(super) fn scope(place: &ConfigPlace<'_>) -> Result<ToolScope, ValueError> {
    let patterns = place.list()?;
    let patterns: Vec<&str> = patterns
        .iter()
        .map(ConfigPlace::text)
        .collect::<Result<_, _>>()?;
    if patterns.is_empty() {
        return Err(place.malformed("expected at least one pattern, such as `files.*`"));
    }
    scope_of(patterns, place)
}

fn scope_of<'a>(
    patterns: impl IntoIterator<Item = &'a str>,
    place: &ConfigPlace<'_>,
) -> Result<ToolScope, ValueError> {
    ToolScope::parse(patterns).map_err(|error| place.malformed(error.to_string()))
}

fn preset(place: &ConfigPlace<'_>) -> Result<Preset, ValueError> {
    Preset::named(place.text()?).ok_or_else(|| {
        let names = Preset::ALL.map(Preset::as_str).join("`, `");
        place.malformed(format!("expected one of `{names}`"))
    })
}

fn named_effect(place: &ConfigPlace<'_>) -> Result<Effect, ValueError> {
    Effect::named(place.text()?).ok_or_else(|| place.malformed("expected `allow`, `ask` or `deny`"))
}

pub(super) fn class(place: &ConfigPlace<'_>) -> Result<EffectClass, ValueError> {
    let named = place.text()?;
    CLASSES
        .into_iter()
        .find(|class| class.as_str() == named)
        .ok_or_else(|| place.malformed("expected `read`, `write`, `destructive` or `unknown`"))
}
