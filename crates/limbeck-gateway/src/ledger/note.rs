//! What is noted of an execution when it ends. None of it counts tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limbeck_catalog::{Catalog, ServerTools};
use limbeck_domain::limits::HTTP_PRINCIPALS_MAX;
use limbeck_domain::{
    CallId, Envelope, LedgerNote, LedgerTexts, ProgramStart, ServerName, ServerNote,
};
use limbeck_store::NewLedgerRow;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{shown, shown_definition};
use crate::clock::now_us;
use crate::exposure::Exposed;
use crate::{Gateway, Render, render};

/// A text that is kept until it is counted. Results have 10,000 tokens unless more were asked for.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Searches kept of one principal between two programs; of more only the sizes.
const SEARCHES_MAX: usize = 32;

/// What a gateway remembers for the next note.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Searches that no program has followed yet, by principal.
    searches: BTreeMap<Arc<str>, Searches>,
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

/// What calls of one server had in them, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) calls: u32,
    pub(crate) argument_bytes: u64,
    pub(crate) result_bytes: u64,
}

/// The calls of one execution, as they are written into its journal.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    open: BTreeMap<CallId, ServerName>,
    spent: BTreeMap<ServerName, Spent>,
}

impl Tally {
    /// A call leaves for `server`.
    pub(crate) fn sent(&mut self, id: CallId, server: &ServerName, argument_bytes: usize) {
        self.open.insert(id, server.clone());
        let spent = self.spent.entry(server.clone()).or_default();
        spent.calls += 1;
        spent.argument_bytes += argument_bytes as u64;
    }

    /// It ended.
    pub(crate) fn ended(&mut self, id: CallId, result_bytes: usize) {
        if let Some(server) = self.open.remove(&id) {
            self.spent.entry(server).or_default().result_bytes += result_bytes as u64;
        }
    }

    /// What they had in them so far.
    pub(crate) fn spent(&self) -> BTreeMap<ServerName, Spent> {
        self.spent.clone()
    }
}

/// An execution that ended.
pub(crate) struct Noted<'a> {
    pub(crate) principal: &'a str,
    pub(crate) origin: &'a str,
    pub(crate) start: &'a ProgramStart,
    pub(crate) shown: &'a Envelope,
    pub(crate) render: Render,
    pub(crate) rounds: u32,
    pub(crate) spent: BTreeMap<ServerName, Spent>,
}

impl Gateway {
    /// Remembers a search, asked and answered, for the principal's next program.
    pub(crate) fn note_search(&self, principal: &Arc<str>, asked: &str, answer: &str) {
        let mut state = self.shared.ledger.lock();
        if state.searches.len() >= HTTP_PRINCIPALS_MAX && !state.searches.contains_key(principal) {
            // A search that no program follows costs little; a principal that never ends would cost memory.
            return;
        }
        let searches = state.searches.entry(Arc::clone(principal)).or_default();
        searches.count += 1;
        searches.bytes += (asked.len() + answer.len()) as u64;
        if searches.texts.len() < 2 * SEARCHES_MAX && asked.len() + answer.len() <= TEXT_BYTES_MAX {
            searches.texts.extend([asked.to_owned(), answer.to_owned()]);
        }
    }

    /// Notes an execution. A note that cannot be stored costs its line in the ledger, nothing else.
    pub(crate) async fn note(&self, noted: Noted<'_>) {
        let exposed = self.exposed();
        let catalog = self.shared.catalogue.snapshot();
        let program = asked(noted.start);
        let result = render::text(noted.shown, noted.render);
        let mut listings = Vec::new();
        let (note, searches) = {
            let mut state = self.shared.ledger.lock();
            let searches = state.searches.remove(noted.principal).unwrap_or_default();
            let surface = state.surface(&exposed, &mut listings);
            let note = LedgerNote {
                rounds: noted.rounds,
                searches: searches.count,
                search_bytes: searches.bytes,
                program_bytes: program.len() as u64,
                result_bytes: result.len() as u64,
                surface: surface.hash,
                surface_bytes: surface.bytes,
                servers: noted
                    .spent
                    .iter()
                    .map(|(name, spent)| {
                        let server = state.server(&catalog, name, *spent, &mut listings);
                        (name.clone(), server)
                    })
                    .collect(),
            };
            (note, searches)
        };
        let kept = |text: String| (text.len() <= TEXT_BYTES_MAX).then_some(text);
        let texts = LedgerTexts {
            searches: searches.texts,
            program: kept(program),
            result: kept(result),
        };
        let row = NewLedgerRow {
            id: noted.shown.execution_id.to_string(),
            created_us: noted.start.now_us,
            origin: noted.origin.to_owned(),
            note,
            texts,
        };
        self.store_note(row, listings).await;
    }

    /// Notes searches that no program followed, each principal's as one.
    pub(crate) async fn note_leftover_searches(&self) {
        let left = std::mem::take(&mut self.shared.ledger.lock().searches);
        if left.is_empty() {
            return;
        }
        let exposed = self.exposed();
        for searches in left.into_values() {
            let mut listings = Vec::new();
            let surface = self.shared.ledger.lock().surface(&exposed, &mut listings);
            let row = NewLedgerRow {
                id: format!("se_{}", uuid::Uuid::now_v7().simple()),
                created_us: now_us(),
                origin: "mcp".to_owned(),
                note: LedgerNote {
                    searches: searches.count,
                    search_bytes: searches.bytes,
                    surface: surface.hash,
                    surface_bytes: surface.bytes,
                    ..LedgerNote::default()
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
        let store = &self.shared.store;
        let mut stored = Ok(());
        for (hash, body) in listings {
            stored = stored.and(store.keep_listing(&hash, body, row.created_us).await);
        }
        if let Err(error) = stored.and(store.note(row).await) {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger could not be written"
            );
        }
    }
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What a client is shown; its text goes into `new` the first time.
    fn surface(&mut self, exposed: &Arc<Exposed>, new: &mut Vec<(String, String)>) -> Listing {
        if let Some((of, listing)) = &self.surface
            && Arc::ptr_eq(of, exposed)
        {
            return listing.clone();
        }
        let tools = crate::surface::listed_tools(exposed);
        let tools: Vec<Value> = tools
            .iter()
            .map(|tool| {
                let schema = Value::Object((*tool.input_schema).clone());
                shown(&tool.name, tool.description.as_deref(), &schema)
            })
            .collect();
        let instructions = crate::surface::instructions(&exposed.searched);
        let body = json!({"tools": tools, "instructions": instructions}).to_string();
        let listing = self.listing(body, new);
        self.surface = Some((Arc::clone(exposed), listing.clone()));
        listing
    }

    fn server(
        &mut self,
        catalog: &Catalog,
        name: &ServerName,
        spent: Spent,
        new: &mut Vec<(String, String)>,
    ) -> ServerNote {
        let mut note = ServerNote {
            calls: spent.calls,
            argument_bytes: spent.argument_bytes,
            result_bytes: spent.result_bytes,
            ..ServerNote::default()
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
        if self.stored.insert(hash.clone()) {
            new.push((hash.clone(), body));
        }
        Listing { hash, bytes }
    }
}

/// The arguments of `execute` that start such a program.
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
