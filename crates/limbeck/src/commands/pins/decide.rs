//! `limbeck pins accept` and `reject`.

use std::collections::BTreeMap;

use anyhow::anyhow;
use limbeck_gateway::{PinState, PinVerdict};
use serde_json::json;

use super::show::{current, differences, hash_of};
use super::{Chosen, chosen};
use crate::cli::PinsDecideArgs;
use crate::commands::trust::is_confirmed;
use crate::exit::{CommandError, ExitStatus};
use crate::format::counted;
use crate::invocation::Invocation;
use crate::shell::quoted;
use crate::wiring::GatewaySession;

/// Shows definitions, asks about them where nothing else says so, and records the decision.
pub(super) async fn decide(
    invocation: &Invocation,
    session: &GatewaySession,
    arguments: &PinsDecideArgs,
    verdict: PinVerdict,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let mut chosen = chosen(session, &arguments.targets)?;
    for pins in chosen.values_mut() {
        pins.retain(|pin| match (verdict, pin.state) {
            // A tool that is named may be accepted before it changes; then it needs no first list.
            (PinVerdict::Accept, PinState::Pinned) => !pin.accepted || pin.current.is_some(),
            (PinVerdict::Reject, PinState::Pinned) => pin.current.is_some(),
            (_, PinState::Changed | PinState::New | PinState::Held) => true,
            (_, PinState::Removed) => false,
        });
    }
    chosen.retain(|_, pins| !pins.is_empty());
    if let Some(hash) = &arguments.hash {
        let is_shown = chosen.len() == 1
            && chosen
                .values()
                .all(|pins| hash_of(pins).eq_ignore_ascii_case(hash));
        if !is_shown {
            let error = anyhow!(
                "what differs now does not have this hash, so nothing is {}",
                done(verdict)
            );
            return Err(CommandError::usage(error)
                .with_hint("review it and its sha256 with `limbeck pins diff`"));
        }
    }
    if chosen.is_empty() {
        if arguments.json {
            printer.json(&json!({done(verdict): []}))?;
        } else {
            printer.note(&format!("there is nothing to {}", word(verdict)));
        }
        return Ok(ExitStatus::Completed);
    }
    if !arguments.json {
        differences(printer, session, &chosen).await?;
    }
    if !arguments.yes && arguments.hash.is_none() {
        ask(invocation, &chosen, verdict)?;
    }
    let mut decided = Vec::new();
    for (server, pins) in &chosen {
        let shown = pins
            .iter()
            .map(|pin| (pin.tool.clone(), current(pin).to_owned()));
        let shown: BTreeMap<String, String> = shown.collect();
        if !session.gateway.decide_pins(server, &shown, verdict).await? {
            let error = anyhow!(
                "a definition of server `{server}` changed while it was shown, so nothing of it is {}",
                done(verdict)
            );
            let hint = format!(
                "review it again: `limbeck pins diff {}`",
                quoted(server.as_str())
            );
            return Err(CommandError::usage(error).with_hint(hint));
        }
        decided.extend(pins.iter().map(|pin| format!("{server}.{}", pin.tool)));
    }
    if arguments.json {
        printer.json(&json!({done(verdict): decided}))?;
    } else {
        let tools = counted(decided.len(), "tool");
        printer.note(&match verdict {
            PinVerdict::Accept => format!("accepted {tools}; gateways that run take it up within a second"),
            PinVerdict::Reject => format!("rejected {tools}: held until the servers list the pinned definitions again, or you accept these"),
        });
    }
    Ok(ExitStatus::Completed)
}

fn ask(invocation: &Invocation, chosen: &Chosen, verdict: PinVerdict) -> Result<(), CommandError> {
    let tools: usize = chosen.values().map(Vec::len).sum();
    if !invocation.stdin_is_terminal {
        let error = anyhow!(
            "nothing is {}, because standard input is not a terminal to ask on",
            done(verdict)
        );
        let hint = match chosen.iter().next() {
            Some((server, pins)) if chosen.len() == 1 => {
                let target = match pins.as_slice() {
                    [pin] => format!("{server}.{}", pin.tool),
                    _ => server.to_string(),
                };
                format!(
                    "review what differs, then run `limbeck pins {} {} --hash {}`",
                    word(verdict),
                    quoted(&target),
                    hash_of(pins)
                )
            }
            _ => "review what differs, then name one server and its `--hash`".to_owned(),
        };
        return Err(CommandError::usage(error).with_hint(hint));
    }
    let question = match tools {
        1 => format!("{} this definition?", word(verdict)),
        tools => format!("{} these {tools} definitions?", word(verdict)),
    };
    if !is_confirmed(&invocation.printer, &question)? {
        return Err(CommandError::new(
            ExitStatus::Failed,
            anyhow!("nothing is {}", done(verdict)),
        ));
    }
    Ok(())
}

fn word(verdict: PinVerdict) -> &'static str {
    match verdict {
        PinVerdict::Accept => "accept",
        PinVerdict::Reject => "reject",
    }
}

fn done(verdict: PinVerdict) -> &'static str {
    match verdict {
        PinVerdict::Accept => "accepted",
        PinVerdict::Reject => "rejected",
    }
}
