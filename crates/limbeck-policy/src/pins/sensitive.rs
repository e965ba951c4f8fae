//! Arguments and values that decide where something goes or what is run.

use serde_json::Value;

/// Words of a name that stand for an address, a path, a recipient or code. A name is split at everything that is not a letter
/// and at capitals.
const WORDS: &[&str] = &[
    "addr",
    "address",
    "addresses",
    "bcc",
    "callback",
    "cc",
    "cmd",
    "code",
    "command",
    "commands",
    "cwd",
    "destination",
    "dir",
    "directory",
    "domain",
    "email",
    "emails",
    "endpoint",
    "eval",
    "exec",
    "expression",
    "file",
    "filename",
    "filepath",
    "files",
    "folder",
    "glob",
    "host",
    "hostname",
    "href",
    "iban",
    "javascript",
    "link",
    "links",
    "mail",
    "path",
    "paths",
    "phone",
    "program",
    "proxy",
    "python",
    "receiver",
    "recipient",
    "recipients",
    "redirect",
    "script",
    "shell",
    "snippet",
    "sql",
    "template",
    "to",
    "uri",
    "uris",
    "url",
    "urls",
    "webhook",
];
/// Formats of JSON Schema that say the same.
const FORMATS: &[&str] = &[
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "uri",
    "uri-reference",
    "uri-template",
];
/// Levels of properties that are looked at.
const DEPTH_MAX: usize = 6;

/// Whether an argument of this name and schema takes a URL, a path, a recipient or code, itself or in a property.
pub(super) fn takes(name: &str, schema: &Value) -> bool {
    takes_at(name, schema, 0)
}

fn takes_at(name: &str, schema: &Value, depth: usize) -> bool {
    // What is nested deeper than any person reads may take anything.
    if depth > DEPTH_MAX {
        return true;
    }
    if words(name).any(|word| WORDS.contains(&word.as_str())) || is_format(schema.get("format")) {
        return true;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .chain(schema.get("items").map(|items| (EMPTY, items)))
        .any(|(name, schema)| takes_at(name, schema, depth + 1))
}

static EMPTY: &String = &String::new();

/// Whether a value of `format` says that an address is taken.
pub(super) fn is_format(format: Option<&Value>) -> bool {
    let format = format.and_then(Value::as_str);
    format.is_some_and(|format| FORMATS.contains(&format))
}

/// Whether a value is an address or a path.
pub(super) fn is_place(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        text.contains("://") || text.starts_with(['/', '~']) || text.contains(['@', '\\'])
    })
}

fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let starts = !c.is_alphabetic() || (c.is_uppercase() && was_lower);
        if starts {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphabetic(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_read_by_its_words() {
        let any = json!({"type": "string"});
        for name in [
            "url",
            "callbackUrl",
            "file_path",
            "to",
            "bcc",
            "shell-command",
            "SQL",
        ] {
            assert!(takes(name, &any), "{name}");
        }
        for name in [
            "limit",
            "total",
            "profile",
            "curl_count",
            "token",
            "verbose",
            "codec",
        ] {
            assert!(!takes(name, &any), "{name}");
        }
        let nested = json!({"type": "array", "items": {"properties": {"url": {}}}});
        assert!(takes("options", &nested));
        assert!(takes("where", &json!({"format": "uri"})));
    }
}
