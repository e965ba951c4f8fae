//! What a client hears of its request while it is under way: progress, log messages, signs of life.

use std::time::Duration;

use limbeck_domain::text;
use limbeck_upstream::Progress;
use rmcp::model::{LoggingMessageNotificationParam, ProgressNotificationParam};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::RawValue;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::Kind;
use crate::surface::logging::Level;

/// Pause between two signs of life while a program runs. Clients give up after 60 s and more.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Shortest pause between two messages about a program's calls.
const MESSAGE_PAUSE: Duration = Duration::from_millis(200);
/// A message about a program's call.
const MESSAGE_BYTES_MAX: usize = 256;

/// Tells a client how its request is going.
pub(super) struct Teller<'a> {
    kind: Kind,
    context: &'a RequestContext<RoleServer>,
    /// Least severe messages that the client wants.
    level: Option<Level>,
    /// Ticks while a program runs for a client that wants to hear of it.
    alive: Option<Interval>,
    started: Instant,
    told: u32,
    told_at: Option<Instant>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(
        kind: Kind,
        context: &'a RequestContext<RoleServer>,
        level: Option<Level>,
    ) -> Self {
        let started = Instant::now();
        let wanted = kind == Kind::Program && context.meta.get_progress_token().is_some();
        Self {
            kind,
            context,
            level,
            alive: wanted.then(|| {
                let mut ticks = interval_at(started + KEEP_ALIVE, KEEP_ALIVE);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                ticks
            }),
            started,
            told: 0,
            told_at: None,
        }
    }

    pub(super) async fn progress(&mut self, progress: Progress) {
        match self.kind {
            Kind::Server => {
                let (at, total) = (progress.progress, progress.total);
                self.tell(at, total, progress.message).await;
            }
            Kind::Program => {
                let now = Instant::now();
                let is_soon = |at: Instant| now.duration_since(at) < MESSAGE_PAUSE;
                if self.told_at.is_some_and(is_soon) {
                    return;
                }
                self.told_at = Some(now);
                let message = progress.message.unwrap_or_default();
                self.count(text::clean_line(&message, MESSAGE_BYTES_MAX))
                    .await;
            }
        }
    }

    /// Completes when the client should hear that the program still runs; never for anything else.
    pub(super) async fn next_sign_of_life(&mut self) {
        match &mut self.alive {
            Some(ticks) => {
                ticks.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    pub(super) async fn alive(&mut self) {
        let seconds = self.started.elapsed().as_secs();
        self.count(format!("running for {seconds} s")).await;
    }

    /// Calls of a program have no common measure, so what grows is the number of messages.
    async fn count(&mut self, message: String) {
        self.told += 1;
        self.tell(
            f64::from(self.told),
            None,
            Some(message).filter(|text| !text.is_empty()),
        )
        .await;
    }

    async fn tell(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let mut report = ProgressNotificationParam::new(token, progress);
        report.total = total;
        report.message = message;
        // A client that has gone is noticed elsewhere.
        let _ = self.context.peer.notify_progress(report).await;
    }

    pub(super) async fn log(&self, params: &RawValue) {
        let Ok(message) = serde_json::from_str::<LoggingMessageNotificationParam>(params.get())
        else {
            return;
        };
        if self
            .level
            .is_some_and(|level| Level::from(message.level) >= level)
        {
            let _ = self.context.peer.notify_logging_message(message).await;
        }
    }
}
