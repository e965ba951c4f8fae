//! Reads a query: its words, each with every word of the index that may stand for it.

use super::index::{Index, WordId};
use super::meaning::Meaning;
use super::synonyms;
use super::tokens::{self, Parts, stem};
use crate::names;

/// The word itself.
const SAID: f64 = 1.0;
/// A synonym, against the word itself.
const SYNONYM_WEIGHT: f64 = 0.55;
/// A word that everyday speech has for it, against the word itself.
const EVERYDAY_WEIGHT: f64 = 0.4;
/// The beginning of a word, against the word itself.
const PREFIX_WEIGHT: f64 = 0.6;
/// A word that an abbreviation may stand for, against the word itself.
const SHORT_WEIGHT: f64 = 0.5;
/// A word one letter off, against the word itself; less when that letter is the first, or when there are two.
const TYPO_WEIGHT: f64 = 0.6;
const TYPO_FIRST_WEIGHT: f64 = 0.4;
const TYPO_TWICE_WEIGHT: f64 = 0.4;
/// Letters from which a word may be mistyped, and from which twice.
const TYPO_CHARS_MIN: usize = 4;
const TYPO_TWICE_CHARS_MIN: usize = 7;
/// Letters of an abbreviation.
const SHORT_CHARS: std::ops::RangeInclusive<usize> = 2..=5;
/// Words of the index that one unfinished word may stand for, or one mistyped.
const PREFIX_WORDS_MAX: usize = 64;
const TYPO_WORDS_MAX: usize = 16;
/// Words of a query that count.
const QUERY_WORDS_MAX: usize = 32;
/// Likeness of a word that may stand for one of the query. Unrelated words have some 0.2.
const LIKE_MIN: f32 = 0.4;
/// Words of like meaning that are tried.
const LIKE_WORDS_MAX: usize = 24;

/// One word of the query.
pub(super) struct Slot {
    /// What it may stand for. A tool counts the best.
    pub(super) readings: Vec<Reading>,
    /// Whether a tool without it holds no less of the query.
    pub(super) optional: bool,
    /// The word in lower case, as it was meant when it was mistyped.
    pub(super) spoken: String,
}

/// A word of the index that a word of the query may stand for.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) word: WordId,
    /// Up to 1, which is the word itself.
    pub(super) weight: f64,
    pub(super) by: By,
}

/// Why a word of the index may stand for one of the query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// It is the same.
    Same,
    /// The letters are nearly the same.
    Letters,
    /// The table of synonyms says so.
    Synonym,
    /// Its meaning is near.
    Meaning,
}

impl Reading {
    fn new(word: WordId, weight: f64, by: By) -> Self {
        Self { word, weight, by }
    }
}

/// The words of `query` that tell something; all of them when none does.
pub(super) fn read(index: &Index, meaning: Option<&Meaning>, query: &str) -> Vec<Slot> {
    let chunks = tokens::chunks(query)
        .take(QUERY_WORDS_MAX)
        .collect::<Vec<_>>();
    let unfinished = chunks
        .last()
        .copied()
        .filter(|chunk| query.ends_with(*chunk));
    let words = said_words(index, &synonyms::without_idioms(&chunks));
    let mut slots = Vec::new();
    for word in &words {
        let is_last = unfinished.is_some_and(|chunk| chunk.ends_with(word.written));
        slots.push(slot(index, meaning, word, &words, is_last));
    }
    // The query may be a tool's name, in whatever style.
    slots.extend(index.word(&names::fold(query)).map(|id| Slot {
        readings: vec![Reading::new(id, SAID, By::Same)],
        optional: true,
        spoken: String::new(),
    }));
    slots
}

/// A word of the query.
struct Said<'q> {
    stem: String,
    /// As the query has it, or the short form it comes from.
    written: &'q str,
    /// Whether it is spelled out from a short form.
    expanded: bool,
}

/// The words of the query, each stem once. A short form is replaced by what it stands for, as it is in the
/// names of tools.
fn said_words<'q>(index: &Index, chunks: &[&'q str]) -> Vec<Said<'q>> {
    let tells = |chunk: &&str| !tokens::is_stop_word(&chunk.to_lowercase());
    let none_tells = !chunks.iter().any(tells);
    let telling = chunks
        .iter()
        .copied()
        .filter(|chunk| none_tells || tells(chunk));
    let mut words: Vec<Said<'_>> = Vec::new();
    for written in telling.flat_map(|chunk| parts(index, chunk)) {
        let stem = stemmed(written);
        let phrase = synonyms::phrase(&stem);
        let expanded = !phrase.is_empty() && phrase.iter().all(|stem| index.word(stem).is_some());
        let stems = if expanded {
            phrase
        } else {
            std::slice::from_ref(&stem)
        };
        for stem in stems {
            if !words.iter().any(|word| word.stem == *stem) {
                words.push(Said {
                    stem: stem.clone(),
                    written,
                    expanded,
                });
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

/// Everything `word` may stand for. A word that the query says itself is left to that one: in
/// `merge a pull request` neither word stands for the other.
fn slot(
    index: &Index,
    meaning: Option<&Meaning>,
    word: &Said<'_>,
    said: &[Said<'_>],
    unfinished: bool,
) -> Slot {
    let is_said = |id: WordId| {
        let others = said.iter().filter(|other| other.stem != word.stem);
        others
            .into_iter()
            .any(|other| index.word(&other.stem) == Some(id))
    };
    let mut readings = Vec::new();
    readings.extend(
        index
            .word(&word.stem)
            .map(|id| Reading::new(id, SAID, By::Same)),
    );
    for (synonyms, weight) in [
        (synonyms::of(&word.stem), SYNONYM_WEIGHT),
        (synonyms::everyday(&word.stem), EVERYDAY_WEIGHT),
    ] {
        let known = synonyms.iter().filter_map(|synonym| index.word(synonym));
        let unsaid = known.filter(|id| !is_said(*id));
        readings.extend(unsaid.map(|id| Reading::new(id, weight, By::Synonym)));
    }
    if unfinished {
        let begun = word.written.to_lowercase();
        let completed = index.words_from(&begun).take(PREFIX_WORDS_MAX);
        readings.extend(completed.map(|id| Reading::new(id, PREFIX_WEIGHT, By::Letters)));
    }
    let mut spoken = match word.expanded {
        true => word.stem.clone(),
        false => word.written.to_lowercase(),
    };
    if readings.is_empty() {
        readings = mistyped(index, &word.stem);
        if let Some((best, meaning)) = readings.first().zip(meaning)
            && let Some(meant) = meaning.spelled(best.word)
        {
            meant.clone_into(&mut spoken);
        }
    } else if let Some(meaning) = meaning
        && spoken == word.stem
        && !Meaning::has_word(&spoken)
        && let Some(meant) = index
            .word(&word.stem)
            .and_then(|id| meaning.spelled_like(id, &spoken))
    {
        // The pieces of `creat`, which is the stem of `create`, mean something else.
        meant.clone_into(&mut spoken);
    }
    if let Some(meaning) = meaning {
        for (id, likeness) in meaning.near(&spoken, LIKE_MIN, LIKE_WORDS_MAX) {
            if !is_said(id) && !readings.iter().any(|reading| reading.word == id) {
                let weight = f64::from(likeness * likeness);
                readings.push(Reading::new(id, weight, By::Meaning));
            }
        }
    }
    Slot {
        readings,
        optional: false,
        spoken,
    }
}

/// The words that one unknown to the index may be meant for, likeliest first.
fn mistyped(index: &Index, stem: &str) -> Vec<Reading> {
    let letters = stem.chars().count();
    let mut like = Vec::new();
    for (known, id) in index.words() {
        let weight = if letters >= TYPO_CHARS_MIN && within_one_edit(stem, known) {
            if known.chars().next() == stem.chars().next() {
                TYPO_WEIGHT
            } else {
                TYPO_FIRST_WEIGHT
            }
        } else if SHORT_CHARS.contains(&letters) && is_short_for(stem, known) {
            SHORT_WEIGHT
        } else if letters >= TYPO_TWICE_CHARS_MIN && within_two_edits(stem, known) {
            TYPO_TWICE_WEIGHT
        } else {
            continue;
        };
        like.push(Reading::new(id, weight, By::Letters));
    }
    // What is said more often is meant more often.
    let often =
        |reading: &Reading| std::cmp::Reverse(index.postings(reading.word).documents().len());
    like.sort_by(|a, b| {
        let by_weight = b.weight.total_cmp(&a.weight);
        by_weight.then_with(|| (often(a), a.word).cmp(&(often(b), b.word)))
    });
    like.truncate(TYPO_WORDS_MAX);
    like
}

/// Whether `short` is `word` without its vowels and perhaps more: `msg`, `pkg`, `txt`.
fn is_short_for(short: &str, word: &str) -> bool {
    const VOWELS: [char; 6] = ['a', 'e', 'i', 'o', 'u', 'y'];
    if short.contains(VOWELS)
        || !short.is_ascii()
        || word.len() <= short.len()
        || word.len() > 4 * short.len()
    {
        return false;
    }
    let consonants = || word.chars().filter(|c| !VOWELS.contains(c));
    let ends = (short.chars().next(), short.chars().next_back());
    if (word.chars().next(), consonants().next_back()) != ends {
        return false;
    }
    let mut rest = consonants();
    short.chars().all(|c| rest.any(|other| other == c))
}

/// Whether two inserted, dropped, replaced or swapped letters turn `a` into `b`, which begin alike.
fn within_two_edits(a: &str, b: &str) -> bool {
    a.len().abs_diff(b.len()) <= 2
        && a.as_bytes().first() == b.as_bytes().first()
        && strsim::osa_distance(a, b) <= 2
}

/// Whether one inserted, dropped, replaced or swapped letter turns `a` into `b`.
fn within_one_edit(a: &str, b: &str) -> bool {
    if a.len().abs_diff(b.len()) > 4 {
        return false;
    }
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    let common: usize = common.map(|(a, _)| a.len_utf8()).sum();
    let (a, b) = (&a[common..], &b[common..]);
    let (a_rest, b_rest) = (without_first(a), without_first(b));
    let is_swapped = || {
        let firsts = |word: &str| (word.chars().next(), word.chars().nth(1));
        let ((a1, a2), (b1, b2)) = (firsts(a), firsts(b));
        (a1, a2) == (b2, b1) && without_first(a_rest) == without_first(b_rest)
    };
    a_rest == b_rest || a_rest == b || a == b_rest || is_swapped()
}

fn without_first(word: &str) -> &str {
    let mut letters = word.chars();
    letters.next();
    letters.as_str()
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

    #[test]
    fn a_short_form_has_the_consonants_of_its_word_in_order() {
        for (short, word) in [
            ("msg", "messag"),
            ("pkg", "packag"),
            ("txt", "text"),
            ("svc", "servic"),
        ] {
            assert!(is_short_for(short, word), "{short} {word}");
        }
        for (short, word) in [
            ("msg", "mesa"),
            ("add", "address"),
            ("msg", "msg"),
            ("pr", "paper box"),
            ("", ""),
        ] {
            assert!(!is_short_for(short, word), "{short} {word}");
        }
    }
}
