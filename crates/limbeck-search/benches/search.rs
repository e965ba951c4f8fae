//! Duration of a search over 3,000 and over 100,000 tools: the captured lists, again and again under other names.

#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads files and measures time, which the crate itself may not"
)]
#![allow(clippy::print_stdout, reason = "the table is what is reported")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use limbeck_captures::{captures, queries};
use limbeck_catalog::{Catalog, ServerTools};
use limbeck_domain::ServerName;
use limbeck_search::{Evidence, SearchQuery, SearchableCatalog};

/// Tools, promised median of a query, and rounds over all queries.
const SIZES: [(usize, Duration, usize); 2] = [
    (3_000, Duration::from_millis(1), 5),
    (100_000, Duration::from_millis(10), 1),
];

fn main() {
    for (tools, promised, rounds) in SIZES {
        let catalog = SearchableCatalog::new(catalog(tools).into());
        println!("{} tools", catalog.catalog().tools().count());
        for (name, evidence) in [
            ("words alone", Evidence::Words),
            ("words and meaning", Evidence::Both),
        ] {
            let built = timed(|| search(&catalog, "warm", evidence));
            let mut times = Vec::new();
            for labeled in queries().iter().cycle().take(rounds * queries().len()) {
                times.push(timed(|| search(&catalog, &labeled.query, evidence)));
            }
            times.sort_unstable();
            let (median, p90) = (times[times.len() / 2], times[times.len() * 9 / 10]);
            println!(
                "  {name:18} index {built:>9.1?}   query: median {median:>9.1?}  p90 {p90:>9.1?}   {:.2} times the promised {promised:?}",
                median.as_secs_f64() / promised.as_secs_f64()
            );
        }
    }
}

fn timed(mut work: impl FnMut() -> usize) -> Duration {
    let started = Instant::now();
    black_box(work());
    started.elapsed()
}

fn search(catalog: &SearchableCatalog, text: &str, evidence: Evidence) -> usize {
    let query = SearchQuery {
        evidence,
        limit: 10,
        ..SearchQuery::new(text)
    };
    catalog.search(&query).hits.len()
}

fn catalog(tools: usize) -> Catalog {
    let captures = captures();
    let mut servers = Vec::new();
    let mut left = tools;
    for copy in 0.. {
        for capture in &captures {
            if left == 0 {
                return Catalog::new(servers);
            }
            let name = ServerName::from(format!("{}{copy}", capture.server).as_str());
            let mut definitions = capture.definitions();
            definitions.truncate(left);
            for definition in &mut definitions {
                definition.id.server = name.clone();
            }
            left -= definitions.len();
            servers.push(ServerTools::new(name, definitions, None));
        }
    }
    Catalog::new(servers)
}
