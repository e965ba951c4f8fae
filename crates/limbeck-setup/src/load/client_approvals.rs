//! The user's approvals, rejections and off switches of servers in the client.

use limbeck_domain::ServerName;

use crate::document::ConfigPlace;

/// Servers that the user rejected, approved or disabled in Claude Code, by name.
#[derive(Default)]
pub(super) struct ClientApprovals {
    /// Rejected for a directory around the working directory.
    pub(super) rejected: Vec<String>,
    /// Approved for exactly the working directory.
    pub(super) approved: Vec<String>,
    /// Servers of `~/.claude.json` disabled for a directory around the working directory.
    pub(super) disabled: Vec<String>,
}

impl ClientApprovals {
    pub(super) fn has_disabled(&self, name: &ServerName) -> bool {
        self.disabled
            .iter()
            .any(|disabled| disabled == name.as_str())
    }

    pub(super) fn has_rejected(&self, name: &ServerName) -> bool {
        self.rejected
            .iter()
            .any(|rejected| rejected == name.as_str())
    }

    pub(super) fn has_approved(&self, name: &ServerName) -> bool {
        self.approved
            .iter()
            .any(|approved| approved == name.as_str())
    }
}

/// The strings of a list that another program wrote; items of other types are skipped.
pub(super) fn names_in(place: &ConfigPlace<'_>) -> Vec<String> {
    place
        .list()
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.text().ok())
        .map(str::to_owned)
        .collect()
}
