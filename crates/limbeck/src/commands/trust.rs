//! `limbeck trust`: what servers the files of a repository add, and which of them the user accepts.
//!
//! A definition is shown before or while it is accepted, and the record is of exactly what was shown: the
//! files are read once.

use anyhow::anyhow;
use limbeck_gateway::domain::text::clean_line;
use limbeck_setup::{AcceptedBy, Configuration, ServerEntry, Trust, TrustError, TrustFile};
use serde_json::{Value, json};

use super::Invocation;
use crate::cli::TrustArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::table::Table;
use crate::wiring::{configuration, trust_file, trust_record};

/// Bytes of a server's name in a message.
const NAME_BYTES_MAX: usize = 80;

/// Shows, accepts, or takes back.
pub(super) fn trust(invocation: &Invocation, arguments: &TrustArgs) -> Result<Exit, Failure> {
    let configuration = configuration(invocation)?;
    let entries = entries(&configuration);
    let printer = &invocation.printer;
    if arguments.servers.is_empty() && !arguments.all {
        return show(printer, &entries, arguments.json);
    }
    let chosen = chosen(&entries, &configuration, arguments)?;
    let Some(file) = trust_file(invocation) else {
        let error = anyhow!("there is no state directory to keep trust in: HOME is not set");
        return Err(Failure::usage(error).with_hint("name one: `--state-dir DIR`"));
    };
    if arguments.revoke {
        take_back(printer, &file, &chosen)
    } else {
        accept(printer, &file, &chosen, arguments.json)
    }
}

/// The entries of the repository, those under the name of another server included.
fn entries(configuration: &Configuration) -> Vec<&ServerEntry> {
    let all = configuration.servers.iter().chain(&configuration.held_back);
    all.filter(|entry| entry.written.is_some()).collect()
}

fn chosen<'a>(
    entries: &[&'a ServerEntry],
    configuration: &Configuration,
    arguments: &TrustArgs,
) -> Result<Vec<&'a ServerEntry>, Failure> {
    if arguments.all {
        return Ok(entries.to_vec());
    }
    let mut chosen = Vec::new();
    for name in &arguments.servers {
        let is_named = |entry: &&&ServerEntry| entry.name.as_str() == name;
        let before = chosen.len();
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
            Some(own) => anyhow!("`{shown}` is from {} and needs no trust", own.origin),
            None => anyhow!("no file of a repository here names a server `{shown}`"),
        };
        return Err(Failure::usage(error).with_hint("`limbeck trust` lists those that do"));
    }
    Ok(chosen)
}

fn show(printer: &Printer, entries: &[&ServerEntry], as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        printer.json(&json!({"servers": reports(entries)}))?;
        return Ok(Exit::Completed);
    }
    for entry in entries {
        print(printer, entry);
    }
    let waiting = entries.iter().filter(|entry| entry.is_held_back()).count();
    match (entries.len(), waiting) {
        (0, _) => printer.note("no file of a repository here names a server"),
        (_, 0) => {}
        (_, _) => printer.hint("accept what you know: `limbeck trust SERVER`"),
    }
    Ok(Exit::Completed)
}

fn accept(
    printer: &Printer,
    file: &TrustFile,
    chosen: &[&ServerEntry],
    as_json: bool,
) -> Result<Exit, Failure> {
    if !as_json {
        for entry in chosen {
            print(printer, entry);
        }
    }
    let accepted = file.change(|records| {
        for record in chosen
            .iter()
            .filter_map(|entry| trust_record(entry, AcceptedBy::User))
        {
            records.accept(record);
        }
    });
    accepted.map_err(failure)?;
    if as_json {
        printer.json(&json!({"accepted": names(chosen)}))?;
    } else {
        for name in names(chosen) {
            printer.note(&format!("`{name}` is trusted until its definition changes"));
        }
    }
    Ok(Exit::Completed)
}

fn take_back(
    printer: &Printer,
    file: &TrustFile,
    chosen: &[&ServerEntry],
) -> Result<Exit, Failure> {
    let taken_back = file.change(|records| {
        let mut taken_back = chosen.to_vec();
        taken_back.retain(|entry| records.revoke(&entry.origin.file, &entry.name));
        taken_back
    });
    for name in names(&taken_back.map_err(failure)?) {
        printer.note(&format!("`{name}` is not trusted any more"));
    }
    Ok(Exit::Completed)
}

fn names<'a>(entries: &[&'a ServerEntry]) -> Vec<&'a str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

fn failure(error: TrustError) -> Failure {
    let hint = error.hint();
    Failure::usage(error).with_hint(hint)
}

fn print(printer: &Printer, entry: &ServerEntry) {
    let name = clean_line(entry.name.as_str(), NAME_BYTES_MAX);
    let standing = match entry.trust {
        Trust::Accepted | Trust::AcceptedByClient | Trust::Own => "trusted",
        Trust::Waiting => "waits for trust",
        Trust::Changed => "changed since it was trusted",
    };
    printer.data_line(&format!("{name}  {standing}  {}", entry.origin));
    let mut table = Table::default().indented(2);
    for (label, line) in entry.written.iter().flat_map(|written| &written.lines) {
        table.row([label, line]);
    }
    printer.data(&table.text());
}

fn reports(entries: &[&ServerEntry]) -> Vec<Value> {
    let report = |entry: &&ServerEntry| {
        let written = entry.written.as_ref();
        let definition: serde_json::Map<String, Value> = written
            .into_iter()
            .flat_map(|written| &written.lines)
            .map(|(label, line)| (label.clone(), line.clone().into()))
            .collect();
        json!({
            "name": entry.name,
            "source": entry.origin.to_string(),
            "trust": match entry.trust {
                Trust::Accepted | Trust::AcceptedByClient | Trust::Own => "accepted",
                Trust::Waiting => "waiting",
                Trust::Changed => "changed",
            },
            "definition": definition,
            "sha256": written.map(|written| &written.sha256),
        })
    };
    entries.iter().map(report).collect()
}
