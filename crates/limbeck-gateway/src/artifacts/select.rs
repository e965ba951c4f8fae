//! JSON path (RFC 9535) over an artifact, with bounded work.
//!
//! It is evaluated here and not in the guest: what was selected is a small part of what there is, so the
//! rest never has to be written into the journal and a guest. In return its work has to be bounded by the gateway: the
//! value may have so many parts, and a path is refused when its terms over these parts are more work than a few seconds,
//! by an estimate that is made before ([`Work`]). An evaluation that has begun cannot be interrupted; around it the work
//! stops when the program has ended ([`StopFlag`]).
//! The library is built without functions in filters, whose regular expressions would be compiled per node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Terms of a path times the parts they are evaluated for: some 3 s.
const VISITS_MAX: usize = 64_000_000;
/// Bytes of the values that a path compares with one another: some 2 s.
const COMPARED_BYTES_MAX: usize = 256 << 20;

/// Asks work on a thread to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the flag when what this returns is dropped.
    pub(crate) fn stop_when_dropped(self) -> StopWhenDropped {
        StopWhenDropped(self)
    }
}

/// Sets a [`StopFlag`] when it is dropped.
#[derive(Debug)]
pub(crate) struct StopWhenDropped(StopFlag);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Why nothing was selected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SelectError {
    /// The path is invalid or too expensive.
    #[error("path `{}` {reason}", limbeck_domain::text::clean_line(path, 80))]
    Path { path: String, reason: String },
    /// The artifact has too many parts to hold them in memory.
    #[error("the artifact has more than {ARTIFACT_PARTS_MAX} parts")]
    Large,
    /// The selection is larger than an answer may be.
    #[error("the selection has more than {CALL_RESULT_BYTES_MAX} bytes")]
    Selection,
    /// The path takes too long over this artifact.
    #[error("the path is too much work over an artifact of this size")]
    Work,
    /// The content is no JSON.
    #[error("the artifact is not JSON")]
    NoJson,
    /// The program has ended.
    #[error("the execution ended before the path was evaluated")]
    Stopped,
}

/// What `path` selects in `json`, as the text of a JSON array.
pub(crate) fn select(json: &str, path: &str, stop: &StopFlag) -> Result<String, SelectError> {
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
    let size = Size::of(json);
    if size.parts > ARTIFACT_PARTS_MAX {
        return Err(SelectError::Large);
    }
    if !Work::of(path).fits(&size) {
        return Err(SelectError::Work);
    }
    let going_on = || match stop.is_set() {
        true => Err(SelectError::Stopped),
        false => Ok(()),
    };
    going_on()?;
    let value: Value = serde_json::from_str(json).map_err(|_| SelectError::NoJson)?;
    going_on()?;
    let mut out = String::from("[");
    for node in parsed.query(&value) {
        going_on()?;
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

/// Work of evaluating a path, by its spelling: quoted names that look like operators count too.
#[derive(Clone, Copy, Debug)]
struct Work {
    /// Segments, selectors and terms of filters: each is evaluated once for every part at most.
    terms: usize,
    /// Comparisons of two values of the artifact. One with a literal ends at its first byte that differs.
    comparisons: usize,
    /// How often a part may be in what was selected: each further selector of a list may select it again.
    repeats: usize,
    /// Whether each part is looked at once for every part around it.
    descends: bool,
}

impl Work {
    fn of(path: &str) -> Self {
        let terms = path.chars().filter(|it| ".[@?&|=<>!,:*".contains(*it));
        let after = |operator: &'static str| {
            path.match_indices(operator)
                .filter(move |(at, _)| {
                    let right = path[at + operator.len()..].trim_start_matches(['=', ' ']);
                    right.starts_with(['@', '$'])
                })
                .count()
        };
        Self {
            terms: terms.count(),
            comparisons: after("==") + after("!=") + after("<") + after(">"),
            repeats: 1 << path.matches(',').count().min(COMMAS_MAX),
            descends: path.contains(".."),
        }
    }

    fn fits(&self, size: &Size) -> bool {
        let compared = match self.descends {
            true => size.nested_bytes,
            false => size.bytes,
        };
        let visits = size.parts.saturating_mul(self.terms * self.repeats);
        let compared = compared.saturating_mul(self.comparisons * self.repeats);
        visits <= VISITS_MAX && compared <= COMPARED_BYTES_MAX
    }
}

/// Values in a JSON text, one more than there are at most for each empty list or object.
pub(crate) fn parts(json: &str) -> usize {
    Size::of(json).parts
}

/// Size of a JSON text.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// As [`parts`] counts them.
    parts: usize,
    bytes: usize,
    /// Bytes of all values, each with everything inside of it.
    nested_bytes: usize,
}

impl Size {
    fn of(json: &str) -> Self {
        let (mut parts, mut in_text, mut escaped) = (1, false, false);
        let (mut depth, mut nested_bytes) = (1_usize, 0_usize);
        for byte in json.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_text => escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b',' => parts += 1,
                b'[' | b'{' => {
                    parts += 1;
                    depth += 1;
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            nested_bytes = nested_bytes.saturating_add(depth);
        }
        Self {
            parts,
            bytes: json.len(),
            nested_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn selected(path: &str) -> Result<Value, SelectError> {
        let json = json!({"items": [{"id": 1, "price": 5, "tags": ["a"]}, {"id": 2, "price": 15}], "total": 2});
        select(&json.to_string(), path, &StopFlag::default())
            .map(|text| serde_json::from_str(&text).unwrap())
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
        assert!(matches!(
            select(&wide, "$[0]", &StopFlag::default()),
            Err(SelectError::Large)
        ));
    }

    #[test]
    fn the_worst_path_that_is_taken_ends_soon() {
        let nested = "[".repeat(100) + &"]".repeat(100);
        let json = format!("[{}1]", format!("{nested},").repeat(2_000));
        let started = Instant::now();
        let parens = format!("$[?{}@.a{}]", "(".repeat(12), ")".repeat(12));
        for path in ["$..[?@[?@.a == 1]]", parens.as_str()] {
            let selected = select(&json, path, &StopFlag::default());
            assert!(selected.is_ok(), "{path}: {selected:?}");
        }
        assert!(
            select(&json, "$..[*,*,*,*]", &StopFlag::default()).is_err(),
            "more parts than are read"
        );
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?}",
            started.elapsed()
        );
    }

    #[test]
    fn a_path_is_refused_by_its_work_over_this_artifact_and_not_by_its_spelling() {
        // 3 MB. Each term compares every value with itself, and the first one is always equal.
        let text = "x".repeat(1_000);
        let rows: Vec<Value> = (0..3_000)
            .map(|id| json!({"id": id, "text": text}))
            .collect();
        let json = json!(rows).to_string();
        let terms = |count: usize| format!("$..[?{}]", vec!["@==@"; count].join("&&"));
        let deep = terms(80);
        assert!(deep.len() < ARTIFACT_PATH_BYTES_MAX);
        let stop = StopFlag::default();
        assert!(matches!(
            select(&json, &deep, &stop),
            Err(SelectError::Work)
        ));
        // The controls: the same path over a small artifact, and common paths over the large one.
        assert!(select("[{\"a\":1}]", &deep, &stop).is_ok());
        for path in [
            "$..id",
            "$[*].id",
            "$[?@.id > 10 && @.id < 12 || @.text == 'y'].id",
            "$..[?@.id == 5]",
            "$[?@.id == @.text]",
        ] {
            assert!(select(&json, path, &stop).is_ok(), "{path}");
        }
    }

    #[test]
    fn work_stops_when_its_caller_is_gone() {
        let stop = StopFlag::default();
        assert!(select("[1]", "$[0]", &stop).is_ok());
        drop(stop.clone().stop_when_dropped());
        assert!(matches!(
            select("[1]", "$[0]", &stop),
            Err(SelectError::Stopped)
        ));
    }
}
