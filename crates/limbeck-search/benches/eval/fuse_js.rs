//! Baseline: fuse.js, with the options of the earlier system S1.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use limbeck_captures::{Capture, LabeledQuery};
use serde::Deserialize;
use serde_json::json;

/// Answers of fuse.js to all queries.
pub(crate) struct FuseJs {
    found: HashMap<String, Vec<String>>,
    /// Mean time of a query.
    pub(crate) milliseconds: f64,
}

#[derive(Deserialize)]
struct Answer {
    found: Vec<Vec<String>>,
    milliseconds: f64,
}

impl FuseJs {
    /// Runs `script` in Node, once for all `queries`.
    pub(crate) fn ask(
        script: &Path,
        captures: &[Capture],
        queries: &[LabeledQuery],
    ) -> anyhow::Result<Self> {
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
        let texts: Vec<&str> = queries.iter().map(|labeled| &*labeled.query).collect();
        let mut node = Command::new("node")
            .arg(script)
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

    pub(crate) fn search(&self, query: &str) -> Vec<String> {
        self.found.get(query).cloned().unwrap_or_default()
    }
}
