//! Lint for words that make text hard to read: code, comments, messages and documents use plain English.
//!
//! The words of [`AVOIDED`] hide who does what ("nobody is told of it"). The lint counts them in all source files and
//! documents that git tracks, and fails when a new one is added. [`REMAINING`] has the lines of older text; its numbers
//! only go down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command;

/// What to avoid, in lower case, and what to write instead.
const AVOIDED: &[(&str, &str)] = &[
    ("affair", "name the thing"),
    ("all there is", "name what there is"),
    ("anew", "again"),
    ("anybody", "name the actor, or every client, every process"),
    ("are none", "`are not …` or `there are no …`"),
    ("became of", "name the outcome"),
    ("came of", "name the outcome"),
    ("come of", "name the outcome"),
    ("comes of", "name the outcome"),
    ("everybody", "name the actor: all clients, every user"),
    ("heard", "received, read or reported"),
    ("hears", "receives, reads or is notified of"),
    ("in vain", "without success; name what did not happen"),
    ("is none", "`is not …` or `there is no …`"),
    ("is over", "has ended, is finished or has expired"),
    ("nobody", "name the actor: no client, no server, no program"),
    ("nothing but", "only"),
    ("nought", "nothing or zero"),
    ("of ours", "name the owner"),
    ("of theirs", "name the owner"),
    ("reckon", "count, estimate or compute"),
    (
        "somebody",
        "name the actor: client, server, program, caller, user",
    ),
    ("stands", "is, is written, means or replaces"),
    ("tells", "reports, returns or notifies"),
    ("told", "received, was notified or is configured"),
    ("under way", "in flight or running"),
    ("what becomes of", "name the outcome or the use"),
    ("whatever", "name the thing, or any"),
    ("whoever", "name the actor"),
];

/// Lines with such words that are left, by the start of their path. Lower a number when you reword some; never
/// raise one.
const REMAINING: &[(&str, usize)] = &[
    ("crates/limbeck-analysis/", 2),
    ("crates/limbeck-catalog/", 3),
    ("crates/limbeck-guest-js/", 2),
    // A word in files of earlier versions, which are still read.
    ("crates/limbeck-setup/src/trust.rs", 2),
];

/// Directories whose files are data: programs of models, captured texts, published licences.
const DATA: &[&str] = &[
    "attacks/",
    "crates/limbeck-search/src/stop_words.rs",
    "crates/limbeck-search/src/synonyms",
    "tests/catalogs/",
    "tests/python/programs/",
    "tests/python/servers/",
    "xtask/src/words.rs",
];

/// Counts the avoided words.
///
/// # Errors
///
/// When there are more than [`REMAINING`] has for a path, each with its file, its line and what to write instead;
/// and when there are fewer, so that the number is lowered.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let files = command::output(
        Command::new("git")
            .args(["ls-files", "*.rs", "*.md", "*.py", "*.ts", "*.js", "*.mjs"])
            .current_dir(root),
    )?;
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in files.lines() {
        if DATA.iter().any(|data| path.starts_with(data)) {
            continue;
        }
        let text = fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"))?;
        for (number, line) in text.lines().enumerate() {
            // `None` is a value of Python and of Rust, and not a word of the sentence.
            let line = line.replace(" None", " null").to_lowercase();
            for (word, instead) in AVOIDED {
                if has_word(&line, word) {
                    let place = format!("{path}:{}: `{word}`: {instead}", number + 1);
                    found.entry(group_of(path)).or_default().push(place);
                }
            }
        }
    }
    let mut differences = Vec::new();
    let groups = REMAINING.iter().map(|(group, _)| *group);
    for group in groups.chain(found.keys().copied()).collect::<BTreeSet<_>>() {
        let places = found.get(group).map_or(&[][..], Vec::as_slice);
        let remaining = REMAINING.iter().find(|(path, _)| *path == group);
        let remaining = remaining.map_or(0, |(_, lines)| *lines);
        if places.len() > remaining {
            for place in places {
                eprintln!("{place}");
            }
        }
        if places.len() != remaining {
            differences.push(format!("{group}: {} lines, not {remaining}", places.len()));
        }
    }
    if !differences.is_empty() {
        bail!(
            "the lines with words to avoid differ from REMAINING in xtask/src/words.rs:\n{}",
            differences.join("\n")
        );
    }
    Ok(())
}

/// The entry of [`REMAINING`] that counts `path`; for a path without one the path itself, of which no line may
/// have such a word.
fn group_of(path: &str) -> &str {
    let entry = REMAINING.iter().find(|(start, _)| path.starts_with(start));
    entry.map_or(path, |(start, _)| *start)
}

/// Whether `line` has `word` with no letter, digit or underscore beside it.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn a_word_is_found_whole_and_not_as_a_part_of_another() {
        assert!(has_word("what nobody reads", "nobody"));
        assert!(has_word("nobody", "nobody"));
        assert!(has_word("a call of ours.", "of ours"));
        assert!(!has_word("as_nobody()", "nobody"));
        assert!(!has_word("untold", "told"));
        assert!(!has_word("understands", "stands"));
    }
}
