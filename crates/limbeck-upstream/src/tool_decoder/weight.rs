//! Size of the definitions of a list together.

use limbeck_domain::{limits, text};
use serde_json::value::RawValue;

use super::raw_tool::RawTool;

/// Size of what is kept of definitions.
#[derive(Clone, Copy, Default)]
pub(super) struct DefinitionWeight {
    bytes: usize,
    values: usize,
}

impl DefinitionWeight {
    pub(super) fn of(tool: &RawTool<'_>, raw: &RawValue) -> Self {
        // A larger schema is left out.
        let schemas = [tool.input_schema, tool.output_schema];
        let schemas = schemas.into_iter().flatten().map(|schema| schema.get());
        let schemas = schemas.filter(|schema| schema.len() <= limits::SCHEMA_BYTES_MAX);
        let mut weight = schemas.fold(Self::default(), |weight, schema| {
            weight.plus(Self {
                bytes: schema.len(),
                values: text::json_values(schema),
            })
        });
        let description = tool.description.map_or(0, |text| text.get().len());
        weight.bytes += description.min(limits::DESCRIPTION_BYTES_MAX);
        if tool.may_keep_others(raw) {
            weight.bytes += tool.other_bytes(raw);
            weight.values += text::json_values(raw.get()).saturating_sub(tool.used_values());
        }
        weight
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            values: self.values + other.values,
        }
    }

    pub(super) fn fits(self) -> bool {
        self.bytes <= limits::TOOL_LIST_BYTES_MAX && self.values <= limits::TOOL_LIST_VALUES_MAX
    }
}
