//! Parts of an artifact that a program reads.
//!
//! What a part holds follows from the content and the request alone, so a replay reads it again from the content.

use limbeck_domain::limits::{ARTIFACT_PAGE_BYTES, CALL_RESULT_BYTES_MAX};
use limbeck_domain::text::clean_line;
use limbeck_domain::{ArtifactId, CallCode, CallError};
use serde_json::value::RawValue;

use crate::artifacts::select::{SelectError, StopFlag, select};
use crate::artifacts::{self, JSON};

/// Part of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The whole JSON value.
    Json,
    /// The whole text.
    Text,
    /// The bytes.
    Base64,
    /// Items or lines from a place on: 0, or `next` of the page before.
    Items(usize),
    /// What a JSON path selects.
    Select(String),
}

impl Part {
    /// The part as JSON text.
    pub(crate) fn of(&self, opened: &Opened, stop: &StopFlag) -> Result<String, CallError> {
        match self {
            Self::Json => bounded(opened.json()?.to_owned()),
            Self::Text => bounded(quoted(opened.text()?)),
            Self::Base64 => bounded(quoted(&opened.base64())),
            Self::Items(from) => opened.page(*from),
            Self::Select(path) => {
                select(opened.json()?, path, stop).map_err(|error| not_selected(&error))
            }
        }
    }
}

fn not_selected(error: &SelectError) -> CallError {
    let hint = match error {
        SelectError::Path { .. } => {
            "write a path of RFC 9535 such as `$.items[?@.price > 10].name`"
        }
        SelectError::Large | SelectError::Selection | SelectError::Work => {
            "iterate instead: `for await (const item of artifacts.open(id))`, in Python `async for`"
        }
        SelectError::NoJson => "read it with `.text()`",
        SelectError::Stopped => "run the program again",
    };
    let code = match error {
        SelectError::Stopped => CallCode::Cancelled,
        SelectError::Path { .. }
        | SelectError::Large
        | SelectError::Selection
        | SelectError::Work
        | SelectError::NoJson => CallCode::InvalidArguments,
    };
    CallError::new(code, error.to_string()).with_hint(hint)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn bounded(answer: String) -> Result<String, CallError> {
    if answer.len() <= CALL_RESULT_BYTES_MAX {
        return Ok(answer);
    }
    let message = format!(
        "content of {} bytes, at most {CALL_RESULT_BYTES_MAX} are given at once",
        answer.len()
    );
    Err(CallError::new(CallCode::LimitExceeded, message)
        .with_hint("iterate over it, or select a part with `.select(\"$.path\")`"))
}

/// An artifact with its content.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) id: ArtifactId,
    pub(crate) media_type: String,
    pub(crate) content: Vec<u8>,
}

impl Opened {
    /// Its text, when it is one.
    pub(crate) fn text(&self) -> Result<&str, CallError> {
        std::str::from_utf8(&self.content).map_err(|_| self.is_not("text", "`.base64()`"))
    }

    /// Its text, when that is JSON.
    pub(crate) fn json(&self) -> Result<&str, CallError> {
        let text = self.text()?;
        let is_json =
            self.media_type == JSON || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if is_json {
            Ok(text.trim())
        } else {
            Err(self.is_not("JSON", "`.text()`"))
        }
    }

    pub(crate) fn base64(&self) -> String {
        artifacts::base64(&self.content)
    }

    fn is_not(&self, what: &str, instead: &str) -> CallError {
        let media_type = clean_line(&self.media_type, 80);
        let message = format!("artifact `{}` is {media_type}, not {what}", self.id);
        CallError::new(CallCode::InvalidArguments, message)
            .with_hint(format!("read it with {instead}"))
    }

    /// Items of an array, or lines of a text, from a place on: `{"items": [...], "next"?: number}`.
    fn page(&self, from: usize) -> Result<String, CallError> {
        let text = self.text()?;
        let page = if self.media_type == JSON {
            json_page(text, from)
        } else {
            line_page(text, from)
        };
        page.ok_or_else(|| {
            let message = format!("artifact `{}` is not an array", self.id);
            CallError::new(CallCode::InvalidArguments, message)
                .with_hint("select the array in it, as in `.select(\"$.items[*]\")`, or read it with `.json()`")
        })
    }
}

/// Items from the byte `from` on, unparsed, up to [`ARTIFACT_PAGE_BYTES`] and one at least.
fn json_page(text: &str, from: usize) -> Option<String> {
    let mut at = from;
    if from == 0 {
        at = text.len() - text.trim_start().strip_prefix('[')?.len();
    }
    let begin = at;
    let mut end = at;
    loop {
        let rest = text.get(at..)?.trim_start();
        let more = match rest.as_bytes().first()? {
            b']' => false,
            b',' if end > begin => end - begin < ARTIFACT_PAGE_BYTES,
            _ if end == begin => true,
            _ => return None,
        };
        if !more {
            let items = &text[begin..end];
            let last = rest.starts_with(']');
            let next = text.len() - rest.len() + 1;
            return Some(match last {
                true => format!("{{\"items\":[{items}]}}"),
                false => format!("{{\"items\":[{items}],\"next\":{next}}}"),
            });
        }
        let rest = rest.strip_prefix(',').unwrap_or(rest);
        let start = text.len() - rest.len();
        let mut items = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        items.next()?.ok()?;
        end = start + items.byte_offset();
        at = end;
    }
}

/// Lines that begin at the byte `from`.
fn line_page(text: &str, from: usize) -> Option<String> {
    let rest = text.get(from..)?;
    let mut used = 0;
    let mut items = Vec::new();
    for line in rest.split_inclusive('\n') {
        used += line.len();
        items.push(quoted(line.trim_end_matches(['\n', '\r'])));
        if used >= ARTIFACT_PAGE_BYTES {
            break;
        }
    }
    let items = items.join(",");
    Some(if from + used < text.len() {
        format!("{{\"items\":[{items}],\"next\":{}}}", from + used)
    } else {
        format!("{{\"items\":[{items}]}}")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn all(text: &str, page: impl Fn(&str, usize) -> Option<String>) -> (Vec<Value>, usize) {
        let (mut items, mut from, mut pages) = (Vec::new(), 0, 0);
        loop {
            let page: Value = serde_json::from_str(&page(text, from).unwrap()).unwrap();
            items.extend(page["items"].as_array().unwrap().iter().cloned());
            pages += 1;
            match page["next"].as_u64() {
                Some(next) => from = next as usize,
                None => return (items, pages),
            }
        }
    }

    #[test]
    fn pages_hold_every_item_once_and_in_order() {
        let rows: Vec<Value> = (0..5_000)
            .map(|id| json!({"id": id, "text": "ü,]".repeat(200)}))
            .collect();
        let (items, pages) = all(&json!(rows).to_string(), json_page);
        assert_eq!(items, rows);
        assert!(pages > 2, "{pages}");
        for small in ["[]", " [ ] ", "[1]", "[1, \"a\" , [2] ,null]"] {
            let whole: Value = serde_json::from_str(small).unwrap();
            assert_eq!(json!(all(small, json_page).0), whole, "{small}");
        }
        let one = json!(["x".repeat(2 * ARTIFACT_PAGE_BYTES), 1]);
        assert_eq!(
            all(&one.to_string(), json_page),
            (one.as_array().unwrap().clone(), 2)
        );
    }

    #[test]
    fn lines_of_a_text_are_its_items() {
        let (items, _) = all("a\r\nb\n\nc", line_page);
        assert_eq!(items, ["a", "b", "", "c"]);
        let text = "a line\n".repeat(400_000);
        let (items, pages) = all(&text, line_page);
        assert_eq!((items.len(), pages), (400_000, 3));
    }

    #[test]
    fn a_place_that_begins_no_page_gives_an_answer_and_never_a_panic() {
        let text = json!([{"a": "üü"}, 2]).to_string();
        for from in 0..text.len() + 3 {
            let _ = json_page(&text, from);
            let _ = line_page(&text, from);
        }
        assert_eq!(json_page("{\"a\":1}", 0), None);
        assert_eq!(json_page(&text, usize::MAX), None);
    }
}
