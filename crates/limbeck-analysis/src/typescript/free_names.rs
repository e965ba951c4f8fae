//! Names that a program uses and does not declare.

use oxc::ast::ast::{ObjectExpression, ObjectPropertyKind, Program, PropertyKey};
use oxc::ast_visit::{Visit, walk};
use oxc::semantic::Scoping;

/// Full names of tools that a program may use as functions.
const FULL_NAMES_MAX: usize = 100;
/// Bytes of one such name.
const FULL_NAME_BYTES_MAX: usize = 300;
/// Names that Python has and JavaScript does not.
const OF_PYTHON: [&str; 12] = [
    "print",
    "len",
    "None",
    "True",
    "False",
    "str",
    "int",
    "range",
    "dict",
    "list",
    "sorted",
    "enumerate",
];
/// Names that JavaScript has and Python does not.
const OF_JAVASCRIPT: [&str; 14] = [
    "console",
    "JSON",
    "Promise",
    "Object",
    "Array",
    "Math",
    "Date",
    "Number",
    "String",
    "undefined",
    "globalThis",
    "parseInt",
    "parseFloat",
    "setTimeout",
];

/// What the names say that nothing in the program declares.
#[derive(Debug, Default)]
pub(super) struct FreeNames {
    /// Names such as `mcp__server__tool`, in order.
    pub(super) full_names: Vec<String>,
    /// Whether the program uses names as Python does. It may still be a mistaken program of this language.
    pub(super) are_like_python: bool,
}

impl FreeNames {
    pub(super) fn of(scoping: &Scoping) -> Self {
        let mut names = Self::default();
        let mut is_javascript = false;
        for (name, references) in scoping.root_unresolved_references() {
            let name = name.as_str();
            is_javascript |= OF_JAVASCRIPT.contains(&name);
            // Programs are strict: an assignment to a name that is not declared throws.
            let is_assigned = || {
                let mut references = references.iter();
                references.any(|reference| scoping.get_reference(*reference).is_write())
            };
            names.are_like_python |= OF_PYTHON.contains(&name) || is_assigned();
            if name.starts_with("mcp__") && name.len() <= FULL_NAME_BYTES_MAX {
                names.full_names.push(name.to_owned());
            }
        }
        names.are_like_python &= !is_javascript;
        names.full_names.sort_unstable();
        names.full_names.truncate(FULL_NAMES_MAX);
        names
    }
}

/// Whether a program has an object whose keys are written without quotes, as in `{ path: "x" }`. Python would read them as
/// variables.
pub(super) fn has_named_keys(program: &Program<'_>) -> bool {
    let mut search = NamedKeys { found: false };
    search.visit_program(program);
    search.found
}

struct NamedKeys {
    found: bool,
}

impl<'a> Visit<'a> for NamedKeys {
    fn visit_object_expression(&mut self, object: &ObjectExpression<'a>) {
        self.found |= object.properties.iter().any(|property| match property {
            // `{ path }` is a set of Python.
            ObjectPropertyKind::ObjectProperty(property) => {
                matches!(property.key, PropertyKey::StaticIdentifier(_)) && !property.shorthand
            }
            ObjectPropertyKind::SpreadProperty(_) => false,
        });
        walk::walk_object_expression(self, object);
    }
}
