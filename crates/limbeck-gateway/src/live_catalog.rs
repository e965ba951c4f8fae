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
mod held;
mod refresh;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use limbeck_catalog::{Catalog, Observed, Tool};
use limbeck_domain::{Expose, ServerName, ToolId};
use limbeck_policy::Scope;
use limbeck_search::SearchableCatalog;
use limbeck_store::Store;
use limbeck_upstream::{UpstreamError, UpstreamPool};
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::task::JoinSet;

use crate::pins;
use crate::pins::judge::PinRules;
use crate::server_source::ServerSource;
pub use held::PinVerdict;
use refresh::log_list_error;
pub(crate) use snapshot::KnownServer;
use snapshot::Snapshot;
pub use snapshot::ToolExtras;

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

type Servers = BTreeMap<ServerName, Arc<Listed>>;

#[derive(Debug)]
struct Inner {
    upstreams: Arc<UpstreamPool>,
    store: Store,
    /// Servers of the configuration. The map is replaced when they change.
    servers: RwLock<Arc<Servers>>,
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
    /// The last list that was received: when, and over which connection.
    received: RwLock<Option<(Instant, Option<u64>)>>,
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
        rules: PinRules,
    ) -> Self {
        let events = upstreams.subscribe();
        let snapshot = Snapshot {
            pin_rules: rules,
            ..Snapshot::default()
        };
        let inner = Arc::new(Inner {
            upstreams,
            store,
            servers: RwLock::default(),
            snapshot: RwLock::new(snapshot),
            starts: Semaphore::new(STARTS_MAX),
            listings: watch::Sender::new(0),
        });
        tokio::spawn(changes::follow(Arc::downgrade(&inner), events));
        // Before the pins are read: what another process changes meanwhile is read again.
        let seen = inner.store.pin_changes().await.ok();
        tokio::spawn(held::follow(Arc::downgrade(&inner), seen));
        let catalog = Self { inner };
        let known = catalog.known(sources).await;
        catalog.change(&[], known, notices);
        catalog
    }

    /// What the store has of `sources`, for [`LiveCatalog::change`].
    pub(crate) async fn known(&self, sources: Vec<ServerSource>) -> Vec<KnownServer> {
        let mut known = Vec::with_capacity(sources.len());
        for source in sources {
            known.push(KnownServer::read(&self.inner.store, source).await);
        }
        known
    }

    /// Takes `removed` out of the catalog and adds `added`, each in the place of a server with its name. `notices` are
    /// sentences about the configuration.
    ///
    /// The pool was changed a moment before, without a wait in between: a list that arrives later is of the new servers.
    pub(crate) fn change(
        &self,
        removed: &[ServerName],
        added: Vec<KnownServer>,
        notices: Vec<String>,
    ) {
        let inner = &self.inner;
        let mut snapshot = inner.write();
        let mut servers = BTreeMap::clone(&inner.servers());
        for name in removed {
            servers.remove(name);
            snapshot.forget(name);
        }
        for known in &added {
            snapshot.forget(known.name());
            servers.insert(known.name().clone(), Arc::new(Listed::new(known)));
        }
        let sources: Vec<&ServerSource> = servers.values().map(|listed| &listed.source).collect();
        let mut absences = absent::absences(&inner.upstreams, &sources, notices);
        absent::add_known_tools(&mut absences, &inner.upstreams, &snapshot.absences, &added);
        for known in added {
            if !absences.servers.contains_key(known.name()) {
                snapshot.add(known);
            }
        }
        snapshot.absences = Arc::new(absences);
        // Under the lock of the snapshot: a list of a server that is gone must not come into it.
        *inner
            .servers
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(servers);
        snapshot.rebuild();
        drop(snapshot);
        inner.listings.send_modify(|listings| *listings += 1);
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
        let servers = self.inner.servers();
        let unlisted: Vec<&ServerName> = servers.keys().filter(|name| !is_known(name)).collect();
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

    /// Wakes those who wait for a change of what clients list.
    pub(crate) fn note_listed(&self) {
        self.inner
            .listings
            .send_modify(|changes| *changes = changes.wrapping_add(1));
    }

    /// Error of the last list request to `server`.
    pub(crate) fn failure(&self, server: &ServerName) -> Option<String> {
        self.inner.read().failures.get(server).cloned()
    }

    /// Time of the last change of each changed tool of `server`, in microseconds since 1970.
    pub(crate) fn changed(&self, server: &ServerName) -> BTreeMap<String, u64> {
        let snapshot = self.inner.read();
        let pins = snapshot.pins.get(server).into_iter().flatten();
        pins.filter_map(|(tool, pin)| Some((tool.clone(), pin.facts.changed_us?)))
            .collect()
    }

    /// Configuration entry of `server`.
    pub(crate) fn source(&self, server: &ServerName) -> Option<ServerSource> {
        let servers = self.inner.servers();
        servers.get(server).map(|listed| listed.source.clone())
    }

    /// What an approval of calls of `tool` is bound to: the tool's definition, and the entry of its server, which says
    /// what program or address gets the call.
    pub(crate) fn pin_of(&self, tool: &Tool) -> String {
        let servers = self.inner.servers();
        let listed = servers.get(&tool.id().server);
        let entry = listed.map(|listed| listed.source.definition_hash.as_str());
        pins::of_approval(tool.definition(), entry.unwrap_or_default())
    }

    /// Whether clients, programs or both see the tools of `server`.
    pub(crate) fn expose(&self, server: &ServerName) -> Option<Expose> {
        let servers = self.inner.servers();
        servers.get(server).map(|listed| listed.source.expose)
    }

    /// Whether result types are learned from the tools of `server`.
    pub(crate) fn observes(&self, server: &ServerName) -> bool {
        let servers = self.inner.servers();
        servers
            .get(server)
            .is_some_and(|listed| listed.source.observe)
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
    pub(crate) fn servers(&self) -> Vec<ServerName> {
        self.inner.servers().keys().cloned().collect()
    }

    /// Names of the servers that may be used, in order.
    pub(crate) fn usable_servers(&self) -> Vec<ServerName> {
        let absences = Arc::clone(&self.inner.read().absences);
        let mut servers = self.servers();
        servers.retain(|name| !absences.servers.contains_key(name));
        servers
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
        let freshness = self.inner.freshness(server);
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
        let freshness = self.inner.freshness(server);
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
        let servers = self.inner.servers();
        for name in self.usable_servers() {
            let Some(listed) = servers.get(&name) else {
                continue;
            };
            match listed.asked.try_lock() {
                Ok(freshness) if *freshness != Freshness::Unknown => {}
                // Another task refreshes a list that is known, for example because a query names the server.
                Err(_) if !catalog.tools_of(&name).is_empty() => {}
                // No list is known, or another task is listing it for the first time.
                Ok(_) | Err(_) => {
                    let since = listed.awaited_since.get_or_init(Instant::now);
                    left = left.max(patience.saturating_sub(since.elapsed()));
                    unknown.push(name);
                }
            }
        }
        self.refresh_all(&unknown, left).await
    }

    /// Waits for the first lists of `servers`, at most `patience` from the time of their requests.
    ///
    /// A server that hangs delays all concurrent callers by the same `patience`, and not one after the other.
    pub(crate) async fn first_lists(&self, servers: &[ServerName], patience: Duration) {
        let all = self.inner.servers();
        let known = servers.iter().filter_map(|name| all.get(name));
        let left = known.map(|listed| match listed.asked.try_lock() {
            Ok(_) => patience,
            Err(_) => patience.saturating_sub(listed.asked_at().elapsed()),
        });
        let left = left.max().unwrap_or_default();
        self.refresh_all(servers, left).await;
    }
}

impl Listed {
    fn new(known: &KnownServer) -> Self {
        Self {
            source: known.source.clone(),
            asked: Mutex::new(match known.cached {
                Some(_) => Freshness::Cached,
                None => Freshness::Unknown,
            }),
            asked_at: RwLock::new(Instant::now()),
            received: RwLock::default(),
            awaited_since: OnceLock::new(),
            renewing: AtomicBool::new(false),
        }
    }

    /// Notes that the list is known over this connection; `None` where it cannot be asked for.
    fn note_received(&self, connection: Option<u64>) {
        let received = Some((Instant::now(), connection));
        *self
            .received
            .write()
            .unwrap_or_else(PoisonError::into_inner) = received;
    }

    fn asked_at(&self) -> Instant {
        *self.asked_at.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn servers(&self) -> Arc<Servers> {
        Arc::clone(&self.servers.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn listed(&self, server: &ServerName) -> Option<Arc<Listed>> {
        self.servers().get(server).cloned()
    }

    /// How old the list of `server` is; `None` while it is asked for.
    fn freshness(&self, server: &ServerName) -> Option<Freshness> {
        let listed = self.listed(server)?;
        let freshness = listed.asked.try_lock().ok()?;
        Some(*freshness)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Snapshot> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Snapshot> {
        self.snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
