//! An answer as the model reads it: within a budget of tokens, no tool twice, the tools of one server together.

use std::collections::HashSet;
use std::fmt::Write as _;

use limbeck_domain::Language;
use limbeck_domain::text::clean_line;

use super::{Detail, HitReport, QueryReport, SENTENCE_BYTES_MAX, SearchReport};
use crate::tokens;

/// Tokens of the tools in one answer. Forty signatures of ordinary length; more is read more cheaply by a
/// narrower query.
const ANSWER_TOKENS_MAX: usize = 4_000;

/// What of a report is printed.
struct Page<'r> {
    /// Tools of each query.
    shown: Vec<usize>,
    /// Calls of tools that are only named: the best of their query, for which no room was left.
    brief: HashSet<&'r str>,
}

impl SearchReport {
    /// The report as the model reads it.
    ///
    /// A tool that several queries found is printed under the first and named under the others. Tools stand
    /// best first, but for those of one server, which follow each other. Over [`ANSWER_TOKENS_MAX`] tokens each
    /// query gives up its last tools, never its first, and a cursor leads on to them.
    pub fn text(&self) -> String {
        let page = self.page();
        let mut text = String::new();
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

    fn write_servers(&self, text: &mut String) {
        if self.servers == 0 {
            text.push_str("No MCP servers are configured. Add one to .mcp.json or limbeck.toml.\n");
        }
        for server in &self.unavailable {
            let _ = writeln!(text, "Not available: {server}");
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

    /// What is printed: rank by rank, so that every query has its best tools.
    fn page(&self) -> Page<'_> {
        let mut page = Page {
            shown: self.queries.iter().map(|query| query.tools.len()).collect(),
            brief: HashSet::new(),
        };
        let blocks = self.queries.iter().flat_map(|query| &query.tools);
        let bytes: usize = blocks.map(|hit| self.block(hit, self.detail).len()).sum();
        // No text has more tokens than bytes.
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

    /// What is printed of one tool.
    fn block(&self, hit: &HitReport, detail: Detail) -> String {
        let comment = self.comment();
        let effect = hit.effect.as_str();
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

/// The hits with those of one server together, servers in the order of their best.
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
