//! Context of one start of the command line.

use std::path::Path;

use limbeck_domain::text::clean_line;
use limbeck_setup::World;
use limbeck_upstream::Redaction;

use crate::cli::GlobalOptions;
use crate::printer::Printer;
use crate::shell::quoted;

/// Longest path in a hint, in bytes; systems allow no longer ones.
const PATH_BYTES_MAX: usize = 4_096;

/// World, global options and printer of one start; every command borrows it.
pub(crate) struct Invocation {
    pub(crate) world: World,
    /// Whether standard input is a terminal.
    pub(crate) stdin_is_terminal: bool,
    pub(crate) global: GlobalOptions,
    pub(crate) printer: Printer,
    /// What is taken out of all that is printed, logged and answered. The printer and the log share it.
    pub(crate) redaction: Redaction,
    /// How findings about configuration files are reported.
    pub(crate) findings: FindingsReport,
}

impl Invocation {
    /// The beginning of a command that has the servers, rules and state of this one: `limbeck`, and the options that say them.
    pub(crate) fn same_configuration(&self) -> String {
        let GlobalOptions {
            config,
            no_discover,
            state_dir,
            ..
        } = &self.global;
        let named = |option: &str, path: &Path| {
            let path = clean_line(&path.to_string_lossy(), PATH_BYTES_MAX);
            format!(" {option} {}", quoted(&path))
        };
        let mut command = "limbeck".to_owned();
        for file in config {
            command.push_str(&named("--config", file));
        }
        if *no_discover {
            command.push_str(" --no-discover");
        }
        if let Some(directory) = state_dir {
            command.push_str(&named("--state-dir", directory));
        }
        command
    }
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
