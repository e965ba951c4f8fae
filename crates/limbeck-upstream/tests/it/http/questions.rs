//! Reports and questions of servers on streams: they concern the request that the stream belongs to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::{CompactArguments, EffectClass, ServerName, ToolId};
use limbeck_policy::{Facts, Policy, Scope, ToolCall, decide};
use limbeck_upstream::{
    CallContext, CallObserver, ClientCapabilities, DeclinedError, PoolEvent, PoolOptions,
    ProgressUpdate, ServerRequest, UpstreamPool,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc};
use tokio_util::sync::CancellationToken;

use crate::http::fake_server::{
    FakeReply, FakeServer, ReceivedRequest, event, legacy, modern, result,
};
use crate::http::support::{http, spec};

/// Observer that answers every request with a name, once all requests have arrived.
struct NamedUser {
    name: &'static str,
    all_asked: Arc<Barrier>,
    received: Mutex<Vec<f64>>,
}

impl CallObserver for NamedUser {
    fn progress(&self, progress: ProgressUpdate) {
        self.received.lock().unwrap().push(progress.progress);
    }

    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::ALL
    }

    fn request(&self, _: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
        Box::pin(async {
            self.all_asked.wait().await;
            let answer = json!({"action": "accept", "content": {"name": self.name}});
            Ok(RawValue::from_string(answer.to_string()).unwrap())
        })
    }
}

/// Server that sends a request on the stream of each call and returns the answer as its result.
fn asking(
    seen: &ReceivedRequest,
    waiting: &Mutex<HashMap<String, (Value, mpsc::UnboundedSender<String>)>>,
) -> FakeReply {
    if seen.rpc() == "tools/call" {
        let question = format!("q{}", seen.id());
        let (tx, rx) = mpsc::unbounded_channel();
        let token = &seen.body["params"]["_meta"]["progressToken"];
        for progress in [1, 2] {
            let params = json!({"progressToken": token, "progress": progress});
            let answer =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            tx.send(event(&answer)).unwrap();
        }
        let asked = json!({"jsonrpc": "2.0", "id": question, "method": "elicitation/create",
            "params": {"message": "Who?", "requestedSchema": {"type": "object"}}});
        tx.send(event(&asked)).unwrap();
        waiting.lock().unwrap().insert(question, (seen.id(), tx));
        return FakeReply::Events(rx);
    }
    let answered = seen.body["id"].as_str().unwrap_or_default();
    if let Some((call, tx)) = waiting.lock().unwrap().remove(answered) {
        let answer = json!({"content": [], "structuredContent": seen.body["result"]});
        tx.send(event(&result(&call, &answer))).unwrap();
        return FakeReply::status(202);
    }
    legacy(seen, "one")
}

#[tokio::test]
async fn requests_of_concurrent_calls_each_reach_their_own_observer() {
    let waiting = Mutex::default();
    let peer = FakeServer::start(move |seen| asking(seen, &waiting)).await;
    let options = PoolOptions {
        declares: ClientCapabilities::ALL,
        ..PoolOptions::default()
    };
    let pool = UpstreamPool::with_options(vec![spec(http(&peer.url()))], &options);
    let all_asked = Arc::new(Barrier::new(3));
    let call = |name| {
        let person = Arc::new(NamedUser {
            name,
            all_asked: all_asked.clone(),
            received: Mutex::default(),
        });
        let scope = Scope::everything();
        let facts = Facts {
            scope: &scope,
            policy: &Policy::default(),
            who: &[],
            now_us: 0,
        };
        let call = ToolCall {
            tool: ToolId::new("web", "echo"),
            arguments: CompactArguments::parse("{}").unwrap().0,
            effect: EffectClass::Unknown,
        };
        let permit = decide(call, &facts).unwrap();
        let context =
            CallContext::new(CancellationToken::new()).with_observer(Some(person.clone()));
        let pool = &pool;
        async move {
            let answer = pool.call(permit, context).await.unwrap();
            let value: Value = serde_json::from_str(answer.get()).unwrap();
            assert_eq!(*person.received.lock().unwrap(), [1.0, 2.0], "{name}");
            value["structuredContent"]["content"]["name"].clone()
        }
    };
    let answers = tokio::join!(call("Ada"), call("Grace"), call("Edsger"));
    assert_eq!(answers, (json!("Ada"), json!("Grace"), json!("Edsger")));
    pool.shutdown().await;
}

#[tokio::test]
async fn changes_are_received_on_the_stream_that_is_kept_open_for_them() {
    let streams = Arc::new(Mutex::new(Vec::new()));
    let peer = FakeServer::start({
        let streams = streams.clone();
        move |seen| match seen.rpc() {
            "server/discover" => FakeReply::json(&result(
                &seen.id(),
                &json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                    "capabilities": {"tools": {"listChanged": true}}, "cacheScope": "private",
                }),
            )),
            "subscriptions/listen" => {
                assert_eq!(
                    seen.body["params"]["notifications"],
                    json!({"toolsListChanged": true})
                );
                let meta = json!({"io.modelcontextprotocol/subscriptionId": seen.id()});
                let (tx, rx) = mpsc::unbounded_channel();
                let acknowledged = json!({"jsonrpc": "2.0",
                    "method": "notifications/subscriptions/acknowledged",
                    "params": {"_meta": meta, "notifications": {"toolsListChanged": true}}});
                tx.send(event(&acknowledged)).unwrap();
                let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                    "params": {"_meta": meta}});
                tx.send(event(&changed)).unwrap();
                streams.lock().unwrap().push(tx);
                FakeReply::Events(rx)
            }
            _ => modern(seen),
        }
    })
    .await;
    let pool = UpstreamPool::new(vec![spec(http(&peer.url()))]);
    let mut events = pool.subscribe();
    let server = ServerName::from("web");
    pool.list_tools(&server).await.unwrap();
    let changed = PoolEvent::ToolsChanged { server };
    let received = tokio::time::timeout(Duration::from_secs(10), events.recv()).await;
    assert_eq!(received.unwrap().unwrap(), changed);
    // A stream that breaks is opened again.
    streams.lock().unwrap().clear();
    let received = tokio::time::timeout(Duration::from_secs(10), events.recv()).await;
    assert_eq!(received.unwrap().unwrap(), changed);
    assert_eq!(peer.count("subscriptions/listen"), 2);
    pool.shutdown().await;
}
