//! Token counts by the vocabulary o200k_base.
//!
//! Other vendors' models use other vocabularies; their counts differ by some tenths.

mod vocabulary;

use limbeck_domain::text::cut;

use vocabulary::ENCODER;

/// Longer words, and longer runs of white space, are counted in parts: the encoder takes quadratic time in their length, and
/// a hostile text may be one word. Ordinary words are far shorter.
const WORD_BYTES_MAX: usize = 256;

/// Counts the tokens of a text. Exact, except that words above [`WORD_BYTES_MAX`] may count a few more.
#[must_use]
pub fn count(text: &str) -> usize {
    at_most(text, usize::MAX).unwrap_or(usize::MAX)
}

/// Counts the tokens of a text; `None` when there are more than `max`, without reading all of it.
#[must_use]
pub fn at_most(text: &str, max: usize) -> Option<usize> {
    let mut rest = text;
    let mut tokens = 0_usize;
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(part_of(rest));
        tokens += ENCODER.count_ordinary(part);
        if tokens > max {
            return None;
        }
        rest = behind;
    }
    Some(tokens)
}

/// Length of the prefix of `text` that is counted at once: up to the last white space that a token may start
/// with, or to the end of the text, or within a word that is too long.
fn part_of(text: &str) -> usize {
    /// Large enough that splitting costs no measurable time.
    const PART_BYTES_MAX: usize = 16 << 10;
    let part = cut(text, PART_BYTES_MAX);
    let mut begun = 0;
    let mut last_begun = 0;
    // Start of the white space that the position is in.
    let mut space_begun = 0;
    for (at, found) in part.char_indices() {
        if found.is_whitespace() {
            if at > begun {
                space_begun = at;
            } else if at - space_begun >= WORD_BYTES_MAX {
                return at;
            }
            // A token may hold one space in front of its word, and lines' ends in any number: a part ends in front
            // of a space that has a word on both sides.
            if found == ' ' && at > begun {
                last_begun = at;
            }
            begun = at + found.len_utf8();
        } else if at - begun >= WORD_BYTES_MAX {
            return at;
        }
    }
    if part.len() == text.len() || last_begun == 0 {
        part.len()
    } else {
        last_begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> usize {
        tiktoken_rs::o200k_base_singleton()
            .encode_ordinary(text)
            .len()
    }

    #[test]
    fn parting_a_text_does_not_change_its_count() {
        let line = "  The gateway's 3 tools: {\"a\": [1, 2.5e3], \"ü\": null}\n\n\tand so on, \r\n";
        let text = line.repeat(2_000);
        assert_eq!(count(&text), whole(&text));
        assert_eq!(count(""), 0);
        assert_eq!(count(line), whole(line));
    }

    #[test]
    fn one_word_of_a_megabyte_is_counted_in_bounded_time_and_nearly_right() {
        let word = "abc".repeat(1_000);
        let (parted, exact) = (count(&word), whole(&word));
        assert!(
            parted >= exact && parted <= exact + exact / 20 + 12,
            "{parted} {exact}"
        );
        let started = std::time::Instant::now();
        assert!(count(&"a".repeat(1 << 20)) > 1_000);
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn no_part_is_longer_than_a_word_where_a_text_has_no_words() {
        for (one, name) in [
            (" ", "spaces"),
            ("\n", "line ends"),
            ("\u{3000}", "wide spaces"),
            ("x", "letters"),
        ] {
            let text = one.repeat(10_000);
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let part = part_of(rest);
                assert!(
                    (1..=WORD_BYTES_MAX + one.len()).contains(&part),
                    "{name}: {part}"
                );
                rest = &rest[part..];
            }
        }
        // White space before, between and after words.
        let text = format!("{0}one{0}two{0}", " ".repeat(1_000));
        let (parted, exact) = (count(&text), whole(&text));
        assert!(
            parted <= 2 * exact && exact <= 2 * parted,
            "{parted} {exact}"
        );
    }

    #[test]
    fn a_bound_is_kept_exactly() {
        let text = "one two three";
        assert_eq!(at_most(text, 3), Some(3));
        assert_eq!(at_most(text, 2), None);
    }
}
