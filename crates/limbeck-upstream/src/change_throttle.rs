//! Rate limit on the change notifications of a server.
//!
//! A server may send change notifications as often as it likes. One event of each kind in [`QUIET`] is enough,
//! because a subscriber lists again after an event. The first notification of a burst passes at once; later
//! ones are collected until [`QUIET`] has passed.
//!
//! A list may have megabytes, so a server that announces changes of its lists without a pause is listed less and
//! less often: the interval doubles up to [`LIST_QUIET_MAX`], and is short again after a pause.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use limbeck_domain::ServerName;
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep_until};

use crate::sync::lock;

/// Shortest time between two events of one server.
pub(crate) const QUIET: Duration = Duration::from_secs(1);
/// Longest time between two events about lists of one server.
const LIST_QUIET_MAX: Duration = Duration::from_secs(60);
/// Updated resources collected in one interval. More are reported as one change of the resource list.
const RESOURCES_MAX: usize = 64;
/// Events buffered for one subscriber. A slower subscriber receives `Lagged` instead of the oldest ones.
pub(crate) const EVENTS_BEHIND_MAX: usize = 1024;

/// Users of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All principals share the connection.
    Everyone,
    /// The user who runs the gateway.
    Owner,
    /// One other principal.
    Principal(Arc<str>),
}

/// Change that a server announced, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolEvent {
    /// Its list of tools.
    ToolsChanged {
        /// The server.
        server: ServerName,
    },
    /// Its list of resources.
    ResourcesChanged {
        /// The server.
        server: ServerName,
    },
    /// Its list of prompts.
    PromptsChanged {
        /// The server.
        server: ServerName,
    },
    /// The content of one resource.
    ResourceUpdated {
        /// The server.
        server: ServerName,
        /// The resource, as the server names it: at most 2 KiB without control characters.
        uri: String,
        /// Who uses the connection that it was announced on. No other principal receives it.
        audience: Audience,
    },
}

/// Kind of change in a notification of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ServerChange {
    Tools,
    Resources,
    Prompts,
    Resource(String),
}

/// Throttled change notifications of one server. Clones of the inner state live in the delayed task.
pub(crate) struct ChangeThrottle(Arc<Inner>);

struct Inner {
    server: ServerName,
    audience: Audience,
    events: broadcast::Sender<PoolEvent>,
    lists: Mutex<PendingChanges>,
    resources: Mutex<PendingChanges>,
}

struct PendingChanges {
    last_event: Option<Instant>,
    interval: Duration,
    interval_max: Duration,
    collected: BTreeSet<ServerChange>,
}

impl ChangeThrottle {
    pub(crate) fn new(server: ServerName, events: broadcast::Sender<PoolEvent>) -> Self {
        Self::told_to(Audience::Everyone, server, events)
    }

    /// Throttle of another connection to the same server, which `audience` uses.
    pub(crate) fn of(&self, audience: Audience) -> Self {
        Self::told_to(audience, self.0.server.clone(), self.0.events.clone())
    }

    fn told_to(
        audience: Audience,
        server: ServerName,
        events: broadcast::Sender<PoolEvent>,
    ) -> Self {
        Self(Arc::new(Inner {
            server,
            audience,
            events,
            lists: Mutex::new(PendingChanges::new(LIST_QUIET_MAX)),
            resources: Mutex::new(PendingChanges::new(QUIET)),
        }))
    }

    /// Sends `change` now, or collects it until the interval since the last event has passed.
    pub(crate) fn note(&self, change: ServerChange) {
        let lane = match change {
            ServerChange::Tools | ServerChange::Resources | ServerChange::Prompts => Lane::Lists,
            ServerChange::Resource(_) => Lane::Resources,
        };
        let due = {
            let mut state = lock(self.0.lane(lane));
            let now = Instant::now();
            match state.due().filter(|due| *due > now) {
                Some(due) => {
                    // Only the first collected change starts the delayed task; later ones ride on it.
                    let is_first = state.collected.is_empty();
                    state.collect(change);
                    if !is_first {
                        return;
                    }
                    due
                }
                None => {
                    state.note_event(now);
                    self.0.send(change);
                    return;
                }
            }
        };
        let inner = self.0.clone();
        // One task per interval at most, because only the first collected change gets here.
        tokio::spawn(async move {
            sleep_until(due).await;
            inner.send_collected(lane);
        });
    }
}

/// Changes with an interval of their own.
#[derive(Clone, Copy)]
enum Lane {
    Lists,
    Resources,
}

impl Inner {
    fn lane(&self, lane: Lane) -> &Mutex<PendingChanges> {
        match lane {
            Lane::Lists => &self.lists,
            Lane::Resources => &self.resources,
        }
    }

    fn send_collected(&self, lane: Lane) {
        let collected = {
            let mut state = lock(self.lane(lane));
            state.note_event(Instant::now());
            std::mem::take(&mut state.collected)
        };
        for change in collected {
            self.send(change);
        }
    }

    fn send(&self, change: ServerChange) {
        let server = self.server.clone();
        // An error means that there is no subscriber at the moment, which is fine.
        let _ = self.events.send(match change {
            ServerChange::Tools => PoolEvent::ToolsChanged { server },
            ServerChange::Resources => PoolEvent::ResourcesChanged { server },
            ServerChange::Prompts => PoolEvent::PromptsChanged { server },
            ServerChange::Resource(uri) => PoolEvent::ResourceUpdated {
                server,
                uri,
                audience: self.audience.clone(),
            },
        });
    }
}

impl PendingChanges {
    fn new(interval_max: Duration) -> Self {
        Self {
            last_event: None,
            interval: QUIET,
            interval_max,
            collected: BTreeSet::new(),
        }
    }

    /// When the next event may be sent.
    fn due(&self) -> Option<Instant> {
        self.last_event.map(|last| last + self.interval)
    }

    /// Records an event. One that follows the last without a pause makes the interval longer.
    fn note_event(&mut self, now: Instant) {
        let pause = self.last_event.map(|last| now.duration_since(last));
        self.interval = match pause {
            Some(pause) if pause < self.interval * 2 => (self.interval * 2).min(self.interval_max),
            Some(_) | None => QUIET,
        };
        self.last_event = Some(now);
    }

    fn collect(&mut self, change: ServerChange) {
        let is_full = self.collected.len() >= RESOURCES_MAX;
        self.collected.insert(match change {
            ServerChange::Resource(_) if is_full => ServerChange::Resources,
            change => change,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_storm_is_one_event_at_once_and_one_when_it_is_quiet_again() {
        let (events, mut received) = broadcast::channel(EVENTS_BEHIND_MAX);
        let server = ServerName::from("s");
        let changes = ChangeThrottle::new(server.clone(), events);
        let tools = PoolEvent::ToolsChanged { server };
        let before = Instant::now();
        for _ in 0..10_000 {
            changes.note(ServerChange::Tools);
        }
        assert_eq!(received.try_recv().unwrap(), tools);
        assert!(received.try_recv().is_err());
        assert_eq!(received.recv().await.unwrap(), tools);
        assert!(before.elapsed() >= QUIET);
        tokio::time::sleep(QUIET * 2).await;
        assert!(received.try_recv().is_err());
    }

    #[tokio::test]
    async fn updates_of_countless_resources_become_a_change_of_the_list() {
        let (events, mut received) = broadcast::channel(EVENTS_BEHIND_MAX);
        let changes = ChangeThrottle::new(ServerName::from("s"), events);
        for n in 0..10_000 {
            changes.note(ServerChange::Resource(format!("x:{n}")));
        }
        tokio::time::sleep(QUIET * 2).await;
        let mut seen = 0;
        let mut lists = 0;
        while let Ok(event) = received.try_recv() {
            seen += 1;
            lists += usize::from(matches!(event, PoolEvent::ResourcesChanged { .. }));
        }
        assert_eq!((seen, lists), (1 + RESOURCES_MAX + 1, 1));
    }

    #[test]
    fn changes_of_lists_without_a_pause_become_rare_and_after_a_pause_they_are_prompt_again() {
        let mut lists = PendingChanges::new(LIST_QUIET_MAX);
        let start = Instant::now();
        let mut now = start;
        let mut events = 0;
        while now < start + Duration::from_secs(600) {
            lists.note_event(now);
            events += 1;
            now = lists.due().unwrap();
        }
        assert!((10..=18).contains(&events), "{events} lists in ten minutes");
        lists.note_event(now + LIST_QUIET_MAX * 2);
        assert_eq!(lists.interval, QUIET);
        // The control: updates of resources keep their pace.
        let mut resources = PendingChanges::new(QUIET);
        for n in 0..100 {
            resources.note_event(start + QUIET * n);
            assert_eq!(resources.interval, QUIET);
        }
    }
}
