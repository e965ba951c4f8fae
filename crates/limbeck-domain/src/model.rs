//! What a program may ask of models.

use serde::{Deserialize, Serialize};

/// Rounds of an execution that asks for no number of its own.
pub const MODEL_ROUNDS_DEFAULT: u32 = 10;
/// Most rounds of an execution.
pub const MODEL_ROUNDS_MAX: u32 = 100;
/// Tokens of an execution that asks for no number of its own, of prompts and answers together.
pub const MODEL_TOKENS_DEFAULT: u64 = 10_000;
/// Most tokens of an execution, where the user has set no number.
pub const MODEL_TOKENS_MAX: u64 = 100_000;

/// What one execution may ask of models, recorded with it: it holds also after a pause.
///
/// Every field is always written: the frames of a worker have no names of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTerms {
    /// Whether its caller lets it ask at all.
    pub enabled: bool,
    /// Whether the provider that the user configured answers it.
    pub provider: bool,
    /// Questions that it may put.
    pub rounds: u32,
    /// Tokens of prompts and answers together.
    pub tokens: u64,
    /// System prompt of questions without one.
    pub system_prompt: Option<String>,
    /// Models that it may name, beside those that the configuration allows; `None` for what the configuration says.
    pub models: Option<Vec<String>>,
    /// System prompts that it may use; `None` for what the configuration says.
    pub system_prompts: Option<Vec<String>>,
    /// Whether secrets and personal data are removed from answers.
    pub filter: bool,
}
