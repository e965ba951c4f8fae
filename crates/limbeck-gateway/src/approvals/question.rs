//! The text of a question, for the readers that there are.

use limbeck_domain::{Approval, Language};

use super::shown::{ArgumentBytes, ShownQuestion, text};
use crate::broker::{BrokerContext, ProgramText};
use crate::clock::now_us;

/// For the form of a client.
pub(super) fn for_form(approval: &Approval, program: &ProgramText) -> String {
    shown(
        approval,
        &program.text,
        program.language,
        ArgumentBytes::FORM,
    )
}

impl BrokerContext {
    /// For a terminal or a page, whole.
    pub(crate) async fn question_text(&self, approval: &Approval) -> String {
        let record = self.store.execution(approval.execution.as_str()).await;
        let start = record.ok().flatten().map(|record| record.start);
        let (program, language) = match &start {
            Some(start) => (start.program.as_str(), start.language),
            None => ("", Language::Typescript),
        };
        shown(approval, program, language, ArgumentBytes::WHOLE)
    }
}

fn shown(approval: &Approval, program: &str, language: Language, width: ArgumentBytes) -> String {
    let question = ShownQuestion {
        approval,
        program,
        language,
        client: &approval.origin,
        previous: None,
        origins: &approval.origins,
        similar: None,
        known_names: &[],
        now_us: now_us(),
    };
    text(&question, width)
}
