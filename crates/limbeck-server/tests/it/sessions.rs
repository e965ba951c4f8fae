//! Sessions of the older revisions: H09, H10.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::support::{ALICE, Ask, BOB, LEGACY, Server, until, until_part};

fn list(token: &str, session: &str) -> Ask {
    Ask::within(token, session, "tools/list", json!({}))
}

fn end(token: &str, session: &str) -> Ask {
    let mut ask = Ask::new("DELETE", "/mcp");
    ask.set("authorization", &format!("Bearer {token}"));
    ask.set("mcp-session-id", session);
    ask.set("mcp-protocol-version", LEGACY);
    ask
}

fn listen(token: &str, session: &str) -> Ask {
    let mut ask = end(token, session);
    ask.method = "GET";
    ask.set("accept", "text/event-stream");
    ask
}

#[tokio::test]
async fn h09_a_session_belongs_to_its_principal_and_never_replaces_a_token() {
    let server = Server::start().await;
    let session = server.session(ALICE).await;
    assert_eq!(server.send(&list(ALICE, &session)).await.status, 200);

    // A session of another principal, an unknown one and a malformed id get the same response.
    let unknown = "00000000-0000-4000-8000-000000000000";
    let huge = "x".repeat(20_000);
    let mut answers = HashSet::new();
    for (token, id) in [
        (BOB, session.as_str()),
        (ALICE, unknown),
        (ALICE, "1"),
        (ALICE, "../x"),
        (ALICE, &huge),
    ] {
        for ask in [list(token, id), listen(token, id), end(token, id)] {
            let mut reply = server.send(&ask).await;
            assert_eq!(reply.status, 404, "{} {id}: {reply:?}", ask.method);
            reply.headers.retain(|(name, _)| name != "date");
            answers.insert((ask.method, format!("{reply:?}")));
        }
    }
    assert_eq!(answers.len(), 3, "one for each method: {answers:?}");
    assert_eq!(server.send(&list("no", &session)).await.status, 401);
    let mut without_token = list(ALICE, &session);
    without_token.remove("authorization");
    assert_eq!(server.send(&without_token).await.status, 401);
    assert_eq!(
        server
            .send(list(ALICE, &session).remove("mcp-session-id"))
            .await
            .status,
        400
    );
    assert_eq!(
        server
            .send(list(ALICE, &session).add("mcp-session-id", &session))
            .await
            .status,
        400
    );

    assert_eq!(server.send(&list(ALICE, &session)).await.status, 200);
    assert_eq!(server.send(&end(ALICE, &session)).await.status, 204);
    for ask in [
        list(ALICE, &session),
        listen(ALICE, &session),
        end(ALICE, &session),
    ] {
        assert_eq!(server.send(&ask).await.status, 404, "{}", ask.method);
    }
    assert_eq!(server.metric("limbeck_http_sessions").await, 0);
}

#[tokio::test]
async fn h09_ids_of_sessions_cannot_be_guessed() {
    let server = Server::with(|options| options.bounds.sessions_each = 200).await;
    let mut seen = HashSet::new();
    for _ in 0..100 {
        let id = server.session(ALICE).await;
        // A random UUID: 122 bits of the system's generator.
        assert_eq!((id.len(), &id[14..15]), (36, "4"), "{id}");
        assert!(seen.insert(id));
    }
}

#[tokio::test]
async fn h10_with_too_many_sessions_the_longest_idle_is_closed_and_other_principals_keep_theirs() {
    let server = Server::with(|options| options.bounds.sessions_each = 3).await;
    let bobs = server.session(BOB).await;
    let first = server.session(ALICE).await;
    let second = server.session(ALICE).await;
    let third = server.session(ALICE).await;
    // The first session was used meanwhile, so it is not the idle one.
    assert_eq!(server.send(&list(ALICE, &first)).await.status, 200);
    let fourth = server.session(ALICE).await;
    assert_eq!(server.send(&list(ALICE, &second)).await.status, 404);
    for session in [&first, &third, &fourth] {
        assert_eq!(server.send(&list(ALICE, session)).await.status, 200);
    }
    assert_eq!(server.send(&list(BOB, &bobs)).await.status, 200);
    for _ in 0..100 {
        server.session(ALICE).await;
    }
    assert_eq!(server.metric("limbeck_http_sessions").await, 4);
}

#[tokio::test]
async fn h10_idle_sessions_of_one_principal_do_not_keep_another_out() {
    let server = Server::with(|options| options.bounds.sessions = 3).await;
    let first = server.session(ALICE).await;
    let second = server.session(ALICE).await;
    let third = server.session(ALICE).await;
    // The first session was used meanwhile, so it is not the idle one.
    assert_eq!(server.send(&list(ALICE, &first)).await.status, 200);
    let bobs = server.session(BOB).await;
    assert_eq!(server.send(&list(ALICE, &second)).await.status, 404);
    for session in [&first, &third] {
        assert_eq!(server.send(&list(ALICE, session)).await.status, 200);
    }
    // Alice has most, so she replaces one of her own, and Bob's session stays.
    let fourth = server.session(ALICE).await;
    assert_eq!(server.send(&list(ALICE, &first)).await.status, 404);
    for (token, session) in [(ALICE, &third), (ALICE, &fourth), (BOB, &bobs)] {
        assert_eq!(server.send(&list(token, session)).await.status, 200);
    }
    assert_eq!(server.metric("limbeck_http_sessions").await, 3);
}

#[tokio::test]
async fn h10_a_session_in_use_is_not_ended_for_another() {
    let server = Server::with(|options| options.bounds.sessions_each = 1).await;
    let session = server.session(ALICE).await;
    let mut stream = server.connect().await;
    let head = format!("{}\r\n", listen(ALICE, &session).head(server.address));
    stream.write_all(head.as_bytes()).await.unwrap();
    until_part(&mut stream, "text/event-stream").await;
    let refused = server.send(&Ask::initialize(ALICE)).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Requests within sessions and without are served while no session can be created.
    server.is_well().await;
    assert_eq!(server.send(&list(ALICE, &session)).await.status, 200);
    drop(stream);
    until("a new session", || async {
        server.send(&Ask::initialize(ALICE)).await.status == 200
    })
    .await;
    assert_eq!(server.send(&list(ALICE, &session)).await.status, 404);
}

#[tokio::test]
async fn h10_an_idle_session_is_closed() {
    let server =
        Server::with(|options| options.bounds.session_idle = Duration::from_millis(200)).await;
    let session = server.session(ALICE).await;
    until("the end of the session", || async {
        server.metric("limbeck_http_sessions").await == 0
    })
    .await;
    assert_eq!(server.send(&list(ALICE, &session)).await.status, 404);
    server.session(ALICE).await;
}
