//! Methods, types, headers that differ from the body, and both generations on one endpoint: H04, H08, H11.

use std::time::Duration;

use limbeck_domain::Expose;
use limbeck_testkit::FakeServer;
use serde_json::{Value, json};

use crate::support::{ALICE, Ask, BOB, LEGACY, MODERN, Server, world};

fn list() -> Ask {
    Ask::modern(ALICE, "tools/list", json!({}))
}

/// Call of an unknown tool: the error repeats its name, and no worker is needed.
fn call(token: &str, name: &str) -> Ask {
    Ask::modern(token, "tools/call", json!({"name": name, "arguments": {}}))
}

#[tokio::test]
async fn both_protocol_generations_are_served_on_one_endpoint_at_the_same_time() {
    let server = Server::start().await;
    let session = server.session(ALICE).await;
    let modern = server.send(&list()).await.json();
    assert_eq!(modern["result"]["resultType"], "complete", "{modern}");
    let legacy = server
        .send(&Ask::within(ALICE, &session, "tools/list", json!({})))
        .await;
    let names = |reply: &Value| {
        let tools = reply["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&legacy.json()), names(&modern));
    let discovered = server
        .send(&Ask::modern(ALICE, "server/discover", json!({})))
        .await
        .json();
    let versions = discovered["result"]["supportedVersions"]
        .as_array()
        .unwrap();
    assert!(
        versions.contains(&json!(MODERN)) && versions.contains(&json!(LEGACY)),
        "{discovered}"
    );
}

#[tokio::test]
async fn h04_methods_types_and_accepts_that_do_not_fit_are_refused_and_get_changes_nothing() {
    let server = Server::start().await;
    for method in [
        "PUT", "OPTIONS", "TRACE", "PATCH", "HEAD", "CONNECT", "post", "BREW",
    ] {
        let mut ask = list();
        ask.method = method;
        let reply = server.send(&ask).await;
        assert!(matches!(reply.status, 405 | 404), "{method}: {reply:?}");
    }
    for media_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "",
        "text/plain; application/json",
    ] {
        let reply = server.send(list().set("content-type", media_type)).await;
        assert_eq!(reply.status, 415, "{media_type}: {reply:?}");
    }
    assert_eq!(server.send(list().remove("content-type")).await.status, 415);
    let with_parameter = server
        .send(list().set("content-type", "Application/JSON; charset=utf-8"))
        .await;
    assert_eq!(with_parameter.status, 200);
    for accept in ["text/html", "application/json", "text/event-stream", ""] {
        assert_eq!(
            server.send(list().set("accept", accept)).await.status,
            406,
            "{accept}"
        );
    }
    assert_eq!(server.send(list().remove("accept")).await.status, 406);

    // A GET neither creates nor closes a session.
    let session = server.session(ALICE).await;
    let mut get = Ask::initialize(ALICE);
    get.method = "GET";
    assert_eq!(server.send(&get).await.status, 400);
    assert_eq!(server.metric("limbeck_http_sessions").await, 1);
    let still = server
        .send(&Ask::within(ALICE, &session, "tools/list", json!({})))
        .await;
    assert_eq!(still.status, 200);
    let mut modern_get = list();
    modern_get.method = "GET";
    assert_eq!(server.send(&modern_get).await.status, 405);
}

#[tokio::test]
async fn h08_headers_that_differ_from_the_body_are_refused() {
    let server = Server::start().await;
    let reply = server.send(&call(ALICE, "one")).await.json();
    assert!(
        reply["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`one`"),
        "{reply}"
    );
    let encoded = server
        .send(call(ALICE, "one").set("mcp-name", "=?base64?b25l?="))
        .await
        .json();
    assert!(
        encoded["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`one`"),
        "{encoded}"
    );
    let mut cases: Vec<Ask> = Vec::new();
    for (name, value) in [
        ("mcp-method", "tools/list"),
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-name", "two"),
        ("mcp-name", "=?base64?dHdv?="),
        ("mcp-name", "=?base64?!!?="),
        ("mcp-name", ""),
    ] {
        let mut ask = call(ALICE, "one");
        ask.set(name, value);
        cases.push(ask);
    }
    for name in ["mcp-method", "mcp-name"] {
        let mut ask = call(ALICE, "one");
        ask.remove(name);
        cases.push(ask);
    }
    let mut twice = call(ALICE, "one");
    twice.add("mcp-name", "two");
    cases.push(twice);
    for ask in cases {
        let reply = server.send(&ask).await;
        assert_eq!(reply.status, 400, "{:?}: {reply:?}", ask.headers);
        assert_eq!(
            reply.json()["error"]["code"],
            -32020,
            "{:?}: {reply:?}",
            ask.headers
        );
    }
    let other_version = server
        .send(list().set("mcp-protocol-version", LEGACY))
        .await;
    assert_eq!(other_version.status, 400, "{other_version:?}");
}

#[tokio::test]
async fn bodies_that_are_not_messages_get_a_json_rpc_error() {
    let server = Server::start().await;
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("nonsense", -32700),
        ("[]", -32600),
        ("1", -32600),
        ("{}", -32600),
        ("\"x\"", -32600),
    ] {
        let mut ask = list();
        ask.body = body.as_bytes().to_vec();
        let reply = server.send(&ask).await;
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
        assert_eq!(reply.json()["error"]["code"], code, "{body}: {reply:?}");
    }
    let mut batch = list();
    batch.body = format!("[{}]", String::from_utf8(batch.body).unwrap()).into_bytes();
    assert_eq!(server.send(&batch).await.status, 400);
    let mut deep = list();
    deep.body = "[".repeat(200_000).into_bytes();
    assert_eq!(server.send(&deep).await.status, 400);
    let mut bad_text = list();
    bad_text.body = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}".to_vec();
    assert_eq!(server.send(&bad_text).await.status, 400);
    let unknown = server.send(&Ask::modern(ALICE, "no/such", json!({}))).await;
    assert_eq!(
        (unknown.status, unknown.json()["error"]["code"].as_i64()),
        (404, Some(-32601))
    );
    server.is_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn h11_a_thousand_pairs_with_equal_ids_each_get_their_own_answer() {
    let server = Server::start().await;
    // As many clients of each generation, all with the same request id.
    let mut clients = Vec::new();
    for _ in 0..25 {
        clients.push((server.session(ALICE).await, server.session(BOB).await));
    }
    let ask = |token: &'static str, session: &str, name: String| {
        let old = Ask::within(
            token,
            session,
            "tools/call",
            json!({"name": name, "arguments": {}}),
        );
        let new = call(token, &name);
        let server = &server;
        async move {
            // One within a session and one without.
            for request in [old, new] {
                let reply = server.send(&request).await.json();
                let message = reply["error"]["message"].as_str().unwrap();
                assert!(message.contains(&format!("`{name}`")), "{name}: {reply}");
            }
        }
    };
    for round in 0..20 {
        let pairs = clients.iter().enumerate().map(|(pair, (alice, bob))| {
            let name = |who: &str| format!("{who}-{round}-{pair}");
            futures::future::join(ask(ALICE, alice, name("alice")), ask(BOB, bob, name("bob")))
        });
        futures::future::join_all(pairs).await;
    }
}

#[tokio::test]
async fn responses_forbid_caching_and_content_sniffing() {
    let server = Server::start().await;
    for ask in [
        list(),
        Ask::get("/mcp", "no"),
        Ask::new("GET", "/health"),
        Ask::new("GET", "/nothing"),
    ] {
        let reply = server.send(&ask).await;
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{reply:?}");
        assert_eq!(
            reply.header("x-content-type-options"),
            Some("nosniff"),
            "{reply:?}"
        );
        assert_eq!(reply.header("server"), None);
        assert_eq!(reply.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn a_slow_response_starts_as_an_event_stream_with_keep_alive_comments() {
    let server = Server::over(["silent"], |options| {
        options.bounds.keep_alive = Duration::from_millis(50);
    })
    .await;
    // Calls a server that never answers, until the wait for first lists times out.
    let arguments = json!({"name": "search", "arguments": {"queries": ["anything"]}});
    let reply = server
        .send(&Ask::modern(ALICE, "tools/call", arguments))
        .await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert!(reply.body.matches(": waiting\n\n").count() > 2, "{reply:?}");
    assert_eq!(reply.json()["id"], 1, "{reply:?}");
    assert!(reply.json()["result"]["content"].is_array(), "{reply:?}");
    // A response that is ready at once is not a stream.
    let list = server.send(&list()).await;
    assert_eq!(list.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn a_server_has_no_resources_in_the_address_space_of_the_gateway() {
    let artifact = "limbeck://artifacts/art_500b6995a7814315088180da7d1305ab";
    let up = FakeServer::new("up")
        .read("t", |arguments| arguments)
        .resource(artifact, "spoofed")
        .resource("LIMBECK://artifacts/x", "spoofed")
        .resource("note:1", "one")
        .share();
    let world = world().server(&up).expose("up", Expose::Both);
    let server = Server::in_world(world, |_| {}).await;
    let session = server.session(ALICE).await;
    let ask = async |method: &str, params: Value| {
        let ask = Ask::within(ALICE, &session, method, params);
        server.send(&ask).await.json()
    };
    let listed = ask("resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap();
    let uris: Vec<&Value> = resources.iter().map(|resource| &resource["uri"]).collect();
    // The control: what is not in that space is listed and read.
    assert_eq!(uris, ["limbeck://guide", "limbeck://servers", "note:1"]);
    let note = ask("resources/read", json!({"uri": "note:1"})).await;
    assert_eq!(note["result"]["contents"][0]["text"], "one", "{note}");
    for uri in [artifact, "LIMBECK://artifacts/x", "Limbeck:x"] {
        let refused = ask("resources/read", json!({"uri": uri})).await;
        assert!(refused["error"].is_object(), "{uri}: {refused}");
    }
}

#[tokio::test]
async fn mistakes_in_the_arguments_of_execute_have_the_form_of_all_its_errors() {
    let server = Server::start().await;
    let execute = async |arguments: Value| {
        let call = json!({"name": "execute", "arguments": arguments});
        let reply = server.send(&Ask::modern(ALICE, "tools/call", call)).await;
        let result = reply.json()["result"].clone();
        assert_eq!(result["isError"], true, "{reply:?}");
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    for (arguments, message, hint) in [
        (json!({}), "`code` is missing", "accepted: {code: string"),
        (
            json!({"code": "x", "max_out": 1}),
            "unknown argument `max_out`, did you mean `max_output_tokens`?",
            "accepted: {code: string",
        ),
        (
            json!({"code": "x", "render": "yaml"}),
            "unknown `render` `yaml`",
            "write `json`, `toon` or `auto`",
        ),
        // The controls: errors of the gateway itself.
        (
            json!({"code": " "}),
            "the program is empty",
            "send a program in `code`",
        ),
        (
            json!({"code": " ", "mode": "check"}),
            "the program is empty",
            "send a program in `code`",
        ),
    ] {
        let answer = execute(arguments).await;
        assert_eq!(answer["status"], "failed", "{answer}");
        let error = &answer["error"];
        assert_eq!(
            (&error["kind"], &error["message"]),
            (&json!("request"), &json!(message))
        );
        assert!(
            error["hint"].as_str().unwrap().starts_with(hint),
            "{answer}"
        );
    }
}
