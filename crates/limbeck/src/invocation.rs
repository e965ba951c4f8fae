//! Context of one start of the command line.

use limbeck_setup::World;

use crate::cli::GlobalOptions;
use crate::printer::Printer;

/// World, global options and printer of one start; every command borrows it.
pub(crate) struct Invocation {
    pub(crate) world: World,
    /// Whether standard input is a terminal.
    pub(crate) stdin_is_terminal: bool,
    pub(crate) global: GlobalOptions,
    pub(crate) printer: Printer,
}
