//! A definition as its server wrote it, its fields not decoded yet.

use std::collections::BTreeMap;

use limbeck_domain::text;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Bytes kept of the other fields of one tool (annotations, icons, `_meta`); real ones have below 2 KiB.
const TOOL_EXTRA_BYTES_MAX: usize = 16 << 10;
/// Fields that [`limbeck_domain::ToolDefinition`] has.
const USED: [&str; 5] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
];

#[derive(Deserialize)]
pub(super) struct RawTool<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) description: Option<&'a RawValue>,
    #[serde(rename = "inputSchema", borrow, default)]
    pub(super) input_schema: Option<&'a RawValue>,
    #[serde(rename = "outputSchema", borrow, default)]
    pub(super) output_schema: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) annotations: Option<&'a RawValue>,
}

pub(super) fn parse_tool(raw: &RawValue) -> Result<RawTool<'_>, String> {
    match raw.get().as_bytes().first() {
        Some(b'{') => serde_json::from_str(raw.get()).map_err(|error| error.to_string()),
        _ => Err("it is not an object".to_owned()),
    }
}

impl RawTool<'_> {
    /// The fields in [`USED`].
    pub(super) fn used(&self) -> impl Iterator<Item = &str> {
        let used = [
            self.name,
            self.title,
            self.description,
            self.input_schema,
            self.output_schema,
        ];
        used.into_iter().flatten().map(RawValue::get)
    }

    pub(super) fn used_values(&self) -> usize {
        self.used().map(text::json_values).sum()
    }

    /// Bytes of the definition beside the fields in [`USED`].
    pub(super) fn other_bytes(&self, raw: &RawValue) -> usize {
        raw.get()
            .len()
            .saturating_sub(self.used().map(str::len).sum())
    }

    /// Whether the other fields are few enough to be looked at; names, spaces and commas count here too.
    pub(super) fn may_keep_others(&self, raw: &RawValue) -> bool {
        self.other_bytes(raw) <= TOOL_EXTRA_BYTES_MAX * 2
    }
}

/// Fields of a definition beside those in [`limbeck_domain::ToolDefinition`].
pub(super) fn extra(raw: &RawValue) -> Option<Map<String, Value>> {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).ok()?;
    let rest = parts
        .into_iter()
        .filter(|(key, _)| !USED.contains(&key.as_str()));
    let (mut extra, mut bytes) = (Map::new(), 0);
    for (key, part) in rest {
        // All or nothing, because a part of the fields could be misread as all of them.
        bytes += key.len() + part.get().len();
        if bytes > TOOL_EXTRA_BYTES_MAX {
            return None;
        }
        let mut value = serde_json::from_str(part.get()).ok()?;
        if !text::is_clean(&key) || !text::clean_json(&mut value, TOOL_EXTRA_BYTES_MAX) {
            return None;
        }
        extra.insert(key, value);
    }
    Some(extra).filter(|extra| !extra.is_empty())
}
