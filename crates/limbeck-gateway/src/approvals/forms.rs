//! Forms that are open at clients: one at a time for a group of questions.
//!
//! A question whose group has an open form waits for it, and is shown with the others in the next one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use limbeck_domain::Approval;

use super::ShownByClient;
use crate::approval_groups::are_one_question;

/// A question, and the note that a client shows it.
pub(super) struct FormQuestion {
    pub(super) approval: Approval,
    pub(super) shown: ShownByClient,
}

/// Groups with an open form.
#[derive(Default)]
pub(super) struct Forms(Mutex<Vec<OpenForm>>);

struct OpenForm {
    first: Approval,
    waiting: Vec<FormQuestion>,
}

impl std::fmt::Debug for Forms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forms").finish_non_exhaustive()
    }
}

impl Forms {
    fn open(&self) -> MutexGuard<'_, Vec<OpenForm>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The question, when no form of its group is open: it is open from now on, until [`Self::next`] has no more. Otherwise the
    /// question waits for the next form.
    pub(super) fn enter(&self, question: FormQuestion) -> Option<FormQuestion> {
        let mut open = self.open();
        let mut forms = open.iter_mut();
        match forms.find(|form| are_one_question(&form.first, &question.approval)) {
            Some(form) => {
                form.waiting.push(question);
                None
            }
            None => {
                open.push(OpenForm {
                    first: question.approval.clone(),
                    waiting: Vec::new(),
                });
                Some(question)
            }
        }
    }

    /// The questions that came while the form of a group was open. When there are no more, and `keep` is not set, the group
    /// has no open form from then on.
    pub(super) fn next(&self, first: &Approval, keep: bool) -> Vec<FormQuestion> {
        let mut open = self.open();
        let Some(at) = open.iter().position(|form| form.first.id == first.id) else {
            return Vec::new();
        };
        let waiting = open
            .get_mut(at)
            .map(|form| std::mem::take(&mut form.waiting));
        let waiting = waiting.unwrap_or_default();
        if waiting.is_empty() && !keep {
            open.swap_remove(at);
        }
        waiting
    }
}
