//! Parameters of a call that a modern server requires in headers too (`x-mcp-header`, SEP-2243).
//!
//! An annotation is valid on a path of `properties` from the root, on a string, integer or boolean, with a name
//! that is an HTTP token and unique in its tool. A tool with any other annotation is not listed. Values that a
//! header cannot hold are sent as `=?base64?…?=`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{HeaderName, HeaderValue};
use limbeck_domain::text;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::sync::lock;

/// Schema keyword of the annotation.
const ANNOTATION: &str = "x-mcp-header";
/// Annotated parameters of one tool.
const MIRRORS_MAX: usize = 32;
/// Longest header name after `Mcp-Param-`.
const NAME_BYTES_MAX: usize = 64;
/// Longest header value; servers accept about 8 KB of headers.
const VALUE_BYTES_MAX: usize = 4 << 10;
/// Tools stored per connection.
const TOOLS_MAX: usize = limbeck_domain::limits::TOOLS_PER_SERVER_MAX;

/// Parameter that is mirrored in a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeaderParam {
    path: Vec<String>,
    header: HeaderName,
}

/// Mirrored parameters of the tools of one connection.
#[derive(Default)]
pub(crate) struct ParamHeaders(Mutex<HashMap<String, Arc<[HeaderParam]>>>);

impl ParamHeaders {
    /// Reads the annotations in a page of `tools/list`, a JSON-RPC response.
    pub(crate) fn learn(&self, page: &str) {
        #[derive(Deserialize)]
        struct Page {
            #[serde(default)]
            tools: Vec<Value>,
        }
        #[derive(Deserialize)]
        struct Answer {
            result: Page,
        }
        // Nearly no server uses annotations, so most pages are not parsed again.
        if !page.contains(ANNOTATION) {
            return;
        }
        let Ok(Answer { result }) = serde_json::from_str(page) else {
            return;
        };
        let mut by_tool = lock(&self.0);
        for tool in &result.tools {
            let (Some(name), Some(schema)) = (tool["name"].as_str(), tool.get("inputSchema"))
            else {
                continue;
            };
            if let Ok(mirrors) = annotations(schema)
                && !mirrors.is_empty()
                && by_tool.len() < TOOLS_MAX
            {
                by_tool.insert(name.to_owned(), mirrors.into());
            }
        }
    }

    /// Returns the headers of a call.
    ///
    /// # Errors
    ///
    /// Names the parameter whose value is too long.
    pub(crate) fn of_call(
        &self,
        tool: &str,
        arguments: &RawValue,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let Some(mirrors) = lock(&self.0).get(tool).cloned() else {
            return Ok(Vec::new());
        };
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or(Value::Null);
        let mut headers = Vec::new();
        for HeaderParam { path, header } in mirrors.iter() {
            let value = path
                .iter()
                .try_fold(&arguments, |value, key| value.get(key));
            let words = match value {
                Some(Value::String(words)) => words.clone(),
                Some(Value::Bool(value)) => value.to_string(),
                Some(Value::Number(value)) => value.to_string(),
                Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => continue,
            };
            let value = encode(&words).filter(|value| value.len() <= VALUE_BYTES_MAX);
            let too_long = || format!("`{}` is too long for a header", path.join("."));
            headers.push((header.clone(), value.ok_or_else(too_long)?));
        }
        Ok(headers)
    }
}

/// Encodes `words` as a header value.
pub(crate) fn encode(words: &str) -> Option<HeaderValue> {
    let printable = words.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = words.starts_with(' ') || words.ends_with(' ');
    // A value that looks encoded must be encoded, or the server would decode it.
    let like_encoded = words.starts_with("=?base64?") && words.ends_with("?=");
    if printable && !padded && !like_encoded {
        HeaderValue::from_str(words).ok()
    } else {
        HeaderValue::from_str(&format!("=?base64?{}?=", BASE64_STANDARD.encode(words))).ok()
    }
}

/// Collects the annotations of an input schema.
///
/// # Errors
///
/// Describes the first invalid annotation: its tool must not be listed.
pub(crate) fn annotations(schema: &Value) -> Result<Vec<HeaderParam>, String> {
    let mut found = AnnotationScan::default();
    if let Value::Object(schema) = schema {
        if schema.contains_key(ANNOTATION) {
            return Err(format!("`{ANNOTATION}` is set on the whole schema"));
        }
        found.schema(schema, true)?;
    }
    Ok(found.mirrors)
}

#[derive(Default)]
struct AnnotationScan {
    mirrors: Vec<HeaderParam>,
    names: HashSet<String>,
    path: Vec<String>,
}

impl AnnotationScan {
    /// Scans a schema; `counts` is true when only `properties` lead to it. The JSON parser bounds the depth
    /// (128 in serde_json).
    fn schema(&mut self, schema: &Map<String, Value>, counts: bool) -> Result<(), String> {
        for (key, value) in schema {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => self.members(properties, counts)?,
                (
                    "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
                    Value::Object(schemas),
                ) => self.members(schemas, false)?,
                // Values instead of schemas: the keyword means nothing there.
                ("default" | "const" | "enum" | "examples", _) => {}
                (_, Value::Object(inner)) => self.inner(inner)?,
                (_, Value::Array(inner)) => {
                    for inner in inner.iter().filter_map(Value::as_object) {
                        self.inner(inner)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn members(&mut self, members: &Map<String, Value>, counts: bool) -> Result<(), String> {
        for (name, member) in members {
            let Value::Object(member) = member else {
                continue;
            };
            self.path.push(name.clone());
            if let Some(header) = member.get(ANNOTATION) {
                self.annotation(header, member, counts)?;
            }
            self.schema(member, counts)?;
            self.path.pop();
        }
        Ok(())
    }

    fn inner(&mut self, schema: &Map<String, Value>) -> Result<(), String> {
        if schema.contains_key(ANNOTATION) {
            return Err(format!("`{ANNOTATION}` is set where there is no parameter"));
        }
        self.schema(schema, false)
    }

    fn annotation(
        &mut self,
        header: &Value,
        schema: &Map<String, Value>,
        counts: bool,
    ) -> Result<(), String> {
        let parameter = text::clean_line(&self.path.join("."), 80);
        let wrong = |what: &str| format!("`{ANNOTATION}` of `{parameter}` {what}");
        if !counts {
            return Err(wrong("is set where there is no parameter"));
        }
        let name = header.as_str().ok_or_else(|| wrong("is not a string"))?;
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(wrong("is empty or too long"));
        }
        let header = HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes())
            .map_err(|_| wrong("is not a valid header name"))?;
        // Header names are case-insensitive.
        if !self.names.insert(name.to_ascii_lowercase()) {
            return Err(wrong("is the name of another parameter too"));
        }
        if !matches!(
            schema.get("type").and_then(Value::as_str),
            Some("string" | "integer" | "boolean")
        ) {
            return Err(wrong(
                "is set on something that is not a string, integer or boolean",
            ));
        }
        if self.mirrors.len() == MIRRORS_MAX {
            return Err(wrong("is one too many"));
        }
        self.mirrors.push(HeaderParam {
            path: self.path.clone(),
            header,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(schema: &Value, arguments: &str) -> Vec<(String, String)> {
        let headers = ParamHeaders::default();
        let page = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "inputSchema": schema}]}});
        headers.learn(&page.to_string());
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let found = headers.of_call("t", &arguments).unwrap();
        found
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect()
    }

    #[test]
    fn annotated_parameters_are_repeated_and_nothing_can_be_injected() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "where": {"properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "other": {"type": "string"},
        }});
        let pairs = headers(
            &schema,
            r#"{"region":"eu\r\nX-Evil: 1","where":{"zone":7},"dry":true,"other":"x"}"#,
        );
        let expected = [
            ("mcp-param-region", "=?base64?ZXUNClgtRXZpbDogMQ==?="),
            ("mcp-param-zone", "7"),
            ("mcp-param-dry", "true"),
        ];
        assert_eq!(pairs, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        // Absent, null and of another shape: no header.
        assert_eq!(
            headers(&schema, r#"{"region":null,"where":5,"dry":[1]}"#),
            []
        );
        assert_eq!(encode("plain text").unwrap(), "plain text");
        assert_eq!(encode(" x").unwrap(), "=?base64?IHg=?=");
        assert_eq!(encode("é").unwrap(), "=?base64?w6k=?=");
        assert_eq!(
            encode("=?base64?eA==?=").unwrap(),
            "=?base64?PT9iYXNlNjQ/ZUE9PT89?="
        );
    }

    #[test]
    fn a_bad_annotation_spoils_its_tool() {
        let one = |schema: Value| json!({"properties": {"a": schema}});
        for schema in [
            json!({"x-mcp-header": "A"}),
            one(json!({"type": "string", "x-mcp-header": "A: b"})),
            one(json!({"type": "string", "x-mcp-header": "A\r\nB"})),
            one(json!({"type": "string", "x-mcp-header": ""})),
            one(json!({"type": "string", "x-mcp-header": 5})),
            one(json!({"type": "object", "x-mcp-header": "A"})),
            one(json!({"type": "number", "x-mcp-header": "A"})),
            one(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
            json!({"$defs": {"x": {"type": "string", "x-mcp-header": "A"}}}),
            json!({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}),
            json!({"properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }}),
        ] {
            assert!(annotations(&schema).is_err(), "{schema}");
        }
        let fine =
            one(json!({"type": "string", "x-mcp-header": "A", "default": {"x-mcp-header": 1}}));
        assert_eq!(annotations(&fine).unwrap().len(), 1);
    }
}
