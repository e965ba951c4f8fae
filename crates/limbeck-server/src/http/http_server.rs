//! Listening HTTP server: accepts connections, and shuts down without cutting off requests in flight.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use limbeck_gateway::Gateway;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::allowed_hosts::AllowedHosts;
use super::bodies::BodyReader;
use super::clients::PrincipalClients;
use super::connection::ClientConnection;
use super::connection_places::{ConnectionPlace, ConnectionPlaces};
use super::http_bounds::HttpBounds;
use super::http_options::{HttpError, HttpOptions, Security};
use super::metrics::{HttpMetrics, RefusalReason};
use super::service::HttpService;
use super::tls::Tls;
use crate::answer_room::AnswerRoom;

/// Interval at which a shutdown checks whether executions still run.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time to send the last responses after all executions ended.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// Connections that may be closing beside the open ones.
const CLOSING_MAX: usize = 64;
/// Pause after a failed `accept`, for example when file descriptors have run out.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Listening HTTP server of a gateway.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    connection: ClientConnection,
    bounds: HttpBounds,
    /// Ends every stream and session when cancelled.
    ended: CancellationToken,
}

/// A bound port that nothing is served on yet. A client that connects waits.
#[derive(Debug)]
pub struct HttpListener {
    listener: TcpListener,
    bound: SocketAddr,
}

impl HttpListener {
    /// Listens on `address`.
    ///
    /// # Errors
    ///
    /// [`HttpError::Listen`], for example when the port is in use.
    pub async fn bind(address: SocketAddr) -> Result<Self, HttpError> {
        let listen = async {
            let listener = TcpListener::bind(address).await?;
            let bound = listener.local_addr()?;
            Ok(Self { listener, bound })
        };
        listen
            .await
            .map_err(|error| HttpError::Listen { address, error })
    }
}

impl HttpServer {
    /// Listens on `address` and prepares to serve. Port 0 selects a free port.
    ///
    /// # Errors
    ///
    /// [`HttpError`], before any connection is accepted.
    pub async fn bind(
        gateway: Gateway,
        address: SocketAddr,
        options: HttpOptions,
    ) -> Result<Self, HttpError> {
        if matches!(options.security, Security::Loopback) && !address.ip().is_loopback() {
            return Err(HttpError::ClearText(address));
        }
        Self::on(HttpListener::bind(address).await?, gateway, options)
    }

    /// Prepares to serve on a port that is bound already.
    ///
    /// # Errors
    ///
    /// [`HttpError`], before any connection is accepted.
    pub fn on(
        HttpListener { listener, bound }: HttpListener,
        gateway: Gateway,
        options: HttpOptions,
    ) -> Result<Self, HttpError> {
        let (tls, scheme) = match options.security {
            Security::Loopback if bound.ip().is_loopback() => (None, "http"),
            Security::Loopback => return Err(HttpError::ClearText(bound)),
            Security::Tls(files) => (Some(Arc::new(Tls::read(files)?)), "https"),
            Security::TlsProxy => (None, "https"),
        };
        let ended = CancellationToken::new();
        let service = HttpService {
            names: AllowedHosts::new(bound, &options.allow_hosts, &options.allow_origins)?,
            authentication: options.authentication,
            clients: PrincipalClients::new(
                gateway.clone(),
                options.compat,
                options.bounds,
                ended.clone(),
            ),
            metrics: HttpMetrics::default(),
            bodies: BodyReader::new(&options.bounds),
            answers: AnswerRoom::new(
                options.bounds.answer_bytes,
                options.bounds.answer_bytes_each,
                options.bounds.write_stall,
            ),
            write_stall: options.bounds.write_stall,
            keep_alive: options.bounds.keep_alive,
            scheme,
            draining: CancellationToken::new(),
            gateway,
        };
        let connection = ClientConnection {
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

    /// URL of the MCP endpoint, by the bound address.
    ///
    /// # Errors
    ///
    /// The system's error when it cannot give the socket's address.
    pub fn url(&self) -> io::Result<String> {
        let address = self.listener.local_addr()?;
        Ok(format!(
            "{}://{address}/mcp",
            self.connection.service.scheme
        ))
    }

    /// Serves until `drain` is cancelled and the requests in flight have ended: no further connection is
    /// accepted, `/ready` returns 503 on existing ones, and executions have [`HttpBounds::drain`] to end before
    /// they are cancelled. Dropping the future ends everything at once.
    pub async fn serve(self, drain: CancellationToken) {
        let Self {
            listener,
            connection,
            bounds,
            ended,
        } = self;
        let places = ConnectionPlaces::new(&bounds);
        let mut connections = JoinSet::new();
        let (tls, service) = (connection.tls.clone(), Arc::clone(&connection.service));
        let follow_tls = async {
            match &tls {
                Some(tls) => tls.follow().await,
                None => std::future::pending().await,
            }
        };
        let follow_files = async {
            tokio::join!(follow_tls, service.authentication.follow());
        };
        let mut follow_files = std::pin::pin!(follow_files);
        loop {
            tokio::select! {
                () = drain.cancelled() => break,
                () = &mut follow_files => {}
                Some(_) = connections.join_next() => {}
                // A connection that lost its place ends as soon as its task runs.
                stream = accept(&listener), if connections.len() < bounds.connections + CLOSING_MAX => {
                    connections.spawn(one(connection.clone(), stream, places.enter()));
                }
            }
        }
        drop(listener);
        service.draining.cancel();
        settled(&service.gateway, bounds.drain).await;
        connection.closing.cancel();
        let last = Instant::now() + LAST_ANSWERS;
        let _ = timeout_at(last, all(&mut connections)).await;
        ended.cancel();
        let _ = timeout(LAST_ANSWERS, all(&mut connections)).await;
    }
}

/// Waits until no execution of `gateway` runs or is queued, at most `limit`.
async fn settled(gateway: &Gateway, limit: Duration) {
    let limit = Instant::now() + limit;
    while gateway.load() != (0, 0) && Instant::now() < limit {
        sleep(LOOK_EVERY).await;
    }
}

/// Accepts the next connection.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

async fn one(connection: ClientConnection, stream: TcpStream, place: ConnectionPlace) {
    let service = Arc::clone(&connection.service);
    service.metrics.connections.fetch_add(1, Ordering::Relaxed);
    let place = Arc::new(place);
    tokio::select! {
        () = connection.serve(stream, Arc::clone(&place)) => {}
        () = place.closed() => service.metrics.refused(RefusalReason::Place),
    }
    service.metrics.connections.fetch_sub(1, Ordering::Relaxed);
}

async fn all(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}
