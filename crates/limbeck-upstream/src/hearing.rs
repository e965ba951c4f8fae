//! One call under way, as the server may report on it and ask about it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use limbeck_domain::ServerName;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::listener::ANSWER_WITHIN;
use crate::sync::lock;
use crate::{Ask, AskKind, Caller, Declined, PROGRESS_PER_SECOND, Progress};

/// Questions of a server during one call; more are declined unasked.
const QUESTIONS_PER_CALL_MAX: u32 = 32;
/// Address of an elicitation.
const URL_BYTES_MAX: usize = 4 << 10;
/// Shortest pause between two looks at the clock of a call.
const CLOCK_LOOK: Duration = Duration::from_millis(10);

/// The caller of one call and what has passed between it and the server. Clones share it.
#[derive(Clone)]
pub(crate) struct Hearing(Arc<Inner>);

struct Inner {
    caller: Option<Arc<dyn Caller>>,
    over: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    reached: Option<f64>,
    second: Option<Instant>,
    passed_in_second: u32,
    questions: u32,
    thinking: Thinking,
}

/// Time in which the server waits for us and not we for the server.
#[derive(Default)]
struct Thinking {
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

/// What became of a progress notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The caller was told.
    Passed,
    /// It was too many, went backwards, or nobody listens.
    Dropped,
}

impl Hearing {
    pub(crate) fn new(caller: Option<Arc<dyn Caller>>) -> Self {
        Self(Arc::new(Inner {
            caller,
            over: CancellationToken::new(),
            state: Mutex::default(),
        }))
    }

    /// Nobody hears of the call any more, and whoever is asked about it need not answer.
    pub(crate) fn end(&self) {
        self.0.over.cancel();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.over.is_cancelled()
    }

    /// Tells the caller, when the numbers make sense and it was not told too often.
    pub(crate) fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Heard {
        let Some(caller) = &self.0.caller else {
            return Heard::Dropped;
        };
        if self.is_over() || !lock(&self.0.state).admit(progress, Instant::now()) {
            return Heard::Dropped;
        }
        caller.progress(Progress {
            progress,
            total: total.filter(|total| total.is_finite()),
            message,
        });
        Heard::Passed
    }

    /// Puts a question of `server` to the caller.
    ///
    /// # Errors
    ///
    /// [`Declined`] with the reason: nobody can answer, nobody did in time, or the call is over.
    pub(crate) async fn ask(
        &self,
        server: &ServerName,
        kind: AskKind,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, Declined> {
        let caller = self.answerer(kind)?;
        let params = match params {
            Some(params) => params.to_owned(),
            None => RawValue::from_string("{}".to_owned()).expect("two braces are an object"),
        };
        if kind == AskKind::ElicitationUrl {
            check_url(&params)?;
        }
        if !lock(&self.0.state).may_ask() {
            return Err(Declined::new(format!(
                "more than {QUESTIONS_PER_CALL_MAX} questions during one call"
            )));
        }
        let ask = Ask {
            server: server.clone(),
            kind,
            params,
        };
        let within = ANSWER_WITHIN.saturating_sub(self.thought());
        let _thinking = self.think();
        tokio::select! {
            biased;
            () = self.0.over.cancelled() => Err(Declined::new("the call is over")),
            answer = timeout(within, caller.ask(ask)) => answer.unwrap_or_else(|_| {
                Err(Declined::new(format!("no answer within {} s", ANSWER_WITHIN.as_secs())))
            }),
        }
    }

    fn answerer(&self, kind: AskKind) -> Result<&dyn Caller, Declined> {
        match self.0.caller.as_deref() {
            Some(caller) if caller.answers().can(kind) => Ok(caller),
            Some(_) => Err(Declined::new(format!(
                "the client that made the call does not answer `{}`",
                kind.method()
            ))),
            None => Err(Declined::new("nobody who made the call can be asked")),
        }
    }

    fn think(&self) -> ThinkingGuard<'_> {
        lock(&self.0.state).thinking.begin();
        ThinkingGuard(self)
    }

    /// Time that does not count against the call, at most [`ANSWER_WITHIN`].
    fn thought(&self) -> Duration {
        lock(&self.0.state).thinking.so_far().min(ANSWER_WITHIN)
    }

    /// Time since `started` that counts against the call.
    pub(crate) fn worked_since(&self, started: Instant) -> Duration {
        started.elapsed().saturating_sub(self.thought())
    }

    /// Returns when the call that started at `started` has worked for `limit`.
    pub(crate) async fn out_of_time(&self, started: Instant, limit: Duration) {
        loop {
            let left = limit.saturating_sub(self.worked_since(started));
            if left.is_zero() {
                return;
            }
            sleep(left.max(CLOCK_LOOK)).await;
        }
    }
}

struct ThinkingGuard<'a>(&'a Hearing);

impl Drop for ThinkingGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.0.state).thinking.end();
    }
}

impl State {
    fn admit(&mut self, progress: f64, now: Instant) -> bool {
        if !progress.is_finite() || self.reached.is_some_and(|reached| progress <= reached) {
            return false;
        }
        let second = Duration::from_secs(1);
        if self
            .second
            .is_none_or(|since| now.duration_since(since) >= second)
        {
            self.second = Some(now);
            self.passed_in_second = 0;
        }
        if self.passed_in_second >= PROGRESS_PER_SECOND {
            return false;
        }
        self.passed_in_second += 1;
        self.reached = Some(progress);
        true
    }

    fn may_ask(&mut self) -> bool {
        self.questions = self.questions.saturating_add(1);
        self.questions <= QUESTIONS_PER_CALL_MAX
    }
}

impl Thinking {
    fn begin(&mut self) {
        self.open += 1;
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

    fn so_far(&self) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// Lets nothing but plain `https` addresses through to a person: a client may open what it is given.
fn check_url(params: &RawValue) -> Result<(), Declined> {
    #[derive(serde::Deserialize)]
    struct Params {
        url: String,
    }
    let Ok(Params { url }) = serde_json::from_str(params.get()) else {
        return Err(Declined::new("an address to open that has no `url`"));
    };
    // RFC 3986, section 2: everything else has to be percent-encoded.
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let host = url
        .strip_prefix("https://")
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .filter(|host| !host.is_empty() && !host.contains('@'));
    if host.is_some() && url.len() <= URL_BYTES_MAX && url.bytes().all(allowed) {
        return Ok(());
    }
    Err(Declined::new(
        "only plain `https` addresses without user names are shown to anybody",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_only_grows_and_no_more_than_the_rate_of_it_passes() {
        let (mut state, now) = (State::default(), Instant::now());
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
