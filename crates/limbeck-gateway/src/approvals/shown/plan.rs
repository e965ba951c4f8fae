//! Text of a question about the plan of a program: one entry for each line of the plan, with all that the person accepts.
//!
//! Constants and names are shown whole and quoted. What a program computes is named, with the calls whose results it may have.

use std::fmt::Write as _;

use limbeck_domain::{ApprovalPlan, EffectClass, PlanCount, PlanSite};

use super::lookalikes::Lookalikes;
use super::safe::{json, line, name, thousands};
use super::{LINE_BYTES_MAX, ShownQuestion, last_line, whence};

/// Names are aligned up to this length.
const ALIGNED_CHARS_MAX: usize = 24;

/// The text, of any length: what does not fit is not asked.
pub(super) fn text(question: &ShownQuestion<'_>) -> String {
    let approval = question.approval;
    let (client, principal) = (name(question.client), name(&approval.principal));
    let Some(plan) = approval.plan() else {
        let last = last_line(question);
        return format!("The plan of this program was removed to save space.\n{last}");
    };
    let mut text = format!("Allow the writes of this program for {client} of {principal}?");
    for warning in warnings(&plan, question) {
        let _ = write!(text, "\n  Warning: {warning}");
    }
    for (number, site) in (1..).zip(&plan.lines) {
        write_site(&mut text, number, site, question);
    }
    let _ = write!(text, "\n{}", ending(&plan));
    let _ = write!(text, "\n{}", last_line(question));
    text
}

fn warnings(plan: &ApprovalPlan, question: &ShownQuestion<'_>) -> Vec<String> {
    let mut lookalikes = Lookalikes::default();
    for site in &plan.lines {
        lookalikes.name("server", site.tool.server.as_str());
        lookalikes.name("tool", &site.tool.tool);
        for constant in &site.constants {
            lookalikes.argument(&constant.name, &constant.json);
        }
    }
    let names = question.known_names.iter();
    lookalikes.warnings(names.map(|name| (*name).into()))
}

fn write_site(text: &mut String, number: u32, site: &PlanSite, question: &ShownQuestion<'_>) {
    let (server, tool) = (name(site.tool.server.as_str()), name(&site.tool.tool));
    let (class, whence) = (site.class.as_str(), whence(&site.class_from));
    let times = match site.count {
        PlanCount::Once => "once".to_owned(),
        PlanCount::AtMost(most) => format!("at most {} times", thousands(most as usize)),
        PlanCount::Many(most) => format!("many times, {} at most", thousands(most as usize)),
    };
    let singly = match site.class {
        EffectClass::Destructive => "; only when it is chosen by its number",
        EffectClass::Read | EffectClass::Write | EffectClass::Unknown => "",
    };
    let at = site.line;
    let _ = write!(
        text,
        "\n{number:>3}. {server}.{tool} ({class}; {whence}), {times}, line {at}{singly}"
    );
    let computed = computed(site);
    let constants = site.constants.iter();
    let constants = constants.map(|it| (name(&it.name), json(&it.json, usize::MAX)));
    let open = site.open.iter();
    let open = open.map(|open| (name(open), computed.clone()));
    let rows: Vec<(String, String)> = constants.chain(open).collect();
    let lengths = rows.iter().map(|(name, _)| name.chars().count());
    let width = lengths.filter(|length| *length <= ALIGNED_CHARS_MAX).max();
    let width = width.unwrap_or(0);
    for (name, value) in &rows {
        let _ = write!(text, "\n       {name:<width$}  {value}");
    }
    match (site.complete, rows.is_empty()) {
        (true, true) => text.push_str("\n       no arguments"),
        (true, false) => {}
        (false, true) => {
            let _ = write!(text, "\n       any arguments, {computed}");
        }
        (false, false) => {
            let _ = write!(text, "\n       and any other arguments, {computed}");
        }
    }
    let program_line = question
        .program
        .lines()
        .nth((at as usize).saturating_sub(1));
    if let Some(program_line) = program_line {
        let shown = line(program_line.trim(), LINE_BYTES_MAX);
        let _ = write!(text, "\n       {at:>5} | {shown}");
    }
}

/// Where the value of an argument that is no constant comes from, as far as the text of the program shows it: what a call returned
/// may reach it in other ways too.
fn computed(site: &PlanSite) -> String {
    if site.from.is_empty() {
        return "computed when it runs, where it comes from could not be followed (untrusted)"
            .to_owned();
    }
    let from = site.from.iter();
    let from = from.map(|source| format!("{} (line {})", name(&source.tool), source.line));
    let from: Vec<String> = from.collect();
    format!(
        "computed when it runs, may have results of {}, and of calls that could not be followed (untrusted)",
        from.join(", ")
    )
}

/// What is beside the lines.
fn ending(plan: &ApprovalPlan) -> String {
    let mut text = "Other calls that write are asked about when they are made".to_owned();
    match plan.asked_singly {
        0 => {}
        1 => text.push_str("; the program has 1 such place"),
        more => {
            let _ = write!(
                text,
                "; the program has {} such places",
                thousands(more as usize)
            );
        }
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests;
