//! Resolution of names that reach tools, from their roots to the calls made through them.

use std::collections::HashSet;

use oxc::ast::AstKind;
use oxc::ast::ast::{
    Argument, BindingPattern, CallExpression, Expression, ImportDeclarationSpecifier,
    ObjectPattern, Statement,
};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::GetSpan;
use oxc::syntax::operator::BinaryOperator;

use super::arguments::CallArguments;
use super::imports::{self, Binding, ImportedModule};
use super::modules;
use super::reflection;
use super::tree::ProgramTree;

/// Members that every object has, and that are therefore neither tools nor servers.
const OF_OBJECTS: [&str; 5] = ["then", "toJSON", "toString", "valueOf", "constructor"];
/// Globals that list servers and tools.
const LOOKING_UP: [&str; 7] = [
    "servers",
    "search",
    "describe",
    "discoverMCPTools",
    "getToolSchema",
    "searchTools",
    "listServers",
];
/// Functions that read their arguments and never call or return them.
const LOOKING_AT: [&str; 3] = ["describe", "String", "Boolean"];
/// Members of objects that are such functions; all members of `console` are.
const LOOKING_AT_MEMBERS: [(&str, &str); 4] = [
    ("Object", "keys"),
    ("Object", "getOwnPropertyNames"),
    ("JSON", "stringify"),
    ("Array", "isArray"),
];
/// Members of `globalThis` through which no tool is called and no text is run.
const HARMLESS_GLOBALS: [&str; 12] = [
    "console",
    "JSON",
    "Math",
    "Date",
    "Intl",
    "crypto",
    "structuredClone",
    "performance",
    "TextEncoder",
    "TextDecoder",
    "input",
    "undefined",
];
/// Uses of names that are followed.
const STEPS_MAX: usize = 20_000;

/// Meaning of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    Global,
    Tools,
    Server(String),
    Tool(String, String),
    Raw(String, String),
    /// A tool by its full name: `tools.mcp__server__tool`.
    FullName(String),
    /// `callMCPTool`.
    ByName,
    /// `callTool` and, by the name here, `tools.call`; it gives the value of a result.
    ValueByName(&'static str),
}

/// Members of `tools` that call a tool by its name, unless a server has the name.
const BY_NAME: [&str; 4] = ["call", "callTool", "call_tool", "invoke"];

/// What a call gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultForm {
    /// The value of the tool's result.
    Value,
    /// The result itself, or what an earlier system made of it.
    Other,
}

/// A call of a tool whose names are known.
pub(super) struct NamedCall<'a> {
    pub(super) node: &'a CallExpression<'a>,
    pub(super) server: Option<String>,
    pub(super) tool: String,
    pub(super) form: ResultForm,
    /// Where the arguments begin, when they follow names.
    named_after: Option<usize>,
}

impl<'a> NamedCall<'a> {
    pub(super) fn arguments(&self, tree: &ProgramTree<'_, 'a>) -> CallArguments {
        match self.named_after {
            None => CallArguments::of(&self.node.arguments, tree),
            Some(at) => CallArguments::of_optional(self.node.arguments.get(at), tree),
        }
    }
}

/// Calls of tools, and the other uses of their names.
pub(super) struct NameResolver<'a> {
    pub(super) calls: Vec<NamedCall<'a>>,
    /// Byte offsets of places where it is not known what is called, with the server when that is known.
    pub(super) dynamic: Vec<(u32, Option<String>)>,
    /// Whether the program asks which servers and tools there are.
    pub(super) looks_up: bool,
    followed: HashSet<NodeId>,
    left: usize,
}

impl<'a> NameResolver<'a> {
    /// Follows every name of the program that reaches tools.
    pub(super) fn find(tree: &ProgramTree<'_, 'a>) -> Self {
        let mut names = Self {
            calls: Vec::new(),
            dynamic: Vec::new(),
            looks_up: false,
            followed: HashSet::new(),
            left: STEPS_MAX,
        };
        for (name, references) in tree.scoping.root_unresolved_references() {
            let denoted = match name.as_str() {
                "tools" => Meaning::Tools,
                "globalThis" => Meaning::Global,
                "callMCPTool" => Meaning::ByName,
                "callTool" => Meaning::ValueByName("callTool"),
                "eval" | "Function" => {
                    for reference in references {
                        let node = tree.scoping.get_reference(*reference).node_id();
                        names.dynamic.push((tree.span(node).start, None));
                    }
                    continue;
                }
                name if name.starts_with("mcp__") => Meaning::FullName(name.to_owned()),
                name => {
                    names.looks_up |= LOOKING_UP.contains(&name);
                    continue;
                }
            };
            for reference in references {
                let node = tree.scoping.get_reference(*reference).node_id();
                names.follow(tree, node, denoted.clone());
            }
        }
        for statement in &tree.nodes.program().body {
            if let Statement::ExportDefaultDeclaration(export) = statement
                && let Some(object) = modules::globals_taken(export)
            {
                names.bound_properties(tree, object, &Meaning::Global, object.node_id());
            }
            if let Statement::ImportDeclaration(import) = statement
                && let Some(module) = imports::resolve(import.source.value.as_str())
            {
                for specifier in import.specifiers.iter().flatten() {
                    names.follow_import(tree, &module, specifier);
                }
            }
        }
        // A call of a computed member of `tools` has its place, with its server.
        let followed: HashSet<u32> = names.dynamic.iter().map(|(at, _)| *at).collect();
        let kinds = tree.nodes.iter().map(|node| node.kind());
        let reached = kinds.filter(|kind| reflection::reaches(tree, kind));
        let places = reached.map(|kind| kind.span().start);
        let others = places.filter(|at| !followed.contains(at));
        names.dynamic.extend(others.map(|at| (at, None)));
        names
    }

    fn follow_import(
        &mut self,
        tree: &ProgramTree<'_, 'a>,
        module: &ImportedModule<'_>,
        specifier: &ImportDeclarationSpecifier<'a>,
    ) {
        let name;
        let (local, binding) = match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(named) => {
                name = named.imported.name();
                let binding = match name.as_str() {
                    "default" => Binding::Default,
                    name => Binding::Named(name),
                };
                (&named.local, binding)
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => {
                (&default.local, Binding::Default)
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(all) => {
                (&all.local, Binding::Namespace)
            }
        };
        if *module == ImportedModule::Skills {
            // What a skill calls is not in this text.
            self.dynamic.push((local.span.start, None));
        }
        let denoted = denoted_by(module, &binding, local.name.as_str());
        self.follow_symbol(tree, local.symbol_id(), denoted);
    }

    fn follow_symbol(
        &mut self,
        tree: &ProgramTree<'_, 'a>,
        symbol: SymbolId,
        denoted: Option<Meaning>,
    ) {
        let Some(denoted) = denoted else {
            self.looks_up = true;
            return;
        };
        let uses: Vec<NodeId> = tree.uses(symbol).collect();
        for node in uses {
            self.follow(tree, node, denoted.clone());
        }
    }

    /// Follows an expression with the meaning `denoted` to its uses.
    fn follow(&mut self, tree: &ProgramTree<'_, 'a>, from: NodeId, denoted: Meaning) {
        let (mut at, mut denoted) = (from, denoted);
        loop {
            if self.left == 0 {
                return self.unknown(tree, from, &denoted);
            }
            if !self.followed.insert(at) {
                return;
            }
            self.left -= 1;
            let Some((outer, kind, below)) = tree.outer(at) else {
                return;
            };
            let is_object = |object: &Expression<'_>| tree.is_inside(below, object.span());
            let next = match kind {
                AstKind::StaticMemberExpression(member) => {
                    let name = member.property.name.as_str();
                    if may_give_anything(&denoted, name) {
                        return self.unknown(tree, from, &denoted);
                    }
                    step(&denoted, name)
                }
                AstKind::ComputedMemberExpression(member) if is_object(&member.object) => {
                    match tree.text(&member.expression) {
                        Some(name) if !may_give_anything(&denoted, name) => step(&denoted, name),
                        _ => return self.unknown(tree, from, &denoted),
                    }
                }
                AstKind::AwaitExpression(_) => Some(denoted),
                AstKind::CallExpression(call) if is_object(&call.callee) => {
                    return self.called(tree, call, &denoted);
                }
                AstKind::CallExpression(call) => {
                    if !looks_at(tree, call) {
                        self.unknown(tree, from, &denoted);
                    }
                    return;
                }
                // It asks the object on the other side.
                AstKind::BinaryExpression(binary)
                    if binary.operator == BinaryOperator::Instanceof =>
                {
                    return self.unknown(tree, from, &denoted);
                }
                AstKind::TemplateLiteral(_)
                    if matches!(
                        tree.outer(outer),
                        Some((_, AstKind::TaggedTemplateExpression(_), _))
                    ) =>
                {
                    return self.unknown(tree, from, &denoted);
                }
                AstKind::VariableDeclarator(declarator) => {
                    return self.bound(tree, &declarator.id, denoted, from);
                }
                AstKind::ExpressionStatement(_)
                | AstKind::UnaryExpression(_)
                | AstKind::BinaryExpression(_)
                | AstKind::TemplateLiteral(_)
                | AstKind::IfStatement(_)
                | AstKind::ForInStatement(_) => return,
                _ => return self.unknown(tree, from, &denoted),
            };
            match next {
                Some(next) => denoted = next,
                None => return,
            }
            at = outer;
        }
    }

    /// Follows the names that a pattern binds to parts of `denoted`.
    fn bound(
        &mut self,
        tree: &ProgramTree<'_, 'a>,
        pattern: &BindingPattern<'a>,
        denoted: Meaning,
        from: NodeId,
    ) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                let symbol = name.symbol_id();
                if tree.scoping.symbol_is_mutated(symbol) {
                    return self.unknown(tree, from, &denoted);
                }
                self.follow_symbol(tree, symbol, Some(denoted));
            }
            BindingPattern::ObjectPattern(object) => {
                self.bound_properties(tree, object, &denoted, from);
            }
            BindingPattern::ArrayPattern(_) | BindingPattern::AssignmentPattern(_) => {
                self.unknown(tree, from, &denoted);
            }
        }
    }

    fn bound_properties(
        &mut self,
        tree: &ProgramTree<'_, 'a>,
        object: &ObjectPattern<'a>,
        denoted: &Meaning,
        from: NodeId,
    ) {
        for property in &object.properties {
            let name = property.key.static_name();
            match name.as_deref() {
                Some(name) if !may_give_anything(denoted, name) => {
                    if let Some(next) = step(denoted, name) {
                        self.bound(tree, &property.value, next, from);
                    }
                }
                _ => self.unknown(tree, from, denoted),
            }
        }
        if object.rest.is_some() {
            self.unknown(tree, from, denoted);
        }
    }

    fn called(
        &mut self,
        tree: &ProgramTree<'_, 'a>,
        call: &'a CallExpression<'a>,
        denoted: &Meaning,
    ) {
        match denoted {
            Meaning::Tool(server, tool) => {
                self.call(call, Some(server), tool, ResultForm::Value, None)
            }
            Meaning::Raw(server, tool) => {
                self.call(call, Some(server), tool, ResultForm::Other, None)
            }
            Meaning::FullName(name) => self.call(call, None, name, ResultForm::Value, None),
            // A name that is called and is not a server's is a tool's: the gateway knows which server has it.
            Meaning::Server(name) => self.call(call, None, name, ResultForm::Value, None),
            Meaning::ByName => self.named(tree, call, ResultForm::Other),
            Meaning::ValueByName(_) => self.named(tree, call, ResultForm::Value),
            Meaning::Global | Meaning::Tools => self.dynamic.push((call.span.start, None)),
        }
    }

    /// `callMCPTool("server", "tool", …)` and `callMCPTool("mcp__server__tool", …)`.
    fn named(
        &mut self,
        tree: &ProgramTree<'_, 'a>,
        call: &'a CallExpression<'a>,
        form: ResultForm,
    ) {
        let text = |at: usize| tree.text(call.arguments.get(at)?.as_expression()?);
        let Some(first) = text(0) else {
            self.dynamic.push((call.span.start, None));
            return;
        };
        if let Some(second) = text(1) {
            let second = second.to_owned();
            return self.call(call, Some(first), &second, form, Some(2));
        }
        // What is neither a text nor surely an object may be the name of a tool.
        let is_full_name = match call.arguments.get(1).map(Argument::as_expression) {
            None => true,
            Some(Some(Expression::ObjectExpression(_))) => true,
            Some(_) => first.starts_with("mcp__"),
        };
        if is_full_name {
            self.call(call, None, first, form, Some(1));
        } else {
            let server = (!first.starts_with("mcp__")).then(|| first.to_owned());
            self.dynamic.push((call.span.start, server));
        }
    }

    fn call(
        &mut self,
        node: &'a CallExpression<'a>,
        server: Option<&str>,
        tool: &str,
        form: ResultForm,
        named_after: Option<usize>,
    ) {
        self.calls.push(NamedCall {
            node,
            server: server.map(str::to_owned),
            tool: tool.to_owned(),
            form,
            named_after,
        });
    }

    /// Records a callable value whose further use is not known.
    fn unknown(&mut self, tree: &ProgramTree<'_, 'a>, from: NodeId, denoted: &Meaning) {
        let server = match denoted {
            Meaning::Global
            | Meaning::Tools
            | Meaning::ByName
            | Meaning::ValueByName(_)
            | Meaning::FullName(_) => None,
            Meaning::Server(server) | Meaning::Tool(server, _) | Meaning::Raw(server, _) => {
                Some(server.clone())
            }
        };
        self.dynamic.push((tree.span(from).start, server));
    }
}

/// Meaning of a member of `denoted`; `None` when no tool can be called through it.
fn step(denoted: &Meaning, name: &str) -> Option<Meaning> {
    match denoted {
        Meaning::Global => match name {
            "globalThis" => Some(Meaning::Global),
            "tools" => Some(Meaning::Tools),
            "callMCPTool" => Some(Meaning::ByName),
            "callTool" => Some(Meaning::ValueByName("callTool")),
            name if name.starts_with("mcp__") => Some(Meaning::FullName(name.to_owned())),
            _ => None,
        },
        Meaning::Tools | Meaning::Server(_) if OF_OBJECTS.contains(&name) => None,
        Meaning::Tools => Some(match BY_NAME.into_iter().find(|known| *known == name) {
            Some(known) => Meaning::ValueByName(known),
            None if name.starts_with("mcp__") || name.contains(['.', '/']) => {
                Meaning::FullName(name.to_owned())
            }
            None => Meaning::Server(name.to_owned()),
        }),
        Meaning::Server(server) => Some(Meaning::Tool(server.clone(), name.to_owned())),
        Meaning::Tool(server, tool) => {
            (name == "raw").then(|| Meaning::Raw(server.clone(), tool.clone()))
        }
        // A server may have the name.
        Meaning::ValueByName(server) => Some(Meaning::Tool((*server).to_owned(), name.to_owned())),
        Meaning::Raw(..) | Meaning::ByName | Meaning::FullName(_) => None,
    }
}

/// Whether a member of `denoted` gives a function or an object that is not followed: `tool.bind`, `globalThis.eval`.
fn may_give_anything(denoted: &Meaning, name: &str) -> bool {
    // Texts and numbers.
    const PLAIN: [&str; 4] = ["name", "length", "toString", "description"];
    match denoted {
        Meaning::Global => step(denoted, name).is_none() && !HARMLESS_GLOBALS.contains(&name),
        Meaning::Tools | Meaning::Server(_) => matches!(name, "valueOf" | "constructor"),
        Meaning::Tool(..) | Meaning::Raw(..) | Meaning::ByName | Meaning::FullName(_) => {
            step(denoted, name).is_none() && !PLAIN.contains(&name)
        }
        Meaning::ValueByName(_) => matches!(name, "bind" | "call" | "apply"),
    }
}

/// Meaning of an imported name; `None` when no tool can be called through it.
fn denoted_by(module: &ImportedModule<'_>, binding: &Binding<'_>, local: &str) -> Option<Meaning> {
    let server = |name: &str| Meaning::Server(name.to_owned());
    let tool = |server: &str, tool: &str| Meaning::Tool(server.to_owned(), tool.to_owned());
    Some(match (module, binding) {
        (ImportedModule::Skills, _) => return None,
        (ImportedModule::Globals, Binding::Default | Binding::Namespace) => match local {
            "tools" => Meaning::Tools,
            "callMCPTool" => Meaning::ByName,
            "callTool" => Meaning::ValueByName("callTool"),
            _ => Meaning::Global,
        },
        (ImportedModule::Globals | ImportedModule::Servers, Binding::Named(name)) => match *name {
            "tools" => Meaning::Tools,
            "callMCPTool" => Meaning::ByName,
            "callTool" => Meaning::ValueByName("callTool"),
            name if imports::is_global(module, name) => return None,
            name => server(name),
        },
        (ImportedModule::Servers, Binding::Default | Binding::Namespace) => Meaning::Tools,
        (ImportedModule::Server(name) | ImportedModule::Tool(name, _), Binding::Named(member)) => {
            tool(name, member)
        }
        (ImportedModule::Tool(name, member), Binding::Default) => tool(name, member),
        (ImportedModule::Server(name), Binding::Default | Binding::Namespace)
        | (ImportedModule::Tool(name, _), Binding::Namespace) => server(name),
    })
}

/// Whether a call only looks at its arguments. A name that the program declares itself may mean any function.
fn looks_at(tree: &ProgramTree<'_, '_>, call: &CallExpression<'_>) -> bool {
    let global = |expression: &Expression<'_>| match expression {
        Expression::Identifier(name) if tree.symbol(name).is_none() => Some(name.name.to_string()),
        _ => None,
    };
    match call.callee.get_inner_expression() {
        Expression::StaticMemberExpression(member) => {
            let Some(object) = global(&member.object) else {
                return false;
            };
            let member = member.property.name.as_str();
            let mut known = LOOKING_AT_MEMBERS.iter();
            // A replacer of `JSON.stringify` is given the parts of the value.
            let has_replacer = object == "JSON" && call.arguments.len() > 1;
            object == "console"
                || !has_replacer && known.any(|(of, name)| object == *of && member == *name)
        }
        callee => global(callee).is_some_and(|name| LOOKING_AT.contains(&name.as_str())),
    }
}
