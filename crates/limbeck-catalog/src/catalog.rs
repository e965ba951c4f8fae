//! Snapshot of all tools known at one moment: servers by name, with their tools.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use limbeck_domain::{ServerName, ToolId};
use sha2::{Digest as _, Sha256};

use crate::absence::{Absences, AbsentServer};
use crate::server::ServerTools;
use crate::tool::Tool;

/// Every tool known at one moment. Share it behind `Arc`; a change is a new snapshot.
#[derive(Debug, Default)]
pub struct Catalog {
    servers: BTreeMap<ServerName, ServerTools>,
    fingerprint: OnceLock<u32>,
    absences: Arc<Absences>,
    /// Whether servers may have been left out, so that one without servers does not mean an empty configuration.
    is_part: bool,
}

impl Catalog {
    /// Takes the servers. Order does not matter; of two entries with one name the last is kept.
    ///
    /// Cheap in the number of servers: the tools are shared with the snapshots before.
    pub fn new(servers: Vec<ServerTools>) -> Self {
        let servers = servers
            .into_iter()
            .map(|server| (server.name().clone(), server))
            .collect();
        Self {
            servers,
            fingerprint: OnceLock::new(),
            absences: Arc::default(),
            is_part: false,
        }
    }

    /// Adds the servers that must not be used, and sentences about the configuration.
    #[must_use]
    pub fn with_absences(self, absences: Arc<Absences>) -> Self {
        Self { absences, ..self }
    }

    /// The servers that must not be used, and sentences about the configuration.
    pub fn absences(&self) -> &Arc<Absences> {
        &self.absences
    }

    /// Whether the configuration has no server at all, usable or not.
    pub(crate) fn has_no_server(&self) -> bool {
        !self.is_part && self.servers.is_empty() && self.absences.servers.is_empty()
    }

    /// Why the server with exactly this name must not be used.
    pub(crate) fn absent(&self, name: &str) -> Option<&AbsentServer> {
        self.absences.servers.get(&ServerName::from(name))
    }

    /// Replaces one server by the same server with more observations ([`ServerTools::with_observations`]).
    #[must_use]
    pub fn with_observations(&self, server: ServerTools) -> Self {
        let mut servers = self.servers.clone();
        servers.insert(server.name().clone(), server);
        Self {
            servers,
            fingerprint: self.fingerprint.clone(),
            absences: Arc::clone(&self.absences),
            is_part: self.is_part,
        }
    }

    /// Keeps only the tools for which `keep` returns true. Names, suggestions and scores of the result do not depend on
    /// the hidden tools. Returns this snapshot itself when every tool is kept.
    pub fn only(self: &Arc<Self>, keep: impl Fn(&ToolId) -> bool) -> Arc<Self> {
        if self.tools().all(|tool| keep(tool.id())) {
            return Arc::clone(self);
        }
        let servers = self.servers().map(|server| server.only(&keep));
        Arc::new(Self::new(servers.collect()).with_absences(Arc::clone(&self.absences)))
    }

    /// The catalog of a caller that may call only the tools for which `covers` returns true, of the servers for which
    /// `reaches` does. What it says about any other name does not depend on whether that is a tool here.
    pub fn within(
        &self,
        reaches: impl Fn(&ServerName) -> bool,
        covers: impl Fn(&ToolId) -> bool,
    ) -> Self {
        let servers = self.servers().filter(|server| reaches(server.name()));
        let servers = servers.map(|server| server.only(&covers)).collect();
        let mut absences = Absences::clone(&self.absences);
        absences.servers.retain(|name, _| reaches(name));
        for (name, absence) in &mut absences.servers {
            let tools = absence.tools.iter().cloned();
            absence.tools = tools
                .filter(|tool| covers(&ToolId::new(name.clone(), Arc::clone(tool))))
                .collect();
        }
        Self {
            is_part: true,
            ..Self::new(servers).with_absences(Arc::new(absences))
        }
    }

    /// Hash of the tools' names, titles and descriptions. A search with another fingerprint may have other results.
    pub fn fingerprint(&self) -> u32 {
        *self.fingerprint.get_or_init(|| {
            // Each text is preceded by its length, so that no two lists of texts have the same bytes.
            let mut hasher = Sha256::new();
            for definition in self.tools().map(|tool| tool.definition()) {
                for text in [
                    definition.id.server.as_str(),
                    &definition.id.tool,
                    definition.title.as_deref().unwrap_or_default(),
                    definition.description.as_deref().unwrap_or_default(),
                ] {
                    hasher.update((text.len() as u64).to_le_bytes());
                    hasher.update(text);
                }
            }
            let [one, two, three, four, ..] = <[u8; 32]>::from(hasher.finalize());
            u32::from_le_bytes([one, two, three, four])
        })
    }

    /// Servers by name, with or without tools.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &ServerTools> {
        self.servers.values()
    }

    /// The server with exactly this name.
    pub fn server(&self, name: &ServerName) -> Option<&ServerTools> {
        self.servers.get(name)
    }

    /// All tools: by server name, then in the order the server listed them.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.servers.values().flat_map(|server| server.tools())
    }

    /// Tools of `server` in its own order; empty when it is unknown.
    pub fn tools_of(&self, server: &ServerName) -> &[Arc<Tool>] {
        self.server(server).map_or(&[], ServerTools::tools)
    }

    /// The tool with exactly this name and server.
    pub fn tool(&self, id: &ToolId) -> Option<&Arc<Tool>> {
        self.server(&id.server)?.tool(&id.tool)
    }
}
