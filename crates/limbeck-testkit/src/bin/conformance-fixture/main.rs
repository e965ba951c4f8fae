//! MCP server with the fixtures of the official conformance suite, tested directly and behind Limbeck.
//!
//! `@modelcontextprotocol/conformance` calls tools, resources and prompts by fixed names and checks their results.
//! This server has all of them, for both generations of the protocol: it sends a legacy client nested requests, and a
//! modern client `input_required` results. The tasks extension is not part of it.
//!
//! ```text
//! conformance-fixture                         serves on standard input and output
//! conformance-fixture --http 127.0.0.1:8080   prints its address and serves Streamable HTTP at /mcp
//! ```

#![forbid(unsafe_code)]
#![expect(
    deprecated,
    reason = "sampling, logging and resources/subscribe are what legacy scenarios are about"
)]

mod content;
mod handler;
mod prompts;
mod question;
mod resources;
mod tools;

use std::convert::Infallible;
use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use handler::Fixture;

const USAGE: &str = "usage: conformance-fixture [--http ADDRESS]";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let running =
                rmcp::serve_server(Fixture::default(), rmcp::transport::stdio_pipes()).await?;
            running.waiting().await?;
            Ok(())
        }
        ["--http", address] => serve_http(address).await,
        _ => Err(USAGE.into()),
    }
}

async fn serve_http(address: &str) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    writeln!(std::io::stdout(), "{origin}/mcp")?;

    let fixture = Fixture::default();
    let service = Arc::new(StreamableHttpService::new(
        move || Ok(fixture.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default().with_allowed_origins([origin]),
    ));
    loop {
        let (stream, _) = listener.accept().await?;
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let service = Arc::clone(&service);
                async move { Ok::<_, Infallible>(service.handle(request).await) }
            });
            // A client that disconnects in the middle is not an error of the fixture.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}
