//! Fenced code blocks around a program.

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// What is between the fences.
    pub(super) text: &'a str,
    /// Lines of the whole text before it.
    pub(super) line: u32,
    /// Other blocks of the text.
    pub(super) others: usize,
}

/// The first block in TypeScript or JavaScript or without a language, else the first block.
///
/// No program has a line that begins like an opening fence, except in a comment: in a template the
/// backticks would be escaped. But words around a block may well parse, as a label for example, so
/// a block is looked for before the text is parsed.
pub(super) fn first(text: &str) -> Option<Block<'_>> {
    if !text.contains("```") {
        return None;
    }
    let mut blocks = blocks(text);
    let others = blocks.len().checked_sub(1)?;
    let ours = blocks.iter().position(|block| is_ours(block.language));
    let block = blocks.swap_remove(ours.unwrap_or(0));
    Some(Block {
        text: &text[block.start..block.end],
        line: block.line,
        others,
    })
}

struct Found<'a> {
    language: &'a str,
    start: usize,
    end: usize,
    line: u32,
}

/// All blocks; the last one may lack its closing fence.
fn blocks(text: &str) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Found<'_>> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let next = at + line.len();
        let fence = line.trim().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language)) if is_info(language) && !in_comment(&text[..at]) => {
                open = Some(Found {
                    language: language.trim(),
                    start: next,
                    end: text.len(),
                    line: u32::try_from(number + 1).unwrap_or(u32::MAX),
                });
            }
            (Some(_), Some("")) => {
                found.extend(open.take().map(|block| Found { end: at, ..block }));
            }
            _ => {}
        }
        at = next;
    }
    found.extend(open);
    found
}

fn in_comment(before: &str) -> bool {
    before.rfind("/*") > before.rfind("*/")
}

/// An opening fence is followed by a language and nothing that looks like code.
fn is_info(language: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '+' | '=');
    language.chars().all(allowed)
}

fn is_ours(language: &str) -> bool {
    let first = language.split_whitespace().next().unwrap_or("");
    matches!(
        first.to_ascii_lowercase().as_str(),
        "" | "ts" | "typescript" | "js" | "javascript" | "mjs" | "mts" | "tsx" | "jsx"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_in_our_language_is_found_with_its_line() {
        let text = "Sure:\n```json\n{}\n```\nthen\n```ts\nreturn 1\n```\n";
        let block = first(text).unwrap();
        assert_eq!((block.text, block.line, block.others), ("return 1\n", 6, 1));
    }

    #[test]
    fn a_fence_needs_no_end() {
        let block = first("  ```\nreturn 1").unwrap();
        assert_eq!((block.text, block.line, block.others), ("return 1", 1, 0));
        assert_eq!(first("```").unwrap().text, "");
    }

    #[test]
    fn backticks_of_programs_are_no_fences() {
        assert_eq!(first("return `a`"), None);
        assert_eq!(first("/* as in\n```\ncode\n```\n*/ return 1"), None);
        assert_eq!(first("const t = `\n\\`\\`\\`\n`"), None);
        assert_eq!(first("x = ```${a}```"), None);
    }
}
