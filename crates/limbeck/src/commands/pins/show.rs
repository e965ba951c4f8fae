//! Tables and differences of definitions, for people.

use std::collections::BTreeMap;

use limbeck_domain::text::escape_line;
use limbeck_domain::{PinnedDefinition, ServerName};
use limbeck_gateway::{PinReport, PinState};
use serde_json::{Value, json};

use super::{Chosen, chosen};
use crate::cli::PinsDiffArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::shell::quoted;
use crate::table::{LastColumn, TextTable, Tone};
use crate::wiring::GatewaySession;

/// Lines of two definitions that are compared one by one; of longer ones all are shown.
const COMPARED_LINES_MAX: usize = 1_500;
/// Lines around a difference.
const CONTEXT: usize = 2;

/// Prints a table: every tool, or those that differ and the number of the others.
pub(super) fn table(printer: &Printer, pins: &[PinReport], is_whole: bool) {
    let shown = pins
        .iter()
        .filter(|pin| is_whole || pin.state != PinState::Pinned);
    let mut table = TextTable::with_header(["SERVER", "TOOL", "STATE", "WHY"])
        .tones(2, tone)
        .last(LastColumn::Wrap);
    let mut rows = 0;
    for pin in shown {
        let why: Vec<&str> = pin
            .change
            .iter()
            .map(|change| change.text.as_str())
            .collect();
        let cells = [&pin.server, &pin.tool, pin.state.as_str(), &why.join("; ")];
        table.row(cells.map(escape_line));
        rows += 1;
    }
    if rows > 0 {
        printer.table(&table);
    }
    let others = pins.len() - rows;
    if others > 0 {
        let tools = counted(others, "more tool");
        printer.note(&format!("{tools}, as first listed or accepted"));
    }
}

fn tone(state: &str) -> Tone {
    match state {
        "pinned" => Tone::Good,
        "held" => Tone::Bad,
        "changed" | "new" => Tone::Attention,
        _ => Tone::Plain,
    }
}

/// Shows what is different.
pub(super) async fn diff(
    invocation: &Invocation,
    session: &GatewaySession,
    arguments: &PinsDiffArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let chosen = chosen(session, &arguments.targets)?;
    if arguments.json {
        let mut pins = Vec::new();
        for (server, reports) in &chosen {
            let definitions = session.gateway.pinned_definitions(server).await?;
            pins.extend(
                reports
                    .iter()
                    .map(|pin| with_definitions(pin, &definitions)),
            );
        }
        printer.json(&json!({"pins": pins}))?;
        return Ok(ExitStatus::Completed);
    }
    differences(printer, session, &chosen).await?;
    let mut held = chosen.iter().filter(|(_, pins)| !pins.is_empty());
    match held.next() {
        None => printer.note("nothing differs from what was first listed or accepted"),
        Some((server, pins)) => {
            let target = match pins.as_slice() {
                [one] => format!("{server}.{}", one.tool),
                _ => server.to_string(),
            };
            let (target, hash) = (quoted(&target), hash_of(pins));
            printer.hint(&format!(
                "accept with `limbeck pins accept {target} --hash {hash}`, or `limbeck pins reject {target}`"
            ));
        }
    }
    Ok(ExitStatus::Completed)
}

/// Definitions of one server by tool: the pinned one and the current one where it is another.
type Definitions = BTreeMap<String, (Option<PinnedDefinition>, Option<PinnedDefinition>)>;

fn with_definitions(pin: &PinReport, definitions: &Definitions) -> Value {
    let mut shown = json!(pin);
    let value = |definition: &Option<PinnedDefinition>| {
        let text = definition.as_ref()?.canonical();
        serde_json::from_str::<Value>(&text).ok()
    };
    if let Some((pinned, current)) = definitions.get(&pin.tool) {
        shown["pinned_definition"] = json!(value(pinned));
        shown["current_definition"] = json!(value(current));
    }
    shown
}

/// Prints what is different in each of the tools, whole.
pub(super) async fn differences(
    printer: &Printer,
    session: &GatewaySession,
    chosen: &Chosen,
) -> Result<(), CommandError> {
    for (server, pins) in chosen {
        let definitions = session.gateway.pinned_definitions(server).await?;
        for pin in pins {
            difference(printer, server, pin, definitions.get(&pin.tool));
        }
        if pins.len() > 1 {
            printer.data_line(&format!(
                "{server}: {}, sha256 {}",
                counted(pins.len(), "tool"),
                hash_of(pins)
            ));
        }
    }
    Ok(())
}

fn difference(
    printer: &Printer,
    server: &ServerName,
    pin: &PinReport,
    definitions: Option<&(Option<PinnedDefinition>, Option<PinnedDefinition>)>,
) {
    let name = escape_line(&format!("{server}.{}", pin.tool));
    let rejected = if pin.rejected { ", rejected" } else { "" };
    printer.data_line(&format!("{name}  {}{rejected}", pin.state.as_str()));
    let mut table = TextTable::default().indented(2);
    table.row(["pinned", pin.pinned.as_deref().unwrap_or("none")]);
    if let Some(current) = &pin.current {
        table.row(["current", current]);
    }
    for change in &pin.change {
        let mut text = escape_line(&change.text);
        if !change.rules.is_empty() {
            text.push_str(&format!(
                "; rules that name it: {}",
                escape_line(&change.rules.join(", "))
            ));
        }
        table.row([change.effect, &text]);
    }
    printer.data(&table.text());
    let lines = |definition: Option<&PinnedDefinition>| {
        let value = definition.map(PinnedDefinition::canonical);
        let value = value.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        value.map_or_else(Vec::new, |value| {
            format!("{value:#}").lines().map(escape_line).collect()
        })
    };
    let Some((pinned, current)) = definitions else {
        return;
    };
    // A tool that no person has looked at is shown as a whole.
    let (old, new) = match (pinned, current) {
        (Some(pinned), None) if pin.state == PinState::Held && !pin.accepted => {
            (Vec::new(), lines(Some(pinned)))
        }
        (Some(_), None) => return,
        (pinned, current) => (lines(pinned.as_ref()), lines(current.as_ref())),
    };
    for line in compared(&old, &new) {
        printer.data_line(&format!("  {line}"));
    }
}

/// The lines of both texts: those that are gone with `-`, new ones with `+`, and some around them.
fn compared(old: &[String], new: &[String]) -> Vec<String> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = end.take_while(|(a, b)| a == b).count();
    let (gone, come) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut marked: Vec<(char, &String)> = old[..start].iter().map(|line| (' ', line)).collect();
    if gone.len() > COMPARED_LINES_MAX || come.len() > COMPARED_LINES_MAX {
        marked.extend(gone.iter().map(|line| ('-', line)));
        marked.extend(come.iter().map(|line| ('+', line)));
    } else {
        marked.extend(by_common_lines(gone, come));
    }
    marked.extend(old[old.len() - end..].iter().map(|line| (' ', line)));
    let is_near = |at: usize| {
        let near = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(marked.len());
        marked[near].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut shown = Vec::new();
    let mut is_gap = false;
    for (at, (mark, line)) in marked.iter().enumerate() {
        if is_near(at) {
            shown.push(format!("{mark} {line}"));
            is_gap = false;
        } else if !is_gap {
            shown.push("  …".to_owned());
            is_gap = true;
        }
    }
    shown
}

/// Both texts along their longest common subsequence of lines.
fn by_common_lines<'l>(old: &'l [String], new: &'l [String]) -> Vec<(char, &'l String)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_u16; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = if old[i] == new[j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut marked = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            marked.push((' ', &old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j >= new.len()
            || (i < old.len() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])
        {
            marked.push(('-', &old[i]));
            i += 1;
        } else {
            marked.push(('+', &new[j]));
            j += 1;
        }
    }
    marked
}

/// SHA-256 by which a user names what was shown: that of the definition, or of the list of several.
pub(super) fn hash_of(pins: &[PinReport]) -> String {
    if let [pin] = pins {
        return current(pin).to_owned();
    }
    let list: String = pins
        .iter()
        .map(|pin| format!("{} {}\n", pin.tool, current(pin)))
        .collect();
    limbeck_gateway::sha256_hex(list.as_bytes())
}

/// SHA-256 of the definition that the server lists.
pub(super) fn current(pin: &PinReport) -> &str {
    let sha256 = pin.current.as_deref().or(pin.pinned.as_deref());
    sha256.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn lines_that_differ_are_shown_with_those_around_them() {
        let (old, new) = (lines("a b c d e f g h"), lines("a b c d E f g h i"));
        let expected = [
            "  …", "  c", "  d", "- e", "+ E", "  f", "  g", "  h", "+ i",
        ];
        assert_eq!(compared(&old, &new), expected);
        assert_eq!(compared(&[], &lines("a b")), ["+ a", "+ b"]);
        assert_eq!(compared(&old, &old), ["  …"]);
    }
}
