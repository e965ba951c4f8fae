//! One program from `Start` to `Done`, in whatever language.

use limbeck_wire::domain::text::cut;
use limbeck_wire::domain::{Language, Mode, ProgramStart, Sites, Verdict};
use limbeck_wire::limits::{WARNING_BYTES_MAX, WARNINGS_MAX};
use limbeck_wire::{Done, Fault, FromWorker, ToWorker};

use crate::channel::{Channel, ChannelError};
use crate::fault::{self, Words};
use crate::host::{Host, Stop};
use crate::{javascript, python};

/// The guest of a worker.
pub(crate) enum Guest {
    Javascript(Box<javascript::Guest>),
    Python(python::Guest),
}

impl Guest {
    /// Language of the programs it runs.
    pub(crate) fn language(&self) -> Language {
        match self {
            Self::Javascript(_) => Language::Typescript,
            Self::Python(_) => Language::Python,
        }
    }

    fn host_mut(&mut self) -> &mut Host {
        match self {
            Self::Javascript(guest) => &mut guest.state_mut().host,
            Self::Python(guest) => &mut guest.state_mut().host,
        }
    }
}

/// Why a program did not get to its own end.
pub(crate) enum Ended {
    /// In a way the model is told.
    Fault(Box<Fault>),
    /// The gateway is gone or misspoke; there is nobody to tell.
    Channel(ChannelError),
}

impl Ended {
    /// Sorts what stopped a guest.
    pub(crate) fn by(error: wasmtime::Error, host: &Host, words: Words) -> Self {
        match error.downcast::<Stop>() {
            Ok(Stop::Channel(error)) => Self::Channel(error),
            Ok(stop) => fault::from_stop(&stop.into(), host, words).into(),
            Err(error) => fault::from_stop(&error, host, words).into(),
        }
    }
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

/// Waits for the program. `None` when the gateway has none: it closed the channel.
pub(crate) fn receive_start(
    channel: &mut Channel,
) -> Result<Option<Box<ProgramStart>>, ChannelError> {
    match channel.receive() {
        Ok(ToWorker::Start(start)) => Ok(Some(start)),
        Ok(ToWorker::Deliver(_)) => Err(ChannelError::OutOfOrder("deliver")),
        Err(ChannelError::Closed) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs the program and tells the gateway how it ended.
pub(crate) fn run(
    guest: &mut Guest,
    channel: Channel,
    start: &ProgramStart,
) -> Result<(), ChannelError> {
    if start.language != guest.language() {
        return Err(ChannelError::OutOfOrder("start in another language"));
    }
    let mut warnings = Vec::new();
    guest.host_mut().begin(start.limits, channel);
    let ended = match guest {
        Guest::Javascript(guest) => javascript::execute(guest, start, &mut warnings),
        Guest::Python(guest) => python::execute(guest, start, &mut warnings),
    };
    let result = match ended {
        Ok(value) => Ok(value),
        Err(Ended::Fault(fault)) => Err(*fault),
        Err(Ended::Channel(error)) => return Err(error),
    };
    let host = guest.host_mut();
    let done = Done {
        result,
        warnings: bounded(warnings),
        log_bytes_dropped: host.log_bytes_dropped,
        memory_bytes: host.memory_bytes() as u64,
    };
    let channel = host.channel.as_mut();
    let channel = channel.expect("attached above, and nothing takes it");
    channel.send(&FromWorker::Done(Box::new(done)))?;
    channel.flush()
}

/// Has the calls of a program judged before its first line runs. A gateway that cannot judge lets it run: it
/// judges every call again.
pub(crate) fn judged(
    host: &mut Host,
    sites: Sites,
    mode: Mode,
    words: Words,
    warnings: &mut Vec<String>,
) -> Result<(), Ended> {
    let to_judge = match mode {
        // A refusal that the program may catch is its own affair.
        Mode::Run => sites.sites.iter().any(|site| !site.guarded),
        Mode::Check | Mode::Plan => true,
    };
    if !to_judge {
        return Ok(());
    }
    let answer = host.check(sites.into_body());
    let answer = answer.map_err(|stop| Ended::by(stop.into(), host, words))?;
    let verdict = answer.map(|json| serde_json::from_str::<Verdict>(&json));
    let Ok(Ok(verdict)) = verdict else {
        return Ok(());
    };
    let error = verdict.error();
    warnings.extend(verdict.warnings);
    match error {
        Some(error) => Err(Fault::from(error).into()),
        None => Ok(()),
    }
}

/// As many warnings as a frame may carry, each as long as it may be.
fn bounded(mut warnings: Vec<String>) -> Vec<String> {
    warnings.truncate(WARNINGS_MAX);
    for warning in &mut warnings {
        warning.truncate(cut(warning, WARNING_BYTES_MAX).len());
    }
    warnings
}

/// What the guest knows from its start, as JSON. `input` and `servers` are JSON texts already; `mode` is there
/// when the program is not to run.
pub(crate) fn globals(start: &ProgramStart) -> String {
    let or = |text: &str, empty: &'static str| match text {
        "" => empty.to_owned(),
        text => text.to_owned(),
    };
    let limits = serde_json::to_string(&start.limits).expect("limits are plain numbers");
    let mode = match start.mode {
        Mode::Run => String::new(),
        mode => format!(r#","mode":"{}""#, mode.as_str()),
    };
    format!(
        r#"{{"input":{},"servers":{},"limits":{limits}{mode}}}"#,
        or(&start.input, "null"),
        or(&start.servers, "[]"),
    )
}
