//! Kinds of mistakes in a call, one at a time.
//!
//! Whether a mutant is wrong is decided by the parts that reject calls: the catalog for names, the input schema of the
//! tool for arguments, and its output schema for properties of results.

use limbeck_captures::values::{Mutation, Rng, Size, Unnamed, instance, mutations, validator};
use limbeck_catalog::{Catalog, Tool, names};
use limbeck_domain::{CallForm, Language, ToolTarget};
use serde_json::{Map, Value, json};

use super::calls::Call;
use super::python;
use super::written::{Frame, Style, Written};

/// Plausible names of arguments that tools do not have.
const ARGUMENTS: [&str; 5] = ["verbose", "format", "dry_run", "max_results", "outputMode"];
/// Plausible names of properties that results do not have.
const PARTS: [&str; 4] = ["results", "payload", "output", "nextCursor"];

/// Kind of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    MisspeltTool,
    MisspeltServer,
    OtherServersTool,
    MissingArgument,
    MisspeltArgument,
    UnknownArgument,
    /// The schema allows any name, but this one is most likely a mistake.
    MisspeltArgumentTaken,
    WrongType,
    OutOfEnum,
    Positional,
    MissingAwait,
    ExcludedRead,
    EndlessWrite,
}

impl Kind {
    pub(super) const ALL: [Self; 13] = [
        Self::MisspeltTool,
        Self::MisspeltServer,
        Self::OtherServersTool,
        Self::MissingArgument,
        Self::MisspeltArgument,
        Self::UnknownArgument,
        Self::MisspeltArgumentTaken,
        Self::WrongType,
        Self::OutOfEnum,
        Self::Positional,
        Self::MissingAwait,
        Self::ExcludedRead,
        Self::EndlessWrite,
    ];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::MisspeltTool => "misspelt tool",
            Self::MisspeltServer => "misspelt server",
            Self::OtherServersTool => "tool of another server",
            Self::MissingArgument => "missing required argument",
            Self::MisspeltArgument => "misspelt name of an argument",
            Self::UnknownArgument => "argument that is not accepted",
            Self::MisspeltArgumentTaken => "misspelt name that the schema lets pass (a warning)",
            Self::WrongType => "constant of a wrong JSON type",
            Self::OutOfEnum => "constant not among the values allowed",
            Self::Positional => "arguments without names",
            Self::MissingAwait => "missing `await`",
            Self::ExcludedRead => "read of a part that a closed type excludes",
            Self::EndlessWrite => "write in an endless loop (a warning)",
        }
    }

    /// Whether the mistake is reported as a warning, because the call would be made.
    pub(super) fn is_warned_of(self) -> bool {
        matches!(self, Self::MisspeltArgumentTaken | Self::EndlessWrite)
    }

    /// The call with this mistake, when that is possible and makes it wrong.
    pub(super) fn of(
        self,
        written: &Written,
        call: &Call,
        place: Place<'_>,
        random: &mut Rng,
    ) -> Option<Written> {
        let w = written.clone();
        match self {
            Self::MisspeltTool => {
                let tool = typo(&w.tool, random);
                place.refused(Written { tool, ..w })
            }
            Self::MisspeltServer => {
                let server = typo(&w.server, random);
                place.refused(Written { server, ..w })
            }
            Self::OtherServersTool => {
                let tools: Vec<_> = place.catalog.tools().collect();
                let tool = random.pick(&tools).id().tool.to_string();
                place.refused(Written { tool, ..w })
            }
            Self::MissingArgument => {
                let is_gone = |value: &(Mutation, Value)| value.0 == Mutation::Dropped;
                refused_value(&w, call, is_gone, random)
            }
            Self::WrongType => {
                let is_other = |value: &(Mutation, Value)| value.0 == Mutation::Retyped;
                refused_value(&w, call, is_other, random)
            }
            Self::OutOfEnum => {
                let sent = w.sent();
                let is_other = |value: &(Mutation, Value)| {
                    value.0 == Mutation::Renamed && changes_option(&call.tool, &sent, &value.1)
                };
                refused_value(&w, call, is_other, random)
            }
            Self::MisspeltArgument => renamed(&w, random).filter(|w| !call.takes(&w.sent())),
            Self::MisspeltArgumentTaken => renamed(&w, random).filter(|w| call.takes(&w.sent())),
            Self::UnknownArgument => {
                let mut sent = w.sent();
                let name = random.pick(&ARGUMENTS).to_string();
                let was = sent.insert(name, json!(true));
                (was.is_none() && !call.takes(&sent)).then(|| w.sending(sent))
            }
            Self::Positional => {
                let wrong = Written {
                    positional: true,
                    ..w
                };
                place.is_refused_by_place(&wrong, call).then_some(wrong)
            }
            Self::MissingAwait => {
                let is_used = match w.style {
                    Style::Parallel => false,
                    Style::ByName => true,
                    _ => w.read.is_some(),
                };
                (is_used && place.must_await(&w)).then(|| Written {
                    awaited: false,
                    ..w
                })
            }
            Self::ExcludedRead => {
                // Without a property that is read nothing can be changed.
                let read = w.read.as_deref()?;
                let part = if random.half() {
                    typo(read, random)
                } else {
                    random.pick(&PARTS).to_string()
                };
                excludes(&call.tool, &part).then(|| Written {
                    read: Some(part),
                    ..w
                })
            }
            Self::EndlessWrite => {
                let writes = call.tool.effect().may_write() && !call.tool.seems_to_read();
                writes.then(|| Written { endless: true, ..w })
            }
        }
    }
}

/// Position of a mutant.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) language: Language,
    pub(super) frame: Frame,
}

impl Place<'_> {
    /// The call, when its names resolve to no tool.
    fn refused(self, w: Written) -> Option<Written> {
        let (server, tool) = match w.style {
            Style::ByName => (None, w.full_name()),
            _ => (Some(w.server.clone()), w.tool.clone()),
        };
        let form = CallForm::Value;
        let target = ToolTarget { server, tool, form };
        self.catalog.resolve(&target).is_err().then_some(w)
    }

    /// Whether positional arguments surely do not match the tool.
    fn is_refused_by_place(self, w: &Written, call: &Call) -> bool {
        let sent = w.sent();
        let Some(first) = sent.values().next() else {
            return false;
        };
        let is_first_alone = sent.len() == 1;
        match first {
            // A single object is used as the arguments.
            Value::Object(arguments) => !is_first_alone || !call.takes(arguments),
            // Null counts as no arguments, and `callMCPTool` ignores further ones.
            Value::Null => {
                let ends = match self.language {
                    Language::Typescript => w.style == Style::ByName,
                    Language::Python => is_first_alone,
                };
                !ends || !call.takes(&Map::new())
            }
            _ => true,
        }
    }

    fn must_await(self, w: &Written) -> bool {
        match self.language {
            Language::Typescript => true,
            Language::Python => {
                let waits_itself =
                    w.style == Style::ByName && python::by_name(w) == "call_mcp_tool";
                python::must_await(w, self.frame) && !waits_itself
            }
        }
    }
}

/// Mutation of one argument that the tool rejects.
fn refused_value(
    w: &Written,
    call: &Call,
    is_wanted: impl Fn(&(Mutation, Value)) -> bool,
    random: &mut Rng,
) -> Option<Written> {
    let values: Vec<Map<String, Value>> = mutations(&Value::Object(w.sent()))
        .into_iter()
        .filter(is_wanted)
        .filter_map(|(_, value)| match value {
            Value::Object(sent) => Some(sent),
            _ => None,
        })
        .filter(|sent| !call.takes(sent))
        .collect();
    (!values.is_empty()).then(|| w.sending(random.pick(&values).clone()))
}

/// Whether the argument in which two calls differ has an enumeration of values.
fn changes_option(tool: &Tool, one: &Map<String, Value>, other: &Value) -> bool {
    let schema = &tool.definition().input_schema;
    let changed = one
        .iter()
        .find(|(name, value)| other.get(name) != Some(value));
    let Some((name, _)) = changed else {
        return false;
    };
    let property = &schema["properties"][name];
    let meant = property["$ref"].as_str();
    let meant = meant.and_then(|pointer| schema.pointer(pointer.strip_prefix('#')?));
    let text = meant.unwrap_or(property).to_string();
    text.contains("\"enum\":") && !text.contains("\"pattern\":")
}

/// The call with a misspelt argument name.
fn renamed(w: &Written, random: &mut Rng) -> Option<Written> {
    if w.arguments.is_empty() {
        return None;
    }
    let mut renamed = w.clone();
    let at = random.below(renamed.arguments.len());
    let name = typo(&renamed.arguments[at].0, random);
    let is_free = !w.arguments.iter().any(|(given, _)| *given == name);
    renamed.arguments[at].0 = name;
    is_free.then_some(renamed)
}

/// Whether the output schema excludes the property `part`.
fn excludes(tool: &Tool, part: &str) -> bool {
    let Some(schema) = &tool.definition().output_schema else {
        return false;
    };
    let Ok(truth) = validator(schema) else {
        return false;
    };
    let Some(Value::Object(mut result)) = instance(schema, &truth, Size::Least, Unnamed::Left, 1)
    else {
        return false;
    };
    let is_listed = schema["properties"].get(part).is_some();
    let values = [
        json!("text"),
        json!(1),
        json!(true),
        json!([]),
        json!({}),
        Value::Null,
    ];
    !is_listed
        && values.into_iter().all(|value| {
            result.insert(part.to_owned(), value);
            !truth.is_valid(&Value::Object(result.clone()))
        })
}

/// Word with a letter added, removed or moved; never only another style of the same word.
fn typo(word: &str, random: &mut Rng) -> String {
    let letters: Vec<char> = word.chars().collect();
    let places: Vec<usize> = (0..letters.len())
        .filter(|at| letters[*at].is_ascii_alphanumeric())
        .collect();
    for _ in 0..20 {
        if places.is_empty() {
            break;
        }
        let at = *random.pick(&places);
        let mut letters = letters.clone();
        match random.below(3) {
            0 => drop(letters.remove(at)),
            1 => letters.insert(at, letters[at]),
            _ if at + 1 < letters.len() => letters.swap(at, at + 1),
            _ => letters.push('e'),
        }
        let made: String = letters.into_iter().collect();
        let begins = made.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if begins && names::fold(&made) != names::fold(word) {
            return made;
        }
    }
    format!("{word}ee")
}
