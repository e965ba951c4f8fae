//! Search: results, cursors, and the servers it starts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_domain::Expose;
use limbeck_gateway::Gateway;
use limbeck_gateway::search::SearchRequest;
use limbeck_store::Store;
use limbeck_testkit::{FakeServer, World, run, run_python, value_of};
use serde_json::json;

use crate::gateway::worker;

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        queries: vec![query.to_owned()],
        ..SearchRequest::default()
    }
}

fn files(tools: &[&str]) -> Arc<FakeServer> {
    let server = FakeServer::new("files");
    let add = |server: FakeServer, tool: &&str| server.read(tool, |_| json!(null));
    tools.iter().fold(server, add).share()
}

async fn knows(gateway: &Gateway, tool: &str) -> bool {
    let catalog = gateway.catalog();
    let mut tools = catalog.tools();
    tools.any(|known| &*known.id().tool == tool)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_names_a_server_connects_it_and_another_finds_its_tools_in_the_cache() {
    let store = Store::in_memory().unwrap();
    let before = World::new(worker())
        .server(&files(&["read_file"]))
        .store(store.clone())
        .start()
        .await;
    before.search(&request("read")).await.unwrap();
    drop(before);

    let now = World::new(worker())
        .server(&files(&["read_file", "copy_file"]))
        .store(store)
        .start()
        .await;
    let found = now.search(&request("read")).await.unwrap();
    let found: Vec<&str> = found.queries[0]
        .tools
        .iter()
        .map(|hit| &*hit.tool)
        .collect();
    assert_eq!(found, ["read_file"]);
    let asked = run(&now, "return (await search('read'))[0].call").await;
    assert_eq!(value_of(&asked), json!("tools.files.read_file"));
    assert!(!knows(&now, "copy_file").await);

    run(&now, "await search('read with files')").await;
    let asked = Instant::now();
    while !knows(&now, "copy_file").await {
        assert!(asked.elapsed() < Duration::from_secs(60));
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_names_a_server_with_known_tools_does_not_wait_for_it() {
    let store = Store::in_memory().unwrap();
    let before = World::new(worker())
        .server(&files(&["read_file"]))
        .store(store.clone())
        .start()
        .await;
    // The control: a server without known tools is waited for.
    let found = before.search(&request("read files")).await.unwrap();
    assert_eq!(found.queries[0].tools.len(), 1);
    drop(before);

    let now = World::new(worker())
        .silent("files")
        .store(store)
        .start()
        .await;
    // The first names the server, which is asked for a new list and never answers; the second comes while it is asked.
    // A search waits 15 s for a server that it waits for.
    let searched = async {
        for _ in 0..3 {
            let found = now.search(&request("read files")).await.unwrap();
            assert_eq!(found.queries[0].tools.len(), 1);
            let program = "return (await search('read files')).length";
            assert_eq!(value_of(&run(&now, program).await), json!(1));
        }
    };
    tokio::time::timeout(Duration::from_secs(14), searched)
        .await
        .expect("no search waits for the server");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_names_the_servers_whose_tools_clients_list_directly() {
    let clock = FakeServer::new("clock").read("now", |_| json!(1)).share();
    let gateway = World::new(worker())
        .server(&files(&["read_file"]))
        .server(&clock)
        .expose("clock", Expose::Direct)
        .start()
        .await;
    let report = gateway
        .search(&request("what time is it now"))
        .await
        .unwrap();
    assert_eq!(report.listed_directly, ["clock"]);
    assert!(
        report
            .text()
            .contains("in the client's own list of tools: clock\n"),
        "{}",
        report.text()
    );
    let mut within = request("now");
    within.server = Some("clock".to_owned());
    let error = gateway.search(&within).await.unwrap_err();
    assert!(error.message.contains("list them directly"), "{error:?}");
    within.server = Some("nosuch".to_owned());
    let error = gateway.search(&within).await.unwrap_err();
    assert!(error.message.contains("no server is called"), "{error:?}");

    // The control: without such a server there is no word of it.
    let plain = World::new(worker())
        .server(&files(&["read_file"]))
        .start()
        .await;
    let report = plain.search(&request("read")).await.unwrap();
    assert!(
        !report.text().contains("own list of tools"),
        "{}",
        report.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_leads_through_all_tools_once_and_is_refused_after_a_change() {
    let names: Vec<String> = (0..12).map(|n| format!("read_part_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let gateway = World::new(worker()).server(&files(&names)).start().await;
    let mut seen = Vec::new();
    let mut asked = request("read part");
    loop {
        let report = gateway.search(&asked).await.unwrap();
        seen.extend(report.queries[0].tools.iter().map(|hit| hit.tool.clone()));
        match report.cursor {
            Some(cursor) => asked.cursor = Some(cursor),
            None => break,
        }
        assert!(seen.len() <= names.len(), "{seen:?}");
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), names.len());

    let first = gateway.search(&request("read part")).await.unwrap();
    let other = World::new(worker())
        .server(&files(&names[1..]))
        .start()
        .await;
    let mut stale = request("read part");
    stale.cursor = first.cursor;
    assert!(gateway.search(&stale).await.is_ok());
    let error = other.search(&stale).await.unwrap_err();
    assert!(
        error.message.contains("the tools or their ranking changed"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_was_cut_is_said_by_search_describe_and_servers() {
    let cut = "the server offers more than 2000 tools: the rest was left out";
    let many = FakeServer::new("many")
        .read("read_rows", |_| json!(1))
        .cut(cut)
        .share();
    let odd = FakeServer::new("odd")
        .read("read_cells", |_| json!(1))
        .leaving_out("tool 3: name is not a string: the rest was left out")
        .share();
    let gateway = World::new(worker())
        .server(&many)
        .server(&odd)
        .start()
        .await;
    let report = gateway.search(&request("read rows")).await.unwrap();
    let said = format!("1 tool is known; {cut}");
    assert_eq!(report.incomplete, [format!("many: {said}")]);
    let program = "return [(await describe('many')).incomplete, (await servers()).map(s => s.incomplete ?? null), \
                   (await describe('odd')).incomplete ?? null]";
    let value = value_of(&run(&gateway, program).await);
    // The control is the server whose list is whole but for a tool that cannot be used.
    assert_eq!(value, json!([said, [said, null], null]));
    let listed = run(
        &gateway,
        "return listServers().connected.map(s => s.incomplete ?? null)",
    )
    .await;
    assert_eq!(value_of(&listed), json!([said, null]));
    let warned = format!("not all tools of server `many` are listed: {said}");
    assert_eq!(listed.warnings, std::slice::from_ref(&warned));
    for program in [
        "return [...Object.keys(tools.many), ...Object.keys(tools.odd)]",
        "return 'read_rows' in tools.many",
        "return (await discoverMCPTools()).length",
        "return (await searchTools('read rows')).length",
    ] {
        let envelope = run(&gateway, program).await;
        assert_eq!(
            envelope.warnings,
            std::slice::from_ref(&warned),
            "{program}"
        );
    }
    let python = run_python(&gateway, "return [dir(tools.many), dir(tools.odd)]").await;
    assert_eq!(python.warnings, [warned]);
    // The control: the other server alone.
    let whole = run(&gateway, "return Object.keys(tools.odd)").await;
    assert_eq!(whole.warnings, Vec::<String>::new());
    gateway.shutdown().await;
}
