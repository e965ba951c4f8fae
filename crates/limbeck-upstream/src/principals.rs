//! One server as several principals reach it.
//!
//! A sign-in is a person's, and a connection is made with it, so each principal has a connection of its own
//! where there is a sign-in. Everywhere else all share the one of the user who runs us.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use limbeck_domain::limits::HTTP_PRINCIPALS_MAX;

use crate::era::{EraMemory, Target};
use crate::http::{Credentials, HttpSpec};
use crate::listener::Ears;
use crate::server::Server;
use crate::sync::lock;
use crate::{ServerReport, ServerSpec, TransportSpec, Upstream, UpstreamError};

/// A server of the pool with its connections.
pub(crate) struct Shared {
    /// The connection of the user who runs us.
    own: Arc<Server>,
    spec: ServerSpec,
    memory: Arc<EraMemory>,
    ears: Arc<Ears>,
    /// Those of everybody else who has credentials here.
    others: Mutex<BTreeMap<Arc<str>, Arc<Server>>>,
}

impl Shared {
    pub(crate) fn new(
        spec: ServerSpec,
        target: Target,
        memory: Arc<EraMemory>,
        ears: Arc<Ears>,
    ) -> Self {
        let own = Server::new(spec.clone(), target, memory.clone(), ears.clone());
        Self {
            own: Arc::new(own),
            spec,
            memory,
            ears,
            others: Mutex::default(),
        }
    }

    /// The server as `principal` reaches it.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Unreachable`] when too many others have a connection already.
    pub(crate) fn of(&self, principal: Option<&Arc<str>>) -> Result<Arc<Server>, UpstreamError> {
        let (Some(principal), TransportSpec::Http(http)) = (principal, &self.spec.transport) else {
            return Ok(self.own.clone());
        };
        let mut others = lock(&self.others);
        if let Some(server) = others.get(principal) {
            return Ok(server.clone());
        }
        let credentials = http.credentials.as_ref();
        let Some(credentials) = credentials.and_then(|own| own.of(principal)) else {
            return Ok(self.own.clone());
        };
        if others.len() >= HTTP_PRINCIPALS_MAX {
            return Err(UpstreamError::Unreachable {
                reason: format!("{HTTP_PRINCIPALS_MAX} principals use it already"),
            });
        }
        let server = Arc::new(self.connected_by(http, credentials));
        others.insert(principal.clone(), server.clone());
        Ok(server)
    }

    fn connected_by(&self, http: &HttpSpec, credentials: Arc<dyn Credentials>) -> Server {
        let http = Box::new(HttpSpec {
            credentials: Some(credentials),
            ..http.clone()
        });
        let spec = ServerSpec {
            transport: TransportSpec::Http(http.clone()),
            ..self.spec.clone()
        };
        Server::new(
            spec,
            Target::Http(http),
            self.memory.clone(),
            self.ears.clone(),
        )
    }

    /// Where the own connection stands.
    pub(crate) fn report(&self) -> ServerReport {
        self.own.report()
    }

    pub(crate) async fn shutdown(&self) {
        let others: Vec<Arc<Server>> = lock(&self.others).values().cloned().collect();
        join_all(
            others
                .iter()
                .chain([&self.own])
                .map(|server| server.shutdown()),
        )
        .await;
    }
}
