//! Classes that names of tools suggest. A suggestion counts for nothing before a person has confirmed it.

use limbeck_domain::{EffectClass, ToolId};

const READS: &[&str] = &[
    "count", "describe", "fetch", "find", "get", "inspect", "list", "lookup", "peek", "read",
    "search", "show", "view",
];
const WRITES: &[&str] = &[
    "add", "append", "approve", "archive", "assign", "close", "commit", "copy", "create", "edit",
    "import", "insert", "invite", "make", "merge", "modify", "move", "notify", "patch", "pay",
    "post", "publish", "push", "put", "rename", "reply", "save", "schedule", "send", "set",
    "share", "store", "submit", "transfer", "update", "upload", "upsert", "write",
];
const DESTRUCTIVE: &[&str] = &[
    "cancel",
    "clear",
    "delete",
    "destroy",
    "drop",
    "erase",
    "kill",
    "prune",
    "purge",
    "remove",
    "reset",
    "revoke",
    "terminate",
    "truncate",
    "uninstall",
    "unlink",
    "wipe",
];
/// What such a tool does is in its arguments.
const ANYTHING: &[&str] = &[
    "call", "command", "eval", "evaluate", "exec", "execute", "invoke", "query", "request", "run",
    "script", "shell", "sql",
];

/// The class that the name of `tool` suggests: the verb at its beginning, else at its end. `None` without a verb, where
/// words of it say different things, and for a name that a pattern would not mean alone.
pub(super) fn suggested(tool: &ToolId) -> Option<EffectClass> {
    if !is_plain(tool.server.as_str()) || !is_plain(&tool.tool) {
        return None;
    }
    let of_server = words(tool.server.as_str());
    let mut words = words(&tool.tool);
    // Servers name their tools `github_get_issue` too.
    if words.len() > of_server.len() && words.starts_with(&of_server) {
        words.drain(..of_server.len());
    }
    let has = |verbs: &[&str]| words.iter().any(|word| verbs.contains(&word.as_str()));
    if has(ANYTHING) {
        return None;
    }
    let ends = [words.first(), words.last()].into_iter().flatten();
    let (changes, destroys) = (has(WRITES), has(DESTRUCTIVE));
    let class = ends.map(String::as_str).find_map(class_of)?;
    match class {
        EffectClass::Read => (!changes && !destroys).then_some(EffectClass::Read),
        EffectClass::Write if destroys => Some(EffectClass::Destructive),
        EffectClass::Write | EffectClass::Destructive | EffectClass::Unknown => Some(class),
    }
}

fn class_of(word: &str) -> Option<EffectClass> {
    let of = |verbs: &[&str], class| verbs.contains(&word).then_some(class);
    of(READS, EffectClass::Read)
        .or_else(|| of(WRITES, EffectClass::Write))
        .or_else(|| of(DESTRUCTIVE, EffectClass::Destructive))
}

/// Whether a pattern of this text means this name alone.
fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    !name.is_empty() && name.bytes().all(is_word)
}

/// The words of a name, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for character in name.chars() {
        let begins = !before.is_alphanumeric()
            || (character.is_ascii_uppercase() && before.is_ascii_lowercase());
        if character.is_alphanumeric() {
            match words.last_mut().filter(|_| !begins) {
                Some(word) => word.push(character.to_ascii_lowercase()),
                None => words.push(character.to_ascii_lowercase().to_string()),
            }
        }
        before = character;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_at_either_end_suggests_a_class_and_a_name_that_says_two_things_none() {
        let of = |tool: &str| suggested(&ToolId::new("git-hub", tool));
        for (tool, expected) in [
            ("get_issue", Some(EffectClass::Read)),
            ("listOrders", Some(EffectClass::Read)),
            ("git-hub_search", Some(EffectClass::Read)),
            ("issue_read", Some(EffectClass::Read)),
            ("create_issue", Some(EffectClass::Write)),
            ("update-list", Some(EffectClass::Write)),
            ("delete_file", Some(EffectClass::Destructive)),
            ("set_or_delete", Some(EffectClass::Destructive)),
            // A read that also writes is for a person to say.
            ("get_or_create_user", None),
            ("find_and_delete", None),
            ("run_query", None),
            ("list_sql", None),
            ("frobnicate", None),
            ("", None),
            // Patterns would mean other tools too, and a letter of another script looks like one that is meant.
            ("get_*", None),
            ("g\u{435}t_issue", None),
        ] {
            assert_eq!(of(tool), expected, "{tool}");
        }
    }
}
