//! One upstream server: started when needed, shared by its callers, restarted after a failure.
//!
//! ```text
//! idle ─▶ starting ─▶ ready ─▶ (crashed) ─▶ starting …
//!            └──▶ failed, left alone for 1, 2, 4 … 60 s ─▶ starting …
//! ```
//!
//! A failed start, and a crash of a server that had not worked before, count as strikes; each strike doubles
//! the back-off time. A server that worked and then crashed is started again by the very next call. A crash under
//! calls of other principals counts against them ([`crashes`]). A server without calls for its idle timeout is
//! stopped; the next call starts it again.

mod breaker;
mod crashes;
mod lifecycle;
mod request_counter;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use limbeck_policy::{Permit, ReadPermit, ReadRequest, ToolCall};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call_context::CallContext;
use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::negotiate::Connector;
use crate::negotiate::cache::NegotiationCache;
use crate::negotiate::context::{ConnectContext, LastProcess};
use crate::negotiate::target::Target;
use crate::report::{ServerDiagnostics, ServerState, ToolList, TrafficCounts};
use crate::request_room::RequestRoom;
use crate::server_messages::NotificationSink;
use crate::spec::ServerSpec;
use crate::stdio::guard::ServerGuard;
use crate::sync::lock;
use crate::time::in_ms;
use crate::turns::{Turn, TurnQueue};
use crate::upstream::{RawResult, RawToolResult, Upstream};
use crate::upstream_request::UpstreamRequest;
use crate::watch::ResourceWatch;
use crate::watch::WatchedResources;
use crate::{input_rounds, subscription, tool_listing};
use breaker::{BreakerAdmission, CircuitBreakers};
use lifecycle::{LifecyclePhase, PendingStart, ServerLifecycle};
use request_counter::RequestCounter;

/// Shortest pause between two checks whether a server is idle.
const IDLE_LOOK: Duration = Duration::from_millis(20);
/// Lines and bytes of standard error in a report.
const REPORT_STDERR: (usize, usize) = (40, 8 << 10);

/// A server of the pool outside of this process.
pub(crate) struct UpstreamServer(Arc<Inner>);

struct Inner {
    spec: ServerSpec,
    connector: Connector,
    slots: TurnQueue,
    room: RequestRoom,
    load: RequestCounter,
    breakers: Mutex<CircuitBreakers>,
    life: Mutex<ServerLifecycle>,
    watched: WatchedResources,
}

impl UpstreamServer {
    pub(crate) fn new(
        spec: ServerSpec,
        target: Target,
        cache: Arc<NegotiationCache>,
        sink: Arc<NotificationSink>,
        guard: Arc<ServerGuard>,
    ) -> Self {
        let connector = Connector {
            target,
            cache,
            context: ConnectContext {
                start_timeout: spec.start_timeout,
                sink,
                closing: CancellationToken::new(),
                tracker: TaskTracker::new(),
                guard,
                last_process: Arc::default(),
            },
        };
        let slots = spec.concurrency.max(1);
        Self(Arc::new(Inner {
            spec,
            connector,
            // Calls that hang hold their slots for a minute; a quarter stays for other principals.
            slots: TurnQueue::new(slots, slots - slots / 4),
            room: RequestRoom::default(),
            load: RequestCounter::new(),
            breakers: Mutex::default(),
            watched: WatchedResources::default(),
            life: Mutex::new(ServerLifecycle::new()),
        }))
    }

    /// Whether nothing is lost when the server is dropped: it has no connection and no request.
    pub(crate) fn is_unused(&self) -> bool {
        let has_connection = matches!(
            lock(&self.0.life).phase,
            LifecyclePhase::Starting(_) | LifecyclePhase::Ready(_)
        );
        !has_connection && self.0.load.idle_since().is_some()
    }

    /// Number of the open connection among all that there were; `None` without one.
    pub(crate) fn connection_number(&self) -> Option<u64> {
        lock(&self.0.life).connection_number()
    }

    /// Waits for a place of `principal` among the calls that the server serves at a time.
    pub(crate) async fn place(&self, principal: Option<&Arc<str>>) -> Turn {
        let _queued = self.0.load.queue();
        self.0.slots.take(principal).await
    }

    /// State of the server and its diagnostics.
    pub(crate) fn report(&self) -> ServerDiagnostics {
        let (state, last_error) = {
            let mut life = lock(&self.0.life);
            life.notice_crash();
            (life.state(), life.last_error.clone())
        };
        let name = &self.0.spec.name;
        let open = lock(&self.0.breakers).is_open(None, Instant::now());
        let (state, next_step) = match (state, open) {
            (ServerState::Ready { .. }, Some((retry_in, error))) => {
                let next_step = error.next_step(name);
                let error = error.full_text();
                (ServerState::BackingOff { retry_in, error }, next_step)
            }
            (state @ (ServerState::BackingOff { .. } | ServerState::Failed { .. }), _) => {
                let step = last_error.as_ref().and_then(|error| error.next_step(name));
                (state, step)
            }
            (state, _) => (state, None),
        };
        let (in_flight, queued) = self.0.load.now();
        let last_process = lock(&self.0.connector.context.last_process).clone();
        let (lines, bytes) = REPORT_STDERR;
        ServerDiagnostics {
            transport: self.0.spec.transport.as_str(),
            state,
            last_error: last_error.map(|error| error.full_text()),
            next_step,
            in_flight,
            queued,
            stderr_tail: last_process
                .as_ref()
                .and_then(|last_process| last_process.stderr.as_ref())
                .map_or_else(String::new, |stderr| stderr.tail(lines, bytes)),
            traffic: last_process
                .map_or_else(TrafficCounts::default, |LastProcess { pending, .. }| {
                    pending.traffic()
                }),
        }
    }
}

impl Upstream for UpstreamServer {
    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>> {
        async {
            let mut counted = self.0.load.queue();
            counted.begin();
            let connection = self.0.connection(None).await?;
            match tool_listing::tools(&connection, &self.0.spec).await {
                // The connection was closed on purpose, so its end is no failure of the server.
                Err(_) if self.0.connector.context.closing.is_cancelled() => {
                    Err(UpstreamError::Stopped)
                }
                list => list,
            }
        }
        .boxed()
    }

    fn call(
        &self,
        permit: Permit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<RawToolResult, UpstreamError>> {
        let ToolCall {
            tool, arguments, ..
        } = permit.spend();
        async move {
            let request = UpstreamRequest::Tool {
                name: tool.tool.to_string(),
                arguments: arguments.into_raw(),
                key: context.key.clone(),
            };
            self.0.send(&request, &context).await.map(RawToolResult)
        }
        .boxed()
    }

    fn request(
        &self,
        permit: ReadPermit,
        context: CallContext,
    ) -> BoxFuture<'_, Result<RawResult, UpstreamError>> {
        let ReadRequest { method, params, .. } = permit.spend();
        async move {
            let request = UpstreamRequest::Read { method, params };
            self.0.send(&request, &context).await.map(RawResult)
        }
        .boxed()
    }

    fn watch(&self, uri: String) -> BoxFuture<'_, Result<ResourceWatch, UpstreamError>> {
        async move {
            let watch = self.0.watched.watch(uri);
            self.0.connection(None).await?;
            Ok(watch)
        }
        .boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            lock(&self.0.life).phase = LifecyclePhase::Stopped;
            let context = &self.0.connector.context;
            context.closing.cancel();
            context.tracker.close();
            context.tracker.wait().await;
        }
        .boxed()
    }
}

impl Drop for UpstreamServer {
    fn drop(&mut self) {
        self.0.connector.context.closing.cancel();
    }
}

impl Inner {
    /// Sends a request when a slot is free, connecting first when needed, and waits for its result.
    async fn send(
        self: &Arc<Self>,
        request: &UpstreamRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let mut counted = self.load.queue();
        let ready = async {
            // First the slot, then the breaker: a call may wait long for a slot, and the breaker must judge at
            // the time of sending.
            let principal = context.principal.as_ref();
            // The caller holds a place, unless the server was replaced by one with places of its own since.
            let held = context.place.as_ref();
            let slot = match held.is_some_and(|place| place.is_of(&self.slots)) {
                true => None,
                false => Some(self.slots.take(principal).await),
            };
            let room = self.room.take(principal, request.bytes()).await;
            let attempt = BreakerPermit::admit(self, context.principal.clone())?;
            counted.begin();
            let connection = self.connection(principal).await?;
            Ok::<_, UpstreamError>((slot, room, attempt, connection))
        };
        // Waiting for a slot or a start does not count against the time limit of the call.
        let (_slot, room, attempt, connection) = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(UpstreamError::CancelledUnsent),
            () = context.pass.voided() => return Err(UpstreamError::CancelledUnsent),
            ready = ready => ready?,
        };
        let limit = self.spec.call_timeout;
        let send = || {
            connection.begin_call(context.principal.as_ref());
            input_rounds::send(&connection, request, limit, context, room)
        };
        let Some(answer) = context.pass.hand_over(send).await else {
            return Err(UpstreamError::CancelledUnsent);
        };
        if is_answer(&answer) {
            connection.end_call(context.principal.as_ref());
        }
        attempt.ended(answer.as_ref().map(drop));
        answer
    }

    /// Returns the open connection for a call of `principal`; starts the server, or joins a start in progress, when
    /// there is not one.
    async fn connection(
        self: &Arc<Self>,
        principal: Option<&Arc<str>>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let start = {
            // Checked under the lock: two callers must not start two processes.
            let mut life = lock(&self.life);
            life.notice_crash();
            // Before the phase: the calls of others may have started the server again.
            if let Some((retry_in, error)) = life.crashes.left_alone(principal, Instant::now()) {
                return Err(UpstreamError::BackingOff {
                    retry_in_ms: in_ms(retry_in),
                    error,
                });
            }
            match &life.phase {
                LifecyclePhase::Ready(connection) => return Ok(connection.clone()),
                LifecyclePhase::Stopped => return Err(UpstreamError::Stopped),
                LifecyclePhase::Starting(start) => start.clone(),
                LifecyclePhase::Failed { until, error } if *until > Instant::now() => {
                    return Err(UpstreamError::BackingOff {
                        retry_in_ms: in_ms(until.duration_since(Instant::now())),
                        error: error.clone(),
                    });
                }
                LifecyclePhase::Idle | LifecyclePhase::Failed { .. } => {
                    let start = self.clone().start();
                    life.phase = LifecyclePhase::Starting(start.clone());
                    start
                }
            }
        };
        start.await
    }

    /// Starts the server in its own task, so that a caller that is cancelled does not cancel the start for the
    /// others.
    fn start(self: Arc<Self>) -> PendingStart {
        let (tx, rx) = oneshot::channel();
        let tracker = self.connector.context.tracker.clone();
        tracker.spawn(async move {
            // A shutdown must not wait for a start that may take a minute.
            let connected = tokio::select! {
                connected = self.connector.connect() => {
                    connected.map(Arc::new).map_err(|error| self.for_callers(error))
                }
                () = self.connector.context.closing.cancelled() => Err(UpstreamError::Stopped),
            };
            // State first, then the waiting callers: the next caller must find the connection.
            lock(&self.life).started(&connected);
            if let Ok(connection) = &connected {
                self.attend(connection);
            }
            let _ = tx.send(connected);
        });
        let outcome = async { rx.await.unwrap_or(Err(UpstreamError::Stopped)) };
        outcome.boxed().shared()
    }
}

impl Inner {
    /// The error of a start as callers read it. Paths of the host are for the log where several principals make calls.
    fn for_callers(&self, error: UpstreamError) -> UpstreamError {
        if !self.connector.context.sink.is_shared {
            return error;
        }
        tracing::warn!(server = %self.spec.name, error = %error.full_text(), "a server did not start");
        error.without_paths()
    }

    /// Starts the background tasks of a connection.
    fn attend(self: &Arc<Self>, connection: &Arc<Connection>) {
        let tracker = &self.connector.context.tracker;
        tracker.spawn(subscription::keep(connection.clone(), self.watched.clone()));
        if let Some(idle) = self.spec.idle_timeout {
            tracker.spawn(self.clone().stop_when_idle(connection.clone(), idle));
        }
    }

    async fn stop_when_idle(self: Arc<Self>, connection: Arc<Connection>, idle: Duration) {
        loop {
            // A server with watched resources is in use, even without calls.
            tokio::select! {
                () = self.watched.nothing() => {}
                () = connection.closed() => return,
            }
            let since = self.load.idle_since().unwrap_or_else(Instant::now);
            let left = idle.saturating_sub(since.elapsed());
            if left.is_zero() && self.retire(&connection) {
                return;
            }
            tokio::select! {
                // Check again soon when a call is in flight.
                () = sleep(left.max(IDLE_LOOK)) => {}
                () = connection.closed() => return,
            }
        }
    }

    /// Stops the connection unless a call uses it.
    fn retire(&self, connection: &Arc<Connection>) -> bool {
        let mut life = lock(&self.life);
        // A call that arrives now has been counted already and waits for this lock; then it finds no connection
        // and starts a new one.
        if self.load.idle_since().is_none() {
            return false;
        }
        if matches!(&life.phase, LifecyclePhase::Ready(ready) if Arc::ptr_eq(ready, connection)) {
            life.phase = LifecyclePhase::Idle;
        }
        // Closing wakes tasks that take the lock.
        drop(life);
        connection.close();
        true
    }
}

/// Whether the server is done with a call: it is not while the call may still have an effect there.
fn is_answer(answer: &Result<Box<RawValue>, UpstreamError>) -> bool {
    !matches!(
        answer,
        Err(UpstreamError::ConnectionLost { .. }
            | UpstreamError::CallTimeout { .. }
            | UpstreamError::Cancelled)
    )
}

/// Permission of the circuit breaker for one call. Dropping it reports the call as cancelled.
struct BreakerPermit<'a> {
    inner: &'a Inner,
    principal: Option<Arc<str>>,
    admission: Option<BreakerAdmission>,
}

impl<'a> BreakerPermit<'a> {
    fn admit(inner: &'a Inner, principal: Option<Arc<str>>) -> Result<Self, UpstreamError> {
        let admission = lock(&inner.breakers).admit(principal.as_ref(), Instant::now())?;
        Ok(Self {
            inner,
            principal,
            admission: Some(admission),
        })
    }

    fn record(&self, admission: BreakerAdmission, outcome: Option<Result<(), &UpstreamError>>) {
        let mut breakers = lock(&self.inner.breakers);
        breakers.ended(self.principal.as_ref(), admission, outcome, Instant::now());
    }

    fn ended(mut self, outcome: Result<(), &UpstreamError>) {
        let Some(admission) = self.admission.take() else {
            return;
        };
        self.record(admission, Some(outcome));
        if let Err(
            error @ (UpstreamError::CallTimeout { .. } | UpstreamError::InvalidAnswer { .. }),
        ) = outcome
        {
            lock(&self.inner.life).last_error = Some(Arc::new(error.clone()));
        }
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.record(admission, None);
        }
    }
}
