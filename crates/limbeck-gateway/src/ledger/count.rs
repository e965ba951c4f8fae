//! Counts the tokens of noted executions, for people who look at the ledger.

use std::collections::{BTreeMap, HashMap};

use limbeck_domain::text::cut;
use limbeck_domain::{
    CallForm, CountBasis, ExecutionId, LedgerSizes, LedgerTexts, ServerName, ServerTokenUsage,
    TokenCount, TokenUsage, ToolTarget,
};
use limbeck_store::{LedgerRow, Store, StoreError};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::executor::{InnerCall, inner_calls};
use crate::tokens;

/// Bytes counted of one text. Of a longer one the rest is taken to be like its beginning.
const COUNTED_BYTES_MAX: usize = 256 << 10;

/// The ledger since `since_us`, microseconds since 1970, newest first. What was not counted yet is counted
/// and the outcome kept.
///
/// # Errors
///
/// [`StoreError`].
pub async fn entries(
    store: &Store,
    since_us: u64,
) -> Result<Vec<(LedgerRow, TokenUsage)>, StoreError> {
    let mut counting = Counting::new(store);
    let mut entries = Vec::new();
    for row in store.ledger(since_us).await? {
        let account = counting.account(&row).await?;
        entries.push((row, account));
    }
    Ok(entries)
}

/// The account of one execution; `None` when none was noted.
///
/// # Errors
///
/// [`StoreError`].
pub async fn entry(store: &Store, id: &ExecutionId) -> Result<Option<TokenUsage>, StoreError> {
    match store.ledger_of(id).await? {
        Some(row) => Counting::new(store).account(&row).await.map(Some),
        None => Ok(None),
    }
}

struct Counting<'s> {
    store: &'s Store,
    /// Tokens of listings by their hashes: of our surface the definitions and the instructions.
    surfaces: HashMap<String, Option<(u64, u64)>>,
    servers: HashMap<String, Option<u64>>,
}

impl<'s> Counting<'s> {
    fn new(store: &'s Store) -> Self {
        Self {
            store,
            surfaces: HashMap::new(),
            servers: HashMap::new(),
        }
    }

    async fn account(&mut self, row: &LedgerRow) -> Result<TokenUsage, StoreError> {
        if let Some(account) = &row.usage {
            return Ok(account.clone());
        }
        let account = self.count(row).await?;
        self.store.set_token_usage(&row.id, &account).await?;
        Ok(account)
    }

    async fn count(&mut self, row: &LedgerRow) -> Result<TokenUsage, StoreError> {
        let LedgerSizes { surface, .. } = &row.sizes;
        let mut account = TokenUsage::from(&row.sizes);
        if let Some((definitions, instructions)) = self.surface(surface).await? {
            account.definitions = measured(definitions);
            account.instructions = measured(instructions);
        }
        ours(&mut account, &row.sizes, row.texts.as_ref());
        let journal = if row.sizes.servers.is_empty() {
            Vec::new()
        } else {
            self.store
                .journal(&ExecutionId::new(row.id.as_str()))
                .await?
        };
        let mut calls: BTreeMap<ServerName, Vec<InnerCall>> = BTreeMap::new();
        for call in inner_calls(&journal) {
            if let (true, Some(tool)) = (call.sent, &call.tool) {
                calls.entry(tool.server.clone()).or_default().push(call);
            }
        }
        for (name, server) in &mut account.servers {
            let note = &row.sizes.servers[name];
            if let Some(definitions) = self.server(&note.listing).await? {
                server.definitions = computed(definitions);
            }
            let calls = calls.remove(name).unwrap_or_default();
            // Without the arguments, what the row says about sizes is better than a count.
            let is_whole = calls.iter().all(|call| call.arguments_removed.is_none());
            if is_whole && calls.len() == server.calls as usize {
                theirs(server, &calls);
            }
        }
        Ok(account)
    }

    async fn surface(&mut self, hash: &str) -> Result<Option<(u64, u64)>, StoreError> {
        if let Some(known) = self.surfaces.get(hash) {
            return Ok(*known);
        }
        let body = self.store.listing(hash).await?;
        let counted = body.and_then(|body| {
            let body: Value = serde_json::from_str(&body).ok()?;
            let instructions = body["instructions"].as_str()?;
            Some((definitions(&body["tools"])?, count(instructions)))
        });
        self.surfaces.insert(hash.to_owned(), counted);
        Ok(counted)
    }

    async fn server(&mut self, hash: &str) -> Result<Option<u64>, StoreError> {
        if let Some(known) = self.servers.get(hash) {
            return Ok(*known);
        }
        let body = self.store.listing(hash).await?;
        let counted = body.and_then(|body| definitions(&serde_json::from_str(&body).ok()?));
        self.servers.insert(hash.to_owned(), counted);
        Ok(counted)
    }
}

/// What passed between a client and Limbeck. What no model asked for, `limbeck run`, is counted as if one had.
fn ours(account: &mut TokenUsage, note: &LedgerSizes, texts: Option<&LedgerTexts>) {
    let Some(texts) = texts else {
        return;
    };
    if texts.searches.len() == 2 * note.searches as usize {
        account.searches = texts
            .searches
            .iter()
            .map(|text| counted(text, CountBasis::Measured))
            .sum();
    }
    if let Some(program) = &texts.program {
        account.program = counted(program, CountBasis::Measured);
    }
    if let Some(result) = &texts.result {
        account.result = counted(result, CountBasis::Measured);
    }
}

/// What would have passed between the model and a server.
fn theirs(server: &mut ServerTokenUsage, calls: &[InnerCall]) {
    let arguments = calls
        .iter()
        .map(|call| counted(&call.call.body, CountBasis::Computed));
    server.arguments = arguments.sum();
    let results = calls.iter().map(|call| match &call.result {
        Some(Ok(json)) => counted(&read(json, is_raw(call)), CountBasis::Computed),
        Some(Err(error)) => counted(&error.message, CountBasis::Computed),
        None => TokenCount {
            count: 0,
            basis: CountBasis::Computed,
        },
    });
    server.results = results.sum();
}

/// Whether the program asked for the result in the protocol's form.
fn is_raw(call: &InnerCall) -> bool {
    let target = serde_json::from_str::<ToolTarget>(&call.call.head);
    target.is_ok_and(|target| target.form == CallForm::Raw)
}

/// A result as a model reads it: of the protocol's form what clients show, and a text without its quotes.
fn read(json: &str, is_raw: bool) -> String {
    #[derive(serde::Deserialize)]
    struct Raw<'j> {
        #[serde(borrow, rename = "structuredContent")]
        structured: Option<&'j RawValue>,
        content: Vec<Value>,
    }
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return text;
    }
    if !is_raw {
        return json.to_owned();
    }
    match serde_json::from_str::<Raw<'_>>(json) {
        Ok(Raw {
            structured: Some(value),
            ..
        }) => value.get().to_owned(),
        Ok(Raw { content, .. }) => {
            let texts = content.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Err(_) => json.to_owned(),
    }
}

fn definitions(tools: &Value) -> Option<u64> {
    let tools = tools.as_array()?.iter();
    Some(tools.map(|tool| count(&tool.to_string())).sum())
}

/// The tokens of a text, exact up to [`COUNTED_BYTES_MAX`].
fn counted(text: &str, basis: CountBasis) -> TokenCount {
    let part = cut(text, COUNTED_BYTES_MAX);
    let tokens = count(part);
    if part.len() == text.len() {
        return TokenCount {
            count: tokens,
            basis,
        };
    }
    let scaled = u128::from(tokens) * text.len() as u128 / part.len() as u128;
    TokenCount {
        count: u64::try_from(scaled).unwrap_or(u64::MAX),
        basis: CountBasis::Estimated,
    }
}

fn count(text: &str) -> u64 {
    tokens::count(text) as u64
}

fn measured(count: u64) -> TokenCount {
    TokenCount {
        count,
        basis: CountBasis::Measured,
    }
}

fn computed(count: u64) -> TokenCount {
    TokenCount {
        count,
        basis: CountBasis::Computed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_counted_as_clients_show_it() {
        assert_eq!(read("\"two\\nlines\"", false), "two\nlines");
        assert_eq!(read("{\"a\":[1]}", false), "{\"a\":[1]}");
        let raw =
            r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}"#;
        assert_eq!(read(raw, true), "{\"a\":1}");
        let blocks = r#"{"content":[{"type":"text","text":"x"},{"type":"image","data":"AAAA"},{"type":"text","text":"y"}]}"#;
        assert_eq!(read(blocks, true), "x\ny");
    }

    #[test]
    fn a_text_above_the_bound_is_estimated_from_its_beginning() {
        let line = "{\"id\": 17, \"title\": \"A line of a result\"}\n";
        let short = counted(&line.repeat(100), CountBasis::Computed);
        assert_eq!(short.basis, CountBasis::Computed);
        let times = COUNTED_BYTES_MAX / line.len() * 4;
        let long = counted(&line.repeat(times), CountBasis::Computed);
        assert_eq!(long.basis, CountBasis::Estimated);
        let expected = short.count * times as u64 / 100;
        assert!(
            long.count.abs_diff(expected) * 50 < expected,
            "{long:?} {expected}"
        );
    }
}
