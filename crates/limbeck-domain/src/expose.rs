//! How a server's tools are shown to clients.

use serde::{Deserialize, Serialize};

/// Who gets to see the tools of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expose {
    /// Programs: the client sees `search` and `execute`.
    #[default]
    Code,
    /// The client: every tool is listed as it is, and `search` leaves the server out.
    Direct,
    /// Both.
    Both,
    /// Both when the server has few and small tools, otherwise programs alone.
    Auto,
}

impl Expose {
    /// Reads a word of the configuration.
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
    fn every_word_is_read_and_nothing_else() {
        let words = ["code", "direct", "both", "auto"];
        assert!(words.into_iter().all(|word| Expose::parse(word).is_some()));
        assert_eq!(Expose::parse("Direct"), None);
    }
}
