//! Recall and rank of search over the captured tools, with each part alone and beside two baselines.

#![allow(clippy::print_stdout, reason = "the tables are what is reported")]

use std::path::Path;
use std::time::{Duration, Instant};

use limbeck_captures::{Capture, Figures, Kind, Labelled, Part, captures, queries};
use limbeck_catalog::{Catalog, Evidence, SearchQuery, ServerTools};

use super::bm25::Bm25;
use super::fuse::Fuse;

/// Options of the evaluation.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave out fuse.js, which needs Node and its package
    #[arg(long)]
    no_fuse: bool,
    /// List the queries without a right answer among the first five; those that weights were found on alone
    #[arg(long)]
    misses: bool,
}

/// Prints figures per kind of query, then times.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let captures = captures();
    let queries = queries();
    let catalog = catalog(&captures);
    println!(
        "{} queries over {} tools of {} servers; recall@1, @5, @10 and mean reciprocal rank",
        queries.len(),
        catalog.tools().count(),
        captures.len()
    );
    let bm25 = Bm25::new(&captures);
    print("plain BM25", &queries, |query| bm25.search(query));
    if !args.no_fuse {
        let fuse = Fuse::ask(root, &captures, &queries)?;
        print("fuse.js", &queries, |query| fuse.search(query));
        println!("fuse.js takes {:.2} ms a query", fuse.milliseconds);
    }
    for (name, evidence) in [
        ("Limbeck, words alone", Evidence::Words),
        ("Limbeck, meaning alone", Evidence::Meaning),
        ("Limbeck", Evidence::Both),
    ] {
        print(name, &queries, |query| search(&catalog, query, evidence));
    }
    time(&captures, &queries);
    if args.misses {
        list_misses(&catalog, &queries);
    }
    Ok(())
}

fn catalog(captures: &[Capture]) -> Catalog {
    let servers = captures.iter().map(|capture| {
        ServerTools::new(
            capture.name(),
            capture.definitions(),
            capture.instructions.clone(),
        )
    });
    Catalog::new(servers.collect())
}

fn search(catalog: &Catalog, text: &str, evidence: Evidence) -> Vec<String> {
    let answer = catalog.search(&SearchQuery {
        evidence,
        limit: 10,
        ..SearchQuery::new(text)
    });
    let hits = answer.hits.iter();
    hits.map(|hit| hit.tool.id().to_string()).collect()
}

fn print(name: &str, queries: &[Labelled], mut search: impl FnMut(&str) -> Vec<String>) {
    println!("\n{name}");
    let mut row = |title: &str, of: &dyn Fn(&&Labelled) -> bool| {
        let figures = Figures::of(queries.iter().filter(of), &mut search);
        let [first, five, ten] = figures.recall;
        println!(
            "  {title:14} {:4}  {first:.3}  {five:.3}  {ten:.3}  {:.3}",
            figures.queries, figures.reciprocal_rank
        );
    };
    for kind in Kind::ALL {
        row(kind.as_str(), &|labelled| labelled.kind == kind);
    }
    row("all", &|_| true);
    row("all, tuned on", &|labelled| labelled.part == Part::Tune);
    row("all, held out", &|labelled| labelled.part == Part::Held);
    for kind in Kind::ALL {
        row(&format!("{}, held", kind.as_str()), &|labelled| {
            labelled.kind == kind && labelled.part == Part::Held
        });
    }
}

fn time(captures: &[Capture], queries: &[Labelled]) {
    let catalog = catalog(captures);
    let started = Instant::now();
    search(&catalog, "warm", Evidence::Both);
    let built = started.elapsed();
    let mut times: Vec<Duration> = queries
        .iter()
        .map(|labelled| {
            let started = Instant::now();
            search(&catalog, &labelled.query, Evidence::Both);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("\nfirst search, which builds the index: {built:.1?}; median query: {median:.1?}");
}

fn list_misses(catalog: &Catalog, queries: &[Labelled]) {
    println!();
    for labelled in queries
        .iter()
        .filter(|labelled| labelled.part == Part::Tune)
    {
        let found = search(catalog, &labelled.query, Evidence::Both);
        let is_right = |tool: &String| labelled.tools.contains(tool);
        if !found.iter().take(5).any(is_right) {
            println!("{}: {}", labelled.kind.as_str(), labelled.query);
            println!("   wanted {:?}\n   found  {found:?}", labelled.tools);
        }
    }
}
