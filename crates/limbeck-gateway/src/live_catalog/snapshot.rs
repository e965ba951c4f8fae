//! Current tool lists of all servers, and the catalog made from them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use limbeck_catalog::{Absences, Catalog, Observed, ServerTools, Tool};
use limbeck_domain::{ServerName, ToolDefinition, ToolRules};
use limbeck_search::SearchableCatalog;
use limbeck_store::{CachedTools, Store};

use crate::pins::Pins;
use crate::pins::judge::{Judged, PinRules, judge};
use crate::pins::names::KnownNames;
use crate::server_source::ServerSource;

/// Members of definitions that the gateway does not use, by tool.
pub type ToolExtras = BTreeMap<String, serde_json::Map<String, serde_json::Value>>;

/// Result types observed for the tools of one server.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    /// Names of tools with observations, checked first: most tools have none, and hashing a definition takes time.
    tools: HashSet<String>,
    /// Observations by the hash of the tool's definition.
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

/// A server of the configuration and what the store has of it.
pub(crate) struct KnownServer {
    pub(super) source: ServerSource,
    /// Its list of an earlier time.
    pub(super) cached: Option<CachedTools>,
    /// Pins of its tools; `None` before its first list.
    pins: Option<Pins>,
    /// Result types observed of its tools; `None` where none are learnt.
    lessons: Option<Lessons>,
}

impl KnownServer {
    /// Reads what the store has of a server.
    pub(super) async fn read(store: &Store, source: ServerSource) -> Self {
        Self {
            cached: cached_list(store, &source).await,
            pins: stored_pins(store, &source).await,
            lessons: match source.observe {
                true => Some(lessons(store, &source).await),
                false => None,
            },
            source,
        }
    }

    pub(super) fn name(&self) -> &ServerName {
        &self.source.name
    }
}

/// Reads stored observations of a server's tools. Unreadable ones are skipped, so their types are learned again.
async fn lessons(store: &Store, source: &ServerSource) -> Lessons {
    let kept = store.observations(&source.definition_hash).await;
    let kept = kept.unwrap_or_else(|error| {
        tracing::warn!(server = %source.name, error = &error as &dyn std::error::Error, "observed result types could not be read");
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

/// Reads the pins of a server. Where they cannot be read, its tools are judged when they are listed next.
pub(super) async fn stored_pins(store: &Store, source: &ServerSource) -> Option<Pins> {
    let stored = store.tool_pins(&source.definition_hash).await;
    let stored = stored.unwrap_or_else(|error| {
        tracing::warn!(server = %source.name, error = &error as &dyn std::error::Error, "pins could not be read");
        None
    });
    let by_name = |pin: limbeck_store::ToolPin| (pin.tool.clone(), pin);
    stored.map(|pins| pins.into_iter().map(by_name).collect())
}

/// Reads the cached list of a server. An unreadable one is left out, so the server is listed again.
async fn cached_list(store: &Store, source: &ServerSource) -> Option<CachedTools> {
    let cached = store.cached_tools(&source.definition_hash).await;
    cached.unwrap_or_else(|error| {
        tracing::warn!(server = %source.name, error = &error as &dyn std::error::Error, "cached tools could not be read");
        None
    })
}

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// Every list without the tools that are held.
    pub(super) lists: BTreeMap<ServerName, ServerTools>,
    /// The lists with those tools, as their servers sent them.
    pub(super) whole: BTreeMap<ServerName, ServerTools>,
    /// What decides which tools are held.
    pub(super) pin_rules: PinRules,
    /// What was decided, for tools that are not as they were accepted.
    pub(super) judged: BTreeMap<ServerName, BTreeMap<Arc<str>, Judged>>,
    pub(super) dropped: BTreeMap<ServerName, Vec<String>>,
    /// Servers whose lists were cut.
    pub(super) cut: BTreeSet<ServerName>,
    pub(super) extras: BTreeMap<ServerName, Arc<ToolExtras>>,
    /// Error of a server's last list request.
    pub(super) failures: BTreeMap<ServerName, String>,
    pub(super) pins: BTreeMap<ServerName, Pins>,
    pub(super) lessons: BTreeMap<ServerName, Lessons>,
    /// Rules of each server's entry about its tools; absent where every tool is allowed.
    pub(super) rules: BTreeMap<ServerName, ToolRules>,
    pub(super) absences: Arc<Absences>,
    pub(super) catalog: SearchableCatalog,
}

impl Snapshot {
    /// Adds a server that may be used.
    pub(super) fn add(&mut self, known: KnownServer) {
        let KnownServer {
            source,
            cached,
            pins,
            lessons,
        } = known;
        let name = source.name;
        if !source.tool_rules.allow_everything() {
            self.rules.insert(name.clone(), source.tool_rules);
        }
        if let Some(lessons) = lessons {
            self.lessons.insert(name.clone(), lessons);
        }
        self.pins.insert(name.clone(), pins.unwrap_or_default());
        match cached {
            Some(cached) => {
                self.put(&name, cached.tools, cached.instructions);
            }
            None => self.put_unlisted(&name),
        }
    }

    /// Removes all that is known of a server.
    pub(super) fn forget(&mut self, name: &ServerName) {
        self.lists.remove(name);
        self.whole.remove(name);
        self.judged.remove(name);
        self.dropped.remove(name);
        self.cut.remove(name);
        self.extras.remove(name);
        self.failures.remove(name);
        self.pins.remove(name);
        self.lessons.remove(name);
        self.rules.remove(name);
    }

    pub(super) fn put(
        &mut self,
        name: &ServerName,
        tools: Vec<ToolDefinition>,
        instructions: Option<String>,
    ) {
        let mut list = match self.rules.get(name) {
            Some(rules) => ServerTools::allowed_by(rules, name.clone(), tools, instructions),
            None => ServerTools::new(name.clone(), tools, instructions),
        };
        if let Some(lessons) = self.lessons.get(name).filter(|all| !all.tools.is_empty()) {
            list = list.with_observations(|tool| lessons.of(tool));
        }
        self.judged.remove(name);
        self.lists.insert(name.clone(), list.clone());
        self.whole.insert(name.clone(), list);
    }

    /// Adds a server without a known list.
    pub(super) fn put_unlisted(&mut self, name: &ServerName) {
        let list = ServerTools::unlisted(name.clone());
        self.lists.insert(name.clone(), list.clone());
        self.whole.insert(name.clone(), list);
    }

    pub(super) fn teach(&mut self, server: &ServerName, news: Vec<(Arc<Tool>, Observed)>) {
        let lessons = self.lessons.entry(server.clone()).or_default();
        let mut hashes = HashSet::with_capacity(news.len());
        for (tool, observed) in news {
            lessons.tools.insert(tool.id().tool.to_string());
            lessons.observed.insert(tool.hash().to_owned(), observed);
            hashes.insert(tool.hash().to_owned());
        }
        let Some(whole) = self.whole.get_mut(server) else {
            return;
        };
        // The other tools keep their signatures, which are already rendered.
        let lesson = |tool: &Tool| lessons.of(tool).filter(|_| hashes.contains(tool.hash()));
        *whole = whole.with_observations(lesson);
        let list = without_held(whole, self.judged.get(server));
        self.lists.insert(server.clone(), list.clone());
        let taught = self.catalog.catalog().with_observations(list);
        self.catalog = self.catalog.with_same_definitions(Arc::new(taught));
    }

    /// Makes the catalog of the lists, without the tools that are held.
    pub(super) fn rebuild(&mut self) {
        self.judge();
        let catalog = Catalog::new(self.lists.values().cloned().collect())
            .with_absences(Arc::clone(&self.absences));
        self.catalog = SearchableCatalog::new(Arc::new(catalog));
    }

    /// Judges all tools: a name may pass for that of a tool of another server, so a list concerns the others too.
    fn judge(&mut self) {
        let mut names = KnownNames::default();
        for (server, list) in &self.whole {
            names.add_server(server);
            let pins = self.pins.get(server);
            for tool in list.tools() {
                let name = &tool.id().tool;
                let pin = pins.and_then(|pins| pins.get(&**name));
                names.add(server, name, pin.map_or(u64::MAX, |pin| pin.facts.first_us));
            }
        }
        for (server, list) in &self.whole {
            let pins = self.pins.get(server);
            let mut judged = BTreeMap::new();
            for tool in list.tools() {
                let name = &tool.id().tool;
                let pin = pins.and_then(|pins| pins.get(&**name));
                let of_tool = judge(server, name, pin, &self.pin_rules, &names);
                if of_tool != Judged::default() {
                    judged.insert(Arc::clone(name), of_tool);
                }
            }
            // An unchanged list keeps its index of names.
            if self.judged.get(server) != Some(&judged) {
                self.lists
                    .insert(server.clone(), without_held(list, Some(&judged)));
                self.judged.insert(server.clone(), judged);
            }
        }
    }
}

/// A list without the tools that are held, and with the hints that count.
fn without_held(whole: &ServerTools, judged: Option<&BTreeMap<Arc<str>, Judged>>) -> ServerTools {
    let Some(judged) = judged else {
        return whole.clone();
    };
    let held = judged.iter().filter(|(_, judged)| judged.is_held());
    let held: HashSet<Arc<str>> = held.map(|(name, _)| Arc::clone(name)).collect();
    let has_hints = judged.values().any(|judged| judged.hints.is_some());
    if held.is_empty() && !has_hints {
        return whole.clone();
    }
    whole.holding(&held, |tool| judged.get(&tool.tool)?.hints)
}
