//! Parts text into words and words into stems.

/// Longest word that counts; longer ones are keys, hashes and data.
pub(super) const WORD_BYTES_MAX: usize = 32;

/// Words too common to tell tools apart, as they are before stemming. Left out of queries, and of what tools mean.
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

/// Whether `word`, in lower case, says nothing in a query.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Stems of the words of `text`, in order.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for_each_stem(text, &mut |stem| words.push(stem.to_owned()));
    words
}

/// Calls `found` with the stem of each word of `text`.
///
/// Words end at everything that is no letter or digit. One that holds several, as `readFile` and `s3`
/// do, gives its parts and then the whole; a part of one letter is given only inside the whole.
pub(super) fn for_each_stem(text: &str, found: &mut impl FnMut(&str)) {
    let mut buffer = String::new();
    for chunk in chunks(text) {
        let mut parts = 0;
        for part in Parts(chunk) {
            parts += 1;
            if part.len() == chunk.len() || part.chars().nth(1).is_some() {
                found(stem(part, &mut buffer));
            }
        }
        if parts > 1 {
            found(stem(chunk, &mut buffer));
        }
    }
}

/// Stems of the words a name is made of, without common ones: `readFile` is `read`, `file`,
/// and `s3_get` is `s3`, `get`.
pub(super) fn plain_stems(name: &str) -> Vec<String> {
    let mut buffer = String::new();
    let mut stems = Vec::new();
    for chunk in chunks(name) {
        let whole = Parts(chunk).any(|part| part.chars().nth(1).is_none());
        let parts = if whole {
            vec![chunk]
        } else {
            Parts(chunk).collect()
        };
        for part in parts {
            if !is_stop_word(&part.to_lowercase()) {
                stems.push(stem(part, &mut buffer).to_owned());
            }
        }
    }
    stems
}

/// The runs of letters and digits of `text`.
pub(super) fn chunks(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|chunk| !chunk.is_empty() && chunk.len() <= WORD_BYTES_MAX)
}

/// The parts of one chunk: `readFile` is `read`, `File`; `HTMLPage` is `HTML`, `Page`; `s3` is `s`, `3`.
pub(super) struct Parts<'c>(pub(super) &'c str);

impl<'c> Iterator for Parts<'c> {
    type Item = &'c str;

    fn next(&mut self) -> Option<&'c str> {
        let mut chars = self.0.char_indices().peekable();
        let (_, mut before) = chars.next()?;
        while let Some((at, c)) = chars.next() {
            let hump = c.is_uppercase() && before.is_lowercase();
            let last_capital = before.is_uppercase()
                && c.is_uppercase()
                && chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            if hump || last_capital || c.is_numeric() != before.is_numeric() {
                let (part, rest) = self.0.split_at(at);
                self.0 = rest;
                return Some(part);
            }
            before = c;
        }
        Some(std::mem::take(&mut self.0))
    }
}

/// The stem of one word, lower-cased into `buffer`.
///
/// A light stemmer for English: plurals, `-ing`, `-ed`, `-ion` and a final `e`. It need not give words,
/// only the same form for `create`, `creates`, `creating`, `created` and `creation`.
pub(super) fn stem<'b>(word: &str, buffer: &'b mut String) -> &'b str {
    buffer.clear();
    buffer.extend(word.chars().flat_map(char::to_lowercase));
    if buffer.len() > 3 && buffer.is_ascii() {
        strip_plural(buffer);
        strip_ending(buffer);
        if buffer.len() > 3 && buffer.ends_with('e') {
            buffer.pop();
        }
    }
    buffer
}

fn strip_plural(word: &mut String) {
    let keep = |ending: &str| word.len() - ending.len();
    if word.ends_with("ies") && word.len() > 4 {
        word.truncate(keep("ies"));
        word.push('y');
    } else if ["sses", "xes", "ches", "shes", "zes"]
        .iter()
        .any(|ending| word.ends_with(ending))
    {
        word.truncate(keep("es"));
    } else if word.ends_with('s')
        && !["ss", "us", "is"]
            .iter()
            .any(|ending| word.ends_with(ending))
    {
        word.truncate(keep("s"));
    }
}

fn strip_ending(word: &mut String) {
    if word.ends_with("ied") && word.len() > 4 {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.ends_with("ed") && !word.ends_with("eed") {
        strip_verb_ending(word, "ed");
    } else if word.ends_with("ing") {
        strip_verb_ending(word, "ing");
    } else if word.len() > 6 && (word.ends_with("tion") || word.ends_with("sion")) {
        word.truncate(word.len() - 3);
    }
}

/// Takes `ending` off when a syllable of three letters stays: `listing`, but not `string` or `used`.
fn strip_verb_ending(word: &mut String, ending: &str) {
    let stem = &word[..word.len() - ending.len()];
    if stem.len() < 3 || !stem.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
        return;
    }
    let bytes = stem.as_bytes();
    let (last, before) = (bytes[bytes.len() - 1], bytes[bytes.len() - 2]);
    let doubled = last == before && !matches!(last, b'l' | b's' | b'z');
    word.truncate(stem.len() - usize::from(doubled));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("file"));
    }

    #[test]
    fn names_part_at_humps_digits_and_punctuation() {
        assert_eq!(words("read_text-file"), ["read", "text", "fil"]);
        assert_eq!(
            words("readHTMLPage"),
            ["read", "html", "pag", "readhtmlpag"]
        );
        assert_eq!(words("s3 k8s"), ["s3", "k8s"]);
        assert_eq!(words("GitHub"), ["git", "hub", "github"]);
        assert_eq!(words("größeÄndern"), ["größe", "ändern", "größeändern"]);
        assert_eq!(words(" \u{0} ... "), Vec::<String>::new());
    }

    #[test]
    fn forms_of_one_word_share_a_stem_and_short_words_stay() {
        for family in [
            &["create", "creates", "creating", "created", "creation"][..],
            &["delete", "deleted", "deletion"],
            &["query", "queries", "queried"],
            &["branch", "branches"],
            &["run", "running", "runs"],
            &["commit", "committed", "commits"],
        ] {
            let stems = family
                .iter()
                .map(|word| words(word).remove(0))
                .collect::<Vec<_>>();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{stems:?}");
        }
        for word in ["status", "string", "need", "class", "analysis"] {
            assert_eq!(words(word), [word]);
        }
    }
}
