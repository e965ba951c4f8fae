//! Reports on pins, for users.

use limbeck_domain::ToolId;
use limbeck_policy::pins::Verdict;
use limbeck_policy::rules::RuleSet;
use limbeck_store::ToolPin;
use serde::Serialize;

use super::judge::Judged;

/// State of a tool's pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PinState {
    /// Its definition is the pinned one, or differs only in what is accepted without a look.
    Pinned,
    /// Its definition differs in something to look at, and it is used.
    Changed,
    /// It was not in the first list, and it is used.
    New,
    /// It is neither called nor shown.
    Held,
    /// Its server does not list it any more.
    Removed,
}

impl PinState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Changed => "changed",
            Self::New => "new",
            Self::Held => "held",
            Self::Removed => "removed",
        }
    }
}

/// One difference from what was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PinChange {
    /// Row of the table in the guide.
    pub kind: &'static str,
    /// `accept`, `note` or `hold`.
    pub effect: &'static str,
    /// What differs; words of the server are quoted.
    pub text: String,
    /// The tool's own argument that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Ids of rules of the policy that have a condition on this argument.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// The pin of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PinReport {
    /// Its server.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// Its state under the preset in force.
    pub state: PinState,
    /// SHA-256 of the first or accepted definition; `None` for a tool that came later and that no person accepted.
    pub pinned: Option<String>,
    /// SHA-256 of the definition that its server lists, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// What differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<PinChange>,
    /// Whether a person accepted the pinned definition.
    pub accepted: bool,
    /// Whether a person rejected the current definition.
    pub rejected: bool,
}

impl PinReport {
    pub(crate) fn of(server: &str, pin: &ToolPin, judged: Option<&Judged>) -> Self {
        let changes = judged
            .map(|judged| judged.changes.as_slice())
            .unwrap_or_default();
        let is_other = pin.pinned_sha256.as_ref() != Some(&pin.current_sha256);
        let state = match judged.map(Judged::worst) {
            _ if pin.facts.removed_us.is_some() => PinState::Removed,
            Some(Some(Verdict::Hold)) => PinState::Held,
            _ if pin.pinned_sha256.is_none() => PinState::New,
            Some(Some(Verdict::Note)) => PinState::Changed,
            _ => PinState::Pinned,
        };
        Self {
            server: server.to_owned(),
            tool: pin.tool.clone(),
            state,
            pinned: pin.pinned_sha256.clone(),
            current: is_other.then(|| pin.current_sha256.clone()),
            change: changes
                .iter()
                .map(|(change, verdict)| PinChange {
                    kind: change.kind.as_str(),
                    effect: verdict.as_str(),
                    text: change.text.clone(),
                    argument: change.argument.clone(),
                    rules: Vec::new(),
                })
                .collect(),
            accepted: pin.facts.accepted.is_some(),
            rejected: pin.facts.rejected.is_some(),
        }
    }

    /// Adds to each change the rules that name its argument: they may not match as they did.
    pub(crate) fn find_rules(&mut self, rules: &RuleSet) {
        let tool = ToolId::new(self.server.as_str(), self.tool.as_str());
        for change in &mut self.change {
            let Some(argument) = &change.argument else {
                continue;
            };
            let rules = rules.rules().iter().filter(|rule| {
                let mut paths = rule.arguments.iter().map(|(path, _)| path.argument());
                rule.covers(&tool) && paths.any(|name| name == argument)
            });
            change.rules = rules.map(|rule| rule.id.clone()).collect();
        }
    }
}
