//! The server face over HTTP: many clients, both eras of the protocol, one endpoint, `/mcp`.
//!
//! Whoever can reach the address can try, so everything before the token is as small as it can be made:
//! hyper reads heads within bounds of size, number and time, [`authority`] looks at the names,
//! [`authentication`] at the token, and what fails there has caused no work. Bodies are read after that
//! and the SDK parses them. Each principal has its own clients, sessions and limits.
//!
//! Three things hold here and are tested in `tests/http`:
//! - There is no request that runs anything without a token, and no option to allow one.
//! - In clear text only loopback addresses are listened on, unless the operator says that a proxy has TLS.
//! - What one principal has, another cannot see, use or crowd out.
//!
//! Start reading at [`HttpFace::serve`]; the path of a request is in [`service`].

mod authentication;
mod authority;
mod body;
mod bounds;
mod clients;
mod connection;
mod issuer;
mod metrics;
mod patience;
mod service;
mod sessions;
mod tls;
mod tokens;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

pub use authentication::Authentication;
pub use authority::NameError;
pub use bounds::HttpBounds;
pub use issuer::{Issuer, IssuerError};
pub use tls::{TlsError, TlsFiles};
pub use tokens::{OwnToken, Tokens, TokensError};

use crate::Gateway;
use authority::Names;
use clients::Clients;
use connection::Connection;
use service::Service;
use tls::Tls;

/// How often is looked whether executions still run, when the gateway is about to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time for answers to be sent when everything has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// Pause after a connection that could not be accepted, as when descriptors have run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// How to listen.
#[derive(Debug)]
pub struct HttpOptions {
    /// Whose requests are taken.
    pub authentication: Authentication,
    /// Hosts we go by, besides loopback names and the address we listen on: `name` or `name:port`.
    pub allow_hosts: Vec<String>,
    /// Origins of web pages that may send requests.
    pub allow_origins: Vec<String>,
    /// Who has TLS.
    pub security: Security,
    /// How much is taken on.
    pub bounds: HttpBounds,
}

/// What protects tokens and data on their way.
#[derive(Clone, Debug)]
pub enum Security {
    /// Nothing: they do not leave the machine.
    Loopback,
    /// TLS of ours.
    Tls(TlsFiles),
    /// TLS of a proxy, and the network between it and us.
    TlsProxy,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Tokens would be sent in clear text over a network.
    #[error("{0} can be reached from other machines, and tokens would be sent there in clear text")]
    ClearText(SocketAddr),
    /// The address cannot be listened on.
    #[error("{address} cannot be listened on")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A name in the options is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// TLS cannot be offered.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl HttpError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::ClearText(_) => {
                "listen on 127.0.0.1, or add `--tls-cert FILE --tls-key FILE`, or `--behind-tls-proxy` where a proxy has TLS"
            }
            Self::Listen { .. } => "choose another port, for example `--http 127.0.0.1:8081`",
            Self::Name(_) => "correct `--allow-host` or `--allow-origin`",
            Self::Tls(_) => "name a certificate chain and its unencrypted private key, both in PEM",
        }
    }
}

/// A gateway that listens.
#[derive(Debug)]
pub struct HttpFace {
    listener: TcpListener,
    connection: Connection,
    bounds: HttpBounds,
    /// Ends every stream and session.
    ended: CancellationToken,
}

impl HttpFace {
    /// Listens on `address`. Port 0 stands for a free one.
    ///
    /// # Errors
    ///
    /// [`HttpError`]; nothing was accepted then.
    pub async fn bind(
        gateway: Gateway,
        address: SocketAddr,
        options: HttpOptions,
    ) -> Result<Self, HttpError> {
        let (tls, scheme) = match options.security {
            Security::Loopback if address.ip().is_loopback() => (None, "http"),
            Security::Loopback => return Err(HttpError::ClearText(address)),
            Security::Tls(files) => (Some(Arc::new(Tls::read(files)?)), "https"),
            Security::TlsProxy => (None, "https"),
        };
        let listen = async {
            let listener = TcpListener::bind(address).await?;
            let bound = listener.local_addr()?;
            Ok((listener, bound))
        };
        let (listener, bound) = listen
            .await
            .map_err(|error| HttpError::Listen { address, error })?;
        let ended = CancellationToken::new();
        let service = Service {
            names: Names::new(bound, &options.allow_hosts, &options.allow_origins)?,
            authentication: options.authentication,
            clients: Clients::new(gateway.clone(), options.bounds, ended.clone()),
            traffic: metrics::Traffic::default(),
            bodies: body::Bodies::new(options.bounds.body),
            sign_of_life: options.bounds.sign_of_life,
            scheme,
            draining: CancellationToken::new(),
            gateway,
        };
        let connection = Connection {
            service: Arc::new(service),
            tls,
            bounds: options.bounds,
            closing: CancellationToken::new(),
        };
        Ok(Self {
            listener,
            connection,
            bounds: options.bounds,
            ended,
        })
    }

    /// Where clients connect, when they are on this machine or the name was chosen by address.
    ///
    /// # Errors
    ///
    /// What the system says of a socket it has no address for.
    pub fn url(&self) -> io::Result<String> {
        let address = self.listener.local_addr()?;
        Ok(format!(
            "{}://{address}/mcp",
            self.connection.service.scheme
        ))
    }

    /// Serves until `drain` is cancelled, and then until what is under way has ended: no connection is
    /// accepted any more, `/ready` says so on those there are, and executions have [`HttpBounds::drain`]
    /// before they are cancelled. Dropping this ends everything at once.
    pub async fn serve(self, drain: CancellationToken) {
        let Self {
            listener,
            connection,
            bounds,
            ended,
        } = self;
        let slots = Arc::new(Semaphore::new(bounds.connections));
        let mut connections = JoinSet::new();
        let tls = connection.tls.clone();
        let follow = async {
            match &tls {
                Some(tls) => tls.follow().await,
                None => std::future::pending().await,
            }
        };
        let mut follow = std::pin::pin!(follow);
        loop {
            tokio::select! {
                () = drain.cancelled() => break,
                () = &mut follow => {}
                Some(_) = connections.join_next() => {}
                (stream, slot) = accept(&listener, &slots) => {
                    connections.spawn(one(connection.clone(), stream, slot));
                }
            }
        }
        drop(listener);
        let service = &connection.service;
        service.draining.cancel();
        service.gateway.settled(bounds.drain).await;
        connection.closing.cancel();
        let last = Instant::now() + LAST_ANSWERS;
        let _ = timeout_at(last, all(&mut connections)).await;
        ended.cancel();
        let _ = timeout(LAST_ANSWERS, all(&mut connections)).await;
    }
}

impl Gateway {
    /// Waits until no execution runs or waits, `limit` at most.
    async fn settled(&self, limit: Duration) {
        let limit = Instant::now() + limit;
        while self.shared.admission.load() != (0, 0) && Instant::now() < limit {
            sleep(LOOK_EVERY).await;
        }
    }
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let slot = Arc::clone(slots).acquire_owned().await;
    let slot = slot.expect("nobody closes the semaphore");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

async fn one(connection: Connection, stream: TcpStream, slot: OwnedSemaphorePermit) {
    let service = Arc::clone(&connection.service);
    service.traffic.connections.fetch_add(1, Ordering::Relaxed);
    connection.serve(stream).await;
    service.traffic.connections.fetch_sub(1, Ordering::Relaxed);
    drop(slot);
}

async fn all(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}
