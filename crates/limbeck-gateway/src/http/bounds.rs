//! How much the HTTP face takes on, and how long it waits.

use std::time::Duration;

use limbeck_domain::limits;

/// Bounds with reasons in [`limits`]; every number at most what it says there, but in tests.
#[derive(Clone, Copy, Debug)]
pub struct HttpBounds {
    /// Time for the head of a request to arrive.
    pub head: Duration,
    /// Time for its body.
    pub body: Duration,
    /// Time a client may not read what it asked for.
    pub write_stall: Duration,
    /// Time between two signs of life for a client that waits.
    pub sign_of_life: Duration,
    /// Time for executions to end.
    pub drain: Duration,
    /// Time after which a session without a message is ended.
    pub session_idle: Duration,
    /// Connections.
    pub connections: usize,
    /// Requests of one principal.
    pub requests_each: usize,
    /// Sessions.
    pub sessions: usize,
    /// Sessions of one principal.
    pub sessions_each: usize,
    /// Principals.
    pub principals: usize,
}

impl Default for HttpBounds {
    fn default() -> Self {
        Self {
            head: Duration::from_millis(limits::HTTP_HEAD_MS),
            body: Duration::from_millis(limits::HTTP_BODY_MS),
            write_stall: Duration::from_millis(limits::HTTP_WRITE_STALL_MS),
            sign_of_life: Duration::from_millis(limits::HTTP_KEEP_ALIVE_MS),
            drain: Duration::from_millis(limits::HTTP_DRAIN_MS),
            session_idle: Duration::from_millis(limits::HTTP_SESSION_IDLE_MS),
            connections: limits::HTTP_CONNECTIONS_MAX,
            requests_each: limits::HTTP_REQUESTS_PER_PRINCIPAL_MAX,
            sessions: limits::HTTP_SESSIONS_MAX,
            sessions_each: limits::HTTP_SESSIONS_PER_PRINCIPAL_MAX,
            principals: limits::HTTP_PRINCIPALS_MAX,
        }
    }
}
