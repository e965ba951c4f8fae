//! Parts of a result that the program reads, followed from the call over `await`, names with one value and functions to
//! members and patterns.

mod asked;
mod assigned;
mod certain;
mod changes;
mod compared;
mod containers;
mod decides;
mod functions;
mod kept;
mod placed;
mod reach;
mod whole;

use std::collections::{HashMap, HashSet};

use limbeck_domain::Decides;
use oxc::ast::AstKind;
use oxc::ast::ast::{AssignmentTarget, BindingPattern, Expression, ForStatementLeft};
use oxc::semantic::NodeId;
use oxc::span::GetSpan;
use oxc::syntax::operator::{AssignmentOperator, BinaryOperator, LogicalOperator};

pub(in crate::typescript) use self::whole::is_member_of_texts;

use self::certain::{EnteredFunctions, Exits};
use self::changes::changes_members;
use self::reach::Conditions;
use super::guards::method;
use crate::bounds::{PATH_NAMES_MAX, READS_MAX, READS_PER_RESULT_MAX};
use crate::result_part::{ResultPart, ends_in_name};
use crate::result_read::{
    ResultRead, ValueUse, WholeInstead, provide_by_whole, provide_for_absence,
};
use crate::typescript::names::{NamedCall, ResultForm};
use crate::typescript::tree::ProgramTree;

/// Nodes that are visited for all reads.
const STEPS_MAX: usize = 20_000;

/// Follows results, within bounds for all of them.
pub(super) struct ReadFinder<'t, 's, 'a> {
    tree: &'t ProgramTree<'s, 'a>,
    /// Server and tool of each call that gives the value of a result.
    tools: HashMap<NodeId, (Option<String>, String)>,
    /// Where these calls begin, in the order of the text.
    call_starts: Vec<u32>,
    /// The call whose result is followed; none for another value.
    call: Option<NodeId>,
    found: ValueUse,
    all: usize,
    steps_left: usize,
    /// Places that were followed, each for the result itself and for what the program parses of it.
    followed: HashSet<(NodeId, bool)>,
    /// Whether any object of the program is given members, or loses them: a result may be one.
    changes_members: bool,
    /// Names of members that such objects are given.
    assigned: HashSet<String>,
    /// Numbers of the alternatives of which one is the whole result.
    whole: HashSet<u32>,
    /// Conditions of which a branch takes the whole result as it is.
    whole_instead: Vec<WholeInstead>,
    /// Whether the program asks what the whole result is.
    form_asked: bool,
    /// Parts of which the program asks whether they are there.
    asks: Vec<Vec<String>>,
    conditions: Conditions,
    exits: Exits,
    entered: EnteredFunctions,
}

impl<'t, 's, 'a> ReadFinder<'t, 's, 'a> {
    pub(super) fn new(tree: &'t ProgramTree<'s, 'a>, calls: &[NamedCall<'_>]) -> Self {
        let values = calls
            .iter()
            .filter(|call| call.form == ResultForm::Value)
            .map(|call| {
                (
                    call.node.node_id(),
                    (call.server.clone(), call.tool.clone()),
                )
            });
        let tools: HashMap<_, _> = values.collect();
        let mut call_starts: Vec<u32> = tools.keys().map(|call| tree.span(*call).start).collect();
        call_starts.sort_unstable();
        Self {
            tree,
            tools,
            call_starts,
            call: None,
            found: ValueUse::default(),
            all: 0,
            steps_left: STEPS_MAX,
            followed: HashSet::new(),
            changes_members: tree
                .nodes
                .iter()
                .any(|node| changes_members(tree, &node.kind())),
            assigned: placed::assigned_names(tree),
            whole: HashSet::new(),
            whole_instead: Vec::new(),
            form_asked: false,
            asks: Vec::new(),
            conditions: Conditions::of(tree),
            exits: Exits::of(tree),
            entered: EnteredFunctions::default(),
        }
    }

    /// Whether a tool is called between two places.
    fn has_call_between(&self, from: u32, to: u32) -> bool {
        let first = self.call_starts.partition_point(|start| *start < from);
        self.call_starts.get(first).is_some_and(|start| *start < to)
    }

    /// The use of what the call at `call` gives.
    pub(super) fn of(&mut self, call: NodeId) -> ValueUse {
        self.begin(Some(call));
        match self.tree.outer(call) {
            Some((member, AstKind::StaticMemberExpression(then), _))
                if then.property.name == "then" =>
            {
                if let Some((_, AstKind::CallExpression(call), callee)) = self.tree.outer(member)
                    && self.tree.is_inside(callee, call.callee.span())
                {
                    self.bind_parameter(member, call.arguments.first(), 0, ResultPart::default());
                }
            }
            Some((list, AstKind::ArrayExpression(_), _)) => {
                if let Some(name) = self.gathered(list, call) {
                    self.bind(name, &ResultPart::default());
                }
            }
            Some((outer, kind, _)) => {
                if let Some(list) = self.collected(call) {
                    self.follow(list, ResultPart::default().in_list());
                } else if matches!(kind, AstKind::AwaitExpression(_)) {
                    self.follow(outer, ResultPart::default());
                }
            }
            None => {}
        }
        self.end()
    }

    /// The use of the values that are read at `nodes` and come from no call.
    pub(super) fn of_values(&mut self, nodes: impl IntoIterator<Item = NodeId>) -> ValueUse {
        self.begin(None);
        for node in nodes {
            self.follow(node, ResultPart::default());
        }
        self.end()
    }

    /// Whether the program surely makes a call.
    pub(super) fn is_certain_call(&mut self, call: NodeId) -> bool {
        self.begin(None);
        self.is_certain(call)
    }

    fn begin(&mut self, call: Option<NodeId>) {
        self.call = call;
        self.followed.clear();
        self.whole.clear();
        self.whole_instead.clear();
        self.form_asked = false;
        self.asks.clear();
        self.entered.clear();
    }

    fn end(&mut self) -> ValueUse {
        let mut found = std::mem::take(&mut self.found);
        let reads = &mut found.reads;
        for read in reads.iter_mut() {
            read.asked |= read.either != 0 && self.whole.contains(&read.either);
            read.form_asked = self.form_asked;
            if self.asks.contains(&read.path) {
                read.decides = Decides::Nothing;
            }
        }
        provide_by_whole(reads, &self.whole_instead);
        reads.sort_by(|one, other| (one.at, &one.path).cmp(&(other.at, &other.path)));
        reads.dedup();
        provide_for_absence(reads);
        // The others ask what a result or an item of it is.
        reads.retain(|read| ends_in_name(&read.path));
        found
    }

    /// The list of results in `await Promise.all(list.map(x => call))`.
    fn collected(&self, call: NodeId) -> Option<NodeId> {
        let mut around = self.tree.outer(call)?;
        if let (awaited, AstKind::AwaitExpression(_), _) = around {
            around = self.tree.outer(awaited)?;
        }
        let (function, AstKind::ArrowFunctionExpression(arrow), body) = around else {
            return None;
        };
        if self.tree.is_inside(body, arrow.params.span) {
            return None;
        }
        let (mapped, AstKind::CallExpression(map), _) = self.tree.outer(function)? else {
            return None;
        };
        let (all, AstKind::CallExpression(gather), _) = self.tree.outer(mapped)? else {
            return None;
        };
        let (awaited, AstKind::AwaitExpression(_), _) = self.tree.outer(all)? else {
            return None;
        };
        let is_list = method(&map.callee) == Some("map") && is_all_of_promises(&gather.callee);
        is_list.then_some(awaited)
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

    fn follow(&mut self, mut at: NodeId, mut part: ResultPart) {
        loop {
            if self.steps_left == 0
                || part.path.len() >= PATH_NAMES_MAX
                || !self.followed.insert((at, part.is_parsed()))
            {
                return;
            }
            self.steps_left -= 1;
            let Some((outer, kind, below)) = self.tree.outer(at) else {
                return;
            };
            if part.path.is_empty() && part.is_itself() {
                if !part.is_of_several {
                    self.whole_value(&kind, outer, below);
                }
                self.whole_branch(&kind, at);
            } else if ends_in_name(&part.path) && part.is_itself() {
                self.compared(&kind, at, outer, below, &part);
            }
            if self.asks_for_form(&kind, below)
                || ends_in_name(&part.path) && self.provides_for_absence(at)
            {
                self.asked_itself(at, &part);
            }
            let tree = self.tree;
            let is_in = |of: &Expression<'_>| tree.is_inside(below, of.span());
            at = outer;
            let next = match kind {
                AstKind::AwaitExpression(_) => Some(part),
                AstKind::StaticMemberExpression(member) => {
                    let name = member.property.name.as_str();
                    if let Some((called, AstKind::CallExpression(call), callee)) =
                        self.tree.outer(outer)
                        && self.tree.is_inside(callee, call.callee.span())
                    {
                        at = called;
                        self.method(call, name, part)
                    } else if part.is_itself() {
                        let part = part.named(name);
                        let at = member.property.span.start;
                        self.read(at, &part, outer, member.optional);
                        Some(part)
                    } else {
                        None
                    }
                }
                AstKind::ComputedMemberExpression(member) if is_in(&member.object) => {
                    match (self.tree.text(&member.expression), &member.expression) {
                        (Some(name), _) if part.is_itself() => {
                            let part = part.named(name);
                            let at = member.expression.span().start;
                            self.read(at, &part, outer, member.optional);
                            Some(part)
                        }
                        (Some(_), _) => None,
                        (None, Expression::NumericLiteral(number)) => {
                            part.item(Some(number.value as usize))
                        }
                        // A place in a list. Of an object it may be any member, which the check leaves alone.
                        (None, _) => part.item(None),
                    }
                }
                AstKind::LogicalExpression(logical) => {
                    if part.path.is_empty() && part.is_itself() {
                        self.whole.insert(tree.either(below));
                    }
                    let is_test = is_in(&logical.left) && logical.operator == LogicalOperator::And;
                    (!is_test).then(|| part.shared())
                }
                AstKind::ConditionalExpression(conditional) => {
                    (!is_in(&conditional.test)).then(|| part.shared())
                }
                AstKind::BinaryExpression(binary)
                    if binary.operator == BinaryOperator::In && is_in(&binary.right) =>
                {
                    return self.asked(&binary.left, part);
                }
                AstKind::SpreadElement(_) => match self.tree.outer(outer) {
                    Some((list, AstKind::ArrayExpression(array), _))
                        if array.elements.len() == 1 =>
                    {
                        at = list;
                        Some(part)
                    }
                    Some((_, AstKind::CallExpression(call), _)) => {
                        return self.put(call, 0, part);
                    }
                    _ => None,
                },
                AstKind::CallExpression(call) if !is_in(&call.callee) => {
                    self.passed(call, below, part)
                }
                AstKind::ArrowFunctionExpression(function) => {
                    match self.mapped(function, outer, below) {
                        Some((list, name)) => {
                            at = list;
                            Some(if name == "map" { part.in_list() } else { part })
                        }
                        None => None,
                    }
                }
                AstKind::VariableDeclarator(declarator)
                    if !self.tree.is_inside(below, declarator.id.span()) =>
                {
                    return self.bind(&declarator.id, &part);
                }
                AstKind::AssignmentExpression(assignment)
                    if is_in(&assignment.right)
                        && assignment.operator == AssignmentOperator::Assign =>
                {
                    if let AssignmentTarget::AssignmentTargetIdentifier(name) = &assignment.left
                        && let Some(symbol) = self.tree.symbol(name)
                    {
                        if part.path.is_empty() && part.is_itself() {
                            self.whole_assigned(symbol);
                        }
                        self.follow_assigned(symbol, &part);
                    }
                    return;
                }
                AstKind::ForOfStatement(statement) if is_in(&statement.right) => {
                    if let Some(item) = part.item(None)
                        && let ForStatementLeft::VariableDeclaration(left) = &statement.left
                        && let [declarator] = left.declarations.as_slice()
                    {
                        self.bind(&declarator.id, &item);
                    }
                    None
                }
                _ => None,
            };
            match next {
                Some(next) => part = next,
                None => return,
            }
        }
    }

    /// Follows the names of a pattern.
    fn bind(&mut self, pattern: &BindingPattern<'a>, part: &ResultPart) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                let symbol = name.symbol_id();
                if self.tree.scoping.symbol_is_mutated(symbol) {
                    return self.follow_assigned(symbol, part);
                }
                if !self.tree.scoping.symbol_redeclarations(symbol).is_empty() {
                    return;
                }
                let uses: Vec<NodeId> = self.tree.uses(symbol).collect();
                for node in uses {
                    self.follow(node, part.clone());
                }
            }
            BindingPattern::ObjectPattern(object) if part.is_itself() => {
                for property in &object.properties {
                    let Some(name) = property.key.static_name() else {
                        continue;
                    };
                    let part = part.clone().named(&name);
                    let default = match &property.value {
                        BindingPattern::AssignmentPattern(given) => Some(&given.right),
                        _ => None,
                    };
                    let at = property.key.span().start;
                    let absence = Absence {
                        optional: default.is_some(),
                        certain: default.is_none() && self.is_certain(property.node_id()),
                        is_well: default.is_some_and(is_true),
                    };
                    self.note(at, &part, absence, None);
                    self.bind(&property.value, &part);
                }
            }
            BindingPattern::ObjectPattern(_) => {}
            BindingPattern::ArrayPattern(array) => {
                for (place, item) in array.elements.iter().enumerate() {
                    if let Some(pattern) = item
                        && let Some(item) = part.clone().item(Some(place))
                    {
                        self.bind(pattern, &item);
                    }
                }
                if let Some(rest) = &array.rest
                    && let Some(part) = part.clone().rest()
                {
                    self.bind(&rest.argument, &part);
                }
            }
            BindingPattern::AssignmentPattern(assignment) => {
                self.bind(&assignment.left, &part.clone().shared());
            }
        }
    }

    fn read(&mut self, at: u32, part: &ResultPart, member: NodeId, optional: bool) {
        let optional = optional
            || self.provides_for_absence(member)
            || self.is_otherwise_read(member)
            || self.is_of_failure(member, part);
        let decides = match optional {
            true => self.decided_by(member, part),
            false => Decides::Nothing,
        };
        if optional && decides == Decides::Nothing {
            self.asks.push(part.path.clone());
        }
        let before = self.found.reads.len();
        let absence = Absence {
            optional,
            certain: !optional && !self.is_kept(member) && self.is_certain(member),
            is_well: self.absent_is_well(member),
        };
        self.note(at, part, absence, Some(member));
        for read in &mut self.found.reads[before..] {
            read.decides = decides;
        }
    }

    /// Notes a read, of `member` where it is an expression.
    fn note(&mut self, at: u32, part: &ResultPart, absence: Absence, member: Option<NodeId>) {
        if self.found.reads.len() < READS_PER_RESULT_MAX
            && self.all < READS_MAX
            && part.path.len() <= PATH_NAMES_MAX
        {
            self.all += 1;
            let is_assigned = part.path.iter().any(|name| self.assigned.contains(name));
            self.found.reads.push(ResultRead {
                at,
                path: part.path.clone(),
                optional: absence.optional || part.is_shared || self.changes_members,
                asked: is_assigned
                    || member.is_some_and(|member| {
                        self.tree.is_guard(member) || self.is_of_failure(member, part)
                    }),
                either: member.map_or(0, |member| self.tree.either(member)),
                certain: absence.certain && !part.is_of_several,
                absent_is_well: absence.is_well,
                form_asked: false,
                decides: Decides::Nothing,
            });
        }
    }

    /// Notes that the program asks whether a part is there, and does not read it.
    fn note_asked(&mut self, at: u32, part: &ResultPart) {
        let before = self.found.reads.len();
        self.note(at, part, Absence::ASKED, None);
        for read in &mut self.found.reads[before..] {
            read.asked = true;
        }
    }
}

/// What a program does where a part is absent.
#[derive(Clone, Copy)]
struct Absence {
    /// It provides for that.
    optional: bool,
    /// It surely reads the part.
    certain: bool,
    /// It does what it does where the part says that all is well.
    is_well: bool,
}

impl Absence {
    /// The program asks whether the part is there.
    const ASKED: Self = Self {
        optional: true,
        certain: false,
        is_well: false,
    };
}

/// Whether an expression is the constant `true`.
fn is_true(expression: &Expression<'_>) -> bool {
    matches!(expression.get_inner_expression(), Expression::BooleanLiteral(literal) if literal.value)
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
