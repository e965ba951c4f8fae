//! In which tools a word stands, and how much it says there.

/// Saturation of a word's frequency, the usual value.
const K1: f64 = 1.2;

/// The tools that hold one word, in order.
#[derive(Debug, Default)]
pub(super) struct Postings {
    documents: Box<[u32]>,
    /// Of each of `documents`: the word's frequency there, saturated as BM25 has it.
    worths: Box<[f64]>,
}

impl Postings {
    /// `frequencies` by document; those of one document are added in the order given.
    pub(super) fn new(mut frequencies: Vec<(u32, f64)>) -> Self {
        frequencies.sort_by_key(|(document, _)| *document);
        frequencies.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let documents = frequencies.iter().map(|(document, _)| *document);
        let worths = frequencies
            .iter()
            .map(|(_, frequency)| frequency * (K1 + 1.0) / (K1 + frequency));
        Self {
            documents: documents.collect(),
            worths: worths.collect(),
        }
    }

    /// The tools, in order.
    pub(super) fn documents(&self) -> &[u32] {
        &self.documents
    }

    /// Those from `document` on, not read yet.
    pub(super) fn from(&self, document: usize) -> Unread<'_> {
        let start = self
            .documents
            .partition_point(|other| (*other as usize) < document);
        Unread {
            documents: &self.documents[start..],
            worths: &self.worths[start..],
        }
    }

    /// Each tool with the word's worth there.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&u32, &f64)> {
        self.documents.iter().zip(&self.worths)
    }
}

/// What is left of [`Postings`] that are read block by block.
pub(super) struct Unread<'p> {
    documents: &'p [u32],
    worths: &'p [f64],
}

impl<'p> Unread<'p> {
    /// Reads on to the tool before `end`, which lies at most `most` tools further.
    pub(super) fn before(&mut self, end: usize, most: usize) -> (&'p [u32], &'p [f64]) {
        let most = most.min(self.documents.len());
        let read = self.documents[..most].partition_point(|document| (*document as usize) < end);
        let (documents, documents_left) = self.documents.split_at(read);
        let (worths, worths_left) = self.worths.split_at(read);
        *self = Self {
            documents: documents_left,
            worths: worths_left,
        };
        (documents, worths)
    }
}
