//! Forms in which a secret may stand in a text: as it is, and as encoders write it.
//!
//! Encodings of base64 depend on what is before the secret: three alignments. Of each the characters count that the
//! secret alone decides; at either end one more has some bits of it, which stay.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// A form that is shorter would match what is no secret.
const FORM_BYTES_MIN: usize = 6;
/// Longest piece of a secret. A longer secret is looked for piece by piece, so that no form is many times longer.
pub(super) const PIECE_BYTES: usize = 256;
/// Levels of JSON in JSON: a value in a text of a server, in the text of an answer, in a message.
const JSON_LEVELS: usize = 3;
/// Lines of a secret with several lines, such as a private key, are secrets too from this length on.
const LINE_BYTES_MIN: usize = 24;

/// All forms of `secret`, without repetition.
pub(super) fn forms(secret: &str) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::new();
    let lines = secret.lines().map(str::trim);
    let is_marker = |line: &str| line.starts_with("-----");
    let lines = lines.filter(|line| line.len() >= LINE_BYTES_MIN && !is_marker(line));
    let mut texts = vec![secret];
    if secret.contains('\n') {
        texts.extend(lines);
    }
    for piece in texts.into_iter().flat_map(pieces) {
        add(piece, &mut forms);
    }
    forms.retain(|form| form.len() >= FORM_BYTES_MIN);
    forms
}

/// Parts of [`PIECE_BYTES`] or more, of which none has twice as many.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() >= 2 * PIECE_BYTES {
        let mut at = PIECE_BYTES;
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, after) = rest.split_at(at);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

fn add(piece: &str, forms: &mut BTreeSet<Vec<u8>>) {
    forms.insert(piece.as_bytes().to_vec());
    for escaped in [
        json(piece),
        json(piece).replace('/', "\\/"),
        ascii_json(piece),
    ] {
        let mut level = escaped;
        for _ in 0..JSON_LEVELS {
            let next = json(&level);
            forms.insert(level.into_bytes());
            level = next;
        }
    }
    for offset in 0..3 {
        let mut bytes = vec![0; offset];
        bytes.extend_from_slice(piece.as_bytes());
        // Six bits each: the first that has none of the bytes before, and the last that is full.
        let (from, to) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
        for encoded in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            let core = encoded.as_bytes()[from..to].to_vec();
            // In JSON of some encoders.
            let core_in_json = String::from_utf8_lossy(&core).replace('/', "\\/");
            forms.insert(core_in_json.into_bytes());
            forms.insert(core);
        }
    }
    let hex = |format: fn(u8) -> String| piece.bytes().map(format).collect::<String>().into_bytes();
    forms.insert(hex(|byte| format!("{byte:02x}")));
    forms.insert(hex(|byte| format!("{byte:02X}")));
    forms.insert(hex(|byte| format!("%{byte:02x}")));
    forms.insert(hex(|byte| format!("%{byte:02X}")));
    // What encoders of a component, of a form and of a whole url leave as it is.
    for plain in ["-_.~", "-_.!~*'()", "-_.*", "-_.!~*'();/?:@&=+$,#"] {
        let upper = percent(piece, plain);
        forms.insert(upper.replace("%20", "+").into_bytes());
        forms.insert(upper.clone().into_bytes());
        forms.insert(lower_escapes(&upper).into_bytes());
    }
}

/// The inside of a JSON string as `serde_json` and `JSON.stringify` write it.
fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default()
        .to_owned()
}

/// The same as encoders write it that keep to ASCII.
fn ascii_json(text: &str) -> String {
    let mut escaped = String::new();
    for character in json(text).chars() {
        if character.is_ascii() {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}

fn percent(text: &str, plain: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || plain.contains(character) {
            encoded.push(character);
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Escapes like `%2f` in place of `%2F`.
fn lower_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(part.len().min(2));
        lower.push('%');
        lower.push_str(&digits.to_ascii_lowercase());
        lower.push_str(rest);
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(secret: &str, text: &str) -> bool {
        let forms = forms(secret);
        forms.iter().any(|form| {
            text.as_bytes()
                .windows(form.len())
                .any(|window| window == form)
        })
    }

    #[test]
    fn each_encoder_writes_one_of_the_forms() {
        let secret = "kä/9+ \"x\\q~zz?";
        for text in [
            secret.to_owned(),
            serde_json::to_string(&[secret]).unwrap(),
            serde_json::to_string(&serde_json::to_string(secret).unwrap()).unwrap(),
            "k\\u00e4/9+ \\\"x\\\\q~zz?".to_owned(),
            "k\u{e4}\\/9+ \\\"x\\\\q~zz?".to_owned(),
            "k%C3%A4%2F9%2B%20%22x%5Cq~zz%3F".to_owned(),
            "k%c3%a4%2f9%2b%20%22x%5cq~zz%3f".to_owned(),
            "k%C3%A4%2F9%2B+%22x%5Cq%7Ezz%3F".to_owned(),
            "6bc3a42f392b2022785c717e7a7a3f".to_owned(),
            "6BC3A42F392B2022785C717E7A7A3F".to_owned(),
        ] {
            assert!(has(secret, &text), "{text}");
        }
        for before in ["", "a", "ab", "abc"] {
            for after in ["", "z", "zz"] {
                let text = format!("{before}{secret}{after}");
                for encoded in [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                    assert!(has(secret, &encoded), "{before:?} {after:?}");
                }
            }
        }
        // The control: a text of the same kind that is another.
        assert!(!has(secret, "k%C3%A4%2F9%2B%20%22x%5Cq~zy%3F"));
        assert!(!has(secret, &STANDARD_NO_PAD.encode("ka/9+ \"x\\q~zz?")));
    }

    #[test]
    fn a_long_secret_has_pieces_and_a_private_key_its_lines() {
        let long = "0123456789abcdef".repeat(100);
        assert!(forms(&long).iter().all(|form| form.len() < 6 * PIECE_BYTES));
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----\n");
        assert!(has(&key, &format!("its line is {line}.")));
        assert!(!has(&key, "-----BEGIN PRIVATE KEY-----"));
    }
}
