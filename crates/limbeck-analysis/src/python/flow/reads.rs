//! Parts of a result that the program reads, followed along names with one value and functions.

mod assigned;
mod compared;
mod decides;
mod functions;
mod placed;
mod whole;

use std::collections::HashSet;

use limbeck_domain::Decides;
use ruff_python_ast::{
    AnyNodeRef, BoolOp, CmpOp, Expr, ExprAttribute, ExprCall, ExprCompare, ExprContext,
    ExprStarred, Number, StmtWith,
};
use ruff_text_size::{Ranged, TextSize};

use super::CallFlow;
use crate::bounds::{
    ALTERNATIVE_STEPS_MAX, PATH_NAMES_MAX, READS_PER_RESULT_MAX, WHOLE_BRANCHES_MAX,
};
use crate::python::names::{last_name, text};
use crate::python::tree::{NodeId, id, is_one_of};
use crate::result_part::{PartForm, ResultPart, ends_in_name};
use crate::result_read::{
    ResultRead, ValueUse, WholeInstead, provide_by_whole, provide_for_absence,
};

/// What every dict has, and so no field of a result.
const OF_DICTS: [&str; 11] = [
    "items",
    "keys",
    "values",
    "get",
    "pop",
    "update",
    "copy",
    "clear",
    "setdefault",
    "popitem",
    "fromkeys",
];

/// Nodes that are visited for the reads of one result.
const STEPS_PER_RESULT_MAX: usize = 4_000;

struct FoundReads {
    used: ValueUse,
    /// Parts of which the program asks what they are: it may know which members they have.
    asked: Vec<Vec<String>>,
    /// Places that were followed, each for the result itself and for what the program parses of it.
    seen: HashSet<(NodeId, bool)>,
    steps_left: usize,
    /// Parts of which the program asks whether they are there.
    asks: Vec<Vec<String>>,
    /// Numbers of the alternatives of which one is the whole result.
    whole: HashSet<u32>,
    /// Conditions of which a branch takes the whole result as it is.
    whole_instead: Vec<WholeInstead>,
}

impl FoundReads {
    fn new() -> Self {
        Self {
            used: ValueUse::default(),
            asked: Vec::new(),
            asks: Vec::new(),
            seen: HashSet::new(),
            steps_left: STEPS_PER_RESULT_MAX,
            whole: HashSet::new(),
            whole_instead: Vec::new(),
        }
    }

    fn end(mut self) -> ValueUse {
        // Who asks what the whole is knows that it may be a text.
        let form_asked = self.asked.iter().any(Vec::is_empty);
        let reads = &mut self.used.reads;
        reads.truncate(READS_PER_RESULT_MAX);
        provide_by_whole(reads, &self.whole_instead);
        for read in reads.iter_mut() {
            read.asked |= read.either != 0 && self.whole.contains(&read.either);
        }
        provide_for_absence(reads);
        for read in reads.iter_mut() {
            let is_below =
                |path: &Vec<String>| read.path.len() > path.len() && read.path.starts_with(path);
            read.optional |= self.asked.iter().any(is_below);
            read.form_asked = form_asked;
            if self.asks.contains(&read.path) {
                read.decides = Decides::Nothing;
            }
        }
        self.used.as_text |= form_asked;
        self.used
    }
}

impl<'a> CallFlow<'_, 'a> {
    /// What the program does with the result of a call.
    pub(in crate::python) fn result(&self, call: &'a ExprCall) -> ValueUse {
        let mut found = FoundReads::new();
        let parent = self.tree.parent_node(id(call));
        match (self.gathered(call, parent), parent) {
            (Some(name), _) => self.bind(name, &ResultPart::default(), &mut found),
            (None, Some(AnyNodeRef::ExprAwait(awaited))) => {
                self.follow(id(awaited), ResultPart::default(), &mut found);
            }
            (None, _) => self.follow(id(call), ResultPart::default(), &mut found),
        }
        found.end()
    }

    /// What the program does with a value that it reads under a name that it never gives a value.
    pub(in crate::python) fn global(&self, name: &str) -> ValueUse {
        let mut found = FoundReads::new();
        if self.facts.times_bound(name) == 0 {
            for read in self.tree.uses(name) {
                self.follow(id(*read), ResultPart::default(), &mut found);
            }
        }
        found.end()
    }

    /// `b` of `a, b = await asyncio.gather(x(), call())`.
    fn gathered(&self, call: &ExprCall, parent: Option<AnyNodeRef<'a>>) -> Option<&'a Expr> {
        let gather = parent?.expr_call()?;
        let arguments = &gather.arguments.args;
        let place = arguments.iter().position(|item| id(item) == id(call))?;
        if last_name(&gather.func) != Some("gather")
            || arguments[..place].iter().any(Expr::is_starred_expr)
        {
            return None;
        }
        let awaited = self.tree.parent_node(id(gather))?.expr_await()?;
        let assigned = self.tree.parent_node(id(awaited))?.stmt_assign()?;
        let items = match assigned.targets.as_slice() {
            [Expr::Tuple(tuple)] => &tuple.elts,
            [Expr::List(list)] => &list.elts,
            _ => return None,
        };
        let is_plain = !items.iter().any(Expr::is_starred_expr);
        items.get(place).filter(|_| is_plain)
    }

    /// `await asyncio.gather(*calls)`, given what is starred: the list of their results.
    fn all_gathered(&self, starred: &ExprStarred) -> Option<NodeId> {
        let gather = self.tree.parent_node(id(starred))?.expr_call()?;
        let is_alone = gather.arguments.args.len() == 1;
        let awaited = self.tree.parent_node(id(gather))?.expr_await()?;
        (is_alone && last_name(&gather.func) == Some("gather")).then(|| id(awaited))
    }

    fn follow(&self, mut node: NodeId, mut part: ResultPart, found: &mut FoundReads) {
        while part.path.len() < PATH_NAMES_MAX
            && found.used.reads.len() < READS_PER_RESULT_MAX
            && found.steps_left > 0
            && found.seen.insert((node, part.is_parsed()))
        {
            found.steps_left -= 1;
            let Some(parent) = self.tree.parent_node(node) else {
                return;
            };
            if part.path.is_empty() && part.is_itself() {
                if !part.is_of_several {
                    self.whole_value(parent, node, found);
                }
                self.whole_branch(parent, node, found);
            } else if ends_in_name(&part.path) && part.is_itself() {
                self.compared(parent, node, &part, found);
                self.decided_by_name(node, &part, found);
            }
            let next = match parent {
                AnyNodeRef::ExprAttribute(member) if part.is_itself() => {
                    self.member(member, part, found)
                }
                AnyNodeRef::ExprSubscript(item) if id(&*item.value) == node => {
                    let part = match &*item.slice {
                        Expr::StringLiteral(key) if part.is_itself() => {
                            let part = part.named(key.value.to_str());
                            self.note(id(item), item.ctx, key.start(), &part, found);
                            Some(part)
                        }
                        Expr::NumberLiteral(key) => match &key.value {
                            Number::Int(place) => part.item((*place == 1_u8).then_some(1)),
                            Number::Float(_) | Number::Complex { .. } => None,
                        },
                        _ => None,
                    };
                    part.map(|part| (id(item), part))
                }
                AnyNodeRef::ExprListComp(list) if id(&*list.elt) == node => {
                    Some((id(list), part.in_list()))
                }
                AnyNodeRef::ExprGenerator(list) if id(&*list.elt) == node => {
                    Some((id(list), part.in_list()))
                }
                AnyNodeRef::ExprStarred(starred) if part.is_in_list() => {
                    self.all_gathered(starred).map(|gathered| (gathered, part))
                }
                AnyNodeRef::ExprBoolOp(either) => {
                    if part.path.is_empty() && part.is_itself() {
                        found.whole.insert(self.either(node));
                    }
                    let is_test = either.op == BoolOp::And
                        && either.values.last().is_none_or(|last| id(last) != node);
                    (!is_test).then(|| (id(either), part.shared()))
                }
                AnyNodeRef::ExprIf(either) if id(&*either.test) != node => {
                    Some((id(either), part.shared()))
                }
                AnyNodeRef::ExprCompare(compared) => {
                    return self.asked(compared, node, part, found);
                }
                AnyNodeRef::ExprCall(call) if id(&*call.func) != node => {
                    let given = self.passed(call, node, part, found);
                    given.map(|part| (id(call), part))
                }
                AnyNodeRef::StmtAssign(assigned) => {
                    if let [target] = assigned.targets.as_slice() {
                        if part.path.is_empty() && part.is_itself() {
                            self.whole_assigned(target, node, found);
                        }
                        self.bind(target, &part, found);
                    }
                    None
                }
                AnyNodeRef::StmtAnnAssign(assigned)
                    if assigned
                        .value
                        .as_deref()
                        .is_some_and(|value| id(value) == node) =>
                {
                    return self.bind(&assigned.target, &part, found);
                }
                AnyNodeRef::ExprNamed(named) if id(&*named.value) == node => {
                    return self.bind(&named.target, &part, found);
                }
                AnyNodeRef::StmtFor(each) if !each.is_async && id(&*each.iter) == node => {
                    if let Some(item) = part.item(None) {
                        self.bind_in(id(each), &each.target, &each.iter, &item, found);
                    }
                    None
                }
                AnyNodeRef::Comprehension(each) if id(&each.iter) == node => {
                    if let Some(item) = part.item(None)
                        && let Some(around) = self.tree.parent(id(each))
                    {
                        self.bind_in(around, &each.target, &each.iter, &item, found);
                    }
                    None
                }
                _ => None,
            };
            let Some(next) = next else {
                return;
            };
            (node, part) = next;
        }
    }

    /// Notes the read of a member, or follows what a method gives.
    fn member(
        &self,
        member: &'a ExprAttribute,
        part: ResultPart,
        found: &mut FoundReads,
    ) -> Option<(NodeId, ResultPart)> {
        let around = self.tree.parent_node(id(member));
        let call = around
            .and_then(AnyNodeRef::expr_call)
            .filter(|call| id(&*call.func) == id(member));
        let Some(call) = call else {
            if OF_DICTS.contains(&&*member.attr.id) {
                return None;
            }
            let part = part.named(&member.attr.id);
            self.note(id(member), member.ctx, member.attr.start(), &part, found);
            return Some((id(member), part));
        };
        let part = match &*member.attr.id {
            "get" => {
                let key = call.arguments.args.first()?;
                let part = part.named(text(key)?);
                self.note_optional(id(call), key.start(), &part, found);
                Some(part)
            }
            "copy" => Some(part),
            // `"a" in part.keys()`.
            "keys" => {
                found.asked.push(part.path);
                None
            }
            "values" => part.into_form(PartForm::Values),
            "items" => part.into_form(PartForm::Entries),
            _ => None,
        };
        part.map(|part| (id(call), part))
    }

    /// Notes a condition of which one branch takes the whole result as it is at `node`, under `parent`.
    fn whole_branch(&self, parent: AnyNodeRef<'_>, node: NodeId, found: &mut FoundReads) {
        // What is read of the whole says nothing about the whole.
        let is_read = parent.is_expr_attribute() || parent.is_expr_subscript();
        if is_read || found.whole_instead.len() >= WHOLE_BRANCHES_MAX {
            return;
        }
        for (parent, below) in self.tree.climb(node).take(ALTERNATIVE_STEPS_MAX) {
            let range = |node: &dyn Ranged| (node.start().into(), node.end().into());
            let branch = match parent {
                AnyNodeRef::ExprIf(either) if id(&*either.test) == below => continue,
                AnyNodeRef::ExprIf(either) if id(&*either.body) == below => range(&*either.body),
                AnyNodeRef::ExprIf(either) => range(&*either.orelse),
                // Another way that the program has where a read fails.
                AnyNodeRef::StmtTry(attempt)
                    if attempt.handlers.iter().any(|it| id(it) == below) =>
                {
                    range(&self.tree.node(below))
                }
                AnyNodeRef::StmtFunctionDef(_) | AnyNodeRef::ExprLambda(_) => return,
                _ => continue,
            };
            found.whole_instead.push(WholeInstead {
                condition: range(&parent),
                branch,
            });
            return;
        }
    }

    /// Notes that the program asks whether a part has a member: `"a" in part`.
    fn asked(
        &self,
        compared: &ExprCompare,
        node: NodeId,
        part: ResultPart,
        found: &mut FoundReads,
    ) {
        if let ([CmpOp::In | CmpOp::NotIn], [within]) = (&*compared.ops, &*compared.comparators)
            && id(within) == node
            && part.is_itself()
            && let Some(name) = text(&compared.left)
        {
            let named = part.named(name).path;
            found.used.reads.push(ResultRead {
                at: compared.left.start().into(),
                path: named.clone(),
                optional: true,
                asked: true,
                either: 0,
                certain: false,
                absent_is_well: false,
                form_asked: false,
                decides: Decides::Nothing,
            });
            found.asks.push(named);
        }
    }

    /// Follows the names of a target that has no other value in the whole program.
    fn bind(&self, target: &Expr, part: &ResultPart, found: &mut FoundReads) {
        match target {
            Expr::Name(name) if self.facts.times_bound(&name.id) == 1 => {
                for name in self.tree.uses(&name.id) {
                    self.follow(id(*name), part.clone(), found);
                }
            }
            Expr::Name(name) => self.follow_assigned(name, part, found),
            Expr::Tuple(tuple) => self.bind_items(&tuple.elts, part, found),
            Expr::List(list) => self.bind_items(&list.elts, part, found),
            _ => {}
        }
    }

    fn bind_items(&self, targets: &[Expr], part: &ResultPart, found: &mut FoundReads) {
        for (place, target) in targets.iter().enumerate() {
            if let Some(item) = part.clone().item(Some(place)) {
                self.bind(target, &item, found);
            }
        }
    }

    /// Follows the names of a target in `scope`: a loop or a comprehension over `iter`, which is read before.
    fn bind_in(
        &self,
        scope: NodeId,
        target: &Expr,
        iter: &Expr,
        part: &ResultPart,
        found: &mut FoundReads,
    ) {
        match target {
            Expr::Name(name) if self.facts.times_bound(&name.id) == 1 => {
                self.bind(target, part, found);
            }
            Expr::Name(name) if self.tree.names(iter).all(|read| read != &*name.id) => {
                self.bind_name_in(scope, &name.id, part, found);
            }
            Expr::Tuple(tuple) => self.bind_items_in(scope, &tuple.elts, iter, part, found),
            Expr::List(list) => self.bind_items_in(scope, &list.elts, iter, part, found),
            _ => {}
        }
    }

    fn bind_items_in(
        &self,
        scope: NodeId,
        targets: &[Expr],
        iter: &Expr,
        part: &ResultPart,
        found: &mut FoundReads,
    ) {
        for (place, target) in targets.iter().enumerate() {
            if let Some(item) = part.clone().item(Some(place)) {
                self.bind_in(scope, target, iter, &item, found);
            }
        }
    }

    /// Follows a name that has one value in `scope`, and maybe others elsewhere.
    fn bind_name_in(&self, scope: NodeId, name: &str, part: &ResultPart, found: &mut FoundReads) {
        let mut uses = Vec::new();
        let mut times_bound = 0;
        for node in self.tree.below(scope) {
            if found.steps_left == 0 {
                return;
            }
            found.steps_left -= 1;
            match node {
                AnyNodeRef::ExprName(read) if &*read.id == name => match read.ctx.is_load() {
                    true => uses.push(id(read)),
                    false => times_bound += 1,
                },
                AnyNodeRef::Parameter(parameter) if &*parameter.name.id == name => {
                    times_bound += 1;
                }
                _ => {}
            }
        }
        if times_bound == 1 {
            for node in uses {
                self.follow(node, part.clone(), found);
            }
        }
    }

    fn note(
        &self,
        node: NodeId,
        context: ExprContext,
        at: TextSize,
        part: &ResultPart,
        found: &mut FoundReads,
    ) {
        if !context.is_load() {
            return;
        }
        // What fails is caught, or is not read where a test of the result succeeded.
        let is_provided = |(parent, below): (AnyNodeRef<'_>, NodeId)| match parent {
            AnyNodeRef::StmtTry(node) => is_one_of(&node.body, below),
            AnyNodeRef::StmtWith(node) => is_one_of(&node.body, below) && suppresses_any(node),
            AnyNodeRef::ExprIf(either) => {
                id(&*either.orelse) == below
                    && found
                        .used
                        .reads
                        .iter()
                        .any(|read| is_asked(read, &either.test))
            }
            AnyNodeRef::StmtIf(either) => {
                !is_one_of(&either.body, below)
                    && id(&*either.test) != below
                    && found
                        .used
                        .reads
                        .iter()
                        .any(|read| is_asked(read, &either.test))
            }
            _ => false,
        };
        let optional = part.is_shared
            || self.facts.changes_members()
            || self.tree.climb(node).any(is_provided);
        found.used.reads.push(ResultRead {
            at: at.into(),
            path: part.path.clone(),
            optional,
            asked: self.asks(node, part),
            either: self.either(node),
            // A part that is absent is an error of the language.
            certain: false,
            absent_is_well: self.absent_is_well(node),
            form_asked: false,
            decides: Decides::Nothing,
        });
    }

    fn note_optional(&self, node: NodeId, at: TextSize, part: &ResultPart, found: &mut FoundReads) {
        if self.asks_for_presence(node) {
            found.asks.push(part.path.clone());
        }
        found.used.reads.push(ResultRead {
            at: at.into(),
            path: part.path.clone(),
            optional: true,
            asked: self.asks(node, part),
            either: self.either(node),
            certain: false,
            absent_is_well: self.absent_is_well(node),
            form_asked: false,
            decides: self.decides(node, part),
        });
    }
}

/// Whether a read is one in a test that asks for what it reads.
fn is_asked(read: &ResultRead, test: &Expr) -> bool {
    read.optional && test.range().contains(TextSize::from(read.at))
}

/// `with suppress(KeyError):`.
fn suppresses_any(node: &StmtWith) -> bool {
    let mut entered = node.items.iter().map(|item| &item.context_expr);
    entered.any(|entered| {
        let call = entered.as_call_expr();
        call.is_some_and(|call| last_name(&call.func) == Some("suppress"))
    })
}
