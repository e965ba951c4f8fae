//! Facts about the names and calls of a program, found in one walk over its tree.

use std::collections::{HashMap, HashSet};

use ruff_python_ast::{
    Alias, AnyNodeRef, Expr, ExprAttribute, ExprCall, ExprLambda, Operator, StmtAugAssign,
    StmtFunctionDef, StmtImportFrom, StmtTry, StmtWith,
};

use super::names::{last_name, name_of, text};
use super::tree::ProgramTree;

/// The names under which a program finds tools; `mcp_<alias>` are more.
pub(super) const TOOL_ROOTS: [&str; 14] = [
    "tools",
    "call_tool",
    "acall_tool",
    "call_mcp_tool",
    "runtime",
    "mcp_servers",
    "mcp",
    "search",
    "describe",
    "servers",
    "store",
    "discover_mcp_tools",
    "get_tool_schema",
    "search_tools",
];
/// Functions that make a collection.
const MAKERS: [&str; 7] = [
    "dict",
    "list",
    "set",
    "defaultdict",
    "Counter",
    "OrderedDict",
    "deque",
];
/// Methods that give an object members, or take them.
const CHANGERS: [&str; 12] = [
    "update",
    "setdefault",
    "pop",
    "popitem",
    "clear",
    "append",
    "extend",
    "insert",
    "appendleft",
    "extendleft",
    "__setitem__",
    "__setattr__",
];
/// Functions that put an item into the list that is their first argument.
const INTO_FIRST: [&str; 4] = ["heappush", "insort", "insort_left", "insort_right"];

#[derive(Default)]
pub(super) struct ProgramFacts<'a> {
    /// Whether anything in it waits asynchronously.
    pub(super) is_async: bool,
    /// Names it gives values to, in any scope, and how often.
    bound: HashMap<&'a str, u32>,
    /// Calls of what may be a tool, with the root of the called expression.
    pub(super) calls: Vec<(&'a str, &'a ExprCall)>,
    /// Calls of what begins with any other name.
    pub(super) other_calls: HashMap<&'a str, Vec<&'a ExprCall>>,
    /// `from mcp.servers.alias import name as here`.
    pub(super) imports: Vec<&'a StmtImportFrom>,
    /// Parts of `tools` by the names that import statements give them: `import tools as t`, `from tools import s`.
    pub(super) imported_parts: HashMap<&'a str, Vec<&'a str>>,
    /// Statements that may catch what their bodies raise, and calls that may collect it.
    pub(super) tries: Vec<&'a StmtTry>,
    pub(super) withs: Vec<&'a StmtWith>,
    pub(super) gathers: Vec<&'a ExprCall>,
    /// Functions with a name.
    pub(super) functions: HashMap<&'a str, &'a StmtFunctionDef>,
    /// Lambdas that are given a name.
    pub(super) lambdas: HashMap<&'a str, &'a ExprLambda>,
    /// Values that names are given by assignments of their own.
    values: HashMap<&'a str, Vec<&'a Expr>>,
    /// Names that are given a chain of names, as in `s = tools.server`.
    pub(super) chains: HashMap<&'a str, &'a Expr>,
    /// Names of objects that are given members, or lose them; `None` for an object without a name.
    changed: HashSet<Option<&'a str>>,
    /// Members that objects are given, each with the names of the objects.
    assigned: HashMap<&'a str, HashSet<Option<&'a str>>>,
    /// How often a name is given a collection that the program makes.
    made: HashMap<&'a str, u32>,
    /// Names with what is added to them, as in `rows += others`.
    joined: Vec<(&'a str, &'a str)>,
}

impl<'a> ProgramFacts<'a> {
    pub(super) fn new(tree: &ProgramTree<'a>) -> Self {
        let mut facts = Self::default();
        let imported = imported_from_servers(tree);
        for node in tree.nodes() {
            if let AnyNodeRef::ExprCall(call) = node {
                facts.see_call(call, tree.root_of(call), &imported);
            } else {
                facts.see(node);
            }
        }
        facts
    }

    /// How often a name is given a value.
    pub(super) fn times_bound(&self, name: &str) -> u32 {
        self.bound.get(name).copied().unwrap_or(0)
    }

    /// The values that a name is given by assignments of its own.
    pub(super) fn assigned_values(&self, name: &str) -> &[&'a Expr] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether an object that may be a result is given a member, or loses one. What a name has that is only ever
    /// given collections which the program makes is not a result.
    pub(super) fn changes_members(&self) -> bool {
        let made = |name: &str| self.made.get(name).copied().unwrap_or(0);
        self.changed.iter().any(|name| self.may_be_result(*name))
            || self
                .joined
                .iter()
                .any(|(name, added)| made(name) == 0 && made(added) > 0)
    }

    /// Whether an object that may be a result is given a member of this name.
    pub(super) fn assigns_member(&self, member: &str) -> bool {
        let objects = self.assigned.get(member);
        objects.is_some_and(|objects| objects.iter().any(|name| self.may_be_result(*name)))
    }

    fn may_be_result(&self, object: Option<&str>) -> bool {
        object.is_none_or(|name| self.made.get(name).copied().unwrap_or(0) < self.times_bound(name))
    }

    fn assign_member(&mut self, object: &'a Expr, member: &'a str) {
        let objects = self.assigned.entry(member).or_default();
        objects.insert(name_of(object));
    }

    fn bind(&mut self, name: &'a str) {
        *self.bound.entry(name).or_default() += 1;
    }

    fn see(&mut self, node: AnyNodeRef<'a>) {
        match node {
            AnyNodeRef::ExprName(name) if !name.ctx.is_load() => self.bind(&name.id),
            AnyNodeRef::ExprAttribute(node) if !node.ctx.is_load() => {
                self.changed.insert(name_of(&node.value));
                self.assign_member(&node.value, &node.attr.id);
            }
            AnyNodeRef::ExprSubscript(node) if !node.ctx.is_load() => {
                self.changed.insert(name_of(&node.value));
                if let Some(member) = text(&node.slice) {
                    self.assign_member(&node.value, member);
                }
            }
            AnyNodeRef::StmtAssign(node) => {
                if let [target] = node.targets.as_slice() {
                    self.see_value(target, &node.value);
                }
            }
            AnyNodeRef::StmtAnnAssign(node) => {
                if let Some(value) = &node.value {
                    self.see_value(&node.target, value);
                }
            }
            AnyNodeRef::StmtAugAssign(node) => self.see_addition(node),
            AnyNodeRef::StmtFunctionDef(node) => {
                self.is_async |= node.is_async;
                self.bind(&node.name.id);
                self.functions.insert(&node.name.id, node);
            }
            AnyNodeRef::StmtClassDef(node) => self.bind(&node.name.id),
            AnyNodeRef::Parameter(node) => self.bind(&node.name.id),
            AnyNodeRef::ExceptHandlerExceptHandler(node) => {
                self.bind_some(node.name.as_ref().map(|name| &*name.id));
            }
            AnyNodeRef::PatternMatchAs(node) => {
                self.bind_some(node.name.as_ref().map(|name| &*name.id));
            }
            AnyNodeRef::PatternMatchStar(node) => {
                self.bind_some(node.name.as_ref().map(|name| &*name.id));
            }
            AnyNodeRef::PatternMatchMapping(node) => {
                self.bind_some(node.rest.as_ref().map(|name| &*name.id));
            }
            AnyNodeRef::ExprAwait(_) => self.is_async = true,
            AnyNodeRef::Comprehension(node) => self.is_async |= node.is_async,
            AnyNodeRef::StmtFor(node) => self.is_async |= node.is_async,
            AnyNodeRef::StmtTry(node) => self.tries.push(node),
            AnyNodeRef::StmtWith(node) if node.is_async => self.is_async = true,
            AnyNodeRef::StmtWith(node) => self.withs.push(node),
            AnyNodeRef::StmtImport(node) => {
                for alias in &node.names {
                    let package = first_part(&alias.name.id);
                    self.is_async |= package == "asyncio";
                    let here = alias.asname.as_ref().map_or(package, |name| &*name.id);
                    match &*alias.name.id {
                        "tools" => drop(self.imported_parts.insert(here, vec!["tools"])),
                        "limbeck" => drop(self.imported_parts.insert(here, Vec::new())),
                        _ => {}
                    }
                    self.bind(alias.asname.as_ref().map_or(package, |name| &name.id));
                }
            }
            AnyNodeRef::StmtImportFrom(node) => self.see_import_from(node),
            _ => {}
        }
    }

    fn bind_some(&mut self, name: Option<&'a str>) {
        if let Some(name) = name {
            self.bind(name);
        }
    }

    fn see_call(&mut self, call: &'a ExprCall, root: Option<&'a str>, imported: &HashSet<&str>) {
        if let Some(root) = root {
            if TOOL_ROOTS.contains(&root) || root.starts_with("mcp_") || imported.contains(root) {
                self.calls.push((root, call));
            } else {
                self.other_calls.entry(root).or_default().push(call);
            }
        }
        match &*call.func {
            Expr::Attribute(function) if CHANGERS.contains(&&*function.attr.id) => {
                // `dict.update(result, …)`, `list.append(rows, …)`.
                let object = name_of(&function.value).filter(|name| !MAKERS.contains(name));
                self.changed.insert(object);
                self.see_given(function, call);
            }
            _ if root == Some("setattr") => {
                self.changed.insert(None);
            }
            function if last_name(function).is_some_and(|name| INTO_FIRST.contains(&name)) => {
                let list = call.arguments.args.first().and_then(name_of);
                self.changed.insert(list);
            }
            _ => {}
        }
        let names = call.arguments.keywords.iter();
        if names
            .flat_map(|word| &word.arg)
            .any(|name| name.id == "return_exceptions")
        {
            self.gathers.push(call);
        }
    }

    /// Sees the members in `o.update({"a": 1}, b=2)` and `o.setdefault("a", 1)`.
    fn see_given(&mut self, function: &'a ExprAttribute, call: &'a ExprCall) {
        let first = call.arguments.args.first();
        match (&*function.attr.id, first) {
            ("setdefault", Some(name)) => {
                if let Some(member) = text(name) {
                    self.assign_member(&function.value, member);
                }
            }
            ("update", given) => {
                let dict = given.and_then(Expr::as_dict_expr);
                let items = dict.into_iter().flat_map(|dict| &dict.items);
                for key in items.filter_map(|item| item.key.as_ref()) {
                    if let Some(member) = text(key) {
                        self.assign_member(&function.value, member);
                    }
                }
                for word in call.arguments.keywords.iter().flat_map(|word| &word.arg) {
                    self.assign_member(&function.value, &word.id);
                }
            }
            _ => {}
        }
    }

    fn see_value(&mut self, target: &'a Expr, value: &'a Expr) {
        let Some(name) = name_of(target) else { return };
        self.values.entry(name).or_default().push(value);
        match value {
            Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_) => {
                self.chains.insert(name, value);
            }
            Expr::Lambda(lambda) => drop(self.lambdas.insert(name, lambda)),
            value if makes_a_collection(value) => *self.made.entry(name).or_default() += 1,
            _ => {}
        }
    }

    /// `rows += [item]` and `order |= {…}` change the object itself, under all of its names.
    fn see_addition(&mut self, node: &'a StmtAugAssign) {
        let Some(name) = name_of(&node.target) else {
            return;
        };
        if !matches!(node.op, Operator::Add | Operator::BitOr) {
            return;
        }
        if makes_a_collection(&node.value) || is_listing(&node.value) {
            self.changed.insert(Some(name));
            // An own collection stays one.
            *self.made.entry(name).or_default() += 1;
        } else if let Some(added) = name_of(&node.value) {
            self.joined.push((name, added));
        }
    }

    fn see_import_from(&mut self, node: &'a StmtImportFrom) {
        let module = module_of(node);
        self.is_async |= first_part(module) == "asyncio";
        if gives_tools(module) {
            self.imports.push(node);
        }
        if matches!(module, "tools" | "limbeck") {
            for alias in &node.names {
                let name = &*alias.name.id;
                let part = match module {
                    "tools" => vec!["tools", name],
                    _ => vec![name],
                };
                self.imported_parts.insert(given_name(alias), part);
            }
        }
        for alias in &node.names {
            self.bind(given_name(alias));
        }
    }
}

/// The module that names are imported from, without what a relative import begins with.
pub(super) fn module_of(node: &StmtImportFrom) -> &str {
    node.module.as_ref().map_or("", |name| &name.id)
}

/// Whether functions that are imported from `module` call tools: those of `mcp`, and the files that an earlier system
/// generated, `mcp_<server>`.
pub(super) fn gives_tools(module: &str) -> bool {
    first_part(module) == "mcp" || generated_for(module).is_some()
}

/// The server that a generated file is for, by its alias.
pub(super) fn generated_for(module: &str) -> Option<&str> {
    module
        .strip_prefix("mcp_")
        .filter(|alias| !alias.contains('.'))
}

/// The name that an imported name has in the program.
pub(super) fn given_name(alias: &Alias) -> &str {
    &alias.asname.as_ref().unwrap_or(&alias.name).id
}

/// `a` of `a.b.c`.
pub(super) fn first_part(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Whether a value is a collection whose items and members are not followed as those of a result.
fn makes_a_collection(value: &Expr) -> bool {
    match value {
        Expr::List(_)
        | Expr::Tuple(_)
        | Expr::Set(_)
        | Expr::Dict(_)
        | Expr::SetComp(_)
        | Expr::DictComp(_) => true,
        Expr::ListComp(list) => matches!(
            &*list.elt,
            Expr::Dict(_) | Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) | Expr::FString(_)
        ),
        Expr::Call(call) => {
            let is_listed = is_listing(value) && !call.arguments.args.is_empty();
            !is_listed && maker(&call.func).is_some_and(|name| MAKERS.contains(&name))
        }
        _ => false,
    }
}

/// Whether a value lists the items of another: they may be those of a result.
fn is_listing(value: &Expr) -> bool {
    match value {
        Expr::ListComp(_) => true,
        Expr::Call(call) => maker(&call.func) == Some("list"),
        _ => false,
    }
}

/// `list` and `collections.deque`, but not the tool `tools.shop.list`.
fn maker(function: &Expr) -> Option<&str> {
    match function {
        Expr::Attribute(member) if name_of(&member.value) == Some("collections") => {
            Some(&member.attr.id)
        }
        function => name_of(function),
    }
}

/// Names that the top level imports from `mcp.servers.<alias>` and from `mcp_<alias>`.
fn imported_from_servers<'a>(tree: &ProgramTree<'a>) -> HashSet<&'a str> {
    let imports = tree
        .body()
        .iter()
        .filter_map(|node| node.as_import_from_stmt());
    let of_servers = imports.filter(|node| {
        let module = module_of(node);
        module.starts_with("mcp.servers.") || generated_for(module).is_some()
    });
    of_servers
        .flat_map(|node| &node.names)
        .map(given_name)
        .collect()
}
