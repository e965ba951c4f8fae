//! Parts of a result that the program reads, followed from the call over `await` and names with one value to
//! members and patterns.

use std::collections::HashSet;

use limbeck_domain::site::ANY_ITEM;
use oxc::ast::AstKind;
use oxc::ast::ast::{
    Argument, AssignmentTarget, BindingPattern, Expression, ForStatementLeft,
    SimpleAssignmentTarget,
};
use oxc::semantic::NodeId;
use oxc::span::GetSpan;
use oxc::syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

use super::guards::method;
use crate::bounds::{PATH_NAMES_MAX, READS_MAX, READS_PER_RESULT_MAX};
use crate::result_read::ResultRead;
use crate::typescript::tree::ProgramTree;

/// Methods of a promise.
const OF_PROMISES: [&str; 3] = ["then", "catch", "finally"];
/// Methods that call a function with the items of a list.
const OVER_ITEMS: [&str; 8] = [
    "map",
    "forEach",
    "filter",
    "flatMap",
    "find",
    "some",
    "every",
    "findIndex",
];
/// Methods whose result has the items of their list.
const KEEPING_ITEMS: [&str; 5] = ["filter", "slice", "toSorted", "sort", "reverse"];
/// Nodes that are visited for all reads.
const STEPS_MAX: usize = 20_000;

/// Follows results, within bounds for all of them.
pub(super) struct ReadFinder<'t, 's, 'a> {
    tree: &'t ProgramTree<'s, 'a>,
    found: Vec<ResultRead>,
    all: usize,
    steps_left: usize,
    followed: HashSet<NodeId>,
    /// Whether any object of the program is given members, or loses them: a result may be one.
    changes_members: bool,
}

impl<'t, 's, 'a> ReadFinder<'t, 's, 'a> {
    pub(super) fn new(tree: &'t ProgramTree<'s, 'a>) -> Self {
        Self {
            tree,
            found: Vec::new(),
            all: 0,
            steps_left: STEPS_MAX,
            followed: HashSet::new(),
            changes_members: tree
                .nodes
                .iter()
                .any(|node| changes_members(tree, &node.kind())),
        }
    }

    /// The reads of what the call at `call` gives.
    pub(super) fn of(&mut self, call: NodeId) -> Vec<ResultRead> {
        self.followed.clear();
        match self.tree.outer(call) {
            Some((awaited, AstKind::AwaitExpression(_), _)) => self.follow(awaited, Vec::new()),
            Some((list, AstKind::ArrayExpression(_), _)) => {
                if let Some(name) = self.gathered(list, call) {
                    self.bind(name, &[]);
                }
            }
            _ => {}
        }
        let mut found = std::mem::take(&mut self.found);
        found.sort_by(|one, other| (one.at, &one.path).cmp(&(other.at, &other.path)));
        found.dedup();
        found
    }

    /// The name that gets the result of `call` in `const [a, b] = await Promise.all([…])`, where `list` is
    /// the array in the brackets.
    fn gathered(&self, list: NodeId, call: NodeId) -> Option<&'a BindingPattern<'a>> {
        let AstKind::ArrayExpression(array) = self.tree.nodes.kind(list) else {
            return None;
        };
        let before = array
            .elements
            .iter()
            .take_while(|element| !self.tree.is_inside(call, element.span()));
        let before: Vec<_> = before.collect();
        if before.iter().any(|element| element.is_spread()) {
            return None;
        }
        let (all, AstKind::CallExpression(gather), _) = self.tree.outer(list)? else {
            return None;
        };
        let (awaited, AstKind::AwaitExpression(_), _) = self.tree.outer(all)? else {
            return None;
        };
        let (_, AstKind::VariableDeclarator(declarator), _) = self.tree.outer(awaited)? else {
            return None;
        };
        let BindingPattern::ArrayPattern(pattern) = &declarator.id else {
            return None;
        };
        if !is_all_of_promises(&gather.callee) {
            return None;
        }
        pattern.elements.get(before.len())?.as_ref()
    }

    fn follow(&mut self, mut at: NodeId, mut path: Vec<String>) {
        loop {
            if self.steps_left == 0 || path.len() >= PATH_NAMES_MAX || !self.followed.insert(at) {
                return;
            }
            self.steps_left -= 1;
            let Some((outer, kind, below)) = self.tree.outer(at) else {
                return;
            };
            match kind {
                AstKind::AwaitExpression(_) => {}
                AstKind::StaticMemberExpression(member) => {
                    let name = member.property.name.as_str();
                    if let Some((called, AstKind::CallExpression(call), callee)) =
                        self.tree.outer(outer)
                        && self.tree.is_inside(callee, call.callee.span())
                    {
                        self.over_items(call.arguments.first(), name, &path);
                        if !KEEPING_ITEMS.contains(&name) {
                            return;
                        }
                        at = called;
                        continue;
                    }
                    path.push(name.to_owned());
                    self.read(member.property.span.start, &path, outer, member.optional);
                }
                AstKind::ComputedMemberExpression(member)
                    if self.tree.is_inside(below, member.object.span()) =>
                {
                    match (self.tree.text(&member.expression), &member.expression) {
                        (Some(name), _) => {
                            path.push(name.to_owned());
                            let at = member.expression.span().start;
                            self.read(at, &path, outer, member.optional);
                        }
                        (None, Expression::NumericLiteral(_)) => path.push(ANY_ITEM.to_owned()),
                        (None, _) => return,
                    }
                }
                AstKind::VariableDeclarator(declarator)
                    if !self.tree.is_inside(below, declarator.id.span()) =>
                {
                    return self.bind(&declarator.id, &path);
                }
                AstKind::ForOfStatement(statement)
                    if self.tree.is_inside(below, statement.right.span()) =>
                {
                    path.push(ANY_ITEM.to_owned());
                    if let ForStatementLeft::VariableDeclaration(left) = &statement.left
                        && let [declarator] = left.declarations.as_slice()
                    {
                        self.bind(&declarator.id, &path);
                    }
                    return;
                }
                _ => return,
            }
            at = outer;
        }
    }

    /// Follows the first parameter of a function that is called with the items.
    fn over_items(&mut self, function: Option<&Argument<'a>>, name: &str, path: &[String]) {
        if !OVER_ITEMS.contains(&name) {
            return;
        }
        let parameters = match function.and_then(|function| function.as_expression()) {
            Some(Expression::ArrowFunctionExpression(function)) => &function.params,
            Some(Expression::FunctionExpression(function)) => &function.params,
            _ => return,
        };
        if let Some(first) = parameters.items.first()
            && first.initializer.is_none()
        {
            let mut path = path.to_vec();
            path.push(ANY_ITEM.to_owned());
            self.bind(&first.pattern, &path);
        }
    }

    /// Follows the names of a pattern.
    fn bind(&mut self, pattern: &BindingPattern<'a>, path: &[String]) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                let symbol = name.symbol_id();
                if self.tree.scoping.symbol_is_mutated(symbol) {
                    return;
                }
                let uses: Vec<NodeId> = self.tree.uses(symbol).collect();
                for node in uses {
                    self.follow(node, path.to_vec());
                }
            }
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    let Some(name) = property.key.static_name() else {
                        continue;
                    };
                    let mut path = path.to_vec();
                    path.push(name.into_owned());
                    let has_default =
                        matches!(property.value, BindingPattern::AssignmentPattern(_));
                    self.note(property.key.span().start, &path, has_default);
                    if !has_default {
                        self.bind(&property.value, &path);
                    }
                }
            }
            BindingPattern::ArrayPattern(array) => {
                let mut path = path.to_vec();
                path.push(ANY_ITEM.to_owned());
                for item in array.elements.iter().flatten() {
                    self.bind(item, &path);
                }
            }
            BindingPattern::AssignmentPattern(_) => {}
        }
    }

    fn read(&mut self, at: u32, path: &[String], member: NodeId, optional: bool) {
        let optional = optional || self.provides_for_absence(member);
        self.note(at, path, optional);
    }

    fn note(&mut self, at: u32, path: &[String], optional: bool) {
        if self.found.len() < READS_PER_RESULT_MAX
            && self.all < READS_MAX
            && path.len() <= PATH_NAMES_MAX
        {
            self.all += 1;
            self.found.push(ResultRead {
                at,
                path: path.to_vec(),
                optional: optional || self.changes_members,
            });
        }
    }

    /// Whether the program asks if the member is there, or has something in its place.
    fn provides_for_absence(&self, member: NodeId) -> bool {
        let Some((_, kind, below)) = self.tree.outer(member) else {
            return true;
        };
        let is_in = |part: &Expression<'_>| self.tree.is_inside(below, part.span());
        match kind {
            AstKind::LogicalExpression(logical) => {
                is_in(&logical.left) || logical.operator == LogicalOperator::Coalesce
            }
            AstKind::ConditionalExpression(conditional) => is_in(&conditional.test),
            AstKind::IfStatement(statement) => is_in(&statement.test),
            AstKind::WhileStatement(statement) => is_in(&statement.test),
            AstKind::DoWhileStatement(statement) => is_in(&statement.test),
            AstKind::UnaryExpression(unary) => matches!(
                unary.operator,
                UnaryOperator::Typeof | UnaryOperator::LogicalNot | UnaryOperator::Delete
            ),
            AstKind::BinaryExpression(binary) => matches!(
                binary.operator,
                BinaryOperator::Equality
                    | BinaryOperator::Inequality
                    | BinaryOperator::StrictEquality
                    | BinaryOperator::StrictInequality
            ),
            AstKind::StaticMemberExpression(member) => member.optional,
            AstKind::ComputedMemberExpression(member) => member.optional,
            // It is made here.
            AstKind::AssignmentExpression(assignment) => {
                self.tree.is_inside(below, assignment.left.span())
            }
            _ => false,
        }
    }
}

/// `Promise.all`: what it waits for comes in the same order.
fn is_all_of_promises(callee: &Expression<'_>) -> bool {
    match callee.get_inner_expression() {
        Expression::StaticMemberExpression(member) => {
            member.property.name == "all"
                && matches!(&member.object, Expression::Identifier(object) if object.name == "Promise")
        }
        _ => false,
    }
}

/// Whether something that may be a result is given a member, or loses one.
fn changes_members<'a>(tree: &ProgramTree<'_, 'a>, kind: &AstKind<'a>) -> bool {
    match kind {
        AstKind::AssignmentExpression(assignment) => match &assignment.left {
            AssignmentTarget::AssignmentTargetIdentifier(_) => false,
            left => !left
                .as_simple_assignment_target()
                .is_some_and(|left| is_of_own_object(tree, left)),
        },
        AstKind::UpdateExpression(update) => match &update.argument {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(_) => false,
            argument => !is_of_own_object(tree, argument),
        },
        AstKind::UnaryExpression(unary) => unary.operator == UnaryOperator::Delete,
        AstKind::CallExpression(call) => matches!(
            method(&call.callee),
            Some("assign" | "defineProperty" | "defineProperties" | "setPrototypeOf")
        ),
        _ => false,
    }
}

/// Whether a member is one of an object or a list that the program itself wrote down under this name, which
/// therefore is not a result.
fn is_of_own_object<'a>(tree: &ProgramTree<'_, 'a>, target: &SimpleAssignmentTarget<'a>) -> bool {
    let object = match target {
        SimpleAssignmentTarget::StaticMemberExpression(member) => &member.object,
        SimpleAssignmentTarget::ComputedMemberExpression(member) => &member.object,
        _ => return false,
    };
    let Expression::Identifier(name) = object.get_inner_expression() else {
        return false;
    };
    let value = tree.symbol(name).and_then(|symbol| tree.value_of(symbol));
    matches!(
        value,
        Some(Expression::ObjectExpression(_) | Expression::ArrayExpression(_))
    )
}

/// Whether the result of a call is used on the spot, or under a name that keeps it, as if it were there,
/// although nothing awaits it.
pub(super) fn is_taken_apart(tree: &ProgramTree<'_, '_>, call: NodeId) -> bool {
    if is_used_as_value(tree, call) {
        return true;
    }
    let Some((_, AstKind::VariableDeclarator(declarator), _)) = tree.outer(call) else {
        return false;
    };
    let Some(name) = declarator.id.get_binding_identifier() else {
        return false;
    };
    let symbol = name.symbol_id();
    !tree.scoping.symbol_is_mutated(symbol)
        && tree.uses(symbol).any(|node| is_used_as_value(tree, node))
}

/// Whether something that a promise does not have is looked for in the value at `at`.
fn is_used_as_value(tree: &ProgramTree<'_, '_>, at: NodeId) -> bool {
    let Some((outer, kind, below)) = tree.outer(at) else {
        return false;
    };
    let is_in = |part: oxc::span::Span| tree.is_inside(below, part);
    match kind {
        AstKind::StaticMemberExpression(member) => {
            let assigned = matches!(
                tree.outer(outer),
                Some((_, AstKind::AssignmentExpression(_), _))
            );
            !OF_PROMISES.contains(&member.property.name.as_str()) && !assigned
        }
        AstKind::ComputedMemberExpression(member) if is_in(member.object.span()) => {
            match member.expression.get_inner_expression() {
                Expression::StringLiteral(name) => !OF_PROMISES.contains(&name.value.as_str()),
                Expression::NumericLiteral(_) => true,
                _ => false,
            }
        }
        AstKind::SpreadElement(_) => true,
        AstKind::ForOfStatement(statement) => !statement.r#await && is_in(statement.right.span()),
        AstKind::TemplateLiteral(_) => !matches!(
            tree.outer(outer),
            Some((_, AstKind::TaggedTemplateExpression(_), _))
        ),
        AstKind::BinaryExpression(binary) => binary.operator.is_arithmetic(),
        AstKind::VariableDeclarator(declarator) => matches!(
            declarator.id,
            BindingPattern::ObjectPattern(_) | BindingPattern::ArrayPattern(_)
        ),
        AstKind::AssignmentExpression(assignment) => {
            is_in(assignment.right.span())
                && matches!(
                    assignment.left,
                    AssignmentTarget::ObjectAssignmentTarget(_)
                        | AssignmentTarget::ArrayAssignmentTarget(_)
                )
        }
        AstKind::CallExpression(call) => {
            // It makes `{}` of every promise.
            !is_in(call.callee.span())
                && method(&call.callee) == Some("stringify")
                && matches!(call.callee.get_inner_expression(),
                    Expression::StaticMemberExpression(member)
                        if matches!(&member.object, Expression::Identifier(object) if object.name == "JSON"))
        }
        _ => false,
    }
}
