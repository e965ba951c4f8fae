//! Tree of a program with the way up from each node, and the values of its names.

use oxc::ast::AstKind;
use oxc::ast::ast::{
    BindingPattern, Expression, FormalParameters, IdentifierReference, VariableDeclarator,
};
use oxc::semantic::{AstNodes, NodeId, Scoping, Semantic, SymbolId};
use oxc::span::{GetSpan, Span};

use crate::bounds::CLIMB_MAX;

/// A parsed program.
pub(super) struct ProgramTree<'s, 'a> {
    pub(super) nodes: &'s AstNodes<'a>,
    pub(super) scoping: &'s Scoping,
}

impl<'s, 'a> ProgramTree<'s, 'a> {
    pub(super) fn new(semantic: &'s Semantic<'a>) -> Self {
        Self {
            nodes: semantic.nodes(),
            scoping: semantic.scoping(),
        }
    }

    /// The nodes around one, from the inside, each with the node below it.
    pub(super) fn climb(
        &self,
        from: NodeId,
    ) -> impl Iterator<Item = (NodeId, AstKind<'a>, NodeId)> + '_ {
        let mut below = from;
        self.nodes
            .ancestor_ids(from)
            .take(CLIMB_MAX)
            .map(move |id| {
                let step = (id, self.nodes.kind(id), below);
                below = id;
                step
            })
    }

    /// Whether the climb from a node ends before the outermost one.
    pub(super) fn is_too_deep(&self, from: NodeId) -> bool {
        self.nodes.ancestor_ids(from).nth(CLIMB_MAX).is_some()
    }

    /// The first node around one that means something of its own, and the node below it: casts, parentheses
    /// and optional chains are passed.
    pub(super) fn outer(&self, from: NodeId) -> Option<(NodeId, AstKind<'a>, NodeId)> {
        self.climb(from).find(|(_, kind, _)| !is_wrapper(kind))
    }

    pub(super) fn span(&self, node: NodeId) -> Span {
        self.nodes.kind(node).span()
    }

    /// Whether `node` is or is inside of what `part` spans.
    pub(super) fn is_inside(&self, node: NodeId, part: Span) -> bool {
        part.contains_inclusive(self.span(node))
    }

    /// Uses of a declared name as a value.
    pub(super) fn uses(&self, symbol: SymbolId) -> impl Iterator<Item = NodeId> + '_ {
        self.scoping
            .get_resolved_references(symbol)
            .filter(|reference| reference.is_read() && reference.is_value())
            .map(|reference| reference.node_id())
    }

    /// What a name refers to; `None` for a global.
    pub(super) fn symbol(&self, identifier: &IdentifierReference<'_>) -> Option<SymbolId> {
        let reference = identifier.reference_id.get()?;
        self.scoping.get_reference(reference).symbol_id()
    }

    /// The declaration of a name that keeps its first value.
    pub(super) fn declarator(&self, symbol: SymbolId) -> Option<&'a VariableDeclarator<'a>> {
        if self.scoping.symbol_is_mutated(symbol)
            || !self.scoping.symbol_redeclarations(symbol).is_empty()
        {
            return None;
        }
        match self.nodes.kind(self.scoping.symbol_declaration(symbol)) {
            AstKind::VariableDeclarator(declarator) => Some(declarator),
            _ => None,
        }
    }

    /// The value of a name that is declared alone, with a value, and keeps it.
    pub(super) fn value_of(&self, symbol: SymbolId) -> Option<&'a Expression<'a>> {
        let declarator = self.declarator(symbol)?;
        let BindingPattern::BindingIdentifier(_) = &declarator.id else {
            return None;
        };
        declarator
            .init
            .as_ref()
            .map(Expression::get_inner_expression)
    }

    /// The parameters of the function that a name always means.
    pub(super) fn parameters(&self, function: SymbolId) -> Option<&'a FormalParameters<'a>> {
        if self.scoping.symbol_is_mutated(function)
            || !self.scoping.symbol_redeclarations(function).is_empty()
        {
            return None;
        }
        let declaration = self.scoping.symbol_declaration(function);
        match self.nodes.kind(declaration) {
            AstKind::Function(function) => Some(&function.params),
            _ => match self.value_of(function)? {
                Expression::ArrowFunctionExpression(function) => Some(&function.params),
                Expression::FunctionExpression(function) => Some(&function.params),
                _ => None,
            },
        }
    }

    /// The value of a constant name that is a text, a number or the like; of any other expression itself.
    pub(super) fn plain<'e>(&self, expression: &'e Expression<'a>) -> &'e Expression<'a>
    where
        'a: 'e,
    {
        let inner = expression.get_inner_expression();
        let Expression::Identifier(identifier) = inner else {
            return inner;
        };
        let value = self
            .symbol(identifier)
            .and_then(|symbol| self.value_of(symbol));
        match value {
            Some(value) if is_plain(value) => value,
            _ => inner,
        }
    }

    /// An object that is written down under a name which is used once: nothing can have changed it.
    pub(super) fn sole_object<'e>(&self, expression: &'e Expression<'a>) -> &'e Expression<'a>
    where
        'a: 'e,
    {
        let inner = expression.get_inner_expression();
        let Expression::Identifier(identifier) = inner else {
            return inner;
        };
        let Some(symbol) = self.symbol(identifier) else {
            return inner;
        };
        let is_sole = self.scoping.get_resolved_reference_ids(symbol).len() == 1;
        match self.value_of(symbol) {
            Some(value @ Expression::ObjectExpression(_)) if is_sole => value,
            _ => inner,
        }
    }

    /// A text that is known before the program runs.
    pub(super) fn text<'e>(&self, expression: &'e Expression<'a>) -> Option<&'e str>
    where
        'a: 'e,
    {
        match self.plain(expression) {
            Expression::StringLiteral(text) if !text.lone_surrogates => Some(text.value.as_str()),
            Expression::TemplateLiteral(template) => match template.quasis.as_slice() {
                [only] if !only.lone_surrogates => {
                    only.value.cooked.as_ref().map(|text| text.as_str())
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether a node leaves the value below it as it is.
pub(super) fn is_wrapper(kind: &AstKind<'_>) -> bool {
    matches!(
        kind,
        AstKind::ParenthesizedExpression(_)
            | AstKind::ChainExpression(_)
            | AstKind::TSAsExpression(_)
            | AstKind::TSSatisfiesExpression(_)
            | AstKind::TSTypeAssertion(_)
            | AstKind::TSNonNullExpression(_)
            | AstKind::TSInstantiationExpression(_)
    )
}

fn is_plain(value: &Expression<'_>) -> bool {
    match value {
        Expression::StringLiteral(_)
        | Expression::NumericLiteral(_)
        | Expression::BooleanLiteral(_)
        | Expression::NullLiteral(_) => true,
        Expression::TemplateLiteral(template) => template.expressions.is_empty(),
        Expression::UnaryExpression(unary) => {
            matches!(unary.argument, Expression::NumericLiteral(_))
        }
        _ => false,
    }
}
