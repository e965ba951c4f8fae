//! Entry of a program: the statement, function or expression whose value is the result.

use oxc::allocator::{Allocator, TakeIn};
use oxc::ast::ast::{
    BindingPattern, Class, Declaration, Expression, Function, IdentifierReference, Program,
    ReturnStatement, Statement, UnaryOperator, VariableDeclaration,
};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{Visit, walk};
use oxc::span::GetSpan;
use oxc::syntax::scope::ScopeFlags;

/// Names a program may give to the function it is about.
const ENTRY_NAMES: [&str; 2] = ["main", "run"];
/// Functions that are called for their effect, as far as they are the platform's own.
const TIMER_FUNCTIONS: [&str; 7] = [
    "setTimeout",
    "setInterval",
    "setImmediate",
    "clearTimeout",
    "clearInterval",
    "clearImmediate",
    "queueMicrotask",
];

/// Kind of program, as far as its first characters show.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    Anything,
    Brace,
    NamelessFunction,
}

/// How a program comes to its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProgramEntry {
    /// Its statements return it, if anything does.
    Body,
    /// Its statements return a function, which is to be called.
    Function,
    /// It declares this function and never calls it.
    Uncalled(&'static str),
}

/// Looks past white space and comments.
pub(super) fn begins_like(text: &str) -> Beginning {
    let text = skip_trivia(text);
    if text.starts_with('{') {
        return Beginning::Brace;
    }
    let text = text.strip_prefix("async").map_or(text, str::trim_start);
    let Some(rest) = text.strip_prefix("function") else {
        return Beginning::Anything;
    };
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('*').map_or(rest, str::trim_start);
    if rest.starts_with('(') {
        Beginning::NamelessFunction
    } else {
        Beginning::Anything
    }
}

fn skip_trivia(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        text = if let Some(comment) = text.strip_prefix("//") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return text;
        };
    }
}

/// Decides how the program comes to its value, and makes its last expression return if that is it.
///
/// Works on the program as written: the transformer adds expressions of its own after enums and
/// namespaces.
pub(super) fn entry<'a>(program: &mut Program<'a>, allocator: &'a Allocator) -> ProgramEntry {
    if has_default_export(program) || has_top_level_return(program) {
        return ProgramEntry::Body;
    }
    match uncalled(program) {
        Some(name) => ProgramEntry::Uncalled(name),
        None => return_last_expression(program, &AstBuilder::new(allocator)),
    }
}

fn has_default_export(program: &Program<'_>) -> bool {
    program.body.iter().any(|statement| match statement {
        Statement::ExportDefaultDeclaration(_) => true,
        Statement::ExportNamedDeclaration(export) => export
            .specifiers
            .iter()
            .any(|specifier| specifier.exported.name() == "default"),
        _ => false,
    })
}

fn has_top_level_return(program: &Program<'_>) -> bool {
    let mut search = TopLevelReturn { found: false };
    search.visit_statements(&program.body);
    search.found
}

/// Looks through statements, not into functions and classes, and not into expressions, which
/// return only inside functions.
struct TopLevelReturn {
    found: bool,
}

impl<'a> Visit<'a> for TopLevelReturn {
    fn visit_return_statement(&mut self, _statement: &ReturnStatement<'a>) {
        self.found = true;
    }
    fn visit_function(&mut self, _function: &Function<'a>, _flags: ScopeFlags) {}
    fn visit_class(&mut self, _class: &Class<'a>) {}
    fn visit_expression(&mut self, _expression: &Expression<'a>) {}
}

/// The function the program is about, if it declares one by such a name and never mentions it.
fn uncalled(program: &Program<'_>) -> Option<&'static str> {
    let name = program.body.iter().find_map(declared_entry)?;
    let mut search = Mention { name, found: false };
    search.visit_statements(&program.body);
    (!search.found).then_some(name)
}

fn declared_entry(statement: &Statement<'_>) -> Option<&'static str> {
    match statement {
        Statement::FunctionDeclaration(function) => entry_name_of_function(function),
        Statement::VariableDeclaration(variables) => entry_name_of_variable(variables),
        Statement::ExportDeclaration(export) => match &export.declaration {
            Declaration::FunctionDeclaration(function) => entry_name_of_function(function),
            Declaration::VariableDeclaration(variables) => entry_name_of_variable(variables),
            _ => None,
        },
        _ => None,
    }
}

fn entry_name_of_function(function: &Function<'_>) -> Option<&'static str> {
    function.body.as_ref()?;
    entry_name(function.id.as_ref()?.name.as_str())
}

fn entry_name_of_variable(variables: &VariableDeclaration<'_>) -> Option<&'static str> {
    variables.declarations.iter().find_map(|declared| {
        let BindingPattern::BindingIdentifier(id) = &declared.id else {
            return None;
        };
        let value = declared.init.as_ref()?.get_inner_expression();
        value.is_function().then(|| entry_name(id.name.as_str()))?
    })
}

fn entry_name(name: &str) -> Option<&'static str> {
    ENTRY_NAMES.into_iter().find(|entry| *entry == name)
}

/// Looks for a use of the name; one in the function itself is recursion and does not count.
struct Mention {
    name: &'static str,
    found: bool,
}

impl<'a> Visit<'a> for Mention {
    fn visit_identifier_reference(&mut self, reference: &IdentifierReference<'a>) {
        self.found |= reference.name == self.name;
    }
    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        if entry_name_of_function(function) != Some(self.name) {
            walk::walk_function(self, function, flags);
        }
    }
}

fn return_last_expression<'a>(program: &mut Program<'a>, builder: &AstBuilder<'a>) -> ProgramEntry {
    let Some(last) = program
        .body
        .iter()
        .rposition(|statement| !is_hoisted(statement))
    else {
        return_directive(program, builder);
        return ProgramEntry::Body;
    };
    let Statement::ExpressionStatement(statement) = &mut program.body[last] else {
        return ProgramEntry::Body;
    };
    if !is_value(&statement.expression) {
        return ProgramEntry::Body;
    }
    let value = statement.expression.take_in(builder);
    let entry = if value.get_inner_expression().is_function() {
        ProgramEntry::Function
    } else {
        ProgramEntry::Body
    };
    let span = value.span();
    program.body[last] = Statement::new_return_statement(span, Some(value), builder);
    entry
}

/// A program that is one string reads as a directive.
fn return_directive<'a>(program: &mut Program<'a>, builder: &AstBuilder<'a>) {
    let Some(directive) = program.directives.last() else {
        return;
    };
    if directive.directive == "use strict" {
        return;
    }
    let text = &directive.expression;
    let value = Expression::new_string_literal(text.span, text.value, text.raw, builder);
    let statement = Statement::new_return_statement(text.span, Some(value), builder);
    program.body.push(statement);
}

/// Whether a statement takes effect before the first one, or has none.
fn is_hoisted(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::EmptyStatement(_)
        | Statement::FunctionDeclaration(_)
        | Statement::ImportDeclaration(_)
        | Statement::ExportNamedDeclaration(_)
        | Statement::TSTypeAliasDeclaration(_)
        | Statement::TSInterfaceDeclaration(_) => true,
        Statement::ExportDeclaration(export) => matches!(
            export.declaration,
            Declaration::FunctionDeclaration(_)
                | Declaration::TSTypeAliasDeclaration(_)
                | Declaration::TSInterfaceDeclaration(_)
        ),
        _ => false,
    }
}

/// Whether an expression is there for its value. Those that are there for their effect have
/// values too, which the program does not mean as its result.
fn is_value(expression: &Expression<'_>) -> bool {
    match expression.get_inner_expression() {
        Expression::AssignmentExpression(_) | Expression::UpdateExpression(_) => false,
        Expression::UnaryExpression(unary) => {
            !matches!(unary.operator, UnaryOperator::Delete | UnaryOperator::Void)
        }
        Expression::AwaitExpression(awaited) => is_value(&awaited.argument),
        Expression::SequenceExpression(sequence) => {
            sequence.expressions.last().is_some_and(is_value)
        }
        Expression::CallExpression(call) => {
            let callee = call.callee.get_inner_expression();
            // The value of a timer is its number.
            let sets_timer = TIMER_FUNCTIONS
                .iter()
                .any(|name| callee.is_specific_id(name));
            let prints = callee
                .as_member_expression()
                .is_some_and(|member| member.object().is_specific_id("console"));
            !sets_timer && !prints
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_seen_through_white_space_and_comments() {
        for (text, expected) in [
            ("return 1", Beginning::Anything),
            ("  // a\n/* b */ { a: 1 }", Beginning::Brace),
            ("async function (a) {}", Beginning::NamelessFunction),
            ("function* (a) {}", Beginning::NamelessFunction),
            ("function main() {}", Beginning::Anything),
            ("functions()", Beginning::Anything),
            ("// only", Beginning::Anything),
            ("/* open", Beginning::Anything),
        ] {
            assert_eq!(begins_like(text), expected, "{text}");
        }
    }
}
