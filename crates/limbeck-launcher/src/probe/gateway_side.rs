//! Gateway side of a probe: starts a worker for each attempt and reads its report or exit status.

use std::io;
use std::time::Duration;

use limbeck_domain::Language;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use super::worker_side::{ALL, ProbeMessage};
use super::{ProbeOutcome, ProbeReport};
use crate::control::ToZygote;
use crate::exit::{Exit, SETUP_FAILED};
use crate::launcher::READY_MS;
use crate::{Launcher, WorkerError};

/// Largest report of a probe.
const MESSAGE_BYTES_MAX: u64 = 1024;

impl Launcher {
    /// Makes every attempt of [`ALL`], each in a worker of its own, locked as any. Workers of all
    /// languages are locked alike.
    ///
    /// # Errors
    ///
    /// [`WorkerError`], when a worker could not be started or its report cannot be read.
    pub async fn probe(&self) -> Result<Vec<ProbeReport>, WorkerError> {
        let mut reports = Vec::with_capacity(ALL.len());
        for (number, probe) in (0..).zip(ALL) {
            reports.push(ProbeReport {
                name: probe.name,
                what: probe.what,
                layers: probe.layers,
                outcome: self.attempt(number).await?,
            });
        }
        Ok(reports)
    }

    /// Issues one raw system call in a locked worker.
    ///
    /// # Errors
    ///
    /// When the worker cannot be started or ends without a report.
    #[cfg(feature = "assume-escape")]
    pub async fn raw_call(&self, number: u16) -> Result<ProbeOutcome, WorkerError> {
        self.attempt(super::worker_side::RAW + number).await
    }

    /// Writes a file in memory of so many MiB in a locked worker.
    ///
    /// # Errors
    ///
    /// When the worker cannot be started, or the kernel ends it for want of memory.
    #[cfg(feature = "assume-escape")]
    pub async fn fill_memory_file(&self, mebibytes: u16) -> Result<ProbeOutcome, WorkerError> {
        self.attempt(super::worker_side::FILL + mebibytes).await
    }

    async fn attempt(&self, number: u16) -> Result<ProbeOutcome, WorkerError> {
        let parent = self
            .process_source
            .parent(&self.program, Language::Typescript);
        let zygote = parent.await?;
        let (mut process, channel) = zygote.make(ToZygote::Probe(number)).await?;
        let mut channel = channel.take(MESSAGE_BYTES_MAX);
        let mut message = Vec::new();
        let read = channel.read_to_end(&mut message);
        let read = timeout(Duration::from_millis(READY_MS), read).await;
        // A worker that is killed may reset its channel, which is not an error here.
        let _ = read.map_err(|_| WorkerError::NotReady { limit_ms: READY_MS })?;
        let exit = process.ended().await.ok_or(WorkerError::Gone)?;
        match (postcard::from_bytes(&message), exit) {
            (Ok(ProbeMessage::Denied { errno }), _) => Ok(ProbeOutcome::Denied {
                errno,
                error: io::Error::from_raw_os_error(errno).to_string(),
            }),
            (Ok(ProbeMessage::Reached { detail }), _) => Ok(ProbeOutcome::Reached { detail }),
            (Err(_), Exit::Signal(signal)) => Ok(ProbeOutcome::Killed { signal }),
            (Err(_), Exit::Code(code)) if code == i32::from(SETUP_FAILED) => {
                Err(WorkerError::Ended { exit })
            }
            (Err(_), Exit::OutOfMemory) => Err(WorkerError::Ended { exit }),
            // It became another program, or ended in a way of its own choice.
            (Err(_), Exit::Code(code)) => Ok(ProbeOutcome::Reached {
                detail: format!("it ran on, ended with code {code} and sent no report"),
            }),
        }
    }
}
