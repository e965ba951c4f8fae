//! What a client calls or reads, as the program with which it is recorded.

use limbeck_domain::{
    CallForm, CallId, HostCall, HostOp, ReadMethod, ServerName, ToolId, ToolTarget,
};
use serde_json::json;

use super::{ORIGIN, USER_ORIGIN};

/// Text before the name of the server in the program that a call is recorded with.
const CALL_BEFORE: &str = "return await tools[";
const CALL_BETWEEN: &str = "][";
const CALL_AFTER: &str = "].raw(input);";

/// Text around the name of the server in the program that a read is recorded with.
const READ_BEFORE: &str = "return await servers[";
const RESOURCE_AFTER: &str = "].resources.read(input.uri);";
const PROMPT_AFTER: &str = "].prompts.get(input.name, input.arguments);";

/// A tool that a client called, or a read that it made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    Tool(ToolId),
    Resource(ServerName),
    Prompt(ServerName),
}

impl Called {
    /// The read of one resource or prompt; `None` for the other methods, which are not recorded.
    pub(super) fn read(server: &ServerName, method: ReadMethod) -> Option<Self> {
        match method {
            ReadMethod::ReadResource => Some(Self::Resource(server.clone())),
            ReadMethod::GetPrompt => Some(Self::Prompt(server.clone())),
            ReadMethod::ListResources
            | ReadMethod::ListResourceTemplates
            | ReadMethod::ListPrompts
            | ReadMethod::Complete => None,
        }
    }

    /// What a record is about, from its origin and its program or title. `None` for every other execution, and for names that a
    /// title has no room for.
    pub(crate) fn recorded(origin: &str, program: &str) -> Option<Self> {
        // A program may have the same text.
        if origin != ORIGIN && origin != USER_ORIGIN {
            return None;
        }
        if let Some(rest) = program.strip_prefix(READ_BEFORE) {
            let (server, rest) = json_text(rest)?;
            let server = ServerName::from(server.as_str());
            return match rest {
                RESOURCE_AFTER => Some(Self::Resource(server)),
                PROMPT_AFTER => Some(Self::Prompt(server)),
                _ => None,
            };
        }
        let (server, rest) = json_text(program.strip_prefix(CALL_BEFORE)?)?;
        let (tool, rest) = json_text(rest.strip_prefix(CALL_BETWEEN)?)?;
        (rest == CALL_AFTER).then(|| Self::Tool(ToolId::new(server.as_str(), tool.as_str())))
    }

    /// Program that would make the same call or read.
    pub(super) fn program(&self) -> String {
        let name = |server: &ServerName| json!(server.as_str());
        match self {
            Self::Tool(tool) => {
                let (server, tool) = (name(&tool.server), json!(tool.tool));
                format!("{CALL_BEFORE}{server}{CALL_BETWEEN}{tool}{CALL_AFTER}")
            }
            Self::Resource(server) => format!("{READ_BEFORE}{}{RESOURCE_AFTER}", name(server)),
            Self::Prompt(server) => format!("{READ_BEFORE}{}{PROMPT_AFTER}", name(server)),
        }
    }

    /// The call, as a program would make it. `arguments` is the JSON text of arguments or params.
    pub(crate) fn call(&self, arguments: String) -> HostCall {
        let reading = |server: &ServerName, method: ReadMethod| {
            let (server, method) = (json!(server.as_str()), json!(method));
            let body =
                format!("{{\"server\":{server},\"method\":{method},\"params\":{arguments}}}");
            (HostOp::Read, String::new(), body)
        };
        let (op, head, body) = match self {
            Self::Tool(tool) => {
                let target = ToolTarget {
                    server: Some(tool.server.to_string()),
                    tool: tool.tool.to_string(),
                    form: CallForm::Raw,
                };
                (HostOp::Tool, json!(target).to_string(), arguments)
            }
            Self::Resource(server) => reading(server, ReadMethod::ReadResource),
            Self::Prompt(server) => reading(server, ReadMethod::GetPrompt),
        };
        HostCall {
            id: CallId(1),
            op,
            head,
            body,
        }
    }

    /// Whether it is a read of a resource or prompt.
    pub(crate) fn is_read(&self) -> bool {
        match self {
            Self::Tool(_) => false,
            Self::Resource(_) | Self::Prompt(_) => true,
        }
    }

    /// Its name: that of the tool, or of the method that reads.
    fn name(self) -> ToolId {
        let method = |server, method: ReadMethod| ToolId::new(server, method.as_str());
        match self {
            Self::Tool(tool) => tool,
            Self::Resource(server) => method(server, ReadMethod::ReadResource),
            Self::Prompt(server) => method(server, ReadMethod::GetPrompt),
        }
    }
}

/// Tool or method of a direct call or read, from the origin and the program (or the title) of its record. `None` for every other
/// execution, and for names that a title has no room for.
pub fn called_tool(origin: &str, program: &str) -> Option<ToolId> {
    Called::recorded(origin, program).map(Called::name)
}

/// The JSON string that `text` begins with, and what follows it.
fn json_text(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_of_a_direct_call_is_read_from_its_record_and_from_no_other() {
        let tool = ToolId::new("my \"shop\"", "list.orders][");
        let program = Called::Tool(tool.clone()).program();
        assert_eq!(called_tool(ORIGIN, &program), Some(tool));
        assert_eq!(called_tool("run", &program), None);
        for other in [
            "",
            "return 1",
            &program[..program.len() - 1],
            "return await tools[\"a\"",
            "return await servers[\"a\"].prompts.list();",
        ] {
            assert_eq!(called_tool(ORIGIN, other), None, "{other}");
        }
    }

    #[test]
    fn a_read_is_not_taken_for_a_tool_with_the_name_of_its_method() {
        let server = ServerName::from("my \"library\"");
        for read in [
            Called::Resource(server.clone()),
            Called::Prompt(server.clone()),
        ] {
            assert_eq!(
                Called::recorded(ORIGIN, &read.program()),
                Some(read.clone())
            );
            assert_eq!(read.call("{}".to_owned()).op, HostOp::Read);
        }
        let tool = Called::Tool(ToolId::new(server, "resources/read"));
        assert_eq!(
            Called::recorded(ORIGIN, &tool.program()),
            Some(tool.clone())
        );
        assert_eq!(tool.call("{}".to_owned()).op, HostOp::Tool);
    }
}
