//! Servers of the configuration that programs and clients do not see, and what to say about the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use limbeck_domain::ServerName;

/// Why a server of the configuration has no tools here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentServer {
    /// Reason, a fragment that follows the server's name.
    pub reason: String,
    /// Next step, when there is one.
    pub hint: Option<String>,
    /// Names of the tools on the last known list of a server that its user disabled; empty for others. A name without a
    /// server may mean one of them.
    pub tools: Arc<[Arc<str>]>,
}

/// What a catalog has besides tools.
///
/// The name of an absent server may be a stranger's text, so it is never listed: it only explains a call that names it
/// exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absences {
    /// Servers that must not be used, by name.
    pub servers: BTreeMap<ServerName, AbsentServer>,
    /// Sentences about the configuration for users and models, without text of strangers.
    pub notices: Vec<String>,
}
