//! `limbeck serve` on standard input and output: a gateway, or a pipe to the one that runs for another client.
//!
//! The first process of a configuration serves itself and offers its gateway; the next ones pass the lines of their clients on
//! ([`limbeck_server::sharing`]). A pipe whose gateway is gone tries again: it becomes the gateway, or finds the next one. A pipe
//! whose own configuration changes, because a file of its directory does, leaves its gateway for one that fits.

use std::time::Duration;

use limbeck_domain::ExecutionStatus;
use limbeck_launcher::process;
use limbeck_server::sharing::{
    ClientPipe, Joined, LostExecution, Meeting, OfferedGateway, PipeEnd,
};
use limbeck_server::surface::{self, CompatOptions, McpServer};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use super::super::signals::EndSignals;
use super::{connected_first, log_sandbox_state};
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::wiring::{
    ConfigurationFiles, GatewayLifetime, GatewaySession, SharedPlace, WayIn, meeting_of, open_past,
};

/// How long a gateway whose own client has left waits for another client after the last one left.
const GRACE: Duration = Duration::from_secs(2);
/// How long a gateway that gets a signal to end waits until its pipes have found another. Clients kill a process some two seconds
/// after they have asked it to end.
const HANDOVER: Duration = Duration::from_millis(1_500);
/// How often a pipe looks whether the owner of an execution is gone: the system closes the socket of a killed process a moment
/// before it releases its locks.
const LOOKS_MAX: u32 = 40;
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// Gateways that a pipe loses one after the other, each within [`STEADY`], before it serves its client itself.
const LOSSES_MAX: u32 = 8;
/// How long a gateway serves that is not one of them.
const STEADY: Duration = Duration::from_secs(10);

/// Serves until the client closes standard input or a signal arrives. `share` is whether another process may serve the
/// client.
pub(super) async fn serve(
    invocation: &Invocation,
    compat: CompatOptions,
    share: bool,
) -> Result<ExitStatus, CommandError> {
    // Before servers are started: a signal during the start must stop them in order.
    let mut signals = EndSignals::listen()?;
    let mut pipe: Option<ClientPipe> = None;
    if !share {
        return gateway(invocation, compat, &mut signals, None, pipe).await;
    }
    let mut losses = 0;
    while losses < LOSSES_MAX {
        let meeting = match meeting_of(invocation, &compat) {
            SharedPlace::Shared(meeting) => meeting,
            SharedPlace::Alone(reason) => {
                tracing::info!("shares no gateway: {reason}");
                break;
            }
        };
        let joined = tokio::select! {
            joined = meeting.join() => joined,
            _ = signals.received() => return Ok(ExitStatus::Completed),
        };
        let stream = match joined {
            Joined::Gateway { stream, pid } => {
                tracing::info!("uses the gateway of process {pid}");
                stream
            }
            Joined::Elected(offer) => {
                let offered = Some((offer.accept(), meeting));
                return gateway(invocation, compat, &mut signals, offered, pipe).await;
            }
            Joined::Alone { reason } => {
                tracing::warn!("shares no gateway: {reason}");
                break;
            }
        };
        process::refuse_dumps();
        let begun = Instant::now();
        let attached = pipe.get_or_insert_with(ClientPipe::on_stdio);
        let end = tokio::select! {
            end = attached.attach(stream, another_identity(invocation, &compat, &meeting)) => end,
            _ = signals.received() => return Ok(ExitStatus::Completed),
        };
        if end == PipeEnd::ClientLeft {
            return Ok(ExitStatus::Completed);
        }
        let lost = attached.answer_lost(async |execution| find(invocation, execution).await);
        if lost.await.is_err() || attached.is_done() {
            return Ok(ExitStatus::Completed);
        }
        losses = match begun.elapsed() < STEADY {
            true => losses + 1,
            false => 0,
        };
    }
    gateway(invocation, compat, &mut signals, None, pipe).await
}

/// Runs a gateway for the client of this process and for the pipes of others.
async fn gateway(
    invocation: &Invocation,
    compat: CompatOptions,
    signals: &mut EndSignals,
    offered: Option<(OfferedGateway, Meeting)>,
    pipe: Option<ClientPipe>,
) -> Result<ExitStatus, CommandError> {
    let files = ConfigurationFiles::of(invocation);
    let way_in = WayIn::Stdio.or_earlier_system(!compat.listed.is_empty());
    let opened = GatewaySession::open_serving(invocation, GatewayLifetime::Client, way_in);
    let session = opened.await?;
    session.gateway.keep_timers();
    if invocation.stdin_is_terminal {
        let note = "waiting for an MCP client on standard input; end with Ctrl-C or Ctrl-D";
        invocation.printer.note(note);
    }
    // After the configuration was read: paths like `/dev/fd/63` cannot be opened afterwards.
    process::refuse_dumps();
    let connected_first = compat.connected_first.clone();
    let server = McpServer::new(session.gateway.clone()).with_compat(compat.clone());
    let (offered, meeting) = offered.unzip();
    if let Some(offered) = &offered {
        offered.serve(server.clone());
    }
    let serving = async {
        let served = own_client(&server, pipe).await;
        if let Some(offered) = &offered {
            offered.all_left(GRACE).await;
        }
        served
    };
    let offering = async {
        if let (Some(offered), Some(meeting)) = (&offered, &meeting) {
            another_identity(invocation, &compat, meeting).await;
            // Who starts now gets what the files say; those that are here follow their own files.
            offered.withdraw();
        }
        std::future::pending().await
    };
    let served = tokio::select! {
        served = serving => served,
        _ = signals.received() => Ok(()),
        never = offering => never,
        never = log_sandbox_state(&session.gateway) => match never {},
        never = connected_first::connect(connected_first, &session.gateway) => match never {},
        never = files.follow(invocation, &session) => match never {},
    };
    if let Some(offered) = offered {
        offered.end(HANDOVER).await;
    }
    session.close().await;
    served.map(|()| ExitStatus::Completed)
}

/// Serves the client of this process, which may have been served by another before.
async fn own_client(server: &McpServer, pipe: Option<ClientPipe>) -> Result<(), CommandError> {
    let Some(mut pipe) = pipe else {
        let served = surface::serve_stdio(server).await;
        return served.map_err(CommandError::fault);
    };
    let (own, served) = UnixStream::pair().map_err(CommandError::fault)?;
    tokio::select! {
        served = server.serve_stream(served) => served.map_err(CommandError::fault),
        _ = pipe.attach(own, std::future::pending()) => Ok(()),
    }
}

/// Waits until a change of the configuration gives this start another identity.
async fn another_identity(invocation: &Invocation, compat: &CompatOptions, meeting: &Meeting) {
    let mut files = ConfigurationFiles::of(invocation);
    loop {
        files.changed().await;
        // A configuration that cannot be read, as while it is edited, changes nothing.
        if let SharedPlace::Shared(now) = meeting_of(invocation, compat)
            && now.identity() != meeting.identity()
        {
            return;
        }
    }
}

/// What the store knows of an execution whose gateway is gone.
async fn find(invocation: &Invocation, execution: &str) -> LostExecution {
    for look in 0..LOOKS_MAX {
        if look > 0 {
            sleep(LOOK_EVERY).await;
        }
        let Ok(store) = open_past(invocation).await else {
            return LostExecution::Unknown;
        };
        let found = match store.execution(execution).await {
            Ok(Some(record)) => record.row.status,
            // It was not on disk yet, and so was no call of it that may write.
            Ok(None) => return LostExecution::Unrecorded,
            Err(_) => return LostExecution::Unknown,
        };
        match found {
            ExecutionStatus::Running => {}
            ExecutionStatus::Paused => return LostExecution::Paused,
            ExecutionStatus::NeedsReconciliation => return LostExecution::InDoubt,
            ExecutionStatus::Completed | ExecutionStatus::Failed | ExecutionStatus::Cancelled => {
                return LostExecution::Ended;
            }
        }
    }
    LostExecution::Running
}
