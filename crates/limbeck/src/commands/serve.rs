//! `limbeck serve`: one MCP client on standard input and output, or many over HTTP.

mod http;

use std::convert::Infallible;

use limbeck_gateway::launcher::{WorkerError, process};
use limbeck_gateway::{Gateway, sandbox, surface};

use super::{Invocation, signals::EndSignals};
use crate::cli::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::wiring::{Lifetime, Session};

/// Serves as the arguments say.
pub(super) async fn serve(invocation: &Invocation, arguments: &ServeArgs) -> Result<Exit, Failure> {
    match arguments.http {
        Some(address) => http::serve(invocation, address, &arguments.over_http).await,
        None => stdio(invocation).await,
    }
}

/// Serves until the client closes standard input or somebody asks us to end.
async fn stdio(invocation: &Invocation) -> Result<Exit, Failure> {
    let mut signals = EndSignals::listen()?;
    let session = Session::open(invocation, Lifetime::Client).await?;
    process::refuse_dumps();
    let served = tokio::select! {
        served = surface::serve_stdio(session.gateway.clone()) => served.map_err(Failure::fault),
        () = signals.received() => Ok(()),
        never = tell_of_sandbox(&session.gateway) => match never {},
    };
    session.close().await;
    served.map(|()| Exit::Completed)
}

/// Says once what every result is going to say of the sandbox, for those who read the log.
async fn tell_of_sandbox(gateway: &Gateway) -> Infallible {
    match gateway.sandbox().await {
        Ok(found) => {
            if let Some(warning) = sandbox::warning(&found) {
                tracing::warn!("{warning}");
            }
        }
        Err(WorkerError::Tier { sandbox, minimum }) => {
            let refusal = sandbox::refusal(&sandbox, minimum);
            tracing::error!(hint = refusal.hint, "{}", refusal.message);
        }
        // The pool has said so.
        Err(_) => {}
    }
    std::future::pending().await
}
