//! Progress, requests and tasks of a server during a call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use limbeck_domain::{CallCode, ToolId};
use limbeck_upstream::{CallContext, ServerRequestKind, UpstreamError, UpstreamPool};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::pool::observer::*;
use crate::pool::support::*;

const FORM: &str = "elicitation/create";

fn question(method: &str, params: Value) -> Value {
    json!({"method": method, "params": params})
}

#[tokio::test]
async fn progress_reaches_the_caller_of_its_call_as_long_as_it_grows() {
    for era in ["both", "legacy"] {
        let pool = pool(asking(&["--era", era]));
        let caller = RecordingObserver::silent();
        let steps = json!({"steps": [
            {"progress": 1, "total": 4, "message": "one\u{1b}[31m"},
            {"progress": 2.5},
            {"progress": 2.5},
            {"progress": 1},
            {"progress": "3"},
            {"progress": 3, "progressToken": 999_999},
            {"progress": 4, "message": "done"},
        ]});
        call_as(&pool, &caller, "progress", &steps).await.unwrap();
        let received: Vec<(f64, Option<f64>, Option<String>)> = caller
            .received()
            .into_iter()
            .map(|received| (received.progress, received.total, received.message))
            .collect();
        assert_eq!(
            received,
            [
                (1.0, Some(4.0), Some("one[31m".to_owned())),
                (2.5, None, None),
                (4.0, None, Some("done".to_owned())),
            ],
            "{era}"
        );
        let traffic = pool.report(&"asking".into()).traffic;
        assert_eq!(traffic.progress_dropped, 4, "{era}");
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn a_flood_of_progress_is_cut_to_its_rate_and_costs_nothing_else() {
    let pool = pool(asking(&[]));
    let caller = RecordingObserver::silent();
    let steps: Vec<Value> = (0..5_000).map(|n| json!({"progress": n})).collect();
    let begun = Instant::now();
    let steps = json!({ "steps": steps });
    let (result, ()) = tokio::join!(
        call_as(&pool, &caller, "progress", &steps),
        healthy_answers(&pool)
    );
    result.unwrap();
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap() + 1;
    let received = caller.received().len();
    assert!(received >= 20 && received <= 20 * seconds, "{received}");
    pool.shutdown().await;
}

#[tokio::test]
async fn a_request_of_the_server_is_answered_by_the_observer_of_the_only_call_in_flight() {
    for era in ["both", "legacy"] {
        let pool = pool(asking(&["--era", era]));
        let caller = RecordingObserver::saying(r#"{"action":"accept","content":{"name":"Ada"}}"#);
        let params = json!({"message": "Who?", "requestedSchema": {"type": "object", "x-big": 1}});
        let ask = question(FORM, params.clone());
        let result = call_as(&pool, &caller, "ask", &ask).await.unwrap();
        assert_eq!(
            content(&result),
            json!({"result": {"action": "accept", "content": {"name": "Ada"}}}),
            "{era}"
        );
        let asked = caller.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].0, ServerRequestKind::ElicitationForm);
        assert_eq!(serde_json::from_str::<Value>(&asked[0].1).unwrap(), params);

        let kinds = [
            (
                "sampling/createMessage",
                json!({"messages": []}),
                ServerRequestKind::Sampling,
            ),
            ("roots/list", json!({}), ServerRequestKind::Roots),
            (
                FORM,
                json!({"mode": "url", "url": "https://a.example/x"}),
                ServerRequestKind::ElicitationUrl,
            ),
        ];
        for (method, params, kind) in kinds {
            call_as(&pool, &caller, "ask", &question(method, params))
                .await
                .unwrap();
            assert_eq!(caller.asked().last().unwrap().0, kind, "{era}");
        }
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn what_no_client_can_answer_is_declined_as_the_protocol_says() {
    let pool = pool(asking(&["--era", "legacy"]));
    let silent = RecordingObserver::silent();
    let declined = json!({"result": {"action": "decline"}});
    let ask = question(FORM, json!({"message": "Who?"}));
    let result = call_as(&pool, &silent, "ask", &ask).await.unwrap();
    assert_eq!(content(&result), declined);
    let sampling = question("sampling/createMessage", json!({}));
    let result = call_as(&pool, &silent, "ask", &sampling).await.unwrap();
    assert_eq!(content(&result)["error"]["code"], -1);
    // A call without an observer, and an address that must not be opened.
    let result = call(&pool, "asking", "ask", &ask.to_string())
        .await
        .unwrap();
    assert_eq!(content(&result), declined);
    let answers = RecordingObserver::saying(r#"{"action":"accept"}"#);
    let file = question(FORM, json!({"mode": "url", "url": "file:///etc/passwd"}));
    let result = call_as(&pool, &answers, "ask", &file).await.unwrap();
    assert_eq!(content(&result), declined);
    assert!(answers.asked().is_empty());
    // Ping needs no observer, and an unknown request is rejected.
    let result = call(&pool, "asking", "ask", r#"{"method":"ping"}"#)
        .await
        .unwrap();
    assert_eq!(content(&result), json!({"result": {}}));
    let result = call(&pool, "asking", "ask", r#"{"method":"x/y"}"#)
        .await
        .unwrap();
    assert_eq!(content(&result)["error"]["code"], -32601);
    assert_eq!(pool.report(&"asking".into()).traffic.questions_declined, 4);
    pool.shutdown().await;
}

/// Message of the error of a call whose server answers that its user has to open `pages`.
async fn refused(pool: &UpstreamPool, client: &Arc<RecordingObserver>, pages: &[&Value]) -> String {
    let data = json!({ "elicitations": pages });
    let error = json!({"code": -32042, "message": "pay first", "data": data});
    match call_as(pool, client, "refuse", &error).await {
        Err(UpstreamError::Protocol {
            code: -32042,
            message,
            data: None,
        }) => message,
        other => panic!("another answer: {other:?}"),
    }
}

#[tokio::test]
async fn an_address_that_a_server_needs_opened_is_a_question_and_the_call_is_not_repeated() {
    for era in ["both", "legacy"] {
        let log = ServerLog::new();
        let pool = pool(asking(&["--era", era, "--log", &log.path()]));
        let page = json!({"mode": "url", "message": "Pay", "url": "https://pay.example/1?a=b", "elicitationId": "1"});
        let agrees = RecordingObserver::saying(r#"{"action":"accept"}"#);
        let message = refused(&pool, &agrees, &[&page]).await;
        assert!(
            message.contains("the user agreed; make the call again"),
            "{message}"
        );
        assert!(!message.contains("pay.example"), "{message}");
        let asked = agrees.asked();
        assert_eq!(asked.len(), 1, "{era}");
        assert_eq!(asked[0].0, ServerRequestKind::ElicitationUrl);
        assert_eq!(serde_json::from_str::<Value>(&asked[0].1).unwrap(), page);
        assert_eq!(log.text().matches("\"tools/call\"").count(), 1, "{era}");

        let declines = RecordingObserver::saying(r#"{"action":"decline"}"#);
        let message = refused(&pool, &declines, &[&page]).await;
        assert!(message.contains("the user did not agree"), "{message}");
        // Neither a client that cannot be asked is asked, nor any for an address that may not be shown.
        let silent = RecordingObserver::silent();
        let message = refused(&pool, &silent, &[&page]).await;
        assert!(message.contains("which is not passed on"), "{message}");
        let plain = json!({"mode": "url", "message": "Pay", "url": "http://pay.example/1", "elicitationId": "2"});
        let message = refused(&pool, &agrees, &[&page, &plain]).await;
        assert!(message.contains("which is not passed on"), "{message}");
        assert!(
            silent.asked().is_empty() && agrees.asked().len() == 1,
            "{era}"
        );
        pool.shutdown().await;
    }
}

#[tokio::test]
async fn a_request_that_could_belong_to_either_of_two_calls_is_answered_with_an_error() {
    let log = ServerLog::new();
    let pool = pool(asking(&["--log", &log.path()]));
    let (one, other) = (
        RecordingObserver::saying(r#"{"action":"accept"}"#),
        RecordingObserver::saying(r#"{"action":"accept"}"#),
    );
    let mut ask = question(FORM, json!({"message": "Who?"}));
    ask["path"] = log.path().into();
    // After one call has ended the other is the only one; no request was forwarded while there were two.
    let wait = json!({"ms": 2_000});
    let (first, second, long) = tokio::join!(
        call_as(&pool, &one, "ask", &ask),
        call_as(&pool, &other, "ask", &ask),
        call_as(&pool, &one, "wait", &wait),
    );
    // An error, not a `decline`, which only a user gives.
    for unclear in [first.unwrap(), second.unwrap()] {
        let error = &content(&unclear)["error"];
        assert_eq!(error["code"], -1);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("unclear which of"), "{message}");
    }
    long.unwrap();
    assert!(one.asked().is_empty() && other.asked().is_empty());
    // The control: the same request during a single call.
    ask.as_object_mut().unwrap().remove("path");
    let alone = call_as(&pool, &one, "ask", &ask).await.unwrap();
    assert_eq!(content(&alone)["result"]["action"], "accept");
    pool.shutdown().await;
}

#[tokio::test]
async fn time_of_the_client_does_not_count_against_the_call_and_cancelling_ends_it() {
    let pool = pool(with_call_timeout(asking(&[]), 2_000));
    let caller = RecordingObserver::thinking();
    let ask = question(FORM, json!({"message": "Who?"}));
    let cancel = CancellationToken::new();
    let context = CallContext::new(cancel.clone()).with_observer(Some(caller.clone()));
    let asked = pool.call(permit("asking", "ask", &ask.to_string()), context);
    let (outcome, ()) = tokio::join!(asked, async {
        eventually("the question arrives", || !caller.asked().is_empty()).await;
        let arrived = Instant::now();
        eventually("the limit has ended", || {
            arrived.elapsed() > Duration::from_millis(2_500)
        })
        .await;
        cancel.cancel();
    });
    assert!(matches!(outcome.unwrap_err(), UpstreamError::Cancelled));
    // The control: a call that only works is held to its limit.
    let slow = call(&pool, "asking", "wait", r#"{"ms":20000}"#).await;
    assert!(matches!(
        slow.unwrap_err(),
        UpstreamError::CallTimeout { ms: 2_000 }
    ));
    pool.shutdown().await;
}

#[tokio::test]
async fn a_request_that_the_server_withdraws_is_not_waited_for() {
    let pool = pool(asking(&["--era", "legacy"]));
    let caller = RecordingObserver::thinking();
    let asked = tempfile::tempdir().unwrap();
    let until = asked.path().join("asked");
    let arguments = json!({
        "method": FORM,
        "params": {"message": "Who?"},
        "until": until.to_str().unwrap(),
    });
    let (result, ()) = tokio::join!(call_as(&pool, &caller, "regret", &arguments), async {
        eventually("the question arrives", || !caller.asked().is_empty()).await;
        std::fs::write(&until, "").unwrap();
    });
    let value = content(&result.unwrap());
    assert_eq!(value["error"]["message"], "the request was cancelled");
    pool.shutdown().await;
}

#[tokio::test]
async fn rounds_of_input_are_answered_and_the_servers_state_comes_back_as_it_was() {
    let pool = pool(asking(&[]));
    let caller = RecordingObserver::saying(r#"{"action":"accept","content":{"n":1}}"#);
    let inputs = json!({
        "a": {"method": FORM, "params": {"message": "a?"}},
        "b": {"method": "roots/list"},
    });
    let arguments = json!({"rounds": 10, "inputs": inputs});
    let result = call_as(&pool, &caller, "rounds", &arguments).await.unwrap();
    let value = content(&result);
    assert_eq!(value["state"], "10: é\"\\ verbatim");
    assert_eq!(
        value["responses"]["a"],
        json!({"action": "accept", "content": {"n": 1}})
    );
    assert_eq!(value["arguments"], arguments);
    assert_eq!(caller.asked().len(), 20);

    let endless = json!({
        "rounds": 1_000_000,
        "inputs": {"a": {"method": FORM, "params": {"message": "a?"}}},
    });
    let error = call_as(&pool, &caller, "rounds", &endless)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("more than 10 times"), "{error}");
    // The question that no further request would answer was not asked.
    assert_eq!(caller.asked().len(), 30);
    pool.shutdown().await;
}

#[tokio::test]
async fn input_that_no_client_can_provide_fails_the_call_and_names_it() {
    let pool = pool(asking(&[]));
    let arguments =
        json!({"rounds": 1, "inputs": {"a": {"method": FORM, "params": {"message": "a?"}}}});
    let failed = call(&pool, "asking", "rounds", &arguments.to_string()).await;
    let error = failed
        .unwrap_err()
        .to_call_error(&ToolId::new("asking", "rounds"));
    assert_eq!(error.code, CallCode::InputRequired);
    assert!(error.message.contains("elicitation/create"), "{error}");
    assert!(error.hint.is_some() && !error.retryable);
    let silent = RecordingObserver::silent();
    let failed = call_as(&pool, &silent, "rounds", &arguments).await;
    assert!(matches!(
        failed.unwrap_err(),
        UpstreamError::InputNeeded { .. }
    ));
    pool.shutdown().await;
}

#[tokio::test]
async fn h18_a_server_that_asks_for_everything_gets_nothing_and_its_call_fails() {
    let spec = server(
        "hostile",
        "h18_server_initiated.py",
        &[],
        &[("HOSTILE_SCALE", "0.1")],
    );
    let pool = UpstreamPool::new(vec![with_call_timeout(spec, 5_000), healthy(&[])]);
    for _ in 0..3 {
        let (outcome, ()) =
            tokio::join!(call(&pool, "hostile", "echo", "{}"), healthy_answers(&pool));
        let error = outcome.unwrap_err();
        assert!(
            matches!(
                &error,
                UpstreamError::InputNeeded { .. } | UpstreamError::InvalidAnswer { .. }
            ),
            "{error}"
        );
    }
    assert!(pool.report(&"hostile".into()).traffic.questions_declined > 0);
    pool.shutdown().await;
}

#[tokio::test]
async fn a_task_is_polled_at_the_servers_pace_and_answers_like_a_call() {
    let pool = pool(asking(&[]));
    let caller = RecordingObserver::saying(r#"{"action":"accept","content":{}}"#);
    let done = call_as(&pool, &caller, "task", &json!({"polls": 3}))
        .await
        .unwrap();
    assert_eq!(content(&done), json!({"polls": 3, "responses": null}));

    let inputs = json!({"q": {"method": FORM, "params": {"message": "?"}}});
    let asks = json!({"polls": 2, "inputs": inputs});
    let done = call_as(&pool, &caller, "task", &asks).await.unwrap();
    assert_eq!(content(&done)["responses"]["q"]["action"], "accept");
    assert_eq!(caller.asked().len(), 1);

    let fails = json!({"polls": 1, "fails": true});
    let error = call_as(&pool, &caller, "task", &fails).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server answered with error -32001: out of paper"
    );
    pool.shutdown().await;
}

#[tokio::test]
async fn a_task_is_cancelled_when_its_call_ends_early() {
    let log = ServerLog::new();
    let pool = pool(with_call_timeout(asking(&["--log", &log.path()]), 400));
    let endless = r#"{"polls":1000000}"#;
    let error = call(&pool, "asking", "task", endless).await.unwrap_err();
    assert!(
        matches!(error, UpstreamError::CallTimeout { ms: 400 }),
        "{error}"
    );
    eventually("the server is notified", || {
        log.text().contains("tasks/cancel")
    })
    .await;
    let cancel = CancellationToken::new();
    let call = pool.call(
        permit("asking", "task", endless),
        CallContext::new(cancel.clone()),
    );
    let (outcome, ()) = tokio::join!(call, async {
        eventually("it is polled", || {
            log.text().matches("tasks/get").count() > 9
        })
        .await;
        cancel.cancel();
    });
    assert!(matches!(outcome.unwrap_err(), UpstreamError::Cancelled));
    eventually("the server is notified again", || {
        log.text().matches("tasks/cancel").count() == 2
    })
    .await;
    pool.shutdown().await;
}
