//! Identifiers of types, modules and attributes, derived from arbitrary names.

use std::collections::HashSet;

use crate::names;

/// Most bytes of a derived name without its number. The name is part of a file path.
const NAME_BYTES_MAX: usize = 60;

/// Names that a stub uses itself: its imports, its types, and the constants of Python that are written like types.
pub(crate) const TAKEN: [&str; 27] = [
    "Annotated",
    "Any",
    "Call",
    "CallToolResult",
    "False",
    "Literal",
    "Mapping",
    "Never",
    "None",
    "NotRequired",
    "Record",
    "Result",
    "Server",
    "Store",
    "Tool",
    "True",
    "TypeAlias",
    "TypedDict",
    "Unpack",
    "bool",
    "dict",
    "float",
    "int",
    "list",
    "object",
    "overload",
    "str",
];

/// Issuer of names that are all different.
#[derive(Debug)]
pub(crate) struct UniqueNames {
    used: HashSet<String>,
}

impl UniqueNames {
    /// Reserves the names in `taken`.
    pub(crate) fn without(taken: &[&str]) -> Self {
        Self {
            used: taken.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Returns `name`, with a number appended when it was issued before.
    pub(crate) fn take(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 2;
        while !self.used.insert(free.clone()) {
            free = format!("{name}_{number}");
            number += 1;
        }
        free
    }

    /// Whether `name` was issued or reserved.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.used.contains(name)
    }
}

/// `name` in the style of types: `create-issue` gives `CreateIssue`.
pub(crate) fn type_name(name: &str) -> String {
    let mut made = String::new();
    let mut begins = true;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            begins = true;
        } else if made.len() < NAME_BYTES_MAX {
            let c = if begins { c.to_ascii_uppercase() } else { c };
            made.push(c);
            begins = false;
        }
    }
    if made.starts_with(|c: char| c.is_ascii_uppercase()) {
        made
    } else {
        format!("T{made}")
    }
}

/// `name` as the name of a Python module: lower case, with `_` for runs of other characters, and never a reserved word.
pub(crate) fn module_name(name: &str) -> String {
    let mut made = String::new();
    for c in name.chars() {
        if made.len() >= NAME_BYTES_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() {
            made.push(c.to_ascii_lowercase());
        } else if !made.ends_with('_') {
            made.push('_');
        }
    }
    if made.is_empty() || made.starts_with(|c: char| c.is_ascii_digit()) {
        made.insert(0, '_');
    }
    if !names::is_python_identifier(&made) {
        made.push('_');
    }
    made
}

/// Attribute for `name` in a stub: `name` itself or its identifier form. `None` when that form has another meaning in
/// a stub.
pub(crate) fn attribute(name: &str) -> Option<String> {
    let mut made = names::identifier(name);
    if !made.is_empty() && !names::is_python_identifier(&made) {
        made.push('_');
    }
    let fits = names::is_python_identifier(&made)
        && !made.starts_with("__")
        && !TAKEN.contains(&made.as_str());
    fits.then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_an_identifier() {
        for (name, kind, module, dotted) in [
            (
                "create_issue",
                "CreateIssue",
                "create_issue",
                Some("create_issue"),
            ),
            ("get-sum", "GetSum", "get_sum", Some("get_sum")),
            ("import", "Import", "import_", Some("import_")),
            ("1mcp", "T1mcp", "_1mcp", Some("_1mcp")),
            (
                "../../etc",
                "Etc",
                "_etc",
                Some("______etc").filter(|_| false),
            ),
            ("", "T", "_", None),
            ("é\n", "T", "_", None),
            ("list", "List", "list", None),
            ("__init__", "Init", "_init_", None),
        ] {
            assert_eq!(type_name(name), kind);
            assert_eq!(module_name(name), module);
            if dotted.is_some() || name.is_empty() || name.starts_with("__") || name == "list" {
                assert_eq!(attribute(name).as_deref(), dotted, "{name}");
            }
        }
        assert!(module_name(&"x".repeat(1_000)).len() <= NAME_BYTES_MAX + 1);
    }

    #[test]
    fn a_name_is_issued_once() {
        let mut names = UniqueNames::without(&["Tool"]);
        let taken: Vec<String> = ["Tool", "A", "A"]
            .iter()
            .map(|name| names.take(name))
            .collect();
        assert_eq!(taken, ["Tool_2", "A", "A_2"]);
    }

    #[test]
    fn a_constant_of_python_is_never_the_name_of_a_type() {
        let mut names = UniqueNames::without(&TAKEN);
        for (name, made) in [("None", "None_2"), ("true", "True_2"), ("class", "Class")] {
            assert_eq!(names.take(&type_name(name)), made);
        }
    }
}
