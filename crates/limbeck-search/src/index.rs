//! Inverted index of a catalog: the tools that contain each word, with the word's weight in each tool.
//!
//! Weights are those of BM25F (Robertson and Zaragoza, 2009): the frequencies of a word in a tool's fields are
//! weighted and normalized field by field, then added, and saturated only in the score. Because they are added
//! first, a word in both the name and the description counts once, not twice.

use std::sync::OnceLock;

use limbeck_catalog::words::for_each_stem;
use limbeck_catalog::{Catalog, Tool, names};
use limbeck_domain::text;
use serde_json::Value;

use crate::actions;
use crate::documents::Documents;
use crate::postings::Postings;
use crate::semantic::SemanticIndex;
use crate::synonyms;
use crate::vocabulary::{Vocabulary, VocabularyBuilder, WordId};

/// Bytes of a description that are indexed; a description states the tool's purpose at its start.
const DESCRIPTION_INDEXED_BYTES_MAX: usize = 1 << 10;
/// Parameters and enum values indexed, each.
const PARAMETERS_INDEXED_MAX: usize = 64;

/// Fields with their weight and their length normalization (`b`), tuned with labeled queries on captured tool lists.
/// Names weigh most and are short on purpose, so their length counts little. A long description must not win by its
/// length.
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

/// Search index of one catalog snapshot. Documents are its tools in catalog order.
#[derive(Debug)]
pub struct SearchIndex {
    vocabulary: Vocabulary,
    /// By [`WordId`].
    postings: Vec<Postings>,
    documents: Documents,
    /// Built by the first search that ranks by meaning.
    semantic: OnceLock<SemanticIndex>,
}

impl SearchIndex {
    /// Reads all tools of `catalog`.
    pub fn new(catalog: &Catalog) -> Self {
        let mut vocabulary = VocabularyBuilder::default();
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
        let vocabulary = vocabulary.build();
        Self {
            postings: postings(&fields, vocabulary.len()),
            vocabulary,
            documents,
            semantic: OnceLock::new(),
        }
    }

    /// Vectors of the tools and of their words. `catalog` is the snapshot this index was made of.
    pub(crate) fn semantic(&self, catalog: &Catalog) -> &SemanticIndex {
        self.semantic
            .get_or_init(|| SemanticIndex::new(catalog, &self.vocabulary))
    }

    /// Similarity of two tools by their vectors; 0 before the first search by meaning.
    pub(crate) fn similarity_between(&self, one: usize, other: usize) -> f32 {
        let semantic = self.semantic.get();
        semantic.map_or(0.0, |semantic| semantic.tools().cosine_between(one, other))
    }

    /// Names and order of the tools.
    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Stems of all tools.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Tools that contain `word`.
    pub(crate) fn postings(&self, word: WordId) -> &Postings {
        &self.postings[word as usize]
    }
}

/// Word counts of one field over all documents, before the average length is known.
#[derive(Default)]
struct Counts {
    /// Word, document, times.
    entries: Vec<(WordId, u32, u32)>,
    lengths: Vec<u32>,
}

impl Counts {
    fn add(
        &mut self,
        document: u32,
        tool: &Tool,
        field: Field,
        vocabulary: &mut VocabularyBuilder,
    ) {
        let start = self.entries.len();
        field.for_each_stem(tool, &mut |stem| {
            self.entries.push((vocabulary.id(stem), document, 1));
        });
        self.lengths.push((self.entries.len() - start) as u32);
        self.merge_from(start);
    }

    /// Merges entries of the same word, from `start` on.
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
                // A query may write the name in one word, or together with its server.
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

/// Adds the weighted, length-normalized frequencies of all fields, by word and document.
fn postings(fields: &[Counts], words: usize) -> Vec<Postings> {
    // Words of a server without tools occur in no document, and still need a list.
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
