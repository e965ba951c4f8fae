//! What listings say about the policy: which calls ask a person first or are denied, for the requester who reads them.

use std::sync::Arc;

use limbeck_catalog::Tool;
use limbeck_domain::Language;
use limbeck_policy::{PolicyNote, Requester};

use crate::policy_in_force::PolicyVersion;

/// Notes for one requester.
#[derive(Clone, Debug)]
pub(crate) struct PolicyNotes {
    policy: Arc<PolicyVersion>,
    requester: Requester,
}

impl PolicyNotes {
    pub(crate) fn new(policy: Arc<PolicyVersion>, principal: &str) -> Self {
        Self {
            policy,
            requester: Requester::of_principal(principal),
        }
    }

    /// The note about calls of `tool`; `None` when every call is sent.
    pub(crate) fn of(&self, tool: &Tool) -> Option<PolicyNote> {
        let who = self.requester.names();
        self.policy.policy().note(tool.id(), tool.effect(), &who)
    }
}

/// The signature of `tool`, below its note where it has one.
pub(crate) fn signature(tool: &Tool, language: Language, note: Option<&PolicyNote>) -> String {
    let signature = tool.signature(language);
    let sign = match language {
        Language::Typescript => "//",
        Language::Python => "#",
    };
    match note {
        Some(note) => format!("{sign} {note}\n{signature}"),
        None => signature.to_owned(),
    }
}
