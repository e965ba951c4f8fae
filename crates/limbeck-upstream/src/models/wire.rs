//! Providers and their wire formats.

use serde_json::Value;
use url::Url;

use super::partial_answer::{AnswerProblem, PartialAnswer};
use super::{ModelPrompt, anthropic, gemini, openai};

/// A provider that is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Anthropic.
    Anthropic,
    /// OpenAI.
    OpenAi,
    /// Google Gemini.
    Gemini,
    /// xAI, with the interface of OpenAI.
    Grok,
    /// Perplexity, with the interface of OpenAI.
    Perplexity,
    /// Ollama on this machine, with the interface of OpenAI.
    Ollama,
    /// Any other endpoint with the interface of OpenAI.
    OpenAiCompatible,
}

impl ProviderKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Grok,
        Self::Perplexity,
        Self::Ollama,
        Self::OpenAiCompatible,
    ];

    /// Its name in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Grok => "grok",
            Self::Perplexity => "perplexity",
            Self::Ollama => "ollama",
            Self::OpenAiCompatible => "openai-compatible",
        }
    }

    /// The provider with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Its own address, where it has one.
    pub(super) const fn url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com"),
            Self::Grok => Some("https://api.x.ai/v1"),
            Self::Perplexity => Some("https://api.perplexity.ai"),
            Self::Ollama => Some("http://127.0.0.1:11434/v1"),
            Self::OpenAiCompatible => None,
        }
    }

    /// Its cheapest model of general use, for questions that name none.
    pub const fn model(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("claude-haiku-4-5-20251001"),
            Self::OpenAi => Some("gpt-4o-mini"),
            Self::Gemini => Some("gemini-2.5-flash-lite"),
            Self::Grok => Some("grok-4-1-fast-non-reasoning"),
            Self::Perplexity => Some("sonar"),
            Self::Ollama | Self::OpenAiCompatible => None,
        }
    }

    /// The variable that usually has its key.
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Grok => Some("GROK_API_KEY"),
            Self::Perplexity => Some("PERPLEXITY_API_KEY"),
            Self::Ollama | Self::OpenAiCompatible => None,
        }
    }

    pub(super) const fn format(self) -> WireFormat {
        match self {
            Self::Anthropic => WireFormat::Anthropic,
            Self::Gemini => WireFormat::Gemini,
            Self::OpenAi
            | Self::Grok
            | Self::Perplexity
            | Self::Ollama
            | Self::OpenAiCompatible => WireFormat::OpenAi,
        }
    }
}

/// Form of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireFormat {
    Anthropic,
    Gemini,
    OpenAi,
}

impl WireFormat {
    /// Where a question to `model` is sent.
    pub(super) fn url(self, base: &Url, model: &str) -> Url {
        match self {
            Self::Anthropic => anthropic::url(base),
            Self::Gemini => gemini::url(base, model),
            Self::OpenAi => openai::url(base),
        }
    }

    pub(super) fn body(self, kind: ProviderKind, question: &ModelPrompt) -> Value {
        match self {
            Self::Anthropic => anthropic::body(question),
            Self::Gemini => gemini::body(question),
            Self::OpenAi => openai::body(kind, question),
        }
    }

    /// Headers of each request besides the key.
    pub(super) const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::Gemini | Self::OpenAi => &[],
        }
    }

    /// Name of the header with the key, and what comes before the key in it.
    pub(super) const fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("x-api-key", ""),
            Self::Gemini => ("x-goog-api-key", ""),
            Self::OpenAi => ("authorization", "Bearer "),
        }
    }

    /// Takes one event of a stream.
    pub(super) fn event(
        self,
        event: &Value,
        into: &mut PartialAnswer,
    ) -> Result<(), AnswerProblem> {
        match self {
            Self::Anthropic => anthropic::event(event, into),
            Self::Gemini => gemini::event(event, into),
            Self::OpenAi => openai::event(event, into),
        }
    }

    /// Takes an answer that is one JSON document.
    pub(super) fn whole(
        self,
        answer: &Value,
        into: &mut PartialAnswer,
    ) -> Result<(), AnswerProblem> {
        match self {
            Self::Anthropic => anthropic::whole(answer, into),
            Self::Gemini => gemini::whole(answer, into),
            Self::OpenAi => openai::whole(answer, into),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{ModelPrompt, Speaker};
    use super::*;

    fn question() -> ModelPrompt {
        ModelPrompt {
            model: "m".to_owned(),
            system: Some("Be terse".to_owned()),
            messages: vec![
                (Speaker::User, "a".to_owned()),
                (Speaker::Assistant, "b".to_owned()),
                (Speaker::User, "c".to_owned()),
            ],
            max_tokens: 9,
        }
    }

    #[test]
    fn each_format_has_its_address_and_its_body() {
        let url = |format: WireFormat, base: &str| {
            format.url(&Url::parse(base).unwrap(), "m/../x").to_string()
        };
        assert_eq!(
            url(WireFormat::OpenAi, "http://h:1/v1/"),
            "http://h:1/v1/chat/completions"
        );
        for base in ["http://h:1", "http://h:1/v1"] {
            assert_eq!(url(WireFormat::Anthropic, base), "http://h:1/v1/messages");
        }
        // A name of a model is one segment, with any character in it.
        assert_eq!(
            url(WireFormat::Gemini, "http://h:1"),
            "http://h:1/v1beta/models/m%2F..%2Fx:streamGenerateContent?alt=sse"
        );
        let body = |kind: ProviderKind| kind.format().body(kind, &question());
        assert_eq!(
            body(ProviderKind::OpenAiCompatible),
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "Be terse"}, {"role": "user", "content": "a"},
                    {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},
                ],
                "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 9,
            })
        );
        assert_eq!(body(ProviderKind::OpenAi)["max_completion_tokens"], 9);
        assert_eq!(
            body(ProviderKind::Anthropic),
            json!({
                "model": "m", "max_tokens": 9, "stream": true, "system": "Be terse",
                "messages": [
                    {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                    {"role": "user", "content": "c"},
                ],
            })
        );
        assert_eq!(
            body(ProviderKind::Gemini),
            json!({
                "contents": [
                    {"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"text": "b"}]},
                    {"role": "user", "parts": [{"text": "c"}]},
                ],
                "generationConfig": {"maxOutputTokens": 9},
                "systemInstruction": {"parts": [{"text": "Be terse"}]},
            })
        );
    }

    #[test]
    fn each_provider_is_found_by_its_name() {
        for kind in ProviderKind::ALL {
            assert_eq!(ProviderKind::named(kind.as_str()), Some(kind));
        }
        assert_eq!(ProviderKind::named("other"), None);
    }
}
