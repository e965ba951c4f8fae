//! Removal of secrets from text that is written piece by piece.

use super::{KnownSecrets, REDACTED};

/// Removes secrets from text in pieces: one is found also where it begins in one piece and ends in another. What may be the
/// beginning of a secret is held back until the next piece, or the end.
#[derive(Debug)]
pub struct RedactedStream {
    secrets: KnownSecrets,
    held: String,
}

impl RedactedStream {
    pub(super) fn new(secrets: KnownSecrets) -> Self {
        Self {
            secrets,
            held: String::new(),
        }
    }

    /// Adds a piece, and returns what can be written now.
    pub fn write(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let Some(matcher) = self.secrets.matcher() else {
            return std::mem::take(&mut self.held);
        };
        let bytes = self.held.as_bytes();
        let mut written = String::new();
        let mut done = 0;
        let open = loop {
            // Where a secret may begin that has not ended yet; a shorter one inside of it waits for it.
            let open = matcher.open_end(bytes, done);
            match matcher.find(bytes, done) {
                Some(found) if found.start < open => {
                    self.push(&mut written, done, found.start);
                    written.push_str(REDACTED);
                    done = found.end;
                }
                Some(_) | None => break open,
            }
        };
        // Forms are whole characters or ASCII, so that none begins within a character.
        let mut open = open;
        while !self.held.is_char_boundary(open) {
            open -= 1;
        }
        self.push(&mut written, done, open);
        self.held.drain(..open);
        written
    }

    fn push(&self, written: &mut String, from: usize, to: usize) {
        written.push_str(self.held.get(from..to).unwrap_or_default());
    }

    /// What was held back, at the end.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        self.secrets.text(&rest).into_owned()
    }
}
