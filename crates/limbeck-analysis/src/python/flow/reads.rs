//! Parts of a result that the program reads, followed along names with one value.

use std::collections::HashSet;

use limbeck_domain::site::ANY_ITEM;
use ruff_python_ast::{AnyNodeRef, Expr, ExprCall, ExprContext, ExprStarred};
use ruff_text_size::{Ranged, TextSize};

use super::CallFlow;
use crate::bounds::{PATH_NAMES_MAX, READS_PER_RESULT_MAX};
use crate::python::names::{last_name, name_of};
use crate::python::tree::{NodeId, id, is_one_of};
use crate::result_read::ResultRead;

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

#[derive(Default)]
struct FoundReads {
    reads: Vec<ResultRead>,
    seen: HashSet<NodeId>,
}

/// What an expression is, as far as the result goes.
#[derive(Clone, Default)]
struct ResultPart {
    /// Names from the result to it.
    path: Vec<String>,
    /// How many lists are around it that the program makes: of results, or of their parts.
    lists: u32,
}

impl ResultPart {
    fn named(mut self, name: &str) -> Self {
        self.path.push(name.to_owned());
        self
    }

    /// An item of it.
    fn item(mut self) -> Self {
        match self.lists.checked_sub(1) {
            Some(lists) => self.lists = lists,
            None => self.path.push(ANY_ITEM.to_owned()),
        }
        self
    }

    fn in_list(mut self) -> Self {
        self.lists += 1;
        self
    }
}

impl<'a> CallFlow<'_, 'a> {
    /// Parts of the result of a call that the program reads.
    pub(in crate::python) fn reads(&self, call: &'a ExprCall) -> Vec<ResultRead> {
        let mut found = FoundReads::default();
        let parent = self.tree.parent_node(id(call));
        match (self.gathered(call, parent), parent) {
            (Some(name), _) => self.bind(name, &ResultPart::default(), &mut found),
            (None, Some(AnyNodeRef::ExprAwait(awaited))) => {
                self.follow(id(awaited), ResultPart::default(), &mut found);
            }
            (None, _) => self.follow(id(call), ResultPart::default(), &mut found),
        }
        found.reads.truncate(READS_PER_RESULT_MAX);
        found.reads
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
            && found.reads.len() < READS_PER_RESULT_MAX
            && found.seen.insert(node)
        {
            let Some(parent) = self.tree.parent_node(node) else {
                return;
            };
            match parent {
                AnyNodeRef::ExprAttribute(member) if part.lists == 0 => {
                    let outer = self.tree.parent_node(id(member));
                    let is_called = outer
                        .and_then(AnyNodeRef::expr_call)
                        .is_some_and(|call| id(&*call.func) == id(member));
                    if is_called || OF_DICTS.contains(&&*member.attr.id) {
                        return;
                    }
                    part = part.named(&member.attr.id);
                    self.note(id(member), member.ctx, member.attr.start(), &part, found);
                    node = id(member);
                }
                AnyNodeRef::ExprSubscript(item) if id(&*item.value) == node => {
                    match &*item.slice {
                        Expr::StringLiteral(key) if part.lists == 0 => {
                            part = part.named(key.value.to_str());
                            self.note(id(item), item.ctx, key.start(), &part, found);
                        }
                        Expr::NumberLiteral(key) if key.value.is_int() => part = part.item(),
                        _ => return,
                    }
                    node = id(item);
                }
                AnyNodeRef::ExprListComp(list) if id(&*list.elt) == node => {
                    part = part.in_list();
                    node = id(list);
                }
                AnyNodeRef::ExprStarred(starred) if part.lists > 0 => {
                    let Some(gathered) = self.all_gathered(starred) else {
                        return;
                    };
                    node = gathered;
                }
                AnyNodeRef::StmtAssign(assigned) => {
                    if let [target] = assigned.targets.as_slice() {
                        self.bind(target, &part, found);
                    }
                    return;
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
                    return self.bind(&each.target, &part.item(), found);
                }
                AnyNodeRef::Comprehension(each) if id(&each.iter) == node => {
                    return self.bind(&each.target, &part.item(), found);
                }
                _ => return,
            }
        }
    }

    fn bind(&self, target: &Expr, part: &ResultPart, found: &mut FoundReads) {
        if let Some(name) = name_of(target)
            && self.facts.times_bound(name) == 1
        {
            for name in self.tree.uses(name) {
                self.follow(id(*name), part.clone(), found);
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
        let is_tried = |(parent, below): (AnyNodeRef<'_>, NodeId)| {
            parent
                .stmt_try()
                .is_some_and(|node| is_one_of(&node.body, below))
        };
        found.reads.push(ResultRead {
            at: at.into(),
            path: part.path.clone(),
            optional: self.facts.changes_members() || self.tree.climb(node).any(is_tried),
        });
    }
}
