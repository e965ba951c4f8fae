//! Comparison of every declaration with its schema, by third-party type checkers over every captured list.
//!
//! Values are generated from each schema, and mutated. The `jsonschema` crate decides which of them the schema accepts, and
//! `tsc --strict` and `mypy --strict` must decide the same from the declarations, as far as types can express it
//! ([`expressible`]). One run of a checker covers all values: a line with an invalid value is marked as one that must be
//! rejected.
//!
//! The tests are ignored by default. `cargo xtask test` installs the checkers and runs them.

mod cases;
mod checker;
mod corpus;
mod expressible;

use cases::{Counts, Side, Subject, cases};
use checker::{Place, Program};
use expressible::Checker;
use limbeck_captures::values::Unnamed;
use limbeck_catalog::{ServerTools, declarations, names};
use limbeck_domain::Language;
use serde_json::{Value, json};

/// Most mutated values of one schema per checker.
const TYPESCRIPT_MUTATIONS_MAX: usize = 9;
/// Fewer than for TypeScript, because `mypy` takes a hundred times as long for one value.
const PYTHON_MUTATIONS_MAX: usize = 4;

fn subjects(servers: &[ServerTools]) -> Vec<Subject<'_>> {
    let mut subjects = Vec::new();
    for server in servers {
        for tool in server.tools() {
            let definition = tool.definition();
            let sides = [
                (Side::Input, Some(&definition.input_schema)),
                (Side::Output, definition.output_schema.as_ref()),
            ];
            for (side, schema) in sides {
                subjects.extend(schema.map(|schema| Subject {
                    server: server.name().as_str(),
                    tool: &tool.id().tool,
                    side,
                    schema,
                }));
            }
        }
    }
    subjects
}

fn render(servers: &[ServerTools], language: Language) -> Vec<(String, String)> {
    let servers: Vec<&ServerTools> = servers.iter().collect();
    declarations::render(&servers, language)
}

/// A value as a TypeScript literal. `__proto__` is written in brackets, because in quotes it sets the prototype.
fn typescript(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| {
                let quoted = names::quoted(key);
                let key = if key == "__proto__" {
                    format!("[{quoted}]")
                } else {
                    quoted
                };
                format!("{key}: {}", typescript(value))
            });
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(typescript).collect::<Vec<_>>().join(", ")
            )
        }
        Value::String(text) => names::quoted(text),
        other => other.to_string(),
    }
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => names::quoted_in(text, Language::Python),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(python).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| {
                format!(
                    "{}: {}",
                    names::quoted_in(key, Language::Python),
                    python(value)
                )
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

#[test]
#[ignore = "needs tsc, which `cargo xtask test` installs"]
fn tsc_accepts_the_valid_values_of_every_declaration_and_rejects_the_mutated_ones() {
    let begun = std::time::Instant::now();
    let mut servers = corpus::catalogs();
    servers.push(corpus::hostile());
    let mut counts = Counts::default();
    let mut program = Program::default();
    program.push("type Result<T extends (...args: any) => any> = Awaited<ReturnType<T>>;");
    for subject in subjects(&servers) {
        let call = format!(
            "tools[{}][{}]",
            names::quoted(subject.server),
            names::quoted(subject.tool)
        );
        let line = |value: &Value| match subject.side {
            Side::Input => format!("{call}({});", typescript(value)),
            Side::Output => format!(
                "{{ const r: Result<typeof {call}> = {}; }}",
                typescript(value)
            ),
        };
        let cases = cases(
            &subject,
            Checker::Typescript,
            Unnamed::Given,
            TYPESCRIPT_MUTATIONS_MAX,
            &mut counts,
        );
        cases
            .right
            .iter()
            .for_each(|value| program.push(&line(value)));
        for (_, value) in &cases.wrong {
            program.push("// @ts-expect-error");
            program.push(&line(value));
        }
    }
    let place = Place::new("typescript");
    for (path, text) in render(&servers, Language::Typescript) {
        place.write(&path, &text);
    }
    place.write("values.ts", &program.text);

    counts.print("TypeScript");
    println!("made in {:?}", begun.elapsed());
    let said = place.tsc(&["limbeck.d.ts", "values.ts"]);

    assert!(said.is_empty(), "{}", place.explained(&said));
    counts.assert_all_were_tried();
}

#[test]
#[ignore = "needs tsc, which `cargo xtask test` installs"]
fn tsc_accepts_every_one_line_signature_with_the_values_of_its_schemas() {
    let mut servers = corpus::catalogs();
    servers.push(corpus::hostile());
    let mut counts = Counts::default();
    let mut program = Program::default();
    for (number, subject) in subjects(&servers).iter().enumerate() {
        let server = servers
            .iter()
            .find(|server| server.name().as_str() == subject.server);
        let tools = server.expect("its server").tools();
        let tool = tools
            .iter()
            .find(|tool| &*tool.id().tool == subject.tool)
            .expect("its tool");
        let signature = tool.signature(Language::Typescript);
        let types = signature
            .strip_prefix(&tool.call_expression())
            .expect("it begins with the call");
        let name = format!("f{number}");
        program.push(&format!("declare function {name}{types}"));
        program.push(";");
        let cases = cases(subject, Checker::Typescript, Unnamed::Left, 0, &mut counts);
        for value in &cases.right {
            program.push(&match subject.side {
                // A call without arguments is written without an object.
                Side::Input if *value == json!({}) => format!("{name}();"),
                Side::Input => format!("{name}({});", typescript(value)),
                Side::Output => format!(
                    "{{ const r: Awaited<ReturnType<typeof {name}>> = {}; }}",
                    typescript(value)
                ),
            });
        }
    }
    let place = Place::new("signatures");
    place.write("signatures.ts", &program.text);

    counts.print("one-line signatures");
    let said = place.tsc(&["signatures.ts"]);

    assert!(said.is_empty(), "{}", place.explained(&said));
}

/// Names of servers and tools that are identifiers, and that a stub does not declare as attributes.
const ITEMS: [&str; 6] = ["Any", "None", "Record", "Tool", "list", "str"];

fn member(name: &str) -> String {
    if names::is_python_identifier(name) && !name.starts_with("__") && !ITEMS.contains(&name) {
        format!(".{name}")
    } else {
        format!("[{}]", names::quoted_in(name, Language::Python))
    }
}

/// A call with named arguments where the names are identifiers, else with one dictionary.
fn python_call(subject: &Subject<'_>, value: &Value) -> String {
    let call = format!("tools{}{}", member(subject.server), member(subject.tool));
    match value {
        Value::Object(map)
            if takes_keywords(subject.schema)
                && map.keys().all(|key| names::is_python_identifier(key)) =>
        {
            let named = map
                .iter()
                .map(|(key, value)| format!("{key}={}", python(value)));
            format!("{call}({})", named.collect::<Vec<_>>().join(", "))
        }
        value => format!("{call}({})", python(value)),
    }
}

/// Whether `schema` lists its arguments, and every name is an identifier.
fn takes_keywords(schema: &Value) -> bool {
    let keys = |keyword: &str| {
        schema[keyword]
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys())
    };
    let alternatives = ["anyOf", "oneOf", "allOf", "$ref"];
    alternatives
        .iter()
        .all(|keyword| schema.get(*keyword).is_none())
        && keys("properties").count() > 0
        && keys("properties").all(|key| names::is_python_identifier(key) && key != "others")
}

#[test]
#[ignore = "needs mypy, which `cargo xtask test` installs"]
fn mypy_accepts_the_valid_calls_of_every_stub_and_rejects_the_mutated_ones() {
    let mut servers = corpus::catalogs();
    servers.push(corpus::hostile());
    let mut counts = Counts::default();
    let mut program = Program::default();
    program.push("from limbeck_types import *");
    for subject in subjects(&servers)
        .into_iter()
        .filter(|subject| subject.side == Side::Input)
    {
        let cases = cases(
            &subject,
            Checker::Python,
            Unnamed::Given,
            PYTHON_MUTATIONS_MAX,
            &mut counts,
        );
        for value in &cases.right {
            program.push(&python_call(&subject, value));
        }
        for (_, value) in &cases.wrong {
            program.push(&format!("{}  # type: ignore", python_call(&subject, value)));
        }
    }
    let place = Place::new("python");
    for (path, text) in render(&servers, Language::Python) {
        place.write(&path, &text);
    }
    place.write("values.py", &program.text);

    counts.print("Python");
    let said = place.mypy(&["limbeck_types", "values.py"]);

    assert!(said.is_empty(), "{}", place.explained(&said));
    counts.assert_all_were_tried();
}

#[test]
#[ignore = "needs tsc and mypy, which `cargo xtask test` installs"]
fn both_checkers_accept_the_declarations_of_hostile_servers() {
    let servers = [corpus::bombs(), corpus::random(), corpus::hostile()];
    let place = Place::new("anything");
    let mut declared = 0;
    for (path, text) in [Language::Typescript, Language::Python]
        .into_iter()
        .flat_map(|language| render(&servers, language))
    {
        place.write(&path, &text);
        declared += text.len();
    }
    let mut signatures = Program::default();
    let tools = servers.iter().flat_map(ServerTools::tools);
    for (number, tool) in tools.enumerate() {
        let signature = tool.signature(Language::Typescript);
        let types = signature.strip_prefix(&tool.call_expression());
        let types = types.expect("it begins with the call");
        signatures.push(&format!("declare function f{number}{types}"));
        signatures.push(";");
    }
    place.write("signatures.ts", &signatures.text);

    println!("{declared} bytes of declarations");
    let said = place.tsc(&["limbeck.d.ts"])
        + &place.tsc(&["signatures.ts"])
        + &place.mypy(&["limbeck_types"]);

    assert!(said.is_empty(), "{}", place.explained(&said));
}
