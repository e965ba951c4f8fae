//! Action of a tool or a query: looking something up, or changing it.
//!
//! `who may see this folder` and `share this folder` name the same thing, and their verbs tell which tools match. A verb
//! that may be either is in neither list and does not count.

use std::collections::HashMap;
use std::sync::LazyLock;

use limbeck_catalog::words::tokens;

use crate::semantic::content_words;
use crate::synonyms;

/// Kind of operation of a tool, or that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Looks something up.
    Reads,
    /// Changes something.
    Changes,
}

/// Words that questions begin with.
const QUESTIONS: &str = "any are did does has have how is what when where which who whose why";
/// Verbs of tools that look something up, and of queries for them.
const READS: &str = "
    analyze browse check compare count describe diff discover display examine explain explore fetch filter find get
    history identify info inspect know learn list lookup peek preview query read recommend retrieve search see show
    stats status summarize tell validate verify view";
/// Verbs of tools that change something, and of queries for them.
const CHANGES: &str = "
    accept add append apply approve archive assign attach ban block book break buy cancel change charge clear click
    clone close combine commit connect convert copy create deactivate decline delete deploy detach disable disconnect
    dismiss drag draw drop duplicate edit enable erase fill fix fork generate grant hide insert install invite join kill
    launch lock make mark merge modify move mute notify patch pause pay pin post press protect publish push put refund
    reject release remove rename reopen replace reply reschedule reset resize resolve respond restart restore resume
    retry revoke rollback rotate save schedule send set share split start stop submit subscribe swap terminate transfer
    trigger tie_break unassign undo uninstall unlock unpin unsubscribe update upload upsert write";
/// Verbs of queries for a change. In a tool's name they may have other meanings.
const EVERYDAY_CHANGES: &str = "
    ask assemble automate bookmark bring crop cut empty enter fire flip forget freeze give hire hold keep leave paint
    print promote quit raise redo rent reserve sell shorten shrink shut sign stick switch take throw tick tidy trim
    unblock unfreeze vote warn wipe";
/// Words that are verbs of a change before one of [`DETERMINERS`], and nouns otherwise: `order a book`, `order status`.
/// Some of them are verbs in names.
const CHANGES_OR_THINGS: &str = "
    alert block book call charge clean commit copy email flag fork hand label lock log message name note order patch pin
    ping plan post record release request ring schedule set share tag text track type";
/// Words before the object of a verb.
const DETERMINERS: &str = "
    a all an another any every everyone her him his it me my our someone that the them this those two us";
/// Words before the verb of a query that do not tell what it asks for.
const FILLERS: &str = "
    a all also an and can could do for help i just let lets like me my need now please should the then to us want
    we would you";

/// Words of a query that may be keywords without grammar.
const KEYWORDS_MAX: usize = 4;

static VERBS: LazyLock<HashMap<&str, Action>> = LazyLock::new(|| {
    let reads = READS.split_whitespace().map(|verb| (verb, Action::Reads));
    let changes = CHANGES.split_whitespace();
    reads
        .chain(changes.map(|verb| (verb, Action::Changes)))
        .collect()
});

/// Action that a query asks for, by its verb or its question word; `None` when neither names one.
///
/// `how do I share a folder` asks for sharing, `how many folders are there` for a look.
pub(crate) fn of_query(text: &str) -> Option<Action> {
    let chunks: Vec<&str> = tokens(text).collect();
    let words = synonyms::replace_idioms(&chunks);
    let words: Vec<String> = words.into_iter().map(str::to_lowercase).collect();
    let is_filler = |word: &str| FILLERS.split_whitespace().any(|filler| filler == word);
    let words = match words.as_slice() {
        [how, filler, ..] if how == "how" && is_filler(filler) => &words[1..],
        all => all,
    };
    let from = words.iter().position(|word| !is_filler(word))?;
    let first = &words[from];
    let is_in = |list: &str| list.split_whitespace().any(|word| word == first);
    if is_in(QUESTIONS) {
        return Some(Action::Reads);
    }
    let next = words.get(from + 1);
    if is_in(CHANGES_OR_THINGS) {
        let is_verb = |next: &String| DETERMINERS.split_whitespace().any(|word| word == next);
        return next.filter(|next| is_verb(next)).map(|_| Action::Changes);
    }
    if is_in(EVERYDAY_CHANGES) {
        return Some(Action::Changes);
    }
    of_verb(first, next).or_else(|| of_keywords(&words[from..]))
}

/// Action of a few keywords that begin with a thing, by their first verb: `file read write`.
fn of_keywords(words: &[String]) -> Option<Action> {
    if words.len() > KEYWORDS_MAX {
        return None;
    }
    let mut places = words.iter().enumerate();
    places.find_map(|(at, word)| of_verb(word, words.get(at + 1)))
}

/// Action of a tool, by the first verb of its name. The server's `readOnlyHint` is not used: with it in place of the name,
/// fewer labeled intents find their tool.
pub(crate) fn of_tool(name: &str) -> Option<Action> {
    let words: Vec<String> = content_words(name).collect();
    let mut places = words.iter().enumerate();
    places.find_map(|(at, word)| of_verb(word, words.get(at + 1)))
}

/// Action of the verb `word` before `next`. A merge request is a thing.
fn of_verb(word: &str, next: Option<&String>) -> Option<Action> {
    let is_thing = next.is_some_and(|next| matches!(&**next, "request" | "requests"));
    VERBS.get(word).copied().filter(|_| !is_thing)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_first_verb_of_a_query_tells_its_action() {
        for (text, action) in [
            ("share the folder", Some(Action::Changes)),
            ("How do I share a folder", Some(Action::Changes)),
            ("please let me see the folder", Some(Action::Reads)),
            ("how many folders are there", Some(Action::Reads)),
            ("who may see the folder", Some(Action::Reads)),
            ("get rid of the folder", Some(Action::Changes)),
            ("merge requests", None),
            ("order status", None),
            ("share price", None),
            ("order a book", Some(Action::Changes)),
            ("give Alice the book", Some(Action::Changes)),
            ("merge the request", Some(Action::Changes)),
            ("a folder of mine", None),
            ("how", Some(Action::Reads)),
            ("how to", None),
            ("", None),
        ] {
            assert_eq!(of_query(text), action, "{text}");
        }
    }

    #[test]
    fn the_first_verb_among_a_few_keywords_tells_their_action() {
        for (text, action) in [
            ("file read write", Some(Action::Reads)),
            ("issue create", Some(Action::Changes)),
            ("calendar", None),
            ("folders of a project that I create for them", None),
        ] {
            assert_eq!(of_query(text), action, "{text}");
        }
    }

    #[test]
    fn the_first_verb_of_a_name_tells_the_action_of_a_tool() {
        for (name, action) in [
            ("list_issues", Some(Action::Reads)),
            ("issueCreate", Some(Action::Changes)),
            ("get_and_delete", Some(Action::Reads)),
            ("merge_request_notes", None),
            ("merge_merge_request", Some(Action::Changes)),
            ("calculator", None),
        ] {
            assert_eq!(of_tool(name), action, "{name}");
        }
    }

    #[test]
    fn no_word_is_in_two_lists() {
        for lists in [
            [QUESTIONS, READS, CHANGES, EVERYDAY_CHANGES, FILLERS],
            [
                QUESTIONS,
                READS,
                CHANGES_OR_THINGS,
                EVERYDAY_CHANGES,
                FILLERS,
            ],
        ] {
            let words = || lists.iter().flat_map(|list| list.split_whitespace());
            let different: HashSet<&str> = words().collect();
            assert_eq!(different.len(), words().count());
        }
    }
}
