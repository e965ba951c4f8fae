//! The text of a question, for the readers that there are.

use limbeck_domain::{Approval, Language};
use serde_json::Value;

use super::shown::{ArgumentBytes, ShownQuestion, is_plan_whole, text};
use crate::broker::{BrokerContext, ProgramText};
use crate::clock::now_us;

/// Bytes of a text that clients show whole.
const FORM_BYTES_MAX: usize = 3 << 10;
/// Arguments that the text of a question lists, with a margin.
const FORM_ARGUMENTS_MAX: usize = 40;

/// For the form of a client, and whether it shows every byte of the arguments.
pub(super) fn for_form(approval: &Approval, program: &ProgramText) -> (String, bool) {
    form_text(approval, &program.text, program.language)
}

fn form_text(approval: &Approval, program: &str, language: Language) -> (String, bool) {
    let of = |width| shown(approval, program, language, width);
    let mut text = of(ArgumentBytes::FORM);
    let is_whole = text.len() <= FORM_BYTES_MAX
        && has_few_arguments(approval)
        && text == of(ArgumentBytes::WHOLE);
    let next_step = if is_whole {
        format!("\nQuestion {}", approval.id)
    } else {
        format!(
            "\nThere is more of it than fits here, so it cannot be approved here: `limbeck approvals {}` shows all, `limbeck resume {} --approve` allows it",
            approval.id, approval.execution
        )
    };
    text.push_str(&next_step);
    (text, is_whole)
}

/// Whether every argument has a line in the text of the question.
fn has_few_arguments(approval: &Approval) -> bool {
    let arguments = serde_json::from_str::<serde_json::Map<String, Value>>(&approval.arguments);
    arguments.is_ok_and(|arguments| arguments.len() <= FORM_ARGUMENTS_MAX)
}

impl BrokerContext {
    /// For a terminal or a page, whole.
    pub(crate) async fn question_text(&self, approval: &Approval) -> String {
        let (program, language) = self.program_of(approval).await;
        shown(approval, &program, language, ArgumentBytes::WHOLE)
    }

    /// For the form of a client, and whether it shows every byte of the arguments.
    pub(super) async fn form_text_of(&self, approval: &Approval) -> (String, bool) {
        let (program, language) = self.program_of(approval).await;
        form_text(approval, &program, language)
    }

    async fn program_of(&self, approval: &Approval) -> (String, Language) {
        let record = self.store.execution(approval.execution.as_str()).await;
        let start = record.ok().flatten().map(|record| record.start);
        match start {
            Some(start) => (start.program, start.language),
            None => (String::new(), Language::Typescript),
        }
    }
}

/// Whether everything that a person accepts of a plan has room in its text.
pub(super) fn has_room_for_plan(approval: &Approval, program: &ProgramText) -> bool {
    is_plan_whole(&question(approval, &program.text, program.language))
}

fn shown(approval: &Approval, program: &str, language: Language, width: ArgumentBytes) -> String {
    text(&question(approval, program, language), width)
}

fn question<'a>(approval: &'a Approval, program: &'a str, language: Language) -> ShownQuestion<'a> {
    ShownQuestion {
        approval,
        program,
        language,
        client: &approval.origin,
        previous: None,
        origins: &approval.origins,
        similar: None,
        known_names: &[],
        now_us: now_us(),
    }
}
