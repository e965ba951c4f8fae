//! What `/metrics` says, in Prometheus' text format, and the refusals it counts.
//!
//! No label comes from outside: no server, tool, principal or address has a part in it.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::clients::Clients;
use crate::Gateway;

/// Refusals are told of at most this often, however many there are.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// Why a request was turned away before it did anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its `Host` or `Origin`.
    Name,
    /// Its token, or none.
    Token,
    /// There is too much under way.
    TooMany,
    /// Its method, path, content type, size or form.
    Form,
    /// Its TLS handshake.
    Tls,
}

impl Refusal {
    const ALL: [Self; 5] = [
        Self::Name,
        Self::Token,
        Self::TooMany,
        Self::Form,
        Self::Tls,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Token => "token",
            Self::TooMany => "too_many",
            Self::Form => "form",
            Self::Tls => "tls",
        }
    }
}

/// Counts of the HTTP face.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) connections: AtomicU64,
    pub(crate) requests: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    last: Option<Instant>,
    untold: u64,
}

impl Traffic {
    /// Counts a refusal, and tells of it unless that was done just now: anybody can cause them.
    pub(crate) fn refused(&self, refusal: Refusal) {
        self.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.untold += 1;
        if told.last.is_some_and(|last| last.elapsed() < TELL_EVERY) {
            return;
        }
        let since_last = std::mem::take(&mut told.untold);
        told.last = Some(Instant::now());
        drop(told);
        tracing::warn!(
            reason = refusal.as_str(),
            since_last,
            "a request over HTTP was refused"
        );
    }

    /// The whole text.
    pub(crate) fn text(&self, gateway: &Gateway, clients: &Clients) -> String {
        let shared = &gateway.shared;
        let (running, queued) = shared.admission.load();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let refused = Refusal::ALL.map(|refusal| {
            let counter = &self.refused[refusal as usize];
            (refusal.as_str(), count(counter))
        });
        let mut text = Text::default();
        text.family(
            "limbeck_executions_total",
            "counter",
            "Executions that ended",
        );
        text.labelled("status", shared.counters.executions());
        text.family(
            "limbeck_calls_total",
            "counter",
            "Calls of programs that were answered",
        );
        text.labelled("outcome", shared.counters.calls());
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
            "HTTP requests under way",
        );
        text.value(clients.requests() as u64);
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

    fn labelled(&mut self, label: &str, values: impl IntoIterator<Item = (&'static str, u64)>) {
        for (name, value) in values {
            let _ = writeln!(self.text, "{}{{{label}=\"{name}\"}} {value}", self.name);
        }
    }
}
