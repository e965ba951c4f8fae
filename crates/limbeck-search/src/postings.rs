//! Postings of one word: the tools that contain it, each with the word's weight there.

/// Saturation of a word's frequency, the usual value.
const K1: f64 = 1.2;

/// Tools that contain one word, in catalog order.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    documents: Box<[u32]>,
    /// One for each of `documents`: the word's frequency there, saturated as in BM25.
    weights: Box<[f64]>,
}

impl Postings {
    /// Takes frequencies by document. Those of one document are added in the given order, so that sums round equally.
    pub(crate) fn new(mut frequencies: Vec<(u32, f64)>) -> Self {
        frequencies.sort_by_key(|(document, _)| *document);
        frequencies.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let documents = frequencies.iter().map(|(document, _)| *document);
        let weights = frequencies
            .iter()
            .map(|(_, frequency)| frequency * (K1 + 1.0) / (K1 + frequency));
        Self {
            documents: documents.collect(),
            weights: weights.collect(),
        }
    }

    /// The tools, in catalog order.
    pub(crate) fn documents(&self) -> &[u32] {
        &self.documents
    }

    /// Cursor that starts at `document`.
    pub(crate) fn cursor_from(&self, document: usize) -> PostingsCursor<'_> {
        let start = self
            .documents
            .partition_point(|other| (*other as usize) < document);
        PostingsCursor {
            documents: &self.documents[start..],
            weights: &self.weights[start..],
        }
    }

    /// Each tool with the word's weight there.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&u32, &f64)> {
        self.documents.iter().zip(&self.weights)
    }
}

/// Unread rest of [`Postings`] that are read block by block.
pub(crate) struct PostingsCursor<'p> {
    documents: &'p [u32],
    weights: &'p [f64],
}

impl<'p> PostingsCursor<'p> {
    /// Takes the tools before `end`, of which there are at most `most`.
    pub(crate) fn take_before(&mut self, end: usize, most: usize) -> (&'p [u32], &'p [f64]) {
        let most = most.min(self.documents.len());
        let read = self.documents[..most].partition_point(|document| (*document as usize) < end);
        let (documents, documents_left) = self.documents.split_at(read);
        let (weights, weights_left) = self.weights.split_at(read);
        *self = Self {
            documents: documents_left,
            weights: weights_left,
        };
        (documents, weights)
    }
}
