//! Bound on nested brackets and blocks, checked before a recursive parser reads the text.

/// Brackets that are open at once, counted without parsing. Python's own parser refuses 200.
const BRACKETS_MAX: usize = 200;
/// Levels of indentation; Python's own parser refuses 100.
const LEVELS_MAX: usize = 100;

/// Whether brackets or blocks may be nested deeper than Python allows. Those in texts and comments are counted
/// too: so many unclosed ones are as rare there as in code.
pub(super) fn is_too_deep(text: &str) -> bool {
    let mut open = 0_usize;
    let mut levels: Vec<usize> = Vec::new();
    for line in text.split('\n') {
        let code = line.trim_start_matches([' ', '\t', '\u{c}']);
        if !code.is_empty() {
            let indent = line.len() - code.len();
            levels.truncate(levels.partition_point(|level| *level < indent));
            levels.push(indent);
        }
        for byte in code.bytes() {
            match byte {
                b'(' | b'[' | b'{' => open += 1,
                b')' | b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > BRACKETS_MAX {
                return true;
            }
        }
        if levels.len() > LEVELS_MAX {
            return true;
        }
    }
    false
}
