//! JSON path (RFC 9535) over an artifact, with bounded work.
//!
//! It is evaluated here and not in the guest: what was selected is a small part of what there is, so the
//! rest never has to be written into the journal and a guest. In return its work has to be bounded by us: the
//! value may have so many parts, and a path is refused whose selectors could visit a part many times over.
//! The library is built without functions in filters, whose regular expressions would be compiled per node.

use limbeck_domain::limits::{ARTIFACT_PARTS_MAX, ARTIFACT_PATH_BYTES_MAX, CALL_RESULT_BYTES_MAX};
use serde_json::Value;
use serde_json_path::JsonPath;

/// `..` of one path: each visits a part once for every part around it.
const DESCENDANTS_MAX: usize = 1;
/// Filters of one path.
const FILTERS_MAX: usize = 2;
/// Commas of one path: every list of selectors may double what is visited.
const COMMAS_MAX: usize = 3;
/// Opening brackets and parentheses, each: the parser goes deeper with every one of them.
const OPENED_MAX: usize = 12;

/// Why nothing was selected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SelectError {
    /// It is no path, or one that is not taken.
    #[error("path `{}` {reason}", limbeck_domain::text::clean_line(path, 80))]
    Path { path: String, reason: String },
    /// Too many parts to hold all of them.
    #[error("the artifact has more than {ARTIFACT_PARTS_MAX} parts")]
    Large,
    /// What was selected is over the bound of an answer.
    #[error("the selection is over {CALL_RESULT_BYTES_MAX} bytes")]
    Selection,
    /// The content is no JSON.
    #[error("the artifact is no JSON")]
    NoJson,
}

/// What `path` selects in `json`, as the text of a JSON array.
pub(crate) fn select(json: &str, path: &str) -> Result<String, SelectError> {
    let refused = |reason: &str| SelectError::Path {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    if path.len() > ARTIFACT_PATH_BYTES_MAX {
        return Err(refused("is too long"));
    }
    let count = |what: &str| path.matches(what).count();
    if count("..") > DESCENDANTS_MAX {
        return Err(refused("has more than one `..`"));
    }
    if count("?") > FILTERS_MAX {
        return Err(refused("has more than two filters"));
    }
    if count("$") > 1 && count("?") > 0 {
        return Err(refused("has a `$` in a filter; `@` is the item itself"));
    }
    if count(",") > COMMAS_MAX {
        return Err(refused("has more than three commas"));
    }
    if count("(") > OPENED_MAX || count("[") > OPENED_MAX {
        return Err(refused("has more than twelve brackets"));
    }
    let parsed =
        JsonPath::parse(path).map_err(|error| refused(&format!("is not valid: {error}")))?;
    if parts(json) > ARTIFACT_PARTS_MAX {
        return Err(SelectError::Large);
    }
    let value: Value = serde_json::from_str(json).map_err(|_| SelectError::NoJson)?;
    let mut out = String::from("[");
    for node in parsed.query(&value) {
        if out.len() > 1 {
            out.push(',');
        }
        let text = node.to_string();
        if out.len() + text.len() > CALL_RESULT_BYTES_MAX {
            return Err(SelectError::Selection);
        }
        out.push_str(&text);
    }
    out.push(']');
    Ok(out)
}

/// Values in a JSON text, one more than there are at most for each empty list or object.
pub(crate) fn parts(json: &str) -> usize {
    let (mut parts, mut in_text, mut escaped) = (1, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => parts += 1,
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn selected(path: &str) -> Result<Value, SelectError> {
        let json = json!({"items": [{"id": 1, "price": 5, "tags": ["a"]}, {"id": 2, "price": 15}], "total": 2});
        select(&json.to_string(), path).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn names_indexes_slices_wildcards_descendants_and_filters_select() {
        for (path, expected) in [
            ("$.total", json!([2])),
            ("$.items[*].id", json!([1, 2])),
            ("$.items[-1].price", json!([15])),
            ("$.items[0:1].id", json!([1])),
            ("$..id", json!([1, 2])),
            ("$.items[?@.price > 10].id", json!([2])),
            ("$['total', 'none']", json!([2])),
            ("$.none", json!([])),
        ] {
            assert_eq!(selected(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_or_could_take_long_is_refused_with_the_reason() {
        let deep = format!("$[?{}@.a{}]", "(".repeat(60), ")".repeat(60));
        for (path, reason) in [
            ("items", "not valid"),
            ("$..a..b", "more than one `..`"),
            ("$[?@.a == $.b]", "`$` in a filter"),
            ("$[*,*,*,*,*]", "three commas"),
            (deep.as_str(), "brackets"),
            ("$[?match(@.a, 'x')]", "not valid"),
        ] {
            let error = selected(path).unwrap_err().to_string();
            assert!(error.contains(reason), "{path}: {error}");
        }
        let long = format!("$.{}", "a".repeat(2_000));
        assert!(
            selected(&long)
                .unwrap_err()
                .to_string()
                .contains("too long")
        );
        let wide = format!("[{}1]", "1,".repeat(ARTIFACT_PARTS_MAX));
        assert!(matches!(select(&wide, "$[0]"), Err(SelectError::Large)));
    }

    #[test]
    fn the_worst_path_that_is_taken_ends_soon() {
        let nested = "[".repeat(100) + &"]".repeat(100);
        let json = format!("[{}1]", format!("{nested},").repeat(2_000));
        let started = Instant::now();
        let parens = format!("$[?{}@.a{}]", "(".repeat(12), ")".repeat(12));
        for path in ["$..[?@[?@.a == 1]]", parens.as_str()] {
            let selected = select(&json, path);
            assert!(selected.is_ok(), "{path}: {selected:?}");
        }
        assert!(
            select(&json, "$..[*,*,*,*]").is_err(),
            "as many parts as nobody reads"
        );
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?}",
            started.elapsed()
        );
    }
}
