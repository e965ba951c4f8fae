//! Text of a tool for an embedding model.

use limbeck_catalog::Tool;
use limbeck_catalog::words::{subwords, tokens};
use limbeck_domain::text::clean_line;

/// Bytes of a title and of a description that count; a description states the tool's purpose at its start.
const TITLE_BYTES_MAX: usize = 256;
const DESCRIPTION_BYTES_MAX: usize = 1 << 10;

/// Text of a tool for an embedding model: its server, the words of its name, its title and the first KiB of its
/// description, on one line. Tools with equal texts have equal embeddings.
///
/// These are the parts that the built-in embedding reads too (`semantic.rs`).
pub fn embedding_text(tool: &Tool) -> String {
    let definition = tool.definition();
    let name = in_words(&definition.id.tool);
    let mut text = format!("{}: {name}", in_words(definition.id.server.as_str()));
    for (part, bytes_max) in [
        (&definition.title, TITLE_BYTES_MAX),
        (&definition.description, DESCRIPTION_BYTES_MAX),
    ] {
        let part = clean_line(part.as_deref().unwrap_or_default(), bytes_max);
        if !part.trim().is_empty() {
            text.push_str(". ");
            text.push_str(part.trim());
        }
    }
    text
}

/// `create_issueComment` as `create issue comment`.
fn in_words(name: &str) -> String {
    let words: Vec<String> = tokens(name)
        .flat_map(subwords)
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
    fn the_embedding_text_has_server_name_title_and_the_start_of_the_description() {
        let mut definition = ToolDefinition {
            id: ToolId::new("git-hub", "create_issueComment"),
            title: None,
            description: None,
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        };
        let text = embedding_text(&Tool::new(definition.clone()));
        assert_eq!(text, "git hub: create issue comment");
        definition.title = Some("Comment".to_owned());
        definition.description = Some(format!("Adds a\ncomment. {}", "x".repeat(2_000)));
        let text = embedding_text(&Tool::new(definition));
        let start = "git hub: create issue comment. Comment. Adds a comment. xxx";
        assert!(text.starts_with(start), "{text}");
        assert!(text.len() < 1_200, "{}", text.len());
    }
}
