//! Synonyms, abbreviations and idioms of tool names and queries.
//!
//! The groups are small on purpose: a pair is listed because real tool lists use both words for one thing. A synonym
//! counts less than the word itself, so a wrong one costs rank and never hides a tool.

use std::collections::HashMap;
use std::sync::LazyLock;

use limbeck_catalog::words::stem;

/// Groups of synonyms. A word may be in several groups; groups do not chain.
const GROUPS: &[&[&str]] = &[
    // What is done.
    &[
        "get", "fetch", "read", "retrieve", "show", "view", "load", "describe",
    ],
    &["list", "get", "fetch", "enumerate", "show", "browse", "all"],
    &["search", "find", "query", "lookup", "filter"],
    &["create", "add", "new", "make", "insert", "open"],
    &["delete", "remove", "destroy", "erase", "drop"],
    &["update", "edit", "modify", "change", "set", "patch"],
    &["write", "save", "store", "put"],
    &["send", "post", "publish", "write"],
    &["run", "execute", "invoke", "call"],
    &["move", "rename"],
    &["copy", "duplicate", "clone"],
    &["start", "launch", "trigger"],
    &["stop", "terminate", "kill", "cancel", "abort", "halt"],
    &["retry", "rerun", "restart", "again"],
    &["approve", "accept", "allow"],
    &["deny", "reject", "refuse", "decline"],
    &["silence", "mute", "suppress"],
    &["restore", "undo", "revert", "rollback"],
    &["subscribe", "watch", "follow"],
    &["star", "bookmark", "favorite"],
    &["click", "press", "push", "tap"],
    &["compare", "diff", "difference"],
    &["check", "validate", "verify", "lint"],
    &["fix", "autofix", "repair"],
    &["connect", "link", "associate"],
    &["generate", "produce"],
    &["resize", "scale"],
    &["reply", "respond", "answer"],
    &["upload", "attach"],
    &["convert", "transform", "turn"],
    &["split", "divide", "break"],
    &["navigate", "goto", "visit", "open", "browse"],
    &["scrape", "crawl", "extract"],
    // What it is done to.
    &["issue", "ticket", "bug"],
    &["repository", "repo", "project"],
    &["pull", "merge"],
    &["history", "log"],
    &["directory", "folder", "dir"],
    &["file", "document"],
    &["document", "doc", "documentation"],
    &["message", "msg"],
    &["comment", "note"],
    &["channel", "room"],
    &["email", "mail"],
    &["user", "member", "person", "people", "account"],
    &["customer", "client", "contact"],
    &["image", "picture", "photo"],
    &["screenshot", "capture"],
    &["kubernetes", "k8s", "kube"],
    &["azure", "microsoft"],
    &["aws", "amazon"],
    &["google", "gcp"],
    &["postgres", "postgresql", "pg"],
    &["mongo", "mongodb"],
    &["elastic", "elasticsearch"],
    &["github", "gh"],
    &["javascript", "js"],
    &["typescript", "ts"],
    &["database", "db"],
    &["configuration", "config", "settings", "preference"],
    &["environment", "env"],
    &["organization", "organisation", "org"],
    &["parameter", "param", "argument"],
    &["statistic", "stats", "metric"],
    &["secret", "password", "credential"],
    &["login", "signin", "authenticate"],
    &["authentication", "auth"],
    &["website", "webpage", "page", "site"],
    &["web", "internet", "online"],
    &["url", "link"],
    &["time", "clock", "date"],
    &["task", "todo"],
    &["invoice", "bill"],
    &["speech", "voice", "audio"],
    &["spreadsheet", "workbook", "excel"],
    &["sheet", "worksheet"],
    &["tree", "structure"],
    &["ci", "pipeline", "workflow", "build"],
    &["workflow", "automation"],
    &["job", "task"],
    &["diff", "change"],
    &["blame", "author", "wrote"],
    &["reaction", "emoji", "thumb"],
    &["dependency", "package", "library"],
    &["vulnerability", "vulnerable", "advisory", "dependabot"],
    &["relation", "relationship", "association", "link"],
    &["priority", "urgent", "urgency", "severity"],
    &["team", "squad", "group"],
    &["cycle", "sprint", "iteration"],
    &["incident", "outage"],
    &["oncall", "pager", "paged"],
    &["alarm", "alert"],
    &["alert", "notification"],
    &["chart", "graph", "plot"],
    &["pod", "container"],
    &["node", "machine", "host"],
    &["log", "output"],
    &["crash", "error", "failure"],
    &["latency", "slow", "performance"],
    &["cost", "price", "pricing", "spending", "expense"],
    &["permission", "access", "privilege"],
    &["bucket", "storage", "blob"],
    &["row", "record", "entry"],
    &["column", "field", "attribute", "property"],
    &["dropdown", "option"],
    &["dialog", "popup", "modal"],
    &["employee", "staff", "worker"],
    &["user", "colleague", "coworker"],
    &["leave", "vacation", "holiday", "absence"],
    &["timesheet", "hour"],
    &["receivable", "owed", "unpaid"],
    &["payable", "owe"],
    &["payment", "paid", "pay"],
    &["quote", "estimate", "offer"],
    &["supplier", "vendor"],
    &["credit", "refund"],
    &["news", "headline", "article"],
    &["paper", "literature", "publication"],
    &["music", "song"],
    &["call", "phone", "ring", "dial"],
    &["place", "nearby", "restaurant"],
    &["similar", "related", "alike"],
    &["memory", "knowledge", "remember"],
    &["password", "passphrase"],
    &["design", "mockup", "layout"],
    &["macro", "vba"],
];

/// Abbreviations of several words, which replace them in names and queries.
const PHRASES: &[(&str, &[&str])] = &[
    ("pr", &["pull", "request"]),
    ("mr", &["merge", "request"]),
    ("vm", &["virtual", "machine"]),
    ("tts", &["text", "speech"]),
    ("stt", &["speech", "text"]),
    ("sms", &["text", "message"]),
    ("ls", &["list", "directory"]),
    ("cat", &["read", "file"]),
    ("rm", &["delete", "file"]),
    ("mkdir", &["create", "directory"]),
    ("mv", &["move", "file"]),
    ("grep", &["search", "file"]),
];

/// Idioms of queries, with the words of tools that replace them. The longest match wins.
const IDIOMS: &[(&[&str], &[&str])] = &[
    (&["at", "the", "moment"], &["current"]),
    (&["boot", "up"], &["start"]),
    (&["close", "to"], &["nearby"]),
    (&["come", "up", "with"], &["generate"]),
    (&["get", "rid", "of"], &["delete"]),
    (&["go", "back"], &["rollback"]),
    (&["hand", "over"], &["transfer"]),
    (&["how", "big"], &["size"]),
    (&["how", "large"], &["size"]),
    (&["how", "long"], &["duration"]),
    (&["how", "many"], &["count"]),
    (&["keep", "track", "of"], &["track"]),
    (&["let", "me", "know", "when"], &["monitor", "alert"]),
    (&["log", "out"], &["logout"]),
    (&["logged", "in", "as"], &["current", "user"]),
    (&["look", "for"], &["search"]),
    (&["look", "up"], &["search"]),
    (&["near", "me"], &["nearby", "local"]),
    (&["note", "down"], &["create"]),
    (&["out", "loud"], &["speech"]),
    (&["put", "together"], &["create"]),
    (&["right", "now"], &["current"]),
    (&["roll", "back"], &["rollback"]),
    (&["set", "up"], &["create"]),
    (&["shut", "down"], &["stop"]),
    (&["sign", "out"], &["logout"]),
    (&["sign", "up"], &["register"]),
    (&["step", "by", "step"], &["sequential"]),
    (&["switch", "off"], &["stop"]),
    (&["switch", "on"], &["start"]),
    (&["take", "back"], &["undo"]),
    (&["tell", "me", "when"], &["monitor", "alert"]),
    (&["think", "through"], &["thinking"]),
    (&["throw", "away"], &["delete"]),
    (&["throw", "out"], &["delete"]),
    (&["turn", "off"], &["stop"]),
    (&["turn", "on"], &["start"]),
    (&["who", "am", "i"], &["current", "user"]),
    (&["write", "down"], &["create"]),
];

/// Everyday words of any domain, a group or an idiom on each line; its head describes the format.
const EVERYDAY: &str = include_str!("synonyms/everyday.txt");
/// Everyday words for the purpose of products, a product on each line; its head describes the format.
const PRODUCTS: &str = include_str!("synonyms/products.txt");

struct Tables {
    groups: HashMap<String, Vec<String>>,
    everyday: HashMap<String, Vec<String>>,
    idioms: HashMap<&'static str, Vec<Idiom>>,
    phrases: HashMap<String, Vec<String>>,
}

/// Words of the idiom, and the words of tools that replace it.
type Idiom = (Vec<&'static str>, Vec<&'static str>);

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut buffer = String::new();
    let mut stemmed = |word: &str| stem(word, &mut buffer).to_owned();
    let mut groups = HashMap::new();
    for group in GROUPS {
        join(&mut groups, group.iter().map(|word| stemmed(word)));
    }
    let mut everyday = HashMap::new();
    let mut idioms: HashMap<&str, Vec<Idiom>> = HashMap::new();
    let mut add = |said: Vec<&'static str>, meant| {
        let first = said.first().copied().unwrap_or_default();
        idioms.entry(first).or_default().push((said, meant));
    };
    for (said, meant) in IDIOMS {
        add(said.to_vec(), meant.to_vec());
    }
    for line in EVERYDAY.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once('=') {
            Some((said, meant)) => add(
                said.split_whitespace().collect(),
                meant.split_whitespace().collect(),
            ),
            None => join(&mut everyday, line.split_whitespace().map(&mut stemmed)),
        }
    }
    let products = PRODUCTS.lines().filter(|line| !line.starts_with('#'));
    for (product, words) in products.filter_map(|line| line.split_once(": ")) {
        for word in words.split_whitespace() {
            let others = everyday.entry(stemmed(word)).or_default();
            others.push(stemmed(product));
        }
    }
    let phrases = PHRASES
        .iter()
        .map(|(short, words)| {
            (
                stemmed(short),
                words.iter().map(|word| stemmed(word)).collect(),
            )
        })
        .collect();
    Tables {
        groups,
        everyday,
        idioms,
        phrases,
    }
});

/// Makes the words of a group synonyms of each other.
fn join(groups: &mut HashMap<String, Vec<String>>, group: impl Iterator<Item = String>) {
    let stems = group.collect::<Vec<_>>();
    for word in &stems {
        let others = groups.entry(word.clone()).or_default();
        others.extend(stems.iter().filter(|other| *other != word).cloned());
    }
}

/// Synonyms of `stem`, without itself.
pub(crate) fn of(stem: &str) -> &'static [String] {
    TABLES.groups.get(stem).map_or(&[], Vec::as_slice)
}

/// Everyday synonyms of `stem`, without itself. Looser than [`of`].
pub(crate) fn everyday(stem: &str) -> &'static [String] {
    TABLES.everyday.get(stem).map_or(&[], Vec::as_slice)
}

/// Stems of the words that `stem` abbreviates; empty when it is not an abbreviation.
pub(crate) fn phrase(stem: &str) -> &'static [String] {
    TABLES.phrases.get(stem).map_or(&[], Vec::as_slice)
}

/// Replaces the idioms among the words of a query.
pub(crate) fn replace_idioms<'q>(words: &[&'q str]) -> Vec<&'q str> {
    let mut plain = Vec::with_capacity(words.len());
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first() {
        let begins = |(said, _): &&Idiom| {
            let same = |(word, said): (&&str, &&str)| word.eq_ignore_ascii_case(said);
            rest.len() >= said.len() && rest.iter().zip(said).all(same)
        };
        let begun = TABLES.idioms.get(&*first.to_ascii_lowercase());
        let fitting = begun.into_iter().flatten().filter(begins);
        match fitting.max_by_key(|(said, _)| said.len()) {
            Some((said, meant)) => {
                plain.extend_from_slice(meant);
                rest = &rest[said.len()..];
            }
            None => {
                plain.push(*first);
                rest = behind;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_go_both_ways_and_do_not_chain() {
        let of_delete = of("delet");
        assert!(of_delete.contains(&"remov".into()), "{of_delete:?}");
        assert!(of("remov").contains(&"delet".into()));
        // `document` is a file and a doc; `doc` is no file.
        assert!(of("document").contains(&"fil".into()));
        assert!(!of("doc").contains(&"fil".into()));
        assert_eq!(phrase("pr"), ["pull", "request"]);
        assert!(of("unheard").is_empty());
    }

    #[test]
    fn idioms_stand_for_the_words_of_tools_and_the_rest_stays() {
        let plain = replace_idioms(&["Get", "rid", "of", "a", "branch", "get", "rid"]);
        assert_eq!(plain, ["delete", "a", "branch", "get", "rid"]);
        assert!(replace_idioms(&[]).is_empty());
    }

    #[test]
    fn everyday_words_are_looser_and_their_lines_are_well_formed() {
        assert!(everyday("bill").contains(&"invoic".into()));
        assert!(everyday("unheard").is_empty());
        let is_group = |line: &&str| !line.starts_with('#') && !line.contains('=');
        for line in EVERYDAY.lines().filter(is_group) {
            let mut words = line.split_whitespace().collect::<Vec<_>>();
            assert!(words.len() != 1 && words.len() < 12, "{line}");
            let said = words.len();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), said, "{line}");
        }
        assert_eq!(replace_idioms(&["Tear", "down", "it"]), ["delete", "it"]);
    }

    #[test]
    fn words_stand_for_products_and_products_for_no_words() {
        assert!(everyday("spreadsheet").contains(&"excel".into()));
        assert!(everyday("excel").is_empty());
        for line in PRODUCTS.lines() {
            let is_prose = line.is_empty() || line.starts_with('#');
            assert!(is_prose || line.split_once(": ").is_some(), "{line}");
        }
    }
}
