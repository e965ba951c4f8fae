//! Reference ranking that tests compare the fast one (`answer.rs`) with.
//!
//! Every tool is scored, and every list is sorted as a whole and by the names themselves. Both rankings share the parsed
//! query ([`query_terms`]) and the index, which have tests of their own.

use std::collections::HashMap;
use std::sync::Arc;

use limbeck_catalog::nearest::{NEAREST_MAX, nearest_tools};
use limbeck_catalog::{Catalog, Tool, names};
use limbeck_domain::{ServerName, limits, text};

use crate::actions::{self, Action};
use crate::bm25::{COVERAGE_BASE, NAME_MATCH_GAIN, SERVER_NAMED_GAIN, UNKNOWN_WORD_IDF, idf};
use crate::fusion::{
    ACTION_WEIGHT, MEANING_WEIGHT_LEAST, MEANING_WEIGHT_MOST, SIMILAR_TOOLS_MAX,
    SIMILARITY_DEVIATIONS_MAX, SIMILARITY_MIN, TOPIC_WEIGHT, ZScore, agreement,
};
use crate::index::SearchIndex;
use crate::query_terms::{self, MatchKind, QueryTerm};
use crate::semantic::SemanticIndex;
use crate::vocabulary::WordId;
use crate::{Evidence, SearchQuery};

type Ranked<'c> = (f64, usize, &'c Arc<Tool>);

/// All hits, without the limit, and the nearest calls when there are no hits.
fn answer<'c>(
    index: &SearchIndex,
    catalog: &'c Catalog,
    query: &SearchQuery<'_>,
) -> (Vec<Ranked<'c>>, Vec<String>) {
    let server = query.server.map(|name| catalog.resolve_server(name));
    let server = server.map(|server| server.expect("tests ask for servers there are"));
    let query_text = text::cut(query.text, limits::QUERY_BYTES_MAX);
    let meaning = (query.evidence != Evidence::Words).then(|| index.semantic(catalog));
    let terms = query_terms::parse(index, meaning, query_text);
    let in_scope: Vec<(usize, &Arc<Tool>)> = catalog
        .tools()
        .enumerate()
        .filter(|(_, tool)| server.as_ref().is_none_or(|one| *one == tool.id().server))
        .collect();
    if terms.is_empty() {
        let all = in_scope.into_iter();
        let all = all.map(|(document, tool)| (0.0, document, tool));
        return (all.collect(), Vec::new());
    }
    let documents = index.documents().len();
    let similarity = match (meaning, query.similarity) {
        (None, _) => Vec::new(),
        (Some(_), Some(given)) => given.to_vec(),
        (Some(meaning), None) => similarity(meaning, documents, &terms),
    };
    let near = || {
        let mut near = by_meaning(&in_scope, &similarity, SIMILARITY_MIN);
        near.truncate(SIMILAR_TOOLS_MAX);
        near
    };
    let hits = match query.evidence {
        Evidence::Words => by_words(index, &in_scope, &terms).0,
        Evidence::Meaning => near(),
        Evidence::Both => {
            let (words, covered) = by_words(index, &in_scope, &terms);
            let asked = actions::of_query(query_text);
            fuse(&in_scope, words, covered, near(), &similarity, asked)
        }
    };
    let nearest = if hits.is_empty() {
        nearest_calls(&in_scope, query_text, &similarity)
    } else {
        Vec::new()
    };
    (hits, nearest)
}

/// Similarity of each tool; empty when the query has no embedding.
fn similarity(meaning: &SemanticIndex, documents: usize, terms: &[QueryTerm]) -> Vec<f32> {
    match SemanticIndex::embed_query(terms.iter().map(|term| &*term.spelling)) {
        Some(to) => meaning.tools().cosines(&to, 0..documents),
        None => Vec::new(),
    }
}

/// Tools that contain words of the query, and the largest share of it that one contains.
fn by_words<'c>(
    index: &SearchIndex,
    in_scope: &[(usize, &'c Arc<Tool>)],
    terms: &[QueryTerm],
) -> (Vec<Ranked<'c>>, f64) {
    let (scores, shares) = scores(index, terms);
    let said = said(terms);
    let named = servers_said(index, terms);
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
        score *= 1.0 + NAME_MATCH_GAIN * (sum / name.len().max(1) as f64);
        score *= 1.0 + SERVER_NAMED_GAIN * named[&tool.id().server];
        hits.push((score, document, tool));
    }
    sort(&mut hits);
    (hits, covered)
}

/// Score of each tool, and the share of the query that it contains.
fn scores(index: &SearchIndex, terms: &[QueryTerm]) -> (Vec<f64>, Vec<f64>) {
    let documents = index.documents().len();
    let mut scores = vec![0.0; documents];
    let mut covered = vec![0.0; documents];
    let mut asked = 0.0;
    for term in terms {
        let mut is_held = vec![false; documents];
        let as_written =
            |expansion: &&query_terms::Expansion| expansion.kind != MatchKind::Semantic;
        for expansion in term.expansions.iter().filter(as_written) {
            for document in index.postings(expansion.word).documents() {
                is_held[*document as usize] = true;
            }
        }
        let worth = match is_held.iter().filter(|held| **held).count() {
            0 => UNKNOWN_WORD_IDF,
            holding => idf(documents, holding),
        };
        let mut best = vec![(0.0_f64, 0.0_f64); documents];
        for expansion in &term.expansions {
            let own = idf(documents, index.postings(expansion.word).documents().len());
            let (idf, held) = match expansion.kind {
                MatchKind::Exact => (own, 1.0),
                MatchKind::Spelling | MatchKind::Synonym => (worth, 1.0),
                MatchKind::Semantic => (own.min(worth), expansion.weight),
            };
            for (document, saturated) in index.postings(expansion.word).iter() {
                let best = &mut best[*document as usize];
                best.0 = best.0.max(expansion.weight * idf * saturated);
                best.1 = best.1.max(held);
            }
        }
        let counts = if term.optional { 0.0 } else { worth };
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

/// Words of the index that match the query, each with the weight of its best match.
fn said(terms: &[QueryTerm]) -> HashMap<WordId, f64> {
    let mut said = HashMap::new();
    for expansion in terms.iter().flat_map(|term| &term.expansions) {
        let best = said.entry(expansion.word).or_insert(0.0_f64);
        *best = best.max(expansion.weight);
    }
    said
}

/// Share of each server's name that is in the query.
fn servers_said<'i>(index: &'i SearchIndex, terms: &[QueryTerm]) -> HashMap<&'i ServerName, f64> {
    let is_said = |word: &&WordId| {
        let mut expansions = terms.iter().flat_map(|term| &term.expansions);
        expansions.any(|expansion| {
            expansion.word == **word
                && matches!(expansion.kind, MatchKind::Exact | MatchKind::Spelling)
        })
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
    similarity: &[f32],
    min: f32,
) -> Vec<Ranked<'c>> {
    if similarity.is_empty() {
        return Vec::new();
    }
    let like = in_scope
        .iter()
        .filter(|(document, _)| similarity[*document] >= min);
    let mut hits: Vec<Ranked<'c>> = like
        .map(|(document, tool)| (f64::from(similarity[*document]), *document, *tool))
        .collect();
    sort(&mut hits);
    hits
}

fn fuse<'c>(
    in_scope: &[(usize, &'c Arc<Tool>)],
    by_words: Vec<Ranked<'c>>,
    covered: f64,
    by_meaning: Vec<Ranked<'c>>,
    similarity: &[f32],
    asked: Option<Action>,
) -> Vec<Ranked<'c>> {
    let most = MEANING_WEIGHT_MOST;
    let weight = most - (most - MEANING_WEIGHT_LEAST) * covered * covered;
    let scores: HashMap<usize, f64> = by_words.iter().map(|hit| (hit.1, hit.0)).collect();
    let documents = || in_scope.iter().map(|(document, _)| *document);
    // Both are added up in the order of the catalog.
    let scored = documents().filter_map(|document| scores.get(&document).copied());
    let liked = documents().filter_map(|document| similarity.get(document).copied());
    let worded = ZScore::of(scored, in_scope.len());
    let liked = ZScore::of(liked.map(f64::from), in_scope.len());
    let mut like: HashMap<&ServerName, Vec<f64>> = HashMap::new();
    for (document, tool) in in_scope {
        let similarity = similarity.get(*document).copied().map_or(0.0, f64::from);
        like.entry(&tool.id().server).or_default().push(similarity);
    }
    let mean = |like: Vec<f64>| like.iter().sum::<f64>() / like.len() as f64;
    let topics: HashMap<_, f64> = like
        .into_iter()
        .map(|(of, like)| (of, mean(like)))
        .collect();
    let unit = (1.0 + weight * weight).sqrt();
    let mut hits: HashMap<usize, Ranked<'c>> = HashMap::new();
    for (_, document, tool) in by_words.into_iter().chain(by_meaning) {
        let similarity = similarity.get(document).copied().map_or(0.0, f64::from);
        let similarity = liked.deviations(similarity).min(SIMILARITY_DEVIATIONS_MAX);
        let topic = liked.deviations(topics[&tool.id().server]);
        let agreement = agreement(asked, actions::of_tool(&tool.id().tool));
        let gain = weight * similarity + unit * (TOPIC_WEIGHT * topic + ACTION_WEIGHT * agreement);
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

fn nearest_calls(in_scope: &[(usize, &Arc<Tool>)], query: &str, similarity: &[f32]) -> Vec<String> {
    let tools = || in_scope.iter().map(|(_, tool)| *tool);
    let mut nearest = nearest_tools(tools().map(|tool| tool.id()), query);
    let like = by_meaning(in_scope, similarity, f32::MIN);
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
    use limbeck_catalog::ServerTools;

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
    static CATALOGS: LazyLock<[(Catalog, SearchIndex); 2]> = LazyLock::new(|| {
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
            let index = SearchIndex::new(&catalog);
            (catalog, index)
        })
    });

    fn assert_as_plain((catalog, index): &(Catalog, SearchIndex), query: &SearchQuery<'_>) {
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
    fn labeled_and_odd_queries_are_ranked_as_by_the_reference() {
        let queries = queries();
        let texts = queries.iter().map(|labeled| &*labeled.query);
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

    /// Words of the labeled queries, names of servers and tools, and other strings.
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
        fn any_words_are_ranked_as_by_the_reference(
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
                similarity: given.as_deref(),
                ..SearchQuery::new(&text)
            });
        }
    }
}
