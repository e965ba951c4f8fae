//! Text of a question about one call: what a person reads before they decide.
//!
//! The order is fixed: the tool with its class and whose word that is, who asks, the arguments as they will be sent with the
//! origin of each, what is different from the last approved call, the lines of the program around the call, how many calls are
//! like it, the rule, its reason and the expiry. What a server or a program wrote is quoted, and nothing of it is left out without
//! a mark: a cut names the number of bytes and the SHA-256 of the whole. Everything passes through one sanitiser (`safe`).
//!
//! The text has at most [`TEXT_BYTES_MAX`] bytes, on a terminal four times as many, however long the arguments are, and it is known
//! whether all of them is in it. Start reading at [`text`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use limbeck_domain::text::cut;
use limbeck_domain::{Approval, ArgumentOrigin, Language};

use self::arguments::Arguments;
use self::lookalikes::Lookalikes;
use self::safe::{line, name, thousands};
use super::remember::covered;

mod arguments;
pub(crate) mod json;
mod lookalikes;
mod plan;
mod safe;

/// Most spaces before a line of the program that are shown as they are.
const INDENT_MAX: usize = 40;
/// Most bytes of the text.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;
/// Most bytes of the text on a terminal.
const TERMINAL_BYTES_MAX: usize = 256 << 10;
/// Most arguments listed on a terminal.
const TERMINAL_FIELDS_MAX: usize = 2_000;
/// Lines of the program shown before and after that of the call.
const LINES_AROUND: u32 = 2;
/// Most bytes shown of a line of the program.
const LINE_BYTES_MAX: usize = 200;
/// Most bytes shown of the reason of a rule.
const REASON_BYTES_MAX: usize = 500;
/// Changes of the tool's definition that are shown, and the bytes of each.
const CHANGES_MAX: usize = 8;
const CHANGE_BYTES_MAX: usize = 400;
/// What is kept free for everything but the arguments.
const OTHER_BYTES: usize = 16 << 10;

/// A question about one call, with what is shown beside it.
pub(crate) struct ShownQuestion<'a> {
    /// The question.
    pub(crate) approval: &'a Approval,
    /// Text of the program that runs.
    pub(crate) program: &'a str,
    /// Its language.
    pub(crate) language: Language,
    /// Client that requested the execution, by the name it gives itself.
    pub(crate) client: &'a str,
    /// The last approved call of this site or tool in this execution.
    pub(crate) previous: Option<&'a Approval>,
    /// Where the arguments come from, by their names.
    pub(crate) origins: &'a BTreeMap<String, Vec<ArgumentOrigin>>,
    /// Of calls like it: the number of this one, how many there are at most, and how many wait.
    pub(crate) similar: Option<(u32, u32, u32)>,
    /// Arguments of the tool's schema: those that it needs, then the others. They are listed first.
    pub(crate) declared: &'a [String],
    /// Names of known servers and tools, and of earlier targets.
    pub(crate) known_names: &'a [&'a str],
    /// Now, in microseconds since 1970.
    pub(crate) now_us: u64,
}

/// How many bytes of the value of one argument are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentBytes(pub(crate) usize);

impl ArgumentBytes {
    /// For a form of a client, which has little room.
    pub(crate) const FORM: Self = Self(400);
    /// As many as there is room for in the text: for a terminal and a page.
    pub(crate) const WHOLE: Self = Self(TEXT_BYTES_MAX);
    /// For a terminal, which shows it page by page.
    pub(crate) const TERMINAL: Self = Self(TERMINAL_BYTES_MAX);

    /// Most bytes of the text.
    fn text_bytes_max(self) -> usize {
        self.0.clamp(TEXT_BYTES_MAX, TERMINAL_BYTES_MAX)
    }

    /// Most arguments that are listed.
    fn fields_max(self) -> usize {
        if self.0 > TEXT_BYTES_MAX {
            TERMINAL_FIELDS_MAX
        } else {
            json::FIELDS_MAX
        }
    }
}

/// The text of a question.
pub(crate) struct QuestionText {
    pub(crate) text: String,
    /// Whether it has every byte of the arguments, or of the plan.
    pub(crate) is_whole: bool,
}

/// Whether the text of a question about a plan has all of it.
pub(crate) fn is_plan_whole(question: &ShownQuestion<'_>) -> bool {
    plan::text(question).len() <= TEXT_BYTES_MAX
}

/// The text of a question, of several lines without a newline at its end.
pub(crate) fn text(question: &ShownQuestion<'_>, width: ArgumentBytes) -> QuestionText {
    let approval = question.approval;
    if approval.is_plan() {
        return bounded(plan::text(question), true, TEXT_BYTES_MAX);
    }
    let arguments = Arguments::in_order(&approval.arguments, question.declared, width);
    let mut text = headline(question);
    for warning in warnings(question, &arguments) {
        let _ = write!(text, "\n  Warning: {warning}");
    }
    for change in approval.changed.iter().take(CHANGES_MAX) {
        let change = line(change, CHANGE_BYTES_MAX);
        let _ = write!(text, "\n  The tool changed: {change}.");
    }
    let is_whole = arguments.write(&mut text, question.origins, width);
    if let Some(previous) = question.previous {
        let previous = Arguments::of(&previous.arguments);
        text.push_str("\n  ");
        text.push_str(&arguments.changes_since(&previous));
    }
    write_program(&mut text, question);
    // What is shown in part is allowed for no other call.
    if let Some(offer) = approval.terms.offer.as_ref().filter(|_| is_whole) {
        let names = |names: &[String]| names.iter().map(|it| name(it)).collect::<Vec<_>>();
        let covered = covered(&names(&offer.same), &names(&offer.any));
        let at_most = offer.at_most;
        let _ = write!(
            text,
            "\n  Can be remembered up to `{at_most}`, for calls with: {covered}."
        );
    }
    let _ = write!(text, "\n{}", last_line(question));
    bounded(text, is_whole, width.text_bytes_max())
}

/// Another member of a group, after the text of the first: its number and its arguments, beginning with a newline.
pub(crate) fn member(
    approval: &Approval,
    number: usize,
    declared: &[String],
    width: ArgumentBytes,
) -> QuestionText {
    let sha256 = name(&approval.sha256);
    let mut text = format!("\n{number}. the same call with other arguments, sha256 {sha256}:");
    let arguments = Arguments::in_order(&approval.arguments, declared, width);
    let mut lookalikes = Lookalikes::default();
    arguments.look_for_lookalikes(&mut lookalikes);
    for warning in lookalikes.warnings(std::iter::empty()) {
        let _ = write!(text, "\n  Warning: {warning}");
    }
    let is_whole = arguments.write(&mut text, &approval.origins, width);
    QuestionText { text, is_whole }
}

/// The tool, its class, whose word the class is, and who asks.
fn headline(question: &ShownQuestion<'_>) -> String {
    let approval = question.approval;
    let (server, tool) = (
        name(approval.tool.server.as_str()),
        name(&approval.tool.tool),
    );
    let (class, whence) = (approval.class.as_str(), whence(&approval.class_from));
    let (client, principal) = (name(question.client), name(&approval.principal));
    format!("Allow {server}.{tool} ({class}; {whence}) for {client} of {principal}?")
}

/// Whose word a class is.
fn whence(class_from: &str) -> String {
    match class_from {
        "operator" => "class set by the operator".to_owned(),
        "trusted_server" => "class from a hint of the server, which the operator trusts".to_owned(),
        "server" => "class from a hint of the server".to_owned(),
        "unknown" => "no class was set".to_owned(),
        by => format!("class set by {}", name(by)),
    }
}

fn warnings(question: &ShownQuestion<'_>, arguments: &Arguments<'_>) -> Vec<String> {
    let approval = question.approval;
    let mut lookalikes = Lookalikes::default();
    lookalikes.name("server", approval.tool.server.as_str());
    lookalikes.name("tool", &approval.tool.tool);
    arguments.look_for_lookalikes(&mut lookalikes);
    let previous = question.previous.map(|previous| &*previous.arguments);
    let targets = previous.into_iter().flat_map(lookalikes::targets_of);
    let names = question.known_names.iter().map(|name| Cow::Borrowed(*name));
    lookalikes.warnings(names.chain(targets.map(Cow::Owned)))
}

/// The line of the call with those around it. Each has its number and a bar before it, so that no line of a program
/// passes for one of the question.
fn write_program(text: &mut String, question: &ShownQuestion<'_>) {
    let Some(call) = question.approval.line else {
        text.push_str("\n  The line of this call in the program is not known.");
        return;
    };
    let first = call.saturating_sub(LINES_AROUND).max(1);
    let lines = (first..=call.saturating_add(LINES_AROUND))
        .zip(question.program.lines().skip(first as usize - 1));
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        text.push_str("\n  The line of this call in the program is not known.");
        return;
    }
    let language = question.language.as_str();
    let _ = write!(text, "\n  {language} program, call at line {call}:");
    for (number, program_line) in lines {
        let mark = if number == call { '>' } else { ' ' };
        let program_line = program_line.trim_end();
        let code = program_line.trim_start_matches(' ');
        let indent = program_line.len() - code.len();
        let shown = if indent <= INDENT_MAX {
            format!("{:indent$}{}", "", line(code, LINE_BYTES_MAX))
        } else {
            line(program_line, LINE_BYTES_MAX)
        };
        let shown = format!("  {mark}{number:>5} | {shown}");
        let _ = write!(text, "\n{}", shown.trim_end());
    }
}

/// Calls like it, rule, reason and expiry.
fn last_line(question: &ShownQuestion<'_>) -> String {
    let approval = question.approval;
    let mut text = String::new();
    if let Some((this, at_most, wait)) = question.similar {
        let _ = write!(text, "{this} of at most {at_most} like it, {wait} wait. ");
    }
    match (&approval.rule, &approval.preset) {
        (Some(rule), _) => {
            let _ = write!(text, "Rule {}", name(rule));
        }
        (None, Some(preset)) => {
            let _ = write!(text, "Preset {}", name(preset));
        }
        (None, None) => text.push_str("No rule allows it"),
    }
    if let Some(reason) = &approval.reason {
        let _ = write!(
            text,
            ": {}",
            line(reason.trim_end_matches('.'), REASON_BYTES_MAX)
        );
    }
    let left = approval.expires_us.saturating_sub(question.now_us);
    let expires = match left.div_ceil(1_000_000) {
        0 => "It has expired.".to_owned(),
        left => format!("Expires in {}.", duration(left)),
    };
    let _ = write!(text, ". {expires}");
    text
}

/// A duration in its largest unit, rounded down: a question is never shown as open for longer than it is.
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Holds the bound where the parts together exceed it.
fn bounded(text: String, is_whole: bool, bytes_max: usize) -> QuestionText {
    const NOTE_BYTES: usize = 200;
    if text.len() <= bytes_max {
        return QuestionText { text, is_whole };
    }
    let shown = cut(&text, bytes_max - NOTE_BYTES);
    let (more, sha256) = (thousands(text.len() - shown.len()), safe::sha256(&text));
    QuestionText {
        text: format!("{shown}\n... {more} more bytes of this text, sha256 {sha256}"),
        is_whole: false,
    }
}

#[cfg(test)]
mod tests;
