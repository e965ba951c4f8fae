//! Tells whoever wants to know that a server offers something else now.
//!
//! Servers may announce changes as often as they like; one event of a kind in [`QUIET`] is enough, because
//! whoever hears it asks the server anew. The first of a burst passes at once, what follows is
//! collected until the time is over.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use limbeck_domain::ServerName;
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep_until};

use crate::sync::lock;

/// Shortest time between two events of one server.
pub(crate) const QUIET: Duration = Duration::from_secs(1);
/// Resources whose updates are collected; more of them are one change of the list.
const RESOURCES_MAX: usize = 64;
/// Events a subscriber may be behind; one that is further behind hears that it missed some.
pub(crate) const EVENTS_BEHIND_MAX: usize = 1024;

/// Something a server announced. Nothing is known of how it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolEvent {
    /// Its tools.
    ToolsChanged {
        /// The server.
        server: ServerName,
    },
    /// Its list of resources.
    ResourcesChanged {
        /// The server.
        server: ServerName,
    },
    /// Its prompts.
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
    },
}

/// What a server announces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Tools,
    Resources,
    Prompts,
    Resource(String),
}

/// The changes of one server.
pub(crate) struct Changes(Arc<Inner>);

struct Inner {
    server: ServerName,
    events: broadcast::Sender<PoolEvent>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: Option<Instant>,
    collected: BTreeSet<Change>,
}

impl Changes {
    pub(crate) fn new(server: ServerName, events: broadcast::Sender<PoolEvent>) -> Self {
        Self(Arc::new(Inner {
            server,
            events,
            state: Mutex::default(),
        }))
    }

    /// Tells of `change`, now or when the last event is [`QUIET`] ago.
    pub(crate) fn note(&self, change: Change) {
        let due = {
            let mut state = lock(&self.0.state);
            let now = Instant::now();
            match state.told.map(|told| told + QUIET) {
                Some(due) if due > now => {
                    let is_first = state.collected.is_empty();
                    state.collect(change);
                    if !is_first {
                        return;
                    }
                    due
                }
                _ => {
                    state.told = Some(now);
                    self.0.tell(change);
                    return;
                }
            }
        };
        let inner = self.0.clone();
        tokio::spawn(async move {
            sleep_until(due).await;
            inner.tell_collected();
        });
    }
}

impl Inner {
    fn tell_collected(&self) {
        let collected = {
            let mut state = lock(&self.state);
            state.told = Some(Instant::now());
            std::mem::take(&mut state.collected)
        };
        for change in collected {
            self.tell(change);
        }
    }

    fn tell(&self, change: Change) {
        let server = self.server.clone();
        // Nobody listening is no error.
        let _ = self.events.send(match change {
            Change::Tools => PoolEvent::ToolsChanged { server },
            Change::Resources => PoolEvent::ResourcesChanged { server },
            Change::Prompts => PoolEvent::PromptsChanged { server },
            Change::Resource(uri) => PoolEvent::ResourceUpdated { server, uri },
        });
    }
}

impl State {
    fn collect(&mut self, change: Change) {
        let is_full = self.collected.len() >= RESOURCES_MAX;
        self.collected.insert(match change {
            Change::Resource(_) if is_full => Change::Resources,
            change => change,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_storm_is_one_event_at_once_and_one_when_it_is_quiet_again() {
        let (events, mut heard) = broadcast::channel(EVENTS_BEHIND_MAX);
        let server = ServerName::from("s");
        let changes = Changes::new(server.clone(), events);
        let tools = PoolEvent::ToolsChanged { server };
        let before = Instant::now();
        for _ in 0..10_000 {
            changes.note(Change::Tools);
        }
        assert_eq!(heard.try_recv().unwrap(), tools);
        assert!(heard.try_recv().is_err());
        assert_eq!(heard.recv().await.unwrap(), tools);
        assert!(before.elapsed() >= QUIET);
        tokio::time::sleep(QUIET * 2).await;
        assert!(heard.try_recv().is_err());
    }

    #[tokio::test]
    async fn updates_of_countless_resources_become_a_change_of_the_list() {
        let (events, mut heard) = broadcast::channel(EVENTS_BEHIND_MAX);
        let changes = Changes::new(ServerName::from("s"), events);
        for n in 0..10_000 {
            changes.note(Change::Resource(format!("x:{n}")));
        }
        tokio::time::sleep(QUIET * 2).await;
        let mut seen = 0;
        let mut lists = 0;
        while let Ok(event) = heard.try_recv() {
            seen += 1;
            lists += usize::from(matches!(event, PoolEvent::ResourcesChanged { .. }));
        }
        assert_eq!((seen, lists), (1 + RESOURCES_MAX + 1, 1));
    }
}
