//! Asks about tools in the background, once for each text.
//!
//! A round looks at all tools there are, takes what the store has of their texts, and asks the endpoint about the
//! rest, a batch at a time; each batch is kept before the next is asked about, so that what was paid for is not
//! paid for again. A round begins when a list was taken over and when a search misses a tool.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use limbeck_catalog::Catalog;
use limbeck_upstream::embeddings::EMBEDDINGS_BATCH_MAX;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::outage::Budget;
use super::space::{TextHash, USUAL};
use super::{Asker, Trouble, hash};
use crate::catalogue::Catalogue;

/// Time for one batch: without a graphics card a model takes a while.
const BATCH_LIMIT: Duration = Duration::from_secs(60);
/// Texts of tools asked about in an hour: three times the tools of a large catalogue, since a server may change its
/// descriptions as often as it likes.
const TEXTS_PER_HOUR_MAX: usize = 8_192;

/// A text and its hash.
type Text = (TextHash, String);

/// Makes rounds until nobody can ask for one.
pub(super) async fn run(asker: Arc<Asker>, catalogue: Catalogue, mut woken: mpsc::Receiver<()>) {
    let mut listings = catalogue.listings();
    let mut index = Index {
        asker,
        budget: Budget::new(TEXTS_PER_HOUR_MAX),
        is_store_usable: true,
    };
    loop {
        tokio::select! {
            wake = woken.recv() => if wake.is_none() { return },
            listed = listings.changed() => if listed.is_err() { return },
        }
        index.round(&catalogue.snapshot()).await;
    }
}

struct Index {
    asker: Arc<Asker>,
    budget: Budget,
    /// Without it vectors last as long as the process.
    is_store_usable: bool,
}

impl Index {
    async fn round(&mut self, catalog: &Catalog) {
        if self.asker.may_ask()
            && let Err(trouble) = self.complete(catalog).await
        {
            self.asker.failed(&trouble);
        }
        self.asker.rounds.send_modify(|rounds| *rounds += 1);
    }

    async fn complete(&mut self, catalog: &Catalog) -> Result<(), Trouble> {
        if !self.asker.space().has_common() {
            let usual: Vec<Text> = USUAL.map(|text| (hash(text), text.to_owned())).into();
            let vectors = self.vectors(&usual).await?;
            let vectors: Vec<Vec<f32>> = vectors.into_iter().map(|(_, vector)| vector).collect();
            self.asker.space_mut().set_common(&vectors)?;
        }
        let mut texts = HashSet::new();
        let mut unknown: Vec<Text> = Vec::new();
        {
            let space = self.asker.space();
            for tool in catalog.tools() {
                let text = tool.spoken();
                let hash = hash(&text);
                if texts.insert(hash) && !space.has(&hash) {
                    unknown.push((hash, text));
                }
            }
        }
        for batch in unknown.chunks(EMBEDDINGS_BATCH_MAX) {
            let vectors = self.vectors(batch).await?;
            let mut space = self.asker.space_mut();
            for (hash, vector) in vectors {
                space.insert(hash, &vector)?;
            }
        }
        self.asker.space_mut().retain(&texts);
        Ok(())
    }

    /// The vectors of a batch, from the store or else from the endpoint.
    async fn vectors(&mut self, batch: &[Text]) -> Result<Vec<(TextHash, Vec<f32>)>, Trouble> {
        let mut kept = self.kept(batch).await;
        let unknown = batch.iter().filter(|(hash, _)| !kept.contains_key(hash));
        let unknown: Vec<&Text> = unknown.collect();
        if !unknown.is_empty() {
            if !self.budget.take(unknown.len(), Instant::now()) {
                return Err(Trouble::Budget);
            }
            let texts: Vec<&str> = unknown.iter().map(|(_, text)| text.as_str()).collect();
            let vectors = self.asker.embedder.embed(&texts, BATCH_LIMIT).await?;
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
        let found = self.asker.store.embeddings(&self.asker.name, names).await;
        let found = found.unwrap_or_else(|error| {
            self.give_up_store(&error);
            Vec::new()
        });
        let dimensions = self.asker.space().dimensions();
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
            .asker
            .store
            .keep_embeddings(&self.asker.name, rows)
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

/// What is kept of a vector: its numbers, little-endian. `None` for what is none.
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
