//! Binary content in JSON, replaced by handles of artifacts.
//!
//! Found by its form, as MCP writes it, and nothing else is taken for it: an image or sound block, an
//! embedded resource with a blob, contents of a resource with a blob.

use std::borrow::Cow;

use limbeck_domain::limits::{ARTIFACT_NAME_BYTES_MAX, ARTIFACT_PARTS_MAX};
use limbeck_domain::text::clean_line;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{UnsavedArtifact, decode_base64};

/// Bytes of a media type that is passed on.
const MEDIA_TYPE_BYTES_MAX: usize = 200;
/// What every such JSON has in it, as a guest writes it.
const MARKS: [&str; 3] = [r#""type":"image""#, r#""type":"audio""#, r#""blob":""#];

/// Content block that is not text, or contents of a resource.
#[derive(Deserialize)]
struct Binary<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "mimeType")]
    mime_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uri: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    blob: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    resource: Option<&'a RawValue>,
}

/// The handle of a piece of binary content, as JSON, and the content; `None` for anything else.
pub(crate) fn handle_of(json: &RawValue) -> Option<(String, UnsavedArtifact)> {
    // Arrays would be read as the fields in order.
    if !json.get().starts_with('{') {
        return None;
    }
    let block: Binary<'_> = serde_json::from_str(json.get()).ok()?;
    let (base64, mime_type, uri) = match block.kind.as_deref() {
        Some("image" | "audio") => (block.data?, block.mime_type, None),
        Some("resource") => {
            let contents: Binary<'_> = serde_json::from_str(block.resource?.get()).ok()?;
            (contents.blob?, contents.mime_type, contents.uri)
        }
        None => (block.blob?, block.mime_type, Some(block.uri?)),
        Some(_) => return None,
    };
    let content = decode_base64(&base64)?;
    let mime_type = mime_type.filter(|mime_type| !mime_type.is_empty());
    let mime_type = clean_line(
        mime_type.as_deref().unwrap_or("application/octet-stream"),
        MEDIA_TYPE_BYTES_MAX,
    );
    let bytes = content.len();
    let mut draft = UnsavedArtifact::new(mime_type, content);
    let mut handle = json!({"artifact": draft.id, "mimeType": draft.media_type, "bytes": bytes});
    if let Some(uri) = uri {
        handle["uri"] = (*uri).into();
        draft.name = Some(clean_line(&uri, ARTIFACT_NAME_BYTES_MAX));
    }
    Some((handle.to_string(), draft))
}

/// The value with handles for the binary content anywhere in it, and the content; `None` when it has none.
pub(crate) fn without_content(json: &str) -> Option<(String, Vec<UnsavedArtifact>)> {
    if !MARKS.iter().any(|mark| json.contains(mark))
        || super::select::parts(json) > ARTIFACT_PARTS_MAX
    {
        return None;
    }
    let mut value: Value = serde_json::from_str(json).ok()?;
    let mut kept = Vec::new();
    replace(&mut value, &mut kept);
    (!kept.is_empty()).then(|| (value.to_string(), kept))
}

fn replace(value: &mut Value, kept: &mut Vec<UnsavedArtifact>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, kept)),
        Value::Object(members) => {
            let may_be_one = ["data", "blob", "resource"]
                .iter()
                .any(|key| members.contains_key(*key));
            let found = may_be_one
                .then(|| serde_json::value::to_raw_value(members).ok())
                .flatten()
                .and_then(|raw| handle_of(&raw));
            match found {
                Some((handle, draft)) => {
                    *value = serde_json::from_str(&handle).unwrap_or_default();
                    kept.push(draft);
                }
                None => members
                    .values_mut()
                    .for_each(|member| replace(member, kept)),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_has_a_handle_with_its_address_and_its_bytes_beside() {
        let blob = json!({"type": "resource", "resource": {"uri": "f:a", "blob": "AAEC"}});
        let raw = serde_json::value::to_raw_value(&blob).unwrap();
        let (handle, draft) = handle_of(&raw).unwrap();
        assert_eq!(draft.content, [0, 1, 2]);
        assert_eq!(draft.name.as_deref(), Some("f:a"));
        assert_eq!(
            serde_json::from_str::<Value>(&handle).unwrap(),
            json!({"artifact": draft.id, "mimeType": "application/octet-stream", "bytes": 3, "uri": "f:a"})
        );
    }

    #[test]
    fn content_anywhere_in_a_value_is_replaced_and_everything_else_stays() {
        let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
        let value = json!({"content": [{"type": "text", "text": "t"}, image], "n": 1.5, "data": "AAEC",
            "read": [{"uri": "f:b", "blob": "AA==", "mimeType": "audio/x"}, {"blob": "AA=="}]});
        let (text, kept) = without_content(&value.to_string()).unwrap();
        let mut expected = value.clone();
        expected["content"][1] =
            json!({"artifact": kept[0].id, "mimeType": "image/png", "bytes": 3});
        expected["read"][0] =
            json!({"artifact": kept[1].id, "mimeType": "audio/x", "bytes": 1, "uri": "f:b"});
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        assert!(without_content(&json!({"type": "text", "data": "AAEC"}).to_string()).is_none());
        assert!(without_content(r#"{"x":"\"type\":\"image\""}"#).is_none());
    }
}
