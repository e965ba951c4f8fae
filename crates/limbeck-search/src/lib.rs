//! Search over the tools of a catalog: which tools do what a few words ask for.
//!
//! Two kinds of evidence are gathered and their scores added. By words: [`index`] holds the words of all tools,
//! [`query_terms`] reads a query, [`synonyms`] has words with the same meaning, and [`bm25`] scores. By
//! meaning: [`embedding_table`] has a vector for every piece of a word, and [`semantic`] adds the vectors up. [`actions`]
//! separates tools that look something up from tools that change it, [`fusion`] adds all scores and [`answer`] answers.
//! Everything is tables and arithmetic, so equal catalogs give equal answers. `docs/guide/search.md` describes the method
//! and its figures.
//!
//! The crate does no I/O and reads no clock. Start reading at [`SearchIndex`].

#![forbid(unsafe_code)]

mod actions;
mod answer;
mod bm25;
mod documents;
mod embedding_table;
mod embedding_text;
mod fusion;
mod index;
mod postings;
mod query;
mod query_terms;
#[cfg(test)]
mod reference;
mod relevance;
mod searchable;
mod semantic;
mod spread;
mod stop_words;
mod synonyms;
mod top_k;
mod vectors;
mod vocabulary;

pub use answer::servers_named;
pub use embedding_text::embedding_text;
pub use index::SearchIndex;
pub use query::{Evidence, SearchAnswer, SearchHit, SearchQuery};
pub use searchable::SearchableCatalog;
