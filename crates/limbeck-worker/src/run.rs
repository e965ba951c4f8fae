//! One program from `Start` to `Done`.
//!
//! The guest runs in slices. A slice begins with what the gateway sent and ends when the program
//! waits or has ended; what it asked and printed leaves with the end of the slice, in one write.

use limbeck_wire::domain::text::cut;
use limbeck_wire::domain::{Language, ProgramStart};
use limbeck_wire::limits::{WARNING_BYTES_MAX, WARNINGS_MAX};
use limbeck_wire::{Delivery, Done, Fault, FromWorker, Idle, ToWorker};

use crate::channel::{Channel, ChannelError};
use crate::fault;
use crate::guest::{Guest, Start, Status};
use crate::host::{GuestEnd, Stop};
use crate::source::{self, Positions};

/// Why a run ended without a `Done`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The channel failed, or the gateway left.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The gateway sent a frame that has no place here.
    #[error("the gateway sent `{0}` out of order")]
    OutOfOrder(&'static str),
}

/// Waits for the program. `None` when the gateway has none: it closed the channel.
pub(crate) fn receive_start(channel: &mut Channel) -> Result<Option<Box<ProgramStart>>, RunError> {
    match channel.receive() {
        Ok(ToWorker::Start(start)) => Ok(Some(start)),
        Ok(ToWorker::Deliver(_)) => Err(RunError::OutOfOrder("deliver")),
        Err(ChannelError::Closed) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Runs the program and tells the gateway how it ended.
pub(crate) fn run(
    guest: &mut Guest,
    channel: Channel,
    start: &ProgramStart,
) -> Result<(), RunError> {
    let mut warnings = Vec::new();
    let host = guest.host_mut();
    host.begin(start.limits);
    host.channel = Some(channel);
    let result = match execute(guest, start, &mut warnings) {
        Ok(result) => result,
        Err(Ended::Fault(fault)) => Err(*fault),
        Err(Ended::Run(error)) => return Err(error),
    };
    let done = Done {
        result,
        warnings: bounded(warnings),
        log_bytes_dropped: guest.host().log_bytes_dropped,
        memory_bytes: guest.memory_bytes() as u64,
    };
    let channel = attached(guest);
    channel.send(&FromWorker::Done(Box::new(done)))?;
    channel.flush()?;
    Ok(())
}

/// As many warnings as a frame may carry, each as long as it may be.
fn bounded(mut warnings: Vec<String>) -> Vec<String> {
    warnings.truncate(WARNINGS_MAX);
    for warning in &mut warnings {
        warning.truncate(cut(warning, WARNING_BYTES_MAX).len());
    }
    warnings
}

/// Why a program did not get to its own end.
enum Ended {
    Fault(Box<Fault>),
    Run(RunError),
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl From<ChannelError> for Ended {
    fn from(error: ChannelError) -> Self {
        Self::Run(error.into())
    }
}

fn execute(
    guest: &mut Guest,
    start: &ProgramStart,
    warnings: &mut Vec<String>,
) -> Result<Result<Option<String>, Fault>, Ended> {
    let prepared = match start.language {
        Language::Typescript => source::prepare(&start.program)?,
    };
    warnings.extend(prepared.warnings);
    let first = guest
        .start(&Start {
            seed: &start.seed,
            now_us: start.now_us,
            globals: &globals(start),
            memory_bytes: start.limits.memory_bytes,
        })
        .and_then(|()| guest.run(&prepared.script));
    let mut status = ended_by(guest, first)?;
    loop {
        if let Some(end) = guest.host_mut().end.take() {
            return Ok(outcome(end, guest, &prepared.positions));
        }
        if status == Status::Finished {
            return Err(fault::no_result().into());
        }
        let delivery = wait(guest)?;
        let slice = answer(guest, &delivery);
        status = ended_by(guest, slice)?;
    }
}

/// Reports that the guest waits, and waits.
fn wait(guest: &mut Guest) -> Result<Delivery, Ended> {
    let wake_at = guest.wake_at();
    let wake_at_us = ended_by(guest, wake_at)?;
    let channel = attached(guest);
    channel.send(&FromWorker::Idle(Idle { wake_at_us }))?;
    channel.flush()?;
    match channel.receive()? {
        ToWorker::Deliver(delivery) => Ok(delivery),
        ToWorker::Start(_) => Err(Ended::Run(RunError::OutOfOrder("start"))),
    }
}

fn answer(guest: &mut Guest, delivery: &Delivery) -> wasmtime::Result<Status> {
    for answer in &delivery.results {
        guest.deliver(answer.id.0, &answer.result)?;
    }
    guest.pump(delivery.now_us)
}

fn outcome(end: GuestEnd, guest: &Guest, positions: &Positions) -> Result<Option<String>, Fault> {
    match end {
        GuestEnd::Value(value) => Ok(value),
        GuestEnd::NotSerialisable(why) => Err(fault::not_serialisable(why)),
        GuestEnd::Threw(error) => {
            let limits = &guest.host().limits;
            let full = guest.memory_bytes() >= limits.memory_bytes / 8 * 7;
            Err(fault::from_exception(error, limits, full, positions))
        }
        GuestEnd::Syntax(error) => Err(fault::from_engine_syntax(error, positions)),
    }
}

/// Sorts a failed slice: a fault of the program, or a gateway that went away meanwhile.
fn ended_by<T>(guest: &Guest, result: wasmtime::Result<T>) -> Result<T, Ended> {
    result.map_err(|error| match error.downcast::<Stop>() {
        Ok(Stop::Channel(error)) => error.into(),
        Ok(stop) => fault::from_stop(&stop.into(), guest.host()).into(),
        Err(error) => fault::from_stop(&error, guest.host()).into(),
    })
}

/// What the guest knows from its start, as JSON. `input` and `servers` are JSON texts already.
fn globals(start: &ProgramStart) -> String {
    let or = |text: &str, empty: &'static str| match text {
        "" => empty.to_owned(),
        text => text.to_owned(),
    };
    let limits = serde_json::to_string(&start.limits).expect("limits are plain numbers");
    format!(
        r#"{{"input":{},"servers":{},"limits":{limits}}}"#,
        or(&start.input, "null"),
        or(&start.servers, "[]"),
    )
}

fn attached(guest: &mut Guest) -> &mut Channel {
    let channel = guest.host_mut().channel.as_mut();
    channel.expect("`run` attached it, and nothing takes it")
}
