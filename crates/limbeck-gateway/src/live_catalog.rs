//! Current tools of all servers: from the cache at start, from the servers as they are used.
//!
//! A server with a cached list is not started to list its tools; they are listed again when the server is first
//! called, or when the cached list lacks a tool. A server without a cached list is started by the first search
//! or call. A server that announces a change is listed again in the background, once for all changes announced
//! meanwhile.
//!
//! A server that is disabled or not trusted is absent: it is never started, and its cached tools are not used. Only their
//! names are read where it is disabled: a name without a server may mean one of them.

mod absent;
mod changes;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use limbeck_catalog::{Catalog, Observed, Tool};
use limbeck_domain::{ServerName, ToolId};
use limbeck_policy::Scope;
use limbeck_search::SearchableCatalog;
use limbeck_store::{CachedTools, Store};
use limbeck_upstream::{ToolList, UnusableKind, UpstreamError, UpstreamPool};
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::task::JoinSet;

use crate::clock::now_us;
use crate::pins;
use crate::server_source::ServerSource;
pub use snapshot::ToolExtras;
use snapshot::{Snapshot, cached_list, lessons};

/// How long a search, a check or a call waits for servers that were never listed: package runners download.
pub(crate) const FIRST_LIST_TIMEOUT: Duration = Duration::from_secs(15);
/// Servers started at the same time for their lists: package runners are heavy.
const STARTS_MAX: usize = 4;
/// Time that a start waits for its turn. It then goes ahead: a server that hangs must not block the others.
const START_QUEUE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct LiveCatalog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    upstreams: Arc<UpstreamPool>,
    store: Store,
    servers: BTreeMap<ServerName, Listed>,
    snapshot: RwLock<Snapshot>,
    starts: Semaphore,
    /// Number of lists received.
    listings: watch::Sender<u64>,
}

#[derive(Debug)]
struct Listed {
    source: ServerSource,
    /// Locked while the server is listed, so that concurrent callers share one request.
    asked: Mutex<Freshness>,
    /// Time of the last list request.
    asked_at: RwLock<Instant>,
    /// Time when a search first waited for its list: all searches together wait once for a server that hangs.
    awaited_since: OnceLock<Instant>,
    /// Whether a task waits for `asked` to list the server again after a change.
    renewing: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freshness {
    Unknown,
    Cached,
    Fresh,
}

impl LiveCatalog {
    /// Opens the catalog with the cached tools of `sources`. `notices` are sentences about the configuration.
    pub(crate) async fn open(
        upstreams: Arc<UpstreamPool>,
        store: Store,
        sources: Vec<ServerSource>,
        notices: Vec<String>,
    ) -> Self {
        let mut servers = BTreeMap::new();
        let mut absences = absent::absences(&upstreams, &sources, notices);
        absent::add_known_tools(&mut absences, &upstreams, &store, &sources).await;
        let mut snapshot = Snapshot {
            absences: Arc::new(absences),
            ..Snapshot::default()
        };
        for source in sources {
            let name = source.name.clone();
            if snapshot.absences.servers.contains_key(&name) {
                servers.insert(name, Listed::new(source, Freshness::Unknown));
                continue;
            }
            if !source.tool_rules.allow_everything() {
                let rules = source.tool_rules.clone();
                snapshot.rules.insert(name.clone(), rules);
            }
            let cached = cached_list(&store, &source).await;
            if source.observe {
                let lessons = lessons(&store, &source).await;
                snapshot.lessons.insert(name.clone(), lessons);
            }
            let freshness = match cached {
                Some(cached) => {
                    snapshot.pins.insert(name.clone(), cached.pins);
                    snapshot.put(&name, cached.tools, cached.instructions);
                    Freshness::Cached
                }
                None => {
                    snapshot.put_unlisted(&name);
                    Freshness::Unknown
                }
            };
            servers.insert(name, Listed::new(source, freshness));
        }
        snapshot.rebuild();
        let events = upstreams.subscribe();
        let inner = Arc::new(Inner {
            upstreams,
            store,
            servers,
            snapshot: RwLock::new(snapshot),
            starts: Semaphore::new(STARTS_MAX),
            listings: watch::Sender::new(0),
        });
        tokio::spawn(changes::follow(Arc::downgrade(&inner), events));
        Self { inner }
    }

    /// The current tools.
    pub fn snapshot(&self) -> Arc<Catalog> {
        Arc::clone(self.inner.read().catalog.catalog())
    }

    /// Patterns of `scope` that match no tool. A server that was never listed may have any tool.
    pub(crate) fn unmatched_patterns<'s>(&self, scope: &'s Scope) -> Vec<&'s str> {
        if scope.is_everything() {
            return Vec::new();
        }
        let inner = self.inner.read();
        let catalog = inner.catalog.catalog();
        let is_known = |name: &&ServerName| {
            !catalog.tools_of(name).is_empty() || inner.absences.servers.contains_key(*name)
        };
        let names = self.inner.servers.keys();
        let unlisted: Vec<&ServerName> = names.filter(|name| !is_known(name)).collect();
        let tools: Vec<&ToolId> = catalog.tools().map(|tool| tool.id()).collect();
        scope.unmatched(&tools, &unlisted)
    }

    /// A pattern of `scope` that is the full name of several tools, and these tools. A server without known tools may have
    /// any tool.
    pub(crate) fn ambiguous_pattern<'s>(&self, scope: &'s Scope) -> Option<(&'s str, Vec<ToolId>)> {
        let catalog = self.snapshot();
        scope.ambiguous_pattern(|tool| {
            let server = catalog.server(&tool.server);
            server.is_some_and(|server| {
                server.tools().is_empty() || server.tool(&tool.tool).is_some()
            })
        })
    }

    /// The tools known now, ready to be searched.
    pub fn searchable(&self) -> SearchableCatalog {
        self.inner.read().catalog.clone()
    }

    /// Tools of `server` that were rejected, each with its reason.
    pub(crate) fn dropped(&self, server: &ServerName) -> Vec<String> {
        self.inner
            .read()
            .dropped
            .get(server)
            .cloned()
            .unwrap_or_default()
    }

    /// Why the list of `server`'s tools was cut; `None` for a whole list.
    pub(crate) fn cut(&self, server: &ServerName) -> Option<String> {
        let snapshot = self.inner.read();
        let is_cut = snapshot.cut.contains(server);
        let dropped = snapshot.dropped.get(server).filter(|_| is_cut);
        dropped?.last().cloned()
    }

    /// Members of the definitions of `server`'s tools that the gateway does not use; empty until the server was
    /// listed in this process.
    pub(crate) fn extras(&self, server: &ServerName) -> Arc<ToolExtras> {
        self.inner
            .read()
            .extras
            .get(server)
            .cloned()
            .unwrap_or_default()
    }

    /// Changes each time a server's tools were listed.
    pub fn listings(&self) -> watch::Receiver<u64> {
        self.inner.listings.subscribe()
    }

    /// Error of the last list request to `server`.
    pub(crate) fn failure(&self, server: &ServerName) -> Option<String> {
        self.inner.read().failures.get(server).cloned()
    }

    /// Time of the last change of each changed tool of `server`, in microseconds since 1970.
    pub(crate) fn changed(&self, server: &ServerName) -> BTreeMap<String, u64> {
        let snapshot = self.inner.read();
        let pins = snapshot.pins.get(server).into_iter().flatten();
        pins.filter_map(|(tool, pin)| Some((tool.clone(), pin.changed_us?)))
            .collect()
    }

    /// Configuration entry of `server`.
    pub(crate) fn source(&self, server: &ServerName) -> Option<&ServerSource> {
        self.inner.servers.get(server).map(|listed| &listed.source)
    }

    /// Whether result types are learned from the tools of `server`.
    pub(crate) fn observes(&self, server: &ServerName) -> bool {
        self.source(server).is_some_and(|source| source.observe)
    }

    /// Result type observed for `tool` with this definition.
    pub(crate) fn observed(&self, tool: &Tool) -> Option<Observed> {
        let snapshot = self.inner.read();
        snapshot.lessons.get(&tool.id().server)?.of(tool)
    }

    /// Sets the observed result types of some tools of one server; the next snapshot has them.
    pub(crate) fn teach(&self, news: Vec<(Arc<Tool>, Observed)>) {
        let Some((first, _)) = news.first() else {
            return;
        };
        let server = first.id().server.clone();
        self.inner.write().teach(&server, news);
    }

    /// Names of all servers, in order, absent ones included.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &ServerName> {
        self.inner.servers.keys()
    }

    /// Names of the servers that may be used, in order.
    pub(crate) fn usable_servers(&self) -> impl Iterator<Item = &ServerName> {
        let absences = Arc::clone(&self.inner.read().absences);
        self.servers()
            .filter(move |name| !absences.servers.contains_key(*name))
    }

    /// Lists the tools of `server` unless that was done in this process already.
    ///
    /// # Errors
    ///
    /// [`UpstreamError`]; the known tools stay.
    pub(crate) async fn refresh(&self, server: &ServerName) -> Result<(), UpstreamError> {
        self.inner.refresh(server).await
    }

    /// Starts [`LiveCatalog::refresh`] in the background for a server whose list came from the cache.
    pub(crate) fn refresh_later(&self, server: &ServerName) {
        let listed = self.inner.servers.get(server);
        let freshness = listed.and_then(|listed| listed.asked.try_lock().ok().map(|f| *f));
        if freshness == Some(Freshness::Cached) {
            self.refresh_in_background(server);
        }
    }

    fn refresh_in_background(&self, server: &ServerName) {
        let (inner, server) = (Arc::clone(&self.inner), server.clone());
        tokio::spawn(async move {
            if let Err(error) = inner.refresh(&server).await {
                log_list_error(&server, &error);
            }
        });
    }

    /// Starts [`LiveCatalog::refresh`] in the background, unless the server was listed or is being listed.
    pub fn ask_later(&self, server: &ServerName) {
        let listed = self.inner.servers.get(server);
        let freshness = listed.and_then(|listed| listed.asked.try_lock().ok().map(|f| *f));
        if let Some(Freshness::Unknown | Freshness::Cached) = freshness {
            self.refresh_in_background(server);
        }
    }

    /// Lists every server of `servers` that was not listed in this process, and waits at most `patience`.
    ///
    /// Returns the servers that have not answered yet; their requests continue in the background.
    pub async fn refresh_all(&self, servers: &[ServerName], patience: Duration) -> Vec<ServerName> {
        let mut asking = JoinSet::new();
        for server in servers {
            let (inner, server) = (Arc::clone(&self.inner), server.clone());
            asking.spawn(async move {
                if let Err(error) = inner.refresh(&server).await {
                    log_list_error(&server, &error);
                }
                server
            });
        }
        let mut waiting = servers.to_vec();
        let all = async {
            while let Some(listed) = asking.join_next().await {
                if let Ok(server) = listed {
                    waiting.retain(|name| *name != server);
                }
            }
        };
        let finished = tokio::time::timeout(patience, all).await;
        if finished.is_err() {
            asking.detach_all();
        }
        waiting
    }

    /// Starts every server without a known list and waits for the lists, at most `patience`.
    ///
    /// Each server is waited for once: later callers wait for the rest of the first caller's time. Returns the
    /// servers that are still starting; they continue in the background.
    pub(crate) async fn discover(&self, patience: Duration) -> Vec<ServerName> {
        let mut left = Duration::ZERO;
        let mut unknown = Vec::new();
        let catalog = self.snapshot();
        for name in self.usable_servers() {
            let listed = &self.inner.servers[name];
            match listed.asked.try_lock() {
                Ok(freshness) if *freshness != Freshness::Unknown => {}
                // Another task refreshes a list that is known, for example because a query names the server.
                Err(_) if !catalog.tools_of(name).is_empty() => {}
                // No list is known, or another task is listing it for the first time.
                Ok(_) | Err(_) => {
                    let since = listed.awaited_since.get_or_init(Instant::now);
                    left = left.max(patience.saturating_sub(since.elapsed()));
                    unknown.push(name.clone());
                }
            }
        }
        self.refresh_all(&unknown, left).await
    }

    /// Waits for the first lists of `servers`, at most `patience` from the time of their requests.
    ///
    /// A server that hangs delays all concurrent callers by the same `patience`, and not one after the other.
    pub(crate) async fn first_lists(&self, servers: &[ServerName], patience: Duration) {
        let known = servers
            .iter()
            .filter_map(|name| self.inner.servers.get(name));
        let left = known.map(|listed| match listed.asked.try_lock() {
            Ok(_) => patience,
            Err(_) => patience.saturating_sub(listed.asked_at().elapsed()),
        });
        let left = left.max().unwrap_or_default();
        self.refresh_all(servers, left).await;
    }
}

impl Listed {
    fn new(source: ServerSource, freshness: Freshness) -> Self {
        Self {
            source,
            asked: Mutex::new(freshness),
            asked_at: RwLock::new(Instant::now()),
            awaited_since: OnceLock::new(),
            renewing: AtomicBool::new(false),
        }
    }

    fn asked_at(&self) -> Instant {
        *self.asked_at.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Snapshot> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn refresh(&self, server: &ServerName) -> Result<(), UpstreamError> {
        let Some(listed) = self.servers.get(server) else {
            return Ok(());
        };
        let mut freshness = listed.asked.lock().await;
        if *freshness == Freshness::Fresh {
            return Ok(());
        }
        *listed
            .asked_at
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let _start = tokio::time::timeout(START_QUEUE, self.starts.acquire()).await;
        let list = self.upstreams.list_tools(server).await;
        self.note_failure(server, list.as_ref().err());
        let ToolList {
            tools,
            dropped,
            is_cut,
            instructions,
            extras,
            ..
        } = list?;
        let listed_us = now_us();
        let known = self.read().pins.get(server).cloned().unwrap_or_default();
        let (pins, changed) = pins::renew(known, &tools, listed_us);
        for tool in changed {
            tracing::warn!(%server, tool, "the definition of a tool changed since it was last listed");
        }
        let cached = CachedTools {
            tools,
            instructions,
            listed_us,
            pins,
        };
        if let Err(error) = self
            .store
            .cache_tools(&listed.source.definition_hash, &cached)
            .await
        {
            tracing::warn!(%server, error = &error as &dyn std::error::Error, "tools could not be cached");
        }
        self.replace(server, cached, (dropped, is_cut), extras);
        *freshness = Freshness::Fresh;
        Ok(())
    }
}

impl Inner {
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Snapshot> {
        self.snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn note_failure(&self, server: &ServerName, error: Option<&UpstreamError>) {
        let mut snapshot = self.write();
        match error {
            Some(error) => snapshot.failures.insert(server.clone(), error.to_string()),
            None => snapshot.failures.remove(server),
        };
    }

    fn replace(
        &self,
        server: &ServerName,
        list: CachedTools,
        (dropped, is_cut): (Vec<String>, bool),
        extras: ToolExtras,
    ) {
        let mut snapshot = self.write();
        snapshot.pins.insert(server.clone(), list.pins);
        snapshot.put(server, list.tools, list.instructions);
        snapshot.dropped.insert(server.clone(), dropped);
        if is_cut {
            snapshot.cut.insert(server.clone());
        } else {
            snapshot.cut.remove(server);
        }
        snapshot.extras.insert(server.clone(), Arc::new(extras));
        snapshot.rebuild();
        drop(snapshot);
        self.listings.send_modify(|listings| *listings += 1);
    }
}

/// Logs a failed list request. A server that is disabled or that its user has not accepted yet is logged as debug: its
/// callers get an error, and `limbeck tools` shows it. So is the end of the gateway, which is no failure of a server.
///
/// The warning has a target of its own, because commands that name such servers themselves leave it out of their log.
fn log_list_error(server: &ServerName, error: &UpstreamError) {
    let is_expected = match error {
        UpstreamError::Disabled | UpstreamError::Stopped => true,
        UpstreamError::Unusable(unusable) => unusable.kind == UnusableKind::Untrusted,
        _ => false,
    };
    let error = error as &dyn std::error::Error;
    if is_expected {
        tracing::debug!(%server, error, "tools could not be listed");
    } else {
        tracing::warn!(target: "limbeck_gateway::unavailable", %server, error, "tools could not be listed");
    }
}
