//! Text of a search answer for a model: within a token budget, each tool once, grouped by server.

use std::collections::HashSet;
use std::fmt::Write as _;

use limbeck_domain::Language;
use limbeck_domain::text::clean_line;

use super::{Detail, HitReport, QueryReport, SENTENCE_BYTES_MAX, SearchReport};
use crate::tokens;

/// Tokens of the tools in one answer: forty signatures of ordinary length. A narrower query costs less than more
/// of them.
const ANSWER_TOKENS_MAX: usize = 4_000;

/// Servers named whose tools clients list directly.
const DIRECT_NAMED_MAX: usize = 8;
/// Servers named with a reason why their tools are not searched.
const REASONS_NAMED_MAX: usize = 4;

/// Part of a report that is printed.
struct Page<'r> {
    /// Number of tools by query.
    shown: Vec<usize>,
    /// Calls of tools that are named without a signature: the best of their query, which exceed the budget.
    brief: HashSet<&'r str>,
}

impl SearchReport {
    /// Text of the report for a model.
    ///
    /// A tool that several queries found is printed under the first and named under the others. The best tools
    /// come first, followed by further tools of the same server. Above [`ANSWER_TOKENS_MAX`] tokens the last tools
    /// of each query are left out, never its first, and a cursor leads to them.
    pub fn text(&self) -> String {
        let page = self.page();
        let mut text = String::new();
        self.write_skills(&mut text);
        let mut printed = HashSet::new();
        for (query, &shown) in self.queries.iter().zip(&page.shown) {
            self.write(query, shown, &page, &mut printed, &mut text);
        }
        if let Some(cursor) = self.cursor_behind(&page.shown) {
            let _ = writeln!(text, "More: the same search with cursor \"{cursor}\"");
        }
        self.write_servers(&mut text);
        text
    }

    /// Skills come first: one of them may be the whole task.
    fn write_skills(&self, text: &mut String) {
        if self.skills.is_empty() {
            return;
        }
        text.push_str("Skills that were kept, to call from a program:\n");
        for skill in &self.skills {
            let language = skill.language.as_str();
            let description = clean_line(&skill.description, SENTENCE_BYTES_MAX);
            let separator = if description.is_empty() { "" } else { ": " };
            let _ = writeln!(
                text,
                "- {} ({language}){separator}{description}",
                skill.signature
            );
        }
    }

    fn write_servers(&self, text: &mut String) {
        for notice in &self.notices {
            let _ = writeln!(text, "{notice}");
        }
        if self.servers == 0 && self.notices.is_empty() {
            text.push_str(
                "No MCP servers are configured: the user adds one with `limbeck add` or `limbeck import FILE`.\n",
            );
        }
        if !self.listed_directly.is_empty() {
            let named = self.listed_directly.iter().take(DIRECT_NAMED_MAX);
            let named: Vec<&str> = named.map(String::as_str).collect();
            let more = match self.listed_directly.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named = named.join(", ");
            let _ = writeln!(
                text,
                "Not searched, in the client's own list of tools: {named}{more}"
            );
        }
        if let Some(named) = some_of(&self.unavailable) {
            let _ = writeln!(text, "Not available: {named}");
        }
        if let Some(named) = some_of(&self.incomplete) {
            let _ = writeln!(text, "Not all tools can be searched: {named}");
        }
        if !self.starting.is_empty() {
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "Still starting, search again in a moment: {}",
                self.starting.join(", ")
            );
        }
    }

    /// Selects the tools to print, rank by rank, so that every query keeps its best tools.
    fn page(&self) -> Page<'_> {
        let mut page = Page {
            shown: self.queries.iter().map(|query| query.tools.len()).collect(),
            brief: HashSet::new(),
        };
        let blocks = self.queries.iter().flat_map(|query| &query.tools);
        let bytes: usize = blocks.map(|hit| self.block(hit, self.detail).len()).sum();
        // A text never has more tokens than bytes, so short texts need no count.
        if bytes <= ANSWER_TOKENS_MAX {
            return page;
        }
        let longest = page.shown.iter().copied().max().unwrap_or_default();
        page.shown.fill(0);
        let mut counted = HashSet::new();
        let mut used = 0;
        for rank in 0..longest {
            for (query, shown) in self.queries.iter().zip(&mut page.shown) {
                let Some(hit) = query.tools.get(rank).filter(|_| *shown == rank) else {
                    continue;
                };
                if !counted.contains(&*hit.call) {
                    let mut cost = tokens::count(&self.block(hit, self.detail));
                    if used + cost > ANSWER_TOKENS_MAX {
                        if rank > 0 {
                            continue;
                        }
                        page.brief.insert(&hit.call);
                        cost = tokens::count(&self.block(hit, Detail::Brief));
                    }
                    counted.insert(&*hit.call);
                    used += cost;
                }
                *shown += 1;
            }
        }
        page
    }

    fn write<'r>(
        &'r self,
        query: &'r QueryReport,
        shown: usize,
        page: &Page<'_>,
        printed: &mut HashSet<&'r str>,
        text: &mut String,
    ) {
        let asked = clean_line(&query.query, SENTENCE_BYTES_MAX);
        if self.queries.len() > 1 {
            let _ = writeln!(text, "## {asked}");
        }
        if query.total == 0 {
            let _ = writeln!(text, "Nothing matches `{asked}`.");
            if !query.nearest.is_empty() {
                let _ = writeln!(text, "Nearest: {}", query.nearest.join(", "));
            }
            return;
        }
        let hits = &query.tools[..shown];
        let mut again = Vec::new();
        for hit in by_server(hits) {
            if printed.insert(&hit.call) {
                let is_brief = page.brief.contains(&*hit.call);
                let detail = if is_brief { Detail::Brief } else { self.detail };
                text.push_str(&self.block(hit, detail));
            } else {
                again.push(hit.call.as_str());
            }
        }
        if !again.is_empty() {
            let _ = writeln!(text, "{} shown above: {}", self.comment(), again.join(", "));
        }
        if query.from > 0 || shown < query.total {
            let (first, last) = (query.from + 1, query.from + shown);
            let _ = match query.from {
                0 => writeln!(text, "({last} of {} shown)", query.total),
                _ if shown == 0 => writeln!(text, "(all {} shown before)", query.total),
                _ => writeln!(text, "({first} to {last} of {} shown)", query.total),
            };
        }
    }

    /// Text of one tool.
    fn block(&self, hit: &HitReport, detail: Detail) -> String {
        let comment = self.comment();
        let effect = match &hit.policy {
            Some(note) => format!("{} · {note}", hit.effect.as_str()),
            None => hit.effect.as_str().to_owned(),
        };
        match (detail, &hit.declaration) {
            (Detail::Brief, _) => {
                format!("{} {comment} {effect} · {}\n", hit.call, hit.description)
            }
            (Detail::Full, Some(declaration)) => format!("{comment} {effect}\n{declaration}\n"),
            (Detail::Signature | Detail::Full, _) => {
                format!(
                    "{comment} {effect} · {}\n{}\n",
                    hit.description, hit.signature
                )
            }
        }
    }

    fn comment(&self) -> &'static str {
        match self.language {
            Language::Typescript => "//",
            Language::Python => "#",
        }
    }
}

/// Some servers with their reasons, in one line; `None` without any.
fn some_of(servers: &[String]) -> Option<String> {
    let named = &servers[..servers.len().min(REASONS_NAMED_MAX)];
    match servers.len() - named.len() {
        _ if named.is_empty() => None,
        0 => Some(named.join("; ")),
        more => Some(format!("{}; and {more} more", named.join("; "))),
    }
}

/// Hits grouped by server, servers in the order of their best hit.
fn by_server(hits: &[HitReport]) -> impl Iterator<Item = &HitReport> {
    let mut servers: Vec<&str> = Vec::new();
    for hit in hits {
        if !servers.contains(&&*hit.server) {
            servers.push(&hit.server);
        }
    }
    let of = |server| hits.iter().filter(move |hit| hit.server == server);
    servers.into_iter().flat_map(of)
}
