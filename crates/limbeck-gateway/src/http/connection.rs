//! One connection: TLS or not, HTTP/1.1 or 2, and how long it may be silent.

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

use super::bounds::HttpBounds;
use super::metrics::Refusal;
use super::service::Service;
use super::tls::Tls;

/// Between two pings to a silent HTTP/2 client, and for its answer.
const PING: Duration = Duration::from_secs(30);
/// What is kept of an HTTP/2 stream's answer that its client does not take.
const SEND_BUFFER_BYTES: usize = 256 << 10;

/// What a connection needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) service: Arc<Service>,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) bounds: HttpBounds,
    /// Cancelled when connections should end after what they have under way.
    pub(crate) closing: CancellationToken,
}

impl Connection {
    /// Serves a connection to its end. How it ends is nobody's business but the client's.
    pub(crate) async fn serve(self, stream: TcpStream) {
        // Answers are written whole; waiting for more to send only makes them late.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.bounds.write_stall));
        let stream: Pin<Box<TimeoutStream<TcpStream>>> = Box::pin(stream);
        let Some(tls) = &self.tls else {
            return self.http1(stream).await;
        };
        let limit = Duration::from_millis(HTTP_TLS_MS);
        let Ok(Ok(stream)) = timeout(limit, tls.acceptor().accept(stream)).await else {
            return self.service.traffic.refused(Refusal::Tls);
        };
        if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
            self.http2(stream).await;
        } else {
            self.http1(stream).await;
        }
    }

    /// Over clear text there is HTTP/1.1 alone: nothing that speaks 2 to us needs it there.
    async fn http1(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let last = CancellationToken::new();
        let service = |request: Request<Incoming>| async {
            Ok::<_, Infallible>(self.service.answer(request, &last).await)
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
            () = self.closing.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    async fn http2(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let last = CancellationToken::new();
        let used = Arc::new(AtomicBool::new(false));
        let service = {
            let (shared, last, used) = (Arc::clone(&self.service), last.clone(), Arc::clone(&used));
            move |request: Request<Incoming>| {
                used.store(true, Ordering::Relaxed);
                let (shared, last) = (Arc::clone(&shared), last.clone());
                async move { Ok::<_, Infallible>(shared.answer(request, &last).await) }
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
        // A client that asks nothing has no reason to stay.
        let unused = async {
            sleep(self.bounds.head).await;
            if used.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            _ = connection.as_mut() => return,
            () = self.closing.cancelled() => {}
            () = last.cancelled() => {}
            () = unused => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}
