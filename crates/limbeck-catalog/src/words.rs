//! Words of names and texts: tokens, their subwords and stems.
//!
//! Suggestions for misspelled names compare these words, and search indexes them, so both agree on what a word is.

/// Longest token that counts; longer ones are keys, hashes and data.
pub const WORD_BYTES_MAX: usize = 32;

/// Stems of the words of `text`, in order.
pub fn stems(text: &str) -> Vec<String> {
    let mut stems = Vec::new();
    for_each_stem(text, &mut |stem| stems.push(stem.to_owned()));
    stems
}

/// Calls `found` with the stem of each word of `text`.
///
/// Words end at everything that is no letter or digit. One that holds several, as `readFile` and `s3`
/// do, gives its parts and then the whole; a part of one letter is given only inside the whole.
pub fn for_each_stem(text: &str, found: &mut impl FnMut(&str)) {
    let mut buffer = String::new();
    for token in tokens(text) {
        let mut parts = 0;
        for part in subwords(token) {
            parts += 1;
            if part.len() == token.len() || part.chars().nth(1).is_some() {
                found(stem(part, &mut buffer));
            }
        }
        if parts > 1 {
            found(stem(token, &mut buffer));
        }
    }
}

/// The runs of letters and digits of `text`.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|chunk| !chunk.is_empty() && chunk.len() <= WORD_BYTES_MAX)
}

/// Subwords of one token: `readFile` gives `read`, `File`; `HTMLPage` gives `HTML`, `Page`; `s3` gives `s`, `3`.
pub fn subwords(token: &str) -> impl Iterator<Item = &str> {
    Subwords(token)
}

struct Subwords<'t>(&'t str);

impl<'t> Iterator for Subwords<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
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
pub fn stem<'b>(word: &str, buffer: &'b mut String) -> &'b str {
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
    fn names_part_at_humps_digits_and_punctuation() {
        assert_eq!(stems("read_text-file"), ["read", "text", "fil"]);
        assert_eq!(
            stems("readHTMLPage"),
            ["read", "html", "pag", "readhtmlpag"]
        );
        assert_eq!(stems("s3 k8s"), ["s3", "k8s"]);
        assert_eq!(stems("GitHub"), ["git", "hub", "github"]);
        assert_eq!(stems("größeÄndern"), ["größe", "ändern", "größeändern"]);
        assert_eq!(stems(" \u{0} ... "), Vec::<String>::new());
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
                .map(|word| stems(word).remove(0))
                .collect::<Vec<_>>();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{stems:?}");
        }
        for word in ["status", "string", "need", "class", "analysis"] {
            assert_eq!(stems(word), [word]);
        }
    }
}
