//! `limbeck serve`: one MCP client on standard input and output, or many over HTTP.

mod connected_first;
mod http;
#[cfg(unix)]
mod stdio;

use std::convert::Infallible;

use limbeck_gateway::{Gateway, sandbox};
use limbeck_launcher::WorkerError;
#[cfg(not(unix))]
use limbeck_server::surface::{self, CompatOptions, McpServer};

#[cfg(not(unix))]
use super::signals::EndSignals;
use crate::cli::ServeArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::listed_surfaces::ListedSurfaces;
#[cfg(not(unix))]
use crate::wiring::{ConfigurationFiles, GatewayLifetime, GatewaySession, WayIn};

/// Serves over HTTP when an address is given, else over standard input and output.
pub(super) async fn serve(
    invocation: &Invocation,
    arguments: &ServeArgs,
) -> Result<ExitStatus, CommandError> {
    let asked = arguments.compat.as_ref();
    let surfaces = ListedSurfaces::choose(invocation, asked.map(|surfaces| &surfaces.0[..]))?;
    surfaces.note(&invocation.printer);
    let compat = surfaces.options;
    match arguments.http {
        Some(address) => http::serve(invocation, address, &arguments.over_http, compat).await,
        #[cfg(unix)]
        None => stdio::serve(invocation, compat, !arguments.no_share).await,
        #[cfg(not(unix))]
        None => stdio(invocation, compat).await,
    }
}

/// Serves until the client closes standard input or a signal arrives.
#[cfg(not(unix))]
async fn stdio(invocation: &Invocation, compat: CompatOptions) -> Result<ExitStatus, CommandError> {
    // Before servers are started: a signal during the start must stop them in order.
    let mut signals = EndSignals::listen()?;
    let files = ConfigurationFiles::of(invocation);
    let way_in = WayIn::Stdio.or_earlier_system(!compat.listed.is_empty());
    let opened = GatewaySession::open_serving(invocation, GatewayLifetime::Client, way_in);
    let session = opened.await?;
    session.gateway.keep_timers();
    let connected_first = compat.connected_first.clone();
    let server = McpServer::new(session.gateway.clone()).with_compat(compat);
    let served = tokio::select! {
        served = surface::serve_stdio(&server) => served.map_err(CommandError::fault),
        _ = signals.received() => Ok(()),
        never = log_sandbox_state(&session.gateway) => match never {},
        never = connected_first::connect(connected_first, &session.gateway) => match never {},
        never = files.follow(invocation, &session) => match never {},
    };
    session.close().await;
    served.map(|()| ExitStatus::Completed)
}

/// Logs missing sandbox layers once; every result repeats them for the model.
async fn log_sandbox_state(gateway: &Gateway) -> Infallible {
    match gateway.sandbox().await {
        Ok(found) => {
            if let Some(warning) = sandbox::warning(&found) {
                tracing::warn!("{warning}");
            }
        }
        Err(WorkerError::Tier { sandbox, minimum }) => {
            let refusal = sandbox::refusal(&sandbox, &minimum);
            tracing::error!(hint = refusal.hint, "{}", refusal.message);
        }
        // The worker pool has logged it.
        Err(_) => {}
    }
    // Never returns, because the caller selects it beside the serving task.
    std::future::pending().await
}
