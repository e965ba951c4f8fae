//! The snapshot: servers by name, their tools, and the search index over them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use limbeck_domain::{ServerName, Sites, ToolId, ToolTarget};
use sha2::{Digest as _, Sha256};

use crate::check::{self, Caller, Findings};
use crate::resolve::{self, ResolveError, Resolved, Suggest};
use crate::search::{self, Index, SearchAnswer, SearchQuery};
use crate::server::ServerTools;
use crate::tool::Tool;

/// Every tool known at one moment. Share it behind `Arc`; a change is a new snapshot.
#[derive(Debug, Default)]
pub struct Catalog {
    servers: BTreeMap<ServerName, ServerTools>,
    /// Shared with snapshots that differ in what results taught alone.
    index: Arc<OnceLock<Index>>,
    fingerprint: OnceLock<u32>,
}

impl Catalog {
    /// Takes the servers. Order does not matter; of two entries with one name the last is kept.
    ///
    /// Cheap in the number of servers: the tools are shared with the snapshots before, and the search
    /// index is built by the first search.
    pub fn new(servers: Vec<ServerTools>) -> Self {
        let servers = servers
            .into_iter()
            .map(|server| (server.name().clone(), server))
            .collect();
        Self {
            servers,
            index: Arc::default(),
            fingerprint: OnceLock::new(),
        }
    }

    /// The same tools, where `server` holds those of its own that results taught more ([`ServerTools::taught`]).
    ///
    /// Cheap: search looks at definitions alone, so its index stays.
    #[must_use]
    pub fn taught(&self, server: ServerTools) -> Self {
        let mut servers = self.servers.clone();
        servers.insert(server.name().clone(), server);
        Self {
            servers,
            index: Arc::clone(&self.index),
            fingerprint: self.fingerprint.clone(),
        }
    }

    /// The snapshot as it is for somebody for whom only those tools exist that `keep` keeps: names, nearest
    /// names and scores tell nothing of the others. The snapshot itself when nothing is left out.
    pub fn only(self: &Arc<Self>, keep: impl Fn(&ToolId) -> bool) -> Arc<Self> {
        if self.tools().all(|tool| keep(tool.id())) {
            return Arc::clone(self);
        }
        let servers = self.servers().map(|server| server.only(&keep));
        Arc::new(Self::new(servers.collect()))
    }

    /// A number that changes when the names or the texts of the tools do, and with them what is found and in
    /// which order.
    pub fn fingerprint(&self) -> u32 {
        *self.fingerprint.get_or_init(|| {
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

    /// The servers by name, with or without tools.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &ServerTools> {
        self.servers.values()
    }

    /// One server, by its exact name.
    pub fn server(&self, name: &ServerName) -> Option<&ServerTools> {
        self.servers.get(name)
    }

    /// All tools: by server name, then in the order the server listed them.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.servers.values().flat_map(|server| server.tools())
    }

    /// The tools of `server` in its own order; none when it is unknown.
    pub fn tools_of(&self, server: &ServerName) -> &[Arc<Tool>] {
        self.server(server).map_or(&[], ServerTools::tools)
    }

    /// One tool, by its exact names.
    pub fn tool(&self, id: &ToolId) -> Option<&Arc<Tool>> {
        self.server(&id.server)?.tool(&id.tool)
    }

    /// The tool a program means.
    ///
    /// With a server, exact names come first, then other styles of them: `readFile` or `read-file` for
    /// `read_file`. Without one, `target.tool` is a full name: `mcp__server__tool`, `server.tool` or
    /// `server/tool`, where the longest server name that fits wins.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], with the nearest names there are. A style that fits two names is an error too.
    pub fn resolve(&self, target: &ToolTarget) -> Result<Resolved, ResolveError> {
        resolve::resolve(self, target, Suggest::Nearest)
    }

    /// The server a program means, by the same rules as [`Catalog::resolve`].
    ///
    /// # Errors
    ///
    /// [`ResolveError`], never one of its tool variants.
    pub fn resolve_server(&self, name: &str) -> Result<ServerName, ResolveError> {
        resolve::server(self, name, Suggest::Nearest).map(|(server, _)| server.name().clone())
    }

    /// The servers a check of `sites` has to know the tools of and does not; by name.
    ///
    /// Of a server that has never answered nothing can be said. Ask these for their lists first; those
    /// that do not answer are left out by [`Catalog::judge`].
    pub fn servers_needed(&self, sites: &Sites) -> Vec<ServerName> {
        check::servers_needed(self, sites)
    }

    /// Judges the calls that stand in a program before it runs.
    ///
    /// An error is told of a call that would surely be refused: its tool is not there or not allowed, or
    /// no arguments that agree with what stands in the text would be accepted. When all of its
    /// arguments are constants the verdict is exactly that of [`Tool::validate`]. Names are resolved as
    /// [`Catalog::resolve`] does. At most [`FINDINGS_MAX`](limbeck_domain::limits::FINDINGS_MAX) errors are
    /// told, by line and column, and the rest is counted.
    pub fn judge(&self, sites: &Sites, caller: &Caller<'_>) -> Findings {
        check::judge(self, sites, caller)
    }

    /// Ranks tools against `query`, best first.
    ///
    /// Query text over [`QUERY_BYTES_MAX`](limbeck_domain::limits::QUERY_BYTES_MAX) is cut. Without a word
    /// in it all tools fit, in catalogue order. Scores compare only within one answer; ties break by id.
    pub fn search(&self, query: &SearchQuery<'_>) -> SearchAnswer {
        self.index().search(self, query)
    }

    /// The servers that `text` names, in any style, as [`Catalog::search`] understands it.
    pub fn servers_named(&self, text: &str) -> Vec<ServerName> {
        search::servers_named(self, text)
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(self))
    }
}
