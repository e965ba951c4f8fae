//! Recall and rank of search over the captured tools: each kind of evidence alone, both, and two baselines.
//!
//! `cargo xtask eval search` runs it.

#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark reads files and measures time, which the crate itself may not"
)]
#![allow(clippy::print_stdout, reason = "the tables are what is reported")]

mod bm25;
mod fuse_js;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use limbeck_captures::{Capture, LabeledQuery, QueryKind, SearchFigures, Split, captures, queries};
use limbeck_catalog::{Catalog, ServerTools};
use limbeck_search::{Evidence, SearchQuery, SearchableCatalog};

use bm25::Bm25;
use fuse_js::FuseJs;

#[derive(Parser)]
struct Args {
    /// Script that answers the queries with fuse.js; left out of the figures when absent
    #[arg(long)]
    fuse_script: Option<PathBuf>,
    /// List the tuning queries without a right answer among the first five
    #[arg(long)]
    misses: bool,
    /// `cargo bench` passes this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

/// Prints figures for each kind of query, then times.
fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let captures = captures();
    let queries = queries();
    let catalog = catalog(&captures);
    println!(
        "{} queries over {} tools of {} servers; recall@1, @5, @10 and mean reciprocal rank",
        queries.len(),
        catalog.catalog().tools().count(),
        captures.len()
    );
    let bm25 = Bm25::new(&captures);
    print("plain BM25", &queries, |query| bm25.search(query));
    if let Some(script) = &args.fuse_script {
        let fuse = FuseJs::ask(script, &captures, &queries)?;
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

fn catalog(captures: &[Capture]) -> SearchableCatalog {
    let servers = captures.iter().map(|capture| {
        ServerTools::new(
            capture.name(),
            capture.definitions(),
            capture.instructions.clone(),
        )
    });
    SearchableCatalog::new(Arc::new(Catalog::new(servers.collect())))
}

fn search(catalog: &SearchableCatalog, text: &str, evidence: Evidence) -> Vec<String> {
    let answer = catalog.search(&SearchQuery {
        evidence,
        limit: 10,
        ..SearchQuery::new(text)
    });
    let shown = answer.hits.iter().take(answer.relevant);
    shown.map(|hit| hit.tool.id().to_string()).collect()
}

fn print(name: &str, queries: &[LabeledQuery], mut search: impl FnMut(&str) -> Vec<String>) {
    println!("\n{name}");
    let mut row = |title: &str, of: &dyn Fn(&&LabeledQuery) -> bool| {
        let figures = SearchFigures::of(queries.iter().filter(of), &mut search);
        let [first, five, ten] = figures.recall;
        println!(
            "  {title:14} {:4}  {first:.3}  {five:.3}  {ten:.3}  {:.3}",
            figures.queries, figures.reciprocal_rank
        );
    };
    for kind in QueryKind::ALL {
        row(kind.as_str(), &|labeled| labeled.kind == kind);
    }
    row("all", &|_| true);
    row("all, tuned on", &|labeled| labeled.part == Split::Tune);
    row("all, held out", &|labeled| labeled.part == Split::Held);
    for kind in QueryKind::ALL {
        row(&format!("{}, held", kind.as_str()), &|labeled| {
            labeled.kind == kind && labeled.part == Split::Held
        });
    }
}

fn time(captures: &[Capture], queries: &[LabeledQuery]) {
    let catalog = catalog(captures);
    let started = Instant::now();
    search(&catalog, "warm", Evidence::Both);
    let built = started.elapsed();
    let mut times: Vec<Duration> = queries
        .iter()
        .map(|labeled| {
            let started = Instant::now();
            search(&catalog, &labeled.query, Evidence::Both);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("\nfirst search, which builds the index: {built:.1?}; median query: {median:.1?}");
}

fn list_misses(catalog: &SearchableCatalog, queries: &[LabeledQuery]) {
    println!();
    for labeled in queries.iter().filter(|labeled| labeled.part == Split::Tune) {
        let found = search(catalog, &labeled.query, Evidence::Both);
        let is_right = |tool: &String| labeled.tools.contains(tool);
        if !found.iter().take(5).any(is_right) {
            println!("{}: {}", labeled.kind.as_str(), labeled.query);
            println!("   wanted {:?}\n   found  {found:?}", labeled.tools);
        }
    }
}
