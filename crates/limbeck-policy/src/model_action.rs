//! Kinds of questions to models, and the tools that rules know them as.

use limbeck_domain::ToolId;

/// Name in place of a server's.
pub const MODEL_SERVER: &str = "llm";

/// Kind of a question to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelAction {
    /// One prompt.
    Ask,
    /// A conversation.
    Think,
}

impl ModelAction {
    /// The name in place of a tool's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Think => "think",
        }
    }

    /// The tool that rules know it as.
    pub fn tool(self) -> ToolId {
        ToolId::new(MODEL_SERVER, self.as_str())
    }

    /// The action with a name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Ask, Self::Think]
            .into_iter()
            .find(|action| action.as_str() == name)
    }
}
