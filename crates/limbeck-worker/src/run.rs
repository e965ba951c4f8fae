//! One run of a program, from the `Start` frame to the `Done` frame.

use limbeck_domain::Mode;
use limbeck_domain::limits::{WARNING_BYTES_MAX, WARNINGS_MAX};
use limbeck_domain::text::cut;
use limbeck_wire::{Done, FromWorker, Start, ToWorker};

use crate::channel::{Channel, ChannelError};
use crate::engine::LanguageEngine;
use crate::host::HostError;
use crate::outcome::RunEnd;

/// Waits for the program. `None` when the gateway closed the channel instead of sending one.
pub(crate) fn receive_start(channel: &mut Channel) -> Result<Option<Box<Start>>, ChannelError> {
    match channel.receive() {
        Ok(ToWorker::Start(start)) => Ok(Some(start)),
        Ok(ToWorker::Deliver(_)) => Err(ChannelError::OutOfOrder("deliver")),
        Ok(ToWorker::Verdict(_)) => Err(ChannelError::OutOfOrder("verdict")),
        Err(ChannelError::Closed) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs the program and reports its end to the gateway.
pub(crate) fn run(
    engine: &mut dyn LanguageEngine,
    channel: Channel,
    start: &Start,
) -> Result<(), ChannelError> {
    let program = &start.program;
    if program.language != engine.language() {
        return Err(ChannelError::OutOfOrder("start in another language"));
    }
    let mut warnings = Vec::new();
    engine.host_mut().begin(program.limits, channel);
    let mut written_in = None;
    let result = match engine.execute(start, &mut warnings) {
        Ok(value) => Ok(value),
        Err(RunEnd::Fault(fault)) => Err(*fault),
        Err(RunEnd::OtherLanguage { fault, language }) => {
            written_in = Some(language);
            Err(*fault)
        }
        Err(RunEnd::Channel(error)) => return Err(error),
    };
    let host = engine.host_mut();
    // Sending a line fails with its channel alone.
    if let Err(HostError::Channel(error)) = host.finish_log() {
        return Err(error);
    }
    warnings.append(&mut host.warnings);
    if matches!(result, Ok(None)) && program.mode == Mode::Run {
        warnings.extend(host.silence());
    }
    let done = Done {
        result,
        written_in,
        warnings: bounded(warnings),
        given_up: std::mem::take(&mut host.given_up),
        log_bytes_dropped: host.printed.bytes_left_out(),
        memory_bytes: host.memory_bytes() as u64,
    };
    let channel = host.channel.as_mut();
    let channel = channel.expect("attached above, and nothing takes it");
    channel.send(&FromWorker::Done(Box::new(done)))?;
    channel.flush()
}

/// Cuts warnings to the number and length that a frame may carry.
fn bounded(mut warnings: Vec<String>) -> Vec<String> {
    warnings.truncate(WARNINGS_MAX);
    for warning in &mut warnings {
        warning.truncate(cut(warning, WARNING_BYTES_MAX).len());
    }
    warnings
}
