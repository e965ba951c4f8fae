//! Notifications to a client about its request in flight: progress, log messages, keep-alive.

use std::time::Duration;

use limbeck_domain::text;
use limbeck_upstream::ProgressUpdate;
use rmcp::model::{LoggingMessageNotificationParam, ProgressNotificationParam};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::RequestKind;
use crate::surface::log_level::LogLevel;

/// Interval of progress notifications while a program runs. Clients time out after 60 s or more.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Minimum interval between two messages about a program's calls.
const MESSAGE_PAUSE: Duration = Duration::from_millis(200);
/// Bytes of a message about a program's call.
const MESSAGE_BYTES_MAX: usize = 256;
/// Bytes of the data of a server's log message, and of what else it has. Log lines are below 1 KiB.
const LOG_BYTES_MAX: usize = 16 << 10;

/// Sends progress and log notifications of one request.
pub(super) struct ProgressReporter<'a> {
    kind: RequestKind,
    context: &'a RequestContext<RoleServer>,
    /// Least severe level of log messages that the client asked for.
    level: Option<LogLevel>,
    /// Ticks while a program runs, when the client sent a progress token.
    keep_alive_ticks: Option<Interval>,
    started: Instant,
    messages: u32,
    last_message_at: Option<Instant>,
}

impl<'a> ProgressReporter<'a> {
    pub(super) fn new(
        kind: RequestKind,
        context: &'a RequestContext<RoleServer>,
        level: Option<LogLevel>,
    ) -> Self {
        let started = Instant::now();
        let wanted = kind == RequestKind::Program && context.meta.get_progress_token().is_some();
        Self {
            kind,
            context,
            level,
            keep_alive_ticks: wanted.then(|| {
                let mut ticks = interval_at(started + KEEP_ALIVE, KEEP_ALIVE);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                ticks
            }),
            started,
            messages: 0,
            last_message_at: None,
        }
    }

    pub(super) async fn progress(&mut self, progress: ProgressUpdate) {
        match self.kind {
            RequestKind::Server => {
                let (at, total) = (progress.progress, progress.total);
                self.notify(at, total, progress.message).await;
            }
            RequestKind::Program => {
                let now = Instant::now();
                let is_soon = |at: Instant| now.duration_since(at) < MESSAGE_PAUSE;
                if self.last_message_at.is_some_and(is_soon) {
                    return;
                }
                self.last_message_at = Some(now);
                let message = progress.message.unwrap_or_default();
                self.count(text::clean_line(&message, MESSAGE_BYTES_MAX))
                    .await;
            }
        }
    }

    /// Completes when the next keep-alive is due; never for work that is not a program.
    pub(super) async fn next_keep_alive(&mut self) {
        match &mut self.keep_alive_ticks {
            Some(ticks) => {
                ticks.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    pub(super) async fn keep_alive(&mut self) {
        let seconds = self.started.elapsed().as_secs();
        self.count(format!("running for {seconds} s")).await;
    }

    /// Calls of a program have no common unit, and progress must grow: the value is the number of messages.
    async fn count(&mut self, message: String) {
        self.messages += 1;
        self.notify(
            f64::from(self.messages),
            None,
            Some(message).filter(|text| !text.is_empty()),
        )
        .await;
    }

    async fn notify(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let mut report = ProgressNotificationParam::new(token, progress);
        report.total = total;
        report.message = message;
        // A closed connection is noticed by the handler, which is then cancelled.
        let _ = self.context.peer.notify_progress(report).await;
    }

    pub(super) async fn log(&self, params: &RawValue) {
        let Some(message) = log_message(params.get()) else {
            return;
        };
        if self
            .level
            .is_some_and(|level| LogLevel::from(message.level) >= level)
        {
            let _ = self.context.peer.notify_logging_message(message).await;
        }
    }
}

/// A server's log message without hidden characters in any text. Data that is too large, or has such characters in a
/// key, becomes one text with the first part of its JSON. `None` when it does not have the form of the protocol.
fn log_message(params: &str) -> Option<LoggingMessageNotificationParam> {
    let mut params: Value = serde_json::from_str(params).ok()?;
    let mut data = params.get_mut("data")?.take();
    let has_clean_keys = text::clean_json(&mut data, LOG_BYTES_MAX);
    // A text was cut just now.
    if !data.is_string() {
        let json = data.to_string();
        if !has_clean_keys || json.len() > LOG_BYTES_MAX {
            data = text::clean(&json, LOG_BYTES_MAX).into();
        }
    }
    let is_clean = text::clean_json(&mut params, LOG_BYTES_MAX);
    let is_large = params.to_string().len() > LOG_BYTES_MAX;
    let fields = params.as_object_mut()?;
    if !is_clean || is_large {
        fields.remove("_meta");
        fields.remove("logger");
    }
    fields.insert("data".to_owned(), data);
    serde_json::from_value(params).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passed(params: &Value) -> Value {
        serde_json::to_value(log_message(&params.to_string()).unwrap()).unwrap()
    }

    #[test]
    fn a_log_message_has_no_hidden_characters_in_any_text_and_is_bounded() {
        let plain = json!({"level": "info", "logger": "l", "data": {"a": ["line\nline", 1, null]}});
        assert_eq!(passed(&plain), plain);
        let hidden = json!({
            "level": "info",
            "logger": "l\u{202e}",
            "data": ["\u{1b}[31m", {"a": "b\u{200b}"}],
            "_meta": {"x/y": "z\u{e0041}"}
        });
        let shown = passed(&hidden);
        assert_eq!(shown["logger"], "l");
        assert_eq!(shown["data"], json!(["[31m", {"a": "b"}]));
        assert_eq!(shown["_meta"], json!({"x/y": "z"}));
        let key = passed(&json!({"level": "info", "data": {"a\u{202e}": 1}}));
        assert_eq!(key["data"], r#"{"a":1}"#);
        for large in [json!("x".repeat(200_000)), json!(vec!["word"; 50_000])] {
            let shown = passed(&json!({"level": "info", "data": large}));
            let bytes = shown["data"].as_str().unwrap().len();
            assert!(bytes <= LOG_BYTES_MAX, "{bytes}");
        }
        assert!(log_message(r#"{"level":"info"}"#).is_none());
    }
}
