//! A gateway's server face by itself, over plain HTTP for tools that cannot send a token, such as the
//! conformance suite, or over standard input.
//!
//! ```text
//! surface-host http MODE COMMAND [ARGUMENT…]    puts a gateway before the stdio server COMMAND; prints its address
//! surface-host stdio MODE COMMAND [ARGUMENT…]   the same on standard input and output
//! ```
//!
//! MODE is `code`, `direct`, `both` or `auto`. What `limbeck serve --http` adds, above all its tokens, is
//! left out, so this is for tests on one's own machine only.

#![forbid(unsafe_code)]

use std::convert::Infallible;
use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use limbeck_gateway::Gateway;
use limbeck_gateway::domain::Expose;
use limbeck_gateway::launcher::PoolSize;
use limbeck_gateway::surface::{Surface, serve_stdio};
use limbeck_gateway::upstream::{ServerSpec, StdioSpec, TransportSpec};
use limbeck_testkit::World;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

const USAGE: &str = "usage: surface-host http|stdio code|direct|both|auto COMMAND [ARGUMENT…]";
/// No program runs, so no worker is needed.
const NO_WORKERS: PoolSize = PoolSize {
    ready: 0,
    starting: 1,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let transport = arguments.next();
    let mode = arguments.next().and_then(|word| Expose::parse(&word));
    let (Some(transport), Some(mode), Some(command)) = (transport, mode, arguments.next()) else {
        return Err(USAGE.into());
    };
    let server = StdioSpec {
        command: command.into(),
        args: arguments.collect(),
        env: Vec::new(),
        cwd: None,
    };
    let gateway = World::new("/nonexistent")
        .pool(NO_WORKERS)
        .process(ServerSpec::new("fixture", TransportSpec::Stdio(server)))
        .expose("fixture", mode)
        .start()
        .await;
    match transport.as_str() {
        "http" => serve_http(gateway).await,
        "stdio" => Ok(serve_stdio(gateway).await?),
        _ => Err(USAGE.into()),
    }
}

async fn serve_http(gateway: Gateway) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    writeln!(std::io::stdout(), "{origin}/mcp")?;
    let service = Arc::new(StreamableHttpService::new(
        move || Ok(Surface::new(gateway.clone(), "local")),
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
            // A client that goes away in the middle is no concern of ours.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}
