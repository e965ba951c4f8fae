//! Suggestions: the narrowest rules that allow what people approved again and again.
//!
//! Approvals are equal when they are of one requester, tool and class, with the same arguments but for texts that people read
//! ([`crate::memory`]). Where too few are equal, those of one requester, tool and class with the same names of arguments are
//! taken together, if all values of each other argument have a beginning or an end in common. What people denied is allowed by no
//! suggestion, and no suggestion is about a destructive call.

use std::collections::BTreeMap;

use limbeck_domain::{EffectClass, ToolId};
use serde_json::{Map, Value, json};

use crate::memory::Shape;
use crate::rules::{
    ArgumentPath, CallFacts, Condition, DecidedBy, Effect, Layer, Preset, Rule, RuleSet,
};
use crate::{Scope, Subject};

/// Equal approvals of which a rule is made.
pub const APPROVALS_MIN: usize = 3;
/// Suggestions that are made.
pub const SUGGESTIONS_MAX: usize = 50;
/// Values of an argument that are compared; of more, the first ones.
const COMPARED_MAX: usize = 10_000;
/// Characters of a beginning or an end that values have in common.
const COMMON_CHARS_MIN: usize = 3;
/// Characters at which a common beginning ends and a common end begins.
const BOUNDARIES: &[char] = &['@', '.', '/', ':', '#', '-', '_', ' '];

/// A call that a person answered a question about.
#[derive(Clone, Debug)]
pub struct AnsweredCall {
    /// Who asked for it, as `user:NAME`.
    pub who: String,
    /// The tool.
    pub tool: ToolId,
    /// Its class.
    pub class: EffectClass,
    /// The arguments. Of a denied line of a plan, those that are constants of the program.
    pub arguments: Map<String, Value>,
    /// Whether it may have had other arguments too, as a line of a plan.
    pub is_open: bool,
}

/// A rule that allows calls that were approved.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The tool.
    pub tool: ToolId,
    /// Its class.
    pub class: EffectClass,
    /// Who asked, as `user:NAME`.
    pub who: String,
    /// Operators by the paths of arguments.
    pub arguments: Vec<(String, Value)>,
    /// Approvals that it was made of.
    pub approvals: usize,
}

impl Suggestion {
    /// The rule with this id; `None` when a condition cannot be written.
    pub fn rule(&self, id: &str, reason: &str) -> Option<Rule> {
        let conditions = self.arguments.iter().map(|(path, operators)| {
            let path = ArgumentPath::parse(path).ok()?;
            Some((path, Condition::from_value(operators).ok()?))
        });
        let rule = Rule {
            id: id.to_owned(),
            effect: Effect::Allow,
            tools: Scope::parse([self.tool.to_string().as_str()]).ok()?,
            except: None,
            classes: Some(vec![self.class]),
            arguments: conditions.collect::<Option<_>>()?,
            who: Some(vec![self.who.clone()]),
            reason: Some(reason.to_owned()),
            ask: None,
            layer: Layer::User,
            is_default: false,
            origin: String::new(),
        };
        rule.check().ok()?;
        Some(rule)
    }

    /// Whether it allows this call, or, of an open one, may.
    pub fn allows(&self, call: &AnsweredCall) -> bool {
        if call.who != self.who || call.tool != self.tool {
            return false;
        }
        // What is not known of an open call may be as the rule wants it.
        let is_known = |path: &String| {
            let parsed = ArgumentPath::parse(path);
            let name = parsed.as_ref().map(|path| path.argument());
            !call.is_open || name.is_ok_and(|name| call.arguments.contains_key(name))
        };
        let arguments = self.arguments.iter().filter(|(path, _)| is_known(path));
        let known = Self {
            arguments: arguments.cloned().collect(),
            ..self.clone()
        };
        let Some(rule) = known.rule("suggested", "") else {
            return false;
        };
        let rules = RuleSet::new(vec![rule], &[], Preset::Readonly);
        let arguments = Value::Object(call.arguments.clone());
        let facts = CallFacts {
            tool: &call.tool,
            class: self.class,
            class_by_operator: true,
            arguments: &arguments,
            who: &[call.who.as_str()],
            subject: Subject::Tool,
        };
        rules.is_ok_and(|rules| {
            let decision = rules.decide(&facts);
            decision.effect == Effect::Allow && matches!(decision.by, DecidedBy::Rule(_))
        })
    }
}

/// Suggests rules, those of the most approvals first. `others` are the arguments that a tool has besides those of a call: a rule
/// does not allow calls with them.
pub fn suggest(
    approved: &[AnsweredCall],
    denied: &[AnsweredCall],
    others: impl Fn(&ToolId) -> Vec<String>,
) -> Vec<Suggestion> {
    let mut alike: BTreeMap<_, Vec<&AnsweredCall>> = BTreeMap::new();
    for call in approved {
        if call.class == EffectClass::Destructive || call.is_open {
            continue;
        }
        let text = Value::Object(call.arguments.clone()).to_string();
        if let Some(shape) = Shape::of(&text, &[]) {
            let key = (kind_of(call), shape.text);
            alike.entry(key).or_default().push(call);
        }
    }
    let mut suggestions = Vec::new();
    let mut left: BTreeMap<_, Vec<&AnsweredCall>> = BTreeMap::new();
    for ((kind, _), calls) in alike {
        let equal = suggestion(&calls, Targets::Same, &others);
        match equal.filter(|_| calls.len() >= APPROVALS_MIN) {
            Some(suggestion) => suggestions.push(suggestion),
            None => left.entry(kind).or_default().extend(calls),
        }
    }
    for calls in left.into_values() {
        if calls.len() >= APPROVALS_MIN {
            suggestions.extend(suggestion(&calls, Targets::Common, &others));
        }
    }
    suggestions.retain(|it| !denied.iter().any(|call| it.allows(call)));
    // The most approvals first; equal numbers in the order of the tools.
    suggestions.sort_by_key(|it| std::cmp::Reverse(it.approvals));
    suggestions.truncate(SUGGESTIONS_MAX);
    suggestions
}

/// What approvals have to have in common to be taken together at all.
type Kind = (String, String, String, Vec<String>);

fn kind_of(call: &AnsweredCall) -> Kind {
    let mut names: Vec<String> = call.arguments.keys().cloned().collect();
    names.sort_unstable();
    let class = call.class.as_str().to_owned();
    (call.who.clone(), call.tool.to_string(), class, names)
}

/// What values of arguments that may say whom a call reaches have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Targets {
    Same,
    Common,
}

fn suggestion(
    calls: &[&AnsweredCall],
    targets: Targets,
    others: &impl Fn(&ToolId) -> Vec<String>,
) -> Option<Suggestion> {
    let first = calls.first()?;
    let text = Value::Object(first.arguments.clone()).to_string();
    let free = Shape::of(&text, &[])?.any;
    let mut arguments = Vec::new();
    for name in first.arguments.keys() {
        let values = calls.iter().take(COMPARED_MAX);
        let values: Vec<&Value> = values.filter_map(|call| call.arguments.get(name)).collect();
        let is_free = free.contains(name)
            && calls.iter().all(|call| {
                let text = Value::Object(call.arguments.clone()).to_string();
                Shape::of(&text, &[]).is_some_and(|shape| shape.any.contains(name))
            });
        conditions(name, &values, is_free, targets, &mut arguments)?;
    }
    for name in others(&first.tool) {
        if !first.arguments.contains_key(&name) {
            arguments.push((path_of(&name)?, json!({ "missing": true })));
        }
    }
    let suggestion = Suggestion {
        tool: first.tool.clone(),
        class: first.class,
        who: first.who.clone(),
        arguments,
        approvals: calls.len(),
    };
    // What cannot be said in a rule is not suggested, and a rule allows what it was made of.
    let is_whole = calls.iter().all(|call| suggestion.allows(call));
    is_whole.then_some(suggestion)
}

/// Adds the narrowest conditions that all of these values of an argument fulfil; `None` when they have too little in common.
fn conditions(
    name: &str,
    values: &[&Value],
    is_free: bool,
    targets: Targets,
    into: &mut Vec<(String, Value)>,
) -> Option<()> {
    let path = path_of(name)?;
    let (first, rest) = values.split_first()?;
    let is_same = rest.iter().all(|value| value == first);
    if is_same && is_operand(first) {
        into.push((path, json!({ "eq": first })));
        return Some(());
    }
    if let Some(elements) = elements(values) {
        let longest = values
            .iter()
            .filter_map(|value| value.as_array())
            .map(Vec::len);
        into.push((path.clone(), json!({ "len_le": longest.max()? })));
        let condition = texts_in_common(&elements, targets)?;
        into.push((format!("{path}[*]"), condition));
        return Some(());
    }
    let texts: Option<Vec<&str>> = values.iter().map(|value| value.as_str()).collect();
    let texts = texts?;
    // Texts that people read differ from call to call.
    let targets = if is_free { Targets::Common } else { targets };
    match (texts_in_common(&texts, targets), is_free) {
        (Some(condition), _) => into.push((path, condition)),
        (None, true) => into.push((path, json!({ "type": "text" }))),
        (None, false) => return None,
    }
    Some(())
}

fn is_operand(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Bool(_) => true,
        // Other numbers have no one form in a file.
        Value::Number(number) => number.as_i64().is_some(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The texts in lists that have texts alone.
fn elements<'a>(values: &[&'a Value]) -> Option<Vec<&'a str>> {
    let mut elements = Vec::new();
    for value in values {
        for element in value.as_array()? {
            elements.push(element.as_str()?);
        }
    }
    (!elements.is_empty()).then_some(elements)
}

/// The condition that all of these texts fulfil.
fn texts_in_common(texts: &[&str], targets: Targets) -> Option<Value> {
    let (first, rest) = texts.split_first()?;
    if rest.iter().all(|text| text == first) {
        return Some(json!({ "eq": first }));
    }
    let mut distinct: Vec<&str> = texts.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if targets == Targets::Same {
        // The same lists, with several texts in them.
        return Some(json!({ "in": distinct }));
    }
    // A pattern has no way to say a star.
    if texts.iter().any(|text| text.contains('*')) {
        return None;
    }
    if texts.iter().all(|text| text.starts_with('/')) {
        // Not a pattern: a path may lead out of the directory that it begins with.
        let directory = common_beginning(&distinct);
        let (directory, _) = directory.rsplit_once('/')?;
        return (!directory.is_empty()).then(|| json!({ "under": directory }));
    }
    let beginning = common_beginning(&distinct);
    let end = common_end(&distinct, beginning.len());
    let cut = beginning.rfind(BOUNDARIES).map_or(0, |at| at + 1);
    let beginning = &beginning[..cut];
    let end = end.find(BOUNDARIES).map_or("", |at| &end[at..]);
    let has_host = |text: &str| {
        let behind = text.split_once("://").map(|(_, rest)| rest);
        behind.is_none_or(|rest| rest.contains('/'))
    };
    // A beginning that ends within the name of a host would fit other hosts.
    let is_address = distinct.iter().any(|text| text.contains("://"));
    let beginning = match is_address && !(beginning.contains("://") && has_host(beginning)) {
        true => "",
        false => beginning,
    };
    let long = |text: &str| text.chars().count() >= COMMON_CHARS_MIN;
    let (beginning, end) = match (long(beginning), long(end)) {
        (true, true) => (beginning, end),
        (true, false) => (beginning, ""),
        (false, true) if !is_address => ("", end),
        (false, _) => return None,
    };
    let pattern = format!("{beginning}*{end}");
    // An end with an at sign is that of an address, and one text may have several.
    Some(match end.starts_with('@') {
        true => json!({ "glob": pattern, "not_glob": "*@*@*" }),
        false => json!({ "glob": pattern }),
    })
}

/// The longest text that all begin with.
fn common_beginning<'a>(texts: &[&'a str]) -> &'a str {
    let Some((first, rest)) = texts.split_first() else {
        return "";
    };
    let common = |text: &str, other: &str| {
        let pairs = text.char_indices().zip(other.chars());
        let mut same = pairs.take_while(|((_, one), other)| one == other);
        let last = same.by_ref().last();
        last.map_or(0, |((at, c), _)| at + c.len_utf8())
    };
    let length = rest.iter().map(|other| common(first, other)).min();
    &first[..length.unwrap_or(first.len())]
}

/// The longest text that all end with, of what is behind the first `used` bytes.
fn common_end<'a>(texts: &[&'a str], used: usize) -> &'a str {
    let Some((first, rest)) = texts.split_first() else {
        return "";
    };
    let shortest = texts
        .iter()
        .map(|text| text.len() - used.min(text.len()))
        .min();
    let mut at = first.len();
    for (position, c) in first.char_indices().rev() {
        let end = &first[position..];
        let fits =
            end.len() <= shortest.unwrap_or(0) && rest.iter().all(|text| text.ends_with(end));
        if !fits {
            break;
        }
        debug_assert!(end.starts_with(c));
        at = position;
    }
    &first[at..]
}

/// The path of a top-level argument; `None` for a name that no path has.
fn path_of(name: &str) -> Option<String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let path = if !name.is_empty() && name.bytes().all(is_word) {
        name.to_owned()
    } else {
        format!("\"{name}\"")
    };
    let parsed = ArgumentPath::parse(&path).ok()?;
    (parsed.argument() == name).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, arguments: Value) -> AnsweredCall {
        let (server, tool) = tool.split_once('.').unwrap();
        AnsweredCall {
            who: "user:local".to_owned(),
            tool: ToolId::new(server, tool),
            class: EffectClass::Write,
            arguments: arguments.as_object().unwrap().clone(),
            is_open: false,
        }
    }

    fn suggested(approved: &[AnsweredCall], denied: &[AnsweredCall]) -> Vec<Value> {
        let suggestions = suggest(approved, denied, |_| vec!["bcc".to_owned()]);
        let shown = suggestions.iter().map(|it| {
            let arguments = it.arguments.iter().cloned().collect::<Map<String, Value>>();
            json!({ "tool": it.tool.to_string(), "args": arguments, "of": it.approvals })
        });
        shown.collect()
    }

    fn posts(channel: &str, count: usize) -> Vec<AnsweredCall> {
        let text =
            |number| json!({ "channel": channel, "text": format!("release {number} is out") });
        (0..count)
            .map(|number| call("chat.post", text(number)))
            .collect()
    }

    #[test]
    fn equal_approvals_become_the_rule_that_allows_them_and_little_else() {
        let mut approved = posts("#eng", 3);
        approved.extend(posts("#random", 2));
        let rule = json!({
            "tool": "chat.post",
            "args": {
                "channel": { "eq": "#eng" },
                "text": { "glob": "release * is out" },
                "bcc": { "missing": true },
            },
            "of": 3,
        });
        // Two are not enough, and the channels have nothing in common.
        assert_eq!(suggested(&approved, &[]), vec![rule.clone()]);
        // The control of the rule itself.
        let suggestion = &suggest(&approved, &[], |_| vec!["bcc".to_owned()])[0];
        assert!(suggestion.allows(&approved[0]) && !suggestion.allows(&approved[3]));
        let more = json!({ "channel": "#eng", "text": "release 9 is out", "bcc": "x" });
        assert!(!suggestion.allows(&call("chat.post", more)));
    }

    #[test]
    fn what_a_person_denied_is_allowed_by_no_suggestion() {
        let approved = posts("#eng", 4);
        let denied = |channel: &str, text: &str| {
            call("chat.post", json!({ "channel": channel, "text": text }))
        };
        let count = |denied: &[AnsweredCall]| suggested(&approved, denied).len();
        assert_eq!(count(&[denied("#random", "release 5 is out")]), 1);
        assert_eq!(count(&[denied("#eng", "release 5 is out")]), 0);
        // A line of a plan had any text.
        let mut line = denied("#eng", "");
        line.arguments.shift_remove("text");
        assert_eq!(count(std::slice::from_ref(&line)), 1);
        line.is_open = true;
        assert_eq!(count(&[line]), 0);
    }

    #[test]
    fn values_with_a_common_end_or_directory_are_taken_together() {
        let mails = ["a@example.com", "b@example.com", "c@example.com"];
        let mails = mails.map(|to| call("mail.send", json!({ "to": [to] })));
        let to = json!({ "glob": "*@example.com", "not_glob": "*@*@*" });
        assert_eq!(suggested(&mails, &[])[0]["args"]["to[*]"], to);
        let paths = ["/srv/reports/a", "/srv/reports/2/b", "/srv/reports/c"];
        let paths = paths.map(|path| call("files.write", json!({ "path": path })));
        let path = json!({ "under": "/srv/reports" });
        assert_eq!(suggested(&paths, &[])[0]["args"]["path"], path);
        // Hosts that begin alike are other hosts.
        let hosts = [
            "https://a.com/x",
            "https://a.company/x",
            "https://a.community/x",
        ];
        let hosts = hosts.map(|url| call("web.post", json!({ "url": url })));
        assert_eq!(suggested(&hosts, &[]), Vec::<Value>::new());
        let numbers = [1, 2, 3].map(|amount| call("bank.pay", json!({ "amount": amount })));
        assert_eq!(suggested(&numbers, &[]), Vec::<Value>::new());
    }

    #[test]
    fn a_destructive_call_is_never_suggested() {
        let mut calls = posts("#eng", 5);
        calls
            .iter_mut()
            .for_each(|call| call.class = EffectClass::Destructive);
        assert_eq!(suggested(&calls, &[]), Vec::<Value>::new());
    }
}
