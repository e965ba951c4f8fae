//! Fenced code blocks around a program.

/// The first fenced block in Python, else the first block. Empty lines before it keep its line numbers.
pub(super) fn first(text: &str) -> Option<String> {
    struct Block<'a> {
        is_python: bool,
        lines_before: usize,
        lines: Vec<&'a str>,
    }
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.split('\n').enumerate() {
        match (fence(line), blocks.last_mut()) {
            (Some(""), Some(_)) if is_open => is_open = false,
            (_, Some(block)) if is_open => block.lines.push(line),
            (Some(language), _) => {
                let language = language.to_lowercase();
                is_open = true;
                blocks.push(Block {
                    is_python: matches!(&*language, "" | "py" | "python" | "python3" | "py3"),
                    lines_before: number + 1,
                    lines: Vec::new(),
                });
            }
            (None, _) => {}
        }
    }
    let first = blocks.iter().position(|block| block.is_python).unwrap_or(0);
    let block = blocks.into_iter().nth(first)?;
    let before = "\n".repeat(block.lines_before);
    Some(format!("{before}{}\n", block.lines.join("\n")))
}

/// The language of a line that begins a block, or nothing when it ends one.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_matches([' ', '\t']);
    let language = line.strip_prefix("```")?.trim_start_matches([' ', '\t']);
    let is_named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '.' | '=' | '-');
    language.chars().all(is_named).then_some(language)
}
