//! Setup: servers move from the files of clients into Limbeck's own, and one entry for Limbeck takes their place.
//!
//! - [`FoundClients::read`] reads the files of every client in `clients/table.rs`; nothing is written or started.
//! - [`FoundClients::candidates`] are the servers that would move. The caller starts them, because this crate starts nothing.
//! - [`FoundClients::plan`] decides for each server and file, and has the new bytes of every file.
//! - [`SetupState::apply`] writes them, after it has put the old and new bytes of all of them into the state directory. So a
//!   process that is killed leaves what a second start or [`SetupState::undo`] brings to an end.
//!
//! - [`SetupState::drift`] compares the files with what was written, and [`SetupState::repair`] puts Limbeck's entry back.
//!
//! Start reading at `clients/plan.rs`, then `clients/splice.rs` for the bytes and `clients/target.rs` for the files.

mod apply;
mod examine;
mod form;
mod found;
mod identity;
mod kills;
mod leftovers;
mod model;
mod own_program;
mod own_text;
mod plan;
mod problem;
mod record;
mod repository;
mod same;
mod secrets;
mod splice;
mod sync;
mod table;
mod target;
mod undo;
mod verify;

pub use apply::{SetupDone, SetupState};
pub use examine::{ClientFinding, FindingFix};
pub use model::{
    ClientAction, ClientPlan, ProbeOutcomes, ServerAction, ServerPlan, ServersBeside, SetupError,
    SetupPlan, SetupRequest, SetupSecrets, SetupSteps,
};
pub use plan::FoundClients;
pub use sync::{
    Adoption, Drift, DriftAction, DriftKind, ScheduleFile, SyncDone, SyncPlan, SyncRequest,
    schedule, schedule_commands,
};
pub use undo::{UndoneFile, UndoneState};
