//! Record of an execution in the ledger, written when the execution ends. Tokens are not counted here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_catalog::{Catalog, ServerTools};
use limbeck_domain::limits::HTTP_PRINCIPALS_MAX;
use limbeck_domain::{CallId, LedgerSizes, LedgerTexts, ProgramStart, ServerName, ServerSizes};
use limbeck_store::{NewLedgerRow, Store};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::shown_definition;
use crate::clock::now_us;
use crate::config::TimeLimits;
use crate::executor::Shown;
use crate::exposure::{Exposed, Exposure};
use crate::live_catalog::LiveCatalog;

/// A text that is kept until it is counted. Results have 10,000 tokens unless more were asked for.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Searches kept of one principal between two programs; of more only the sizes.
const SEARCHES_MAX: usize = 32;
/// Texts of the searches of all principals, in bytes; of more only the sizes.
const SEARCH_TEXTS_BYTES_MAX: usize = 16 << 20;
/// Hashes of listings that are known to be stored; with more, listings are stored again, which changes nothing.
const STORED_MAX: usize = 4_096;

/// What a model reads of a client's tools and instructions at the beginning of a conversation, as JSON; the last argument is whether
/// calls may be asked about.
pub type ClientListing = fn(&Exposed, TimeLimits, bool) -> Value;

/// State that the next record is made from.
#[derive(Debug)]
pub(crate) struct Ledger {
    client_listing: ClientListing,
    time_limits: TimeLimits,
    exposure: Arc<Exposure>,
    live_catalog: LiveCatalog,
    store: Store,
    /// Whether calls may be asked about, by the newest policy.
    can_pause: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Searches since the principal's last program.
    searches: BTreeMap<Arc<str>, Searches>,
    /// Bytes of their texts.
    search_text_bytes: usize,
    surface: Option<(Arc<Exposed>, Listing)>,
    servers: BTreeMap<ServerName, (ServerTools, Listing)>,
    /// Listings that are in the store.
    stored: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Searches {
    count: u32,
    bytes: u64,
    texts: Vec<String>,
}

/// Definitions that a model was given, or would have been.
#[derive(Clone, Debug)]
struct Listing {
    hash: String,
    bytes: u64,
}

/// Calls of one server, and their sizes in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallUsage {
    pub(crate) calls: u32,
    pub(crate) argument_bytes: u64,
    pub(crate) result_bytes: u64,
}

/// Meter of the calls of one execution, fed by its journal.
#[derive(Debug, Default)]
pub(crate) struct CallMeter {
    open: BTreeMap<CallId, ServerName>,
    usage: BTreeMap<ServerName, CallUsage>,
}

impl CallMeter {
    /// Counts a call that is sent to `server`.
    pub(crate) fn sent(&mut self, id: CallId, server: &ServerName, argument_bytes: usize) {
        self.open.insert(id, server.clone());
        let usage = self.usage.entry(server.clone()).or_default();
        usage.calls += 1;
        usage.argument_bytes += argument_bytes as u64;
    }

    /// Counts the result of a call.
    pub(crate) fn ended(&mut self, id: CallId, result_bytes: usize) {
        if let Some(server) = self.open.remove(&id) {
            self.usage.entry(server).or_default().result_bytes += result_bytes as u64;
        }
    }

    /// Bytes of the calls so far, by server.
    pub(crate) fn usage(&self) -> BTreeMap<ServerName, CallUsage> {
        self.usage.clone()
    }
}

/// What the ledger records of an ended execution.
pub(crate) struct ExecutionUsage<'a> {
    pub(crate) principal: &'a str,
    pub(crate) origin: &'a str,
    pub(crate) start: &'a ProgramStart,
    pub(crate) shown: &'a Shown,
    pub(crate) rounds: u32,
    /// Bytes of the calls that were sent, by server.
    pub(crate) calls: BTreeMap<ServerName, CallUsage>,
}

impl Ledger {
    /// Remembers a search, asked and answered, for the principal's next program.
    pub(crate) fn note_search(&self, principal: &Arc<str>, asked: &str, answer: &str) {
        self.lock().note_search(principal, asked, answer);
    }

    /// Records an execution. A record that cannot be stored is missing in the ledger and has no other effect.
    pub(crate) async fn record_execution(&self, usage: ExecutionUsage<'_>) {
        let exposed = self.exposure.current();
        let catalog = self.live_catalog.snapshot();
        let program = asked(usage.start);
        let result = usage.shown.text.as_str();
        let mut listings = Vec::new();
        let (note, searches) = {
            let mut state = self.lock();
            let searches = state.take_searches(usage.principal);
            let surface = state.surface(&exposed, &mut listings, || self.client_listing(&exposed));
            let note = LedgerSizes {
                rounds: usage.rounds,
                searches: searches.count,
                search_bytes: searches.bytes,
                program_bytes: program.len() as u64,
                result_bytes: result.len() as u64,
                surface: surface.hash,
                surface_bytes: surface.bytes,
                servers: usage
                    .calls
                    .iter()
                    .map(|(name, calls)| {
                        let server = state.server(&catalog, name, *calls, &mut listings);
                        (name.clone(), server)
                    })
                    .collect(),
            };
            (note, searches)
        };
        let kept = |text: &str| (text.len() <= TEXT_BYTES_MAX).then(|| text.to_owned());
        let texts = LedgerTexts {
            searches: searches.texts,
            program: kept(&program),
            result: kept(result),
        };
        let row = NewLedgerRow {
            id: usage.shown.envelope.execution_id.to_string(),
            created_us: usage.start.now_us,
            origin: usage.origin.to_owned(),
            sizes: note,
            texts,
        };
        self.store_note(row, listings).await;
    }

    /// Records searches that no program followed, one record for each principal.
    pub(crate) async fn note_leftover_searches(&self) {
        let left = {
            let mut state = self.lock();
            state.search_text_bytes = 0;
            std::mem::take(&mut state.searches)
        };
        if left.is_empty() {
            return;
        }
        let exposed = self.exposure.current();
        for searches in left.into_values() {
            let mut listings = Vec::new();
            let surface = self
                .lock()
                .surface(&exposed, &mut listings, || self.client_listing(&exposed));
            let row = NewLedgerRow {
                id: format!("se_{}", uuid::Uuid::now_v7().simple()),
                created_us: now_us(),
                origin: "mcp".to_owned(),
                sizes: LedgerSizes {
                    searches: searches.count,
                    search_bytes: searches.bytes,
                    surface: surface.hash,
                    surface_bytes: surface.bytes,
                    ..LedgerSizes::default()
                },
                texts: LedgerTexts {
                    searches: searches.texts,
                    ..LedgerTexts::default()
                },
            };
            self.store_note(row, listings).await;
        }
    }

    async fn store_note(&self, row: NewLedgerRow, listings: Vec<(String, String)>) {
        let store = &self.store;
        let mut stored = Ok(());
        for (hash, body) in listings {
            stored = stored.and(store.keep_listing(&hash, body, row.created_us).await);
        }
        if let Err(error) = stored.and(store.add_ledger_row(row).await) {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger could not be written"
            );
        }
    }
}

impl Ledger {
    pub(crate) fn new(
        client_listing: ClientListing,
        time_limits: TimeLimits,
        exposure: Arc<Exposure>,
        live_catalog: LiveCatalog,
        store: Store,
    ) -> Self {
        Self {
            client_listing,
            time_limits,
            exposure,
            live_catalog,
            store,
            can_pause: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Notes whether calls may be asked about from now on: then clients are shown another tool.
    pub(crate) fn note_policy(&self, can_pause: bool) {
        self.can_pause.store(can_pause, Ordering::Relaxed);
        // It is made again when it is next needed.
        self.lock().surface = None;
    }

    /// What a client is shown, as JSON.
    fn client_listing(&self, exposed: &Exposed) -> String {
        let can_pause = self.can_pause.load(Ordering::Relaxed);
        (self.client_listing)(exposed, self.time_limits, can_pause).to_string()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note_search(&mut self, principal: &Arc<str>, asked: &str, answer: &str) {
        if self.searches.len() >= HTTP_PRINCIPALS_MAX && !self.searches.contains_key(principal) {
            // A search that no program follows costs little; a principal that never ends would cost memory.
            return;
        }
        let bytes = asked.len() + answer.len();
        let has_room = self.search_text_bytes + bytes <= SEARCH_TEXTS_BYTES_MAX;
        let searches = self.searches.entry(Arc::clone(principal)).or_default();
        searches.count += 1;
        searches.bytes += bytes as u64;
        if has_room && searches.texts.len() < 2 * SEARCHES_MAX && bytes <= TEXT_BYTES_MAX {
            searches.texts.extend([asked.to_owned(), answer.to_owned()]);
            self.search_text_bytes += bytes;
        }
    }

    /// The searches since the principal's last program, which are forgotten here.
    fn take_searches(&mut self, principal: &str) -> Searches {
        let searches = self.searches.remove(principal).unwrap_or_default();
        self.search_text_bytes -= searches.texts.iter().map(String::len).sum::<usize>();
        searches
    }

    /// Listing of what a client is shown, which `text` returns; it goes into `new` the first time.
    fn surface(
        &mut self,
        exposed: &Arc<Exposed>,
        new: &mut Vec<(String, String)>,
        text: impl Fn() -> String,
    ) -> Listing {
        if let Some((of, listing)) = &self.surface
            && Arc::ptr_eq(of, exposed)
        {
            return listing.clone();
        }
        let listing = self.listing(text(), new);
        self.surface = Some((Arc::clone(exposed), listing.clone()));
        listing
    }

    fn server(
        &mut self,
        catalog: &Catalog,
        name: &ServerName,
        usage: CallUsage,
        new: &mut Vec<(String, String)>,
    ) -> ServerSizes {
        let mut note = ServerSizes {
            calls: usage.calls,
            argument_bytes: usage.argument_bytes,
            result_bytes: usage.result_bytes,
            ..ServerSizes::default()
        };
        let Some(server) = catalog.server(name) else {
            return note;
        };
        let listing = match self.servers.get(name) {
            Some((of, listing)) if std::ptr::eq(of.tools(), server.tools()) => listing.clone(),
            _ => {
                let tools = server.tools().iter();
                let tools: Vec<Value> = tools
                    .map(|tool| shown_definition(tool.definition()))
                    .collect();
                let listing = self.listing(Value::Array(tools).to_string(), new);
                let kept = (server.clone(), listing.clone());
                self.servers.insert(name.clone(), kept);
                listing
            }
        };
        note.tools = u32::try_from(server.tools().len()).unwrap_or(u32::MAX);
        note.listing = listing.hash;
        note.listing_bytes = listing.bytes;
        note
    }

    fn listing(&mut self, body: String, new: &mut Vec<(String, String)>) -> Listing {
        let digest = Sha256::digest(body.as_bytes());
        let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let bytes = body.len() as u64;
        if self.stored.len() >= STORED_MAX {
            self.stored.clear();
        }
        if self.stored.insert(hash.clone()) {
            new.push((hash.clone(), body));
        }
        Listing { hash, bytes }
    }
}

/// The arguments of `execute` that start the program.
fn asked(start: &ProgramStart) -> String {
    let mut asked = json!({"code": start.program});
    if start.language != limbeck_domain::Language::Typescript {
        asked["language"] = start.language.as_str().into();
    }
    let mut asked = asked.to_string();
    if start.input != "null" {
        asked.truncate(asked.len() - 1);
        asked.push_str(",\"input\":");
        asked.push_str(&start.input);
        asked.push('}');
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of all texts that are held.
    fn held(state: &State) -> usize {
        let searches = state.searches.values();
        let texts = searches.flat_map(|searches| &searches.texts);
        texts.map(String::len).sum()
    }

    #[test]
    fn searches_that_no_program_follows_are_held_in_bounded_memory_and_counted() {
        let mut state = State::default();
        let text = "x".repeat(TEXT_BYTES_MAX / 2);
        let principal = |n: usize| -> Arc<str> { n.to_string().into() };
        for n in 0..HTTP_PRINCIPALS_MAX + 10 {
            state.note_search(&principal(n), &text, &text);
            assert_eq!(state.search_text_bytes, held(&state));
            assert!(held(&state) <= SEARCH_TEXTS_BYTES_MAX);
        }
        assert!(held(&state) > SEARCH_TEXTS_BYTES_MAX / 2);
        assert_eq!(state.searches.len(), HTTP_PRINCIPALS_MAX);
        // One principal holds so many, and one text so much; the rest is counted.
        let mut state = State::default();
        for _ in 0..100 {
            state.note_search(&principal(0), "asked", "answer");
        }
        state.note_search(&principal(0), &text, &format!("{text}x"));
        let searches = state.take_searches("0");
        assert_eq!(searches.texts.len(), 2 * SEARCHES_MAX);
        assert_eq!(searches.count, 101);
        assert_eq!(searches.bytes, 100 * 11 + TEXT_BYTES_MAX as u64 + 1);
        // What a program took is free again.
        assert_eq!((state.search_text_bytes, state.searches.len()), (0, 0));
        state.note_search(&principal(1), &text, &text);
        assert_eq!(held(&state), TEXT_BYTES_MAX);
    }

    #[test]
    fn hashes_of_listings_are_bounded_and_a_known_listing_is_not_stored_again() {
        let mut state = State::default();
        let mut new = Vec::new();
        let many = 3 * STORED_MAX - 10;
        for n in 0..many {
            let listing = state.listing(n.to_string(), &mut new);
            assert_eq!(listing.bytes, n.to_string().len() as u64);
            assert!(state.stored.len() <= STORED_MAX);
        }
        assert_eq!(new.len(), many);
        state.listing((many - 1).to_string(), &mut new);
        assert_eq!(new.len(), many, "the control: the last is known");
    }
}
