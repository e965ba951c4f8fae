//! `limbeck health`: whether a gateway runs and answers, for containers and service managers.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::anyhow;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cli::HealthArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::table::TextTable;

/// How long a gateway has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer over HTTP that are read: its first line says all.
const ANSWER_BYTES_MAX: u64 = 4 << 10;

/// What was found.
#[derive(Debug, Serialize)]
struct Health {
    healthy: bool,
    gateways: Vec<Value>,
}

/// Asks the gateways that use this state directory, or the one at an address, and ends with 1 when none serves.
pub(super) async fn health(
    invocation: &Invocation,
    arguments: &HealthArgs,
) -> Result<ExitStatus, CommandError> {
    let gateways = match arguments.http {
        Some(address) => vec![over_http(address).await],
        None => over_sockets(invocation).await,
    };
    let serves = |gateway: &Value| gateway["status"] == "serving";
    let health = Health {
        healthy: gateways.iter().any(serves),
        gateways,
    };
    if arguments.json {
        invocation.printer.json(&health)?;
    } else {
        print(invocation, &health);
    }
    if health.healthy {
        return Ok(ExitStatus::Completed);
    }
    let found = match health.gateways.is_empty() {
        true => "no gateway runs",
        false => "no gateway serves",
    };
    let error = CommandError::new(ExitStatus::Failed, anyhow!(found));
    Err(match &arguments.http {
        Some(_) => error,
        None => error.with_hint(
            "`limbeck serve` starts one; name the state directory of the one you mean with `--state-dir`, or its address with `--http`",
        ),
    })
}

fn print(invocation: &Invocation, health: &Health) {
    if health.gateways.is_empty() {
        return;
    }
    let text = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut table = TextTable::with_header([
        "STATUS", "PROCESS", "VERSION", "ADDRESS", "CLIENTS", "RUNNING",
    ]);
    for gateway in &health.gateways {
        let keys = ["status", "pid", "version", "address", "clients", "running"];
        table.row(keys.map(|key| text(&gateway[key])));
    }
    invocation.printer.table(&table);
}

#[cfg(unix)]
async fn over_sockets(invocation: &Invocation) -> Vec<Value> {
    let mut found = Vec::new();
    for socket in crate::wiring::sockets(invocation) {
        match timeout(PATIENCE, limbeck_server::sharing::ask_health(&socket)).await {
            Ok(Ok(health)) => found.push(health),
            // What a killed gateway has left.
            Ok(Err(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
                ) => {}
            Ok(Err(error)) => found.push(json!({"status": "failed", "error": error.to_string()})),
            Err(_) => found.push(json!({"status": "hangs"})),
        }
    }
    found
}

#[cfg(not(unix))]
async fn over_sockets(_: &Invocation) -> Vec<Value> {
    Vec::new()
}

/// The state of the gateway at `address`, as it says itself without a token.
async fn over_http(address: SocketAddr) -> Value {
    let at = address.to_string();
    match timeout(PATIENCE, ready(address)).await {
        Ok(Ok(200)) => json!({"status": "serving", "address": at}),
        Ok(Ok(503)) => json!({"status": "ending", "address": at}),
        Ok(Ok(status)) => {
            json!({"status": "failed", "address": at, "error": format!("it answered with {status}")})
        }
        Ok(Err(error)) => {
            json!({"status": "failed", "address": at, "error": error.to_string()})
        }
        Err(_) => json!({"status": "hangs", "address": at}),
    }
}

/// Status of `GET /ready`.
async fn ready(address: SocketAddr) -> io::Result<u16> {
    let mut stream = TcpStream::connect(address).await?;
    // `localhost` is accepted at every address.
    let request = format!(
        "GET /ready HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n",
        address.port()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream
        .take(ANSWER_BYTES_MAX)
        .read_to_end(&mut answer)
        .await?;
    let text = String::from_utf8_lossy(&answer);
    let status = text.strip_prefix("HTTP/1.1 ");
    let status = status.and_then(|rest| rest.get(..3)?.parse().ok());
    status.ok_or_else(|| io::Error::other("it does not answer in HTTP without TLS"))
}
