//! The text of a question, for the readers that there are.

use limbeck_domain::{Approval, Language};
use serde_json::Value;

use super::shown::{ArgumentBytes, ShownQuestion, TEXT_BYTES_MAX, is_plan_whole, member, text};
use crate::broker::{BrokerContext, ProgramText};
use crate::clock::now_us;

/// Bytes of a text that clients show whole.
const FORM_BYTES_MAX: usize = 3 << 10;
/// Bytes of the text of a group: as much as one question may have, and its members beside it.
const GROUP_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;
/// Arguments that the text of a question lists, with a margin.
const FORM_ARGUMENTS_MAX: usize = 40;

/// What a form shows.
pub(super) struct FormText {
    pub(super) text: String,
    /// How many questions it is about, from the first.
    pub(super) count: usize,
    /// Whether it shows every byte of their arguments.
    pub(super) is_whole: bool,
    /// Whether it is about the plan of a program.
    pub(super) is_plan: bool,
}

/// For the form of a client: as many of the questions, which are one group, as it can show whole. Of a first one that does not fit
/// it shows a part.
pub(super) fn for_form(group: &[&Approval], program: &ProgramText) -> FormText {
    form_text(group, &program.text, program.language)
}

fn form_text(group: &[&Approval], program: &str, language: Language) -> FormText {
    let Some((first, others)) = group.split_first() else {
        return FormText {
            text: String::new(),
            count: 0,
            is_whole: false,
            is_plan: false,
        };
    };
    let of = |width| shown(first, program, language, width);
    let mut text = of(ArgumentBytes::FORM);
    let is_whole = text.len() <= FORM_BYTES_MAX
        && has_few_arguments(first)
        && text == of(ArgumentBytes::WHOLE);
    let mut count = 1;
    for other in others {
        let number = count + 1;
        let next = member(other, number, ArgumentBytes::FORM);
        let fits = is_whole
            && text.len() + next.len() <= FORM_BYTES_MAX
            && has_few_arguments(other)
            && next == member(other, number, ArgumentBytes::WHOLE);
        if !fits {
            break;
        }
        text.push_str(&next);
        count = number;
    }
    let next_step = if is_whole {
        format!("\nQuestion {}", first.id)
    } else {
        format!(
            "\nThere is more of it than fits here, so it cannot be approved here: `limbeck approvals {}` shows all, `limbeck resume {} --approve` allows it",
            first.id, first.execution
        )
    };
    text.push_str(&next_step);
    FormText {
        text,
        count,
        is_whole,
        is_plan: first.is_plan(),
    }
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

    /// For the form of a client, about one question alone.
    pub(super) async fn form_text_of(&self, approval: &Approval) -> FormText {
        let (program, language) = self.program_of(approval).await;
        form_text(&[approval], &program, language)
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

impl BrokerContext {
    /// For a terminal: the first question of a group whole, and what is different in the others. Returns how many are in the
    /// text, from the first.
    pub(crate) async fn group_text(&self, group: &[&Approval]) -> (String, usize) {
        let Some((first, others)) = group.split_first() else {
            return (String::new(), 0);
        };
        let mut text = self.question_text(first).await;
        let mut shown = 1;
        for other in others {
            let number = shown + 1;
            let member = member(other, number, ArgumentBytes::WHOLE);
            if text.len() + member.len() > GROUP_BYTES_MAX {
                break;
            }
            text.push_str(&member);
            shown = number;
        }
        (text, shown)
    }
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
