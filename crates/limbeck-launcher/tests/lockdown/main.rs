//! The lockdown against a worker that an attacker owns, on this kernel.
//!
//! Every denial has a control: the same attempt with no layer, where it must succeed, and
//! with one layer alone, which must be enough. A layer that is left out must be seen to be missing.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the place"
)]

mod calls;
mod layers;
mod memory;
mod users;

use limbeck_domain::{Layer, Tier};
use limbeck_launcher::{Launcher, ProbeOutcome, ProbeReport, WorkerProgram};

/// The executable under test; another one where the test runs as another user.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that starts itself as another user has no other way to pass a path"
)]
fn escapee() -> String {
    std::env::var("LIMBECK_ESCAPEE").unwrap_or_else(|_| env!("CARGO_BIN_EXE_escapee").to_owned())
}

/// A launcher whose workers lack `without`.
fn launcher(without: &[Layer], minimum: Tier) -> Launcher {
    let mut program = WorkerProgram::new(escapee());
    program.without = without.to_vec();
    Launcher::new(program, minimum)
}

/// All layers but those of `keep`.
fn all_but(keep: &[Layer]) -> Vec<Layer> {
    let mut rest = Layer::ALL.to_vec();
    rest.retain(|layer| !keep.contains(layer));
    rest
}

async fn probes(without: &[Layer]) -> Vec<ProbeReport> {
    let launcher = launcher(without, Tier::Wasm);
    let reports = launcher.probe().await.unwrap();
    launcher.shutdown().await;
    reports
}

fn reached(report: &ProbeReport) -> bool {
    matches!(report.outcome, ProbeOutcome::Reached { .. })
}
