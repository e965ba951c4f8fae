//! More requests than there are places: a bounded queue, an immediate rejection, and places for every principal.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use limbeck_domain::limits::{
    COMPUTED_PER_PRINCIPAL_MAX, EXECUTIONS_PER_PRINCIPAL_MAX, EXECUTIONS_QUEUED_PER_PRINCIPAL_MAX,
};
use limbeck_domain::{Envelope, ErrorKind, Mode};
use limbeck_gateway::Gateway;
use limbeck_testkit::{FakeServer, World, request, value_of};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

const REQUESTS: usize = 500;
/// Requests of one principal that are running or queued at the same time.
const PLACES: usize = EXECUTIONS_PER_PRINCIPAL_MAX + EXECUTIONS_QUEUED_PER_PRINCIPAL_MAX;
/// Program of the flood: it ends when the gate of [`gated_server`] is opened.
const HELD: &str = "return await tools.t.hold({})";

async fn execute_as(gateway: &Gateway, principal: &str, program: &str) -> Envelope {
    let mut request = request(program);
    principal.clone_into(&mut request.principal);
    gateway.execute(request, CancellationToken::new()).await
}

fn is_busy(envelope: &Envelope) -> bool {
    let error = envelope.error.as_ref();
    error.is_some_and(|error| error.kind == ErrorKind::Busy)
}

/// A server whose tool `hold` returns once the gate is closed for good, and whose tool `echo` returns at once.
fn gated_server() -> (Arc<FakeServer>, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let server = FakeServer::new("t")
        .read("echo", |arguments| arguments)
        .tool("hold", Some(true), move |_| {
            let opened = Arc::clone(&opened);
            Box::pin(async move {
                // A closed semaphore lets every waiter go.
                let _ = opened.acquire().await;
                json!({"content": [], "structuredContent": 1})
            })
        })
        .share();
    (server, gate)
}

/// Sends [`REQUESTS`] of one principal at once; each answer arrives on the channel.
fn flood(gateway: &Gateway) -> UnboundedReceiver<Envelope> {
    let (answers, received) = unbounded_channel();
    for _ in 0..REQUESTS {
        let (gateway, answers) = (gateway.clone(), answers.clone());
        tokio::spawn(async move {
            let envelope = execute_as(&gateway, "greedy", HELD).await;
            answers.send(envelope).unwrap();
        });
    }
    received
}

#[tokio::test(flavor = "multi_thread")]
async fn of_five_hundred_requests_as_many_as_fit_are_served_and_the_rest_rejected_before_any_ends()
{
    let (server, gate) = gated_server();
    let gateway = World::new(worker()).server(&server).start().await;
    let mut answers = flood(&gateway);
    // No program can end before the gate is open, so these answers did not wait for one.
    for _ in 0..REQUESTS - PLACES {
        let envelope = answers.recv().await.unwrap();
        assert!(is_busy(&envelope), "{envelope:?}");
        let error = envelope.error.unwrap();
        assert!(
            error.message.contains("waiting") && error.hint.is_some(),
            "{error:?}"
        );
    }
    gate.close();
    for _ in 0..PLACES {
        assert_eq!(value_of(&answers.recv().await.unwrap()), json!(1));
    }
    assert!(answers.recv().await.is_none());
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_is_served_while_another_has_taken_all_of_its_places() {
    let (server, gate) = gated_server();
    let gateway = World::new(worker()).server(&server).start().await;
    let mut answers = flood(&gateway);
    for _ in 0..REQUESTS - PLACES {
        assert!(is_busy(&answers.recv().await.unwrap()));
    }
    let program = "return await tools.t.echo({ n: 1 })";
    for _ in 0..15 {
        let envelope = execute_as(&gateway, "polite", program).await;
        assert_eq!(value_of(&envelope), json!({"n": 1}));
    }
    // The control: the other client still holds every place it can have.
    let envelope = execute_as(&gateway, "greedy", program).await;
    assert!(is_busy(&envelope), "{envelope:?}");
    let held = server.calls().iter().filter(|tool| *tool == "hold").count();
    assert!(held <= EXECUTIONS_PER_PRINCIPAL_MAX, "{held} at once");
    gate.close();
    for _ in 0..PLACES {
        assert_eq!(value_of(&answers.recv().await.unwrap()), json!(1));
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_principal_is_served_while_two_hold_all_the_places_that_they_may() {
    let (server, gate) = gated_server();
    let gateway = World::new(worker()).server(&server).start().await;
    let mut requests = Vec::new();
    // The first alone has as many places as one may have, the second half of those that are left.
    for (principal, expected) in [("first", (16, 0)), ("second", (20, 12))] {
        for _ in 0..EXECUTIONS_PER_PRINCIPAL_MAX {
            let gateway = gateway.clone();
            let request = async move { execute_as(&gateway, principal, HELD).await };
            requests.push(tokio::spawn(request));
        }
        let known = || gateway.load().0 + gateway.load().1;
        while known() < requests.len() {
            tokio::task::yield_now().await;
        }
        assert_eq!(gateway.load(), expected);
    }
    let third = execute_as(&gateway, "third", "return await tools.t.echo({ n: 1 })").await;
    assert_eq!(value_of(&third), json!({"n": 1}));
    // The control: the others go on with what they have queued.
    gate.close();
    for request in requests {
        assert_eq!(value_of(&request.await.unwrap()), json!(1));
    }
    gateway.shutdown().await;
}

/// Takes the places that `principal` has for work of the gateway. They are free again when the senders are dropped.
async fn hold_computing(gateway: &Gateway, principal: &str) -> Vec<Sender<()>> {
    let gateway = gateway.clone().used_by(&principal.into());
    let mut gates = Vec::new();
    for _ in 0..COMPUTED_PER_PRINCIPAL_MAX {
        let (gate, opened) = channel::<()>();
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let held = gateway.compute(move || {
                begun.send(()).unwrap();
                // An error: the sender was dropped.
                let _ = opened.recv();
            });
            held.await.unwrap();
        });
        has_begun.await.unwrap();
        gates.push(gate);
    }
    gates
}

/// What the gateway computes for a program: a search, listings, suggestions, the check of its calls and a large answer.
const COMPUTED: [&str; 3] = [
    "const [hit] = await search('echo'); \
     const all = await describe('t'); \
     const error = await describe('t', 'ecko').catch(error => error); \
     return [hit.tool, all.tools.length, error.code, (await servers()).length]",
    "try { await tools.t.ecko({}) } catch (error) { return error.code }",
    "return 'a '.repeat(50_000)",
];

fn is_right(place: usize, envelope: &Envelope) -> bool {
    match place {
        0 => value_of(envelope) == json!(["echo", 2, "unknown_tool", 1]),
        1 => value_of(envelope) == json!("unknown_tool"),
        _ => envelope.error.is_none() && !envelope.artifacts.is_empty(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_gateway_computes_for_one_principal_does_not_wait_for_the_turns_of_another() {
    let (server, _gate) = gated_server();
    let gateway = World::new(worker()).server(&server).start().await;
    let gates = hold_computing(&gateway, "greedy").await;
    let waiting: Vec<_> = COMPUTED
        .into_iter()
        .map(|program| {
            let gateway = gateway.clone();
            tokio::spawn(async move { execute_as(&gateway, "greedy", program).await })
        })
        .collect();
    for (place, program) in COMPUTED.into_iter().enumerate() {
        let envelope = execute_as(&gateway, "polite", program).await;
        assert!(is_right(place, &envelope), "{program}: {envelope:?}");
    }
    let served = execute_as(&gateway, "polite", "return 3").await;
    assert_eq!(value_of(&served), json!(3));
    // The other has no answer yet, and gets all of them at its turns.
    assert!(!waiting.iter().any(|request| request.is_finished()));
    drop(gates);
    for (place, request) in waiting.into_iter().enumerate() {
        let envelope = request.await.unwrap();
        assert!(is_right(place, &envelope), "{envelope:?}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_waits_for_its_turn_ends_at_its_time_limit_and_leaves_the_queue() {
    let (server, _gate) = gated_server();
    let gateway = World::new(worker()).server(&server).start().await;
    let gates = hold_computing(&gateway, "greedy").await;
    let mut limited = request("await Promise.all([servers(), search('echo'), describe('t')])");
    "greedy".clone_into(&mut limited.principal);
    limited.timeout_ms = Some(2_000);
    let envelope = gateway.execute(limited, CancellationToken::new()).await;
    let error = envelope.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error:?}");
    // A few calls are checked at once; these take their turn.
    let mut checked = request(&"await tools.t.ecko({});".repeat(20));
    "greedy".clone_into(&mut checked.principal);
    checked.timeout_ms = Some(2_000);
    let cancel = CancellationToken::new();
    let examined = gateway.examine(checked.clone(), Mode::Check, &cancel).await;
    assert_eq!(examined.unwrap_err().kind, ErrorKind::Timeout);
    let error = gateway.execute(checked, cancel).await.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error:?}");
    assert_eq!(gateway.load(), (0, 0));
    drop(gates);
    // The control: the places are free.
    let envelope = execute_as(&gateway, "greedy", COMPUTED[0]).await;
    assert!(is_right(0, &envelope), "{envelope:?}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_has_a_place_among_the_programs_of_its_principal_until_it_ends() {
    let (server, _gate) = gated_server();
    let gateway = World::new(worker()).server(&server).start().await;
    let gates = hold_computing(&gateway, "greedy").await;
    let cancel = CancellationToken::new();
    let checks: Vec<_> = (0..=EXECUTIONS_PER_PRINCIPAL_MAX)
        .map(|_| {
            let (gateway, cancel) = (gateway.clone(), cancel.clone());
            let mut request = request("await tools.t.ecko({})");
            "greedy".clone_into(&mut request.principal);
            tokio::spawn(async move { gateway.examine(request, Mode::Check, &cancel).await })
        })
        .collect();
    while gateway.load() != (EXECUTIONS_PER_PRINCIPAL_MAX, 1) {
        tokio::task::yield_now().await;
    }
    let served = execute_as(&gateway, "polite", "return await tools.t.echo({ n: 1 })").await;
    assert_eq!(value_of(&served), json!({"n": 1}));
    drop(gates);
    for check in checks {
        let examined = check.await.unwrap().unwrap();
        assert_eq!(examined.findings.errors.len(), 1, "{examined:?}");
    }
    assert_eq!(gateway.load(), (0, 0));
    gateway.shutdown().await;
}
