//! A tool in a few words, for a model of language that is asked what it means.

use limbeck_domain::text;

use super::tokens::{self, Parts};
use crate::tool::Tool;

/// Bytes of a title and of a description that count; what a tool is for stands at its start.
const TITLE_BYTES_MAX: usize = 256;
const DESCRIPTION_BYTES_MAX: usize = 1 << 10;

impl Tool {
    /// The tool as one would speak of it: its server, the words of its name, its title, and the first KiB of its
    /// description, in one line. Equal texts mean the same tool to whoever reads them.
    ///
    /// These are the parts that the built-in meaning reads too (`meaning.rs`).
    pub fn spoken(&self) -> String {
        let definition = self.definition();
        let name = in_words(&definition.id.tool);
        let mut spoken = format!("{}: {name}", in_words(definition.id.server.as_str()));
        for (part, bytes_max) in [
            (&definition.title, TITLE_BYTES_MAX),
            (&definition.description, DESCRIPTION_BYTES_MAX),
        ] {
            let part = text::clean_line(part.as_deref().unwrap_or_default(), bytes_max);
            if !part.trim().is_empty() {
                spoken.push_str(". ");
                spoken.push_str(part.trim());
            }
        }
        spoken
    }
}

/// `create_issueComment` as `create issue comment`.
fn in_words(name: &str) -> String {
    let words: Vec<String> = tokens::chunks(name)
        .flat_map(Parts)
        .map(str::to_lowercase)
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ToolAnnotations, ToolDefinition, ToolId};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_spoken_of_by_server_name_title_and_the_start_of_its_description() {
        let mut definition = ToolDefinition {
            id: ToolId::new("git-hub", "create_issueComment"),
            title: None,
            description: None,
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        let spoken = Tool::new(definition.clone()).spoken();
        assert_eq!(spoken, "git hub: create issue comment");
        definition.title = Some("Comment".to_owned());
        definition.description = Some(format!("Adds a\ncomment. {}", "x".repeat(2_000)));
        let spoken = Tool::new(definition).spoken();
        let start = "git hub: create issue comment. Comment. Adds a comment. xxx";
        assert!(spoken.starts_with(start), "{spoken}");
        assert!(spoken.len() < 1_200, "{}", spoken.len());
    }
}
