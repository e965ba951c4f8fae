//! Vocabulary of an index: every stem of the tools, with a number.

use std::collections::HashMap;

use limbeck_catalog::Tool;
use limbeck_catalog::words::stems;

use crate::stop_words::plain_stems;
use crate::synonyms;

/// Number of a word in one index.
pub(crate) type WordId = u32;

/// Stems in alphabetical order.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    words: Vec<(Box<str>, WordId)>,
}

impl Vocabulary {
    /// Number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Finds exactly `stem`.
    pub(crate) fn get(&self, stem: &str) -> Option<WordId> {
        let at = self
            .words
            .binary_search_by(|(word, _)| (**word).cmp(stem))
            .ok()?;
        Some(self.words[at].1)
    }

    /// Words that start with `prefix`, in alphabetical order.
    pub(crate) fn starting_with<'v>(
        &'v self,
        prefix: &'v str,
    ) -> impl Iterator<Item = WordId> + 'v {
        let from = self.words.partition_point(|(word, _)| **word < *prefix);
        let words = self.words[from..].iter();
        words
            .take_while(move |(word, _)| word.starts_with(prefix))
            .map(|(_, id)| *id)
    }

    /// All words, in alphabetical order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, WordId)> {
        self.words.iter().map(|(word, id)| (&**word, *id))
    }
}

/// Vocabulary that still grows.
#[derive(Default)]
pub(crate) struct VocabularyBuilder {
    ids: HashMap<Box<str>, WordId>,
}

impl VocabularyBuilder {
    /// Number of `stem`, which is added when it is new.
    pub(crate) fn id(&mut self, stem: &str) -> WordId {
        if let Some(id) = self.ids.get(stem) {
            return *id;
        }
        let id = self.ids.len() as WordId;
        self.ids.insert(stem.into(), id);
        id
    }

    /// Numbers of the stems of `text`, in order.
    pub(crate) fn words(&mut self, text: &str) -> Box<[WordId]> {
        let stems = stems(text);
        stems.iter().map(|stem| self.id(stem)).collect()
    }

    /// Numbers of the stems of a tool's name, each once, without stop words and without the words of its server.
    pub(crate) fn name_words(&mut self, tool: &Tool) -> Box<[WordId]> {
        let server = stems(tool.id().server.as_str());
        let mut words = Vec::new();
        let mut add = |stem: &str| {
            let id = self.id(stem);
            if !words.contains(&id) {
                words.push(id);
            }
        };
        for stem in plain_stems(&tool.id().tool) {
            match synonyms::phrase(&stem) {
                [] if server.contains(&stem) => {}
                [] => add(&stem),
                phrase => phrase.iter().for_each(|stem| add(stem)),
            }
        }
        words.into()
    }
    /// Sorts the words.
    pub(crate) fn build(self) -> Vocabulary {
        let mut words: Vec<_> = self.ids.into_iter().collect();
        words.sort_unstable();
        Vocabulary { words }
    }
}
