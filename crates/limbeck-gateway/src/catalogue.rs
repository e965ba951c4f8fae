//! The tools known at this moment: from the cache at start, from the upstreams as they are used.
//!
//! A server with a cached list is not started for it; the list is asked for anew when the server is
//! first called, or when the cached one turns out not to hold a tool. A server never seen before is
//! started when somebody searches or calls. A server that announces a change is asked again in the
//! background, once for all announcements that came meanwhile.

mod changes;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use limbeck_catalog::{Catalog, Observed, Tool};
use limbeck_domain::ServerName;
use limbeck_store::{CachedTools, Store};
use limbeck_upstream::{Pool as UpstreamPool, ToolList, UnusableKind, UpstreamError};
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::task::JoinSet;

use crate::ServerSource;
use crate::clock::now_us;
use crate::pins;
pub(crate) use snapshot::ToolExtras;
use snapshot::{Snapshot, lessons};

/// Servers started side by side for their lists: package runners are heavy, machines are small.
const STARTS_MAX: usize = 4;
/// How long a server waits for such a place. Those that hold one may hang, which must cost nobody else.
const START_QUEUE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub(crate) struct Catalogue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    upstreams: Arc<UpstreamPool>,
    store: Store,
    servers: BTreeMap<ServerName, Listed>,
    snapshot: RwLock<Snapshot>,
    starts: Semaphore,
    /// Lists taken over so far.
    listings: watch::Sender<u64>,
}

#[derive(Debug)]
struct Listed {
    source: ServerSource,
    /// Held while the server is asked, so that one question serves all who wait.
    asked: Mutex<Freshness>,
    /// When it was asked last.
    asked_at: RwLock<Instant>,
    /// When somebody first waited for a list of it: patience with a server that hangs runs out once.
    awaited_since: OnceLock<Instant>,
    /// Somebody waits for `asked` to ask again because of a change.
    renewing: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freshness {
    Unknown,
    Cached,
    Fresh,
}

impl Catalogue {
    /// Reads what the store remembers of `sources`.
    pub(crate) async fn open(
        upstreams: Arc<UpstreamPool>,
        store: Store,
        sources: Vec<ServerSource>,
    ) -> Self {
        let mut servers = BTreeMap::new();
        let mut snapshot = Snapshot::default();
        for source in sources {
            let name = source.name.clone();
            let cached = store.cached_tools(&source.definition_hash).await;
            let cached = cached.unwrap_or_else(|error| {
                tracing::warn!(server = %name, error = &error as &dyn std::error::Error, "cached tools could not be read");
                None
            });
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
                    snapshot.put(&name, Vec::new(), None);
                    Freshness::Unknown
                }
            };
            let asked = Mutex::new(freshness);
            let listed = Listed {
                source,
                asked,
                asked_at: RwLock::new(Instant::now()),
                awaited_since: OnceLock::new(),
                renewing: AtomicBool::new(false),
            };
            servers.insert(name, listed);
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

    /// The tools known now.
    pub(crate) fn snapshot(&self) -> Arc<Catalog> {
        Arc::clone(&self.inner.read().catalog)
    }

    /// Tools of `server` that were left out, each with its reason.
    pub(crate) fn dropped(&self, server: &ServerName) -> Vec<String> {
        self.inner
            .read()
            .dropped
            .get(server)
            .cloned()
            .unwrap_or_default()
    }

    /// What the definitions of `server`'s tools say beside the parts we use; empty until it was asked in this
    /// process.
    pub(crate) fn extras(&self, server: &ServerName) -> Arc<ToolExtras> {
        self.inner
            .read()
            .extras
            .get(server)
            .cloned()
            .unwrap_or_default()
    }

    /// Completes each time some server's tools were listed.
    pub(crate) fn listings(&self) -> watch::Receiver<u64> {
        self.inner.listings.subscribe()
    }

    /// Why the last list of `server` could not be had.
    pub(crate) fn failure(&self, server: &ServerName) -> Option<String> {
        self.inner.read().failures.get(server).cloned()
    }

    /// When the definition of each changed tool of `server` was seen to differ, in microseconds since 1970.
    pub(crate) fn changed(&self, server: &ServerName) -> BTreeMap<String, u64> {
        let snapshot = self.inner.read();
        let pins = snapshot.pins.get(server).into_iter().flatten();
        pins.filter_map(|(tool, pin)| Some((tool.clone(), pin.changed_us?)))
            .collect()
    }

    /// Where the entry of `server` stands.
    pub(crate) fn source(&self, server: &ServerName) -> Option<&ServerSource> {
        self.inner.servers.get(server).map(|listed| &listed.source)
    }

    /// Whether results of the tools of `server` are learnt from.
    pub(crate) fn observes(&self, server: &ServerName) -> bool {
        self.source(server).is_some_and(|source| source.observe)
    }

    /// What results of `tool` taught, under this very definition.
    pub(crate) fn observed(&self, tool: &Tool) -> Option<Observed> {
        let snapshot = self.inner.read();
        snapshot.lessons.get(&tool.id().server)?.of(tool)
    }

    /// Takes over all that is known of results of some tools of one server; the next snapshot shows it.
    pub(crate) fn teach(&self, news: Vec<(Arc<Tool>, Observed)>) {
        let Some((first, _)) = news.first() else {
            return;
        };
        let server = first.id().server.clone();
        self.inner.write().teach(&server, news);
    }

    /// All servers, by name.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &ServerName> {
        self.inner.servers.keys()
    }

    /// Asks `server` for its tools unless it was asked in this process already.
    ///
    /// # Errors
    ///
    /// [`UpstreamError`]; what was known before stays known.
    pub(crate) async fn refresh(&self, server: &ServerName) -> Result<(), UpstreamError> {
        self.inner.refresh(server).await
    }

    /// [`Catalogue::refresh`] without waiting, for a server whose list came from the cache.
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
                told(&server, &error);
            }
        });
    }

    /// [`Catalogue::refresh`] without waiting, unless the server was asked or is being asked.
    pub(crate) fn ask_later(&self, server: &ServerName) {
        let listed = self.inner.servers.get(server);
        let freshness = listed.and_then(|listed| listed.asked.try_lock().ok().map(|f| *f));
        if let Some(Freshness::Unknown | Freshness::Cached) = freshness {
            self.refresh_in_background(server);
        }
    }

    /// Asks every one of `servers` that was not asked in this process, waiting at most `patience`.
    ///
    /// Gives the servers that have not answered yet; they go on in the background.
    pub(crate) async fn refresh_all(
        &self,
        servers: &[ServerName],
        patience: Duration,
    ) -> Vec<ServerName> {
        let mut asking = JoinSet::new();
        for server in servers {
            let (inner, server) = (Arc::clone(&self.inner), server.clone());
            asking.spawn(async move {
                if let Err(error) = inner.refresh(&server).await {
                    told(&server, &error);
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

    /// Starts every server that nothing is known of and waits for their lists, at most `patience`.
    ///
    /// A server is waited for once: later callers get what is left of the first one's patience. Gives
    /// the servers that are still starting; they go on in the background.
    pub(crate) async fn discover(&self, patience: Duration) -> Vec<ServerName> {
        let mut left = Duration::ZERO;
        let mut unknown = Vec::new();
        for (name, listed) in &self.inner.servers {
            match listed.asked.try_lock() {
                Ok(freshness) if *freshness != Freshness::Unknown => {}
                // Nothing is known of it, or somebody is asking it just now.
                Ok(_) | Err(_) => {
                    let since = listed.awaited_since.get_or_init(Instant::now);
                    left = left.max(patience.saturating_sub(since.elapsed()));
                    unknown.push(name.clone());
                }
            }
        }
        self.refresh_all(&unknown, left).await
    }

    /// Waits for the first lists of `servers`, at most `patience` from when they were asked.
    ///
    /// A server that hangs holds up those who come while it is asked once, and not each of them.
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
            instructions,
            extras,
            ..
        } = list?;
        let listed_us = now_us();
        let known = self.read().pins.get(server).cloned().unwrap_or_default();
        let (pins, changed) = pins::renew(known, &tools, listed_us);
        for tool in changed {
            tracing::warn!(%server, tool, "a tool is not what it was when it was last listed");
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
        self.replace(server, cached, dropped, extras);
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
        dropped: Vec<String>,
        extras: ToolExtras,
    ) {
        let mut snapshot = self.write();
        snapshot.pins.insert(server.clone(), list.pins);
        snapshot.put(server, list.tools, list.instructions);
        snapshot.dropped.insert(server.clone(), dropped);
        snapshot.extras.insert(server.clone(), Arc::new(extras));
        snapshot.rebuild();
        drop(snapshot);
        self.listings.send_modify(|listings| *listings += 1);
    }
}

/// Tells the operator of a list that could not be had. A server that its user has not accepted is no fault: whoever
/// asks for it is told, and `limbeck tools` shows it.
fn told(server: &ServerName, error: &UpstreamError) {
    let waits =
        matches!(error, UpstreamError::Unusable(why) if why.kind == UnusableKind::Untrusted);
    let error = error as &dyn std::error::Error;
    if waits {
        tracing::debug!(%server, error, "tools could not be listed");
    } else {
        tracing::warn!(%server, error, "tools could not be listed");
    }
}
