//! Two packages of npm under one name: `limbeck@VERSION`, a launcher that is the same everywhere, and
//! `limbeck@VERSION-OS-CPU`, the executable of one system, which npm installs where it fits. No script runs at
//! installation.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::system::{SYSTEMS, System};
use super::{REGISTRY_NAME, REPOSITORY, Release, SUMMARY, VERSION};
use crate::command;

/// Builds both.
///
/// # Errors
///
/// When npm is missing, or refuses.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    release.copy("packaging/npm/limbeck.js", "launcher/bin/limbeck.js")?;
    release.copy("packaging/npm/README.md", "launcher/README.md")?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        release.copy(license, &format!("launcher/{license}"))?;
        release.copy(license, &format!("system/{license}"))?;
    }
    release.write("launcher/package.json", pretty(&launcher()))?;

    let executable = format!("bin/{}", release.system.executable_name());
    release.copy_executable(&format!("system/{executable}"))?;
    release.write("system/package.json", pretty(&of_system(release.system)))?;

    Ok(vec![pack(release, "launcher")?, pack(release, "system")?])
}

fn launcher() -> Value {
    let systems: Map<String, Value> = SYSTEMS
        .iter()
        .map(|system| {
            let version = format!("npm:limbeck@{VERSION}-{}", system.node());
            (format!("limbeck-{}", system.node()), Value::from(version))
        })
        .collect();
    let mut package = common(VERSION, SUMMARY);
    package.extend([
        ("mcpName".to_owned(), json!(REGISTRY_NAME)),
        ("bin".to_owned(), json!({ "limbeck": "bin/limbeck.js" })),
        ("engines".to_owned(), json!({ "node": ">=18" })),
        ("optionalDependencies".to_owned(), Value::Object(systems)),
    ]);
    Value::Object(package)
}

fn of_system(system: &System) -> Value {
    let summary = format!("The executable of Limbeck for {}", system.node());
    let mut package = common(&format!("{VERSION}-{}", system.node()), &summary);
    package.insert("os".to_owned(), json!([system.node_os]));
    package.insert("cpu".to_owned(), json!([system.node_cpu]));
    Value::Object(package)
}

fn common(version: &str, description: &str) -> Map<String, Value> {
    let fields = json!({
        "name": "limbeck",
        "version": version,
        "description": description,
        "license": "MIT OR Apache-2.0",
        "repository": { "type": "git", "url": format!("git+{REPOSITORY}.git") },
        "files": ["bin", "LICENSE-APACHE", "LICENSE-MIT"],
    });
    fields.as_object().cloned().unwrap_or_default()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Packs the directory `name`, and returns the file.
fn pack(release: &Release<'_>, name: &str) -> anyhow::Result<PathBuf> {
    let file = command::output(
        Command::new("npm")
            .args(["pack", "--silent", "--pack-destination"])
            .arg(&release.packages)
            .current_dir(release.work.join(name)),
    )?;
    Ok(release.packages.join(file))
}
