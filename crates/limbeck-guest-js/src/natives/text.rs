//! Text and bytes: `TextEncoder`, `TextDecoder`, and cutting text to a bound.

use encoding_rs::Encoding;
use rquickjs::{ArrayBuffer, Ctx, Object, String as JsString, TypedArray};

use super::add;
use super::bytes::copy_of;

pub(super) fn add_to(natives: &Object<'_>) -> rquickjs::Result<()> {
    add(natives, "utf8", utf8)?;
    add(natives, "encodingName", encoding_name)?;
    add(natives, "decode", decode)?;
    add(natives, "cut", cut)
}

/// The UTF-8 of a text without lone surrogates.
fn utf8(ctx: Ctx<'_>, text: String) -> rquickjs::Result<ArrayBuffer<'_>> {
    ArrayBuffer::new(ctx, text.into_bytes())
}

/// Name of the encoding of a label, in lower case; nothing for an unknown label and for
/// the `replacement` encoding, which exists to refuse.
fn encoding_name(label: String) -> Option<String> {
    let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
    Some(encoding.name().to_ascii_lowercase())
}

/// Decodes `data`. Malformed input is U+FFFD, or nothing at all when `fatal`.
fn decode<'js>(
    ctx: Ctx<'js>,
    label: String,
    data: TypedArray<'js, u8>,
    fatal: bool,
    keep_bom: bool,
) -> rquickjs::Result<Option<JsString<'js>>> {
    let Some(encoding) = Encoding::for_label_no_replacement(label.as_bytes()) else {
        return Ok(None);
    };
    let data = copy_of(&data);
    let (text, malformed) = if keep_bom {
        encoding.decode_without_bom_handling(&data)
    } else {
        encoding.decode_with_bom_removal(&data)
    };
    if malformed && fatal {
        return Ok(None);
    }
    JsString::from_str(ctx, &text).map(Some)
}

/// The longest beginning of `text` that is at most `bytes_max` bytes of UTF-8.
fn cut<'js>(text: JsString<'js>, bytes_max: usize) -> rquickjs::Result<JsString<'js>> {
    let ctx = text.ctx().clone();
    let whole = text.clone().to_cstring()?;
    if whole.len() <= bytes_max {
        return Ok(text);
    }
    let end = whole.floor_char_boundary(bytes_max);
    JsString::from_str(ctx, &whole[..end])
}
