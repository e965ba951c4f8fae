//! Bound on nested brackets, checked before a recursive parser reads the text.
//!
//! The parser recurses with brackets, and it reads on from every `<` that might open type arguments
//! until it knows, so that many open ones cost it the square of their number. Both are counted here
//! in one pass that does not parse.

use super::diagnostics;
use super::positions::TextOrigin;
use limbeck_domain::ProgramError;

/// Open brackets at any one place. Programs people write stay under 50.
const DEPTH_MAX: usize = 2_000;
/// `<` without `>` at any one place. Every comparison is one until its statement ends.
const ANGLES_MAX: usize = 500;

/// Counts brackets, those in strings and comments too: a text with so many unclosed ones in a
/// string is as rare as one with so many in code, and a plain count has no cases to get wrong.
pub(super) fn check(text: &str, origin: TextOrigin) -> Result<(), ProgramError> {
    let mut nesting = Nesting::default();
    let mut before = 0;
    for (at, byte) in text.bytes().enumerate() {
        nesting.step(before, byte);
        before = byte;
        if nesting.angles_open.len() > DEPTH_MAX {
            let message = format!("brackets are nested more than {DEPTH_MAX} deep");
            return Err(diagnostics::error(message, None, text, at, origin));
        }
        if nesting.angles > ANGLES_MAX {
            let message = format!("more than {ANGLES_MAX} `<` are open at once");
            let hint = "end the preceding statements with `;`";
            return Err(diagnostics::error(message, Some(hint), text, at, origin));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Nesting {
    /// Per open bracket, the angles opened outside of it since the last statement.
    angles_open: Vec<usize>,
    /// Angles opened inside the innermost bracket since the last statement.
    angles_here: usize,
    /// All of them.
    angles: usize,
    /// Quote of the string that is open, until the end of the line at the latest.
    quote: Option<u8>,
}

impl Nesting {
    fn step(&mut self, before: u8, byte: u8) {
        match byte {
            b'(' | b'[' | b'{' => {
                self.angles_open.push(self.angles_here);
                self.angles_here = 0;
            }
            b')' | b']' | b'}' => {
                self.forget();
                self.angles_here = self.angles_open.pop().unwrap_or(0);
            }
            b'\n' => self.quote = None,
            b'"' | b'\'' if before != b'\\' => match self.quote {
                None => self.quote = Some(byte),
                Some(open) if open == byte => self.quote = None,
                Some(_) => {}
            },
            _ if self.quote.is_some() => {}
            b';' => self.forget(),
            b'<' => {
                self.angles_here += 1;
                self.angles += 1;
            }
            b'>' if before != b'=' && self.angles_here > 0 => {
                self.angles_here -= 1;
                self.angles -= 1;
            }
            _ => {}
        }
    }

    /// No type arguments reach beyond the end of their statement or bracket.
    fn forget(&mut self) {
        self.angles -= self.angles_here;
        self.angles_here = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str) -> bool {
        check(text, TextOrigin::default()).is_ok()
    }

    #[test]
    fn brackets_and_angles_are_refused_beyond_their_bounds_only() {
        assert!(accepts(&"[".repeat(2_000)));
        assert!(!accepts(&"[".repeat(2_001)));
        assert!(accepts(&"[]".repeat(100_000)));
        assert!(accepts(&"a<b,".repeat(500)));
        assert!(!accepts(&"a<b,".repeat(501)));
        assert!(!accepts(&"a<{b:c;},".repeat(501)));
    }

    #[test]
    fn comparisons_generics_and_texts_of_large_programs_are_accepted() {
        assert!(accepts(
            &"for (let i = 0; i < n; i++) { if (a < b) c = d < e; }\n".repeat(4_000)
        ));
        assert!(accepts(
            &"const a: Map<string, Array<number>> = f<A>((b) => c)\n".repeat(4_000)
        ));
        assert!(accepts(&format!(
            "const a = [{}]",
            "'<5', \"<it's\", ".repeat(10_000)
        )));
    }
}
