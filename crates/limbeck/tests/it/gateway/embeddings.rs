//! Search with an embedding endpoint, and its results when the endpoint fails.
//!
//! The endpoint is a fake on a real socket. Two words are similar to it when the test declares it, so only its vectors
//! can find a tool by the other word.

use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_gateway::Gateway;
use limbeck_gateway::search::{SearchReport, SearchRequest};
use limbeck_store::Store;
use limbeck_testkit::{EmbeddingEndpoint, EndpointBehaviour, FakeServer, World, run, value_of};
use limbeck_upstream::embeddings::EmbeddingsSpec;
use serde_json::json;

use crate::gateway::worker;

/// Pairs of similar words, which have nothing else in common.
const MEANINGS: &[&str] = &["purge wkjqzx", "invoice zqxvwk"];
const PARAPHRASE: &str = "wkjqzx";
/// Half of the time that an endpoint which hangs keeps its connection open.
const NOT_AWAITED: Duration = Duration::from_secs(30);

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

fn world(server: &Arc<FakeServer>, endpoint: &EmbeddingEndpoint) -> World {
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

/// Searches until the vectors of all tools are available: they are requested in the background.
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
    let endpoint = EmbeddingEndpoint::start(MEANINGS);
    let gateway = world(&archive(), &endpoint).start().await;
    assert_eq!(tools(&by_meaning(&gateway).await), ["purge"]);
    // The search of a program uses the endpoint too, and finds only tools in its scope.
    let found = run(
        &gateway,
        "return (await search('wkjqzx')).map(hit => hit.tool)",
    )
    .await;
    assert_eq!(value_of(&found), json!(["purge"]));
    assert_eq!(endpoint.request_count_for("desk: purge"), 1);
    assert_eq!(
        endpoint.request_count_for(PARAPHRASE),
        1,
        "the query was asked about again"
    );

    let without = World::new(worker()).server(&archive()).start().await;
    let report = without.search(&request(PARAPHRASE)).await.unwrap();
    assert_eq!((tools(&report).len(), report.queries[0].total), (0, 0));
    // All queries of a search are one request to the endpoint.
    let asked = endpoint.requests().len();
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
    assert_eq!(endpoint.requests().len(), asked + 1);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_nothing_is_asked_about_that_is_known_and_what_changed_is() {
    let endpoint = EmbeddingEndpoint::start(MEANINGS);
    let store = Store::in_memory().unwrap();
    let before = world(&archive(), &endpoint)
        .store(store.clone())
        .start()
        .await;
    by_meaning(&before).await;
    before.shutdown().await;
    let asked = endpoint.requests().len();

    let more = server(&["purge", "list_rows", "send_invoice", "weigh", "fold"]);
    let now = world(&more, &endpoint).store(store).start().await;
    assert_eq!(tools(&by_meaning(&now).await), ["purge"]);
    let texts: Vec<String> = endpoint.requests()[asked..]
        .iter()
        .flat_map(|asked| asked.texts.clone())
        .collect();
    // After the restart the list is the cached one, until the server is connected.
    assert_eq!(texts, [PARAPHRASE]);
    run(&now, "await search('something at the desk')").await;
    let start = Instant::now();
    while endpoint.request_count_for("desk: fold") == 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(endpoint.request_count_for("desk: purge"), 1);
    now.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_of_no_use_costs_some_patience_and_the_table_answers() {
    let without = World::new(worker()).server(&archive()).start().await;
    let expected = without.search(&request("send a bill")).await.unwrap();
    for behaviour in [
        EndpointBehaviour::Hangs,
        EndpointBehaviour::Garbage,
        EndpointBehaviour::OtherDimensions,
        EndpointBehaviour::Fails,
        EndpointBehaviour::Redirects,
    ] {
        // From the start, and after correct responses.
        for is_late in [false, true] {
            let endpoint = EmbeddingEndpoint::start(MEANINGS);
            let gateway = world(&archive(), &endpoint).start().await;
            if is_late {
                by_meaning(&gateway).await;
                endpoint.set_behaviour(behaviour);
            } else {
                endpoint.set_behaviour(behaviour);
                if behaviour == EndpointBehaviour::OtherDimensions {
                    // From the start any length is valid.
                    continue;
                }
            }
            let start = Instant::now();
            let report = gateway.search(&request("send a bill")).await.unwrap();
            assert!(
                start.elapsed() < NOT_AWAITED,
                "{behaviour:?}: {:?}",
                start.elapsed()
            );
            assert_eq!(tools(&report), tools(&expected), "{behaviour:?} {is_late}");
            let scores = |report: &SearchReport| -> Vec<f64> {
                report.queries[0]
                    .tools
                    .iter()
                    .map(|hit| hit.score)
                    .collect()
            };
            assert_eq!(
                scores(&report),
                scores(&expected),
                "{behaviour:?} {is_late}"
            );
            while endpoint.requests().is_empty() {
                assert!(
                    start.elapsed() < NOT_AWAITED,
                    "{behaviour:?} was never asked"
                );
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // The endpoint is paused then: another search neither waits nor sends a request.
            let asked = endpoint.requests().len();
            let start = Instant::now();
            gateway.search(&request("send another bill")).await.unwrap();
            assert!(start.elapsed() < NOT_AWAITED, "{behaviour:?}");
            assert_eq!(endpoint.requests().len(), asked, "{behaviour:?} {is_late}");
            let elsewhere = endpoint.requests();
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
    let endpoint = EmbeddingEndpoint::start(MEANINGS);
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

    // Without the endpoint the order differs.
    let without = World::new(worker()).server(&server(&names)).start().await;
    without.search(&request(PARAPHRASE)).await.unwrap();
    let error = without.search(&asked).await.unwrap_err();
    assert!(error.message.contains("their ranking"), "{error:?}");
    // A cursor of the built-in table continues with the table, with and without the endpoint.
    let by_table = without.search(&request("part")).await.unwrap();
    let count = endpoint.requests().len();
    let mut asked = request("part");
    asked.cursor = by_table.cursor.clone();
    assert!(asked.cursor.is_some());
    let page = gateway.search(&asked).await.unwrap();
    assert_eq!(tools(&page), tools(&without.search(&asked).await.unwrap()));
    assert_eq!(endpoint.requests().len(), count);
    gateway.shutdown().await;
}
