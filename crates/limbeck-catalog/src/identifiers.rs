//! Names of types, modules and attributes, made of names that may hold anything.

use std::collections::HashSet;

use crate::names;

/// Bytes of a made name, its number not counted; a path of a file holds it.
const NAME_BYTES_MAX: usize = 60;

/// Names a stub needs for itself: what it imports, the types it names, and the words of Python that are
/// written like types.
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

/// Names of one kind, each given out once.
#[derive(Debug)]
pub(crate) struct Names {
    used: HashSet<String>,
}

impl Names {
    /// No name but `taken` is used yet.
    pub(crate) fn without(taken: &[&str]) -> Self {
        Self {
            used: taken.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// `name`, or with a number behind it when it is used already.
    pub(crate) fn take(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 2;
        while !self.used.insert(free.clone()) {
            free = format!("{name}_{number}");
            number += 1;
        }
        free
    }

    /// Whether a type is called `name`, or may not be.
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

/// `name` as the name of a module: lower case, runs of other characters `_`, none of Python's words.
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

/// How `name` may be written behind a dot in a stub: as it is, else in its identifier form. `None` when
/// that form could be taken for something else there.
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
    fn whatever_a_name_holds_it_becomes_an_identifier() {
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
    fn a_name_is_given_out_once() {
        let mut names = Names::without(&["Tool"]);
        let taken: Vec<String> = ["Tool", "A", "A"]
            .iter()
            .map(|name| names.take(name))
            .collect();
        assert_eq!(taken, ["Tool_2", "A", "A_2"]);
    }

    #[test]
    fn a_word_of_python_is_no_name_of_a_type() {
        let mut names = Names::without(&TAKEN);
        for (name, made) in [("None", "None_2"), ("true", "True_2"), ("class", "Class")] {
            assert_eq!(names.take(&type_name(name)), made);
        }
    }
}
