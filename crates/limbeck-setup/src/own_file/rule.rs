//! A rule that allows calls like one that a person approved for good, written into the user's own file.

use limbeck_domain::{EffectClass, ToolId};
use limbeck_policy::Scope;
use limbeck_policy::rules::{ArgumentPath, Condition, Effect, Layer, Rule};
use serde_json::Value as Json;
use toml_edit::{Array, ArrayOfTables, InlineTable, Item, Table, Value};

use super::{OwnFile, OwnFileError};

/// Calls to allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedCalls {
    /// Id of the rule.
    pub id: String,
    /// Their tool.
    pub tool: ToolId,
    /// Its class.
    pub class: EffectClass,
    /// Who may make them, as `user:NAME`.
    pub who: String,
    /// Arguments that they have with these values.
    pub same: Vec<(String, Json)>,
    /// Arguments that they have, with any text.
    pub texts: Vec<String>,
    /// Arguments that they do not have, not even as null.
    pub missing: Vec<String>,
    /// Why, for those who read the file.
    pub reason: String,
}

impl OwnFile<'_> {
    /// Adds a rule that allows `calls`, behind everything that is in the file. A rule of the same id stays as it is.
    ///
    /// # Errors
    ///
    /// [`OwnFileError`]; the file is as it was.
    pub fn allow(&self, calls: &AllowedCalls) -> Result<(), OwnFileError> {
        let rule = self.allowing(calls)?;
        self.change(|document| {
            let is_written = document.contains_key("policy");
            let policy = document.entry("policy").or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
            let policy = policy
                .as_table_like_mut()
                .ok_or_else(|| self.refused("`policy` is not a table"))?;
            // A section that a person wrote is the wish to be asked, also an empty one. With a rule of an answer alone in it, it
            // would be read as one that answers have made.
            if is_written && policy.is_empty() {
                policy.insert("trust_annotations", toml_edit::value(Array::new()));
            }
            let is_inline = policy.get("rule").is_some_and(Item::is_value);
            if is_inline {
                return Err(self.refused("its rules are a list in one line"));
            }
            let rules = policy
                .entry("rule")
                .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
            let rules = rules
                .as_array_of_tables_mut()
                .ok_or_else(|| self.refused("its rules have another form"))?;
            let has_id = |table: &Table| {
                let id = table.get("id").and_then(Item::as_str);
                id == Some(calls.id.as_str())
            };
            if !rules.iter().any(has_id) {
                rules.push(rule);
            }
            Ok(Vec::new())
        })
        .map(drop)
    }

    /// The rule as a table. It is one that the loader accepts.
    fn allowing(&self, calls: &AllowedCalls) -> Result<Table, OwnFileError> {
        let wrong = |problem: &str| self.refused(format!("the rule cannot be written: {problem}"));
        let plain = |name: &str| {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            !name.is_empty() && name.bytes().all(is_word)
        };
        let ToolId { server, tool } = &calls.tool;
        if !plain(server.as_str()) || !plain(tool) {
            return Err(wrong("a pattern would not name the tool alone"));
        }
        let (mut arguments, mut conditions) = (InlineTable::new(), Vec::new());
        let same = calls.same.iter();
        let same = same.map(|(name, value)| Ok((name, "eq", operand(value)?)));
        let texts = calls.texts.iter();
        let texts = texts.map(|name| Ok((name, "type", (Value::from("text"), "text".into()))));
        let missing = calls.missing.iter();
        let missing = missing.map(|name| Ok((name, "missing", (Value::from(true), true.into()))));
        for condition in same.chain(texts).chain(missing) {
            let (name, operator, (operand, json)) = condition.map_err(wrong)?;
            let path = path_of(name);
            let parsed = ArgumentPath::parse(&path).ok();
            let is_whole = |parsed: &ArgumentPath| parsed.argument() == name.as_str();
            let parsed = parsed.filter(is_whole);
            let parsed = parsed.ok_or_else(|| wrong("a name of an argument is not a path"))?;
            let condition = Condition::from_value(&serde_json::json!({ operator: json }));
            let condition = condition.map_err(|_| wrong("a value is too long for a condition"))?;
            conditions.push((parsed, condition));
            let mut inline = InlineTable::new();
            inline.insert(operator, operand);
            arguments.insert(&path, Value::InlineTable(inline));
        }
        let tool = calls.tool.to_string();
        let checked = Rule {
            id: calls.id.clone(),
            effect: Effect::Allow,
            tools: Scope::parse([tool.as_str()]).map_err(|_| wrong("the tool has no pattern"))?,
            except: None,
            classes: Some(vec![calls.class]),
            arguments: conditions,
            who: Some(vec![calls.who.clone()]),
            reason: Some(calls.reason.clone()),
            ask: None,
            layer: Layer::User,
            is_default: false,
            origin: String::new(),
        };
        checked.check().map_err(|error| wrong(&error.to_string()))?;
        let list = |text: &str| toml_edit::value(Array::from_iter([text]));
        let mut rule = Table::new();
        rule.insert("id", toml_edit::value(&calls.id));
        rule.insert("effect", toml_edit::value(Effect::Allow.as_str()));
        rule.insert("tools", list(&tool));
        rule.insert("class", list(calls.class.as_str()));
        if !arguments.is_empty() {
            rule.insert("args", toml_edit::value(arguments));
        }
        rule.insert("who", list(&calls.who));
        rule.insert("reason", toml_edit::value(&calls.reason));
        rule.decor_mut().set_prefix("\n");
        Ok(rule)
    }
}

/// The operand of `eq`, for the file and for the check.
fn operand(value: &Json) -> Result<(Value, Json), &'static str> {
    let operand = match value {
        Json::String(text) => Value::from(text.as_str()),
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number),
            None => return Err("a number is not whole"),
        },
        Json::Null | Json::Array(_) | Json::Object(_) => {
            return Err("an argument that has to be the same is a list, an object or null");
        }
    };
    Ok((operand, value.clone()))
}

/// The path of a top-level argument.
fn path_of(name: &str) -> String {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_word) {
        name.to_owned()
    } else {
        format!("\"{name}\"")
    }
}
