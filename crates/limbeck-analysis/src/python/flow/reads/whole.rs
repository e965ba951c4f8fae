//! What a program takes a whole value for: a list, of which it takes or counts the items, or a text. Characters of a text that
//! are taken for items of a list are no error of the language.

use ruff_python_ast::{AnyNodeRef, CmpOp, Expr};
use ruff_text_size::Ranged;

use super::FoundReads;
use crate::python::flow::CallFlow;
use crate::python::names::last_name;
use crate::python::tree::{NodeId, id};

/// Methods that texts have.
const OF_TEXTS: [&str; 26] = [
    "count",
    "encode",
    "endswith",
    "find",
    "format",
    "index",
    "isdigit",
    "join",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "title",
    "translate",
    "upper",
];
/// Functions of modules that take a text: `json.loads`, `re.search`, `io.StringIO`.
const TAKING_TEXTS: [&str; 14] = [
    "loads",
    "search",
    "match",
    "fullmatch",
    "findall",
    "finditer",
    "sub",
    "split",
    "StringIO",
    "literal_eval",
    "fromstring",
    "safe_load",
    "dedent",
    "shorten",
];

impl CallFlow<'_, '_> {
    /// Notes what the whole value is taken for by `parent`, the node around it.
    pub(super) fn whole_value(&self, parent: AnyNodeRef<'_>, node: NodeId, found: &mut FoundReads) {
        let at = u32::from(self.tree.node(node).start());
        match parent {
            AnyNodeRef::ExprAttribute(member) if OF_TEXTS.contains(&&*member.attr.id) => {
                found.used.as_text = true;
            }
            AnyNodeRef::ExprSubscript(item) if id(&*item.value) == node => match &*item.slice {
                Expr::Slice(_) => found.used.as_text = true,
                Expr::NumberLiteral(_) | Expr::UnaryOp(_) => found.used.note_listed(at, false),
                _ => {}
            },
            // A whole value that is compared or searched is no list.
            AnyNodeRef::ExprCompare(compared)
                if !matches!(&*compared.ops, [CmpOp::Is | CmpOp::IsNot]) =>
            {
                found.used.as_text = true;
            }
            AnyNodeRef::StmtFor(each) if !each.is_async && id(&*each.iter) == node => {
                found.used.note_listed(at, false);
            }
            AnyNodeRef::Comprehension(each) if id(&each.iter) == node => {
                found.used.note_listed(at, false);
            }
            AnyNodeRef::ExprCall(call) if id(&*call.func) != node => {
                let is_first = call
                    .arguments
                    .args
                    .first()
                    .is_some_and(|first| id(first) == node);
                match (&*call.func, last_name(&call.func)) {
                    (Expr::Attribute(_), Some(name)) if TAKING_TEXTS.contains(&name) => {
                        found.used.as_text = true;
                    }
                    (Expr::Name(name), _) if self.facts.times_bound(&name.id) == 0 && is_first => {
                        match &*name.id {
                            "len" => found.used.note_listed(at, true),
                            "list" | "tuple" | "sorted" | "reversed" | "enumerate" | "set" => {
                                found.used.note_listed(at, false);
                            }
                            "loads" => found.used.as_text = true,
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
