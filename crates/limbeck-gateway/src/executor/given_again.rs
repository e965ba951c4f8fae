//! Answers of executions that have ended, for a reader that asks once more.

use std::sync::Arc;

use super::budget;
use super::handle::Executor;
use super::request::AnswerForm;
use super::shown::Shown;

impl Executor {
    /// A whole answer from the journal, fitted into the tokens of its reader as the first time.
    pub(crate) async fn given_again(
        &self,
        whole: Shown,
        principal: &str,
        answer: AnswerForm,
    ) -> Shown {
        let (tokens, warning) = answer.budget();
        let mut envelope = whole.envelope;
        envelope.warnings.extend(warning);
        let broker = &self.broker;
        match self.admission.enter(principal).await {
            Ok(place) => {
                let (place, computing) = (Arc::new(place), &broker.computing);
                let shown = broker.artifacts.shown(
                    envelope,
                    principal,
                    tokens,
                    answer.render,
                    &place,
                    computing,
                );
                shown.await
            }
            // Too busy to fit it.
            Err(_) => Shown::of(budget::nothing_shown(envelope).envelope, answer.render),
        }
    }
}
