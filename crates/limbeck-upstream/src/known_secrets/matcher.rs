//! Finds which of many forms a text has.
//!
//! Most texts have none. So a filter looks at some of their positions alone: every form has at least [`Matcher::step`] places
//! at which four bytes can be looked at, and one of them is looked at wherever the form is. Only where these four bytes
//! may be those of a form, the automaton is asked whether one begins there. With 8,000 forms this reads three times
//! as fast as the automaton alone.

use std::ops::Range;

use aho_corasick::automaton::Automaton as _;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, Input, MatchKind};

/// Bytes that the filter looks at.
const GRAM: usize = 4;
/// Most places of a form that the filter knows.
const STEP_MAX: usize = 13;
/// Bits of an index into the filter: 128 KiB, which stay in the cache of a core.
const FILTER_BITS: u32 = 20;

/// Forms that are looked for. The longest is found among those that begin at the same place.
pub(super) struct Matcher {
    filter: Box<[u64]>,
    /// Distance of the positions that the filter looks at.
    step: usize,
    automaton: NFA,
    /// The forms, sorted.
    forms: Vec<Vec<u8>>,
    longest: usize,
    /// First bytes of forms.
    is_first: [bool; 256],
    /// Bytes that some form has.
    is_used: [bool; 256],
    /// Like `filter`, of the beginnings of forms alone.
    beginnings: Box<[u64]>,
}

impl Matcher {
    /// `None` without forms, and for more than an automaton can hold.
    pub(super) fn new(forms: impl IntoIterator<Item = Vec<u8>>) -> Option<Self> {
        let mut forms: Vec<Vec<u8>> = forms.into_iter().filter(|it| it.len() >= GRAM).collect();
        forms.sort_unstable();
        forms.dedup();
        let shortest = forms.iter().map(Vec::len).min()?;
        let longest = forms.iter().map(Vec::len).max()?;
        let step = (shortest - GRAM + 1).min(STEP_MAX);
        let mut filter = vec![0; (1 << FILTER_BITS) / 64].into_boxed_slice();
        let mut beginnings = filter.clone();
        let (mut is_first, mut is_used) = ([false; 256], [false; 256]);
        for form in &forms {
            is_first[usize::from(form[0])] = true;
            form.iter()
                .for_each(|byte| is_used[usize::from(*byte)] = true);
            let (word, bit) = place(form);
            beginnings[word] |= bit;
            for gram in form.windows(GRAM).take(step) {
                let (word, bit) = place(gram);
                filter[word] |= bit;
            }
        }
        let built = NFA::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms);
        let automaton = match built {
            Ok(automaton) => automaton,
            Err(error) => {
                tracing::error!("secrets cannot be looked for: {error}");
                return None;
            }
        };
        Some(Self {
            filter,
            step,
            automaton,
            forms,
            longest,
            is_first,
            is_used,
            beginnings,
        })
    }

    /// The next form in `text` that begins at `from` or later.
    pub(super) fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        // The first position that is looked at covers the places from `from` on.
        let mut at = from.next_multiple_of(self.step);
        while at + GRAM <= text.len() {
            let (word, bit) = place(&text[at..at + GRAM]);
            if self.filter[word] & bit != 0 {
                let first = (at + 1).saturating_sub(self.step).max(from);
                for start in first..=at {
                    if self.is_first[usize::from(text[start])]
                        && let Some(end) = self.form_at(text, start)
                    {
                        return Some(start..end);
                    }
                }
            }
            at += self.step;
        }
        None
    }

    fn form_at(&self, text: &[u8], start: usize) -> Option<usize> {
        let input = Input::new(text).range(start..).anchored(Anchored::Yes);
        let found = self.automaton.try_find(&input).ok()??;
        Some(found.end())
    }

    /// Where the part of `text` begins, from `from` on, that may be the beginning of a form; its length without one.
    pub(super) fn open_end(&self, text: &[u8], from: usize) -> usize {
        let unused = text
            .iter()
            .rposition(|byte| !self.is_used[usize::from(*byte)]);
        let first = unused.map_or(from, |at| from.max(at + 1));
        let first = first.max((text.len() + 1).saturating_sub(self.longest));
        let mut starts = first..text.len();
        let found = starts.find(|start| {
            let rest = &text[*start..];
            self.is_first[usize::from(rest[0])] && self.may_begin(rest) && {
                let at = self.forms.partition_point(|form| form.as_slice() < rest);
                // A form that is `rest` and no more was found already, unless a longer one begins alike.
                let forms = self.forms[at..].iter();
                let mut alike = forms.take_while(|form| form.starts_with(rest));
                alike.any(|form| form.len() > rest.len())
            }
        });
        found.unwrap_or(text.len())
    }

    fn may_begin(&self, rest: &[u8]) -> bool {
        rest.len() < GRAM || {
            let (word, bit) = place(rest);
            self.beginnings[word] & bit != 0
        }
    }
}

/// Word and bit of a filter for the first four bytes of `gram`.
fn place(gram: &[u8]) -> (usize, u64) {
    let gram = u32::from_le_bytes([gram[0], gram[1], gram[2], gram[3]]);
    let hash = gram.wrapping_mul(0x9e37_79b1) >> (32 - FILTER_BITS);
    (hash as usize / 64, 1 << (hash % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(forms: &[&str]) -> Matcher {
        Matcher::new(forms.iter().map(|form| form.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn each_form_is_found_at_each_place_and_the_longest_first() {
        let forms = ["secret-1", "secret-1-and-more", "another-of-them-0"];
        let matcher = matcher(&forms);
        for form in forms {
            for before in 0..40 {
                let text = format!("{}{form} and {form}", "s".repeat(before));
                let first = matcher.find(text.as_bytes(), 0).unwrap();
                assert_eq!(first, before..before + form.len(), "{form}");
                let second = matcher.find(text.as_bytes(), first.end).unwrap();
                assert_eq!(second.start, first.end + " and ".len());
                assert_eq!(matcher.find(text.as_bytes(), second.end), None);
            }
        }
        assert_eq!(matcher.find(b"secret-2 anothe", 0), None);
        assert!(Matcher::new([]).is_none());
    }

    #[test]
    fn an_open_end_begins_where_a_form_may() {
        let matcher = matcher(&["secret-1", "secret-1-and-more", "cretin-77"]);
        let open = |text: &str| text.len() - matcher.open_end(text.as_bytes(), 0);
        for (text, expected) in [
            ("nothing", 0),
            ("a secre", 5),
            ("a secret-1", 8),
            ("a secret-1-and-more", 0),
            ("a seacret", 4),
            ("a s", 1),
            ("", 0),
        ] {
            assert_eq!(open(text), expected, "{text}");
        }
    }
}
