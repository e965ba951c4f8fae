//! Finds circles of imports between the source files of a crate.
//!
//! Files that import each other in a circle can only be read together, so no circle has more than
//! [`FILES_MAX`] files. An import is a `use` of a path that begins with `crate`, `self` or `super`; a name that
//! a module re-exports counts as an import of the file that has it. What a module imports of its own
//! submodules is left out, because a parent and its children are one unit of Rust. Test modules are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::bail;

/// Files that a circle may have.
const FILES_MAX: usize = 4;
/// Circles that are larger, by the crate and the start of the paths of all of their modules, with the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "limbeck-worker",
    "python",
    "the WASI imports are methods of the state of a guest, which has their parts as fields",
)];

/// A module: the segments of its path below the root of its crate.
type Module = Vec<String>;

/// Imports and re-exports of one crate.
#[derive(Default)]
struct Crate {
    /// Paths of each module's imports, absolute below the root of the crate.
    imports: BTreeMap<Module, Vec<Vec<String>>>,
    /// Where a re-exported name of a module comes from.
    exports: BTreeMap<(Module, String), Vec<String>>,
}

/// Checks the sources of every crate.
///
/// # Errors
///
/// When a crate has a circle above the limit, with its files.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let sources = entry?.path().join("src");
        if !sources.is_dir() {
            continue;
        }
        let mut read = Crate::default();
        collect(&sources, &mut Vec::new(), &mut read)?;
        for circle in circles(&read.edges()) {
            let is_exception = EXCEPTIONS.iter().any(|(name, start, _)| {
                sources.parent().is_some_and(|path| path.ends_with(name))
                    && circle
                        .iter()
                        .all(|module| module.first().is_some_and(|first| first == start))
            });
            if is_exception {
                continue;
            }
            let names: Vec<_> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!(
                "{}: {} files: {}",
                sources.display(),
                names.len(),
                names.join(", ")
            ));
        }
    }
    if !found.is_empty() {
        bail!("files import each other in circles:\n{}", found.join("\n"));
    }
    Ok(())
}

/// Reads every module below `dir`, which has the path `module`.
fn collect(dir: &Path, module: &mut Module, read: &mut Crate) -> anyhow::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name == "tests" || name == "bin" {
            continue;
        }
        let is_root = matches!(name.as_str(), "mod" | "lib" | "main");
        if !is_root {
            module.push(name);
        }
        if path.is_dir() {
            collect(&path, module, read)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            read.add(module, &fs::read_to_string(&path)?);
        }
        if !is_root {
            module.pop();
        }
    }
    Ok(())
}

impl Crate {
    fn add(&mut self, module: &Module, text: &str) {
        let text = text.split("#[cfg(test)]").next().unwrap_or(text);
        let imports = self.imports.entry(module.clone()).or_default();
        for (is_export, tree) in uses(text) {
            for path in leaves(&tree) {
                let path = absolute(module, &path);
                if let (true, Some(name)) = (is_export, path.last()) {
                    let key = (module.clone(), name.clone());
                    self.exports.insert(key, path.clone());
                }
                imports.push(path);
            }
        }
    }

    /// The modules that each module imports from.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let edges = self.imports.iter().map(|(module, imports)| {
            let targets = imports
                .iter()
                .map(|path| self.owner(path))
                .filter(|target| !target.starts_with(module))
                .collect();
            (module.clone(), targets)
        });
        edges.collect()
    }

    /// The module whose file has the item at `path`.
    fn owner(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        // A re-export may lead to another one; a chain is never this long.
        for _ in 0..8 {
            let length = (0..=path.len())
                .rev()
                .find(|length| self.imports.contains_key(&path[..*length]))
                .unwrap_or(0);
            let module = path[..length].to_vec();
            let Some(name) = path.get(length) else {
                return module;
            };
            match self.exports.get(&(module.clone(), name.clone())) {
                Some(target) if *target != path => path.clone_from(target),
                _ => return module,
            }
        }
        Vec::new()
    }
}

/// The `use` declarations of `text`: whether each is a re-export, and its tree.
fn uses(text: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let line_start = rest[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = rest[line_start..at].trim();
        rest = &rest[at + 4..];
        if !(before.is_empty() || before == "pub" || before.starts_with("pub(")) {
            continue;
        }
        let Some(end) = rest.find(';') else { break };
        let tree: String = rest[..end].split_whitespace().collect::<Vec<_>>().join(" ");
        found.push((!before.is_empty(), tree));
        rest = &rest[end..];
    }
    found
}

/// The paths in the tree of one `use`, without what they are renamed to.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let (prefix, group) = match tree.split_once('{') {
        Some((prefix, rest)) => (
            prefix,
            rest.rsplit_once('}').map_or(rest, |(inner, _)| inner),
        ),
        None => (tree, ""),
    };
    let segments = |path: &str| -> Vec<String> {
        let path = path.split(" as ").next().unwrap_or(path);
        let parts = path.split("::").map(str::trim);
        parts
            .filter(|part| !part.is_empty() && *part != "self")
            .map(str::to_owned)
            .collect()
    };
    // `self` at the start is a path of this module, and not the module before a brace.
    let mut base = segments(prefix);
    if prefix.trim_start().starts_with("self::") {
        base.insert(0, "self".to_owned());
    }
    if group.is_empty() && !tree.contains('{') {
        return vec![base];
    }
    let mut paths = Vec::new();
    for part in split_at_commas(group) {
        for leaf in leaves(part.trim()) {
            paths.push(base.iter().cloned().chain(leaf).collect());
        }
    }
    paths
}

/// Splits `group` at the commas that are in no inner braces.
fn split_at_commas(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// `path`, as written in `module`, from the root of the crate. A path into another crate becomes one below
/// `module`, where no file has it.
fn absolute(module: &Module, path: &[String]) -> Vec<String> {
    let mut base = match path.first().map(String::as_str) {
        Some("crate") => Vec::new(),
        _ => module.clone(),
    };
    let mut rest = path;
    while let Some(first) = rest.first() {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => {
                base.pop();
            }
            _ => break,
        }
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    base
}

/// The circles with more than [`FILES_MAX`] files: groups of modules that all reach each other.
fn circles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = edges
        .keys()
        .map(|from| (from, reach(edges, from)))
        .collect();
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for module in edges.keys() {
        if !done.insert(module) {
            continue;
        }
        let circle: BTreeSet<&Module> = reached[module]
            .iter()
            .copied()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(module)))
            .collect();
        done.extend(&circle);
        if circle.len() > FILES_MAX {
            found.push(circle.into_iter().cloned().collect());
        }
    }
    found
}

/// Every module that can be reached from `from` by one import or more.
fn reach<'a>(edges: &'a BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = edges.get(from).into_iter().flatten().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(edges.get(module).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::{Crate, circles};

    fn module(path: &str) -> Vec<String> {
        path.split("::").map(str::to_owned).collect()
    }

    fn read(files: &[(&str, &str)]) -> Crate {
        let mut read = Crate::default();
        read.add(&Vec::new(), "mod a;");
        for (path, text) in files {
            read.add(&module(path), text);
        }
        read
    }

    #[test]
    fn five_files_in_a_circle_are_found_and_four_are_not() {
        let mut files = vec![
            ("a", "use crate::b::B;"),
            ("b", "use crate::{c::{C, D}, std::X};"),
            ("c", "use super::d;"),
            ("d", "use crate::a::A;"),
        ];
        assert!(circles(&read(&files).edges()).is_empty());
        files[3] = ("d", "use crate::e::E;");
        files.push(("e", "use crate::a::A;"));
        let found = circles(&read(&files).edges());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].len(), 5);
    }

    #[test]
    fn a_name_that_is_exported_again_leads_to_the_file_that_has_it() {
        let files = [
            ("a", "pub(crate) use b::Inner;"),
            ("a::b", "struct Inner;"),
            ("c", "use crate::a::Inner;"),
        ];
        let edges = read(&files).edges();
        assert!(edges[&module("c")].contains(&module("a::b")));
        assert!(!edges[&module("c")].contains(&module("a")));
    }
}
