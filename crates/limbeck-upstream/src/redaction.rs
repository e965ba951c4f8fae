//! What is taken out of texts that leave this process: known secrets always, shapes where the user has rules for them.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Arc, PoisonError, RwLock};

use crate::known_secrets::{KnownSecrets, RedactedStream, redacted_json};
use crate::shapes::{Direction, ShapeRules};

/// Redaction of one process. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    secrets: KnownSecrets,
    rules: Arc<RwLock<Arc<ShapeRules>>>,
}

impl Redaction {
    /// The known secrets, to which more can be added.
    pub fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Puts `rules` in the place of those before.
    pub fn set_rules(&self, rules: ShapeRules) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }

    fn rules(&self, direction: Direction) -> Option<Arc<ShapeRules>> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        rules.concern(direction).then(|| Arc::clone(&rules))
    }

    /// `text` as it may leave.
    pub fn text<'a>(&self, direction: Direction, text: &'a str) -> Cow<'a, str> {
        let redacted = self.secrets.text(text);
        match self.rules(direction) {
            Some(rules) => Cow::Owned(rules.text(direction, &redacted).into_owned()),
            None => redacted,
        }
    }

    /// JSON as it may leave. What was valid stays valid.
    pub fn json<'a>(&self, direction: Direction, json: &'a str) -> Cow<'a, str> {
        let redacted = self.secrets.json(json);
        match self.rules(direction) {
            Some(rules) => Cow::Owned(
                redacted_json(&redacted, &|text| rules.text(direction, text)).into_owned(),
            ),
            None => redacted,
        }
    }

    /// `text` after the rules for shapes alone.
    pub fn shapes<'a>(&self, direction: Direction, text: &'a str) -> Cow<'a, str> {
        match self.rules(direction) {
            Some(rules) => Cow::Owned(rules.text(direction, text).into_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// Arguments of a call, as JSON, as they may be sent to a server. Known secrets stay: servers work with them.
    ///
    /// # Errors
    ///
    /// The name of a shape that no server is to get.
    pub fn arguments<'a>(&self, json: &'a str) -> Result<Cow<'a, str>, &'static str> {
        let direction = Direction::ToServers;
        let Some(rules) = self.rules(direction) else {
            return Ok(Cow::Borrowed(json));
        };
        let blocked = Cell::new(None);
        let sent = redacted_json(json, &|text| {
            blocked.set(blocked.get().or(rules.blocked(direction, text)));
            rules.text(direction, text)
        });
        match blocked.get() {
            Some(shape) => Err(shape),
            None => Ok(sent),
        }
    }

    /// Known secrets taken out of text that is written piece by piece.
    pub fn stream(&self) -> RedactedStream {
        self.secrets.stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::ShapeAction;

    #[test]
    fn arguments_keep_secrets_and_lose_shapes_or_are_not_sent() {
        let redaction = Redaction::default();
        redaction
            .secrets()
            .add_secret("test", "canary-7f3a91c2d4e5");
        let json = "{\"to\":\"a@b.org\",\"n\":1234567890123,\"token\":\"canary-7f3a91c2d4e5\"}";
        assert_eq!(redaction.arguments(json).unwrap(), json);
        let rules = |action| {
            let mut rules = ShapeRules::default();
            rules.add("email", Direction::ToServers, action).unwrap();
            redaction.set_rules(rules);
        };
        rules(ShapeAction::Mask);
        let sent = redaction.arguments(json).unwrap().into_owned();
        assert_eq!(sent, json.replace("a@b.org", "[redacted: email]"));
        assert_eq!(redaction.arguments(&sent).unwrap(), sent);
        let logged = redaction.json(Direction::Logs, "\"a@b.org\"");
        assert_eq!(logged, "\"a@b.org\"");
        rules(ShapeAction::Block);
        assert_eq!(redaction.arguments(json).unwrap_err(), "email");
        assert!(redaction.arguments("{\"to\":\"anna\"}").is_ok());
    }
}
