//! Exposure of a server's tools: to programs, to clients, or to both.

use serde::{Deserialize, Serialize};

/// Exposure of a server's tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expose {
    /// To programs only: the client sees `search` and `execute`.
    #[default]
    Code,
    /// To the client only: every tool is listed as it is, and `search` omits the server.
    Direct,
    /// To programs and to the client.
    Both,
    /// To both when the server has few and small tools, otherwise to programs only.
    Auto,
}

impl Expose {
    /// Parses the word of the configuration; `None` for any other text.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "code" => Some(Self::Code),
            "direct" => Some(Self::Direct),
            "both" => Some(Self::Both),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_word_parses_and_other_texts_do_not() {
        let words = ["code", "direct", "both", "auto"];
        assert!(words.into_iter().all(|word| Expose::parse(word).is_some()));
        assert_eq!(Expose::parse("Direct"), None);
    }
}
