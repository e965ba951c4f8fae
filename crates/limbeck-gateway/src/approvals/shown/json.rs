//! Reading of JSON text without changing a byte of it.
//!
//! A person approves the bytes that will be sent, so numbers are never parsed here and no value is written again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Most members of an object that are listed.
pub(crate) const FIELDS_MAX: usize = 48;

/// One member of a JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// Its name, decoded. A lone surrogate is U+FFFD here.
    pub(crate) name: String,
    /// The text of its value, byte for byte.
    pub(crate) value: &'a str,
}

/// Members of a JSON object, in the order of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields<'a> {
    /// As many as were asked for.
    pub(crate) listed: Vec<Field<'a>>,
    /// How many there are beside them.
    pub(crate) more: usize,
    /// The text of the others: what is behind the last listed value, without the brace that ends the object, or their members
    /// where the listed ones are not the first of the text.
    pub(crate) rest: Cow<'a, str>,
}

/// The first [`FIELDS_MAX`] members of an object; `None` for a text that is not a JSON object.
pub(crate) fn fields(json: &str) -> Option<Fields<'_>> {
    fields_in_order(json, &[], FIELDS_MAX)
}

/// At most `count_max` members of an object: those with a name of `first` in its order, then the others in that of the text.
/// `None` for a text that is not a JSON object.
pub(crate) fn fields_in_order<'a>(
    json: &'a str,
    first: &[String],
    count_max: usize,
) -> Option<Fields<'a>> {
    let Members(members) = serde_json::from_str(json).ok()?;
    let mut members: Vec<(Field<'a>, &'a RawValue)> = members
        .into_iter()
        .map(|(name, value)| {
            let field = Field {
                name: decoded(inside(name.get())),
                value: value.get(),
            };
            (field, name)
        })
        .collect();
    let places: HashMap<&str, usize> = first.iter().map(String::as_str).zip(0..).collect();
    let place = |field: &Field<'a>| places.get(&*field.name).copied().unwrap_or(usize::MAX);
    let is_as_written = members.is_sorted_by_key(|(field, _)| place(field));
    // Stable: members that are not named keep their order.
    members.sort_by_key(|(field, _)| place(field));
    let others = members.split_off(members.len().min(count_max));
    let rest = if is_as_written {
        let after = members.last().map_or(0, |(field, _)| {
            // Both are parts of one text.
            (field.value.as_ptr() as usize - json.as_ptr() as usize) + field.value.len()
        });
        let rest = json.get(after..).unwrap_or_default().trim_end();
        Cow::Borrowed(rest.strip_suffix('}').unwrap_or(rest))
    } else {
        let texts = others
            .iter()
            .map(|(field, name)| format!("{}:{}", name.get(), field.value));
        Cow::Owned(texts.collect::<Vec<_>>().join(","))
    };
    Some(Fields {
        listed: members.into_iter().map(|(field, _)| field).collect(),
        more: others.len(),
        rest,
    })
}

struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        // Names are raw too: one with a lone surrogate is not a text of Rust. The text is in memory, so its members are too.
        while let Some(member) = map.next_entry::<&RawValue, &RawValue>()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

/// What a string literal has between its quotation marks.
fn inside(literal: &str) -> &str {
    literal
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(literal)
}

/// The characters that the inside of a string literal denotes. A lone surrogate becomes U+FFFD.
pub(crate) fn decoded(inside: &str) -> String {
    let mut text = String::with_capacity(inside.len());
    for (piece, _) in Pieces::of(inside) {
        text.push(match piece {
            Piece::Character(c) => c,
            Piece::Surrogate(_) => char::REPLACEMENT_CHARACTER,
        });
    }
    text
}

/// The string literals of a JSON text, names of members included: what each has between its quotation marks.
pub(crate) fn strings(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let (_, literal) = rest.split_once('"')?;
        let end = end_of(literal);
        let text = literal.get(..end)?;
        rest = literal.get(end + 1..).unwrap_or_default();
        Some(text)
    })
}

/// Length of the literal that `text` begins with: up to its quotation mark, or all of `text`.
fn end_of(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    text.len()
}

/// What one character or escape of a string literal denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Character(char),
    /// Half of a surrogate pair, without the other half.
    Surrogate(u16),
}

/// Pieces of the inside of a string literal, each with its number of bytes. An escape that is not one denotes itself.
pub(crate) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Pieces<'a> {
    pub(crate) fn of(inside: &'a str) -> Self {
        Self { rest: inside }
    }
}

impl Iterator for Pieces<'_> {
    type Item = (Piece, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.rest.chars().next()?;
        let (piece, bytes) = match first {
            '\\' => escape(self.rest),
            c => (Piece::Character(c), c.len_utf8()),
        };
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        Some((piece, bytes))
    }
}

/// The escape that `text` begins with.
fn escape(text: &str) -> (Piece, usize) {
    let simple = match text.as_bytes().get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return by_number(text).unwrap_or((Piece::Character('\\'), 1)),
        _ => return (Piece::Character('\\'), 1),
    };
    (Piece::Character(simple), 2)
}

fn by_number(text: &str) -> Option<(Piece, usize)> {
    let first = unit(text)?;
    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((Piece::Character(c), 6));
    }
    let pair = text.get(6..).and_then(unit).and_then(|second| {
        char::decode_utf16([first, second])
            .next()
            .and_then(Result::ok)
    });
    Some(match pair {
        Some(c) => (Piece::Character(c), 12),
        None => (Piece::Surrogate(first), 6),
    })
}

/// The unit of UTF-16 that an escape by number denotes.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(Piece, usize)> {
        Pieces::of(text).collect()
    }

    #[test]
    fn members_keep_their_bytes_their_order_and_their_repetitions() {
        let json = r#"{"n": 9007199254740993, "a\u0062": {"x": [1.0e0]}, "n": "2", "\ud800":1}"#;
        let found = fields(json).unwrap();
        let found: Vec<_> = found.listed.iter().map(|f| (&*f.name, f.value)).collect();
        let expected = [
            ("n", "9007199254740993"),
            ("ab", r#"{"x": [1.0e0]}"#),
            ("n", r#""2""#),
            ("\u{fffd}", "1"),
        ];
        assert_eq!(found, expected);
        for other in ["[]", "1", "", "{", r#"{"a":1}}"#, r#"{"a"}"#] {
            assert_eq!(fields(other), None, "{other}");
        }
        assert_eq!(fields("{}").map(|found| found.listed.len()), Some(0));
    }

    #[test]
    fn members_beyond_the_bound_are_counted_and_their_text_is_known() {
        let members: Vec<_> = (0..FIELDS_MAX + 3)
            .map(|n| format!("\"k{n}\":{n}"))
            .collect();
        let json = format!("{{{}}}", members.join(","));
        let found = fields(&json).unwrap();
        assert_eq!((found.listed.len(), found.more), (FIELDS_MAX, 3));
        assert_eq!(found.rest, r#","k48":48,"k49":49,"k50":50"#);
        // Those that are asked for come first, and the text of the others is that of all that are not listed.
        let first = ["k50".to_owned(), "k2".to_owned()];
        let found = fields_in_order(&json, &first, 3).unwrap();
        let names: Vec<_> = found.listed.iter().map(|field| &*field.name).collect();
        assert_eq!((names, found.more), (vec!["k50", "k2", "k0"], FIELDS_MAX));
        assert!(found.rest.starts_with(r#""k1":1,"k3":3,"#));
    }

    #[test]
    fn escapes_are_decoded_and_half_pairs_are_kept_apart() {
        assert_eq!(decoded(r#"a\n\"\\\/\u00e9\ud83e\udd80"#), "a\n\"\\/é🦀");
        assert_eq!(
            pieces(r"\ud800\ud83e\udd80"),
            [(Piece::Surrogate(0xd800), 6), (Piece::Character('🦀'), 12)]
        );
        assert_eq!(
            pieces(r"\q"),
            [(Piece::Character('\\'), 1), (Piece::Character('q'), 1)]
        );
        assert_eq!(pieces(r"\u00").len(), 4);
        assert_eq!(pieces(r"\u+123").len(), 6);
    }

    #[test]
    fn every_string_of_a_text_is_found_and_a_broken_one_ends_it() {
        let found: Vec<_> = strings(r#"{"a":["b\"c",1,""],"d":{}}"#).collect();
        assert_eq!(found, ["a", r#"b\"c"#, "", "d"]);
        assert_eq!(strings(r#"["open\"#).collect::<Vec<_>>(), [r"open\"]);
    }
}
