//! The tree of a program with the way up from each of its nodes.
//!
//! The arguments of a call count as its own children, as in Python's own trees: the nodes that the parser puts
//! between them are left out, and so are the parts of texts and names.

use std::collections::HashMap;
use std::ops::Range;

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{AnyNodeRef, Expr, ExprName, HasNodeIndex, ModModule, NodeIndex, Stmt};

use crate::bounds::CLIMB_MAX;

/// Number of a node, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(u32);

pub(super) struct ProgramTree<'a> {
    module: &'a ModModule,
    nodes: Vec<Placed<'a>>,
    /// Places where names are read, in any scope, in the order of the text.
    uses: HashMap<&'a str, Vec<&'a ExprName>>,
    /// Of each node the name that it begins with, as an expression of attributes, subscripts and calls.
    roots: Vec<Option<&'a str>>,
}

struct Placed<'a> {
    node: AnyNodeRef<'a>,
    parent: NodeId,
    /// The first number behind it and all that is below it.
    end: u32,
}

impl<'a> ProgramTree<'a> {
    pub(super) fn new(module: &'a ModModule) -> Self {
        let mut tree = Self {
            module,
            nodes: Vec::new(),
            uses: HashMap::new(),
            roots: Vec::new(),
        };
        let root = AnyNodeRef::from(module);
        let mut walk = Walk {
            tree: &mut tree,
            open: Vec::new(),
        };
        walk.enter_node(root);
        root.visit_source_order(&mut walk);
        walk.leave_node(root);
        tree.roots = tree.roots();
        tree
    }

    /// Once for all: a chain of calls holds as many calls as it is long, and each has the same.
    fn roots(&self) -> Vec<Option<&'a str>> {
        let mut roots = vec![None; self.nodes.len()];
        for (at, placed) in self.nodes.iter().enumerate().rev() {
            let within = |node: &Expr| roots[id(node).0 as usize];
            roots[at] = match placed.node {
                AnyNodeRef::ExprName(name) => Some(name.id.as_str()),
                AnyNodeRef::ExprAttribute(node) => within(&node.value),
                AnyNodeRef::ExprSubscript(node) => within(&node.value),
                AnyNodeRef::ExprCall(node) => within(&node.func),
                _ => None,
            };
        }
        roots
    }

    /// The name that an expression of attributes, subscripts and calls begins with.
    pub(super) fn root_of(&self, node: &impl HasNodeIndex) -> Option<&'a str> {
        self.roots[id(node).0 as usize]
    }

    /// The statements of its top level.
    pub(super) fn body(&self) -> &'a [Stmt] {
        &self.module.body
    }

    /// All nodes, each before those below it.
    pub(super) fn nodes(&self) -> impl Iterator<Item = AnyNodeRef<'a>> + '_ {
        self.nodes.iter().map(|placed| placed.node)
    }

    pub(super) fn node(&self, id: NodeId) -> AnyNodeRef<'a> {
        self.nodes[id.0 as usize].node
    }

    /// The node around one; none around the module.
    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        let parent = self.nodes[id.0 as usize].parent;
        (parent != id).then_some(parent)
    }

    /// The node around one.
    pub(super) fn parent_node(&self, id: NodeId) -> Option<AnyNodeRef<'a>> {
        self.parent(id).map(|parent| self.node(parent))
    }

    /// The nodes around one, from the inside, each with the node below it.
    pub(super) fn climb(&self, id: NodeId) -> impl Iterator<Item = (AnyNodeRef<'a>, NodeId)> + '_ {
        let mut below = id;
        let steps = std::iter::from_fn(move || {
            let parent = self.parent(below)?;
            let step = (self.node(parent), below);
            below = parent;
            Some(step)
        });
        steps.take(CLIMB_MAX)
    }

    /// A node and all that is below it.
    pub(super) fn below(&self, id: NodeId) -> impl Iterator<Item = AnyNodeRef<'a>> + '_ {
        let range: Range<usize> = id.0 as usize..self.nodes[id.0 as usize].end as usize;
        self.nodes[range].iter().map(|placed| placed.node)
    }

    /// Where a name is read.
    pub(super) fn uses(&self, name: &str) -> &[&'a ExprName] {
        self.uses.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names in an expression.
    pub(super) fn names(&self, expression: &Expr) -> impl Iterator<Item = &'a str> + '_ {
        self.below(id(expression)).filter_map(|node| match node {
            AnyNodeRef::ExprName(name) => Some(name.id.as_str()),
            _ => None,
        })
    }
}

/// The number of a node of the tree.
pub(super) fn id(node: &impl HasNodeIndex) -> NodeId {
    let index = node.node_index().load().as_u32();
    NodeId(index.expect("every node of the tree was numbered"))
}

/// Whether a node is one of some statements.
pub(super) fn is_one_of(statements: &[Stmt], node: NodeId) -> bool {
    // They are in order.
    statements.binary_search_by_key(&node, id).is_ok()
}

struct Walk<'t, 'a> {
    tree: &'t mut ProgramTree<'a>,
    /// The nodes around the next one.
    open: Vec<NodeId>,
}

impl<'a> SourceOrderVisitor<'a> for Walk<'_, 'a> {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        let nodes = &mut self.tree.nodes;
        // A text of 256 KiB has fewer nodes than a number of 32 bits can count.
        let id = NodeId(nodes.len() as u32);
        let parent = self.open.last().copied().unwrap_or(id);
        if is_left_out(node) {
            self.open.push(parent);
            return TraversalSignal::Traverse;
        }
        if let AnyNodeRef::ExprName(name) = node
            && name.ctx.is_load()
        {
            self.tree.uses.entry(&name.id).or_default().push(name);
        }
        node.node_index().set(NodeIndex::from(id.0));
        nodes.push(Placed {
            node,
            parent,
            end: id.0 + 1,
        });
        self.open.push(id);
        TraversalSignal::Traverse
    }

    fn leave_node(&mut self, node: AnyNodeRef<'a>) {
        let left = self.open.pop();
        let end = self.tree.nodes.len() as u32;
        if let (Some(id), false) = (left, is_left_out(node)) {
            self.tree.nodes[id.0 as usize].end = end;
        }
    }
}

fn is_left_out(node: AnyNodeRef<'_>) -> bool {
    matches!(
        node,
        AnyNodeRef::Arguments(_)
            | AnyNodeRef::Identifier(_)
            | AnyNodeRef::StringLiteral(_)
            | AnyNodeRef::BytesLiteral(_)
            | AnyNodeRef::FString(_)
            | AnyNodeRef::TString(_)
            | AnyNodeRef::InterpolatedStringLiteralElement(_)
    )
}
