//! Start of each server that would move: one that does not work stays where it is.

use limbeck_domain::Tier;
use limbeck_gateway::ServerReport;
use limbeck_setup::{Configuration, ProbeOutcomes, ServerEntry};

use crate::commands::signals::EndSignals;
use crate::commands::tools;
use crate::exit::CommandError;
use crate::invocation::Invocation;
use crate::wiring::{GatewayLifetime, GatewaySession, WayIn, call_error};

/// Part of the next step for a server that only needs its user's sign-in.
const SIGN_IN: &str = "limbeck auth login";

/// Starts the servers, lists their tools and stops them. All start at the same time.
pub(in crate::commands) async fn outcomes(
    invocation: &Invocation,
    candidates: &[&ServerEntry],
) -> Result<ProbeOutcomes, CommandError> {
    if candidates.is_empty() {
        return Ok(ProbeOutcomes::new());
    }
    let configuration = Configuration {
        servers: candidates.iter().map(|&entry| entry.clone()).collect(),
        ..Configuration::default()
    };
    // A signal stops the servers that were started.
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::with(
        invocation,
        &configuration,
        GatewayLifetime::Command,
        WayIn::Command,
        // No program runs.
        Tier::Wasm.into(),
    )
    .await?;
    let now = || session.gateway.servers_now();
    let listing = session.gateway.servers(None, tools::LIST_TIMEOUT);
    let listing = tools::naming_awaited(invocation, now, listing);
    let listed = tokio::select! {
        listed = listing => Ok(listed),
        signal = signals.received() => Err(signal.error()),
    };
    session.close().await;
    let reports = listed?.map_err(|error| call_error(&error))?;
    Ok(reports.into_iter().map(outcome).collect())
}

fn outcome(report: ServerReport) -> (String, Result<(), String>) {
    let needs_sign_in = report
        .next_step
        .as_ref()
        .is_some_and(|step| step.contains(SIGN_IN));
    let works = report.state == "ready" || needs_sign_in;
    let outcome = if works {
        Ok(())
    } else {
        Err(report.error.unwrap_or_else(|| report.state.to_owned()))
    };
    (report.name, outcome)
}
