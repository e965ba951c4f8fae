//! `emit` of a program: a content block that the client gets beside the result.
//!
//! A block is built from the known fields of what the program passed, so that it cannot carry fields that a client would
//! take for the gateway's own, such as `_meta`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use limbeck_domain::limits::{EMITTED_BYTES_MAX, EMITTED_MAX};
use limbeck_domain::text::clean_line;
use limbeck_domain::{CallCode, CallError, CallId, Emitted};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Broker;
use super::answer_budget::AnswerPermit;
use super::artifacts::Opened;
use crate::artifacts::select::StopFlag;
use crate::artifacts::uri_of;

/// Bytes of a media type or an address.
const WORD_BYTES_MAX: usize = 2 << 10;
const FORMS: &str = "emit takes a text, {type: \"text\", text}, {type: \"image\" or \"audio\", data, mimeType}, {type: \"resource\", resource: {uri, mimeType?, text or blob}}, or an artifact";

/// Body of [`limbeck_domain::HostOp::Emit`].
#[derive(Deserialize)]
pub(super) struct EmitBody {
    block: Value,
}

/// Blocks of one execution, in the order the program made them.
#[derive(Debug, Default)]
pub(crate) struct Emissions {
    blocks: Mutex<BTreeMap<CallId, Emitted>>,
}

impl Emissions {
    fn add(&self, id: CallId, block: Emitted) -> Result<(), CallError> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: usize = blocks.values().map(|block| block.bytes).sum();
        if blocks.len() >= EMITTED_MAX {
            return Err(over(format!("more than {EMITTED_MAX} blocks")));
        }
        if bytes + block.bytes > EMITTED_BYTES_MAX {
            return Err(too_much());
        }
        blocks.insert(id, block);
        Ok(())
    }

    /// Gives the blocks away.
    pub(crate) fn take(&self) -> Vec<Emitted> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *blocks).into_values().collect()
    }
}

impl Broker {
    pub(super) async fn emit(
        &self,
        id: CallId,
        body: EmitBody,
        room: &mut AnswerPermit,
    ) -> Result<String, CallError> {
        let block = match body.block {
            Value::String(text) => text_block(text),
            Value::Object(block) => match block.get("artifact").and_then(Value::as_str) {
                Some(artifact) => self.artifact_block(artifact, room).await?,
                None => block_of(&Value::Object(block)).ok_or_else(wrong)?,
            },
            _ => return Err(wrong()),
        };
        self.emissions.add(id, block)?;
        Ok("null".to_owned())
    }

    async fn artifact_block(
        &self,
        id: &str,
        room: &mut AnswerPermit,
    ) -> Result<Emitted, CallError> {
        let info = self.artifact_info(Some(id)).await?;
        if info.bytes > EMITTED_BYTES_MAX {
            return Err(too_much());
        }
        let turns = &self.context.artifacts.readings;
        let block = |opened: &Opened, _: &StopFlag| {
            let media_type = &opened.media_type;
            let kind = media_type.split('/').next().unwrap_or_default();
            let block = if matches!(kind, "image" | "audio") {
                json!({"type": kind, "data": opened.base64(), "mimeType": media_type})
            } else {
                let mut resource = json!({"uri": uri_of(&opened.id), "mimeType": media_type});
                match opened.text() {
                    Ok(text) => resource["text"] = text.into(),
                    Err(_) => resource["blob"] = opened.base64().into(),
                }
                json!({"type": "resource", "resource": resource})
            };
            block_of(&block).ok_or_else(wrong)
        };
        self.with_content(info, room, turns, block).await
    }
}

fn over(what: String) -> CallError {
    CallError::new(CallCode::LimitExceeded, what)
        .with_hint("emit less, or return artifact handles, which can be read later")
}

fn too_much() -> CallError {
    over(format!(
        "blocks of more than {EMITTED_BYTES_MAX} bytes together"
    ))
}

fn wrong() -> CallError {
    CallError::new(CallCode::InvalidArguments, FORMS)
}

fn text_block(text: String) -> Emitted {
    Emitted {
        kind: "text".to_owned(),
        mime_type: None,
        bytes: text.len(),
        block: None,
        text: Some(text),
    }
}

/// A block of one of the kinds there are; `None` for anything else.
fn block_of(given: &Value) -> Option<Emitted> {
    match given["type"].as_str()? {
        "text" => Some(text_block(given["text"].as_str()?.to_owned())),
        kind @ ("image" | "audio") => {
            let mime_type = word(&given["mimeType"])?;
            let data = given["data"].as_str()?;
            let bytes = decoded_bytes(data)?;
            mime_type.strip_prefix(kind)?.strip_prefix('/')?;
            let block = json!({"type": kind, "data": data, "mimeType": mime_type});
            emitted(kind, Some(mime_type), bytes, None, &block)
        }
        "resource" => {
            let resource = &given["resource"];
            let mut kept = json!({"uri": word(&resource["uri"])?});
            let mime_type = word(&resource["mimeType"]);
            if let Some(mime_type) = &mime_type {
                kept["mimeType"] = mime_type.as_str().into();
            }
            let (bytes, text) = match (resource["text"].as_str(), resource["blob"].as_str()) {
                (Some(text), None) => {
                    kept["text"] = text.into();
                    (text.len(), Some(text.to_owned()))
                }
                (None, Some(blob)) => {
                    kept["blob"] = blob.into();
                    (decoded_bytes(blob)?, None)
                }
                _ => return None,
            };
            let block = json!({"type": "resource", "resource": kept});
            emitted("resource", mime_type, bytes, text, &block)
        }
        _ => None,
    }
}

fn emitted(
    kind: &str,
    mime_type: Option<String>,
    bytes: usize,
    text: Option<String>,
    block: &Value,
) -> Option<Emitted> {
    Some(Emitted {
        kind: kind.to_owned(),
        mime_type,
        bytes,
        text,
        block: Some(serde_json::value::to_raw_value(block).ok()?),
    })
}

/// A short text on one line.
fn word(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    (text.len() <= WORD_BYTES_MAX).then(|| clean_line(text, WORD_BYTES_MAX))
}

fn decoded_bytes(base64: &str) -> Option<usize> {
    STANDARD.decode(base64).ok().map(|bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_made_anew_and_other_things_are_none() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": {"x": 1}, "annotations": {}});
        let block = block_of(&image).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(block.block.unwrap().get()).unwrap(),
            json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})
        );
        assert_eq!(block.bytes, 3);
        let text = json!({"type": "resource", "resource": {"uri": "a:b", "text": "t"}});
        assert_eq!(block_of(&text).unwrap().text.as_deref(), Some("t"));
        for wrong in [
            json!({"type": "image", "data": "no base64!", "mimeType": "image/png"}),
            json!({"type": "image", "data": "AAAA", "mimeType": "text/html"}),
            json!({"type": "resource", "resource": {"uri": "a:b"}}),
            json!({"type": "resource_link", "uri": "a:b"}),
            json!({"text": "t"}),
        ] {
            assert!(block_of(&wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn blocks_come_in_the_order_of_the_calls_and_are_bounded() {
        let emissions = Emissions::default();
        for id in [3, 1, 2] {
            emissions
                .add(CallId(id), text_block(id.to_string()))
                .unwrap();
        }
        let texts: Vec<_> = emissions
            .take()
            .into_iter()
            .filter_map(|block| block.text)
            .collect();
        assert_eq!(texts, ["1", "2", "3"]);

        for id in 0..EMITTED_MAX as u32 {
            emissions
                .add(CallId(id), text_block("t".to_owned()))
                .unwrap();
        }
        let error = emissions
            .add(CallId(99), text_block("t".to_owned()))
            .unwrap_err();
        assert_eq!(error.code, CallCode::LimitExceeded);
        emissions.take();
        let most = "x".repeat(EMITTED_BYTES_MAX);
        emissions.add(CallId(1), text_block(most)).unwrap();
        assert!(
            emissions
                .add(CallId(2), text_block("x".to_owned()))
                .is_err()
        );
    }
}
