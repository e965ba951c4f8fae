//! The declaration file for TypeScript: the globals of a program, with every tool.

use limbeck_domain::Language;

use crate::names;
use crate::server::ServerTools;
use crate::signature;
use crate::tool::Tool;

/// Spaces before a member of `tools`, and before one of a server.
const SERVER_INDENT: &str = "  ";
const TOOL_INDENT: &str = "    ";

/// The file over `servers`.
pub(super) fn file(servers: &[&ServerTools]) -> String {
    let mut text = String::from("// The globals of a program. Made by `limbeck types`.\n\n");
    text.push_str(include_str!("limbeck.d.ts"));
    text.push_str("/** The tools of every server. */\ndeclare const tools: {\n");
    for server in servers {
        write_server(&mut text, server);
    }
    text.push_str("};\n");
    text
}

fn write_server(text: &mut String, server: &ServerTools) {
    let line = server.line();
    if !line.is_empty() {
        text.push_str(&format!("{SERVER_INDENT}/** {line} */\n"));
    }
    let key = names::property_key(server.name().as_str());
    text.push_str(&format!("{SERVER_INDENT}{key}: {{\n"));
    for tool in server.tools() {
        write_tool(text, tool);
    }
    text.push_str(&format!("{SERVER_INDENT}}};\n"));
}

fn write_tool(text: &mut String, tool: &Tool) {
    text.push_str(&format!("{TOOL_INDENT}/**\n"));
    text.push_str(&tool.comment(&format!("{TOOL_INDENT} * ")));
    text.push_str(&format!("{TOOL_INDENT} */\n"));
    let definition = tool.definition();
    let schema = &definition.input_schema;
    let (arguments, written) = signature::arguments_type(schema, Language::Typescript);
    let interface = if arguments.accepts_empty_object() {
        "OptionalTool"
    } else {
        "Tool"
    };
    let value = definition.output_schema.as_ref().map_or_else(
        || "unknown".to_owned(),
        |schema| signature::output_type(schema, Language::Typescript).1,
    );
    let key = names::property_key(&tool.id().tool);
    // No text of a type holds a line end inside quotes.
    let kind = format!("Limbeck.{interface}<{written}, {value}>");
    let kind = kind.replace('\n', &format!("\n{TOOL_INDENT}"));
    text.push_str(&format!("{TOOL_INDENT}{key}: {kind};\n"));
}
