//! TLS and HTTP/2: H15, H16, and H01 over HTTP/2.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use limbeck_server::http::{HttpError, HttpServer, Security, TlsError, TlsFiles};
use limbeck_testkit::World;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::support::{ALICE, Ask, Reply, Server, exchange, options, rest_of, until};

/// Server with a new certificate, and the directory of its files.
async fn server() -> (Server, TempDir) {
    let files = tempfile::tempdir().unwrap();
    certify(files.path());
    let tls = TlsFiles {
        certificate: files.path().join("cert.pem"),
        key: files.path().join("key.pem"),
    };
    let server = Server::with(|options| options.security = Security::Tls(tls)).await;
    (server, files)
}

/// Writes a new certificate for this machine.
fn certify(directory: &Path) {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(directory.join("cert.pem"), made.cert.pem()).unwrap();
}

/// TLS connection that trusts only the certificate in the directory.
async fn connect(
    server: &Server,
    files: &Path,
    protocol: &[u8],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(files.join("cert.pem")).unwrap();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, server.connect().await)
        .await
}

async fn over_tls(server: &Server, files: &Path, ask: &Ask) -> Reply {
    let stream = connect(server, files, b"http/1.1").await.unwrap();
    exchange(stream, &ask.bytes(server.address)).await
}

#[tokio::test]
async fn h15_tls_clients_are_served_and_other_bytes_get_no_http_response() {
    let (server, files) = server().await;
    let metrics = Ask::get("/metrics", ALICE);
    assert_eq!(over_tls(&server, files.path(), &metrics).await.status, 200);
    // Clear text, an SSL 2 ClientHello, random bytes, and no byte.
    let old = [
        &[22, 3, 1, 0, 47, 1, 0, 0, 43, 3, 1][..],
        &[7; 32],
        &[0, 0, 4, 0, 0x2f, 0, 0x35, 1, 0],
    ]
    .concat();
    for bytes in [metrics.bytes(server.address), old, vec![0; 100], Vec::new()] {
        let mut stream = server.connect().await;
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let answer = rest_of(&mut stream).await;
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    let metrics = over_tls(&server, files.path(), &metrics).await;
    assert!(
        metrics
            .body
            .contains("limbeck_http_refused_total{reason=\"tls\"} 4"),
        "{}",
        metrics.body
    );
}

#[tokio::test]
async fn h15_a_changed_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let (server, files) = server().await;
    let health = Ask::new("GET", "/health");
    assert_eq!(over_tls(&server, files.path(), &health).await.status, 200);
    certify(files.path());
    until("the new certificate", || async {
        connect(&server, files.path(), b"http/1.1").await.is_ok()
    })
    .await;
    let good = std::fs::read(files.path().join("cert.pem")).unwrap();
    std::fs::write(files.path().join("cert.pem"), "no certificate").unwrap();
    // Longer than the interval of checks for changed files.
    tokio::time::sleep(Duration::from_secs(3)).await;
    std::fs::write(files.path().join("cert.pem"), good).unwrap();
    assert_eq!(over_tls(&server, files.path(), &health).await.status, 200);
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_that_everybody_may_change_is_refused_and_a_closed_one_is_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let files = tempfile::tempdir().unwrap();
    certify(files.path());
    let key = files.path().join("key.pem");
    let tls = || TlsFiles {
        certificate: files.path().join("cert.pem"),
        key: key.clone(),
    };
    let gateway = World::new("/nonexistent/worker").start().await;
    let bind = async |mode| {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let options = options(Security::Tls(tls()));
        HttpServer::bind(gateway.clone(), any_port, options).await
    };
    for (mode, accepted) in [(0o600, true), (0o644, true), (0o666, false), (0o602, false)] {
        match bind(mode).await {
            Ok(_) => assert!(accepted, "{mode:o}"),
            Err(error @ HttpError::Tls(TlsError::OpenKey { .. })) => {
                assert!(!accepted, "{mode:o}");
                let message = format!("{error}: {}", error.hint());
                let mode = format!("mode {mode:o}");
                assert!(
                    message.contains(&mode) && message.contains("chmod 600"),
                    "{message}"
                );
            }
            Err(error) => panic!("{mode:o}: {error}"),
        }
    }
    // The control: closed again, the same key serves a client.
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let server = Server::with(|options| options.security = Security::Tls(tls())).await;
    let health = Ask::new("GET", "/health");
    assert_eq!(over_tls(&server, files.path(), &health).await.status, 200);
}

async fn http2(server: &Server, files: &Path) -> h2::client::SendRequest<bytes::Bytes> {
    let stream = connect(server, files, b"h2").await.unwrap();
    let (sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn metrics(authority: &str) -> http::request::Builder {
    Request::get(format!("https://{authority}/metrics"))
        .header("authorization", format!("Bearer {ALICE}"))
}

#[tokio::test]
async fn h01_over_http2_the_authority_counts_and_a_host_beside_it_must_agree() {
    let (server, files) = server().await;
    let ours = server.address.to_string();
    for (authority, host, status) in [
        (&*ours, None, 200),
        (&*ours, Some(&*ours), 200),
        ("attacker.example", None, 403),
        ("attacker.example", Some(&*ours), 400),
        (&*ours, Some("attacker.example"), 400),
    ] {
        let mut sender = http2(&server, files.path()).await;
        let mut request = metrics(authority);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let (answer, _) = sender
            .send_request(request.body(()).unwrap(), true)
            .unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), status, "{authority} {host:?}");
    }
}

/// An HTTP/2 frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head, payload.to_vec()].concat()
}

#[tokio::test]
async fn h16_requests_that_are_reset_at_once_end_the_connection() {
    let (server, files) = server().await;
    let ours = server.address.to_string();
    // GET https / of the static table, and `:authority`, not indexed (RFC 7541 §6.1, §6.2.2).
    let mut head = vec![0x82, 0x87, 0x84, 0x01, ours.len() as u8];
    head.extend_from_slice(ours.as_bytes());
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    for request in 0..10_000 {
        let stream = request * 2 + 1;
        bytes.extend(frame(1, 0x5, stream, &head));
        bytes.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    let mut stream = connect(&server, files.path(), b"h2").await.unwrap();
    let (mut read, mut write) = tokio::io::split(&mut stream);
    let (answer, _) = futures::join!(rest_of(&mut read), write.write_all(&bytes));
    // GOAWAY with the error ENHANCE_YOUR_CALM.
    let goaway = answer
        .windows(17)
        .any(|part| part[3] == 7 && part[13..17] == [0, 0, 0, 11]);
    assert!(goaway, "{} bytes of answers", answer.len());
    let metrics = over_tls(&server, files.path(), &Ask::get("/metrics", ALICE)).await;
    assert_eq!(metrics.status, 200);
}

#[tokio::test]
async fn h16_heads_and_streams_are_bounded_over_http2_too() {
    let (server, files) = server().await;
    let ours = server.address.to_string();
    let mut sender = http2(&server, files.path()).await;
    let large = metrics(&ours)
        .header("x", "x".repeat(40 << 10))
        .body(())
        .unwrap();
    let status = match sender.send_request(large, true) {
        Ok((answer, _)) => answer
            .await
            .map(|answer| answer.status().as_u16())
            .unwrap_or(0),
        Err(_) => 0,
    };
    assert!(matches!(status, 0 | 431), "{status}");
    // Streams over the limit wait for others to end; the client library learns the limit from SETTINGS.
    let mut sender = http2(&server, files.path()).await;
    let (answer, _) = sender
        .send_request(metrics(&ours).body(()).unwrap(), true)
        .unwrap();
    answer.await.unwrap();
    assert_eq!(sender.current_max_send_streams(), 64);
    assert_eq!(
        over_tls(&server, files.path(), &Ask::get("/metrics", ALICE))
            .await
            .status,
        200
    );
}
