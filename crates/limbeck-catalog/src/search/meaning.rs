//! What tools and queries mean, apart from their words.
//!
//! The words of a text are looked up in the [`Table`] and added up. That says two things: which words of the
//! tools are near a word of the query (`vacation` and `leave`), and which tools are near the query as a whole. Both
//! are arithmetic over a fixed table, so equal catalogues give equal answers.

use std::collections::HashMap;

use super::index::{Index, WordId};
use super::table::Table;
use super::tokens::{self, Parts};
use super::vectors::{Unit, Vectors};
use crate::catalog::Catalog;
use crate::tool::Tool;

/// Words of a description that count; what a tool is for stands at its start.
const DESCRIPTION_WORDS_MAX: usize = 30;
/// Different words whose vectors are kept. Real lists of 3,000 tools have a third of that.
const WORDS_MAX: usize = 32 << 10;
/// Weights of a tool's parts, each brought to length one first.
const SERVER_WEIGHT: f32 = 0.3;
const NAME_WEIGHT: f32 = 0.5;
const TITLE_WEIGHT: f32 = 0.5;
const DESCRIPTION_WEIGHT: f32 = 1.0;

/// The vectors of one snapshot.
#[derive(Debug)]
pub(super) struct Meaning {
    /// Words as they stand in the tools, with their stems' numbers.
    words: Vec<(Box<str>, WordId)>,
    /// Of each of `words`.
    word_vectors: Vectors,
    /// Of each tool.
    tools: Vectors,
}

impl Meaning {
    /// Reads all tools of `catalog`, of which `index` was made.
    pub(super) fn new(catalog: &Catalog, index: &Index) -> Self {
        let mut reader = Reader {
            table: Table::new(),
            index,
            places: HashMap::new(),
            words: Vec::new(),
            vectors: Vec::new(),
        };
        let mut tools = Vectors::new(reader.table.dimensions());
        for tool in catalog.tools() {
            tools.push(&reader.tool(tool));
        }
        let mut word_vectors = Vectors::new(reader.table.dimensions());
        let mut words = Vec::new();
        for ((word, id), vector) in reader.words.into_iter().zip(&reader.vectors) {
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

    /// Whether the meaning of `word`, in lower case, is known of the word itself and not of its pieces.
    pub(super) fn has_word(word: &str) -> bool {
        Table::new().has_piece(word)
    }

    /// The word of the tools that `id` stands for.
    pub(super) fn spelled(&self, id: WordId) -> Option<&str> {
        let found = self.words.iter().find(|(_, other)| *other == id);
        found.map(|(word, _)| &**word)
    }

    /// The word of the tools that `id` stands for, as `word` when one has it so.
    pub(super) fn spelled_like(&self, id: WordId, word: &str) -> Option<&str> {
        let forms = || self.words.iter().filter(|(_, other)| *other == id);
        let same = forms().find(|(form, _)| **form == *word);
        same.or_else(|| forms().next()).map(|(form, _)| &**form)
    }

    /// The words of the tools nearest to `word`, in lower case, each with its likeness of at least `min`; at most
    /// `max` of them, nearest first.
    pub(super) fn near(&self, word: &str, min: f32, max: usize) -> Vec<(WordId, f32)> {
        let Some(vector) = vector(&Table::new(), word) else {
            return Vec::new();
        };
        let to = Unit::of(&vector);
        let mut near: Vec<(WordId, f32)> = Vec::new();
        let words = 0..self.words.len();
        self.word_vectors
            .each_like(&to, words, min, |place, likeness| {
                near.push((self.words[place].1, likeness));
                min
            });
        near.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| one.cmp(other)));
        near.truncate(max);
        near
    }

    /// The tools' vectors, in catalogue order.
    pub(super) fn tools(&self) -> &Vectors {
        &self.tools
    }

    /// What a query of these words means; nothing when no word is known.
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w str>) -> Option<Unit> {
        let table = Table::new();
        let mut sum = vec![0.0; table.dimensions()];
        let mut known = false;
        for word in words {
            known |= table.add(word, 1.0, &mut sum);
        }
        known.then(|| Unit::of(&sum))
    }
}

/// What is known while the tools are read.
struct Reader<'i> {
    table: Table,
    index: &'i Index,
    /// By word, its place in what follows.
    places: HashMap<Box<str>, usize>,
    words: Vec<(Box<str>, Option<WordId>)>,
    vectors: Vec<Option<Vec<f32>>>,
}

impl Reader<'_> {
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
            for word in spoken(text.unwrap_or_default()).take(words_max) {
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
        let id = self.index.word(tokens::stem(&word, &mut buffer));
        self.vectors.push(vector(&self.table, &word));
        self.words.push((word.clone(), id));
        self.places.insert(word, place);
        place
    }
}

fn vector(table: &Table, word: &str) -> Option<Vec<f32>> {
    let mut vector = vec![0.0; table.dimensions()];
    table.add(word, 1.0, &mut vector).then_some(vector)
}

/// The words of `text` as they are spoken, in lower case and without those that tell nothing.
pub(super) fn spoken(text: &str) -> impl Iterator<Item = String> {
    tokens::chunks(text)
        .flat_map(|chunk| {
            let is_whole = Parts(chunk).any(|part| part.chars().nth(1).is_none());
            let whole = is_whole.then_some(chunk);
            let parts = (!is_whole).then_some(Parts(chunk));
            whole.into_iter().chain(parts.into_iter().flatten())
        })
        .map(str::to_lowercase)
        .filter(|word| !tokens::is_stop_word(word))
}
