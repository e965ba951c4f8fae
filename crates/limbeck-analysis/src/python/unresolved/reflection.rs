//! Ways of Python to reach names, frames, modules and code that are not followed.

use std::collections::HashSet;

use ruff_python_ast::{
    AnyNodeRef, CmpOp, ExprAttribute, ExprCall, ExprCompare, ExprName, StmtImportFrom,
};

use super::super::facts::{ProgramFacts, first_part, given_name, module_of};
use super::super::names::{name_of, text};
use super::super::tree::{NodeId, ProgramTree, id};
use super::scopes::Scopes;

/// Functions that every program has and that run no text and find no name.
const HARMLESS: &[&str] = &[
    "abs",
    "aiter",
    "all",
    "anext",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "complex",
    "dict",
    "dir",
    "divmod",
    "enumerate",
    "exit",
    "filter",
    "float",
    "format",
    "frozenset",
    "hash",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "quit",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "zip",
    "Ellipsis",
    "NotImplemented",
    "__name__",
    "__file__",
    "__doc__",
    "__debug__",
    "__build_class__",
];
/// Functions that run text or find names. That another function has a parameter of the name changes nothing.
const REFLECTING: &[&str] = &[
    "eval",
    "exec",
    "compile",
    "__import__",
    "globals",
    "locals",
    "vars",
    "breakpoint",
    "getattr",
    "setattr",
    "delattr",
    "hasattr",
];
/// Ends of the names of exceptions.
const EXCEPTIONS: &[&str] = &[
    "Error",
    "Exception",
    "Warning",
    "Group",
    "Exit",
    "Iteration",
    "Interrupt",
];
/// Names of the guest beside those that reach tools.
const OF_GUEST: &[&str] = &[
    "search",
    "describe",
    "servers",
    "store",
    "discover_mcp_tools",
    "get_tool_schema",
    "search_tools",
    "artifacts",
    "emit",
    "budget",
    "save_tool",
    "llm",
    "ToolError",
    "MCPError",
];
/// Attributes with two underscores that give no namespace, frame or module.
const HARMLESS_ATTRIBUTES: &[&str] = &[
    "__name__",
    "__qualname__",
    "__doc__",
    "__module__",
    "__class__",
    "__init__",
    "__new__",
    "__post_init__",
    "__init_subclass__",
    "__version__",
    "__annotations__",
    "__all__",
    "__len__",
    "__iter__",
    "__next__",
    "__str__",
    "__repr__",
    "__eq__",
    "__hash__",
    "__lt__",
    "__contains__",
    "__getitem__",
    "__setitem__",
    "__enter__",
    "__exit__",
    "__aenter__",
    "__aexit__",
    "__cause__",
    "__context__",
    "__traceback__",
    "__notes__",
    "__members__",
    "__dataclass_fields__",
    "__slots__",
];
/// Other attributes that give one, or that evaluate text.
const REFLECTING_ATTRIBUTES: &[&str] = &[
    "_getframe",
    "_current_frames",
    "_getframemodulename",
    "f_globals",
    "f_locals",
    "f_back",
    "f_builtins",
    "tb_frame",
    "gi_frame",
    "cr_frame",
    "ag_frame",
    "attrgetter",
    "methodcaller",
    "get_field",
    "get_type_hints",
    "get_annotations",
    "evaluate_forward_ref",
    "ForwardRef",
    "import_module",
    "settrace",
    "setprofile",
];
/// Modules whose functions run no text and import nothing that a program names.
const HARMLESS_MODULES: &[&str] = &[
    "__future__",
    "abc",
    "array",
    "asyncio",
    "base64",
    "binascii",
    "bisect",
    "calendar",
    "cmath",
    "collections",
    "colorsys",
    "concurrent",
    "contextlib",
    "contextvars",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "email",
    "enum",
    "fnmatch",
    "fractions",
    "functools",
    "glob",
    "graphlib",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "locale",
    "math",
    "mimetypes",
    "numbers",
    "operator",
    "os",
    "pathlib",
    "pprint",
    "queue",
    "random",
    "re",
    "secrets",
    "shlex",
    "statistics",
    "string",
    "struct",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "urllib",
    "uuid",
    "warnings",
    "xml",
    "zlib",
    "zoneinfo",
];
/// Modules of the guest; what is imported from them is followed by its name.
const OF_GUEST_MODULES: &[&str] = &["tools", "limbeck", "mcp"];
/// Names by which these modules hold other modules. `path` of `os` and `abc` of `collections` are not here.
const MODULES_IN_MODULES: &[&str] = &[
    "_sys",
    "_os",
    "_thread",
    "atexit",
    "bltns",
    "builtins",
    "codecs",
    "copyreg",
    "encodings",
    "gc",
    "importlib",
    "inspect",
    "linecache",
    "os",
    "platform",
    "signal",
    "subprocess",
    "sys",
    "sysconfig",
    "threading",
    "types",
    "weakref",
];
/// What a program may use of `sys`.
const OF_SYS: &[&str] = &[
    "argv",
    "byteorder",
    "executable",
    "exit",
    "float_info",
    "getrecursionlimit",
    "getsizeof",
    "maxsize",
    "maxunicode",
    "path",
    "platform",
    "setrecursionlimit",
    "stderr",
    "stdin",
    "stdout",
    "version",
    "version_info",
];

/// Names that import statements give to modules and to what is in them.
pub(super) struct ImportedModules<'a> {
    modules: HashSet<&'a str>,
    parts: HashSet<&'a str>,
    /// Names of `sys`.
    sys: HashSet<&'a str>,
}

impl<'a> ImportedModules<'a> {
    pub(super) fn new(tree: &ProgramTree<'a>) -> Self {
        let mut imported = Self {
            modules: HashSet::new(),
            parts: HashSet::new(),
            sys: HashSet::new(),
        };
        for node in tree.nodes() {
            match node {
                AnyNodeRef::StmtImport(node) => {
                    for alias in &node.names {
                        let package = first_part(&alias.name.id);
                        let here = alias.asname.as_ref().map_or(package, |name| &*name.id);
                        if OF_GUEST_MODULES.contains(&package) {
                            continue;
                        }
                        imported.modules.insert(here);
                        if package == "sys" {
                            imported.sys.insert(here);
                        }
                    }
                }
                AnyNodeRef::StmtImportFrom(node)
                    if !OF_GUEST_MODULES.contains(&first_part(module_of(node))) =>
                {
                    imported.parts.extend(node.names.iter().map(given_name));
                }
                _ => {}
            }
        }
        imported
    }

    /// Whether an attribute of what was imported is another module, or a part of `sys` that finds names.
    pub(super) fn reaches_module(&self, tree: &ProgramTree<'a>, node: &'a ExprAttribute) -> bool {
        let attribute = &&*node.attr.id;
        if name_of(&node.value).is_some_and(|name| self.sys.contains(name)) {
            return !OF_SYS.contains(attribute);
        }
        let root = tree.root_of(node);
        let is_imported = |root: &str| self.modules.contains(root) || self.parts.contains(root);
        root.is_some_and(is_imported) && MODULES_IN_MODULES.contains(attribute)
    }

    /// Whether a module is used as a value, which is not followed.
    pub(super) fn is_passed_on(&self, tree: &ProgramTree<'a>, name: &'a ExprName) -> bool {
        let is_base = |node: AnyNodeRef<'_>| matches!(node, AnyNodeRef::ExprAttribute(node) if id(&*node.value) == id(name));
        self.modules.contains(&*name.id) && !tree.parent_node(id(name)).is_some_and(is_base)
    }
}

/// Whether an import brings a module that can run text or find names.
pub(super) fn is_unknown_module(module: &str) -> bool {
    let package = first_part(module);
    let is_exact = matches!(module, "tools" | "limbeck") || package == "mcp";
    let is_known =
        HARMLESS_MODULES.contains(&package) || OF_GUEST_MODULES.contains(&package) && is_exact;
    // `logging.config` imports what it is given the name of.
    !is_known && module != "logging"
}

/// Whether names are imported that can run text or find names, or names that are not in the text.
pub(super) fn imports_unknown(node: &StmtImportFrom) -> bool {
    let module = module_of(node);
    if node.level > 0 || is_unknown_module(module) {
        return true;
    }
    let is_of_guest = OF_GUEST_MODULES.contains(&first_part(module));
    node.names.iter().any(|alias| {
        let name = &*alias.name.id;
        if is_of_guest {
            return name == "*";
        }
        let is_other_module = MODULES_IN_MODULES.contains(&name) && module != name;
        is_other_module || is_reflecting(name) || module == "sys" && !OF_SYS.contains(&name)
    })
}

/// Whether an attribute gives a namespace, a frame or a module.
pub(super) fn is_reflecting(attribute: &str) -> bool {
    REFLECTING_ATTRIBUTES.contains(&attribute)
        || attribute.starts_with("__")
            && attribute.ends_with("__")
            && !HARMLESS_ATTRIBUTES.contains(&attribute)
}

/// Whether a name that the program does not explain may be a function that runs text, finds names or was saved by
/// an earlier program.
pub(super) fn may_be_anything<'a>(
    tree: &ProgramTree<'a>,
    facts: &ProgramFacts<'a>,
    scopes: &Scopes<'a>,
    name: &ExprName,
) -> bool {
    let text = &*name.id;
    let times = facts.times_bound(text);
    let is_explained = if REFLECTING.contains(&text) {
        times > 0 && scopes.is_own(tree, name)
    } else {
        times > 0 && scopes.explain(tree, name, times)
    };
    if is_explained || OF_GUEST.contains(&text) {
        return false;
    }
    let parent = tree.parent_node(id(name));
    if matches!(text, "getattr" | "delattr" | "setattr" | "hasattr") {
        return match parent {
            Some(AnyNodeRef::ExprCall(call)) if id(&*call.func) == id(name) => {
                !names_a_harmless_attribute(call)
            }
            _ => true,
        };
    }
    let is_exception =
        text.starts_with(char::is_uppercase) && EXCEPTIONS.iter().any(|end| text.ends_with(end));
    if HARMLESS.contains(&text) || is_exception {
        return false;
    }
    if let Some(AnyNodeRef::ExprAttribute(_)) = parent {
        // A module that is not imported; a function is not called by its attributes.
        return text == "builtins" || text.starts_with("__");
    }
    !is_annotation(tree, id(name))
}

/// `getattr(value, "name")`.
fn names_a_harmless_attribute(call: &ExprCall) -> bool {
    match call.arguments.args.as_ref() {
        [_, name, ..] => text(name).is_some_and(|name| !is_reflecting(name)),
        _ => false,
    }
}

/// Whether a name is a part of a type that is written beside a name. Types are not evaluated.
fn is_annotation(tree: &ProgramTree<'_>, name: NodeId) -> bool {
    for (node, below) in tree.climb(name) {
        match node {
            AnyNodeRef::Parameter(_) => return true,
            AnyNodeRef::StmtAnnAssign(node) => return id(&*node.annotation) == below,
            AnyNodeRef::StmtFunctionDef(node) => {
                let returns = node.returns.as_deref();
                return returns.is_some_and(|returns| id(returns) == below);
            }
            AnyNodeRef::ExprCall(_) => return false,
            _ => {}
        }
    }
    false
}

/// Names of attributes in patterns: `case object(__globals__=names)`.
pub(super) fn pattern_reflects(node: AnyNodeRef<'_>) -> bool {
    matches!(node, AnyNodeRef::PatternKeyword(node) if is_reflecting(&node.attr.id))
}

/// Whether a comparison calls no method of its parts that is given the other: `is`, and `in`.
pub(super) fn only_compares(node: &ExprCompare) -> bool {
    let mut operators = node.ops.iter();
    operators.all(|operator| {
        matches!(
            operator,
            CmpOp::In | CmpOp::Is | CmpOp::IsNot | CmpOp::NotIn
        )
    })
}
