//! Progress, log messages and requests that a server sends during one call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use limbeck_domain::ServerName;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::call_context::{CallContext, UnaskedQuestions};
use crate::call_observer::{CallObserver, PROGRESS_PER_SECOND, ProgressUpdate};
use crate::request_room::HeldBytes;
use crate::server_request::{DeclinedError, ServerRequest, ServerRequestKind};
use crate::shown_address::check_url;
use crate::sync::lock;

/// Requests of a server during one call; further ones are declined without asking the client.
pub(crate) const QUESTIONS_PER_CALL_MAX: u32 = 32;
/// Time in which all requests of one call must be answered. A person may be away from the screen.
const ANSWER_WITHIN: Duration = Duration::from_secs(300);
/// Shortest pause between two checks of a call's time limit.
const CLOCK_LOOK: Duration = Duration::from_millis(10);

/// Observer of one call, and the limits on what the server may send to it. Clones share both, and so does the feedback
/// of each request of the call: a server must not get new limits by asking for another round.
#[derive(Clone)]
pub(crate) struct CallFeedback {
    shared: Arc<SharedFeedback>,
    /// Cancelled at the end of the request, or of the call.
    ended: CancellationToken,
}

struct SharedFeedback {
    observer: Option<Arc<dyn CallObserver>>,
    unasked: UnaskedQuestions,
    state: Mutex<FeedbackState>,
    /// Room of the call's request. Each line of the call that waits to be written has a clone of the feedback, so the room
    /// is given back after the call has ended and no line of it waits.
    _held: Option<HeldBytes>,
}

/// Clock of one request, which is stopped while the server waits for an answer of the client.
pub(crate) struct ServerClock {
    started: Instant,
    /// Time that the call had waited for answers before.
    waited: Duration,
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
    pub(crate) fn new(context: &CallContext, held: Option<HeldBytes>) -> Self {
        Self {
            shared: Arc::new(SharedFeedback {
                observer: context.observer.clone(),
                unasked: context.unasked.clone(),
                state: Mutex::default(),
                _held: held,
            }),
            ended: CancellationToken::new(),
        }
    }

    /// Feedback of one request of the call, which ends with the request.
    pub(crate) fn of_request(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            ended: self.ended.child_token(),
        }
    }

    /// Ends the request or call: later messages about it are dropped and requests in flight are cancelled.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Passes progress to the observer, unless the numbers are invalid or above the rate.
    pub(crate) fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> ProgressDelivery {
        let Some(observer) = &self.shared.observer else {
            return ProgressDelivery::Dropped;
        };
        // The server may still send progress for a call that was cancelled a moment ago.
        if self.is_ended() || !lock(&self.shared.state).admit(progress, Instant::now()) {
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
        let Some(observer) = &self.shared.observer else {
            return;
        };
        if !self.is_ended() && lock(&self.shared.state).within_rate(Instant::now()) {
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
        if !lock(&self.shared.state).admit_request() {
            return Err(DeclinedError::new(format!(
                "more than {QUESTIONS_PER_CALL_MAX} requests during one call"
            )));
        }
        let request = ServerRequest {
            server: server.clone(),
            kind,
            key,
            together,
            execution: None,
            params,
        };
        // The limit is shared by all requests of the call, or a server could extend a call without end.
        let within = ANSWER_WITHIN.saturating_sub(self.time_waited());
        // While the guard lives, the time limit of the call is suspended.
        let _waiting = self.start_answer_time();
        tokio::select! {
            biased;
            () = self.ended.cancelled() => Err(DeclinedError::new("the call has ended")),
            answer = timeout(within, observer.request(request)) => answer.unwrap_or_else(|_| {
                Err(DeclinedError::new(format!("no answer within {} s", ANSWER_WITHIN.as_secs())))
            }),
        }
    }

    fn observer_for(&self, kind: ServerRequestKind) -> Result<&dyn CallObserver, DeclinedError> {
        let reason = match self.shared.observer.as_deref() {
            // The declared capabilities cover all clients together; this one may support less.
            Some(observer) if observer.capabilities().can(kind) => return Ok(observer),
            Some(_) => format!(
                "the client that made the call does not support `{}`",
                kind.method()
            ),
            None => "the call has no client that can be asked".to_owned(),
        };
        self.note_unasked(kind);
        Err(DeclinedError::new(reason))
    }

    /// Notes that a question of the server was declined without asking a user.
    pub(crate) fn note_unasked(&self, kind: ServerRequestKind) {
        self.shared.unasked.add(kind);
    }

    fn start_answer_time(&self) -> AnswerTimeGuard<'_> {
        lock(&self.shared.state).answer_time.begin();
        AnswerTimeGuard(self)
    }

    /// Time spent on answers of the client, at most [`ANSWER_WITHIN`].
    fn time_waited(&self) -> Duration {
        lock(&self.shared.state)
            .answer_time
            .elapsed()
            .min(ANSWER_WITHIN)
    }

    /// Starts the clock of a request.
    pub(crate) fn start_clock(&self) -> ServerClock {
        ServerClock {
            started: Instant::now(),
            waited: self.time_waited(),
        }
    }

    /// Time the server has used by `clock`: waiting for answers of the client is subtracted.
    pub(crate) fn server_time(&self, clock: &ServerClock) -> Duration {
        let waited = self.time_waited().saturating_sub(clock.waited);
        clock.started.elapsed().saturating_sub(waited)
    }

    /// Returns when the server has used `limit` of its time by `clock`.
    pub(crate) async fn time_out(&self, clock: &ServerClock, limit: Duration) {
        loop {
            let left = limit.saturating_sub(self.server_time(clock));
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
        lock(&self.0.shared.state).answer_time.end();
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

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::{BoxFuture, pending};

    use super::*;
    use crate::server_request::ClientCapabilities;

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

    /// Client that supports every question and is away.
    struct AbsentClient;

    impl CallObserver for AbsentClient {
        fn capabilities(&self) -> ClientCapabilities {
            ClientCapabilities::ALL
        }

        fn progress(&self, _: ProgressUpdate) {}

        fn request(&self, _: ServerRequest) -> BoxFuture<'_, Result<Box<RawValue>, DeclinedError>> {
            pending().boxed()
        }
    }

    fn feedback_of(observer: impl CallObserver + 'static) -> CallFeedback {
        let context = CallContext::new(CancellationToken::new());
        CallFeedback::new(&context.with_observer(Some(Arc::new(observer))), None)
    }

    /// The client was away for as long as a call waits for it.
    fn use_up_answer_time(feedback: &CallFeedback) {
        lock(&feedback.shared.state).answer_time.total = ANSWER_WITHIN;
    }

    #[tokio::test]
    async fn a_question_that_no_client_could_be_asked_is_noted() {
        let server = ServerName::new("files");
        let context = CallContext::new(CancellationToken::new());
        let feedback = CallFeedback::new(&context, None).of_request();
        let kinds = [ServerRequestKind::Roots, ServerRequestKind::ElicitationForm];
        for kind in kinds {
            feedback.forward(&server, kind, None).await.unwrap_err();
        }
        // A list of workspace folders is no question for a user.
        assert_eq!(context.unasked.methods(), ["elicitation/create"]);
        // The control: a client was asked and did not answer in time.
        let asked = feedback_of(AbsentClient);
        use_up_answer_time(&asked);
        let kind = ServerRequestKind::ElicitationForm;
        asked.forward(&server, kind, None).await.unwrap_err();
        assert_eq!(asked.shared.unasked.methods(), [""; 0]);
    }

    #[tokio::test]
    async fn all_requests_of_a_call_share_its_limits_and_each_has_a_clock_of_its_own() {
        let call = feedback_of(AbsentClient);
        let (server, kind) = (ServerName::new("files"), ServerRequestKind::Roots);
        let first = call.of_request();
        let clock = first.start_clock();
        use_up_answer_time(&first);
        // The wait was for the client, so the server has used no time.
        assert_eq!(first.server_time(&clock), Duration::ZERO);
        first.end();

        // The next request has what is left, which is nothing, and counts its own time alone.
        let second = call.of_request();
        assert!(!second.is_ended());
        let late = second.forward(&server, kind, None).await.unwrap_err();
        assert!(late.reason.contains("no answer within 300 s"), "{late}");
        let clock = ServerClock {
            started: Instant::now() - Duration::from_secs(7),
            ..second.start_clock()
        };
        assert!(second.server_time(&clock) >= Duration::from_secs(7));
        for _ in 1..QUESTIONS_PER_CALL_MAX {
            assert!(lock(&call.shared.state).admit_request());
        }
        let third = call.of_request();
        let many = third.forward(&server, kind, None).await.unwrap_err();
        assert!(many.reason.contains("more than 32"), "{many}");
        // The control: another call has limits of its own.
        let other = feedback_of(AbsentClient);
        assert!(lock(&other.shared.state).admit_request());
        call.end();
        assert!(second.is_ended() && !other.is_ended());
    }
}
