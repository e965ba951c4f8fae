//! How a skill is called, in one line.

use limbeck_catalog::Tool;
use limbeck_domain::text::clean_line;
use limbeck_domain::{Language, ToolAnnotations, ToolDefinition, ToolId};
use serde_json::{Map, Value, json};

use super::SKILLS_SERVER;

/// Bytes of what a guest says about the arguments of a function.
const ARGUMENTS_BYTES_MAX: usize = 500;
/// Depth and members to which the type of a value is written down.
const DEPTH_MAX: usize = 4;
const MEMBERS_MAX: usize = 24;

/// The line of a function, of which the guest wrote the arguments: `(path, limit = 5)`.
pub(crate) fn of_function(name: &str, arguments: Option<&str>) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let arguments = arguments.map(|text| one_line(&clean_line(text, ARGUMENTS_BYTES_MAX)));
    let arguments = arguments.filter(|text| text.starts_with('('));
    format!(
        "{SKILLS_SERVER}.{name}{}",
        arguments.as_deref().unwrap_or("(...)")
    )
}

/// Parameters and result of the function `name` with their types, as a TypeScript program has them: a guest runs it without.
///
/// The text is searched and not read: what is found is shown, and nothing depends on it.
pub(crate) fn typed_arguments(program: &str, name: &str) -> Option<String> {
    let head = |at: usize| {
        let before = program[..at].trim_end();
        let after = &program[at + name.len()..];
        let is_whole = !before_is_word(&program[..at]);
        if before.ends_with("function") || before.ends_with("function*") {
            return Some(after.trim_start()).filter(|_| is_whole);
        }
        let value = after.trim_start().strip_prefix('=')?.trim_start();
        let value = value.strip_prefix("async").map_or(value, str::trim_start);
        Some(value).filter(|_| is_whole)
    };
    let mut places = program.match_indices(name).map(|(at, _)| at);
    let text = places.find_map(|at| head(at).filter(|text| text.starts_with('(')))?;
    let end = closing(text)?;
    let (arguments, rest) = text.split_at(end);
    let result = rest
        .trim_start()
        .strip_prefix(':')
        .and_then(type_before_body);
    Some(match result {
        Some(result) => format!("{arguments}: {result}"),
        None => arguments.to_owned(),
    })
}

fn before_is_word(text: &str) -> bool {
    let last = text.chars().next_back();
    last.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))
}

/// Bytes up to the end of the parentheses with which a text begins.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, c) in text.char_indices().take(ARGUMENTS_BYTES_MAX) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The type at the beginning of a text, before `=>` or the body of a function.
fn type_before_body(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().take(ARGUMENTS_BYTES_MAX) {
        match c {
            '{' if depth == 0 && at > 0 => return Some(text[..at].trim_end()),
            '=' if depth == 0 => return Some(text[..at].trim_end()),
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// The line of a program: its input and its value as they were in its recorded run.
pub(super) fn of_program(
    name: &str,
    input: &str,
    value: Option<&str>,
    language: Language,
) -> String {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let input_schema = match read(input) {
        Some(input @ Value::Object(_)) => schema_of(&input, 0),
        _ => json!({"type": "object", "properties": {}}),
    };
    let output_schema = value.and_then(read).map(|value| schema_of(&value, 0));
    let definition = ToolDefinition {
        id: ToolId::new(SKILLS_SERVER, name),
        title: None,
        description: None,
        input_schema,
        output_schema,
        annotations: ToolAnnotations::default(),
    };
    let tool = Tool::new(definition);
    let own = format!("{SKILLS_SERVER}.{name}");
    tool.signature(language)
        .replacen(&tool.call_expression(), &own, 1)
}

/// JSON Schema of one value.
fn schema_of(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(number) if number.is_f64() => json!({"type": "number"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(_) | Value::Object(_) if depth >= DEPTH_MAX => json!({}),
        Value::Array(items) => match items.first() {
            Some(first) => json!({"type": "array", "items": schema_of(first, depth + 1)}),
            None => json!({"type": "array"}),
        },
        Value::Object(members) if members.len() > MEMBERS_MAX => json!({"type": "object"}),
        Value::Object(members) => {
            let types = members
                .iter()
                .map(|(name, value)| (name.clone(), schema_of(value, depth + 1)));
            let types: Map<String, Value> = types.collect();
            let required: Vec<&String> = members.keys().collect();
            json!({"type": "object", "properties": types, "required": required})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_shown_with_the_types_of_its_recorded_run() {
        let input = r#"{"month": "2026-10", "top": 3}"#;
        let value = r#"{"total": 1.5, "names": ["a"]}"#;
        let line = of_program("report", input, Some(value), Language::Typescript);
        assert!(line.starts_with("skills.report("), "{line}");
        for part in ["month: string", "names: string[]", "total: number"] {
            assert!(line.contains(part), "{line}");
        }
        let line = of_program("report", "null", None, Language::Python);
        assert!(line.contains("skills.report("), "{line}");
    }

    #[test]
    fn the_types_of_a_function_are_those_of_the_program() {
        for (program, expected) in [
            (
                "async function f(a: string, { b = ')' }: { b?: string } = {}): Promise<number[]> {\n}",
                Some("(a: string, { b = ')' }: { b?: string } = {}): Promise<number[]>"),
            ),
            (
                "const g = 1;\nconst f = async (a: number): Promise<{ n: number }> => ({ n: a })",
                Some("(a: number): Promise<{ n: number }>"),
            ),
            ("const f = (a: number) => a", Some("(a: number)")),
            (
                "function f(a): { n: number } { return a }",
                Some("(a): { n: number }"),
            ),
            ("of(1); x.f = (b) => b; function f(a) {}", Some("(a)")),
            ("const f = a => a", None),
            ("f(1)", None),
            ("function f(a", None),
        ] {
            assert_eq!(
                typed_arguments(program, "f").as_deref(),
                expected,
                "{program}"
            );
        }
    }

    #[test]
    fn the_arguments_of_a_function_are_one_clean_line() {
        assert_eq!(of_function("f", Some("(a,\n b)")), "skills.f(a, b)");
        assert_eq!(of_function("f", Some("x => x")), "skills.f(...)");
        assert_eq!(of_function("f", None), "skills.f(...)");
    }
}
