//! Compares the dependencies between the workspace's crates with the table in ARCHITECTURE.md, and the crates of the
//! product with those that the release profile optimises for speed.
//!
//! Each row of the table under "## Crates" begins with the name of a crate in backquotes, without `limbeck-`,
//! and its second column lists in backquotes the crates it may depend on. The check fails for a
//! dependency that the table lacks and for a row whose dependency is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use crate::command;

/// The crates that each crate may depend on, by names without `limbeck-`.
type Edges = BTreeMap<String, BTreeSet<String>>;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` or `build`; `None` for a dependency of the library or executable.
    kind: Option<String>,
    path: Option<String>,
}

/// Crates of the product that run before or after a program only: the command line, its configuration, and the guests,
/// which are machine code already.
const NOT_IN_THE_PATH: [&str; 3] = ["limbeck", "setup", "guests"];

/// Compares the manifests with the table, and the release profile with the crates of the product.
///
/// # Errors
///
/// When they differ, with every difference.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let allowed = documented(&fs::read_to_string(root.join("ARCHITECTURE.md"))?)?;
    let found = found(root)?;
    let mut differences = Vec::new();
    for name in allowed.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        match (allowed.get(name), found.get(name)) {
            (Some(allowed), Some(found)) => {
                for more in found.difference(allowed) {
                    differences.push(format!("{name} depends on {more}, which its row lacks"));
                }
                for less in allowed.difference(found) {
                    differences.push(format!(
                        "{name} does not depend on {less}, which its row has"
                    ));
                }
            }
            (None, _) => differences.push(format!("{name} has no row")),
            (_, None) => differences.push(format!("{name} has a row and is not in the workspace")),
        }
    }
    if !differences.is_empty() {
        bail!(
            "ARCHITECTURE.md and the manifests differ:\n{}",
            differences.join("\n")
        );
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let slow = without_level(&found, &manifest);
    ensure!(
        slow.is_empty(),
        "Cargo.toml names no opt-level under [profile.release.package] for crates in the path of programs: {}",
        slow.join(", ")
    );
    Ok(())
}

/// Crates in the path of programs that the release profile would optimise for size, as it does by default.
fn without_level(edges: &Edges, manifest: &str) -> Vec<String> {
    let section = manifest.split_once("\n[profile.release.package]\n");
    let section = section.map_or("", |(_, behind)| behind);
    let section = section.split("\n[").next().unwrap_or(section);
    let mut linked = BTreeSet::from(["limbeck"]);
    let mut queue = vec!["limbeck"];
    while let Some(name) = queue.pop() {
        for next in edges.get(name).into_iter().flatten() {
            if linked.insert(next) {
                queue.push(next);
            }
        }
    }
    let linked = linked.into_iter();
    linked
        .filter(|name| !NOT_IN_THE_PATH.contains(name))
        .filter(|name| {
            // Other keys may follow.
            let level = format!("limbeck-{name} = {{ opt-level = 3");
            let is_level = |line: &str| {
                line.strip_prefix(&*level)
                    .is_some_and(|rest| rest.starts_with([',', ' ']))
            };
            !section.lines().any(is_level)
        })
        .map(str::to_owned)
        .collect()
}

fn documented(text: &str) -> anyhow::Result<Edges> {
    let table = text
        .split_once("\n## Crates\n")
        .context("ARCHITECTURE.md has no section `## Crates`")?
        .1;
    let table = table.split("\n## ").next().unwrap_or(table);
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let edges: Edges = rows
        .filter_map(|row| {
            let mut columns = row.trim_matches('|').split('|');
            let name = quoted(columns.next()?).next()?.to_owned();
            let edges = quoted(columns.next()?).map(str::to_owned).collect();
            Some((name, edges))
        })
        .collect();
    ensure!(
        !edges.is_empty(),
        "`## Crates` of ARCHITECTURE.md has no rows"
    );
    Ok(edges)
}

/// The parts of `text` between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn found(root: &Path) -> anyhow::Result<Edges> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root);
    let metadata: Metadata = serde_json::from_str(&command::output(&mut cargo)?)?;
    let short = |name: &str| name.strip_prefix("limbeck-").unwrap_or(name).to_owned();
    let edges = metadata.packages.iter().map(|package| {
        let ours = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.path.is_some() && dependency.kind.is_none());
        let names = ours.map(|dependency| short(&dependency.name)).collect();
        (short(&package.name), names)
    });
    Ok(edges.collect())
}

#[cfg(test)]
mod tests {
    use super::{documented, without_level};

    #[test]
    fn a_crate_in_the_path_of_programs_has_a_level_of_its_own() {
        let edges = "## Crates\n| `limbeck` | `setup`, `server` |\n| `server` | `domain` |\n| `xtask` | |\n";
        let edges = documented(&format!("\n{edges}")).expect("the section is there");
        let manifest = |crates: &str| {
            format!(
                "\n[profile.release.package]\n{crates}\n[other]\nlimbeck-domain = {{ opt-level = 3 }}\n"
            )
        };
        let server = "limbeck-server = { opt-level = 3 }\n";
        assert_eq!(without_level(&edges, &manifest(server)), ["domain"]);
        let other = "limbeck-domain = { opt-level = 31 }\n";
        assert_eq!(
            without_level(&edges, &manifest(&format!("{other}{server}"))),
            ["domain"]
        );
        // The control: both have one.
        let both = format!("limbeck-domain = {{ opt-level = 3, codegen-units = 1 }}\n{server}");
        assert!(without_level(&edges, &manifest(&both)).is_empty());
    }

    #[test]
    fn rows_are_read_with_the_crates_in_their_second_column() {
        let text = "# A\n\n## Crates\n\n| crate | may use | |\n|---|---|---|\n| `wire` | `domain` | frames |\n| `domain` | | ids, `x` |\n\n## Rest\n| `no` | `row` |\n";
        let edges = documented(text).expect("the section is there");
        assert_eq!(edges.len(), 2);
        assert!(edges["wire"].contains("domain"));
        assert!(edges["domain"].is_empty());
    }
}
