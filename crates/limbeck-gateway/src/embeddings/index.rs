//! Background task that fetches the vectors of tools, once for each text.
//!
//! A round goes over all tools of the catalog, reads the vectors that the store has, and requests the rest from the
//! endpoint, a batch at a time. Each batch is stored before the next is requested, so that nothing is paid for twice. A
//! round begins when a list has changed and when a search lacks a tool's vector.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use limbeck_catalog::Catalog;
use limbeck_search::embedding_text;
use limbeck_upstream::embeddings::EMBEDDINGS_BATCH_MAX;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::outage::Budget;
use super::space::{TextHash, USUAL};
use super::{Endpoint, VectorError, hash};
use crate::live_catalog::LiveCatalog;

/// Time for one batch: without a graphics card a model takes a while.
const BATCH_LIMIT: Duration = Duration::from_secs(60);
/// Texts of tools sent in an hour: three times the tools of a large catalog, since a server may change its
/// descriptions as often as it likes.
const TEXTS_PER_HOUR_MAX: usize = 8_192;

/// A text and its hash.
type Text = (TextHash, String);

/// Makes rounds until the gateway is dropped.
pub(super) async fn run(
    endpoint: Arc<Endpoint>,
    live_catalog: LiveCatalog,
    mut woken: mpsc::Receiver<()>,
) {
    let mut listings = live_catalog.listings();
    let mut index = Index {
        endpoint,
        budget: Budget::new(TEXTS_PER_HOUR_MAX),
        is_store_usable: true,
    };
    loop {
        tokio::select! {
            wake = woken.recv() => if wake.is_none() { return },
            listed = listings.changed() => if listed.is_err() { return },
        }
        index.round(&live_catalog.snapshot()).await;
    }
}

struct Index {
    endpoint: Arc<Endpoint>,
    budget: Budget,
    /// Without the store, vectors last as long as the process.
    is_store_usable: bool,
}

impl Index {
    async fn round(&mut self, catalog: &Catalog) {
        if self.endpoint.may_ask()
            && let Err(error) = self.complete(catalog).await
        {
            self.endpoint.failed(&error);
        }
        self.endpoint.rounds.send_modify(|rounds| *rounds += 1);
    }

    async fn complete(&mut self, catalog: &Catalog) -> Result<(), VectorError> {
        if !self.endpoint.space().has_common() {
            let usual: Vec<Text> = USUAL.map(|text| (hash(text), text.to_owned())).into();
            let vectors = self.vectors(&usual).await?;
            let vectors: Vec<Vec<f32>> = vectors.into_iter().map(|(_, vector)| vector).collect();
            self.endpoint.space_mut().set_common(&vectors)?;
        }
        let mut texts = HashSet::new();
        let mut unknown: Vec<Text> = Vec::new();
        {
            let space = self.endpoint.space();
            for tool in catalog.tools() {
                let text = embedding_text(tool);
                let hash = hash(&text);
                if texts.insert(hash) && !space.has(&hash) {
                    unknown.push((hash, text));
                }
            }
        }
        for batch in unknown.chunks(EMBEDDINGS_BATCH_MAX) {
            let vectors = self.vectors(batch).await?;
            let mut space = self.endpoint.space_mut();
            for (hash, vector) in vectors {
                space.insert(hash, &vector)?;
            }
        }
        self.endpoint.space_mut().retain(&texts);
        Ok(())
    }

    /// The vectors of a batch, from the store or else from the endpoint.
    async fn vectors(&mut self, batch: &[Text]) -> Result<Vec<(TextHash, Vec<f32>)>, VectorError> {
        let mut kept = self.kept(batch).await;
        let unknown = batch.iter().filter(|(hash, _)| !kept.contains_key(hash));
        let unknown: Vec<&Text> = unknown.collect();
        if !unknown.is_empty() {
            if !self.budget.take(unknown.len(), Instant::now()) {
                return Err(VectorError::Budget);
            }
            let texts: Vec<&str> = unknown.iter().map(|(_, text)| text.as_str()).collect();
            let vectors = self.endpoint.embedder.embed(&texts, BATCH_LIMIT).await?;
            let hashes = unknown.iter().map(|(hash, _)| *hash);
            let found: Vec<(TextHash, Vec<f32>)> = hashes.zip(vectors).collect();
            self.keep(&found).await;
            kept.extend(found);
        }
        Ok(kept.into_iter().collect())
    }

    /// What the store has of a batch, but for vectors of another length than those of today.
    async fn kept(&mut self, batch: &[Text]) -> HashMap<TextHash, Vec<f32>> {
        if !self.is_store_usable {
            return HashMap::new();
        }
        let by_name: HashMap<String, TextHash> =
            batch.iter().map(|(hash, _)| (hex(hash), *hash)).collect();
        let names = by_name.keys().cloned().collect();
        let found = self
            .endpoint
            .store
            .embeddings(&self.endpoint.name, names)
            .await;
        let found = found.unwrap_or_else(|error| {
            self.give_up_store(&error);
            Vec::new()
        });
        let dimensions = self.endpoint.space().dimensions();
        let usable = found.into_iter().filter_map(|(name, bytes)| {
            let vector = numbers(&bytes)?;
            let fits = dimensions.is_none_or(|dimensions| vector.len() == dimensions);
            fits.then_some((*by_name.get(&name)?, vector))
        });
        usable.collect()
    }

    async fn keep(&mut self, found: &[(TextHash, Vec<f32>)]) {
        if !self.is_store_usable {
            return;
        }
        let rows = found.iter().map(|(hash, vector)| {
            let bytes = vector.iter().flat_map(|number| number.to_le_bytes());
            (hex(hash), bytes.collect())
        });
        let rows = rows.collect();
        if let Err(error) = self
            .endpoint
            .store
            .keep_embeddings(&self.endpoint.name, rows)
            .await
        {
            self.give_up_store(&error);
        }
    }

    fn give_up_store(&mut self, error: &limbeck_store::StoreError) {
        self.is_store_usable = false;
        tracing::warn!(
            error = error as &dyn std::error::Error,
            "vectors of tools are not kept; the next start asks for them again"
        );
    }
}

/// Stored form of a vector: its numbers, little-endian. `None` for other bytes.
fn numbers(bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let numbers: Vec<f32> = numbers
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    let is_one = rest.is_empty() && !numbers.is_empty() && numbers.iter().all(|n| n.is_finite());
    is_one.then_some(numbers)
}

fn hex(hash: &TextHash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_as_it_was_written_and_damage_is_no_vector() {
        let bytes: Vec<u8> = [1.5_f32, -2.0]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        assert_eq!(numbers(&bytes), Some(vec![1.5, -2.0]));
        assert_eq!(numbers(&bytes[..7]), None);
        assert_eq!(numbers(&[]), None);
        assert_eq!(numbers(&f32::NAN.to_le_bytes()), None);
    }
}
