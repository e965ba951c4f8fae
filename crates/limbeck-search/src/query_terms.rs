//! Parser of queries: every word of a query, with the words of the index that it matches.

use limbeck_catalog::names;
use limbeck_catalog::words::{stem, subwords, tokens};

use crate::index::SearchIndex;
use crate::semantic::SemanticIndex;
use crate::stop_words::is_stop_word;
use crate::synonyms;
use crate::vocabulary::WordId;

/// Weight of the word itself.
const EXACT_WEIGHT: f64 = 1.0;
/// Weight of a synonym.
const SYNONYM_WEIGHT: f64 = 0.55;
/// Weight of a word from `everyday.txt` or `products.txt`.
const EVERYDAY_WEIGHT: f64 = 0.4;
/// Weight of a word that starts with the query's unfinished last word.
const PREFIX_WEIGHT: f64 = 0.6;
/// Weight of a word that the query may abbreviate.
const SHORT_WEIGHT: f64 = 0.5;
/// Weights of a word that differs by one edit, by one edit of the first letter, and by two edits.
const TYPO_WEIGHT: f64 = 0.6;
const TYPO_FIRST_WEIGHT: f64 = 0.4;
const TYPO_TWICE_WEIGHT: f64 = 0.4;
/// Fewest letters of a word that is corrected by one edit, and by two.
const TYPO_CHARS_MIN: usize = 4;
const TYPO_TWICE_CHARS_MIN: usize = 7;
/// Number of letters of an abbreviation.
const SHORT_CHARS: std::ops::RangeInclusive<usize> = 2..=5;
/// Most words of the index that complete an unfinished word, and that correct a misspelled one.
const PREFIX_WORDS_MAX: usize = 64;
const TYPO_WORDS_MAX: usize = 16;
/// Words of a query after which the rest is ignored.
const QUERY_WORDS_MAX: usize = 32;
/// Least cosine similarity of an expansion by meaning. Unrelated words have about 0.2.
const SIMILARITY_MIN: f32 = 0.4;
/// Most expansions by meaning of one word.
const SIMILAR_WORDS_MAX: usize = 24;

/// One word of the query.
pub(crate) struct QueryTerm {
    /// Words of the index that match it. A tool scores by the best of them.
    pub(crate) expansions: Vec<Expansion>,
    /// Whether a tool without it still covers the whole query.
    pub(crate) optional: bool,
    /// The word in lower case, with its spelling corrected, for its embedding.
    pub(crate) spelling: String,
}

/// A word of the index that matches a word of the query.
#[derive(Clone, Copy)]
pub(crate) struct Expansion {
    pub(crate) word: WordId,
    /// Up to 1, for the word itself.
    pub(crate) weight: f64,
    pub(crate) kind: MatchKind,
}

/// Reason why a word of the index matches a word of the query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchKind {
    /// Both have the same stem.
    Exact,
    /// Both are spelled alike: a completion, a correction or an abbreviation.
    Spelling,
    /// Both are in one group of the word lists.
    Synonym,
    /// Their embeddings are similar.
    Semantic,
}

impl Expansion {
    fn new(word: WordId, weight: f64, kind: MatchKind) -> Self {
        Self { word, weight, kind }
    }
}

/// Parses the words of `query`, without stop words unless it has no others.
///
/// Without `semantic` no word is expanded by meaning.
pub(crate) fn parse(
    index: &SearchIndex,
    semantic: Option<&SemanticIndex>,
    query: &str,
) -> Vec<QueryTerm> {
    let chunks = tokens(query).take(QUERY_WORDS_MAX).collect::<Vec<_>>();
    let unfinished = chunks
        .last()
        .copied()
        .filter(|chunk| query.ends_with(*chunk));
    let words = query_words(index, &synonyms::replace_idioms(&chunks));
    let mut terms = Vec::new();
    for word in &words {
        let is_last = unfinished.is_some_and(|chunk| chunk.ends_with(word.written));
        terms.push(term(index, semantic, word, &words, is_last));
    }
    // The query may be a tool's name, written in another style.
    terms.extend(
        index
            .vocabulary()
            .get(&names::fold(query))
            .map(|id| QueryTerm {
                expansions: vec![Expansion::new(id, EXACT_WEIGHT, MatchKind::Exact)],
                optional: true,
                spelling: String::new(),
            }),
    );
    terms
}

/// A word of the query, before it is expanded.
struct QueryWord<'q> {
    stem: String,
    /// The word as the query has it, or the abbreviation it was expanded from.
    written: &'q str,
    /// Whether it was expanded from an abbreviation.
    expanded: bool,
}

/// The words of the query, each stem once. An abbreviation is replaced by its words, as it is in the names of tools.
fn query_words<'q>(index: &SearchIndex, chunks: &[&'q str]) -> Vec<QueryWord<'q>> {
    let is_content = |chunk: &&str| !is_stop_word(&chunk.to_lowercase());
    let has_no_content = !chunks.iter().any(is_content);
    let kept = chunks
        .iter()
        .copied()
        .filter(|chunk| has_no_content || is_content(chunk));
    let mut words: Vec<QueryWord<'_>> = Vec::new();
    for written in kept.flat_map(|chunk| parts(index, chunk)) {
        let stem = stemmed(written);
        let phrase = synonyms::phrase(&stem);
        let expanded = !phrase.is_empty()
            && phrase
                .iter()
                .all(|stem| index.vocabulary().get(stem).is_some());
        let stems = if expanded {
            phrase
        } else {
            std::slice::from_ref(&stem)
        };
        for stem in stems {
            if !words.iter().any(|word| word.stem == *stem) {
                words.push(QueryWord {
                    stem: stem.clone(),
                    written,
                    expanded,
                });
            }
        }
    }
    words
}

/// The token itself when the index has its stem, otherwise its subwords.
fn parts<'q>(index: &SearchIndex, chunk: &'q str) -> Vec<&'q str> {
    if index.vocabulary().get(&stemmed(chunk)).is_some() {
        vec![chunk]
    } else {
        subwords(chunk).collect()
    }
}

fn stemmed(word: &str) -> String {
    let mut buffer = String::new();
    stem(word, &mut buffer).to_owned()
}

/// Expands `word`. Other words of the query are left out: in `merge a pull request` both `merge` and `pull` count for
/// themselves, although they are synonyms.
fn term(
    index: &SearchIndex,
    semantic: Option<&SemanticIndex>,
    word: &QueryWord<'_>,
    words: &[QueryWord<'_>],
    unfinished: bool,
) -> QueryTerm {
    let is_in_query = |id: WordId| {
        let others = words.iter().filter(|other| other.stem != word.stem);
        others
            .into_iter()
            .any(|other| index.vocabulary().get(&other.stem) == Some(id))
    };
    let mut expansions = Vec::new();
    expansions.extend(
        index
            .vocabulary()
            .get(&word.stem)
            .map(|id| Expansion::new(id, EXACT_WEIGHT, MatchKind::Exact)),
    );
    for (synonyms, weight) in [
        (synonyms::of(&word.stem), SYNONYM_WEIGHT),
        (synonyms::everyday(&word.stem), EVERYDAY_WEIGHT),
    ] {
        let known = synonyms
            .iter()
            .filter_map(|synonym| index.vocabulary().get(synonym));
        let new = known.filter(|id| !is_in_query(*id));
        expansions.extend(new.map(|id| Expansion::new(id, weight, MatchKind::Synonym)));
    }
    if unfinished {
        let prefix = word.written.to_lowercase();
        let completed = index
            .vocabulary()
            .starting_with(&prefix)
            .take(PREFIX_WORDS_MAX);
        expansions
            .extend(completed.map(|id| Expansion::new(id, PREFIX_WEIGHT, MatchKind::Spelling)));
    }
    let mut spelling = match word.expanded {
        true => word.stem.clone(),
        false => word.written.to_lowercase(),
    };
    if expansions.is_empty() {
        expansions = corrections(index, &word.stem);
        if let Some((best, semantic)) = expansions.first().zip(semantic)
            && let Some(corrected) = semantic.spelling(best.word, &spelling)
        {
            corrected.clone_into(&mut spelling);
        }
    } else if let Some(semantic) = semantic
        && spelling == word.stem
        && !SemanticIndex::has_word(&spelling)
        && let Some(whole) = index
            .vocabulary()
            .get(&word.stem)
            .and_then(|id| semantic.spelling(id, &spelling))
    {
        // The query has the bare stem, such as `creat` of `create`, whose pieces have another meaning.
        whole.clone_into(&mut spelling);
    }
    if let Some(semantic) = semantic {
        for (id, similarity) in semantic.similar_words(&spelling, SIMILARITY_MIN, SIMILAR_WORDS_MAX)
        {
            if !is_in_query(id) && !expansions.iter().any(|expansion| expansion.word == id) {
                let weight = f64::from(similarity * similarity);
                expansions.push(Expansion::new(id, weight, MatchKind::Semantic));
            }
        }
    }
    QueryTerm {
        expansions,
        optional: false,
        spelling,
    }
}

/// Words of the index that a word it does not have may be misspelled or abbreviated from, likeliest first.
fn corrections(index: &SearchIndex, stem: &str) -> Vec<Expansion> {
    let letters = stem.chars().count();
    let mut found = Vec::new();
    for (known, id) in index.vocabulary().iter() {
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
        found.push(Expansion::new(id, weight, MatchKind::Spelling));
    }
    // Of equal candidates the more frequent word is more likely.
    let frequency =
        |expansion: &Expansion| std::cmp::Reverse(index.postings(expansion.word).documents().len());
    found.sort_by(|a, b| {
        let by_weight = b.weight.total_cmp(&a.weight);
        by_weight.then_with(|| (frequency(a), a.word).cmp(&(frequency(b), b.word)))
    });
    found.truncate(TYPO_WORDS_MAX);
    found
}

/// Whether `short` is `word` without its vowels and perhaps some consonants: `msg`, `pkg`, `txt`.
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

/// Whether `a` and `b` start with the same byte and differ by at most two inserted, dropped, replaced or swapped letters.
fn within_two_edits(a: &str, b: &str) -> bool {
    a.len().abs_diff(b.len()) <= 2
        && a.as_bytes().first() == b.as_bytes().first()
        && strsim::osa_distance(a, b) <= 2
}

/// Whether `a` and `b` differ by at most one inserted, dropped, replaced or swapped letter.
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
