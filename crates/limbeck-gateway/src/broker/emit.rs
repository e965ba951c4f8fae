//! `emit` of a program: a content block that the client gets beside the result.
//!
//! A block is built from the known fields of what the program passed, so that it cannot carry fields that a client would
//! take for the gateway's own, such as `_meta`. Of a value with blocks or artifacts somewhere inside, such as the result of
//! a tool that makes images, these are emitted and the rest is left to the value of the program.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use limbeck_domain::limits::{EMITTED_BYTES_MAX, EMITTED_MAX};
use limbeck_domain::text::clean_line;
use limbeck_domain::{ArtifactId, CallCode, CallError, CallId, Emitted};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Broker;
use super::answer_budget::AnswerPermit;
use super::artifacts::Opened;
use crate::artifacts::select::StopFlag;
use crate::artifacts::uri_of;

/// Bytes of a media type or an address.
const WORD_BYTES_MAX: usize = 2 << 10;
const FORMS: &str = "emit takes a text, {type: \"text\", text}, {type: \"image\" or \"audio\", data, mimeType}, {type: \"resource\", resource: {uri, mimeType?, text or blob}}, an artifact, or a value with these inside";

/// Body of [`limbeck_domain::HostOp::Emit`].
#[derive(Deserialize)]
pub(super) struct EmitBody {
    block: Value,
}

/// Blocks of one execution, in the order the program made them.
#[derive(Debug, Default)]
pub(crate) struct Emissions {
    blocks: Mutex<BTreeMap<CallId, Vec<Emitted>>>,
}

impl Emissions {
    /// Keeps all blocks of one call, or none.
    fn add(&self, id: CallId, added: Vec<Emitted>) -> Result<(), CallError> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let count: usize = blocks.values().map(Vec::len).sum();
        if count + added.len() > EMITTED_MAX {
            return Err(too_many());
        }
        let all = blocks.values().flatten().chain(&added);
        let bytes: usize = all.map(|block| block.bytes).sum();
        if bytes > EMITTED_BYTES_MAX {
            return Err(too_much());
        }
        blocks.insert(id, added);
        Ok(())
    }

    /// Whether no block was emitted.
    pub(crate) fn is_empty(&self) -> bool {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.values().all(Vec::is_empty)
    }

    /// Gives the blocks away.
    pub(crate) fn take(&self) -> Vec<Emitted> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = std::mem::take(&mut *blocks);
        blocks.into_values().flatten().collect()
    }
}

impl Broker {
    pub(super) async fn emit(
        &self,
        id: CallId,
        body: EmitBody,
        room: &mut AnswerPermit,
    ) -> Result<String, CallError> {
        let blocks = match body.block {
            Value::String(text) => vec![text_block(text)],
            value => {
                let mut parts = Vec::new();
                match value["artifact"].as_str() {
                    Some(id) => parts.push(Part::Artifact(id)),
                    None => find_parts(&value, &mut parts),
                }
                self.blocks_of(&parts, room).await?
            }
        };
        self.emissions.add(id, blocks)?;
        Ok("null".to_owned())
    }

    async fn blocks_of(
        &self,
        parts: &[Part<'_>],
        room: &mut AnswerPermit,
    ) -> Result<Vec<Emitted>, CallError> {
        if parts.is_empty() {
            return Err(wrong());
        }
        // Before any content is read.
        if parts.len() > EMITTED_MAX {
            return Err(too_many());
        }
        let mut blocks: Vec<Emitted> = Vec::new();
        for part in parts {
            let block = match part {
                Part::Artifact(id) => self.artifact_block(id, room).await?,
                Part::Block(block) => block_of(block).ok_or_else(wrong)?,
            };
            blocks.push(block);
            if blocks.iter().map(|block| block.bytes).sum::<usize>() > EMITTED_BYTES_MAX {
                return Err(too_much());
            }
        }
        Ok(blocks)
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

/// A part of a value that becomes a block.
#[derive(Debug, PartialEq)]
enum Part<'v> {
    /// The id of an artifact.
    Artifact(&'v str),
    /// A block as the program wrote it.
    Block(&'v Value),
}

/// Types that blocks have; an object of any other is a value like others.
const BLOCK_TYPES: [&str; 4] = ["text", "image", "audio", "resource"];

/// Adds the parts of a value in the order in which they stand in it.
///
/// A text is a part only as a block: the other texts of a value belong to what the program returns. The depth of a value
/// is bounded by the parser that read it.
fn find_parts<'v>(value: &'v Value, parts: &mut Vec<Part<'v>>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| find_parts(item, parts)),
        Value::Object(object) => {
            let field = |name| object.get(name).and_then(Value::as_str);
            // Other systems have artifacts too, with names of their own.
            if let Some(id) = field("artifact").filter(|id| ArtifactId::parse(id).is_some()) {
                parts.push(Part::Artifact(id));
            } else if field("type").is_some_and(|kind| BLOCK_TYPES.contains(&kind)) {
                parts.push(Part::Block(value));
            } else {
                object.values().for_each(|field| find_parts(field, parts));
            }
        }
        _ => {}
    }
}

fn too_many() -> CallError {
    over(format!("more than {EMITTED_MAX} blocks"))
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
                .add(CallId(id), vec![text_block(id.to_string())])
                .unwrap();
        }
        let texts: Vec<_> = emissions
            .take()
            .into_iter()
            .filter_map(|block| block.text)
            .collect();
        assert_eq!(texts, ["1", "2", "3"]);

        let one = || text_block("t".to_owned());
        for id in 0..EMITTED_MAX as u32 {
            emissions.add(CallId(id), vec![one()]).unwrap();
        }
        let error = emissions.add(CallId(99), vec![one()]).unwrap_err();
        assert_eq!(error.code, CallCode::LimitExceeded);
        emissions.take();
        let most = "x".repeat(EMITTED_BYTES_MAX);
        emissions.add(CallId(1), vec![text_block(most)]).unwrap();
        assert!(emissions.add(CallId(2), vec![one()]).is_err());
    }

    #[test]
    fn the_blocks_of_one_call_are_kept_together_or_not_at_all() {
        let emissions = Emissions::default();
        let blocks = |count| vec![text_block("t".to_owned()); count];
        emissions.add(CallId(1), blocks(EMITTED_MAX - 1)).unwrap();
        assert!(emissions.add(CallId(2), blocks(2)).is_err());
        emissions.add(CallId(3), blocks(1)).unwrap();
        assert_eq!(emissions.take().len(), EMITTED_MAX);
    }

    #[test]
    fn blocks_and_artifacts_are_found_inside_of_a_value_and_its_other_texts_are_not() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let id = format!("art_{}", "0".repeat(32));
        let handle = json!({"artifact": id, "mimeType": "image/png", "bytes": 3});
        let value = json!({"a": ["a text", image, {"b": handle}], "c": {"type": "text", "text": "t"}, "type": "report"});
        let mut parts = Vec::new();
        find_parts(&value, &mut parts);
        assert_eq!(
            parts,
            [
                Part::Block(&image),
                Part::Artifact(&id),
                Part::Block(&value["c"])
            ]
        );
        for nothing in [
            json!(["a text", 1, null]),
            json!({"text": "t"}),
            json!({"type": "row", "data": "x"}),
            json!([{"artifact": "library-1.0.jar"}]),
        ] {
            let mut parts = Vec::new();
            find_parts(&nothing, &mut parts);
            assert!(parts.is_empty(), "{nothing}");
        }
    }
}
