//! Load limits and timeouts of the HTTP server.

use std::time::Duration;

use limbeck_domain::limits;

/// Time for the first head of a connection, which a client sends at once.
const FIRST_HEAD_MS: u64 = 2_000;
/// Open connections of one principal: as many as it may have requests in flight.
const CONNECTIONS_PER_PRINCIPAL_MAX: usize = 256;
/// Large bodies of one principal at the same time: one that stalls keeps its place for a minute.
pub(super) const LARGE_BODIES_PER_PRINCIPAL_MAX: usize = 4;
/// Bytes of bodies whose requests wait or run: 32 of the largest. Parsed, a request takes about three times as much.
const REQUEST_BYTES_MAX: usize = 32 * limits::HTTP_BODY_BYTES_MAX;
/// Of one principal: six of the largest, so four that are read find room beside those that wait for their turn.
const REQUEST_BYTES_PER_PRINCIPAL_MAX: usize = 6 * limits::HTTP_BODY_BYTES_MAX;
/// Bytes of answers that their clients have not read: 16 of the largest.
const ANSWER_BYTES_MAX: usize = 16 * limits::CALL_RESULT_BYTES_MAX;
/// Of one principal. As many bytes again may wait, of answers that servers and programs have given already.
const ANSWER_BYTES_PER_PRINCIPAL_MAX: usize = 4 * limits::CALL_RESULT_BYTES_MAX;

/// Load limits and timeouts; [`limits`] gives the reason of each default. Outside of tests no number is above it.
#[derive(Clone, Copy, Debug)]
pub struct HttpBounds {
    /// Time for the first head of a connection to arrive.
    pub first_head: Duration,
    /// Time for the head of a later request to arrive.
    pub head: Duration,
    /// Time for its body.
    pub body: Duration,
    /// Time that a client may leave a response unread, and that an answer waits for room.
    pub write_stall: Duration,
    /// Interval of keep-alive comments to a waiting client.
    pub keep_alive: Duration,
    /// Time for executions to end at shutdown.
    pub drain: Duration,
    /// Idle time after which a session is closed.
    pub session_idle: Duration,
    /// Open connections. A quarter is for those that have shown no token.
    pub connections: usize,
    /// Open connections of one principal.
    pub connections_each: usize,
    /// Requests in flight of one principal.
    pub requests_each: usize,
    /// Bytes of bodies whose requests wait or run.
    pub request_bytes: usize,
    /// Of one principal.
    pub request_bytes_each: usize,
    /// Bytes of answers that are made and not yet written.
    pub answer_bytes: usize,
    /// Of one principal.
    pub answer_bytes_each: usize,
    /// Open sessions.
    pub sessions: usize,
    /// Open sessions of one principal.
    pub sessions_each: usize,
    /// Principals with open sessions or requests.
    pub principals: usize,
}

impl Default for HttpBounds {
    fn default() -> Self {
        Self {
            first_head: Duration::from_millis(FIRST_HEAD_MS),
            head: Duration::from_millis(limits::HTTP_HEAD_MS),
            body: Duration::from_millis(limits::HTTP_BODY_MS),
            write_stall: Duration::from_millis(limits::HTTP_WRITE_STALL_MS),
            keep_alive: Duration::from_millis(limits::HTTP_KEEP_ALIVE_MS),
            drain: Duration::from_millis(limits::HTTP_DRAIN_MS),
            session_idle: Duration::from_millis(limits::HTTP_SESSION_IDLE_MS),
            connections: limits::HTTP_CONNECTIONS_MAX,
            connections_each: CONNECTIONS_PER_PRINCIPAL_MAX,
            requests_each: limits::HTTP_REQUESTS_PER_PRINCIPAL_MAX,
            request_bytes: REQUEST_BYTES_MAX,
            request_bytes_each: REQUEST_BYTES_PER_PRINCIPAL_MAX,
            answer_bytes: ANSWER_BYTES_MAX,
            answer_bytes_each: ANSWER_BYTES_PER_PRINCIPAL_MAX,
            sessions: limits::HTTP_SESSIONS_MAX,
            sessions_each: limits::HTTP_SESSIONS_PER_PRINCIPAL_MAX,
            principals: limits::HTTP_PRINCIPALS_MAX,
        }
    }
}
