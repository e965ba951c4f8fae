//! The calls of tools that stand in a program, as facts for the gateway to judge before it runs.
//!
//! Only names that are constants count, and only where `tools` or `callMCPTool` is the global and not
//! something that the program declares: `tools.a.b(…)`, `tools["a"]["b"](…)`, `.raw(…)`,
//! `callMCPTool("a", "b", …)` and `callMCPTool("mcp__a__b", …)`. Nothing is decided here.
//!
//! A call lacks its `await` for sure where its result is taken apart on the spot: a property is read
//! from it, it is destructured, spread or iterated. A promise has nothing of what is looked for there.
//!
//! Start reading at [`collect`].

mod arguments;

use std::collections::HashSet;

use limbeck_wire::domain::{Site, Sites};
use limbeck_wire::limits::SITES_MAX;
use oxc::ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, BindingPattern, CallExpression,
    ComputedMemberExpression, Expression, ForOfStatement, IdentifierReference, Program,
    SpreadElement, StaticMemberExpression, VariableDeclarator,
};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::Scoping;

use self::arguments::Arguments;
use super::positions::{Origin, position_of_byte};

/// Names that every object answers to: they are no tools, and no servers.
const OF_OBJECTS: [&str; 5] = ["then", "toJSON", "toString", "valueOf", "constructor"];
/// What a promise has.
const OF_PROMISES: [&str; 3] = ["then", "catch", "finally"];

/// The calls of `program`, which was parsed from `text`, in the order of the text. `scoping` must be
/// that of the program as it was parsed.
pub(super) fn collect(
    program: &Program<'_>,
    scoping: &Scoping,
    text: &str,
    origin: Origin,
) -> Sites {
    let mut collector = Collector {
        scoping,
        text,
        origin,
        sites: Vec::new(),
        taken_apart: HashSet::new(),
    };
    collector.visit_program(program);
    let mut sites = collector.sites;
    sites.sort_by_key(|site| (site.line, site.column));
    Sites { sites }
}

struct Collector<'t> {
    scoping: &'t Scoping,
    text: &'t str,
    origin: Origin,
    sites: Vec<Site>,
    /// Ends of the calls whose results are used as if they were there. Two calls may begin at one place,
    /// as in `f()()`, and none end at one.
    taken_apart: HashSet<u32>,
}

/// What a call calls.
struct Target {
    server: Option<String>,
    tool: String,
    arguments: Arguments,
}

impl<'a> Visit<'a> for Collector<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if self.sites.len() < SITES_MAX {
            let site = self.site(call);
            self.sites.extend(site);
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if !OF_PROMISES.contains(&member.property.name.as_str()) {
            self.take_apart(&member.object);
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        let is_plain = match member.expression.get_inner_expression() {
            Expression::StringLiteral(name) => !OF_PROMISES.contains(&name.value.as_str()),
            Expression::NumericLiteral(_) => true,
            _ => false,
        };
        if is_plain {
            self.take_apart(&member.object);
        }
        walk::walk_computed_member_expression(self, member);
    }

    fn visit_spread_element(&mut self, spread: &SpreadElement<'a>) {
        self.take_apart(&spread.argument);
        walk::walk_spread_element(self, spread);
    }

    fn visit_for_of_statement(&mut self, of: &ForOfStatement<'a>) {
        self.take_apart(&of.right);
        walk::walk_for_of_statement(self, of);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let (BindingPattern::ObjectPattern(_) | BindingPattern::ArrayPattern(_), Some(value)) =
            (&declarator.id, &declarator.init)
        {
            self.take_apart(value);
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        if let AssignmentTarget::ObjectAssignmentTarget(_)
        | AssignmentTarget::ArrayAssignmentTarget(_) = &assignment.left
        {
            self.take_apart(&assignment.right);
        }
        walk::walk_assignment_expression(self, assignment);
    }
}

impl Collector<'_> {
    /// Notes that the value of `expression` is used as if it were there. Visited before what is inside.
    fn take_apart(&mut self, expression: &Expression<'_>) {
        if let Expression::CallExpression(call) = expression.get_inner_expression() {
            self.taken_apart.insert(call.span.end);
        }
    }

    fn site(&self, call: &CallExpression<'_>) -> Option<Site> {
        let target = self.tool_of(call).or_else(|| self.named_tool(call))?;
        let (line, column) = position_of_byte(self.text, call.span.start as usize, self.origin);
        let Arguments {
            named,
            complete,
            positional,
        } = target.arguments;
        Some(Site {
            line,
            column,
            server: target.server,
            tool: target.tool,
            arguments: named,
            complete,
            positional,
            awaited: !self.taken_apart.contains(&call.span.end),
        })
    }

    /// `tools.server.tool(…)` and `tools.server.tool.raw(…)`.
    fn tool_of(&self, call: &CallExpression<'_>) -> Option<Target> {
        let path = self.path(&call.callee)?;
        let [root, server, tool, form @ ..] = path.as_slice() else {
            return None;
        };
        let is_call = matches!(form, []) || matches!(form, ["raw"]);
        let is_tool = !OF_OBJECTS.contains(server) && !OF_OBJECTS.contains(tool);
        (*root == "tools" && is_call && is_tool).then(|| Target {
            server: Some((*server).to_owned()),
            tool: (*tool).to_owned(),
            arguments: Arguments::of(&call.arguments),
        })
    }

    /// `callMCPTool("server", "tool", …)` and `callMCPTool("mcp__server__tool", …)`.
    fn named_tool(&self, call: &CallExpression<'_>) -> Option<Target> {
        if self.path(&call.callee)?.as_slice() != ["callMCPTool"] {
            return None;
        }
        let text = |at: usize| match call.arguments.get(at)?.as_expression()? {
            Expression::StringLiteral(text) if !text.lone_surrogates => Some(text.value.as_str()),
            _ => None,
        };
        let first = text(0)?;
        if let Some(second) = text(1) {
            return Some(Target {
                server: Some(first.to_owned()),
                tool: second.to_owned(),
                arguments: Arguments::of_optional(call.arguments.get(2)),
            });
        }
        // What is neither a text nor surely an object may be the name of a tool.
        let is_full_name = match call.arguments.get(1).map(Argument::as_expression) {
            None => true,
            Some(Some(Expression::ObjectExpression(_))) => true,
            Some(_) => first.starts_with("mcp__"),
        };
        is_full_name.then(|| Target {
            server: None,
            tool: first.to_owned(),
            arguments: Arguments::of_optional(call.arguments.get(1)),
        })
    }

    /// `["tools", "a", "b"]` for `tools.a["b"]`, when it begins with a global.
    fn path<'e>(&self, expression: &'e Expression<'_>) -> Option<Vec<&'e str>> {
        let mut names = Vec::new();
        let mut at = expression.get_inner_expression();
        loop {
            let (name, object) = match at {
                Expression::Identifier(identifier) => {
                    names.push(identifier.name.as_str());
                    names.reverse();
                    return self.is_global(identifier).then(|| without_this(names));
                }
                Expression::StaticMemberExpression(member) => {
                    (member.property.name.as_str(), &member.object)
                }
                Expression::ComputedMemberExpression(member) => {
                    let Expression::StringLiteral(name) = member.expression.get_inner_expression()
                    else {
                        return None;
                    };
                    (name.value.as_str(), &member.object)
                }
                _ => return None,
            };
            // `globalThis.tools.server.tool.raw` is the longest there is.
            if names.len() == 4 {
                return None;
            }
            names.push(name);
            at = object.get_inner_expression();
        }
    }

    fn is_global(&self, identifier: &IdentifierReference<'_>) -> bool {
        let reference = identifier.reference_id.get();
        reference.is_some_and(|id| self.scoping.get_reference(id).symbol_id().is_none())
    }
}

fn without_this(mut names: Vec<&str>) -> Vec<&str> {
    if names.len() > 1 && names[0] == "globalThis" {
        names.remove(0);
    }
    names
}

#[cfg(test)]
mod tests {
    use oxc::allocator::Allocator;
    use oxc::parser::{ParseOptions, Parser};
    use oxc::semantic::SemanticBuilder;
    use oxc::span::SourceType;
    use serde_json::{Value, json};

    use super::*;

    fn sites(text: &str) -> Vec<Site> {
        let allocator = Allocator::default();
        let options = ParseOptions {
            allow_return_outside_function: true,
            preserve_parens: false,
            ..ParseOptions::default()
        };
        let parsed = Parser::new(&allocator, text, SourceType::ts())
            .with_options(options)
            .parse();
        assert!(parsed.diagnostics.errors().next().is_none(), "{text}");
        let scoping = SemanticBuilder::new_compiler()
            .build(&parsed.program)
            .semantic
            .into_scoping();
        collect(&parsed.program, &scoping, text, Origin::default()).sites
    }

    fn only(text: &str) -> Site {
        let sites = sites(text);
        assert_eq!(sites.len(), 1, "{text}: {sites:?}");
        sites.into_iter().next().unwrap()
    }

    fn named(text: &str) -> (Option<String>, String) {
        let site = only(text);
        (site.server, site.tool)
    }

    /// The arguments as JSON, `"?"` for a value that is not known, and whether they are all.
    fn arguments(text: &str) -> (Value, bool, u32) {
        let site = only(&format!("await tools.s.t({text});"));
        let named = site.arguments.into_iter();
        let named = named.map(|one| (one.name, one.value.unwrap_or_else(|| json!("?"))));
        (
            Value::Object(named.collect()),
            site.complete,
            site.positional,
        )
    }

    #[test]
    fn every_way_to_write_a_call_gives_its_names() {
        for (text, server, tool) in [
            ("await tools.a.b()", Some("a"), "b"),
            ("tools['a-b'][\"c d\"]({})", Some("a-b"), "c d"),
            ("(tools as any).a!.b.raw({})", Some("a"), "b"),
            ("globalThis.tools.a.b()", Some("a"), "b"),
            ("callMCPTool('a', 'b', {})", Some("a"), "b"),
            ("callMCPTool('mcp__a__b')", None, "mcp__a__b"),
            ("callMCPTool('mcp__a__b', args)", None, "mcp__a__b"),
            ("callMCPTool('a.b', { c: 1 })", None, "a.b"),
            (
                "async function f() { return () => tools.a.b(); }",
                Some("a"),
                "b",
            ),
        ] {
            assert_eq!(
                named(text),
                (server.map(str::to_owned), tool.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_may_be_another_thing_is_no_site() {
        for text in [
            "const tools = f(); tools.a.b()",
            "function f(tools) { return tools.a.b() }",
            "tools[a].b(); tools.a[b]()",
            "tools.a(); tools.a.b.c(); tools.a.b.call(null)",
            "tools.a.toString(); tools.toJSON.b()",
            "other.tools.a.b()",
            "callMCPTool(name, {}); callMCPTool('a', tool); callMCPTool(`a`, 'b')",
            "new tools.a.b()",
            "import { tools } from 'limbeck'; tools.a.b()",
        ] {
            assert_eq!(sites(text), [], "{text}");
        }
    }

    #[test]
    fn arguments_are_what_json_makes_of_them() {
        for (text, expected) in [
            ("", json!({})),
            ("undefined", json!({})),
            (
                "{ a: 1, b: 'x', c: null, d: true }",
                json!({"a": 1, "b": "x", "c": null, "d": true}),
            ),
            (
                "{ a: -1.5, b: 1e3, c: -0, d: 9007199254740993 }",
                json!({"a": -1.5, "b": 1000, "c": 0, "d": 9007199254740992_u64}),
            ),
            (
                "{ a: 1e999, b: 10n, c: NaN }",
                json!({"a": "?", "b": "?", "c": "?"}),
            ),
            ("{ a: `x`, b: `x${y}` }", json!({"a": "x", "b": "?"})),
            (
                "{ a: [1, , undefined, { b: undefined, c: 2 }] }",
                json!({"a": [1, null, null, {"c": 2}]}),
            ),
            ("{ a: ['x', y], b: { c: y } }", json!({"a": "?", "b": "?"})),
            (
                "{ a, 'b c': 1 as number, 3: 'x' satisfies string }",
                json!({"a": "?", "b c": 1, "3": "x"}),
            ),
            ("{ a: 1, a: undefined, b: () => 1, c() {} }", json!({})),
            (
                "{ a: 1, ...{ a: 2, b: 3 } } as const",
                json!({"a": 2, "b": 3}),
            ),
            ("{ ['a']: 1, __proto__: {} }", json!({"a": 1})),
        ] {
            assert_eq!(arguments(text), (expected, true, 0), "{text}");
        }
    }

    #[test]
    fn what_a_spread_may_replace_is_not_known() {
        for (text, expected) in [
            ("args", json!({})),
            ("...args", json!({})),
            ("{ a: 1, ...rest, b: 2 }", json!({"a": "?", "b": 2})),
            ("{ a: 1, [key]: 2, b: 2 }", json!({"a": "?", "b": 2})),
            ("{ a: 1, get b() { return 1 } }", json!({"a": 1, "b": "?"})),
            ("{ a: 1, toJSON() { return {} } }", json!({})),
        ] {
            let (found, complete, positional) = arguments(text);
            assert_eq!((found, positional), (expected, 0), "{text}");
            assert_eq!(complete, text.contains("get"), "{text}");
        }
    }

    #[test]
    fn what_is_no_single_object_is_counted() {
        for (text, positional) in [
            ("'a'", 1),
            ("1", 1),
            ("['a']", 1),
            ("null", 1),
            ("() => 1", 1),
            ("{}, {}", 1),
            ("args, 2, 3", 2),
        ] {
            assert_eq!(arguments(text).2, positional, "{text}");
        }
        assert_eq!(only("callMCPTool('a', 'b', null, 5)").positional, 0);
    }

    #[test]
    fn a_result_that_is_taken_apart_without_await_is_a_mistake() {
        for text in [
            "tools.a.b().items",
            "tools.a.b()['items'].length",
            "tools.a.b()[0]",
            "(tools.a.b() as any)?.items",
            "const { items } = tools.a.b()",
            "const [first] = callMCPTool('a', 'b')",
            "let x; ({ x } = tools.a.b())",
            "f(...tools.a.b())",
            "const o = { ...tools.a.b() }",
            "for (const x of tools.a.b()) f(x)",
        ] {
            assert!(!only(text).awaited, "{text}");
        }
        for text in [
            "(await tools.a.b()).items",
            "tools.a.b().then(f)",
            "tools.a.b()['catch'](f)",
            "tools.a.b()[key]",
            "const { items } = await tools.a.b()",
            "const all = [tools.a.b()]",
            "const p = tools.a.b(); (await p).items",
            "for (const x of await tools.a.b()) f(x)",
            "return tools.a.b()",
        ] {
            assert!(only(text).awaited, "{text}");
        }
    }

    #[test]
    fn places_are_those_of_the_text_and_the_order_too() {
        let found = sites("const é = 1; await tools.a.b({ x: tools.c.d() });\n  tools.e.f();");
        let places: Vec<_> = found
            .iter()
            .map(|site| (site.line, site.column, &*site.tool))
            .collect();
        assert_eq!(places, [(1, 20, "b"), (1, 35, "d"), (2, 3, "f")]);
    }

    #[test]
    fn a_program_of_nothing_but_calls_gives_no_more_than_are_judged() {
        assert_eq!(
            sites(&"tools.a.b();".repeat(SITES_MAX + 1)).len(),
            SITES_MAX
        );
    }
}
