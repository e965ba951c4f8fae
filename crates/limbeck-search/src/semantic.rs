//! Embeddings of tools, of their words and of queries.
//!
//! The embedding of a text is the sum of its words' vectors in the [`EmbeddingTable`]. It finds words of the tools that are
//! similar to a word of the query (`vacation` and `leave`), and tools that are similar to the query as a whole. Both are
//! arithmetic over a fixed table, so equal catalogs give equal answers.

use std::collections::HashMap;

use limbeck_catalog::words::{stem, subwords, tokens};
use limbeck_catalog::{Catalog, Tool};

use crate::embedding_table::EmbeddingTable;
use crate::stop_words::is_stop_word;
use crate::vectors::{UnitVector, UnitVectors};
use crate::vocabulary::{Vocabulary, WordId};

/// Words of a description that count; a description states the tool's purpose at its start.
const DESCRIPTION_WORDS_MAX: usize = 30;
/// Different words whose vectors are kept. Captured lists of 3,000 tools have a third of that.
const WORDS_MAX: usize = 32 << 10;
/// Weights of a tool's parts, each normalized to length one first.
const SERVER_WEIGHT: f32 = 0.3;
const NAME_WEIGHT: f32 = 0.5;
const TITLE_WEIGHT: f32 = 0.5;
const DESCRIPTION_WEIGHT: f32 = 1.0;

/// Embeddings of one catalog snapshot.
#[derive(Debug)]
pub(crate) struct SemanticIndex {
    /// Words as the tools spell them, each with the number of its stem.
    words: Vec<(Box<str>, WordId)>,
    /// One vector for each of `words`.
    word_vectors: UnitVectors,
    /// One vector for each tool, in catalog order.
    tools: UnitVectors,
}

impl SemanticIndex {
    /// Embeds all tools of `catalog`. `vocabulary` is that of its index.
    pub(crate) fn new(catalog: &Catalog, vocabulary: &Vocabulary) -> Self {
        let mut builder = Builder {
            table: EmbeddingTable::new(),
            vocabulary,
            places: HashMap::new(),
            words: Vec::new(),
            vectors: Vec::new(),
        };
        let mut tools = UnitVectors::new(builder.table.dimensions());
        for tool in catalog.tools() {
            tools.push(&builder.tool(tool));
        }
        let mut word_vectors = UnitVectors::new(builder.table.dimensions());
        let mut words = Vec::new();
        for ((word, id), vector) in builder.words.into_iter().zip(&builder.vectors) {
            if let (Some(id), Some(vector)) = (id, vector) {
                word_vectors.push(vector);
                words.push((word, id));
            }
        }
        Self {
            words,
            word_vectors,
            tools,
        }
    }

    /// Whether the table has `word`, in lower case, as one piece.
    pub(crate) fn has_word(word: &str) -> bool {
        EmbeddingTable::new().has_piece(word)
    }

    /// Spelling for `id`, preferring `word`.
    pub(crate) fn spelling(&self, id: WordId, word: &str) -> Option<&str> {
        let forms = || self.words.iter().filter(|(_, other)| *other == id);
        let same = forms().find(|(form, _)| **form == *word);
        same.or_else(|| forms().next()).map(|(form, _)| &**form)
    }

    /// Words of the tools most similar to `word`, in lower case: at most `max` with a cosine of at least `min`, best first.
    pub(crate) fn similar_words(&self, word: &str, min: f32, max: usize) -> Vec<(WordId, f32)> {
        let Some(vector) = vector(&EmbeddingTable::new(), word) else {
            return Vec::new();
        };
        let to = UnitVector::of(&vector);
        let mut near: Vec<(WordId, f32)> = Vec::new();
        let words = 0..self.words.len();
        self.word_vectors
            .for_each_similar(&to, words, min, |place, similarity| {
                near.push((self.words[place].1, similarity));
                min
            });
        near.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| one.cmp(other)));
        near.truncate(max);
        near
    }

    /// Vectors of the tools, in catalog order.
    pub(crate) fn tools(&self) -> &UnitVectors {
        &self.tools
    }

    /// Embedding of a query of these words; `None` when the table can spell none of them.
    pub(crate) fn embed_query<'w>(words: impl Iterator<Item = &'w str>) -> Option<UnitVector> {
        let table = EmbeddingTable::new();
        let mut sum = vec![0.0; table.dimensions()];
        let mut known = false;
        for word in words {
            known |= table.add(word, 1.0, &mut sum);
        }
        known.then(|| UnitVector::of(&sum))
    }
}

/// Embeds tools, each distinct word once.
struct Builder<'v> {
    table: EmbeddingTable,
    vocabulary: &'v Vocabulary,
    /// By word, its position in `words` and `vectors`.
    places: HashMap<Box<str>, usize>,
    words: Vec<(Box<str>, Option<WordId>)>,
    vectors: Vec<Option<Vec<f32>>>,
}

impl Builder<'_> {
    fn tool(&mut self, tool: &Tool) -> Vec<f32> {
        let definition = tool.definition();
        let mut sum = vec![0.0; self.table.dimensions()];
        for (text, weight, words_max) in [
            (
                Some(definition.id.server.as_str()),
                SERVER_WEIGHT,
                usize::MAX,
            ),
            (Some(&*definition.id.tool), NAME_WEIGHT, usize::MAX),
            (definition.title.as_deref(), TITLE_WEIGHT, usize::MAX),
            (
                definition.description.as_deref(),
                DESCRIPTION_WEIGHT,
                DESCRIPTION_WORDS_MAX,
            ),
        ] {
            let mut part = vec![0.0; sum.len()];
            for word in content_words(text.unwrap_or_default()).take(words_max) {
                self.add(word, &mut part);
            }
            let length = part
                .iter()
                .map(|number| number * number)
                .sum::<f32>()
                .sqrt();
            let weight = weight / length.max(f32::EPSILON);
            for (sum, number) in sum.iter_mut().zip(part) {
                *sum += weight * number;
            }
        }
        sum
    }

    fn add(&mut self, word: String, sum: &mut [f32]) {
        let place = match self.places.get(&*word) {
            Some(place) => *place,
            None if self.words.len() < WORDS_MAX => self.learn(word),
            None => {
                // The cache is full: the vector is computed again each time.
                self.table.add(&word, 1.0, sum);
                return;
            }
        };
        if let Some(vector) = &self.vectors[place] {
            for (sum, number) in sum.iter_mut().zip(vector) {
                *sum += number;
            }
        }
    }

    fn learn(&mut self, word: String) -> usize {
        let place = self.words.len();
        let word: Box<str> = word.into();
        let mut buffer = String::new();
        let id = self.vocabulary.get(stem(&word, &mut buffer));
        self.vectors.push(vector(&self.table, &word));
        self.words.push((word.clone(), id));
        self.places.insert(word, place);
        place
    }
}

fn vector(table: &EmbeddingTable, word: &str) -> Option<Vec<f32>> {
    let mut vector = vec![0.0; table.dimensions()];
    table.add(word, 1.0, &mut vector).then_some(vector)
}

/// The words of `text` in lower case, without stop words.
pub(crate) fn content_words(text: &str) -> impl Iterator<Item = String> {
    tokens(text)
        .flat_map(|chunk| {
            // A token with a part of one letter, such as `s3`, is one word.
            let is_whole = subwords(chunk).any(|part| part.chars().nth(1).is_none());
            let whole = is_whole.then_some(chunk);
            let parts = (!is_whole).then_some(subwords(chunk));
            whole.into_iter().chain(parts.into_iter().flatten())
        })
        .map(str::to_lowercase)
        .filter(|word| !is_stop_word(word))
}
