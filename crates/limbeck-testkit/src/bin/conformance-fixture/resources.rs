//! Resources and the resource template.

use rmcp::ErrorData;
use rmcp::model::{ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult};
use serde_json::{Value, json};

use crate::content;
use crate::handler::result;

const TEMPLATE: (&str, &str) = ("test://template/", "/data");

pub(crate) fn list() -> Result<ListResourcesResult, ErrorData> {
    result(json!({"resources": [
        entry("test://static-text", "Static text", "text/plain"),
        entry("test://static-binary", "Static binary", "image/png"),
        entry("test://watched-resource", "Watched resource", "text/plain"),
    ]}))
}

pub(crate) fn templates() -> Result<ListResourceTemplatesResult, ErrorData> {
    result(json!({"resourceTemplates": [{
        "uriTemplate": "test://template/{id}/data",
        "name": "Template",
        "description": "Data of an id",
        "mimeType": "application/json"
    }]}))
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        "test://static-text" => {
            let text = "This is the content of the static text resource.";
            json!({"uri": uri, "mimeType": "text/plain", "text": text})
        }
        "test://static-binary" => {
            json!({"uri": uri, "mimeType": "image/png", "blob": content::PNG})
        }
        "test://watched-resource" => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "Watched."})
        }
        _ => from_template(uri).ok_or_else(|| {
            ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})))
        })?,
    };
    result(json!({"contents": [contents]}))
}

fn from_template(uri: &str) -> Option<Value> {
    let id = uri.strip_prefix(TEMPLATE.0)?.strip_suffix(TEMPLATE.1)?;
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    Some(json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()}))
}

fn entry(uri: &str, name: &str, mime_type: &str) -> Value {
    json!({"uri": uri, "name": name, "description": format!("{name} for conformance tests"), "mimeType": mime_type})
}
