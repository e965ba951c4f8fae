//! Connections of several principals to one server.
//!
//! A sign-in belongs to one principal and its connection uses it, so each principal has a connection of its own
//! to a server with a sign-in. All other servers have one connection, shared by all principals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use limbeck_domain::limits::HTTP_PRINCIPALS_MAX;

use crate::change_throttle::Audience;
use crate::error::UpstreamError;
use crate::http::{CredentialSource, HttpSpec};
use crate::negotiate::cache::NegotiationCache;
use crate::negotiate::target::Target;
use crate::report::ServerDiagnostics;
use crate::server::UpstreamServer;
use crate::server_messages::NotificationSink;
use crate::spec::{ServerSpec, TransportSpec};
use crate::stdio::guard::ServerGuard;
use crate::sync::lock;
use crate::upstream::Upstream;

/// A server of the pool with one connection per principal.
pub(crate) struct PrincipalConnections {
    /// Connection of the user who runs the gateway, shared by all where there is no sign-in.
    own: Arc<UpstreamServer>,
    spec: ServerSpec,
    cache: Arc<NegotiationCache>,
    sink: Arc<NotificationSink>,
    guard: Arc<ServerGuard>,
    /// Connections of other principals, by principal.
    others: Mutex<BTreeMap<Arc<str>, Arc<UpstreamServer>>>,
}

impl PrincipalConnections {
    pub(crate) fn new(
        spec: ServerSpec,
        target: Target,
        cache: Arc<NegotiationCache>,
        sink: Arc<NotificationSink>,
        guard: Arc<ServerGuard>,
    ) -> Self {
        let own_sink = match has_own_sign_ins(&spec) {
            true => Arc::new(sink.of(Audience::Owner)),
            false => sink.clone(),
        };
        let own = UpstreamServer::new(
            spec.clone(),
            target,
            cache.clone(),
            own_sink,
            Arc::clone(&guard),
        );
        Self {
            own: Arc::new(own),
            spec,
            cache,
            sink,
            guard,
            others: Mutex::default(),
        }
    }

    /// Returns the server with the connection that `principal` uses.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::TooManyPrincipals`] when as many principals as may have a connection have one.
    pub(crate) fn of(
        &self,
        principal: Option<&Arc<str>>,
    ) -> Result<Arc<UpstreamServer>, UpstreamError> {
        let (Some(principal), TransportSpec::Http(http)) = (principal, &self.spec.transport) else {
            return Ok(self.own.clone());
        };
        // Held until the insertion, or two first calls of one principal would open two connections.
        let mut others = lock(&self.others);
        if let Some(server) = others.get(principal) {
            return Ok(server.clone());
        }
        let credentials = http.credentials.as_ref();
        let Some(credentials) = credentials.and_then(|own| own.of(principal)) else {
            return Ok(self.own.clone());
        };
        if others.len() >= HTTP_PRINCIPALS_MAX {
            // Principals come and go: those whose connection was stopped for idleness make room.
            others.retain(|_, server| !server.is_unused());
        }
        if others.len() >= HTTP_PRINCIPALS_MAX {
            return Err(UpstreamError::TooManyPrincipals {
                most: HTTP_PRINCIPALS_MAX,
            });
        }
        let sink = self.sink.of(Audience::Principal(principal.clone()));
        let server = Arc::new(self.connected_by(http, credentials, sink));
        others.insert(principal.clone(), server.clone());
        Ok(server)
    }

    fn connected_by(
        &self,
        http: &HttpSpec,
        credentials: Arc<dyn CredentialSource>,
        sink: NotificationSink,
    ) -> UpstreamServer {
        let http = Box::new(HttpSpec {
            credentials: Some(credentials),
            ..http.clone()
        });
        let spec = ServerSpec {
            transport: TransportSpec::Http(http.clone()),
            ..self.spec.clone()
        };
        UpstreamServer::new(
            spec,
            Target::Http(http),
            self.cache.clone(),
            Arc::new(sink),
            Arc::clone(&self.guard),
        )
    }

    /// Calls that the server serves at the same time on one connection, at least 1.
    pub(crate) fn concurrency(&self) -> usize {
        self.spec.concurrency.max(1)
    }

    /// Whether it is reached over HTTP.
    pub(crate) fn has_headers(&self) -> bool {
        matches!(self.spec.transport, TransportSpec::Http(_))
    }

    /// State of the connection of the user who runs the gateway.
    pub(crate) fn report(&self) -> ServerDiagnostics {
        self.own.report()
    }

    /// Number of the open connection of the user who runs the gateway; `None` without one.
    pub(crate) fn connection_number(&self) -> Option<u64> {
        self.own.connection_number()
    }

    pub(crate) async fn shutdown(&self) {
        let others: Vec<Arc<UpstreamServer>> = lock(&self.others).values().cloned().collect();
        join_all(
            others
                .iter()
                .chain([&self.own])
                .map(|server| server.shutdown()),
        )
        .await;
    }
}

/// Whether each principal signs in to the server for itself.
fn has_own_sign_ins(spec: &ServerSpec) -> bool {
    let TransportSpec::Http(http) = &spec.transport else {
        return false;
    };
    let credentials = http.credentials.as_ref();
    // Any name will do: a source gives either every other principal its own tokens or none.
    credentials.is_some_and(|own| own.of("any principal").is_some())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::{BoxFuture, pending};
    use secrecy::SecretString;
    use tokio::sync::broadcast;

    use super::*;
    use crate::change_throttle::ChangeThrottle;
    use crate::server_request::ClientCapabilities;

    /// Sign-ins of every principal; a request waits for its token for ever.
    struct WaitingSignIn;

    impl CredentialSource for WaitingSignIn {
        fn authorization(&self) -> BoxFuture<'_, Result<Option<SecretString>, UpstreamError>> {
            pending().boxed()
        }

        fn refused(&self, _: u16, _: Option<&str>) -> BoxFuture<'_, Result<bool, UpstreamError>> {
            pending().boxed()
        }

        fn of(&self, _: &str) -> Option<Arc<dyn CredentialSource>> {
            Some(Arc::new(Self))
        }
    }

    fn connections() -> PrincipalConnections {
        let mut http = HttpSpec::new("http://127.0.0.1:1/mcp").unwrap();
        http.credentials = Some(Arc::new(WaitingSignIn));
        let spec = ServerSpec::new("files", TransportSpec::Http(Box::new(http.clone())));
        let target = Target::Http(Box::new(http));
        let changes = ChangeThrottle::new("files".into(), broadcast::channel(1).0);
        let sink = NotificationSink::new("files".into(), ClientCapabilities::ALL, changes);
        PrincipalConnections::new(
            spec,
            target,
            Arc::default(),
            Arc::new(sink),
            ServerGuard::new(None),
        )
    }

    fn principal(number: usize) -> Arc<str> {
        format!("token:{number}").into()
    }

    #[tokio::test]
    async fn connections_that_are_not_used_make_room_for_other_principals() {
        let connections = connections();
        let first = principal(0);
        let used = connections.of(Some(&first)).unwrap();
        let mut listing = used.list_tools();
        assert!((&mut listing).now_or_never().is_none());
        for number in 1..HTTP_PRINCIPALS_MAX {
            connections.of(Some(&principal(number))).unwrap();
        }
        assert_eq!(lock(&connections.others).len(), HTTP_PRINCIPALS_MAX);
        // The control: there is room for what is kept.
        let kept = connections.of(Some(&first)).unwrap();
        assert!(Arc::ptr_eq(&kept, &used));

        connections
            .of(Some(&principal(HTTP_PRINCIPALS_MAX)))
            .unwrap();
        assert_eq!(lock(&connections.others).len(), 2);
        let kept = connections.of(Some(&first)).unwrap();
        assert!(Arc::ptr_eq(&kept, &used));
    }

    #[tokio::test]
    async fn as_many_principals_as_may_use_a_server_are_served_and_no_more() {
        let connections = connections();
        let servers: Vec<_> = (0..HTTP_PRINCIPALS_MAX)
            .map(|number| connections.of(Some(&principal(number))).unwrap())
            .collect();
        let mut listings: Vec<_> = servers.iter().map(|server| server.list_tools()).collect();
        for listing in &mut listings {
            assert!(listing.now_or_never().is_none());
        }
        let another = principal(HTTP_PRINCIPALS_MAX);
        let refused = connections.of(Some(&another)).map(drop);
        assert!(
            matches!(refused, Err(UpstreamError::TooManyPrincipals { .. })),
            "{refused:?}"
        );
        // The control: one that is no longer in use makes room.
        drop(listings);
        servers[7].shutdown().await;
        connections.of(Some(&another)).unwrap();
    }
}
