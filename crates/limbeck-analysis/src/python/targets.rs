//! Target of a call (server and tool), when its names are constants.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{Expr, ExprCall, Keyword};

use super::facts::{ProgramFacts, generated_for, given_name, module_of};
use super::names::text;
use super::servers::ServerAliases;

/// A tool, and what it is called with.
pub(super) struct CallTarget<'a> {
    /// As the program has it; `None` when `tool` is a full name.
    pub(super) server: Option<String>,
    pub(super) tool: String,
    pub(super) positional: Vec<&'a Expr>,
    pub(super) keywords: Vec<&'a Keyword>,
}

impl<'a> CallTarget<'a> {
    /// Tool that a call with these names calls.
    pub(super) fn of(
        names: &[&'a str],
        call: &'a ExprCall,
        servers: &ServerAliases,
    ) -> Option<Self> {
        match names {
            ["tools", server, tool] | ["tools", server, tool, "raw"] => {
                Some(Self::all_of(server, tool, call))
            }
            ["tools", "call" | "callTool" | "call_tool" | "invoke"] => {
                Self::by_full_name(call, true)
            }
            // A name that is called and is not a server's is a tool's: the gateway knows which server has it.
            ["tools", tool] => Some(Self::by_name(tool, call)),
            [name] if name.starts_with("mcp__") => Some(Self::by_name(name, call)),
            ["mcp_servers", server, tool] if *tool != "list_tools" => {
                Some(Self::all_of(server, tool, call))
            }
            ["call_tool" | "acall_tool"] => Self::by_full_name(call, false),
            ["call_mcp_tool"] => Self::by_full_name(call, true),
            ["runtime", "call_tool"] => Self::by_two_names(call),
            [root, tool] if *tool != "list_tools" => {
                let server = servers.by_alias(root.strip_prefix("mcp_")?)?;
                Some(Self::all_of(server, tool, call))
            }
            _ => None,
        }
    }

    fn by_name(name: &str, call: &'a ExprCall) -> Self {
        Self {
            server: None,
            tool: name.to_owned(),
            positional: call.arguments.args.iter().collect(),
            keywords: call.arguments.keywords.iter().collect(),
        }
    }

    fn all_of(server: &str, tool: &str, call: &'a ExprCall) -> Self {
        Self {
            server: Some(server.to_owned()),
            tool: tool.to_owned(),
            positional: call.arguments.args.iter().collect(),
            keywords: call.arguments.keywords.iter().collect(),
        }
    }

    /// `call_tool("server.tool", …)`, `call_tool("server", "tool", …)`, `call_tool("mcp__server__tool", …)`;
    /// `call_mcp_tool` takes its arguments by name too.
    fn by_full_name(call: &'a ExprCall, is_mcp: bool) -> Option<Self> {
        let name = text(call.arguments.args.first()?)?;
        let mut keywords: Vec<&Keyword> = call.arguments.keywords.iter().collect();
        let mut rest: Vec<&Expr> = call.arguments.args[1..].iter().collect();
        let is_named = |word: &Keyword, names: &[&str]| {
            let given = word.arg.as_ref();
            given.is_some_and(|given| names.contains(&&*given.id))
        };
        if let Some(tool) = rest.first().and_then(|tool| text(tool)) {
            rest.remove(0);
            let named = keywords
                .iter()
                .filter(|word| is_mcp && is_named(word, &["arguments"]));
            let named: Vec<&Expr> = named.map(|word| &word.value).collect();
            if !named.is_empty() {
                keywords.clear();
                rest.extend(named);
            }
            return Some(Self {
                server: Some(name.to_owned()),
                tool: tool.to_owned(),
                positional: rest,
                keywords,
            });
        }
        if is_mcp {
            let place = keywords
                .iter()
                .position(|word| is_named(word, &["params", "arguments"]));
            rest.extend(place.map(|place| &keywords.remove(place).value));
        }
        let (server, tool) = if name.starts_with("mcp__") {
            (None, name)
        } else {
            let (server, tool) = name.split_once('.')?;
            (Some(server.to_owned()), tool)
        };
        (!tool.is_empty()).then(|| Self {
            server,
            tool: tool.to_owned(),
            positional: rest,
            keywords,
        })
    }

    /// `runtime.call_tool(server, tool, arguments)`, each by place or by name.
    fn by_two_names(call: &'a ExprCall) -> Option<Self> {
        let mut given: Vec<&Expr> = call.arguments.args.iter().take(3).collect();
        for name in ["server", "tool", "arguments"]
            .into_iter()
            .skip(given.len())
        {
            let named = call.arguments.keywords.iter().rev();
            let named = named.filter(|word| word.arg.as_ref().is_some_and(|arg| arg.id == name));
            given.extend(named.take(1).map(|word| &word.value));
        }
        let [server, tool, rest @ ..] = given.as_slice() else {
            return None;
        };
        Some(Self {
            server: Some(text(server)?.to_owned()),
            tool: text(tool)?.to_owned(),
            positional: rest.to_vec(),
            keywords: Vec::new(),
        })
    }
}

/// Names that import statements give.
pub(super) struct ImportedTools<'a> {
    /// Names whose meaning needs no import.
    meant: HashSet<&'a str>,
    /// Tools by the names they were given, each with its server.
    tools: HashMap<&'a str, (String, &'a str)>,
}

/// Whether a name of a generated file is its class, whose methods are the tools.
fn is_class_of_tools(module: &str, name: &str) -> bool {
    generated_for(module).is_some() && name.ends_with("Client")
}

impl<'a> ImportedTools<'a> {
    pub(super) fn new(facts: &ProgramFacts<'a>, servers: &ServerAliases) -> Self {
        let mut meant = HashSet::new();
        let mut tools = HashMap::new();
        let mut given: HashMap<&str, u32> = HashMap::new();
        for statement in &facts.imports {
            let module = module_of(statement);
            let alias = module
                .strip_prefix("mcp.servers.")
                .or_else(|| generated_for(module));
            let server = alias.and_then(|alias| servers.by_alias(alias));
            for name in &statement.names {
                let here = given_name(name);
                *given.entry(here).or_default() += 1;
                if module == "mcp" && name.name.id == here {
                    meant.insert(here);
                } else if let Some(server) = server
                    && !is_class_of_tools(module, &name.name.id)
                {
                    tools.insert(here, (server.to_owned(), &*name.name.id));
                }
            }
        }
        // A name that is imported and given another value too may be either.
        tools.retain(|name, _| given.get(name) == Some(&facts.times_bound(name)));
        Self { meant, tools }
    }

    /// Whether a name that the program imports means what it means without.
    pub(super) fn means(&self, name: &str) -> bool {
        self.meant.contains(name)
    }

    /// The tool that an imported function is.
    pub(super) fn target(&self, root: &str, call: &'a ExprCall) -> Option<CallTarget<'a>> {
        let (server, tool) = self.tools.get(root)?;
        call.func
            .is_name_expr()
            .then(|| CallTarget::all_of(server, tool, call))
    }
}
