//! A worker that is owned from the start: in the place of the engine it has a thread that waits, and
//! when asked to it tries what [`limbeck_launcher::probe`] lists, in native code.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use limbeck_domain::Sandbox;
use limbeck_launcher::inside::{self, WorkerMain, WorkerMainError};
use limbeck_wire::{FromWorker, PROTOCOL_VERSION, Ready, WorkerChannel, encode};

struct Escapee;

/// The engine has a thread besides the first one, so this has.
struct Armed {
    done: Sender<()>,
    thread: JoinHandle<()>,
}

impl WorkerMain for Escapee {
    type Armed = Armed;

    fn arm(self) -> Result<Armed, WorkerMainError> {
        let (done, waits) = channel::<()>();
        let (runs, running) = channel::<()>();
        let thread = std::thread::Builder::new().spawn(move || {
            let _ = runs.send(());
            let _ = waits.recv();
        })?;
        running.recv()?;
        Ok(Armed { done, thread })
    }

    fn serve(armed: Armed, mut channel: WorkerChannel, sandbox: Sandbox) -> ExitCode {
        let ready = FromWorker::Ready(Ready {
            protocol: PROTOCOL_VERSION,
            guest_hash: "0".repeat(64),
            sandbox,
        });
        let frame = encode(&ready, Vec::new()).expect("a small frame");
        channel.write_all(&frame).expect("the gateway reads");
        // Until the gateway closes its end.
        let _ = channel.read(&mut [0]);
        drop(armed.done);
        armed
            .thread
            .join()
            .map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
    }
}

fn main() -> ExitCode {
    inside::main(|_| Ok(Escapee))
}
