//! Declaration file for TypeScript: the globals of a program, with every tool.
//!
//! Types that contain themselves or are used more than once are declared in the namespace `Limbeck`, and named after
//! server, tool and definition.

use limbeck_domain::Language;

use crate::identifiers::{UniqueNames, type_name};
use crate::names;
use crate::server::ServerTools;
use crate::signature::{self, Extent, Style, Tree};
use crate::tool::Tool;

/// Spaces before a member of `tools`, and before one of a server.
const SERVER_INDENT: &str = "  ";
const TOOL_INDENT: &str = "    ";
/// Reserved names of the namespace.
const TAKEN: [&str; 7] = [
    "Artifact",
    "ArtifactInfo",
    "CallToolResult",
    "Offers",
    "OptionalTool",
    "SearchOptions",
    "Tool",
];

/// Text of the declaration file for `servers`.
pub(super) fn file(servers: &[&ServerTools]) -> String {
    let mut types = Types {
        names: UniqueNames::without(&TAKEN),
        text: String::new(),
        prefix: "Limbeck.",
        declares: "type",
        indent: SERVER_INDENT,
    };
    let mut tools = String::new();
    for server in servers {
        write_server(&mut tools, server, &mut types);
    }
    let mut text = String::from("// The globals of a program. Made by `limbeck types`.\n\n");
    text.push_str(include_str!("limbeck.d.ts"));
    if !types.text.is_empty() {
        text.push_str("declare namespace Limbeck {\n");
        text.push_str(&types.text);
        text.push_str("}\n\n");
    }
    text.push_str("/** The tools of every server. */\ndeclare const tools: {\n");
    text.push_str(&tools);
    text.push_str("};\n");
    text
}

/// Named types.
struct Types {
    names: UniqueNames,
    text: String,
    /// What names have before them where they are used.
    prefix: &'static str,
    declares: &'static str,
    indent: &'static str,
}

/// Types of one server's tools, for a file of their own.
pub(super) struct LocalTypes {
    /// Declarations of the types that have names.
    pub(super) text: String,
    /// Of each tool: the type of its arguments and of its value, and whether it can be called without arguments.
    pub(super) tools: Vec<(String, String, bool)>,
}

/// The types of `server` without the namespace.
pub(super) fn local_types(server: &ServerTools) -> LocalTypes {
    let mut types = Types {
        names: UniqueNames::without(&["Error", "Promise", "JSON", "Array"]),
        text: String::new(),
        prefix: "",
        declares: "export type",
        indent: "",
    };
    let tools = server.tools().iter();
    let tools = tools.map(|tool| types.of_tool(tool)).collect();
    LocalTypes {
        text: types.text,
        tools,
    }
}

impl Types {
    /// Declares the definitions of `tree`, named after `path`, and returns the text of its type.
    fn declare(&mut self, tree: &Tree, path: &str) -> String {
        let definitions = tree.definitions.iter();
        let taken: Vec<String> = definitions
            .map(|one| self.names.take(&type_name(&format!("{path}-{}", one.name))))
            .collect();
        let full: Vec<String> = taken
            .iter()
            .map(|name| format!("{}{name}", self.prefix))
            .collect();
        let (indent, declares) = (self.indent, self.declares);
        for (definition, name) in tree.definitions.iter().zip(&taken) {
            if !definition.doc.is_empty() {
                let doc = &definition.doc;
                self.text.push_str(&format!("{indent}/** {doc} */\n"));
            }
            let written = text(&definition.kind, indent, &full);
            let declared = format!("{indent}{declares} {name} = {written};\n");
            self.text.push_str(&declared);
        }
        let indent = if self.prefix.is_empty() {
            ""
        } else {
            TOOL_INDENT
        };
        text(&tree.kind, indent, &full)
    }

    /// The type of a tool's arguments and of its value, and whether it can be called without arguments.
    fn of_tool(&mut self, tool: &Tool) -> (String, String, bool) {
        let definition = tool.definition();
        let id = tool.id();
        let path = format!("{}-{}", id.server, id.tool);
        let (extent, language) = (Extent::File, Language::Typescript);
        let arguments = signature::arguments_tree(&definition.input_schema, extent, language);
        let is_optional = arguments.kind.accepts_empty_object();
        let written = self.declare(&arguments, &path);
        let value = definition.output_schema.as_ref().map_or_else(
            || "unknown".to_owned(),
            |schema| self.declare(&signature::output_tree(schema, extent, language), &path),
        );
        (written, value, is_optional)
    }
}

/// Prints a type with its lines indented by `indent`. Literals contain no line ends, so replacing every line end is safe.
fn text(kind: &signature::Type, indent: &str, names: &[String]) -> String {
    signature::typescript::text(kind, Style::Block, names).replace('\n', &format!("\n{indent}"))
}

fn write_server(text: &mut String, server: &ServerTools, types: &mut Types) {
    let line = server.line();
    if !line.is_empty() {
        text.push_str(&format!("{SERVER_INDENT}/** {line} */\n"));
    }
    let key = names::property_key(server.name().as_str());
    text.push_str(&format!("{SERVER_INDENT}{key}: {{\n"));
    for tool in server.tools() {
        write_tool(text, tool, types);
    }
    text.push_str(&format!("{SERVER_INDENT}}};\n"));
}

fn write_tool(text: &mut String, tool: &Tool, types: &mut Types) {
    text.push_str(&format!("{TOOL_INDENT}/**\n"));
    text.push_str(&tool.comment(&format!("{TOOL_INDENT} * ")));
    text.push_str(&format!("{TOOL_INDENT} */\n"));
    let (written, value, is_optional) = types.of_tool(tool);
    let interface = if is_optional { "OptionalTool" } else { "Tool" };
    let id = tool.id();
    let key = names::property_key(&id.tool);
    text.push_str(&format!(
        "{TOOL_INDENT}{key}: Limbeck.{interface}<{written}, {value}>;\n"
    ));
}
