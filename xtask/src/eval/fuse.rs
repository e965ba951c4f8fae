//! The second baseline: fuse.js, with the options of the earlier system S1.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use limbeck_captures::{Capture, Labelled};
use serde::Deserialize;
use serde_json::json;

use crate::tools;

/// What fuse.js answered.
pub(super) struct Fuse {
    found: HashMap<String, Vec<String>>,
    /// Mean time of a query.
    pub(super) milliseconds: f64,
}

#[derive(Deserialize)]
struct Answer {
    found: Vec<Vec<String>>,
    milliseconds: f64,
}

impl Fuse {
    /// Asks it all `queries` at once, in a process of Node.
    pub(super) fn ask(
        root: &Path,
        captures: &[Capture],
        queries: &[Labelled],
    ) -> anyhow::Result<Self> {
        let installed = tools::install_fuse(root)?;
        let definitions = captures.iter().flat_map(Capture::definitions);
        let listed: Vec<_> = definitions
            .map(|tool| {
                json!({
                    "server": tool.id.server,
                    "tool": tool.id.tool,
                    "description": tool.description.unwrap_or_default(),
                })
            })
            .collect();
        let texts: Vec<&str> = queries.iter().map(|labelled| &*labelled.query).collect();
        let mut node = Command::new("node")
            .arg(installed)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start node")?;
        let asked = serde_json::to_vec(&json!({"tools": listed, "queries": texts}))?;
        node.stdin
            .take()
            .context("standard input of node")?
            .write_all(&asked)?;
        let output = node.wait_with_output()?;
        ensure!(output.status.success(), "fuse.js failed: {}", output.status);
        let Answer {
            found,
            milliseconds,
        } = serde_json::from_slice(&output.stdout)?;
        ensure!(
            found.len() == queries.len(),
            "fuse.js answered other queries"
        );
        let texts = texts.into_iter().map(str::to_owned);
        Ok(Self {
            found: texts.zip(found).collect(),
            milliseconds,
        })
    }

    pub(super) fn search(&self, query: &str) -> Vec<String> {
        self.found.get(query).cloned().unwrap_or_default()
    }
}
