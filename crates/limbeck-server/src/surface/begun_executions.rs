//! News of executions that began for requests of one connection.
//!
//! A process that passes a client's messages on to this gateway has to know which execution a request became: if the
//! gateway is killed, it names the execution to its client.

use limbeck_domain::ExecutionId;
use rmcp::model::RequestId;
use tokio::sync::mpsc;

/// News that wait to be sent; a connection has fewer requests in flight. More are dropped.
const WAITING_MAX: usize = 1_024;

/// Where requests report the executions that begin for them.
#[derive(Clone, Debug)]
pub(crate) struct BegunExecutions(mpsc::Sender<(RequestId, ExecutionId)>);

impl BegunExecutions {
    pub(crate) fn channel() -> (Self, mpsc::Receiver<(RequestId, ExecutionId)>) {
        let (to, from) = mpsc::channel(WAITING_MAX);
        (Self(to), from)
    }

    pub(super) fn report(&self, request: &RequestId, execution: &ExecutionId) {
        let _ = self.0.try_send((request.clone(), execution.clone()));
    }
}
