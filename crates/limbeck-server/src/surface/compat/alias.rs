//! Tools of the earlier systems, as the files of `aliases/` describe them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use limbeck_domain::Language;
use rmcp::model::{JsonObject, Tool};
use serde::Deserialize;

use super::predecessor::Predecessor;

/// Text of the file of each system.
const FILES: [(Predecessor, &str); 3] = [
    (Predecessor::S0, include_str!("aliases/s0.json")),
    (Predecessor::S1, include_str!("aliases/s1.json")),
    (Predecessor::S2, include_str!("aliases/s2.json")),
];

/// A file that cannot be read is a mistake of this build; the tests below read all of them.
static ALIASES: LazyLock<Vec<Alias>> = LazyLock::new(|| {
    let files = FILES.iter().flat_map(|(system, text)| {
        let file = serde_json::from_str::<AliasFile>(text);
        let file = file.unwrap_or_else(|error| {
            tracing::error!(%system, %error, "the tools of an earlier system cannot be read");
            AliasFile { tools: Vec::new() }
        });
        file.tools.into_iter().map(|entry| Alias {
            system: *system,
            entry,
        })
    });
    files.collect()
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasFile {
    tools: Vec<AliasEntry>,
}

/// A tool of an earlier system.
#[derive(Debug)]
pub(in crate::surface) struct Alias {
    pub(in crate::surface) system: Predecessor,
    entry: AliasEntry,
}

/// One tool of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AliasEntry {
    /// Its names; the first is the one that is listed.
    names: Vec<String>,
    does: AliasKind,
    /// Language of the programs that it runs.
    #[serde(default)]
    language: Option<Language>,
    /// Meaning of each argument of a program's run; every other argument is accepted and has none.
    arguments: BTreeMap<String, ArgumentMeaning>,
    /// Bounds of arguments that the system checked after its published schema, with an error of another form.
    #[serde(default)]
    after_reading: JsonObject,
    /// Whether a number outside of its bounds becomes the nearest one, instead of an error.
    #[serde(default)]
    clamp: bool,
    definition: Tool,
}

/// What a tool of an earlier system does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::surface) enum AliasKind {
    /// Runs a program.
    Run,
    /// Reports the gateway's load.
    Health,
    /// Searches the catalog.
    SearchTools,
    /// Describes one tool.
    ToolSignature,
    /// Lists the servers.
    ListServers,
}

/// Meaning of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ArgumentMeaning {
    /// The program.
    Code,
    /// Its language.
    Language,
    /// Patterns of tools that it may use.
    Tools,
    /// Servers that it may use.
    Servers,
    /// Wall clock in milliseconds.
    TimeoutMs,
    /// Wall clock in seconds.
    TimeoutS,
    /// Whether the program may ask models.
    Sampling,
    /// How many questions.
    SamplingRounds,
    /// How many tokens.
    SamplingTokens,
    /// System prompt of questions without one.
    SamplingSystemPrompt,
    /// Models that it may name.
    SamplingModels,
}

impl Alias {
    pub(in crate::surface) fn kind(&self) -> AliasKind {
        self.entry.does
    }

    /// Name that it is listed by.
    pub(super) fn name(&self) -> &str {
        self.entry.names.first().map_or("", String::as_str)
    }

    /// Language of its programs.
    pub(super) fn language(&self) -> Language {
        self.entry.language.unwrap_or(Language::Typescript)
    }

    /// Name of the argument with this meaning.
    pub(super) fn argument(&self, meaning: ArgumentMeaning) -> Option<&str> {
        let mut arguments = self.entry.arguments.iter();
        let found = arguments.find(|(_, known)| **known == meaning);
        found.map(|(name, _)| name.as_str())
    }

    /// The published schema of one argument.
    pub(super) fn schema(&self) -> &JsonObject {
        &self.entry.definition.input_schema
    }

    pub(super) fn after_reading(&self) -> &JsonObject {
        &self.entry.after_reading
    }

    pub(super) fn clamps(&self) -> bool {
        self.entry.clamp
    }

    fn has_name(&self, name: &str) -> bool {
        self.entry.names.iter().any(|known| known == name)
    }
}

/// The tool that can be called as `name`.
pub(in crate::surface) fn alias_named(name: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.has_name(name))
}

/// Every name that can be called.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let all = ALIASES.iter().flat_map(|alias| &alias.entry.names);
    all.map(String::as_str)
}

/// Definitions of the tools of the systems that `is_listed` names, in the order of the files.
pub(super) fn definitions(is_listed: impl Fn(Predecessor) -> bool) -> Vec<Tool> {
    let listed = ALIASES.iter().filter(|alias| is_listed(alias.system));
    listed.map(|alias| alias.entry.definition.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::options::{CompatOptions, listed};
    use super::*;

    fn tokens_of(system: Predecessor) -> usize {
        let options = CompatOptions {
            listed: vec![system],
            ..CompatOptions::default()
        };
        let json = serde_json::to_string(&json!({"tools": listed(&options)})).unwrap();
        limbeck_gateway::tokens::count(&json)
    }

    #[test]
    fn each_surface_stays_within_its_token_budget() {
        for (system, budget) in [
            (Predecessor::S0, 900),
            (Predecessor::S1, 600),
            (Predecessor::S2, 200),
        ] {
            let tokens = tokens_of(system);
            // The control: a file that cannot be read would have no tools.
            assert!(
                (100..=budget).contains(&tokens),
                "tools/list of {system} has {tokens} tokens, {budget} are allowed"
            );
        }
    }

    #[test]
    fn every_name_of_the_earlier_systems_can_be_called_and_is_listed_once() {
        let expected = [
            "executeTypescript",
            "run-typescript-code",
            "executePython",
            "run-python-code",
            "health",
            "execute_code",
            "search_tools",
            "get_tool_signature",
            "list_servers",
            "run_python",
        ];
        assert_eq!(names().collect::<Vec<_>>(), expected);
        let all = CompatOptions {
            listed: Predecessor::ALL.to_vec(),
            ..CompatOptions::default()
        };
        let listed: Vec<String> = listed(&all)
            .iter()
            .map(|tool| tool.name.to_string())
            .collect();
        assert_eq!(listed.len(), 8);
        for alias in ALIASES.iter() {
            assert_eq!(alias.name(), alias.entry.definition.name);
            for name in alias.entry.arguments.keys() {
                let known = alias.schema()["properties"].get(name).is_some();
                // The one argument that S1 did not have: its programs may be written in Python as well.
                assert!(known || name == "language", "{name} of {}", alias.name());
            }
        }
    }

    #[test]
    fn names_types_defaults_and_required_sets_are_those_of_the_earlier_systems() {
        let parameters = |name: &str| {
            let alias = alias_named(name).unwrap();
            let properties = alias.schema()["properties"].as_object().unwrap();
            let each = properties.iter().map(|(name, schema)| {
                let default = schema.get("default").unwrap_or(&Value::Null);
                format!("{name} {} {default}", schema["type"].as_str().unwrap())
            });
            let mut each: Vec<String> = each.collect();
            each.sort();
            (each.join("; "), alias.schema().get("required").cloned())
        };
        let s0 = "allowedSamplingModels array null; allowedTools array null; code string null; enableSampling boolean false; \
maxSamplingRounds integer 10; maxSamplingTokens integer 10000; permissions object {}; samplingSystemPrompt string null; \
skipDangerousPatternCheck boolean null; timeoutMs integer 30000";
        for name in ["executeTypescript", "executePython"] {
            assert_eq!(parameters(name), (s0.to_owned(), Some(json!(["code"]))));
        }
        for (name, expected, required) in [
            (
                "execute_code",
                "code string null; timeout_ms integer 30000",
                json!(["code"]),
            ),
            (
                "search_tools",
                "detail string \"standard\"; limit integer 10; query string null; server string null",
                json!(["query"]),
            ),
            (
                "get_tool_signature",
                "server string null; tool string null",
                json!(["server", "tool"]),
            ),
            (
                "run_python",
                "code string null; servers array null; timeout integer 30",
                json!(["code"]),
            ),
        ] {
            assert_eq!(parameters(name), (expected.to_owned(), Some(required)));
        }
    }
}
