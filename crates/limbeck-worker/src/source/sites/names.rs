//! From the names that reach tools to the calls made through them.

use std::collections::HashSet;

use oxc::ast::AstKind;
use oxc::ast::ast::{
    Argument, BindingPattern, CallExpression, Expression, ImportDeclarationSpecifier, Statement,
};
use oxc::semantic::{NodeId, SymbolId};
use oxc::span::GetSpan;

use super::super::imports::{self, Binding, Imported};
use super::arguments::Arguments;
use super::tree::Tree;

/// Names that every object answers to: they are no tools, and no servers.
const OF_OBJECTS: [&str; 5] = ["then", "toJSON", "toString", "valueOf", "constructor"];
/// Globals that say which servers and tools there are.
const LOOKING_UP: [&str; 7] = [
    "servers",
    "search",
    "describe",
    "discoverMCPTools",
    "getToolSchema",
    "searchTools",
    "listServers",
];
/// Functions that look at what they are given and call nothing of it.
const LOOKING_AT: [&str; 3] = ["describe", "String", "Boolean"];
/// Objects whose functions do the same.
const LOOKERS: [&str; 5] = ["console", "Object", "JSON", "Array", "String"];
/// Uses of names that are followed.
const STEPS_MAX: usize = 20_000;

/// What an expression stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Denoted {
    Global,
    Tools,
    Server(String),
    Tool(String, String),
    Raw(String, String),
    /// `callMCPTool`.
    ByName,
}

/// What a call gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The value of the tool's result.
    Value,
    /// The result itself, or what an earlier system made of it.
    Other,
}

/// A call of a tool whose names are known.
pub(super) struct ToolCall<'a> {
    pub(super) node: &'a CallExpression<'a>,
    pub(super) server: Option<String>,
    pub(super) tool: String,
    pub(super) form: Form,
    /// Where the arguments begin, when they follow names.
    named_after: Option<usize>,
}

impl<'a> ToolCall<'a> {
    pub(super) fn arguments(&self, tree: &Tree<'_, 'a>) -> Arguments {
        match self.named_after {
            None => Arguments::of(&self.node.arguments, tree),
            Some(at) => Arguments::of_optional(self.node.arguments.get(at), tree),
        }
    }
}

/// Everything that is called, and what else becomes of the names.
pub(super) struct Names<'a> {
    pub(super) calls: Vec<ToolCall<'a>>,
    /// Byte offsets of places where it is not known what is called, with the server when that is known.
    pub(super) dynamic: Vec<(u32, Option<String>)>,
    /// Whether the program asks which servers and tools there are.
    pub(super) looks_up: bool,
    followed: HashSet<NodeId>,
    left: usize,
}

impl<'a> Names<'a> {
    /// Follows every name of the program that reaches tools.
    pub(super) fn find(tree: &Tree<'_, 'a>) -> Self {
        let mut names = Self {
            calls: Vec::new(),
            dynamic: Vec::new(),
            looks_up: false,
            followed: HashSet::new(),
            left: STEPS_MAX,
        };
        for (name, references) in tree.scoping.root_unresolved_references() {
            let denoted = match name.as_str() {
                "tools" => Denoted::Tools,
                "globalThis" => Denoted::Global,
                "callMCPTool" => Denoted::ByName,
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
            if let Statement::ImportDeclaration(import) = statement
                && let Some(module) = imports::resolve(import.source.value.as_str())
            {
                for specifier in import.specifiers.iter().flatten() {
                    names.follow_import(tree, &module, specifier);
                }
            }
        }
        names
    }

    fn follow_import(
        &mut self,
        tree: &Tree<'_, 'a>,
        module: &Imported<'_>,
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
        let denoted = denoted_by(module, &binding, local.name.as_str());
        self.follow_symbol(tree, local.symbol_id(), denoted);
    }

    fn follow_symbol(&mut self, tree: &Tree<'_, 'a>, symbol: SymbolId, denoted: Option<Denoted>) {
        let Some(denoted) = denoted else {
            self.looks_up = true;
            return;
        };
        let uses: Vec<NodeId> = tree.uses(symbol).collect();
        for node in uses {
            self.follow(tree, node, denoted.clone());
        }
    }

    /// Follows an expression that stands for `denoted` to where it is used.
    fn follow(&mut self, tree: &Tree<'_, 'a>, from: NodeId, denoted: Denoted) {
        let (mut at, mut denoted) = (from, denoted);
        loop {
            if self.left == 0 || !self.followed.insert(at) {
                return;
            }
            self.left -= 1;
            let Some((outer, kind, below)) = tree.outer(at) else {
                return;
            };
            let is_object = |object: &Expression<'_>| tree.is_inside(below, object.span());
            let next = match kind {
                AstKind::StaticMemberExpression(member) => {
                    step(&denoted, member.property.name.as_str())
                }
                AstKind::ComputedMemberExpression(member) if is_object(&member.object) => {
                    match tree.text(&member.expression) {
                        Some(name) => step(&denoted, name),
                        None => return self.unknown(tree, from, &denoted),
                    }
                }
                AstKind::AwaitExpression(_) => Some(denoted),
                AstKind::CallExpression(call) if is_object(&call.callee) => {
                    return self.called(tree, call, &denoted);
                }
                AstKind::CallExpression(call) => {
                    if !looks_at(&call.callee) {
                        self.unknown(tree, from, &denoted);
                    }
                    return;
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

    /// Follows the names a pattern gives to what `denoted` stands for.
    fn bound(
        &mut self,
        tree: &Tree<'_, 'a>,
        pattern: &BindingPattern<'a>,
        denoted: Denoted,
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
                for property in &object.properties {
                    let name = property.key.static_name();
                    match name.as_deref().map(|name| step(&denoted, name)) {
                        Some(Some(next)) => self.bound(tree, &property.value, next, from),
                        Some(None) => {}
                        None => self.unknown(tree, from, &denoted),
                    }
                }
                if object.rest.is_some() {
                    self.unknown(tree, from, &denoted);
                }
            }
            BindingPattern::ArrayPattern(_) | BindingPattern::AssignmentPattern(_) => {
                self.unknown(tree, from, &denoted);
            }
        }
    }

    fn called(&mut self, tree: &Tree<'_, 'a>, call: &'a CallExpression<'a>, denoted: &Denoted) {
        match denoted {
            Denoted::Tool(server, tool) => self.call(call, Some(server), tool, Form::Value, None),
            Denoted::Raw(server, tool) => self.call(call, Some(server), tool, Form::Other, None),
            Denoted::ByName => self.named(tree, call),
            Denoted::Global | Denoted::Tools | Denoted::Server(_) => {}
        }
    }

    /// `callMCPTool("server", "tool", …)` and `callMCPTool("mcp__server__tool", …)`.
    fn named(&mut self, tree: &Tree<'_, 'a>, call: &'a CallExpression<'a>) {
        let text = |at: usize| tree.text(call.arguments.get(at)?.as_expression()?);
        let Some(first) = text(0) else {
            self.dynamic.push((call.span.start, None));
            return;
        };
        if let Some(second) = text(1) {
            let second = second.to_owned();
            return self.call(call, Some(first), &second, Form::Other, Some(2));
        }
        // What is neither a text nor surely an object may be the name of a tool.
        let is_full_name = match call.arguments.get(1).map(Argument::as_expression) {
            None => true,
            Some(Some(Expression::ObjectExpression(_))) => true,
            Some(_) => first.starts_with("mcp__"),
        };
        if is_full_name {
            self.call(call, None, first, Form::Other, Some(1));
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
        form: Form,
        named_after: Option<usize>,
    ) {
        self.calls.push(ToolCall {
            node,
            server: server.map(str::to_owned),
            tool: tool.to_owned(),
            form,
            named_after,
        });
    }

    /// Notes that it is not known what becomes of something that can be called.
    fn unknown(&mut self, tree: &Tree<'_, 'a>, from: NodeId, denoted: &Denoted) {
        let server = match denoted {
            Denoted::Global => return,
            Denoted::Tools | Denoted::ByName => None,
            Denoted::Server(server) | Denoted::Tool(server, _) | Denoted::Raw(server, _) => {
                Some(server.clone())
            }
        };
        self.dynamic.push((tree.span(from).start, server));
    }
}

/// What a member of something stands for; `None` when nothing is called through it.
fn step(denoted: &Denoted, name: &str) -> Option<Denoted> {
    match denoted {
        Denoted::Global => match name {
            "tools" => Some(Denoted::Tools),
            "callMCPTool" => Some(Denoted::ByName),
            _ => None,
        },
        Denoted::Tools | Denoted::Server(_) if OF_OBJECTS.contains(&name) => None,
        Denoted::Tools => Some(Denoted::Server(name.to_owned())),
        Denoted::Server(server) => Some(Denoted::Tool(server.clone(), name.to_owned())),
        Denoted::Tool(server, tool) => {
            (name == "raw").then(|| Denoted::Raw(server.clone(), tool.clone()))
        }
        Denoted::Raw(..) | Denoted::ByName => None,
    }
}

/// What an imported name stands for; `None` when that is nothing to call.
fn denoted_by(module: &Imported<'_>, binding: &Binding<'_>, local: &str) -> Option<Denoted> {
    let server = |name: &str| Denoted::Server(name.to_owned());
    let tool = |server: &str, tool: &str| Denoted::Tool(server.to_owned(), tool.to_owned());
    Some(match (module, binding) {
        (Imported::Globals, Binding::Default | Binding::Namespace) => match local {
            "tools" => Denoted::Tools,
            "callMCPTool" => Denoted::ByName,
            _ => Denoted::Global,
        },
        (Imported::Globals | Imported::Servers, Binding::Named(name)) => match *name {
            "tools" => Denoted::Tools,
            "callMCPTool" => Denoted::ByName,
            name if imports::is_global(module, name) => return None,
            name => server(name),
        },
        (Imported::Servers, Binding::Default | Binding::Namespace) => Denoted::Tools,
        (Imported::Server(name) | Imported::Tool(name, _), Binding::Named(member)) => {
            tool(name, member)
        }
        (Imported::Tool(name, member), Binding::Default) => tool(name, member),
        (Imported::Server(name), Binding::Default | Binding::Namespace)
        | (Imported::Tool(name, _), Binding::Namespace) => server(name),
    })
}

/// Whether a function only looks at its arguments.
fn looks_at(callee: &Expression<'_>) -> bool {
    let is_one_of = |expression: &Expression<'_>, names: &[&str]| match expression {
        Expression::Identifier(name) => names.contains(&name.name.as_str()),
        _ => false,
    };
    match callee.get_inner_expression() {
        Expression::StaticMemberExpression(member) => is_one_of(&member.object, &LOOKERS),
        callee => is_one_of(callee, &LOOKING_AT),
    }
}
