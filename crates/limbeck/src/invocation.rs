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
    /// How findings about configuration files are reported.
    pub(crate) findings: FindingsReport,
}

/// How a command reports findings about configuration files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FindingsReport {
    /// Each finding.
    Each,
    /// Each finding, but for the error of an entry that the command prints with its server.
    BesideServers,
    /// A single finding as it is, several by their number: the command is about something else.
    Counted,
    /// As [`FindingsReport::Counted`], but for the error of the entry of this server, which the command prints.
    CountedBeside(String),
}
