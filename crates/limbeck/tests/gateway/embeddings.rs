//! A search by an embedding endpoint, and what it finds when the endpoint is of no use.
//!
//! The endpoint is a real one on a socket of this machine. Two words mean the same to it when the test says so, so
//! only what came from it can find a tool by the other word.

use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_gateway::Gateway;
use limbeck_gateway::search::{SearchReport, SearchRequest};
use limbeck_gateway::store::Store;
use limbeck_gateway::upstream::embeddings::EmbeddingsSpec;
use limbeck_testkit::{Endpoint, FakeServer, Manner, World, run, value_of};
use serde_json::json;

use crate::worker;

/// Words that mean the same; nothing else connects them.
const MEANINGS: &[&str] = &["purge wkjqzx", "invoice zqxvwk"];
const PARAPHRASE: &str = "wkjqzx";
/// Patience of a search and what a busy machine adds.
const AT_ONCE: Duration = Duration::from_secs(5);

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        queries: vec![query.to_owned()],
        ..SearchRequest::default()
    }
}

fn server(tools: &[&str]) -> Arc<FakeServer> {
    let add = |server: FakeServer, tool: &&str| server.read(tool, |_| json!(null));
    tools.iter().fold(FakeServer::new("desk"), add).share()
}

fn archive() -> Arc<FakeServer> {
    server(&["purge", "list_rows", "send_invoice", "weigh"])
}

fn world(server: &Arc<FakeServer>, endpoint: &Endpoint) -> World {
    let spec = EmbeddingsSpec::new(&endpoint.url(), "words").unwrap();
    World::new(worker()).server(server).embeddings(spec)
}

fn tools(report: &SearchReport) -> Vec<&str> {
    report.queries[0]
        .tools
        .iter()
        .map(|hit| &*hit.tool)
        .collect()
}

/// Searches until the vectors of all tools are there: they are asked for in the background.
async fn by_meaning(gateway: &Gateway) -> SearchReport {
    let start = Instant::now();
    loop {
        let report = gateway.search(&request(PARAPHRASE)).await.unwrap();
        if report.queries[0].total > 0 {
            return report;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{report:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_no_tool_has_are_found_through_the_endpoint_and_not_without_it() {
    let endpoint = Endpoint::start(MEANINGS);
    let gateway = world(&archive(), &endpoint).start().await;
    assert_eq!(tools(&by_meaning(&gateway).await), ["purge"]);
    // A program's search goes the same way, and sees nothing beyond its scope.
    let found = run(
        &gateway,
        "return (await search('wkjqzx')).map(hit => hit.tool)",
    )
    .await;
    assert_eq!(value_of(&found), json!(["purge"]));
    assert_eq!(endpoint.times_asked("desk: purge"), 1);
    assert_eq!(
        endpoint.times_asked(PARAPHRASE),
        1,
        "the query was asked about again"
    );

    let without = World::new(worker()).server(&archive()).start().await;
    let report = without.search(&request(PARAPHRASE)).await.unwrap();
    assert_eq!((tools(&report).len(), report.queries[0].total), (0, 0));
    // All queries of a request are one question.
    let asked = endpoint.asked().len();
    let several = SearchRequest {
        queries: ["zqxvwk", "wkjqzx please", "", "zqxvwk"]
            .map(str::to_owned)
            .into(),
        ..SearchRequest::default()
    };
    let report = gateway.search(&several).await.unwrap();
    let first = |query: usize| &*report.queries[query].tools[0].tool;
    assert_eq!(
        [first(0), first(1), first(3)],
        ["send_invoice", "purge", "send_invoice"]
    );
    assert_eq!(report.queries[2].total, 4);
    assert_eq!(endpoint.asked().len(), asked + 1);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_nothing_is_asked_about_that_is_known_and_what_changed_is() {
    let endpoint = Endpoint::start(MEANINGS);
    let store = Store::in_memory().unwrap();
    let before = world(&archive(), &endpoint)
        .store(store.clone())
        .start()
        .await;
    by_meaning(&before).await;
    before.shutdown().await;
    let asked = endpoint.asked().len();

    let more = server(&["purge", "list_rows", "send_invoice", "weigh", "fold"]);
    let now = world(&more, &endpoint).store(store).start().await;
    assert_eq!(tools(&by_meaning(&now).await), ["purge"]);
    let texts: Vec<String> = endpoint.asked()[asked..]
        .iter()
        .flat_map(|asked| asked.texts.clone())
        .collect();
    // The list of the restart is the cached one, until somebody connects the server.
    assert_eq!(texts, [PARAPHRASE]);
    run(&now, "await search('something at the desk')").await;
    let start = Instant::now();
    while endpoint.times_asked("desk: fold") == 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(endpoint.times_asked("desk: purge"), 1);
    now.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_of_no_use_costs_some_patience_and_the_table_answers() {
    let without = World::new(worker()).server(&archive()).start().await;
    let expected = without.search(&request("send a bill")).await.unwrap();
    for manner in [
        Manner::Hangs,
        Manner::Garbage,
        Manner::OtherDimensions,
        Manner::Fails,
        Manner::Redirects,
    ] {
        // From the start, and once it was of use.
        for is_late in [false, true] {
            let endpoint = Endpoint::start(MEANINGS);
            let gateway = world(&archive(), &endpoint).start().await;
            if is_late {
                by_meaning(&gateway).await;
                endpoint.behave(manner);
            } else {
                endpoint.behave(manner);
                if manner == Manner::OtherDimensions {
                    // Vectors of one length, whichever: nothing is wrong with them.
                    continue;
                }
            }
            let start = Instant::now();
            let report = gateway.search(&request("send a bill")).await.unwrap();
            assert!(
                start.elapsed() < AT_ONCE,
                "{manner:?}: {:?}",
                start.elapsed()
            );
            assert_eq!(tools(&report), tools(&expected), "{manner:?} {is_late}");
            let scores = |report: &SearchReport| -> Vec<f64> {
                report.queries[0]
                    .tools
                    .iter()
                    .map(|hit| hit.score)
                    .collect()
            };
            assert_eq!(scores(&report), scores(&expected), "{manner:?} {is_late}");
            while endpoint.asked().is_empty() {
                assert!(start.elapsed() < AT_ONCE, "{manner:?} was never asked");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // It is left alone then: another search neither waits nor asks.
            let asked = endpoint.asked().len();
            let start = Instant::now();
            gateway.search(&request("send another bill")).await.unwrap();
            assert!(start.elapsed() < AT_ONCE, "{manner:?}");
            assert_eq!(endpoint.asked().len(), asked, "{manner:?} {is_late}");
            let elsewhere = endpoint.asked();
            assert!(
                !elsewhere
                    .iter()
                    .any(|asked| asked.path.contains("elsewhere"))
            );
            gateway.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_leads_on_in_the_order_it_came_from_or_nowhere() {
    let names: Vec<String> = (0..12).map(|n| format!("purge_part_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let endpoint = Endpoint::start(MEANINGS);
    let store = Store::in_memory().unwrap();
    let gateway = world(&server(&names), &endpoint)
        .store(store.clone())
        .start()
        .await;
    let mut seen: Vec<String> = Vec::new();
    let mut asked = request(PARAPHRASE);
    asked.cursor = by_meaning(&gateway).await.cursor;
    let page = gateway.search(&asked).await.unwrap();
    seen.extend(tools(&page).into_iter().map(str::to_owned));
    assert_eq!(
        (seen.len(), page.queries[0].from, page.queries[0].total),
        (5, 5, 12)
    );

    // Without the endpoint the order would be another one.
    let without = World::new(worker()).server(&server(&names)).start().await;
    without.search(&request(PARAPHRASE)).await.unwrap();
    let error = without.search(&asked).await.unwrap_err();
    assert!(
        error.message.contains("what their order goes by"),
        "{error:?}"
    );
    // One of the table leads on by the table, endpoint or not.
    let by_table = without.search(&request("part")).await.unwrap();
    let count = endpoint.asked().len();
    let mut asked = request("part");
    asked.cursor = by_table.cursor.clone();
    assert!(asked.cursor.is_some());
    let page = gateway.search(&asked).await.unwrap();
    assert_eq!(tools(&page), tools(&without.search(&asked).await.unwrap()));
    assert_eq!(endpoint.asked().len(), count);
    gateway.shutdown().await;
}
