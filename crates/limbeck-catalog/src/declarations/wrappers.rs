//! Files with a function for each tool, for programs outside of the gateway: a TypeScript file and a Python file for each
//! server, each whole in itself. A function runs `limbeck call`, so every call is made as one of its user: with the same
//! configuration, policy and records.
//!
//! Names and texts come from upstreams: names are converted to identifiers or quoted, texts are in comments.

use std::fmt::Write as _;

use limbeck_domain::Language;
use serde_json::Value;

use super::typescript::local_types;
use crate::identifiers::{UniqueNames, module_name, type_name};
use crate::names;
use crate::server::ServerTools;
use crate::tool::Tool;

const TYPESCRIPT_CLIENT: &str = include_str!("wrapper_client.ts");
const PYTHON_CLIENT: &str = include_str!("wrapper_client.py");
/// Words that no TypeScript function may be named.
const RESERVED: [&str; 12] = [
    "break", "case", "class", "default", "delete", "export", "function", "import", "in", "new",
    "return", "with",
];

/// How the files start the gateway.
#[derive(Clone, Debug)]
pub struct WrapperCommand {
    /// The program and its arguments before `call`.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: String,
}

/// Name of the file of a server, without a directory.
pub fn wrapper_file(server: &str, language: Language) -> String {
    let name = module_name(server);
    match language {
        Language::Typescript => format!("mcp-{}.ts", file_name(server)),
        Language::Python => format!("mcp_{name}.py"),
    }
}

/// Text of the file of a server.
pub fn wrapper(server: &ServerTools, language: Language, command: &WrapperCommand) -> String {
    match language {
        Language::Typescript => typescript(server, command),
        Language::Python => python(server, command),
    }
}

/// The name of a server with what a file's name must not have replaced.
fn file_name(server: &str) -> String {
    let name: String = server
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
                c
            } else {
                '_'
            }
        })
        .take(60)
        .collect();
    if name.is_empty() {
        "_".to_owned()
    } else {
        name
    }
}

fn camel(name: &str) -> String {
    let made = type_name(name);
    let mut letters = made.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

fn typescript(server: &ServerTools, command: &WrapperCommand) -> String {
    let name = server.name().as_str();
    let types = local_types(server);
    let mut text = String::from("// Made by `limbeck sync-wrappers`; changes are lost.\n");
    let (program, arguments) = command
        .command
        .split_first()
        .map_or(("limbeck", &[][..]), |it| (it.0.as_str(), it.1));
    let quoted = |text: &str| names::quoted(text);
    let arguments: Vec<String> = arguments.iter().map(|text| quoted(text)).collect();
    let client = TYPESCRIPT_CLIENT
        .replace("\"PROGRAM\"", &quoted(program))
        .replace("[\"ARGUMENTS\"]", &format!("[{}]", arguments.join(", ")))
        .replace("\"DIRECTORY\"", &quoted(&command.directory))
        .replace("\"SERVER\"", &quoted(name));
    text.push_str(&client);
    text.push('\n');
    text.push_str(&types.text);
    let prefix = names::identifier(name);
    let object = camel(name);
    let mut functions = UniqueNames::without(&["call", "unwrapped", &object]);
    let mut methods = UniqueNames::without(&[]);
    let mut members = String::new();
    for (tool, (arguments, value, is_optional)) in server.tools().iter().zip(&types.tools) {
        let method = methods.take(&camel(&tool.id().tool));
        let function = functions.take(&format!("{prefix}_{method}"));
        let default = if *is_optional { " = {}" } else { "" };
        let _ = write!(
            text,
            "\n/**\n{} */\nexport async function {function}(params: {arguments}{default}): Promise<{value}> {{\n  \
             return (await call({}, params)) as {value};\n}}\n",
            tool.comment(" * "),
            quoted(&tool.id().tool),
        );
        let _ = writeln!(members, "  {method}: {function},");
    }
    let object = match RESERVED.contains(&&*object) || functions.has(&object) && object == "call" {
        true => format!("{object}_"),
        false => object,
    };
    let _ = write!(
        text,
        "\n/** Every tool of the server. */\nexport const {object} = {{\n{members}}};\n"
    );
    text
}

fn python(server: &ServerTools, command: &WrapperCommand) -> String {
    let name = server.name().as_str();
    let quoted = |text: &str| names::quoted_in(text, Language::Python);
    let words: Vec<String> = command.command.iter().map(|text| quoted(text)).collect();
    let mut text = String::from("# Made by `limbeck sync-wrappers`; changes are lost.\n");
    let client = PYTHON_CLIENT
        .replace("[\"COMMAND\"]", &format!("[{}]", words.join(", ")))
        .replace("\"DIRECTORY\"", &quoted(&command.directory))
        .replace("\"SERVER\"", &quoted(name));
    text.push_str(&client);
    let class = format!("{}Client", type_name(name));
    let mut functions = UniqueNames::without(&["call", "unwrapped", "self"]);
    let tools: Vec<(&Tool, String)> = server
        .tools()
        .iter()
        .map(|tool| (&**tool, functions.take(&module_name(&tool.id().tool))))
        .collect();
    let _ = write!(
        text,
        "\n\nclass {class}:\n    # Every tool of the server.\n"
    );
    if tools.is_empty() {
        text.push_str("    pass\n");
    }
    for (tool, function) in &tools {
        let Parameters { declared, passed } = parameters(tool);
        let _ = write!(
            text,
            "\n    async def {function}(self{declared}) -> Any:\n{}        return await call({}, {passed})\n",
            tool.comment("        # "),
            quoted(&tool.id().tool),
        );
    }
    let _ = write!(text, "\n\n_client = {class}()\n");
    for (_, function) in &tools {
        let _ = writeln!(text, "{function} = _client.{function}");
    }
    text
}

/// Parameters of a Python function and the object that it passes on.
struct Parameters {
    declared: String,
    passed: String,
}

fn parameters(tool: &Tool) -> Parameters {
    let schema = &tool.definition().input_schema;
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let (mut needed, mut optional, mut passed) = (String::new(), String::new(), String::new());
    let mut taken = UniqueNames::without(&["self", "others"]);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        // An argument whose name is no identifier is given in `others`.
        if !names::is_python_identifier(name) || taken.has(name) {
            continue;
        }
        taken.take(name);
        let kind = python_type(property);
        if required.contains(&name.as_str()) {
            let _ = write!(needed, ", {name}: {kind}");
        } else {
            let _ = write!(optional, ", {name}: Optional[{kind}] = None");
        }
        let _ = write!(passed, "\"{name}\": {name}, ");
    }
    Parameters {
        declared: format!("{needed}{optional}, **others: Any"),
        passed: format!("{{{passed}**others}}"),
    }
}

fn python_type(property: &Value) -> &'static str {
    match property["type"].as_str() {
        Some("string") => "str",
        Some("integer") => "int",
        Some("number") => "float",
        Some("boolean") => "bool",
        Some("array") => "List[Any]",
        Some("object") => "Dict[str, Any]",
        _ => "Any",
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ServerName, ToolAnnotations, ToolDefinition, ToolId};
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_names_become_identifiers_and_texts_stay_in_comments() {
        let definition = |name: &str| ToolDefinition {
            id: ToolId::new("my-server", name),
            title: None,
            description: Some("Reads */ `it`\n\"\"\"evil()".to_owned()),
            input_schema: json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string"}, "odd name": {}, "mode": {"enum": ["fast", "slow"]}, "class": {"type": "string"}}}),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        let tools = vec![
            definition("read_file"),
            definition("read-file"),
            definition("import"),
        ];
        let server = ServerTools::new(ServerName::from("my-server"), tools, None);
        let command = WrapperCommand {
            command: vec![
                "/opt/limbeck".to_owned(),
                "--config".to_owned(),
                "a\"b".to_owned(),
            ],
            directory: "/home/x".to_owned(),
        };
        let ts = wrapper(&server, Language::Typescript, &command);
        for part in [
            "export async function my_server_readFile(params: {",
            "export async function my_server_readFile_2(",
            "export const myServer = {\n  readFile: my_server_readFile,\n  readFile_2: my_server_readFile_2,",
            "\"/opt/limbeck\"",
            "\"a\\\"b\"",
        ] {
            assert!(ts.contains(part), "{part}: {ts}");
        }
        assert!(!ts.contains("Reads */"), "{ts}");
        let py = wrapper(&server, Language::Python, &command);
        for part in [
            "class MyServerClient:",
            "async def read_file(self, path: str, mode: Optional[Any] = None, **others: Any) -> Any:",
            "async def import_(self",
            "read_file_2 = _client.read_file_2",
        ] {
            assert!(py.contains(part), "{part}: {py}");
        }
        assert_eq!(
            wrapper_file("my-server", Language::Typescript),
            "mcp-my-server.ts"
        );
        assert_eq!(
            wrapper_file("my-server", Language::Python),
            "mcp_my_server.py"
        );
        assert_eq!(wrapper_file("../x", Language::Typescript), "mcp-___x.ts");
    }
}
