//! Chains of names, as in `tools.server["tool"]`.

use ruff_python_ast::Expr;

/// The name that an expression is.
pub(super) fn name_of(node: &Expr) -> Option<&str> {
    node.as_name_expr().map(|name| &*name.id)
}

/// `c` of `a.b.c`, and `a` of `a`.
pub(super) fn last_name(node: &Expr) -> Option<&str> {
    match node {
        Expr::Attribute(node) => Some(&node.attr.id),
        Expr::Name(name) => Some(&name.id),
        _ => None,
    }
}

/// `["tools", "a", "b"]` for `tools.a["b"]`.
pub(super) fn constant_names(mut node: &Expr) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    loop {
        node = match node {
            Expr::Name(name) => {
                names.push(&*name.id);
                names.reverse();
                return Some(names);
            }
            Expr::Attribute(node) => {
                names.push(&*node.attr.id);
                &node.value
            }
            Expr::Subscript(node) => {
                names.push(text(&node.slice)?);
                &node.value
            }
            _ => return None,
        };
    }
}

/// The text that an expression is.
pub(super) fn text(node: &Expr) -> Option<&str> {
    node.as_string_literal_expr()
        .map(|text| text.value.to_str())
}
