//! Seven captured tool lists that tests compare exact texts with.
//!
//! They are older than those of [`captures`](crate::captures) and stay as they are: a signature, a search result or
//! an error text that a test expects is written for exactly these definitions.

use serde_json::Value;

use crate::Capture;

const SAMPLES: [(&str, &str); 7] = [
    ("everything", include_str!("../samples/everything.json")),
    ("filesystem", include_str!("../samples/filesystem.json")),
    ("git", include_str!("../samples/py-git.json")),
    ("github", include_str!("../samples/github.json")),
    ("gitlab", include_str!("../samples/gitlab.json")),
    ("memory", include_str!("../samples/memory.json")),
    ("slack", include_str!("../samples/slack-legacy.json")),
];

/// All samples, by server name.
///
/// # Panics
///
/// When the data is damaged.
#[must_use]
pub fn samples() -> Vec<Capture> {
    let samples = SAMPLES.iter().map(|(server, list)| {
        let mut list: Value = serde_json::from_str(list).expect("a sample is JSON");
        list["server"] = (*server).into();
        serde_json::from_value(list).expect("a sample is a captured list")
    });
    samples.collect()
}
