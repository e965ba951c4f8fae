//! What servers report and ask on streams: it concerns the request the stream belongs to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use limbeck_domain::{EffectClass, ServerName, ToolId};
use limbeck_policy::{Scope, ToolCall, decide};
use limbeck_upstream::{
    Answers, Ask, CallContext, Caller, Declined, Pool, PoolEvent, PoolOptions, Progress,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc};
use tokio_util::sync::CancellationToken;

use crate::peer::{Peer, Reply, Seen, event, legacy, modern, result};
use crate::support::{http, spec};

/// Somebody who answers every question with a name, once everybody has been asked.
struct Person {
    name: &'static str,
    all_asked: Arc<Barrier>,
    heard: Mutex<Vec<f64>>,
}

impl Caller for Person {
    fn progress(&self, progress: Progress) {
        self.heard.lock().unwrap().push(progress.progress);
    }

    fn answers(&self) -> Answers {
        Answers::ALL
    }

    fn ask(&self, _: Ask) -> BoxFuture<'_, Result<Box<RawValue>, Declined>> {
        Box::pin(async {
            self.all_asked.wait().await;
            let answer = json!({"action": "accept", "content": {"name": self.name}});
            Ok(RawValue::from_string(answer.to_string()).unwrap())
        })
    }
}

/// A server that asks on the stream of each call who it is, and answers the call with what it was told.
fn asking(
    seen: &Seen,
    waiting: &Mutex<HashMap<String, (Value, mpsc::UnboundedSender<String>)>>,
) -> Reply {
    if seen.rpc() == "tools/call" {
        let question = format!("q{}", seen.id());
        let (tx, rx) = mpsc::unbounded_channel();
        let token = &seen.body["params"]["_meta"]["progressToken"];
        for progress in [1, 2] {
            let params = json!({"progressToken": token, "progress": progress});
            let told =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            tx.send(event(&told)).unwrap();
        }
        let asked = json!({"jsonrpc": "2.0", "id": question, "method": "elicitation/create",
            "params": {"message": "Who?", "requestedSchema": {"type": "object"}}});
        tx.send(event(&asked)).unwrap();
        waiting.lock().unwrap().insert(question, (seen.id(), tx));
        return Reply::Events(rx);
    }
    let answered = seen.body["id"].as_str().unwrap_or_default();
    if let Some((call, tx)) = waiting.lock().unwrap().remove(answered) {
        let told = json!({"content": [], "structuredContent": seen.body["result"]});
        tx.send(event(&result(&call, &told))).unwrap();
        return Reply::status(202);
    }
    legacy(seen, "one")
}

#[tokio::test]
async fn questions_of_calls_side_by_side_reach_each_its_own_caller() {
    let waiting = Mutex::default();
    let peer = Peer::start(move |seen| asking(seen, &waiting)).await;
    let options = PoolOptions {
        declares: Answers::ALL,
    };
    let pool = Pool::with_options(vec![spec(http(&peer.url()))], &options);
    let all_asked = Arc::new(Barrier::new(3));
    let call = |name| {
        let person = Arc::new(Person {
            name,
            all_asked: all_asked.clone(),
            heard: Mutex::default(),
        });
        let call = ToolCall {
            tool: ToolId::new("web", "echo"),
            arguments: "{}".to_owned(),
            effect: EffectClass::Unknown,
        };
        let permit = decide(call, &Scope::everything()).unwrap();
        let context = CallContext::new(CancellationToken::new()).with_caller(Some(person.clone()));
        let pool = &pool;
        async move {
            let answer = pool.call(permit, context).await.unwrap();
            let value: Value = serde_json::from_str(answer.get()).unwrap();
            assert_eq!(*person.heard.lock().unwrap(), [1.0, 2.0], "{name}");
            value["structuredContent"]["content"]["name"].clone()
        }
    };
    let answers = tokio::join!(call("Ada"), call("Grace"), call("Edsger"));
    assert_eq!(answers, (json!("Ada"), json!("Grace"), json!("Edsger")));
    pool.shutdown().await;
}

#[tokio::test]
async fn changes_are_heard_on_the_stream_that_is_kept_open_for_them() {
    let streams = Arc::new(Mutex::new(Vec::new()));
    let peer = Peer::start({
        let streams = streams.clone();
        move |seen| match seen.rpc() {
            "server/discover" => Reply::json(&result(
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
                Reply::Events(rx)
            }
            _ => modern(seen),
        }
    })
    .await;
    let pool = Pool::new(vec![spec(http(&peer.url()))]);
    let mut events = pool.subscribe();
    let server = ServerName::from("web");
    pool.list_tools(&server).await.unwrap();
    let changed = PoolEvent::ToolsChanged { server };
    let heard = tokio::time::timeout(Duration::from_secs(10), events.recv()).await;
    assert_eq!(heard.unwrap().unwrap(), changed);
    // A stream that breaks is opened again.
    streams.lock().unwrap().clear();
    let heard = tokio::time::timeout(Duration::from_secs(10), events.recv()).await;
    assert_eq!(heard.unwrap().unwrap(), changed);
    assert_eq!(peer.count("subscriptions/listen"), 2);
    pool.shutdown().await;
}
