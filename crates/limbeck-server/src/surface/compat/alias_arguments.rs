//! Arguments of an earlier system's tool, read as its published schema describes them.

use limbeck_catalog::Catalog;
use limbeck_domain::text::clean_line;
use limbeck_domain::{Language, ServerName};
use limbeck_gateway::ModelsRequest;
use limbeck_policy::{ModelAction, Scope};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::alias::{Alias, ArgumentMeaning};
use super::argument_rules::{Bounds, clamped, mistake, mistakes, whole_number};
use super::durations::milliseconds;
use super::sampling;

/// Bytes of a server's name in an error.
const NAME_SHOWN_BYTES: usize = 128;

/// A program that an earlier system's tool was called with.
#[derive(Debug)]
pub(super) struct AliasProgram {
    pub(super) code: String,
    pub(super) language: Language,
    pub(super) timeout_ms: u64,
    pub(super) scope: Scope,
    /// Servers that were asked for, as they were written.
    pub(super) servers: Vec<String>,
    /// What it may ask of models.
    pub(super) models: ModelsRequest,
}

/// Why a call was refused before anything ran. Each system wrote each of them in a form of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArgumentMistake {
    /// The published schema does not allow it.
    Schema(String),
    /// The check after the published schema does not allow it.
    AfterReading(String),
    /// The list of allowed tools cannot be used.
    Allowlist(String),
    /// A server is not in the configuration.
    UnknownServer(String),
    /// A server is in the configuration and must not be used.
    UnavailableServer(String),
    /// The program is blank.
    NoProgram,
    /// A tool that is asked for is outside of the list that the server's settings have.
    ServerPolicy(String),
    /// The client has made too many executions in a time.
    TooMany(String),
    /// The settings turn the tool off.
    TurnedOff(String),
}

impl ArgumentMistake {
    /// The mistake in the words that all systems share.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Schema(mistakes) => mistakes.clone(),
            Self::AfterReading(mistake) => mistake.clone(),
            Self::Allowlist(error) => format!("allowedTools: {error}"),
            Self::UnknownServer(name) | Self::UnavailableServer(name) => {
                format!("server `{name}` cannot be used")
            }
            Self::NoProgram => "the program is empty".to_owned(),
            Self::ServerPolicy(text) | Self::TooMany(text) | Self::TurnedOff(text) => text.clone(),
        }
    }
}

/// Checks arguments against the published schema.
///
/// # Errors
///
/// [`ArgumentMistake::Schema`], with every mistake.
pub(super) fn checked(alias: &Alias, arguments: &JsonObject) -> Result<(), ArgumentMistake> {
    let bounds = if alias.clamps() {
        Bounds::Clamped
    } else {
        Bounds::Checked
    };
    let mistakes = mistakes(arguments, alias.schema(), bounds);
    if mistakes.is_empty() {
        Ok(())
    } else {
        Err(ArgumentMistake::Schema(mistakes.join("; ")))
    }
}

impl AliasProgram {
    /// Reads the arguments of a tool that runs programs.
    ///
    /// # Errors
    ///
    /// [`ArgumentMistake`]
    pub(super) fn read(
        alias: &Alias,
        mut arguments: JsonObject,
        catalog: &Catalog,
    ) -> Result<Self, ArgumentMistake> {
        for (meaning, unit_ms) in [
            (ArgumentMeaning::TimeoutMs, 1),
            (ArgumentMeaning::TimeoutS, 1_000),
        ] {
            let time = alias
                .argument(meaning)
                .and_then(|name| arguments.get_mut(name));
            if let Some(time) = time
                && let Value::String(text) = time
                && let Some(read) = milliseconds(text, unit_ms)
            {
                *time = read.div_ceil(unit_ms).into();
            }
        }
        let code_name = alias.argument(ArgumentMeaning::Code);
        let code = code_name.and_then(|name| arguments.get(name)).cloned();
        // An absent program is as blank as an empty one to a system whose schema allows both.
        if alias.clamps() && code.as_ref().is_none_or(is_blank) {
            return Err(ArgumentMistake::NoProgram);
        }
        checked(alias, &arguments)?;
        after_reading(alias, &arguments)?;
        let servers = strings(alias, ArgumentMeaning::Servers, &arguments);
        if let Some(servers) = &servers {
            usable(servers, catalog)?;
        }
        let patterns: Option<Vec<String>> =
            match (strings(alias, ArgumentMeaning::Tools, &arguments), &servers) {
                (None, Some(servers)) => Some(
                    servers
                        .iter()
                        .map(|name| pattern_of(name, catalog))
                        .collect(),
                ),
                (tools, _) => tools,
            };
        let models = sampling::request(alias, &arguments);
        let names_sampling = alias.argument(ArgumentMeaning::Sampling).is_some();
        let scope = match patterns {
            // Its list was about tools of servers alone, and another argument about models.
            Some(patterns) if names_sampling && !models.is_off => {
                let models = [ModelAction::Ask, ModelAction::Think];
                let models = models.map(|action| Scope::pattern_of(&action.tool()));
                Some(patterns.into_iter().chain(models).collect())
            }
            patterns => patterns,
        };
        let scope = match scope {
            None => Scope::everything(),
            Some(patterns) => Scope::parse(patterns)
                .map_err(|error| ArgumentMistake::Allowlist(error.to_string()))?,
        };
        Ok(Self {
            code: code
                .and_then(|code| code.as_str().map(str::to_owned))
                .unwrap_or_default(),
            language: language(alias, &arguments),
            timeout_ms: timeout_ms(alias, &arguments),
            scope,
            servers: servers.unwrap_or_default(),
            models,
        })
    }
}

/// A hint of the gateway with the names that this tool gives the arguments.
pub(super) fn in_words_of(alias: &Alias, hint: &str) -> String {
    let names = [
        (
            "timeout_ms",
            [ArgumentMeaning::TimeoutMs, ArgumentMeaning::TimeoutS],
        ),
        ("tools", [ArgumentMeaning::Tools, ArgumentMeaning::Servers]),
    ];
    names
        .into_iter()
        .fold(hint.to_owned(), |hint, (own, meanings)| {
            let name = meanings
                .into_iter()
                .find_map(|meaning| alias.argument(meaning));
            match name {
                Some(name) => hint.replace(&format!("`{own}`"), &format!("`{name}`")),
                None => hint,
            }
        })
}

fn is_blank(code: &Value) -> bool {
    code.is_null() || code.as_str().is_some_and(|code| code.trim().is_empty())
}

fn after_reading(alias: &Alias, arguments: &JsonObject) -> Result<(), ArgumentMistake> {
    let mut rules = alias.after_reading().iter().filter_map(|(name, rule)| {
        let mut rule = rule.clone();
        rule["type"] = "integer".into();
        let value = arguments.get(name).filter(|value| !value.is_null())?;
        mistake(value, &rule, Bounds::Checked).map(|mistake| format!("`{name}` {mistake}"))
    });
    match rules.next() {
        None => Ok(()),
        Some(mistake) => Err(ArgumentMistake::AfterReading(mistake)),
    }
}

/// The list that the argument with this meaning has; `None` when it is absent.
fn strings(alias: &Alias, meaning: ArgumentMeaning, arguments: &JsonObject) -> Option<Vec<String>> {
    let list = arguments.get(alias.argument(meaning)?)?.as_array()?;
    let texts = list.iter().filter_map(Value::as_str);
    Some(texts.map(str::to_owned).collect())
}

/// Refuses a server that no program could use, before anything runs.
fn usable(servers: &[String], catalog: &Catalog) -> Result<(), ArgumentMistake> {
    for name in servers {
        let shown = || clean_line(name, NAME_SHOWN_BYTES);
        if catalog
            .absences()
            .servers
            .contains_key(&ServerName::from(name.as_str()))
        {
            return Err(ArgumentMistake::UnavailableServer(shown()));
        }
        if catalog.resolve_server(name).is_err() {
            return Err(ArgumentMistake::UnknownServer(shown()));
        }
    }
    Ok(())
}

/// The pattern of all tools of a server, whose name may have dots.
fn pattern_of(name: &str, catalog: &Catalog) -> String {
    let server = catalog.resolve_server(name);
    let server = server.map_or_else(|_| name.to_owned(), |server| server.to_string());
    format!("mcp__{server}__*")
}

fn language(alias: &Alias, arguments: &JsonObject) -> Language {
    let named = alias.argument(ArgumentMeaning::Language);
    let named = named.and_then(|name| arguments.get(name)?.as_str());
    match named {
        Some("python" | "py" | "python3") => Language::Python,
        _ => alias.language(),
    }
}

fn timeout_ms(alias: &Alias, arguments: &JsonObject) -> u64 {
    let units = [
        (ArgumentMeaning::TimeoutMs, 1),
        (ArgumentMeaning::TimeoutS, 1_000),
    ];
    let found = units.into_iter().find_map(|(meaning, unit_ms)| {
        let name = alias.argument(meaning)?;
        let rule = alias.schema().get("properties")?.get(name)?;
        let default = rule.get("default").and_then(Value::as_i64)?;
        let asked = arguments.get(name).and_then(whole_number);
        let time = clamped(asked.unwrap_or(default), rule);
        u64::try_from(time).ok()?.checked_mul(unit_ms)
    });
    // Every tool that runs programs has one of the two, with a default; the tests of the tables prove it.
    found.unwrap_or(30_000)
}

#[cfg(test)]
mod tests {
    use limbeck_catalog::ServerTools;
    use serde_json::json;

    use super::super::alias::alias_named;
    use super::*;

    fn read(tool: &str, arguments: Value) -> Result<AliasProgram, ArgumentMistake> {
        let servers = ["crm", "my.server"].map(|name| ServerTools::unlisted(name.into()));
        let catalog = Catalog::new(servers.into());
        let arguments = arguments.as_object().unwrap().clone();
        AliasProgram::read(alias_named(tool).unwrap(), arguments, &catalog)
    }

    fn patterns(tool: &str, arguments: Value) -> Option<Vec<String>> {
        let read = read(tool, arguments).unwrap();
        read.scope.patterns().map(<[String]>::to_vec)
    }

    #[test]
    fn each_timeout_is_in_the_unit_of_its_system_and_its_default() {
        for (tool, arguments, expected) in [
            ("executeTypescript", json!({"code": "x"}), 30_000),
            (
                "executePython",
                json!({"code": "x", "timeoutMs": 1500}),
                1_500,
            ),
            (
                "run-typescript-code",
                json!({"code": "x", "timeoutMs": "90s"}),
                90_000,
            ),
            (
                "execute_code",
                json!({"code": "x", "timeout_ms": 300_000}),
                300_000,
            ),
            ("run_python", json!({"code": "x"}), 30_000),
            ("run_python", json!({"code": "x", "timeout": 7}), 7_000),
            ("run_python", json!({"code": "x", "timeout": "2m"}), 120_000),
            (
                "run_python",
                json!({"code": "x", "timeout": "1500ms"}),
                2_000,
            ),
            ("run_python", json!({"code": "x", "timeout": 500}), 120_000),
            ("run_python", json!({"code": "x", "timeout": 0}), 1_000),
        ] {
            assert_eq!(
                read(tool, arguments.clone()).unwrap().timeout_ms,
                expected,
                "{arguments}"
            );
        }
    }

    #[test]
    fn a_hint_names_the_arguments_of_the_tool() {
        let hint = "raise `timeout_ms`, or add the tool to the `tools` patterns; `tools.a.b` stays";
        let of = |tool: &str| in_words_of(alias_named(tool).unwrap(), hint);
        assert_eq!(
            of("executePython"),
            "raise `timeoutMs`, or add the tool to the `allowedTools` patterns; `tools.a.b` stays"
        );
        assert_eq!(
            of("run_python"),
            "raise `timeout`, or add the tool to the `servers` patterns; `tools.a.b` stays"
        );
        assert_eq!(of("execute_code"), hint);
    }

    #[test]
    fn an_omitted_list_allows_everything_and_an_empty_one_nothing() {
        for (tool, list) in [
            ("executeTypescript", "allowedTools"),
            ("run_python", "servers"),
        ] {
            assert_eq!(patterns(tool, json!({"code": "x"})), None);
            assert_eq!(patterns(tool, json!({"code": "x", list: null})), None);
            assert_eq!(patterns(tool, json!({"code": "x", list: []})), Some(vec![]));
        }
        let tools = json!({"code": "x", "allowedTools": ["mcp__playwright__*"]});
        assert_eq!(
            patterns("executeTypescript", tools),
            Some(vec!["mcp__playwright__*".to_owned()])
        );
        let servers = json!({"code": "x", "servers": ["my.server"]});
        assert_eq!(
            patterns("run_python", servers),
            Some(vec!["mcp__my.server__*".to_owned()])
        );
    }

    #[test]
    fn each_mistake_has_its_kind() {
        let mistake = |tool: &str, arguments: Value| read(tool, arguments).unwrap_err();
        let schema = mistake("executeTypescript", json!({"code": ""}));
        assert_eq!(
            schema,
            ArgumentMistake::Schema("`code` must not be empty".to_owned())
        );
        let late = mistake(
            "executeTypescript",
            json!({"code": "x", "timeoutMs": 300_001}),
        );
        let expected = "`timeoutMs` must be at most 300000".to_owned();
        assert_eq!(late, ArgumentMistake::AfterReading(expected));
        let pattern = mistake(
            "executeTypescript",
            json!({"code": "x", "allowedTools": [""]}),
        );
        assert_eq!(
            pattern,
            ArgumentMistake::Allowlist("empty tool pattern".to_owned())
        );
        let late = mistake("execute_code", json!({"code": "x", "timeout_ms": 300_001}));
        assert!(matches!(late, ArgumentMistake::Schema(_)), "{late:?}");
        let unknown = mistake(
            "run_python",
            json!({"code": "x", "servers": ["crm", "nope"]}),
        );
        assert_eq!(unknown, ArgumentMistake::UnknownServer("nope".to_owned()));
        for blank in [json!({}), json!({"code": " \n"}), json!({"code": null})] {
            assert_eq!(mistake("run_python", blank), ArgumentMistake::NoProgram);
        }
    }
}
