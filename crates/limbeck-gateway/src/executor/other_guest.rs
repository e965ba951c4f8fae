//! Executions that ran in another guest than this executable has.
//!
//! The guest of another build may do something else with the same journal, so such an execution is not tried. The error names
//! the guest, and the release whose executable has it.

use limbeck_domain::{GUEST_ABI, Language, ProgramStart};

/// The guest that an execution needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct OtherGuest {
    /// Language of the program.
    pub language: Language,
    /// SHA-256 of the guest that it ran in.
    pub recorded: String,
    /// SHA-256 of the guest of this executable.
    pub ours: String,
    /// Release that began the execution; empty when it was not recorded.
    pub release: String,
    /// Version of what that release gives a guest; 0 when it was not recorded.
    pub abi: u32,
}

impl OtherGuest {
    /// Checks that this executable has the guest of an execution, and gives it what it was given before.
    pub(super) fn check(start: &ProgramStart, recorded: &str, ours: &str) -> Result<(), Self> {
        let is_same_abi = start.abi == 0 || start.abi == GUEST_ABI;
        if recorded == ours && is_same_abi {
            return Ok(());
        }
        Err(Self {
            language: start.language,
            recorded: recorded.to_owned(),
            ours: ours.to_owned(),
            release: start.release.clone(),
            abi: start.abi,
        })
    }

    fn text(&self) -> String {
        let release = match self.release.as_str() {
            "" => "an earlier version of limbeck".to_owned(),
            release if release == env!("CARGO_PKG_VERSION") => {
                format!("another build of limbeck {release}")
            }
            release => format!("limbeck {release}"),
        };
        if self.recorded == self.ours {
            return format!(
                "the program ran in {release}, which gives its guest {} other values (version {}, this one has {GUEST_ABI})",
                self.recorded, self.abi
            );
        }
        format!(
            "the program ran in the {} guest {} of {release}; this executable has guest {}",
            self.language, self.recorded, self.ours
        )
    }

    /// The next step.
    pub fn hint(&self) -> String {
        match self.release.as_str() {
            "" => "use the executable that ran it".to_owned(),
            release => format!("use the executable of limbeck {release} that ran it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(release: &str, recorded: &str) -> OtherGuest {
        OtherGuest {
            language: Language::Python,
            recorded: recorded.to_owned(),
            ours: "bb".to_owned(),
            release: release.to_owned(),
            abi: 7,
        }
    }

    #[test]
    fn the_error_names_the_guest_and_the_release_that_has_it() {
        let error = other("0.0.9", "aa");
        assert_eq!(
            error.to_string(),
            "the program ran in the python guest aa of limbeck 0.0.9; this executable has guest bb"
        );
        assert_eq!(
            error.hint(),
            "use the executable of limbeck 0.0.9 that ran it"
        );
        let unknown = other("", "aa").to_string();
        assert!(
            unknown.contains("of an earlier version of limbeck;"),
            "{unknown}"
        );
        let build = other(env!("CARGO_PKG_VERSION"), "aa").to_string();
        assert!(build.contains("of another build of limbeck"), "{build}");
        let values = other("0.0.9", "bb").to_string();
        assert!(
            values.contains("other values (version 7, this one has"),
            "{values}"
        );
    }
}
