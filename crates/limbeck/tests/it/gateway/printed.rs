//! Text that a program prints reaches its caller while it runs.

use std::sync::Arc;

use futures::future::BoxFuture;
use limbeck_domain::ExecutionStatus;
use limbeck_testkit::{World, request};
use limbeck_upstream::{
    CallContext, CallObserver, ClientCapabilities, DeclinedError, PrintedStream, ProgressUpdate,
    ServerRequest,
};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

struct Caller(mpsc::UnboundedSender<(PrintedStream, String)>);

impl CallObserver for Caller {
    fn progress(&self, _: ProgressUpdate) {}

    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::NONE
    }

    fn request(&self, _: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
        Box::pin(async { Err(DeclinedError::new("no client")) })
    }

    fn printed(&self, stream: PrintedStream, line: &str) {
        let _ = self.0.send((stream, line.to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_arrive_before_the_program_ends_and_are_in_the_envelope_too() {
    let gateway = World::new(worker()).start().await;
    let (lines, mut printed) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    let context = CallContext::new(cancel.clone()).with_observer(Some(Arc::new(Caller(lines))));
    let program = "console.log('start'); console.error('why'); await new Promise(done => setTimeout(done, 50_000));";
    let running = gateway.execute(request(program), context);
    let seen = async {
        let first = printed.recv().await;
        let second = printed.recv().await;
        // The program waits for its timer, so it ends by this cancel alone.
        cancel.cancel();
        [first, second]
    };
    let (envelope, seen) = tokio::join!(running, seen);
    let expected = [
        (PrintedStream::Stdout, "start".to_owned()),
        (PrintedStream::Stderr, "why".to_owned()),
    ];
    assert_eq!(seen, expected.map(Some));
    assert_eq!(envelope.status, ExecutionStatus::Cancelled);
    assert_eq!((&*envelope.stdout, &*envelope.stderr), ("start\n", "why\n"));
    gateway.shutdown().await;
}
