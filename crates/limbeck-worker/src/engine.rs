//! The trait that an engine for one language implements.

use limbeck_domain::Language;
use limbeck_wire::Start;

use crate::host::Host;
use crate::outcome::RunEnd;

/// An engine with a guest that is ready for one program.
pub(crate) trait LanguageEngine: Send {
    /// Language of the programs it runs.
    fn language(&self) -> Language;

    /// State of the run on the host's side.
    fn host_mut(&mut self) -> &mut Host;

    /// Does on the guest's thread what is slow only the first time: the thread's signal stack, the pages of
    /// the heap.
    ///
    /// # Errors
    ///
    /// When the guest traps; it cannot be used then.
    fn warm_up(&mut self) -> wasmtime::Result<()>;

    /// Runs a program to its end; called once. Returns the JSON text of the value, `None` for `undefined`.
    ///
    /// # Errors
    ///
    /// [`RunEnd`], when the program did not return a value.
    fn execute(
        &mut self,
        start: &Start,
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, RunEnd>;
}
