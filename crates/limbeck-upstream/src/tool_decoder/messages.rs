//! Messages about the tools of a list.

/// Messages kept about dropped tools, and about changed ones; further ones are counted.
const MESSAGES_MAX: usize = 64;

/// Bounded list of messages that counts those left out.
#[derive(Default)]
pub(super) struct BoundedMessages {
    kept: Vec<String>,
    more: usize,
    pub(super) last: Option<String>,
}

impl BoundedMessages {
    pub(super) fn push(&mut self, message: String) {
        if self.kept.len() < MESSAGES_MAX {
            self.kept.push(message);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("and {} more", self.more));
        }
        self.kept.extend(self.last);
        self.kept
    }
}
