//! Rendering of an envelope: as compact JSON, or in TOON (Token-Oriented Object Notation), which writes the
//! member names of equal rows once.

use limbeck_domain::Envelope;
use serde::Serialize;
use toon_format::EncodeOptions;

use crate::tokens;

/// Bytes of JSON above which `auto` does not try TOON: such an envelope exceeds every token budget.
const TOON_BYTES_MAX: usize = 1 << 20;

/// Notation of a rendered envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Render {
    /// Compact JSON. The default: clients and bridges parse it.
    #[default]
    Json,
    /// TOON 4.
    Toon,
    /// The one with fewer tokens; JSON when they are equal.
    Auto,
}

impl Render {
    /// All notations with their names.
    pub const ALL: [(&str, Self); 3] = [
        ("json", Self::Json),
        ("toon", Self::Toon),
        ("auto", Self::Auto),
    ];

    /// The notation of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, render)| render)
    }
}

/// Renders an envelope as text.
pub fn text(envelope: &Envelope, render: Render) -> String {
    let json = serde_json::to_string(envelope)
        .expect("an envelope has text keys and values that are JSON already");
    if render == Render::Json || json.len() > TOON_BYTES_MAX {
        return json;
    }
    let toon = match toon_format::encode(envelope, &EncodeOptions::default()) {
        Ok(toon) => toon,
        Err(error) => {
            tracing::debug!(%error, "an answer has no TOON");
            return json;
        }
    };
    match render {
        Render::Auto if tokens::count(&toon) >= tokens::count(&json) => json,
        Render::Auto | Render::Toon => toon,
        Render::Json => json,
    }
}

/// Renders a small value in TOON; `None` for one that TOON cannot write.
pub fn toon(value: &impl Serialize) -> Option<String> {
    toon_format::encode(value, &EncodeOptions::default()).ok()
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ExecutionId, ExecutionStatus};
    use serde_json::{Value, json, value::RawValue};

    use super::*;

    fn envelope(value: &Value) -> Envelope {
        Envelope {
            value: Some(RawValue::from_string(value.to_string()).unwrap()),
            ..Envelope::new(ExecutionId::new("ex_1"), ExecutionStatus::Completed)
        }
    }

    #[test]
    fn rows_are_written_once_named_in_toon_and_auto_takes_what_is_shorter() {
        let rows: Vec<Value> = (1..=40)
            .map(|id| json!({"id": id, "name": format!("n{id}"), "price": 1.5, "stock": null}))
            .collect();
        let table = envelope(&json!(rows));
        let toon = text(&table, Render::Toon);
        assert!(
            toon.contains("value[40]{id,name,price,stock}:\n  1,n1,1.5,null\n"),
            "{toon}"
        );
        assert!(tokens::count(&toon) * 10 < tokens::count(&text(&table, Render::Json)) * 7);
        assert_eq!(text(&table, Render::Auto), toon);

        let nested = envelope(&json!([[[[["a", {"b": [[1], [2]]}]]]]]));
        let json = text(&nested, Render::Json);
        assert_eq!(text(&nested, Render::Auto), json);
    }

    #[test]
    fn what_toon_writes_is_read_back_as_the_same_answer() {
        let odd = json!({
            "text": "a: b, \"c\"\n- d", "true": "true", "number": "05", "empty": {}, "none": [],
            "large": 9_007_199_254_740_993_u64, "small": 1e-7, "": [1, [2, {"x-y": []}]], "é": "\u{1F600}"
        });
        let toon = text(&envelope(&odd), Render::Toon);
        let read: Value = toon_format::decode_default(&toon).unwrap();
        assert_eq!(read["value"], odd, "{toon}");
    }
}
