//! `artifacts` of a program: what its principal keeps, read in parts.
//!
//! Journalled as every question to the gateway is, so a replay reads what was read then.

use limbeck_domain::limits::{
    ARTIFACT_NAME_BYTES_MAX, ARTIFACT_PAGE_BYTES, ARTIFACTS_LISTED_MAX, CALL_RESULT_BYTES_MAX,
};
use limbeck_domain::text::clean_line;
use limbeck_domain::{ArtifactId, CallCode, CallError};
use limbeck_store::ArtifactInfo;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Broker;
use super::queries::store_fault;
use crate::artifacts::select::{SelectError, select};
use crate::artifacts::{self, Draft, JSON, TEXT, info_json, outline};
use crate::clock::now_us;

/// Body of [`limbeck_domain::HostOp::Artifact`].
#[derive(Deserialize)]
pub(super) struct ArtifactBody {
    #[serde(rename = "do")]
    action: Action,
    #[serde(default)]
    id: Option<String>,
    /// Where a page begins: 0, or `next` of the page before.
    #[serde(default)]
    from: usize,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    value: Option<Box<RawValue>>,
    #[serde(default)]
    name: Option<String>,
}

/// What a program does with artifacts.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Save,
    Info,
    Json,
    Text,
    Base64,
    Items,
    Select,
}

impl Broker {
    pub(super) async fn artifact(&self, body: ArtifactBody) -> Result<String, CallError> {
        match body.action {
            Action::List => self.list_artifacts().await,
            Action::Save => self.save_artifact(body.value, body.name).await,
            Action::Info => {
                let opened = self.open_artifact(body.id.as_deref()).await?;
                let mut info = info_json(&opened.info);
                if let Ok(json) = opened.json() {
                    info["shape"] = outline::shape(json).into();
                    if let Some(items) = outline::count(json) {
                        info["items"] = items.into();
                    }
                }
                Ok(info.to_string())
            }
            Action::Json => {
                let opened = self.open_artifact(body.id.as_deref()).await?;
                bounded(opened.json()?.to_owned())
            }
            Action::Text => {
                let opened = self.open_artifact(body.id.as_deref()).await?;
                bounded(quoted(opened.text()?))
            }
            Action::Base64 => {
                let opened = self.open_artifact(body.id.as_deref()).await?;
                bounded(quoted(&opened.base64()))
            }
            Action::Items => {
                let opened = self.open_artifact(body.id.as_deref()).await?;
                opened.page(body.from)
            }
            Action::Select => {
                let opened = self.open_artifact(body.id.as_deref()).await?;
                self.select_in(opened, body.path.unwrap_or_default()).await
            }
        }
    }

    async fn list_artifacts(&self) -> Result<String, CallError> {
        let store = &self.shared.store;
        let found = store
            .artifacts(&self.principal, now_us(), ARTIFACTS_LISTED_MAX)
            .await
            .map_err(|error| store_fault(&error))?;
        let found: Vec<_> = found.iter().map(info_json).collect();
        Ok(serde_json::Value::from(found).to_string())
    }

    async fn save_artifact(
        &self,
        value: Option<Box<RawValue>>,
        name: Option<String>,
    ) -> Result<String, CallError> {
        let value = value.map_or_else(|| "null".to_owned(), |value| value.get().to_owned());
        let mut draft = match serde_json::from_str::<String>(&value) {
            Ok(text) => Draft::new(TEXT, text.into_bytes()),
            Err(_) => Draft::new(JSON, value.into_bytes()),
        };
        draft.name = name.map(|name| clean_line(&name, ARTIFACT_NAME_BYTES_MAX));
        let kept = self.shared.keep(&self.principal, draft).await;
        let info = kept.map_err(|error| store_fault(&error))?;
        Ok(info_json(&info).to_string())
    }

    /// An artifact of this principal; that of another is as unknown as none.
    pub(super) async fn open_artifact(&self, id: Option<&str>) -> Result<Opened, CallError> {
        let Some(id) = id.and_then(ArtifactId::parse) else {
            return Err(unknown());
        };
        let store = &self.shared.store;
        let found = store.artifact(&self.principal, &id, now_us()).await;
        let (info, content) = found
            .map_err(|error| store_fault(&error))?
            .ok_or_else(unknown)?;
        Ok(Opened { info, content })
    }

    async fn select_in(&self, opened: Opened, path: String) -> Result<String, CallError> {
        opened.json()?;
        // It takes a tree of the whole value: few at a time, and not on a thread that others wait for.
        let permit = self.shared.selecting.acquire().await;
        let selected = tokio::task::spawn_blocking(move || select(opened.json_text(), &path));
        let selected = selected.await.map_err(|_| {
            CallError::new(CallCode::GatewayFault, "selecting from the artifact failed")
        })?;
        drop(permit);
        selected.map_err(|error| {
            let hint = match error {
                SelectError::Path { .. } => "write a path of RFC 9535 such as `$.items[?@.price > 10].name`",
                SelectError::Large | SelectError::Selection => {
                    "iterate instead: `for await (const item of artifacts.open(id))`, in Python `async for`"
                }
                SelectError::NoJson => "read it with `.text()`",
            };
            CallError::new(CallCode::InvalidArguments, error.to_string()).with_hint(hint)
        })
    }
}

fn unknown() -> CallError {
    CallError::new(CallCode::InvalidArguments, "artifact expired or unknown")
        .with_hint("ids look like `art_` and 32 digits; `artifacts.list()` names what there is")
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
pub(crate) struct Opened {
    pub(crate) info: ArtifactInfo,
    pub(crate) content: Vec<u8>,
}

impl Opened {
    /// Its text, when it is one.
    pub(crate) fn text(&self) -> Result<&str, CallError> {
        std::str::from_utf8(&self.content).map_err(|_| self.is_not("text", "`.base64()`"))
    }

    /// Its text, when that is JSON.
    fn json(&self) -> Result<&str, CallError> {
        let text = self.text()?;
        let is_json = self.info.media_type == JSON
            || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if is_json {
            Ok(text.trim())
        } else {
            Err(self.is_not("JSON", "`.text()`"))
        }
    }

    /// Its text, or nothing.
    fn json_text(&self) -> &str {
        std::str::from_utf8(&self.content).unwrap_or_default()
    }

    pub(crate) fn base64(&self) -> String {
        artifacts::base64(&self.content)
    }

    fn is_not(&self, what: &str, instead: &str) -> CallError {
        let media_type = clean_line(&self.info.media_type, 80);
        let message = format!("artifact `{}` is {media_type} and no {what}", self.info.id);
        CallError::new(CallCode::InvalidArguments, message)
            .with_hint(format!("read it with {instead}"))
    }

    /// Items of an array, or lines of a text, from a place on: `{"items": [...], "next"?: number}`.
    fn page(&self, from: usize) -> Result<String, CallError> {
        let text = self.text()?;
        let page = if self.info.media_type == JSON {
            json_page(text, from)
        } else {
            line_page(text, from)
        };
        page.ok_or_else(|| {
            let message = format!("artifact `{}` is no array, or the page is none of it", self.info.id);
            CallError::new(CallCode::InvalidArguments, message)
                .with_hint("select the array in it, as in `.select(\"$.items[*]\")`, or read it with `.json()`")
        })
    }
}

/// Items that begin at the byte `from`, as they stand, up to [`ARTIFACT_PAGE_BYTES`] and one at least.
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
