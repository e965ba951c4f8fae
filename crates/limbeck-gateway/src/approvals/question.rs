//! The text of a question, for the readers that there are.

use limbeck_domain::{Approval, Language};
use serde_json::Value;

use super::shown::{
    ArgumentBytes, QuestionText, ShownQuestion, TEXT_BYTES_MAX, is_plan_whole, member, text,
};
use crate::broker::{BrokerContext, ProgramText};
use crate::clock::now_us;

/// Bytes of a text that clients show whole.
const FORM_BYTES_MAX: usize = 3 << 10;
/// Bytes of the text of a group: as much as one question may have on a terminal, and its members beside it.
const GROUP_BYTES_MAX: usize = 8 * TEXT_BYTES_MAX;
/// Names of a schema that are looked at.
const DECLARED_MAX: usize = 1_000;
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

/// What a terminal shows of a group of questions.
#[derive(Clone, Debug, Default)]
pub struct GroupText {
    /// The text.
    pub text: String,
    /// How many questions it is about, from the first. The others are not to be decided by it.
    pub count: usize,
    /// Whether every byte of their arguments is in it. Otherwise it is about one question, which is not to be allowed by it.
    pub is_whole: bool,
}

/// For the form of a client: as many of the questions, which are one group, as it can show whole. Of a first one that does not fit
/// it shows a part.
pub(super) fn for_form(
    group: &[&Approval],
    program: &ProgramText,
    declared: &[String],
) -> FormText {
    form_text(group, &program.text, program.language, declared)
}

fn form_text(
    group: &[&Approval],
    program: &str,
    language: Language,
    declared: &[String],
) -> FormText {
    let Some((first, others)) = group.split_first() else {
        return FormText {
            text: String::new(),
            count: 0,
            is_whole: false,
            is_plan: false,
        };
    };
    let of = |width| shown(first, program, language, declared, width);
    let QuestionText { mut text, is_whole } = of(ArgumentBytes::FORM);
    let is_whole = is_whole && text.len() <= FORM_BYTES_MAX && has_few_arguments(first);
    let mut count = 1;
    for other in others {
        let number = count + 1;
        let next = member(other, number, declared, ArgumentBytes::FORM);
        let fits = is_whole
            && next.is_whole
            && text.len() + next.text.len() <= FORM_BYTES_MAX
            && has_few_arguments(other);
        if !fits {
            break;
        }
        text.push_str(&next.text);
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
    /// For a page, whole.
    pub(crate) async fn question_text(&self, approval: &Approval) -> String {
        self.text_within(approval, ArgumentBytes::WHOLE).await.text
    }

    async fn text_within(&self, approval: &Approval, width: ArgumentBytes) -> QuestionText {
        let (program, language) = self.program_of(approval).await;
        let declared = self.declared_of(approval);
        shown(approval, &program, language, &declared, width)
    }

    /// Names of the arguments in the schema of the tool that a question is about: those that it needs come first. The schema is of
    /// now, and only the order of the lines follows from it.
    pub(super) fn declared_of(&self, approval: &Approval) -> Vec<String> {
        let catalog = self.live_catalog.snapshot();
        let Some(tool) = catalog.tool(&approval.tool) else {
            return Vec::new();
        };
        let schema = &tool.definition().input_schema;
        let needed = schema["required"].as_array().into_iter().flatten();
        let needed: Vec<&str> = needed.filter_map(Value::as_str).collect();
        let declared = schema["properties"].as_object().into_iter().flatten();
        let declared = declared.map(|(name, _)| &**name);
        let others = declared.filter(|name| !needed.contains(name));
        let names = needed.iter().copied().chain(others);
        names.take(DECLARED_MAX).map(str::to_owned).collect()
    }

    /// For the form of a client, about one question alone.
    pub(super) async fn form_text_of(&self, approval: &Approval) -> FormText {
        let (program, language) = self.program_of(approval).await;
        form_text(&[approval], &program, language, &self.declared_of(approval))
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
    is_plan_whole(&question(approval, &program.text, program.language, &[]))
}

impl BrokerContext {
    /// For a terminal: the first question of a group whole, and what is different in the others. Of a first one that has no room it
    /// shows a part.
    pub(crate) async fn group_text(&self, group: &[&Approval]) -> GroupText {
        let Some((first, others)) = group.split_first() else {
            return GroupText::default();
        };
        let QuestionText { mut text, is_whole } =
            self.text_within(first, ArgumentBytes::TERMINAL).await;
        let declared = self.declared_of(first);
        let mut count = 1;
        for other in others {
            let number = count + 1;
            let member = member(other, number, &declared, ArgumentBytes::TERMINAL);
            let fits = text.len() + member.text.len() <= GROUP_BYTES_MAX;
            if !(is_whole && member.is_whole && fits) {
                break;
            }
            text.push_str(&member.text);
            count = number;
        }
        GroupText {
            text,
            count,
            is_whole,
        }
    }
}

fn shown(
    approval: &Approval,
    program: &str,
    language: Language,
    declared: &[String],
    width: ArgumentBytes,
) -> QuestionText {
    text(&question(approval, program, language, declared), width)
}

fn question<'a>(
    approval: &'a Approval,
    program: &'a str,
    language: Language,
    declared: &'a [String],
) -> ShownQuestion<'a> {
    ShownQuestion {
        approval,
        program,
        language,
        client: &approval.origin,
        previous: None,
        origins: &approval.origins,
        similar: None,
        declared,
        known_names: &[],
        now_us: now_us(),
    }
}
