//! Ranking as plainly as it can be written, to hold the quick one (`query.rs`) against.
//!
//! Every tool is scored, every list is sorted whole and by the names themselves, and ranks are looked up. What both
//! share is what a query is read as ([`slots`]) and what the index holds; those have tests of their own.

use std::collections::HashMap;
use std::sync::Arc;

use limbeck_domain::{ServerName, limits, text};

use super::actions::{self, Action};
use super::fusion::{
    ACTION_WEIGHT, LIKENESS_MAX, MEANING_MIN, MEANING_TOOLS_MAX, MEANING_WEIGHT_LEAST,
    MEANING_WEIGHT_MOST, Spread, TOPIC_WEIGHT, agreement,
};
use super::index::{Index, WordId};
use super::meaning::Meaning;
use super::slots::{self, By, Slot};
use super::wording::{COVERAGE_BASE, NAME_SAID_GAIN, SERVER_NAMED_GAIN, UNKNOWN_WORTH, idf};
use super::{Evidence, SearchQuery};
use crate::catalog::Catalog;
use crate::names;
use crate::nearest::{NEAREST_MAX, nearest_tools};
use crate::tool::Tool;

type Ranked<'c> = (f64, usize, &'c Arc<Tool>);

/// All hits, whatever the limit, and the nearest calls when there are none.
fn answer<'c>(
    index: &Index,
    catalog: &'c Catalog,
    query: &SearchQuery<'_>,
) -> (Vec<Ranked<'c>>, Vec<String>) {
    let server = query.server.map(|name| catalog.resolve_server(name));
    let server = server.map(|server| server.expect("tests ask for servers there are"));
    let query_text = text::cut(query.text, limits::QUERY_BYTES_MAX);
    let meaning = (query.evidence != Evidence::Words).then(|| index.meaning(catalog));
    let slots = slots::read(index, meaning, query_text);
    let in_scope: Vec<(usize, &Arc<Tool>)> = catalog
        .tools()
        .enumerate()
        .filter(|(_, tool)| server.as_ref().is_none_or(|one| *one == tool.id().server))
        .collect();
    if slots.is_empty() {
        let all = in_scope.into_iter();
        let all = all.map(|(document, tool)| (0.0, document, tool));
        return (all.collect(), Vec::new());
    }
    let documents = index.documents().len();
    let likeness = match (meaning, query.likeness) {
        (None, _) => Vec::new(),
        (Some(_), Some(given)) => given.to_vec(),
        (Some(meaning), None) => likeness(meaning, documents, &slots),
    };
    let near = || {
        let mut near = by_meaning(&in_scope, &likeness, MEANING_MIN);
        near.truncate(MEANING_TOOLS_MAX);
        near
    };
    let hits = match query.evidence {
        Evidence::Words => by_words(index, &in_scope, &slots).0,
        Evidence::Meaning => near(),
        Evidence::Both => {
            let (words, covered) = by_words(index, &in_scope, &slots);
            let asked = actions::of_query(query_text);
            fused(&in_scope, words, covered, near(), &likeness, asked)
        }
    };
    let nearest = if hits.is_empty() {
        nearest_calls(&in_scope, query_text, &likeness)
    } else {
        Vec::new()
    };
    (hits, nearest)
}

/// How near each tool is; empty when no word of the query has a meaning that is known.
fn likeness(meaning: &Meaning, documents: usize, slots: &[Slot]) -> Vec<f32> {
    match Meaning::of(slots.iter().map(|slot| &*slot.spoken)) {
        Some(to) => meaning.tools().cosines(&to, 0..documents),
        None => Vec::new(),
    }
}

/// The tools that hold words of the query, and the largest share of it that one holds.
fn by_words<'c>(
    index: &Index,
    in_scope: &[(usize, &'c Arc<Tool>)],
    slots: &[Slot],
) -> (Vec<Ranked<'c>>, f64) {
    let (scores, shares) = scores(index, slots);
    let said = said(slots);
    let named = servers_said(index, slots);
    let mut hits = Vec::new();
    let mut covered = 0.0_f64;
    for &(document, tool) in in_scope {
        let mut score = scores[document];
        if score <= 0.0 {
            continue;
        }
        covered = covered.max(shares[document]);
        let name = index.documents().name_words(document);
        let sum: f64 = name.iter().filter_map(|word| said.get(word)).sum();
        score *= 1.0 + NAME_SAID_GAIN * (sum / name.len().max(1) as f64);
        score *= 1.0 + SERVER_NAMED_GAIN * named[&tool.id().server];
        hits.push((score, document, tool));
    }
    sort(&mut hits);
    (hits, covered)
}

/// Scores, and of each tool the share of the query that it holds.
fn scores(index: &Index, slots: &[Slot]) -> (Vec<f64>, Vec<f64>) {
    let documents = index.documents().len();
    let mut scores = vec![0.0; documents];
    let mut covered = vec![0.0; documents];
    let mut asked = 0.0;
    for slot in slots {
        let mut is_held = vec![false; documents];
        let as_written = |reading: &&slots::Reading| reading.by != By::Meaning;
        for reading in slot.readings.iter().filter(as_written) {
            for document in index.postings(reading.word).documents() {
                is_held[*document as usize] = true;
            }
        }
        let worth = match is_held.iter().filter(|held| **held).count() {
            0 => UNKNOWN_WORTH,
            holding => idf(documents, holding),
        };
        let mut best = vec![(0.0_f64, 0.0_f64); documents];
        for reading in &slot.readings {
            let own = idf(documents, index.postings(reading.word).documents().len());
            let (idf, held) = match reading.by {
                By::Same => (own, 1.0),
                By::Letters | By::Synonym => (worth, 1.0),
                By::Meaning => (own.min(worth), reading.weight),
            };
            for (document, saturated) in index.postings(reading.word).iter() {
                let best = &mut best[*document as usize];
                best.0 = best.0.max(reading.weight * idf * saturated);
                best.1 = best.1.max(held);
            }
        }
        let counts = if slot.optional { 0.0 } else { worth };
        asked += counts;
        for (document, (score, held)) in best.into_iter().enumerate() {
            scores[document] += score;
            covered[document] += counts * held;
        }
    }
    for (score, covered) in scores.iter_mut().zip(&mut covered) {
        *covered = if asked > 0.0 { *covered / asked } else { 1.0 };
        *score *= COVERAGE_BASE + (1.0 - COVERAGE_BASE) * *covered;
    }
    (scores, covered)
}

/// Words of the index that the query says, each with the weight of its best reading.
fn said(slots: &[Slot]) -> HashMap<WordId, f64> {
    let mut said = HashMap::new();
    for reading in slots.iter().flat_map(|slot| &slot.readings) {
        let best = said.entry(reading.word).or_insert(0.0_f64);
        *best = best.max(reading.weight);
    }
    said
}

/// How much of each server's name the query says.
fn servers_said<'i>(index: &'i Index, slots: &[Slot]) -> HashMap<&'i ServerName, f64> {
    let is_said = |word: &&WordId| {
        let mut readings = slots.iter().flat_map(|slot| &slot.readings);
        readings
            .any(|reading| reading.word == **word && matches!(reading.by, By::Same | By::Letters))
    };
    let share = |words: &[WordId]| {
        let held = words.iter().filter(is_said).count();
        held as f64 / words.len().max(1) as f64
    };
    let servers = index.documents().servers().iter();
    servers
        .map(|server| (&server.name, share(&server.words)))
        .collect()
}

fn by_meaning<'c>(
    in_scope: &[(usize, &'c Arc<Tool>)],
    likeness: &[f32],
    min: f32,
) -> Vec<Ranked<'c>> {
    if likeness.is_empty() {
        return Vec::new();
    }
    let like = in_scope
        .iter()
        .filter(|(document, _)| likeness[*document] >= min);
    let mut hits: Vec<Ranked<'c>> = like
        .map(|(document, tool)| (f64::from(likeness[*document]), *document, *tool))
        .collect();
    sort(&mut hits);
    hits
}

fn fused<'c>(
    in_scope: &[(usize, &'c Arc<Tool>)],
    by_words: Vec<Ranked<'c>>,
    covered: f64,
    by_meaning: Vec<Ranked<'c>>,
    likeness: &[f32],
    asked: Option<Action>,
) -> Vec<Ranked<'c>> {
    let most = MEANING_WEIGHT_MOST;
    let weight = most - (most - MEANING_WEIGHT_LEAST) * covered * covered;
    let scores: HashMap<usize, f64> = by_words.iter().map(|hit| (hit.1, hit.0)).collect();
    let documents = || in_scope.iter().map(|(document, _)| *document);
    // Both are added up in the order of the catalogue.
    let scored = documents().filter_map(|document| scores.get(&document).copied());
    let liked = documents().filter_map(|document| likeness.get(document).copied());
    let worded = Spread::of(scored, in_scope.len());
    let liked = Spread::of(liked.map(f64::from), in_scope.len());
    let mut like: HashMap<&ServerName, Vec<f64>> = HashMap::new();
    for (document, tool) in in_scope {
        let likeness = likeness.get(*document).copied().map_or(0.0, f64::from);
        like.entry(&tool.id().server).or_default().push(likeness);
    }
    let mean = |like: Vec<f64>| like.iter().sum::<f64>() / like.len() as f64;
    let topics: HashMap<_, f64> = like
        .into_iter()
        .map(|(of, like)| (of, mean(like)))
        .collect();
    let unit = (1.0 + weight * weight).sqrt();
    let mut hits: HashMap<usize, Ranked<'c>> = HashMap::new();
    for (_, document, tool) in by_words.into_iter().chain(by_meaning) {
        let likeness = likeness.get(document).copied().map_or(0.0, f64::from);
        let likeness = liked.deviations(likeness).min(LIKENESS_MAX);
        let topic = liked.deviations(topics[&tool.id().server]);
        let agreement = agreement(asked, actions::of_tool(&tool.id().tool));
        let gain = weight * likeness + unit * (TOPIC_WEIGHT * topic + ACTION_WEIGHT * agreement);
        let words = scores.get(&document).copied().unwrap_or_default();
        let score = worded.deviations(words) + gain;
        hits.insert(document, (score, document, tool));
    }
    let mut hits = hits.into_values().collect::<Vec<_>>();
    sort(&mut hits);
    hits
}

fn sort(hits: &mut [Ranked<'_>]) {
    hits.sort_unstable_by(|(a, _, one), (b, _, other)| {
        b.total_cmp(a).then_with(|| one.id().cmp(other.id()))
    });
}

fn nearest_calls(in_scope: &[(usize, &Arc<Tool>)], query: &str, likeness: &[f32]) -> Vec<String> {
    let tools = || in_scope.iter().map(|(_, tool)| *tool);
    let mut nearest = nearest_tools(tools(), query);
    let like = by_meaning(in_scope, likeness, f32::MIN);
    for others in [
        like.iter().map(|(_, _, tool)| *tool).collect::<Vec<_>>(),
        tools().collect(),
    ] {
        if nearest.is_empty() {
            let others = others.iter().take(NEAREST_MAX);
            nearest = others.map(|tool| tool.id().clone()).collect();
        }
    }
    let calls = nearest
        .iter()
        .map(|id| names::call_expression(id.server.as_str(), &id.tool));
    calls.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use limbeck_captures::{captures, queries};
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::server::ServerTools;

    const LIMITS: [usize; 8] = [0, 1, 3, 10, 25, 100, 700, usize::MAX];
    const EVIDENCE: [Evidence; 3] = [Evidence::Both, Evidence::Words, Evidence::Meaning];
    const ODD_QUERIES: [&str; 12] = [
        "",
        "a",
        "the",
        "zqxv wkjq",
        "日本語",
        "slk pst msg",
        "github",
        "github0 github1 issue",
        "create_issue",
        "creat",
        "create issue create issue",
        "a b c d e f g",
    ];

    /// The captured lists as they are, and twice under other names, so that many tools score alike.
    static CATALOGS: LazyLock<[(Catalog, Index); 2]> = LazyLock::new(|| {
        [[""].as_slice(), &["0", "1"]].map(|copies| {
            let servers = captures().into_iter().flat_map(|capture| {
                copies.iter().map(move |copy| {
                    let name = ServerName::from(format!("{}{copy}", capture.server).as_str());
                    let mut definitions = capture.definitions();
                    for definition in &mut definitions {
                        definition.id.server = name.clone();
                    }
                    ServerTools::new(name, definitions, None)
                })
            });
            let catalog = Catalog::new(servers.collect());
            let index = Index::new(&catalog);
            (catalog, index)
        })
    });

    fn assert_as_plain((catalog, index): &(Catalog, Index), query: &SearchQuery<'_>) {
        let (plain, nearest) = answer(index, catalog, query);
        for limit in LIMITS {
            let query = SearchQuery { limit, ..*query };
            let quick = index.search(catalog, &query);
            let hits = quick.hits.iter();
            let hits: Vec<_> = hits
                .map(|hit| (hit.score.to_bits(), hit.tool.id()))
                .collect();
            let plain_hits = plain.iter().take(limit);
            let plain_hits: Vec<_> = plain_hits
                .map(|(score, _, tool)| (score.to_bits(), tool.id()))
                .collect();
            assert_eq!(hits, plain_hits, "{query:?}");
            let (total, near) = (quick.total, &quick.nearest);
            assert_eq!((total, near), (plain.len(), &nearest), "{query:?}");
        }
    }

    fn servers(catalog: &Catalog) -> Vec<&str> {
        catalog.servers().map(|one| one.name().as_str()).collect()
    }

    #[test]
    fn labelled_and_odd_queries_are_answered_as_plainly() {
        let queries = queries();
        let texts = queries.iter().map(|labelled| &*labelled.query);
        for (at, text) in texts.chain(ODD_QUERIES).enumerate() {
            let catalog = &CATALOGS[at % 2];
            let servers = servers(&catalog.0);
            for evidence in EVIDENCE {
                for server in [None, Some(servers[at % servers.len()])] {
                    let query = SearchQuery {
                        evidence,
                        server,
                        ..SearchQuery::new(text)
                    };
                    assert_as_plain(catalog, &query);
                }
            }
        }
    }

    /// Words of the labelled queries, names of servers and tools, and what is none of these.
    fn text() -> impl Strategy<Value = String> {
        let queries = queries();
        let words = queries.iter().flat_map(|one| one.query.split_whitespace());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let names = CATALOGS[1].0.tools();
        let names: Vec<String> = names.map(|tool| tool.id().to_string()).collect();
        let word = prop_oneof![6 => select(words), 2 => select(names), 1 => "[a-z_ ]{1,9}"];
        proptest::collection::vec(word, 1..12).prop_map(|words| words.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(192))]

        #[test]
        fn any_words_are_answered_as_plainly(
            text in text(),
            copies in 0_usize..2,
            evidence in select(EVIDENCE.as_slice()),
            server in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
            // Few different numbers, so that there are ties, and some so small that none is found.
            given in proptest::option::weighted(0.3, (0..50_u8, 1..40_usize)),
        ) {
            let catalog = &CATALOGS[copies];
            let servers = servers(&catalog.0);
            let given = given.map(|(most, step)| -> Vec<f32> {
                let places = 0..catalog.1.documents().len();
                places.map(|at| f32::from(most) / 50.0 - (at * step % 97) as f32 / 97.0).collect()
            });
            assert_as_plain(catalog, &SearchQuery {
                evidence,
                server: server.map(|at| servers[at.index(servers.len())]),
                likeness: given.as_deref(),
                ..SearchQuery::new(&text)
            });
        }
    }
}
