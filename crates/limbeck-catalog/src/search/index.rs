//! The inverted index: which words stand in which tools, and how much each says there.
//!
//! The weight is that of BM25F (Robertson and Zaragoza, 2009): frequencies of a word in a tool's fields are
//! weighted and normalised field by field, then added, and saturated only in the score. Adding first is
//! what makes a word that stands in the name and in the description count once, not twice.

use std::collections::HashMap;
use std::sync::OnceLock;

use limbeck_domain::text;
use serde_json::Value;

use super::actions;
use super::documents::Documents;
use super::meaning::Meaning;
use super::postings::Postings;
use super::synonyms;
use super::tokens::{self, for_each_stem};
use crate::catalog::Catalog;
use crate::names;
use crate::tool::Tool;

/// Bytes of a description that are indexed; what a tool is for stands at its start.
const DESCRIPTION_INDEXED_BYTES_MAX: usize = 1 << 10;
/// Parameters and enum values indexed, each.
const PARAMETERS_INDEXED_MAX: usize = 64;

/// Fields with their weight and their length normalisation (`b`), found by trying labelled queries on
/// captured tool lists. A name is short on purpose, so its length says little, and it says most; a long
/// description must not win by its length.
const FIELDS: [(Field, f64, f64); 6] = [
    (Field::Server, 1.0, 0.0),
    (Field::Name, 3.0, 0.35),
    (Field::Title, 1.5, 0.35),
    (Field::Description, 0.4, 0.75),
    (Field::Parameters, 0.25, 0.75),
    (Field::Values, 0.1, 0.75),
];

#[derive(Clone, Copy)]
enum Field {
    Server,
    Name,
    Title,
    Description,
    Parameters,
    Values,
}

/// Number of a word of the index.
pub(super) type WordId = u32;

/// Index over one snapshot. Documents are its tools in catalogue order.
#[derive(Debug)]
pub(crate) struct Index {
    /// Words in alphabetical order.
    words: Vec<(Box<str>, WordId)>,
    /// By word.
    postings: Vec<Postings>,
    documents: Documents,
    /// Made when a search first asks for it.
    meaning: OnceLock<Meaning>,
}

impl Index {
    /// Reads all tools of `catalog`.
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let mut vocabulary = Vocabulary::default();
        let mut fields: [Counts; FIELDS.len()] = Default::default();
        let mut documents = Documents::default();
        // Tools are bounded by `limits`, far below 2^32.
        for (document, tool) in (0_u32..).zip(catalog.tools()) {
            for (counts, (field, ..)) in fields.iter_mut().zip(FIELDS) {
                counts.add(document, tool, field, &mut vocabulary);
            }
            let action = actions::of_tool(&tool.id().tool);
            documents.push_tool(&vocabulary.name_words(tool), action);
        }
        for server in catalog.servers() {
            let words = vocabulary.words(server.name().as_str());
            documents.push_server(server, words);
        }
        let mut words = vocabulary.ids.into_iter().collect::<Vec<_>>();
        words.sort_unstable();
        Self {
            postings: postings(&fields, words.len()),
            words,
            documents,
            meaning: OnceLock::new(),
        }
    }

    /// What the tools mean; `catalog` is the snapshot that this index was made of.
    pub(super) fn meaning(&self, catalog: &Catalog) -> &Meaning {
        self.meaning.get_or_init(|| Meaning::new(catalog, self))
    }

    /// The tools, apart from their words.
    pub(super) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Number of words.
    pub(super) fn words_count(&self) -> usize {
        self.postings.len()
    }

    /// The word of exactly this stem.
    pub(super) fn word(&self, stem: &str) -> Option<WordId> {
        let at = self
            .words
            .binary_search_by(|(word, _)| (**word).cmp(stem))
            .ok()?;
        Some(self.words[at].1)
    }

    /// The words that begin so, in alphabetical order.
    pub(super) fn words_from<'i>(&'i self, begun: &'i str) -> impl Iterator<Item = WordId> + 'i {
        let from = self.words.partition_point(|(word, _)| **word < *begun);
        let words = self.words[from..].iter();
        words
            .take_while(move |(word, _)| word.starts_with(begun))
            .map(|(_, id)| *id)
    }

    /// All words, in alphabetical order.
    pub(super) fn words(&self) -> impl Iterator<Item = (&str, WordId)> {
        self.words.iter().map(|(word, id)| (&**word, *id))
    }

    /// The tools that hold a word.
    pub(super) fn postings(&self, word: WordId) -> &Postings {
        &self.postings[word as usize]
    }
}

#[derive(Default)]
struct Vocabulary {
    ids: HashMap<Box<str>, WordId>,
}

impl Vocabulary {
    fn id(&mut self, stem: &str) -> WordId {
        if let Some(id) = self.ids.get(stem) {
            return *id;
        }
        let id = self.ids.len() as WordId;
        self.ids.insert(stem.into(), id);
        id
    }

    fn words(&mut self, text: &str) -> Box<[WordId]> {
        let stems = tokens::words(text);
        stems.iter().map(|stem| self.id(stem)).collect()
    }

    fn name_words(&mut self, tool: &Tool) -> Box<[WordId]> {
        let server = tokens::words(tool.id().server.as_str());
        let mut words = Vec::new();
        let mut add = |stem: &str| {
            let id = self.id(stem);
            if !words.contains(&id) {
                words.push(id);
            }
        };
        for stem in tokens::plain_stems(&tool.id().tool) {
            match synonyms::phrase(&stem) {
                [] if server.contains(&stem) => {}
                [] => add(&stem),
                phrase => phrase.iter().for_each(|stem| add(stem)),
            }
        }
        words.into()
    }
}

/// Counts of one field over all documents, before lengths are known.
#[derive(Default)]
struct Counts {
    /// Word, document, times.
    entries: Vec<(WordId, u32, u32)>,
    lengths: Vec<u32>,
}

impl Counts {
    fn add(&mut self, document: u32, tool: &Tool, field: Field, vocabulary: &mut Vocabulary) {
        let start = self.entries.len();
        field.for_each_stem(tool, &mut |stem| {
            self.entries.push((vocabulary.id(stem), document, 1));
        });
        self.lengths.push((self.entries.len() - start) as u32);
        self.merge_from(start);
    }

    /// Adds up the entries from `start` on that are of one word.
    fn merge_from(&mut self, start: usize) {
        self.entries[start..].sort_unstable();
        let mut kept = start;
        for at in start..self.entries.len() {
            let entry = self.entries[at];
            if kept > start && self.entries[kept - 1].0 == entry.0 {
                self.entries[kept - 1].2 += 1;
            } else {
                self.entries[kept] = entry;
                kept += 1;
            }
        }
        self.entries.truncate(kept);
    }
}

impl Field {
    fn for_each_stem(self, tool: &Tool, found: &mut impl FnMut(&str)) {
        let definition = tool.definition();
        match self {
            Self::Server => for_each_stem(definition.id.server.as_str(), found),
            Self::Name => {
                for_each_stem(&definition.id.tool, &mut |stem: &str| {
                    found(stem);
                    synonyms::phrase(stem).iter().for_each(|stem| found(stem));
                });
                // So that a name written in one word, or with its server, finds the tool.
                let whole = names::fold(&definition.id.tool);
                found(&whole);
                found(&(names::fold(definition.id.server.as_str()) + &whole));
            }
            Self::Title => for_each_stem(definition.title.as_deref().unwrap_or_default(), found),
            Self::Description => {
                let description = definition.description.as_deref().unwrap_or_default();
                for_each_stem(text::cut(description, DESCRIPTION_INDEXED_BYTES_MAX), found);
            }
            Self::Parameters => {
                for (name, _) in parameters(&definition.input_schema) {
                    for_each_stem(name, found);
                }
            }
            Self::Values => {
                let schemas = parameters(&definition.input_schema).map(|(_, schema)| schema);
                for value in schemas.flat_map(enum_values).take(PARAMETERS_INDEXED_MAX) {
                    for_each_stem(value, found);
                }
            }
        }
    }
}

fn parameters(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .take(PARAMETERS_INDEXED_MAX)
}

fn enum_values(schema: &Value) -> impl Iterator<Item = &str> {
    let own = schema.get("enum").and_then(Value::as_array);
    let items = schema.get("items").and_then(|items| items.get("enum"));
    let items = items.and_then(Value::as_array);
    own.into_iter()
        .chain(items)
        .flatten()
        .filter_map(Value::as_str)
}

/// Weighted, length-normalised frequencies of all fields, added up per word and document.
fn postings(fields: &[Counts], words: usize) -> Vec<Postings> {
    // A server without tools has words that stand in no tool.
    let mut all: Vec<Vec<(u32, f64)>> = vec![Vec::new(); words];
    for (counts, (_, weight, b)) in fields.iter().zip(FIELDS) {
        let total: f64 = counts.lengths.iter().copied().map(f64::from).sum();
        let average = (total / counts.lengths.len().max(1) as f64).max(1.0);
        for (word, document, times) in &counts.entries {
            let length = f64::from(counts.lengths[*document as usize]);
            let frequency = weight * f64::from(*times) / (1.0 - b + b * length / average);
            all[*word as usize].push((*document, frequency));
        }
    }
    all.into_iter().map(Postings::new).collect()
}
