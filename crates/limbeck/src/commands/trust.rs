//! `limbeck trust`: servers that files of a repository add, and the user's approval of them.
//!
//! What is recorded is the hash of a definition that was shown: in the same run, before the user answered the question
//! on the terminal, or in an earlier run whose hash the user names. Without either nothing is accepted.

use std::io::{BufRead as _, Read as _};

use anyhow::{Context as _, anyhow};
use limbeck_domain::text::clean_line;
use limbeck_gateway::LOCAL_PRINCIPAL;
use limbeck_setup::{
    AcceptedBy, Configuration, DefinitionText, Diagnostic, ServerEntry, Severity, TrustError,
    TrustFile, TrustState,
};
use limbeck_store::{AuditEvent, AuditEventKind};
use serde_json::{Value, json};

use super::own_servers::note_reload;
use crate::cli::TrustArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::shell::quoted;
use crate::table::TextTable;
use crate::terminal;
use crate::wiring::{configuration, open_past, read_configuration, trust_file, trust_record};

/// Longest server name in a message, in bytes.
const NAME_BYTES_MAX: usize = 80;
/// Longest answer to the question.
const ANSWER_BYTES_MAX: u64 = 64;

/// Shows, accepts or revokes servers of the repository.
pub(super) async fn trust(
    invocation: &Invocation,
    arguments: &TrustArgs,
) -> Result<ExitStatus, CommandError> {
    let configuration = configuration(invocation)?;
    let entries = entries(&configuration);
    let printer = &invocation.printer;
    // Of all of no servers there is nothing to ask.
    let is_of_none = entries.is_empty() && !arguments.json;
    if arguments.servers.is_empty() && (!arguments.all || is_of_none) {
        let shown = show(printer, &entries, arguments.json)?;
        // What a file of the repository adds is not known when it cannot be read; it was reported.
        let is_unread = |note: &Diagnostic| {
            note.severity == Severity::Error
                && note.is_of_whole_file
                && note.file.starts_with(&invocation.world.cwd)
        };
        return Ok(if configuration.diagnostics.iter().any(is_unread) {
            ExitStatus::Failed
        } else {
            shown
        });
    }
    let chosen = chosen(&entries, &configuration, arguments)?;
    let Some(file) = trust_file(invocation) else {
        let error = anyhow!(
            "trust cannot be recorded: {} and no state directory is given",
            invocation.world.home_problem()
        );
        return Err(CommandError::usage(error).with_hint("set one with `--state-dir DIR`"));
    };
    let mut changed = Vec::new();
    let (done, status) = match arguments.revoke {
        true => (
            revoke(printer, &file, &chosen, arguments.json, &mut changed),
            "revoked",
        ),
        false => (
            accept(invocation, &file, chosen, arguments, &mut changed),
            "trusted",
        ),
    };
    if !changed.is_empty() {
        record(invocation, changed, status).await;
    }
    done
}

/// Writes what was decided about servers to the audit trail. The decision counts where that is not possible, too.
async fn record(invocation: &Invocation, servers: Vec<String>, status: &str) {
    let recorded = async {
        let store = open_past(invocation).await?;
        for server in servers {
            let event = AuditEvent {
                client: Some("cli".to_owned()),
                server: Some(server),
                status: Some(status.to_owned()),
                ..AuditEvent::new(AuditEventKind::Trust, LOCAL_PRINCIPAL)
            };
            store.record(event).await?;
        }
        store.flush().await?;
        Ok::<(), CommandError>(())
    };
    if let Err(failure) = recorded.await {
        invocation.printer.warning(&format!(
            "the audit trail has no record of this: {:#}",
            failure.error
        ));
    }
}

/// Entries of the repository, including those with the name of another server.
fn entries(configuration: &Configuration) -> Vec<&ServerEntry> {
    let all = configuration.servers.iter().chain(&configuration.held_back);
    all.filter(|entry| entry.definition_text.is_some())
        .collect()
}

fn chosen<'a>(
    entries: &[&'a ServerEntry],
    configuration: &Configuration,
    arguments: &TrustArgs,
) -> Result<Vec<&'a ServerEntry>, CommandError> {
    if arguments.all {
        return Ok(entries.to_vec());
    }
    let mut chosen = Vec::new();
    for name in &arguments.servers {
        let is_named = |entry: &&&ServerEntry| entry.name.as_str() == name;
        let before = chosen.len();
        // Several files of a repository may add a server with the same name; the name means all of them.
        chosen.extend(entries.iter().filter(is_named).copied());
        if chosen.len() > before {
            continue;
        }
        let own = configuration
            .servers
            .iter()
            .find(|entry| entry.name.as_str() == name);
        let shown = clean_line(name, NAME_BYTES_MAX);
        let error = match own {
            Some(own) => anyhow!("server `{shown}` is from {} and needs no trust", own.origin),
            None => anyhow!("no server of this repository is called `{shown}`"),
        };
        return Err(CommandError::usage(error)
            .with_hint("run `limbeck trust` to list the servers of this repository"));
    }
    Ok(chosen)
}

fn show(
    printer: &Printer,
    entries: &[&ServerEntry],
    as_json: bool,
) -> Result<ExitStatus, CommandError> {
    if as_json {
        printer.json(&json!({"servers": reports(entries)}))?;
        return Ok(ExitStatus::Completed);
    }
    for entry in entries {
        print(printer, entry, Some(state(entry)));
    }
    let waiting = entries.iter().filter(|entry| entry.is_held_back()).count();
    match (entries.len(), waiting) {
        (0, _) => printer.note("no file of this repository adds a server"),
        (_, 0) => {}
        (_, _) => printer.hint("accept a server that you know with `limbeck trust SERVER`"),
    }
    Ok(ExitStatus::Completed)
}

fn accept(
    invocation: &Invocation,
    file: &TrustFile,
    mut chosen: Vec<&ServerEntry>,
    arguments: &TrustArgs,
    changed: &mut Vec<String>,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    if !arguments.json {
        for entry in &chosen {
            print(printer, entry, None);
        }
    }
    if let Some(entry) = chosen.iter().find(|entry| is_too_long(entry)) {
        let name = name(entry);
        let error =
            anyhow!("server {name} cannot be trusted: its definition is too long to be shown");
        return Err(CommandError::usage(error)
            .with_hint("copy what you need of it into your own configuration: `limbeck add`"));
    }
    if let Some(hash) = &arguments.hash {
        select_by_hash(&mut chosen, hash)?;
    }
    let records = file.read().ok();
    // The same definition of the same program, so that nothing would change.
    let is_recorded = |entry: &&ServerEntry| {
        let now = trust_record(&invocation.world, entry, AcceptedBy::User);
        let records = records.as_ref();
        let then = records.and_then(|records| records.get(&entry.origin.file, &entry.name));
        now.zip(then).is_some_and(|(now, then)| {
            now.sha256 == then.sha256 && now.program == then.program && now.by == then.by
        })
    };
    if chosen.iter().all(is_recorded) {
        if arguments.json {
            printer.json(&json!({"accepted": names(&chosen)}))?;
        } else {
            for entry in &chosen {
                printer.note(&format!("server {} is trusted already", name(entry)));
            }
        }
        return Ok(ExitStatus::Completed);
    }
    if arguments.hash.is_none() {
        ask(invocation, &chosen)?;
    }
    let accepted = file.change(|records| {
        for record in chosen
            .iter()
            .filter_map(|entry| trust_record(&invocation.world, entry, AcceptedBy::User))
        {
            records.accept(record);
        }
    });
    accepted.map_err(failure)?;
    changed.extend(names(&chosen).into_iter().map(str::to_owned));
    if arguments.json {
        printer.json(&json!({"accepted": names(&chosen)}))?;
    } else {
        for name in names(&chosen) {
            printer.note(&format!(
                "server `{name}` is trusted until its definition changes"
            ));
        }
        note_reload(printer);
    }
    Ok(ExitStatus::Completed)
}

/// Keeps the entries whose definition has the hash that the user saw.
fn select_by_hash(chosen: &mut Vec<&ServerEntry>, hash: &str) -> Result<(), CommandError> {
    let named = chosen.first().map(|entry| name(entry)).unwrap_or_default();
    chosen.retain(|entry| {
        let text = entry.definition_text.as_ref();
        text.is_some_and(|text| text.sha256.eq_ignore_ascii_case(hash))
    });
    if chosen.is_empty() {
        let error = anyhow!(
            "the definition of server {named} does not have this hash, so it is not trusted"
        );
        return Err(
            CommandError::usage(error).with_hint("review the definition above and its sha256")
        );
    }
    Ok(())
}

/// Asks a question on the terminal; anything else than `y` and `yes` means no.
pub(super) fn is_confirmed(printer: &Printer, question: &str) -> Result<bool, CommandError> {
    // An answer to a question that was not asked yet, such as a `y` pasted with the command, accepts nothing.
    terminal::discard_typed_input()
        .context("what was typed before the question cannot be discarded")
        .map_err(CommandError::usage)?;
    printer.prompt(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let stdin = std::io::stdin().lock().take(ANSWER_BYTES_MAX);
    std::io::BufReader::new(stdin)
        .read_line(&mut answer)
        .context("the answer cannot be read")
        .map_err(CommandError::usage)?;
    let answer = answer.trim().to_ascii_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

/// Asks the user on the terminal whether to accept the definitions that were shown. They must not change meanwhile.
fn ask(invocation: &Invocation, chosen: &[&ServerEntry]) -> Result<(), CommandError> {
    if !invocation.stdin_is_terminal {
        let error =
            anyhow!("nothing is trusted, because standard input is not a terminal to ask on");
        let hint = match chosen {
            [entry] => format!(
                "review the definition, then run `limbeck trust {} --hash {}`",
                quoted(entry.name.as_str()),
                hash(entry).unwrap_or_default()
            ),
            _ => "review each definition, then run `limbeck trust SERVER --hash SHA256`".to_owned(),
        };
        return Err(CommandError::usage(error).with_hint(hint));
    }
    let question = match chosen.len() {
        1 => "trust this definition?".to_owned(),
        count => format!("trust these {count} definitions?"),
    };
    if !is_confirmed(&invocation.printer, &question)? {
        return Err(CommandError::new(
            ExitStatus::Failed,
            anyhow!("nothing is trusted"),
        ));
    }
    let now = read_configuration(invocation)?;
    let now = entries(&now);
    let is_same = |shown: &&ServerEntry| {
        now.iter().any(|entry| {
            entry.name == shown.name
                && entry.origin.file == shown.origin.file
                && hash(entry) == hash(shown)
        })
    };
    if !chosen.iter().all(is_same) {
        let error = anyhow!("a definition changed while it was shown, so nothing is trusted");
        return Err(CommandError::usage(error).with_hint("review it again: `limbeck trust`"));
    }
    Ok(())
}

fn hash(entry: &ServerEntry) -> Option<&str> {
    let text = entry.definition_text.as_ref()?;
    Some(&text.sha256)
}

fn is_too_long(entry: &ServerEntry) -> bool {
    let text = entry.definition_text.as_ref();
    text.is_none_or(|text| text.too_long.is_some())
}

/// Name of a server for a message, in backticks.
fn name(entry: &ServerEntry) -> String {
    format!("`{}`", clean_line(entry.name.as_str(), NAME_BYTES_MAX))
}

fn revoke(
    printer: &Printer,
    file: &TrustFile,
    chosen: &[&ServerEntry],
    as_json: bool,
    changed: &mut Vec<String>,
) -> Result<ExitStatus, CommandError> {
    let revoked = file.change(|records| {
        let mut revoked = chosen.to_vec();
        revoked.retain(|entry| records.revoke(&entry.origin.file, &entry.name));
        revoked
    });
    let revoked = revoked.map_err(failure)?;
    changed.extend(names(&revoked).into_iter().map(str::to_owned));
    if as_json {
        printer.json(&json!({"revoked": names(&revoked)}))?;
        return Ok(ExitStatus::Completed);
    }
    for name in names(&revoked) {
        printer.note(&format!("server `{name}` is no longer trusted"));
    }
    if !revoked.is_empty() {
        note_reload(printer);
    }
    for entry in chosen.iter().filter(|entry| !is_among(entry, &revoked)) {
        printer.note(&format!("server {} was not trusted", name(entry)));
    }
    Ok(ExitStatus::Completed)
}

fn is_among(entry: &ServerEntry, entries: &[&ServerEntry]) -> bool {
    let is_same =
        |other: &&ServerEntry| other.name == entry.name && other.origin.file == entry.origin.file;
    entries.iter().any(is_same)
}

fn names<'a>(entries: &[&'a ServerEntry]) -> Vec<&'a str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

fn failure(error: TrustError) -> CommandError {
    let hint = error.hint();
    CommandError::usage(error).with_hint(hint)
}

/// Prints the definition of an entry of the repository.
fn print(printer: &Printer, entry: &ServerEntry, state: Option<&str>) {
    let Some(text) = &entry.definition_text else {
        return;
    };
    let state = state.map(|state| format!("  {state}")).unwrap_or_default();
    let heading = format!("{}{state}  {}", text.name, entry.origin);
    print_definition(printer, &heading, &name(entry), text);
}

/// Prints a definition: the hash in the first line, so that no text of the entry can look like it.
pub(super) fn print_definition(
    printer: &Printer,
    heading: &str,
    name: &str,
    text: &DefinitionText,
) {
    printer.data_line(heading);
    let mut table = TextTable::default().indented(2);
    table.row(["sha256", &text.sha256]);
    for (label, line) in &text.lines {
        table.row([label, line]);
    }
    printer.data(&table.text());
    for remark in &text.remarks {
        printer.warning(&format!("server {name}: {remark}"));
    }
}

fn state(entry: &ServerEntry) -> &'static str {
    match entry.trust {
        TrustState::Accepted | TrustState::AcceptedByClient | TrustState::Own => "trusted",
        TrustState::Waiting => "not trusted yet",
        TrustState::Changed => "changed since it was trusted",
    }
}

fn reports(entries: &[&ServerEntry]) -> Vec<Value> {
    let report = |entry: &&ServerEntry| {
        let written = entry.definition_text.as_ref();
        let definition: serde_json::Map<String, Value> = written
            .into_iter()
            .flat_map(|written| &written.lines)
            .map(|(label, line)| (label.clone(), line.clone().into()))
            .collect();
        json!({
            "name": entry.name,
            "source": entry.origin.to_string(),
            "trust": match entry.trust {
                TrustState::Accepted | TrustState::AcceptedByClient | TrustState::Own => "accepted",
                TrustState::Waiting => "waiting",
                TrustState::Changed => "changed",
            },
            "definition": definition,
            "remarks": written.map(|written| &written.remarks),
            "sha256": written.map(|written| &written.sha256),
        })
    };
    entries.iter().map(report).collect()
}
