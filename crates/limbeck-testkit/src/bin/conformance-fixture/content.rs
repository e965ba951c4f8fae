//! Content blocks that several tools and prompts return.

use serde_json::{Value, json};

/// PNG image of one red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV file without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQAAAAA=";

pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

pub(crate) fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

pub(crate) fn audio() -> Value {
    json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})
}

pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
}
