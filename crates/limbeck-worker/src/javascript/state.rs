//! State that the imports of a guest use.

use std::sync::Arc;

use limbeck_analysis::typescript::Positions;

use crate::fault::GuestError;
use crate::host::Host;

/// GuestState of one guest on the host's side.
pub(super) struct GuestState {
    pub(super) host: Host,
    /// Places of the script in the model's text; `None` before the program begins.
    pub(super) positions: Option<Arc<Positions>>,
    /// Set once, when the program ends.
    pub(super) end: Option<GuestEnd>,
}

/// How the guest ended its program.
#[derive(Debug)]
pub(super) enum GuestEnd {
    /// JSON text of the value; `None` for `undefined`.
    Value(Option<String>),
    /// The value has no JSON form, for this reason.
    NotSerialisable(String),
    /// The program threw.
    Threw(GuestError),
    /// The engine rejected the script.
    Syntax(GuestError),
}
