//! What is known of every server at one moment, and the catalogue made of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use limbeck_catalog::{Catalog, Observed, ServerTools, Tool};
use limbeck_domain::{ServerName, ToolDefinition};
use limbeck_store::Store;

use crate::ServerSource;
use crate::pins::Pins;

/// By tool, what its definition says beside the parts we use.
pub(crate) type ToolExtras = BTreeMap<String, serde_json::Map<String, serde_json::Value>>;

/// What results taught of the tools of one server.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    /// Names of the tools, under whatever definition: most tools have none, and a hash takes time.
    tools: HashSet<String>,
    /// By the hash of a definition.
    observed: HashMap<String, Observed>,
}

impl Lessons {
    pub(super) fn of(&self, tool: &Tool) -> Option<Observed> {
        if !self.tools.contains(&*tool.id().tool) {
            return None;
        }
        self.observed.get(tool.hash()).cloned()
    }
}

/// What the store remembers of results of a server's tools. What cannot be read is learnt anew.
pub(super) async fn lessons(store: &Store, source: &ServerSource) -> Lessons {
    let kept = store.observations(&source.definition_hash).await;
    let kept = kept.unwrap_or_else(|error| {
        tracing::warn!(server = %source.name, error = &error as &dyn std::error::Error, "what results look like could not be read");
        Vec::new()
    });
    let mut lessons = Lessons::default();
    for observation in kept {
        if let Ok(observed) = serde_json::from_str(&observation.body) {
            lessons.tools.insert(observation.tool);
            lessons.observed.insert(observation.tool_hash, observed);
        }
    }
    lessons
}

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) lists: BTreeMap<ServerName, ServerTools>,
    pub(super) dropped: BTreeMap<ServerName, Vec<String>>,
    pub(super) extras: BTreeMap<ServerName, Arc<ToolExtras>>,
    /// Why the last list of a server could not be had.
    pub(super) failures: BTreeMap<ServerName, String>,
    pub(super) pins: BTreeMap<ServerName, Pins>,
    pub(super) lessons: BTreeMap<ServerName, Lessons>,
    pub(super) catalog: Arc<Catalog>,
}

impl Snapshot {
    pub(super) fn put(
        &mut self,
        name: &ServerName,
        tools: Vec<ToolDefinition>,
        instructions: Option<String>,
    ) {
        let mut list = ServerTools::new(name.clone(), tools, instructions);
        if let Some(lessons) = self.lessons.get(name).filter(|all| !all.tools.is_empty()) {
            list = list.taught(|tool| lessons.of(tool));
        }
        self.lists.insert(name.clone(), list);
    }

    pub(super) fn teach(&mut self, server: &ServerName, news: Vec<(Arc<Tool>, Observed)>) {
        let lessons = self.lessons.entry(server.clone()).or_default();
        let mut hashes = HashSet::with_capacity(news.len());
        for (tool, observed) in news {
            lessons.tools.insert(tool.id().tool.to_string());
            lessons.observed.insert(tool.hash().to_owned(), observed);
            hashes.insert(tool.hash().to_owned());
        }
        let Some(list) = self.lists.get_mut(server) else {
            return;
        };
        // Of the others the signature that was written already is kept.
        let lesson = |tool: &Tool| lessons.of(tool).filter(|_| hashes.contains(tool.hash()));
        *list = list.taught(lesson);
        self.catalog = Arc::new(self.catalog.taught(list.clone()));
    }

    pub(super) fn rebuild(&mut self) {
        self.catalog = Arc::new(Catalog::new(self.lists.values().cloned().collect()));
    }
}
