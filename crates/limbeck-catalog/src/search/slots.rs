//! Reads a query: its words, each with every word of the index that may stand for it.

use super::index::{Index, WordId};
use super::synonyms;
use super::tokens::{self, Parts, stem};
use crate::names;

/// The word itself.
const SAID: f64 = 1.0;
/// A synonym, against the word itself.
const SYNONYM_WEIGHT: f64 = 0.55;
/// The beginning of a word, against the word itself.
const PREFIX_WEIGHT: f64 = 0.6;
/// A word one letter off, against the word itself; less when that letter is the first.
const TYPO_WEIGHT: f64 = 0.6;
const TYPO_FIRST_WEIGHT: f64 = 0.4;
/// Letters from which a word may be mistyped.
const TYPO_CHARS_MIN: usize = 5;
/// Words of the index that one unfinished word may stand for.
const PREFIX_WORDS_MAX: usize = 64;
/// Words of a query that count.
const QUERY_WORDS_MAX: usize = 32;

/// One word of the query.
pub(super) struct Slot {
    /// What it may stand for. A tool counts the best.
    pub(super) readings: Vec<Reading>,
    /// Whether a tool without it holds no less of the query.
    pub(super) optional: bool,
}

/// A word of the index that a word of the query may stand for.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) word: WordId,
    /// Up to 1, which is the word itself.
    pub(super) weight: f64,
}

impl Reading {
    fn new(word: WordId, weight: f64) -> Self {
        Self { word, weight }
    }

    pub(super) fn is_said(self) -> bool {
        self.weight >= SAID
    }
}

/// The words of `query` that tell something; all of them when none does.
pub(super) fn read(index: &Index, query: &str) -> Vec<Slot> {
    let chunks = tokens::chunks(query)
        .take(QUERY_WORDS_MAX)
        .collect::<Vec<_>>();
    let unfinished = chunks
        .last()
        .copied()
        .filter(|chunk| query.ends_with(*chunk));
    let words = said_words(index, &chunks);
    let mut slots = Vec::new();
    for (stem, word) in &words {
        let is_last = unfinished.is_some_and(|chunk| chunk.ends_with(word));
        slots.push(slot(index, word, stem, &words, is_last));
    }
    // The query may be a tool's name, in whatever style.
    slots.extend(index.word(&names::fold(query)).map(|id| Slot {
        readings: vec![Reading::new(id, SAID)],
        optional: true,
    }));
    slots
}

/// Stems of the query, each once and with the word it comes from. A short form is replaced by what it
/// stands for, as it is in the names of tools.
fn said_words<'q>(index: &Index, chunks: &[&'q str]) -> Vec<(String, &'q str)> {
    let tells = |chunk: &&str| !tokens::is_stop_word(&chunk.to_lowercase());
    let none_tells = !chunks.iter().any(tells);
    let telling = chunks
        .iter()
        .copied()
        .filter(|chunk| none_tells || tells(chunk));
    let mut words: Vec<(String, &str)> = Vec::new();
    for word in telling.flat_map(|chunk| parts(index, chunk)) {
        let stem = stemmed(word);
        let phrase = synonyms::phrase(&stem);
        let is_known = !phrase.is_empty() && phrase.iter().all(|stem| index.word(stem).is_some());
        let stems = if is_known {
            phrase
        } else {
            std::slice::from_ref(&stem)
        };
        for stem in stems {
            if !words.iter().any(|(other, _)| other == stem) {
                words.push((stem.clone(), word));
            }
        }
    }
    words
}

/// A chunk as it is when the index knows it or it has no parts, else its parts.
fn parts<'q>(index: &Index, chunk: &'q str) -> Vec<&'q str> {
    if index.word(&stemmed(chunk)).is_some() {
        vec![chunk]
    } else {
        Parts(chunk).collect()
    }
}

fn stemmed(word: &str) -> String {
    let mut buffer = String::new();
    stem(word, &mut buffer).to_owned()
}

/// Everything `word` may stand for. A synonym that the query says itself is left to that word:
/// in `merge a pull request` neither word stands for the other.
fn slot(index: &Index, word: &str, stem: &str, said: &[(String, &str)], unfinished: bool) -> Slot {
    let mut readings = Vec::new();
    readings.extend(index.word(stem).map(|id| Reading::new(id, SAID)));
    for synonym in synonyms::of(stem) {
        if !said.iter().any(|(said, _)| said == synonym) {
            readings.extend(
                index
                    .word(synonym)
                    .map(|id| Reading::new(id, SYNONYM_WEIGHT)),
            );
        }
    }
    if unfinished {
        let begun = word.to_lowercase();
        let completed = index.words_from(&begun).take(PREFIX_WORDS_MAX);
        readings.extend(completed.map(|id| Reading::new(id, PREFIX_WEIGHT)));
    }
    if readings.is_empty() && word.chars().count() >= TYPO_CHARS_MIN {
        let like = index
            .words()
            .filter(|(known, _)| within_one_edit(stem, known));
        readings.extend(like.map(|(known, id)| {
            let same_start = known.chars().next() == stem.chars().next();
            Reading::new(
                id,
                if same_start {
                    TYPO_WEIGHT
                } else {
                    TYPO_FIRST_WEIGHT
                },
            )
        }));
    }
    Slot {
        readings,
        optional: false,
    }
}

/// Whether one inserted, dropped, replaced or swapped letter turns `a` into `b`.
fn within_one_edit(a: &str, b: &str) -> bool {
    if a.len().abs_diff(b.len()) > 4 {
        return false;
    }
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let rest = |word: &str| word.chars().skip(common).collect::<Vec<_>>();
    let (a, b) = (rest(a), rest(b));
    match (a.as_slice(), b.as_slice()) {
        ([], []) => true,
        ([a1, a2, a_rest @ ..], [b1, b2, b_rest @ ..])
            if a1 == b2 && a2 == b1 && a.len() == b.len() =>
        {
            a_rest == b_rest
        }
        ([_, a_rest @ ..], [_, b_rest @ ..]) if a.len() == b.len() => a_rest == b_rest,
        ([_, a_rest @ ..], b) if a_rest.len() == b.len() => a_rest == b,
        (a, [_, b_rest @ ..]) if a.len() == b_rest.len() => a == b_rest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_is_one_letter_more_less_other_or_swapped() {
        for (a, b) in [
            ("delete", "delet"),
            ("delte", "delete"),
            ("dleete", "delete"),
            ("same", "same"),
            ("größe", "grösse"),
            ("", "a"),
        ] {
            assert_eq!(within_one_edit(a, b), b != "grösse", "{a} {b}");
        }
        assert!(!within_one_edit("delete", "select"));
        assert!(!within_one_edit("", "ab"));
    }
}
