//! Canaries in each encoding, at each place and split at each byte, are in no output; ordinary text passes.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::*;

/// Secrets with what encoders treat in different ways.
const CANARIES: &[&str] = &[
    "canary-7f3a91c2d4e5",
    "tok-12",
    "p\"ss\\w/rd+of?h\u{e9}r&=",
    "012345678901234",
];

fn known() -> KnownSecrets {
    let known = KnownSecrets::default();
    for canary in CANARIES {
        known.add_secret("test", canary);
    }
    known
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The encodings of a text, with what is read to find the canary in it again.
fn encoded(text: &str) -> Vec<String> {
    let json = serde_json::to_string(text).unwrap();
    vec![
        text.to_owned(),
        STANDARD.encode(text),
        URL_SAFE_NO_PAD.encode(text),
        hex(text),
        hex(text).to_uppercase(),
        percent(text),
        serde_json::to_string(&json).unwrap(),
        json,
    ]
}

/// The part of `encoded` that a canary alone decides: a base64 of it in the middle of another text has other ends.
fn core(canary: &str, encoded: &str) -> Vec<Vec<u8>> {
    let forms = forms::forms(canary).into_iter();
    let cores: Vec<_> = forms
        .filter(|form| {
            encoded
                .as_bytes()
                .windows(form.len())
                .any(|window| window == form.as_slice())
        })
        .collect();
    assert!(!cores.is_empty(), "the control: {canary} is in {encoded}");
    cores
}

fn assert_clean(cores: &[Vec<u8>], canary: &str, written: &str) {
    for core in cores {
        let is_there = written
            .as_bytes()
            .windows(core.len())
            .any(|window| window == core.as_slice());
        assert!(!is_there, "{canary}: {written}");
    }
    assert!(written.contains(REDACTED), "{written}");
}

#[test]
fn a_canary_in_each_encoding_split_at_each_byte_is_in_no_output() {
    let known = known();
    for canary in CANARIES {
        for before in ["", "x", "xy", "token: "] {
            for text in encoded(&format!("{before}{canary}, and more")) {
                let text = format!("said {text} here");
                let cores = core(canary, &text);
                let whole = known.text(&text);
                assert_clean(&cores, canary, &whole);
                for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                    let mut stream = known.stream();
                    let mut written = stream.write(&text[..at]);
                    written.push_str(&stream.write(&text[at..]));
                    written.push_str(&stream.finish());
                    assert_eq!(written, whole, "split at {at}");
                }
                let mut stream = known.stream();
                let pieces = text.chars().map(|c| stream.write(&c.to_string()));
                let mut written = pieces.collect::<String>();
                written.push_str(&stream.finish());
                assert_eq!(written, whole, "one character at a time");
            }
        }
    }
}

#[test]
fn json_stays_json_and_has_no_canary_in_a_value_a_key_or_a_number() {
    let known = known();
    for canary in CANARIES {
        for text in encoded(canary) {
            let message =
                json!({"content": [{"text": format!("{{\"a\": {}}}", json!(text))}], text: 1});
            let redacted = known.json(&message.to_string()).into_owned();
            assert_clean(&core(canary, &message.to_string()), canary, &redacted);
            serde_json::from_str::<Value>(&redacted).unwrap();
        }
    }
    assert_eq!(
        known.json("[12345,012345678901234e1,7]"),
        "[12345,\"[redacted]e1\",7]"
    );
    // Escapes that an encoder need not write.
    let unusual =
        "{\"a\\u0062\":\"c\\u0061nary-7f3a91c2d4e5\",\"b\":\"p\\\"ss\\\\w\\/rd+of?h\\u00e9r&=\"}";
    assert_eq!(
        known.json(unusual),
        "{\"a\\u0062\":\"[redacted]\",\"b\":\"[redacted]\"}"
    );
}

#[test]
fn ordinary_text_passes_unchanged_and_is_not_held_back() {
    let known = known();
    for text in [
        "",
        "canary-7f3a91c2d4e4 tok-1 tok-22",
        "{\"id\":12345678901234,\"name\":\"canary\",\"hash\":\"\\u00e9\\/\"}",
        "Y2FuYXJ5 63616e617279",
    ] {
        assert!(matches!(known.text(text), Cow::Borrowed(_)), "{text}");
        assert!(matches!(known.json(text), Cow::Borrowed(_)), "{text}");
        let mut stream = known.stream();
        assert_eq!(stream.write(&format!("{text}\n")), format!("{text}\n"));
        assert_eq!(stream.finish(), "");
    }
    // Without secrets nothing is looked for.
    let none = KnownSecrets::default();
    assert_eq!(none.text(CANARIES[0]), CANARIES[0]);
}

#[test]
fn of_a_token_that_is_renewed_the_last_ones_stay_known() {
    let known = KnownSecrets::default();
    let token = |number: usize| format!("Bearer token-number-{number:04}-of-many");
    for number in 0..2 * PER_SOURCE_MAX {
        known.add_secret("server", &token(number));
    }
    let newest = token(2 * PER_SOURCE_MAX - 1);
    assert_eq!(known.text(&newest), "Bearer [redacted]");
    assert_eq!(known.text(&token(0)), token(0));
}
