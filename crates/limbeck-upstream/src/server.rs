//! The life of one server: started when needed, once for everybody, again after a failure.
//!
//! ```text
//! idle ─▶ starting ─▶ ready ─▶ (crashed) ─▶ starting …
//!            └──▶ failed, left alone for 1, 2, 4 … 60 s ─▶ starting …
//! ```
//!
//! A start that fails and a crash of a server that had not proved itself are strikes, and each strike
//! doubles the time the server is left alone. A server that worked and then crashed is started again by
//! the very next call. One that nobody has used for a while is stopped; the next call starts it again.

mod life;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use limbeck_policy::{Permit, ReadPermit, ReadRequest, ToolCall};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::breaker::{Breaker, Leave};
use crate::connection::{Connection, in_ms};
use crate::era::{EraMemory, Launch, Target, Trace};
use crate::listener::Ears;
use crate::load::Load;
use crate::question::Question;
use crate::subscription::Watched;
use crate::sync::lock;
use crate::{
    CallContext, RawResult, RawToolResult, ServerReport, ServerSpec, ServerState, ToolList,
    Traffic, Upstream, UpstreamError, Watch, list, mrtr, subscription,
};
use life::{Life, Phase, Start};

/// Shortest time between two looks at whether a server is used.
const IDLE_LOOK: Duration = Duration::from_millis(20);
/// Lines and bytes of standard error in a report.
const REPORT_STDERR: (usize, usize) = (40, 8 << 10);

/// A server of the pool that lives outside of this process.
pub(crate) struct Server(Arc<Inner>);

struct Inner {
    spec: ServerSpec,
    launch: Launch,
    slots: Semaphore,
    load: Load,
    breaker: Mutex<Breaker>,
    life: Mutex<Life>,
    watched: Watched,
}

impl Server {
    pub(crate) fn new(
        spec: ServerSpec,
        target: Target,
        memory: Arc<EraMemory>,
        ears: Arc<Ears>,
    ) -> Self {
        let launch = Launch {
            target,
            start_timeout: spec.start_timeout,
            memory,
            ears,
            closing: CancellationToken::new(),
            tracker: TaskTracker::new(),
            trace: Arc::default(),
        };
        let slots = spec.concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner {
            spec,
            launch,
            slots: Semaphore::new(slots),
            load: Load::new(),
            breaker: Mutex::default(),
            watched: Watched::default(),
            life: Mutex::new(Life::new()),
        }))
    }

    /// Where the server stands and what it last said.
    pub(crate) fn report(&self) -> ServerReport {
        let (state, last_error) = {
            let mut life = lock(&self.0.life);
            life.notice_crash();
            (life.state(), life.last_error.clone())
        };
        let name = &self.0.spec.name;
        let open = lock(&self.0.breaker).is_open(Instant::now());
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
        let (under_way, queued) = self.0.load.now();
        let trace = lock(&self.0.launch.trace).clone();
        let (lines, bytes) = REPORT_STDERR;
        ServerReport {
            transport: self.0.spec.transport.as_str(),
            state,
            last_error: last_error.map(|error| error.full_text()),
            next_step,
            under_way,
            queued,
            stderr_tail: trace
                .as_ref()
                .and_then(|trace| trace.stderr.as_ref())
                .map_or_else(String::new, |stderr| stderr.tail(lines, bytes)),
            traffic: trace.map_or_else(Traffic::default, |Trace { tap, .. }| tap.traffic()),
        }
    }
}

impl Upstream for Server {
    fn list_tools(&self) -> BoxFuture<'_, Result<ToolList, UpstreamError>> {
        async {
            let mut counted = self.0.load.queue();
            counted.begin();
            let connection = self.0.connection().await?;
            list::tools(&connection, &self.0.spec).await
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
            let question = Question::Tool {
                name: tool.tool.to_string(),
                arguments: one_line_object(arguments)?,
            };
            self.0.ask(&question, &context).await.map(RawToolResult)
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
            let question = Question::Read { method, params };
            self.0.ask(&question, &context).await.map(RawResult)
        }
        .boxed()
    }

    fn watch(&self, uri: String) -> BoxFuture<'_, Result<Watch, UpstreamError>> {
        async move {
            let watch = self.0.watched.watch(uri);
            self.0.connection().await?;
            Ok(watch)
        }
        .boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            lock(&self.0.life).phase = Phase::Stopped;
            let launch = &self.0.launch;
            launch.closing.cancel();
            launch.tracker.close();
            launch.tracker.wait().await;
        }
        .boxed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.launch.closing.cancel();
    }
}

impl Inner {
    /// Asks the server when it is its turn, whatever it takes to get an answer.
    async fn ask(
        self: &Arc<Self>,
        question: &Question,
        context: &CallContext,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let mut counted = self.load.queue();
        let ready = async {
            let slot = self.slots.acquire().await;
            let attempt = Attempt::admit(self)?;
            counted.begin();
            Ok::<_, UpstreamError>((slot, attempt, self.connection().await?))
        };
        // Neither waiting counts against the time of the call.
        let (_slot, attempt, connection) = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled),
            ready = ready => ready?,
        };
        let answer = mrtr::ask(&connection, question, self.spec.call_timeout, context).await;
        attempt.ended(answer.as_ref().map(drop));
        answer
    }

    /// The live connection; starts the server or joins a start under way when there is none.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        let start = {
            let mut life = lock(&self.life);
            life.notice_crash();
            match &life.phase {
                Phase::Ready(connection) => return Ok(connection.clone()),
                Phase::Stopped => return Err(UpstreamError::Stopped),
                Phase::Starting(start) => start.clone(),
                Phase::Failed { until, error } if *until > Instant::now() => {
                    return Err(UpstreamError::BackingOff {
                        retry_in_ms: in_ms(until.duration_since(Instant::now())),
                        error: error.clone(),
                    });
                }
                Phase::Idle | Phase::Failed { .. } => {
                    let start = self.clone().start();
                    life.phase = Phase::Starting(start.clone());
                    start
                }
            }
        };
        start.await
    }

    /// Starts the server in a task of its own, so that no caller who leaves takes it along.
    fn start(self: Arc<Self>) -> Start {
        let (tx, rx) = oneshot::channel();
        let tracker = self.launch.tracker.clone();
        tracker.spawn(async move {
            let connected = tokio::select! {
                connected = self.launch.connect() => connected.map(Arc::new),
                () = self.launch.closing.cancelled() => Err(UpstreamError::Stopped),
            };
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
    /// Starts what goes on beside the calls for as long as the connection stands.
    fn attend(self: &Arc<Self>, connection: &Arc<Connection>) {
        let tracker = &self.launch.tracker;
        tracker.spawn(subscription::keep(connection.clone(), self.watched.clone()));
        if let Some(idle) = self.spec.idle_timeout {
            tracker.spawn(self.clone().stop_when_idle(connection.clone(), idle));
        }
    }

    async fn stop_when_idle(self: Arc<Self>, connection: Arc<Connection>, idle: Duration) {
        loop {
            // One that is watched works, though nobody calls it.
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
                // One that is just being used is looked at again soon.
                () = sleep(left.max(IDLE_LOOK)) => {}
                () = connection.closed() => return,
            }
        }
    }

    /// Stops the connection unless somebody uses it.
    fn retire(&self, connection: &Arc<Connection>) -> bool {
        let mut life = lock(&self.life);
        // Whoever comes now is counted already and waits for the lock, then finds no connection.
        if self.load.idle_since().is_none() {
            return false;
        }
        if matches!(&life.phase, Phase::Ready(ready) if Arc::ptr_eq(ready, connection)) {
            life.phase = Phase::Idle;
        }
        drop(life);
        connection.close();
        true
    }
}

/// One call that the breaker let through. Dropping it says that the call was given up.
struct Attempt<'a> {
    inner: &'a Inner,
    leave: Option<Leave>,
}

impl<'a> Attempt<'a> {
    fn admit(inner: &'a Inner) -> Result<Self, UpstreamError> {
        let leave = Some(lock(&inner.breaker).admit(Instant::now())?);
        Ok(Self { inner, leave })
    }

    fn ended(mut self, outcome: Result<(), &UpstreamError>) {
        let Some(leave) = self.leave.take() else {
            return;
        };
        lock(&self.inner.breaker).ended(leave, Some(outcome), Instant::now());
        if let Err(
            error @ (UpstreamError::CallTimeout { .. } | UpstreamError::InvalidAnswer { .. }),
        ) = outcome
        {
            lock(&self.inner.life).last_error = Some(Arc::new(error.clone()));
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            lock(&self.inner.breaker).ended(leave, None, Instant::now());
        }
    }
}

/// The arguments as one line. A newline in valid JSON is white space and nothing else.
fn one_line_object(arguments: String) -> Result<Arc<RawValue>, UpstreamError> {
    let invalid = |reason: String| UpstreamError::InvalidArguments { reason };
    let line = if arguments.contains(['\n', '\r']) {
        arguments.replace(['\n', '\r'], " ")
    } else {
        arguments
    };
    let line = line.trim_ascii().to_owned();
    if !line.starts_with('{') {
        return Err(invalid("it does not begin with `{`".to_owned()));
    }
    let raw = RawValue::from_string(line).map_err(|error| invalid(error.to_string()))?;
    Ok(raw.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_one_line_and_must_be_an_object() {
        let line = one_line_object(" {\n \"a\":\r\n\"b\\n\"}".to_owned()).unwrap();
        assert_eq!(line.get(), "{  \"a\":  \"b\\n\"}");
        for bad in ["[]", "", "{\"a\":}", "{} {}"] {
            assert!(one_line_object(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
