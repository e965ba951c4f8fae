//! `server.json`: what the registry of MCP servers knows of Limbeck, and where its packages are.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{REGISTRY_NAME, REPOSITORY, Release, SUMMARY, VERSION, sha256};

/// Writes it.
///
/// # Errors
///
/// When no bundle was built.
pub(super) fn build(release: &Release<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let mut packages = vec![
        json!({
            "registryType": "npm",
            "registryBaseUrl": "https://registry.npmjs.org",
            "identifier": "limbeck",
            "version": VERSION,
            "runtimeHint": "npx",
            "transport": { "type": "stdio" },
        }),
        json!({
            "registryType": "pypi",
            "registryBaseUrl": "https://pypi.org",
            "identifier": "limbeck",
            "version": VERSION,
            "runtimeHint": "uvx",
            "transport": { "type": "stdio" },
        }),
    ];
    for bundle in release.built(&format!("limbeck-{VERSION}-"), ".mcpb")? {
        let name = bundle
            .file_name()
            .and_then(|name| name.to_str())
            .context("name of a bundle")?;
        packages.push(json!({
            "registryType": "mcpb",
            "identifier": format!("{REPOSITORY}/releases/download/v{VERSION}/{name}"),
            "fileSha256": sha256(&bundle)?,
            "transport": { "type": "stdio" },
        }));
    }
    let server = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": REGISTRY_NAME,
        "title": "Limbeck",
        "description": SUMMARY,
        "version": VERSION,
        "repository": { "url": REPOSITORY, "source": "github" },
        "packages": Value::Array(packages),
    });
    let path = release.packages.join("server.json");
    std::fs::write(&path, format!("{server:#}\n"))?;
    Ok(vec![path])
}
