//! Servers that are connected when the gateway starts, where a user of S1 names some.

use std::convert::Infallible;
use std::time::Duration;

use limbeck_domain::ServerName;
use limbeck_gateway::Gateway;

/// How long the log waits before it names those that have not answered.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connects `names`. Those of no server are ignored, as they were, and a server that is disabled is connected: for users of
/// S1 it is one that does not start by itself. Never returns, because the caller selects it beside the serving task.
pub(super) async fn connect(names: Option<Vec<ServerName>>, gateway: &Gateway) -> Infallible {
    let catalog = gateway.catalog();
    let mut servers = names.unwrap_or_default();
    servers.retain(|name| catalog.server(name).is_some());
    if !servers.is_empty() {
        for server in gateway.live_catalog().refresh_all(&servers, PATIENCE).await {
            tracing::warn!(%server, "a server of CONNECTED_SERVERS has not answered yet");
        }
    }
    std::future::pending().await
}
