//! `limbeck serve`: one MCP client on standard input and output.

use limbeck_gateway::surface;

use super::{Invocation, signals::EndSignals};
use crate::exit::{Exit, Failure};
use crate::wiring::{Lifetime, Session};

/// Serves until the client closes standard input or somebody asks us to end.
pub(super) async fn serve(invocation: &Invocation) -> Result<Exit, Failure> {
    let mut signals = EndSignals::listen()?;
    let session = Session::open(invocation, Lifetime::Client).await?;
    let served = tokio::select! {
        served = surface::serve_stdio(session.gateway.clone()) => served.map_err(Failure::fault),
        () = signals.received() => Ok(()),
    };
    session.close().await;
    served.map(|()| Exit::Completed)
}
