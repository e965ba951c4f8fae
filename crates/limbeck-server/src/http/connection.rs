//! Connection of a client: TLS handshake, HTTP/1.1 or HTTP/2, and timeouts.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use limbeck_domain::limits::{
    HTTP_HEAD_BYTES_MAX, HTTP_HEADERS_MAX, HTTP_RESETS_MAX, HTTP_STREAMS_MAX, HTTP_TLS_MS,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use super::connection_places::ConnectionPlace;
use super::http_bounds::HttpBounds;
use super::metrics::RefusalReason;
use super::service::HttpService;
use super::tls::Tls;

/// Interval of pings on an idle HTTP/2 connection, and timeout of each.
const PING: Duration = Duration::from_secs(30);
/// Bytes buffered of an HTTP/2 response that its client does not read.
const SEND_BUFFER_BYTES: usize = 256 << 10;

/// Serves connections; cloned for each.
#[derive(Clone, Debug)]
pub(crate) struct ClientConnection {
    pub(crate) service: Arc<HttpService>,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) bounds: HttpBounds,
    /// Cancelled when connections should close after their requests in flight.
    pub(crate) closing: CancellationToken,
}

impl ClientConnection {
    /// Serves a connection to its end. Errors of a connection concern its client alone and are not reported.
    pub(crate) async fn serve(self, stream: TcpStream, place: Arc<ConnectionPlace>) {
        // Responses are written whole, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.bounds.write_stall));
        let stream: Pin<Box<TimeoutStream<TcpStream>>> = Box::pin(stream);
        let Some(tls) = &self.tls else {
            return self.http1(stream, place).await;
        };
        let limit = Duration::from_millis(HTTP_TLS_MS);
        let Ok(Ok(stream)) = timeout(limit, tls.acceptor().accept(stream)).await else {
            return self.service.metrics.refused(RefusalReason::Tls);
        };
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.http2(stream, place).await;
        } else {
            self.http1(stream, place).await;
        }
    }

    /// HTTP/1.1, the only version without TLS: no known client uses HTTP/2 in clear text.
    async fn http1(self, stream: impl AsyncRead + AsyncWrite + Unpin, place: Arc<ConnectionPlace>) {
        let last = CancellationToken::new();
        let used = AtomicBool::new(false);
        let service = |request: Request<Incoming>| async {
            used.store(true, Ordering::Relaxed);
            Ok::<_, Infallible>(self.service.answer(request, &place, &last).await)
        };
        let mut connection = pin!(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(self.bounds.head)
                .max_headers(HTTP_HEADERS_MAX)
                .max_buf_size(HTTP_HEAD_BYTES_MAX)
                .serve_connection(TokioIo::new(stream), service_fn(service))
        );
        tokio::select! {
            _ = connection.as_mut() => return,
            () = self.unused(&used) => return,
            () = self.closing.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    /// Completes when no request came in the time for the first head.
    async fn unused(&self, used: &AtomicBool) {
        sleep(self.bounds.first_head).await;
        if used.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    async fn http2(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        place: Arc<ConnectionPlace>,
    ) {
        let last = CancellationToken::new();
        let used = Arc::new(AtomicBool::new(false));
        let service = {
            let (shared, last, used) = (Arc::clone(&self.service), last.clone(), Arc::clone(&used));
            move |request: Request<Incoming>| {
                used.store(true, Ordering::Relaxed);
                let (shared, last, place) = (Arc::clone(&shared), last.clone(), Arc::clone(&place));
                async move { Ok::<_, Infallible>(shared.answer(request, &place, &last).await) }
            }
        };
        let mut connection = pin!(
            http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(HTTP_STREAMS_MAX)
                .max_header_list_size(HTTP_HEAD_BYTES_MAX as u32)
                .max_pending_accept_reset_streams(HTTP_RESETS_MAX)
                .max_local_error_reset_streams(HTTP_RESETS_MAX)
                .max_send_buf_size(SEND_BUFFER_BYTES)
                .keep_alive_interval(PING)
                .keep_alive_timeout(PING)
                .serve_connection(TokioIo::new(stream), service_fn(service))
        );
        tokio::select! {
            _ = connection.as_mut() => return,
            () = self.closing.cancelled() => {}
            () = last.cancelled() => {}
            // HTTP/2 has no header timeout in hyper.
            () = self.unused(&used) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}
