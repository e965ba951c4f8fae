//! Progress, log messages and requests that a server sends during one call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use limbeck_domain::ServerName;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::call_observer::{CallObserver, PROGRESS_PER_SECOND, ProgressUpdate};
use crate::server_request::{DeclinedError, ServerRequest, ServerRequestKind};
use crate::sync::lock;

/// Requests of a server during one call; further ones are declined without asking the client.
pub(crate) const QUESTIONS_PER_CALL_MAX: u32 = 32;
/// Time in which all requests of one call must be answered. A person may be away from the screen.
const ANSWER_WITHIN: Duration = Duration::from_secs(300);
/// Longest `url` of an elicitation.
const URL_BYTES_MAX: usize = 4 << 10;
/// Shortest pause between two checks of a call's time limit.
const CLOCK_LOOK: Duration = Duration::from_millis(10);

/// Observer of one call, and the limits on what the server may send to it. Clones share both.
#[derive(Clone)]
pub(crate) struct CallFeedback(Arc<Inner>);

struct Inner {
    observer: Option<Arc<dyn CallObserver>>,
    ended: CancellationToken,
    state: Mutex<FeedbackState>,
}

#[derive(Default)]
struct FeedbackState {
    last_progress: Option<f64>,
    second: Option<Instant>,
    sent_in_second: u32,
    questions: u32,
    answer_time: AnswerTime,
}

/// Time in which the server waited for an answer of the client. It does not count against the call.
#[derive(Default)]
struct AnswerTime {
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

/// Result of passing on a progress notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressDelivery {
    /// Passed to the observer of the call.
    Delivered,
    /// Not passed on: above the rate, not increasing, or the call has no observer.
    Dropped,
}

impl CallFeedback {
    pub(crate) fn new(observer: Option<Arc<dyn CallObserver>>) -> Self {
        Self(Arc::new(Inner {
            observer,
            ended: CancellationToken::new(),
            state: Mutex::default(),
        }))
    }

    /// Ends the call: later messages about it are dropped and requests in flight are cancelled.
    pub(crate) fn end(&self) {
        self.0.ended.cancel();
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Passes progress to the observer, unless the numbers are invalid or above the rate.
    pub(crate) fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> ProgressDelivery {
        let Some(observer) = &self.0.observer else {
            return ProgressDelivery::Dropped;
        };
        // The server may still send progress for a call that was cancelled a moment ago.
        if self.is_ended() || !lock(&self.0.state).admit(progress, Instant::now()) {
            return ProgressDelivery::Dropped;
        }
        observer.progress(ProgressUpdate {
            progress,
            total: total.filter(|total| total.is_finite()),
            message,
        });
        ProgressDelivery::Delivered
    }

    /// Passes a log message to the observer, unless it is above the rate.
    pub(crate) fn log(&self, params: &RawValue) {
        let Some(observer) = &self.0.observer else {
            return;
        };
        if !self.is_ended() && lock(&self.0.state).within_rate(Instant::now()) {
            observer.log(params);
        }
    }

    /// Forwards a request of `server` to the observer of the call.
    ///
    /// # Errors
    ///
    /// [`DeclinedError`] with the reason: the client cannot answer, did not answer in time, or the call ended.
    pub(crate) async fn forward(
        &self,
        server: &ServerName,
        kind: ServerRequestKind,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, DeclinedError> {
        self.forward_one_of(server, kind, params, None, 1).await
    }

    /// Forwards one of `together` requests that the server sent in one result, under its `key`.
    ///
    /// # Errors
    ///
    /// [`DeclinedError`], for the reasons of [`CallFeedback::forward`].
    pub(crate) async fn forward_one_of(
        &self,
        server: &ServerName,
        kind: ServerRequestKind,
        params: Option<&RawValue>,
        key: Option<String>,
        together: usize,
    ) -> Result<Box<RawValue>, DeclinedError> {
        let observer = self.observer_for(kind)?;
        // Clients expect an object, also where the server sent no `params`.
        let params = match params {
            Some(params) => params.to_owned(),
            None => RawValue::from_string("{}".to_owned()).expect("two braces are an object"),
        };
        if kind == ServerRequestKind::ElicitationUrl {
            check_url(&params)?;
        }
        if !lock(&self.0.state).admit_request() {
            return Err(DeclinedError::new(format!(
                "more than {QUESTIONS_PER_CALL_MAX} requests during one call"
            )));
        }
        let request = ServerRequest {
            server: server.clone(),
            kind,
            key,
            together,
            params,
        };
        // The limit is shared by all requests of the call, or a server could extend a call without end.
        let within = ANSWER_WITHIN.saturating_sub(self.time_waited());
        // While the guard lives, the time limit of the call is suspended.
        let _waiting = self.start_answer_time();
        tokio::select! {
            biased;
            () = self.0.ended.cancelled() => Err(DeclinedError::new("the call has ended")),
            answer = timeout(within, observer.request(request)) => answer.unwrap_or_else(|_| {
                Err(DeclinedError::new(format!("no answer within {} s", ANSWER_WITHIN.as_secs())))
            }),
        }
    }

    fn observer_for(&self, kind: ServerRequestKind) -> Result<&dyn CallObserver, DeclinedError> {
        match self.0.observer.as_deref() {
            // The declared capabilities cover all clients together; this one may support less.
            Some(observer) if observer.capabilities().can(kind) => Ok(observer),
            Some(_) => Err(DeclinedError::new(format!(
                "the client that made the call does not support `{}`",
                kind.method()
            ))),
            None => Err(DeclinedError::new(
                "the call has no client that can be asked",
            )),
        }
    }

    fn start_answer_time(&self) -> AnswerTimeGuard<'_> {
        lock(&self.0.state).answer_time.begin();
        AnswerTimeGuard(self)
    }

    /// Time spent on answers of the client, at most [`ANSWER_WITHIN`].
    fn time_waited(&self) -> Duration {
        lock(&self.0.state).answer_time.elapsed().min(ANSWER_WITHIN)
    }

    /// Time the server has used since `started`: waiting for answers of the client is subtracted.
    pub(crate) fn server_time_since(&self, started: Instant) -> Duration {
        started.elapsed().saturating_sub(self.time_waited())
    }

    /// Returns when the server has used `limit` of its time since `started`.
    pub(crate) async fn time_out(&self, started: Instant, limit: Duration) {
        loop {
            let left = limit.saturating_sub(self.server_time_since(started));
            if left.is_zero() {
                return;
            }
            // The time left grows while the server waits for the client, so it is computed again after each
            // sleep. The minimum avoids a busy loop when little is left.
            sleep(left.max(CLOCK_LOOK)).await;
        }
    }
}

struct AnswerTimeGuard<'a>(&'a CallFeedback);

impl Drop for AnswerTimeGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.0.state).answer_time.end();
    }
}

impl FeedbackState {
    fn admit(&mut self, progress: f64, now: Instant) -> bool {
        if !progress.is_finite()
            || self
                .last_progress
                .is_some_and(|last_progress| progress <= last_progress)
        {
            return false;
        }
        if !self.within_rate(now) {
            return false;
        }
        self.last_progress = Some(progress);
        true
    }

    /// Counts one more notification and reports whether it is within the rate.
    fn within_rate(&mut self, now: Instant) -> bool {
        let second = Duration::from_secs(1);
        if self
            .second
            .is_none_or(|since| now.duration_since(since) >= second)
        {
            self.second = Some(now);
            self.sent_in_second = 0;
        }
        if self.sent_in_second >= PROGRESS_PER_SECOND {
            return false;
        }
        self.sent_in_second += 1;
        true
    }

    fn admit_request(&mut self) -> bool {
        self.questions = self.questions.saturating_add(1);
        self.questions <= QUESTIONS_PER_CALL_MAX
    }
}

impl AnswerTime {
    fn begin(&mut self) {
        self.open += 1;
        // Requests may overlap: only the first one starts the clock and only the last one stops it.
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0
            && let Some(since) = self.since.take()
        {
            self.total += since.elapsed();
        }
    }

    fn elapsed(&self) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Accepts only plain `https` addresses, because a client may open the address without showing it.
fn check_url(params: &RawValue) -> Result<(), DeclinedError> {
    #[derive(serde::Deserialize)]
    struct Params {
        url: String,
    }
    let Ok(Params { url }) = serde_json::from_str(params.get()) else {
        return Err(DeclinedError::new("the request has no `url`"));
    };
    // RFC 3986, section 2: everything else has to be percent-encoded.
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let host = url
        // Checked by hand, not with a URL parser: the client may parse the text differently, so only text
        // without room for interpretation passes.
        .strip_prefix("https://")
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .filter(|host| !host.is_empty() && !host.contains('@'));
    if host.is_some() && url.len() <= URL_BYTES_MAX && url.bytes().all(allowed) {
        return Ok(());
    }
    Err(DeclinedError::new(
        "only plain `https` addresses without user names are shown to a user",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_only_grows_and_no_more_than_the_rate_of_it_passes() {
        let (mut state, now) = (FeedbackState::default(), Instant::now());
        assert!(state.admit(1.0, now));
        for wrong in [1.0, 0.5, -1.0, f64::NAN, f64::INFINITY] {
            assert!(!state.admit(wrong, now), "{wrong}");
        }
        let passed = (2..1000)
            .filter(|n| state.admit(f64::from(*n), now))
            .count();
        assert_eq!(passed, PROGRESS_PER_SECOND as usize - 1);
        assert!(state.admit(1000.0, now + Duration::from_secs(1)));
    }

    #[test]
    fn only_plain_https_addresses_are_shown() {
        let check = |url: &str| {
            let params = serde_json::json!({ "url": url }).to_string();
            check_url(&RawValue::from_string(params).unwrap()).is_ok()
        };
        assert!(check("https://example.com/sign-in?a=b#c"));
        for bad in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "http://127.0.0.1:9/x",
            "https://login.example.invalid@127.0.0.1/",
            "ms-settings:",
            "https://",
            "https://a.invalid/`id`",
            "https://a.invalid/a b",
            "https://a.invalid/\"",
        ] {
            assert!(!check(bad), "{bad}");
        }
    }
}
