//! Outline of a JSON text, read without building its value: counts, a sample, a type.
//!
//! A value of 16 MiB may have millions of parts, and a tree of them takes many times its text. Here a level
//! is walked twice at most (to count, then to take what is wanted) and only what was taken is gone into.

mod shape;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use shape::shape;

/// How much of a value is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleDetail {
    /// Items at the beginning of an array; one of the middle and one of the end are shown besides.
    first: usize,
    members: usize,
    text_chars: usize,
    depth: usize,
}

impl SampleDetail {
    /// From much to little.
    pub(crate) const LEVELS: [Self; 9] = [
        Self::new(1_000, 1_000, 20_000, 32),
        Self::new(300, 300, 4_000, 16),
        Self::new(100, 150, 1_500, 12),
        Self::new(30, 100, 800, 10),
        Self::new(8, 64, 400, 8),
        Self::new(4, 40, 200, 6),
        Self::new(2, 24, 100, 4),
        Self::new(1, 12, 60, 3),
        Self::new(1, 6, 30, 2),
    ];

    const fn new(first: usize, members: usize, text_chars: usize, depth: usize) -> Self {
        Self {
            first,
            members,
            text_chars,
            depth,
        }
    }
}

/// Items of an array or members of an object; `None` for everything else.
pub(crate) fn count(json: &str) -> Option<usize> {
    match json.as_bytes().first()? {
        b'[' => Some(items(json, |_| false)?.0),
        b'{' => Some(members(json, 0)?.0),
        _ => None,
    }
}

/// A sample of a JSON value, as JSON; `None` when it would be over `bytes_max`.
pub(crate) fn sample(json: &str, detail: SampleDetail, bytes_max: usize) -> Option<String> {
    let mut writer = Sampler {
        detail,
        bytes_max,
        out: String::new(),
    };
    writer.value(json, 0).ok()?;
    Some(writer.out)
}

struct Sampler {
    detail: SampleDetail,
    bytes_max: usize,
    out: String,
}

impl Sampler {
    fn value(&mut self, json: &str, depth: usize) -> fmt::Result {
        match json.as_bytes().first() {
            Some(b'[') => self.array(json, depth),
            Some(b'{') => self.object(json, depth),
            Some(b'"') => self.text(json),
            _ => self.push(json),
        }
    }

    fn array(&mut self, json: &str, depth: usize) -> fmt::Result {
        let (count, _) = items(json, |_| false).ok_or(fmt::Error)?;
        if count > 0 && depth >= self.detail.depth {
            return self.note(&format!("[… {count} items]"));
        }
        let first = self.detail.first;
        let all = count <= first + 3;
        let wanted = |at: usize| all || at < first || at == count / 2 || at + 1 == count;
        let (_, picked) = items(json, wanted).ok_or(fmt::Error)?;
        self.push("[")?;
        let mut next = 0;
        for (at, item) in picked {
            if next > 0 {
                self.push(",")?;
            }
            if at > next {
                self.note(&format!("… {} items left out", at - next))?;
                self.push(",")?;
            }
            self.value(item.get(), depth + 1)?;
            next = at + 1;
        }
        self.push("]")
    }

    fn object(&mut self, json: &str, depth: usize) -> fmt::Result {
        let shown = self.detail.members;
        let (count, members) = members(json, shown).ok_or(fmt::Error)?;
        if count > 0 && depth >= self.detail.depth {
            return self.note(&format!("{{… {count} keys}}"));
        }
        self.push("{")?;
        for (at, (key, value)) in members.iter().enumerate() {
            if at > 0 {
                self.push(",")?;
            }
            let key = self.shortened(key);
            self.note(&key)?;
            self.push(":")?;
            self.value(value.get(), depth + 1)?;
        }
        if count > shown {
            self.push(",")?;
            self.note("…")?;
            self.push(":")?;
            self.note(&format!("{} keys left out", count - shown))?;
        }
        self.push("}")
    }

    fn text(&mut self, json: &str) -> fmt::Result {
        match serde_json::from_str::<Cow<'_, str>>(json) {
            Ok(text) => {
                let text = self.shortened(&text);
                self.note(&text)
            }
            Err(_) => Err(fmt::Error),
        }
    }

    fn shortened<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let max = self.detail.text_chars;
        match text.char_indices().nth(max) {
            None => Cow::Borrowed(text),
            Some((end, _)) => {
                let more = text[end..].chars().count();
                Cow::Owned(format!("{}… {more} characters left out", &text[..end]))
            }
        }
    }

    /// A text written by the gateway, or one that was shortened.
    fn note(&mut self, text: &str) -> fmt::Result {
        let json = serde_json::to_string(text).map_err(|_| fmt::Error)?;
        self.push(&json)
    }

    fn push(&mut self, text: &str) -> fmt::Result {
        if self.out.len() + text.len() > self.bytes_max {
            return Err(fmt::Error);
        }
        self.out.push_str(text);
        Ok(())
    }
}

/// How many items an array has, and those at the places `wanted`.
pub(crate) fn items(
    json: &str,
    wanted: impl Fn(usize) -> bool,
) -> Option<(usize, Vec<(usize, &RawValue)>)> {
    struct Items<F>(F);
    impl<'de, F: Fn(usize) -> bool> Visitor<'de> for Items<F> {
        type Value = (usize, Vec<(usize, &'de RawValue)>);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let (mut at, mut picked) = (0, Vec::new());
            loop {
                if (self.0)(at) {
                    match seq.next_element::<&RawValue>()? {
                        Some(item) => picked.push((at, item)),
                        None => break,
                    }
                } else if seq.next_element::<IgnoredAny>()?.is_none() {
                    break;
                }
                at += 1;
            }
            Ok((at, picked))
        }
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_seq(Items(wanted)).ok()
}

/// How many members an object has, and the first `wanted` of them.
fn members(json: &str, wanted: usize) -> Option<(usize, Vec<(String, &RawValue)>)> {
    struct Members(usize);
    impl<'de> Visitor<'de> for Members {
        type Value = (usize, Vec<(String, &'de RawValue)>);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let (mut count, mut first) = (0, Vec::new());
            while first.len() < self.0 {
                match map.next_entry::<String, &RawValue>()? {
                    Some(member) => first.push(member),
                    None => return Ok((first.len(), first)),
                }
            }
            count += first.len();
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                count += 1;
            }
            Ok((count, first))
        }
    }
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_map(Members(wanted)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sampled(value: &Value, detail: SampleDetail) -> Value {
        let json = value.to_string();
        serde_json::from_str(&sample(&json, detail, 1 << 20).unwrap()).unwrap()
    }

    #[test]
    fn a_sample_has_first_middle_and_last_items_and_says_what_is_left_out() {
        let rows: Vec<Value> = (0..1_000).map(|id| json!({"id": id})).collect();
        let shown = sampled(&json!(rows), SampleDetail::new(2, 6, 30, 3));
        assert_eq!(
            shown,
            json!([
                {"id": 0}, {"id": 1}, "… 498 items left out", {"id": 500},
                "… 498 items left out", {"id": 999}
            ])
        );
        assert_eq!(
            sampled(&json!([1, 2, 3, 4, 5]), SampleDetail::new(2, 6, 30, 3)),
            json!([1, 2, 3, 4, 5])
        );
    }

    #[test]
    fn a_sample_cuts_texts_keys_and_depth_and_marks_each() {
        let detail = SampleDetail::new(1, 2, 5, 1);
        let shown = sampled(
            &json!({"a": "abcdefgh", "b": [1, [2]], "c": 1, "d": 2}),
            detail,
        );
        assert_eq!(
            shown,
            json!({"a": "abcde… 3 characters left out", "b": "[… 2 items]", "…": "2 keys left out"})
        );
        assert_eq!(sampled(&json!([{}, []]), detail), json!([{}, []]));
    }

    #[test]
    fn a_sample_that_would_be_too_large_is_none() {
        let json = json!({"a": "x".repeat(100)}).to_string();
        assert!(sample(&json, SampleDetail::LEVELS[0], 50).is_none());
        assert!(sample(&json, SampleDetail::LEVELS[0], 500).is_some());
    }

    #[test]
    fn a_shape_unites_what_items_have() {
        let rows = json!([{"id": 1, "tags": ["a"]}, {"id": null, "tags": [], "x-y": {"n": 1.5}}]);
        assert_eq!(
            shape(&rows.to_string()),
            r#"{ id: number | null, tags: string[], "x-y"?: { n: number } }[]"#
        );
        assert_eq!(shape("[1,\"a\"]"), "(string | number)[]");
        assert_eq!(shape("[{},null]"), "({} | null)[]");
        assert_eq!(shape("[]"), "never[]");
        assert_eq!(shape("true"), "boolean");
    }

    #[test]
    fn counts_are_of_the_outermost_level() {
        for (json, counted) in [
            ("[1,[2,3]]", Some(2)),
            (r#"{"a":1,"b":{}}"#, Some(2)),
            ("\"x\"", None),
        ] {
            assert_eq!(count(json), counted, "{json}");
        }
    }

    #[test]
    fn a_value_of_many_parts_is_sampled_without_a_tree_of_it() {
        let json = format!("[{}[]]", "[],".repeat(2_000_000));
        let shown = sample(&json, SampleDetail::LEVELS[0], 4_096).unwrap();
        assert!(shown.contains("left out"), "{shown}");
        assert_eq!(shape(&json), "never[][]");
        assert_eq!(count(&json), Some(2_000_001));
    }
}
