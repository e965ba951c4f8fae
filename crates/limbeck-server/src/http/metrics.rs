//! Metrics in Prometheus' text format, and counters of rejected requests.
//!
//! No label comes from outside: metrics name no server, tool, principal or address.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::clients::PrincipalClients;
use crate::answer_room::AnswerRoom;
use limbeck_gateway::Gateway;
use limbeck_gateway::counters::DurationCounts;

/// Minimum interval between log lines about rejected requests.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Reason why a request was rejected before it had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// `Host` or `Origin`.
    Name,
    /// A missing or invalid token.
    Token,
    /// Too many principals or requests in flight.
    TooMany,
    /// Method, path, content type, size or form.
    Form,
    /// A failed TLS handshake.
    Tls,
    /// A connection that was closed to make room for another, or because its client did not read.
    Place,
}

impl RefusalReason {
    const ALL: [Self; 6] = [
        Self::Name,
        Self::Token,
        Self::TooMany,
        Self::Form,
        Self::Tls,
        Self::Place,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Token => "token",
            Self::TooMany => "too_many",
            Self::Form => "form",
            Self::Tls => "tls",
            Self::Place => "place",
        }
    }
}

/// Counters of the HTTP server.
#[derive(Debug, Default)]
pub(crate) struct HttpMetrics {
    pub(crate) connections: AtomicU64,
    pub(crate) requests: AtomicU64,
    refused: [AtomicU64; RefusalReason::ALL.len()],
    log: Mutex<RefusalLog>,
}

#[derive(Debug, Default)]
struct RefusalLog {
    last: Option<Instant>,
    unlogged: u64,
}

impl HttpMetrics {
    /// Counts a rejected request and logs it, at most once in [`LOG_EVERY`]: every client can cause them.
    pub(crate) fn refused(&self, refusal: RefusalReason) {
        self.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.unlogged += 1;
        if log.last.is_some_and(|last| last.elapsed() < LOG_EVERY) {
            return;
        }
        let since_last = std::mem::take(&mut log.unlogged);
        log.last = Some(Instant::now());
        drop(log);
        tracing::warn!(
            reason = refusal.as_str(),
            since_last,
            "a request over HTTP was refused"
        );
    }

    /// The response body of `/metrics`.
    pub(crate) fn text(
        &self,
        gateway: &Gateway,
        clients: &PrincipalClients,
        answers: &AnswerRoom,
    ) -> String {
        let (running, queued) = gateway.load();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let refused = RefusalReason::ALL.map(|refusal| {
            let counter = &self.refused[refusal as usize];
            (refusal.as_str(), count(counter))
        });
        let mut text = Text::default();
        text.family(
            "limbeck_executions_total",
            "counter",
            "Executions that ended",
        );
        text.labelled("status", gateway.counters().executions());
        text.family(
            "limbeck_execution_seconds",
            "histogram",
            "Time from the request of an execution to its answer",
        );
        text.histogram(&gateway.counters().execution_durations());
        text.family(
            "limbeck_calls_total",
            "counter",
            "Calls of programs that were answered",
        );
        text.labelled("outcome", gateway.counters().calls());
        text.family(
            "limbeck_call_seconds",
            "histogram",
            "Time from a program's call to its answer",
        );
        text.histogram(&gateway.counters().call_durations());
        text.family(
            "limbeck_executions_running",
            "gauge",
            "Executions that run, each in a worker",
        );
        text.value(running as u64);
        text.family(
            "limbeck_executions_queued",
            "gauge",
            "Executions that wait for a place",
        );
        text.value(queued as u64);
        text.family("limbeck_http_requests_total", "counter", "HTTP requests");
        text.value(count(&self.requests));
        text.family(
            "limbeck_http_refused_total",
            "counter",
            "HTTP requests turned away",
        );
        text.labelled("reason", refused);
        text.family(
            "limbeck_http_requests_open",
            "gauge",
            "HTTP requests in flight",
        );
        text.value(clients.requests() as u64);
        text.family(
            "limbeck_http_answer_bytes",
            "gauge",
            "Bytes of large answers that are not yet written",
        );
        text.value(answers.held() as u64);
        text.family("limbeck_http_connections", "gauge", "HTTP connections");
        text.value(count(&self.connections));
        text.family(
            "limbeck_http_sessions",
            "gauge",
            "Sessions of older protocol revisions",
        );
        text.value(clients.sessions() as u64);
        text.text
    }
}

#[derive(Default)]
struct Text {
    text: String,
    name: &'static str,
}

impl Text {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, value: u64) {
        let _ = writeln!(self.text, "{} {value}", self.name);
    }

    fn histogram(&mut self, durations: &DurationCounts) {
        let name = self.name;
        let mut bucket = |bound: &str, count: u64| {
            let _ = writeln!(self.text, "{name}_bucket{{le=\"{bound}\"}} {count}");
        };
        for (bound, count) in durations.cumulative() {
            bucket(&bound.as_secs_f64().to_string(), count);
        }
        let (count, sum) = (durations.count(), durations.sum().as_secs_f64());
        bucket("+Inf", count);
        let _ = writeln!(self.text, "{name}_sum {sum}\n{name}_count {count}");
    }

    fn labelled(&mut self, label: &str, values: impl IntoIterator<Item = (&'static str, u64)>) {
        for (name, value) in values {
            let _ = writeln!(self.text, "{}{{{label}=\"{name}\"}} {value}", self.name);
        }
    }
}
