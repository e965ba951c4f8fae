//! Stop words: words too common to tell tools apart.

use limbeck_catalog::words::{stem, subwords, tokens};

/// Stop words before stemming. They are left out of queries and of embeddings. `embeddings/make.py` reads this list.
const STOP_WORDS: [&str; 113] = [
    "a",
    "about",
    "all",
    "also",
    "am",
    "an",
    "and",
    "another",
    "any",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "been",
    "being",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "done",
    "during",
    "each",
    "every",
    "for",
    "from",
    "given",
    "had",
    "has",
    "have",
    "he",
    "her",
    "here",
    "him",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "let",
    "lets",
    "like",
    "many",
    "may",
    "me",
    "might",
    "much",
    "my",
    "need",
    "needs",
    "nobody",
    "not",
    "of",
    "on",
    "or",
    "other",
    "our",
    "own",
    "please",
    "same",
    "she",
    "should",
    "so",
    "some",
    "somebody",
    "someone",
    "something",
    "such",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "those",
    "to",
    "too",
    "tool",
    "us",
    "using",
    "very",
    "want",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
];

/// Whether `word`, in lower case, is a stop word.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Stems of a name's words without stop words: `readFile` gives `read`, `file`; `s3_get` gives `s3`, `get`.
pub(crate) fn plain_stems(name: &str) -> Vec<String> {
    let mut buffer = String::new();
    let mut stems = Vec::new();
    for token in tokens(name) {
        // A token with a part of one letter, such as `s3`, is one word.
        let whole = subwords(token).any(|part| part.chars().nth(1).is_none());
        let parts = if whole {
            vec![token]
        } else {
            subwords(token).collect()
        };
        for part in parts {
            if !is_stop_word(&part.to_lowercase()) {
                stems.push(stem(part, &mut buffer).to_owned());
            }
        }
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("file"));
    }
}
