//! Ways to reach `Function`, the constructor of every function, which runs text; and `skills`, whose text is elsewhere.
//!
//! A computed member of data is ordinary (`counts[key]`) and is no such way. It is one where it is called or constructed,
//! where its object is surely a function, and where its name is put together to `constructor`. A program can hide the name
//! further; what it calls then is held to its plan when it runs, by policy.

use oxc::ast::AstKind;
use oxc::ast::ast::Expression;
use oxc::syntax::operator::BinaryOperator;

use super::tree::ProgramTree;

const CONSTRUCTOR: &str = "constructor";
/// Functions and programs that were kept, and what the name has that runs none of them.
const SKILLS: &str = "skills";
const OF_SKILLS: [&str; 3] = ["save", "list", "remove"];
/// Members of `Object` and `Reflect` that give a member, or all members, of an object.
const DESCRIBING: [&str; 4] = [
    "getOwnPropertyDescriptor",
    "getOwnPropertyDescriptors",
    "get",
    "construct",
];

/// Whether a node may reach it.
pub(super) fn reaches(tree: &ProgramTree<'_, '_>, kind: &AstKind<'_>) -> bool {
    match kind {
        AstKind::StaticMemberExpression(member) => {
            let name = member.property.name.as_str();
            let object = member.object.get_inner_expression();
            name == CONSTRUCTOR
                || is_global(tree, object, SKILLS) && !OF_SKILLS.contains(&name)
                || DESCRIBING.contains(&name)
                    && (is_global(tree, object, "Reflect") || is_global(tree, object, "Object"))
        }
        AstKind::ComputedMemberExpression(member) => {
            let name = known_text(tree, &member.expression);
            (match name {
                Some(name) => name == CONSTRUCTOR,
                None => is_function(tree, &member.object) && !is_index(&member.expression),
            })
            // Whichever skill it is.
            || is_global(tree, member.object.get_inner_expression(), SKILLS)
        }
        AstKind::CallExpression(call) => is_looked_up(tree, &call.callee),
        AstKind::NewExpression(new) => is_looked_up(tree, &new.callee),
        AstKind::TaggedTemplateExpression(tagged) => is_looked_up(tree, &tagged.tag),
        AstKind::ObjectPattern(pattern) => pattern.properties.iter().any(|property| {
            let key = property.key.as_expression();
            property.key.is_specific_static_name(CONSTRUCTOR)
                || key.is_some_and(|key| {
                    known_text(tree, key).is_some_and(|name| name == CONSTRUCTOR)
                })
        }),
        _ => false,
    }
}

/// Whether a called expression is a member under a name that only the running program knows.
fn is_looked_up(tree: &ProgramTree<'_, '_>, callee: &Expression<'_>) -> bool {
    match callee.get_inner_expression() {
        Expression::ComputedMemberExpression(member) => {
            known_text(tree, &member.expression).is_none() && !is_index(&member.expression)
        }
        _ => false,
    }
}

/// A number, which is no name of a member that every object has.
fn is_index(expression: &Expression<'_>) -> bool {
    matches!(
        expression.get_inner_expression(),
        Expression::NumericLiteral(_) | Expression::UpdateExpression(_)
    )
}

/// Whether an expression is surely a function, or a name of one.
fn is_function(tree: &ProgramTree<'_, '_>, expression: &Expression<'_>) -> bool {
    match expression.get_inner_expression() {
        Expression::ArrowFunctionExpression(_)
        | Expression::FunctionExpression(_)
        | Expression::ClassExpression(_) => true,
        Expression::Identifier(name) => match tree.symbol(name) {
            Some(symbol) => {
                let declared = tree.nodes.kind(tree.scoping.symbol_declaration(symbol));
                let is_declared = matches!(declared, AstKind::Function(_) | AstKind::Class(_));
                let value = tree.value_of(symbol);
                is_declared
                    || value.is_some_and(|value| {
                        matches!(
                            value,
                            Expression::ArrowFunctionExpression(_)
                                | Expression::FunctionExpression(_)
                                | Expression::ClassExpression(_)
                        )
                    })
            }
            // Constructors of the language are functions; other names that begin so are objects of it.
            None => {
                name.name.starts_with(char::is_uppercase)
                    && name.name != "Math"
                    && name.name != "JSON"
            }
        },
        _ => false,
    }
}

fn is_global(tree: &ProgramTree<'_, '_>, expression: &Expression<'_>, global: &str) -> bool {
    match expression {
        Expression::Identifier(name) => name.name == global && tree.symbol(name).is_none(),
        _ => false,
    }
}

/// A text that is known before the program runs, put together or not.
fn known_text(tree: &ProgramTree<'_, '_>, expression: &Expression<'_>) -> Option<String> {
    const BYTES_MAX: usize = 200;
    if let Some(text) = tree.text(expression) {
        return Some(text.to_owned());
    }
    // From the last part to the first, as they are nested, and without a function that calls itself.
    let mut parts = Vec::new();
    let mut rest = expression.get_inner_expression();
    loop {
        match rest {
            Expression::BinaryExpression(sum) if sum.operator == BinaryOperator::Addition => {
                parts.push(tree.text(&sum.right)?);
                rest = sum.left.get_inner_expression();
            }
            first => {
                parts.push(tree.text(first)?);
                break;
            }
        }
        if parts.len() > BYTES_MAX {
            return None;
        }
    }
    parts.reverse();
    Some(parts.concat())
}
