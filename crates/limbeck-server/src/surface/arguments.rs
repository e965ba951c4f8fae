//! Arguments of `search` and `execute`: read leniently; an error states the accepted form.

use limbeck_domain::{Language, Mode};
use limbeck_policy::Scope;
use rmcp::model::JsonObject;
use serde_json::Value;

use limbeck_gateway::search::{Detail, QUERIES_MAX, SearchRequest};
use limbeck_gateway::{AnswerForm, Render};

use super::compat::execute_synonyms::with_own_names;

const SEARCH_FORM: &str = "accepted: {queries: string[], server?: string, limit?: number, detail?: \"brief\" | \"signature\" | \"full\", cursor?: string, language?: \"typescript\" | \"python\"}";
const EXECUTE_FORM: &str = "accepted: {code: string, input?: any, timeout_ms?: number, max_output_tokens?: number, render?: \"json\" | \"toon\" | \"auto\", tools?: string[], language?: \"typescript\" | \"python\", mode?: \"run\" | \"check\" | \"plan\"}";

const TOOLS_FORM: &str = "write patterns such as `server.tool` or `server.*`";
/// Shortest beginning of an argument's name that is taken for it.
const NAME_BYTES_MIN: usize = 3;

/// Mistake in the arguments of a call.
#[derive(Debug, thiserror::Error)]
#[error("{message}; {hint}")]
pub(super) struct ArgumentError {
    /// What is wrong.
    pub(super) message: String,
    /// What is accepted.
    pub(super) hint: String,
}

impl ArgumentError {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// Arguments of `search`.
pub(super) struct SearchArguments;

impl SearchArguments {
    /// Reads a request. Accepts `query` and a single string as well.
    pub(super) fn read(mut arguments: JsonObject) -> Result<SearchRequest, ArgumentError> {
        let queries = match arguments
            .remove("queries")
            .or_else(|| arguments.remove("query"))
        {
            Some(Value::String(query)) => vec![query],
            Some(Value::Array(items)) => strings(items, "queries", SEARCH_FORM)?,
            Some(_) => {
                return Err(ArgumentError::new(
                    "`queries` must be a list of strings",
                    SEARCH_FORM,
                ));
            }
            None => return Err(ArgumentError::new("`queries` is missing", SEARCH_FORM)),
        };
        if queries.is_empty() || queries.len() > QUERIES_MAX {
            return Err(ArgumentError::new(
                format!("{} queries", queries.len()),
                format!("1 to {QUERIES_MAX} are allowed"),
            ));
        }
        let server = optional_string(&mut arguments, "server", SEARCH_FORM)?;
        let limit = optional_number(&mut arguments, "limit", SEARCH_FORM)?;
        let detail = detail(&mut arguments)?;
        let cursor = optional_string(&mut arguments, "cursor", SEARCH_FORM)?;
        let language = language(&mut arguments, SEARCH_FORM)?;
        nothing_left(&arguments, SEARCH_FORM)?;
        Ok(SearchRequest {
            queries,
            server,
            limit: limit.and_then(|limit| usize::try_from(limit).ok()),
            detail,
            cursor: cursor.filter(|cursor| !cursor.is_empty()),
            language,
        })
    }
}

/// Arguments of `execute`.
#[derive(Debug)]
pub(super) struct ExecuteArguments {
    pub(super) code: String,
    pub(super) input: String,
    pub(super) timeout_ms: Option<u64>,
    pub(super) scope: Scope,
    pub(super) language: Language,
    pub(super) mode: Mode,
    pub(super) answer: AnswerForm,
}

impl ExecuteArguments {
    pub(super) fn read(arguments: JsonObject) -> Result<Self, ArgumentError> {
        let mut arguments = with_own_names(arguments, EXECUTE_FORM)?;
        let code = optional_string(&mut arguments, "code", EXECUTE_FORM)?
            .ok_or_else(|| ArgumentError::new("`code` is missing", EXECUTE_FORM))?;
        let input = arguments.remove("input").unwrap_or(Value::Null).to_string();
        let timeout_ms = optional_number(&mut arguments, "timeout_ms", EXECUTE_FORM)?;
        let scope = match arguments.remove("tools") {
            None | Some(Value::Null) => Scope::everything(),
            Some(Value::Array(items)) => Scope::parse(strings(items, "tools", EXECUTE_FORM)?)
                .map_err(|error| ArgumentError::new(format!("`tools`: {error}"), TOOLS_FORM))?,
            Some(_) => {
                return Err(ArgumentError::new(
                    "`tools` must be a list of patterns",
                    EXECUTE_FORM,
                ));
            }
        };
        let language = language(&mut arguments, EXECUTE_FORM)?;
        let mode = match optional_string(&mut arguments, "mode", EXECUTE_FORM)? {
            None => Mode::Run,
            Some(name) => Mode::from_name(&name).ok_or_else(|| {
                ArgumentError::new("`mode` must be `run`, `check` or `plan`", EXECUTE_FORM)
            })?,
        };
        let answer = AnswerForm {
            tokens_max: optional_number(&mut arguments, "max_output_tokens", EXECUTE_FORM)?,
            render: render(&mut arguments)?,
        };
        nothing_left(&arguments, EXECUTE_FORM)?;
        Ok(Self {
            code,
            input,
            timeout_ms,
            scope,
            language,
            mode,
            answer,
        })
    }
}

fn render(arguments: &mut JsonObject) -> Result<Render, ArgumentError> {
    match optional_string(arguments, "render", EXECUTE_FORM)? {
        None => Ok(Render::default()),
        Some(name) => Render::from_name(&name).ok_or_else(|| {
            let name = limbeck_domain::text::clean_line(&name, 32);
            ArgumentError::new(
                format!("unknown `render` `{name}`"),
                "write `json`, `toon` or `auto`",
            )
        }),
    }
}

fn language(arguments: &mut JsonObject, form: &str) -> Result<Language, ArgumentError> {
    let language = optional_string(arguments, "language", form)?;
    match language.as_deref() {
        None | Some("typescript" | "ts" | "javascript" | "js") => Ok(Language::Typescript),
        Some("python" | "py" | "python3") => Ok(Language::Python),
        Some(other) => {
            let other = limbeck_domain::text::clean_line(other, 32);
            Err(ArgumentError::new(
                format!("unknown `language` `{other}`"),
                "write `typescript` or `python`",
            ))
        }
    }
}

fn detail(arguments: &mut JsonObject) -> Result<Detail, ArgumentError> {
    let detail = optional_string(arguments, "detail", SEARCH_FORM)?;
    match detail.as_deref() {
        None | Some("signature") => Ok(Detail::Signature),
        Some("brief") => Ok(Detail::Brief),
        Some("full") => Ok(Detail::Full),
        Some(other) => {
            let other = limbeck_domain::text::clean_line(other, 32);
            Err(ArgumentError::new(
                format!("unknown detail `{other}`"),
                SEARCH_FORM,
            ))
        }
    }
}

fn strings(items: Vec<Value>, name: &str, form: &str) -> Result<Vec<String>, ArgumentError> {
    items
        .into_iter()
        .map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(ArgumentError::new(
                format!("`{name}` must hold strings"),
                form,
            )),
        })
        .collect()
}

pub(super) fn optional_string(
    arguments: &mut JsonObject,
    name: &str,
    form: &str,
) -> Result<Option<String>, ArgumentError> {
    match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ArgumentError::new(
            format!("`{name}` must be a string"),
            form,
        )),
    }
}

/// Reads a whole number, also one written as `30000.0` or `"30000"`: models send all three.
fn optional_number(
    arguments: &mut JsonObject,
    name: &str,
    form: &str,
) -> Result<Option<u64>, ArgumentError> {
    let wrong = || ArgumentError::new(format!("`{name}` must be a whole number above 0"), form);
    let number = match arguments.remove(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(Value::Number(number)) => number.as_u64().or_else(|| {
            let float = number.as_f64()?;
            // Floats are exact below 2^53, and every bound of a request is smaller.
            (float.fract() == 0.0 && (0.0..9e15).contains(&float)).then_some(float as u64)
        }),
        Some(_) => None,
    };
    match number {
        Some(number) if number > 0 => Ok(Some(number)),
        Some(_) | None => Err(wrong()),
    }
}

pub(super) fn nothing_left(arguments: &JsonObject, form: &str) -> Result<(), ArgumentError> {
    let Some(name) = arguments.keys().next() else {
        return Ok(());
    };
    let meant = match meant_by(name, form) {
        Some(meant) => format!(", did you mean `{meant}`?"),
        None => String::new(),
    };
    let name = limbeck_domain::text::clean_line(name, 64);
    let message = format!("unknown argument `{name}`{meant}");
    Err(ArgumentError::new(message, form))
}

/// The argument of `form` that `name` is the beginning of, such as `timeout` of `timeout_ms`.
fn meant_by<'f>(name: &str, form: &'f str) -> Option<&'f str> {
    let words = form.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '?'));
    let mut optional = words.filter_map(|word| word.strip_suffix('?'));
    optional.find(|word| name.len() >= NAME_BYTES_MIN && word.starts_with(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn execute(arguments: Value) -> Result<ExecuteArguments, ArgumentError> {
        match arguments {
            Value::Object(arguments) => ExecuteArguments::read(arguments),
            _ => unreachable!("tests pass objects"),
        }
    }

    #[test]
    fn a_search_is_read_with_its_detail_and_cursor_and_a_wrong_detail_is_named() {
        let search = |arguments: Value| match arguments {
            Value::Object(arguments) => SearchArguments::read(arguments),
            _ => unreachable!("tests pass objects"),
        };
        let read = search(json!({"queries": ["a"]})).unwrap();
        assert_eq!((read.detail, read.cursor), (Detail::Signature, None));
        let read = search(json!({"queries": "a", "detail": "brief", "cursor": "x"})).unwrap();
        assert_eq!(
            (read.detail, read.cursor.as_deref()),
            (Detail::Brief, Some("x"))
        );
        let error = search(json!({"queries": ["a"], "detail": "all"}))
            .unwrap_err()
            .to_string();
        assert!(error.contains("unknown detail `all`; accepted:"), "{error}");
    }

    #[test]
    fn a_request_is_read_with_its_defaults_and_numbers_in_any_spelling() {
        let read = execute(json!({"code": "return 1"})).unwrap();
        assert_eq!((read.input.as_str(), read.timeout_ms), ("null", None));
        for timeout in [json!(1500), json!(1500.0), json!("1500")] {
            let read = execute(json!({"code": "x", "timeout_ms": timeout})).unwrap();
            assert_eq!(read.timeout_ms, Some(1500));
        }
        let read =
            execute(json!({"code": "x", "max_output_tokens": 800, "render": "auto"})).unwrap();
        assert_eq!(read.answer.tokens_max, Some(800));
        assert_eq!(read.answer.render, Render::Auto);
    }

    #[test]
    fn wrong_arguments_are_named_with_the_accepted_form() {
        for (arguments, named) in [
            (json!({}), "`code` is missing"),
            (json!({"code": 1}), "`code` must be a string"),
            (
                json!({"code": "x", "timeout_ms": -1}),
                "`timeout_ms` must be",
            ),
            (
                json!({"code": "x", "timeout_ms": 1.5}),
                "`timeout_ms` must be",
            ),
            (json!({"code": "x", "tools": "a"}), "`tools` must be a list"),
            (json!({"code": "x", "mode": "dry"}), "`mode` must be"),
            (
                json!({"code": "x", "max_out": 1}),
                "unknown argument `max_out`, did you mean `max_output_tokens`?",
            ),
        ] {
            let error = execute(arguments).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
            assert!(error.contains("accepted:"), "{error}");
        }
        let error = execute(json!({"code": "x", "render": "yaml"}))
            .unwrap_err()
            .to_string();
        assert!(error.contains("`json`, `toon` or `auto`"), "{error}");
        let error = execute(json!({"code": "x", "language": "cobol"}))
            .unwrap_err()
            .to_string();
        assert!(error.contains("unknown `language` `cobol`"), "{error}");
    }
}
