//! Texts and JSON of `limbeck setup`. No value of an entry is shown: it may be a secret.

use std::path::Path;

use limbeck_domain::text::clean_line;
use limbeck_setup::{
    ClientAction, ClientPlan, ServerAction, ServerPlan, SetupDone, SetupPlan, UndoneFile,
    UndoneState,
};
use serde_json::{Value, json};

use crate::format::counted;
use crate::invocation::Invocation;
use crate::table::TextTable;
use crate::wiring::short_place;

/// Longest name, path or reason in a table, in bytes.
const CELL_BYTES_MAX: usize = 300;

/// Prints what would be done with each server and each file. The servers `unstarted` are started first, and stay when they do
/// not work.
pub(super) fn plan(invocation: &Invocation, plan: &SetupPlan, unstarted: &[String]) {
    let printer = &invocation.printer;
    if plan.clients.is_empty() && plan.servers.is_empty() {
        printer.note("no client with servers was found");
        return;
    }
    if !plan.servers.is_empty() {
        let mut table = TextTable::with_header(["server", "what", "clients", "why"]);
        for server in &plan.servers {
            table.row([
                &*clean_line(&server.name, CELL_BYTES_MAX),
                server_words(server, unstarted),
                &*server.from.join(", "),
                &*clean_line(server.reason.as_deref().unwrap_or_default(), CELL_BYTES_MAX),
            ]);
        }
        printer.table(&table);
        printer.data("\n");
    }
    let mut table = TextTable::with_header(["client", "what", "file"]);
    for client in &plan.clients {
        let mut file = short(invocation, &client.path);
        if let Some(link) = &client.link {
            file.push_str(&format!(" (link to {})", short(invocation, link)));
        }
        table.row([client.title, &*client_words(client), &*file]);
    }
    printer.table(&table);
    if plan.secrets > 0 {
        printer.note(&format!(
            "{} in files of their own, which only you can read",
            counted(plan.secrets, "secret")
        ));
    }
    for client in &plan.clients {
        let file = short(invocation, &client.path);
        let reason = clean_line(client.reason.as_deref().unwrap_or_default(), CELL_BYTES_MAX);
        match client.action {
            ClientAction::Refuse => printer.warning(&format!("{file} is not changed: {reason}")),
            ClientAction::Print => {
                printer.warning(&format!("{file} {reason}, so it is not changed"));
                if let Some(entry) = &client.added {
                    let entry = clean_line(entry, CELL_BYTES_MAX);
                    printer.note(&format!("add this entry to it, as `limbeck`: {entry}"));
                }
            }
            ClientAction::Write | ClientAction::Unchanged | ClientAction::Skip => {}
        }
    }
}

fn server_words(server: &ServerPlan, unstarted: &[String]) -> &'static str {
    match server.action {
        ServerAction::Move if unstarted.contains(&server.name) => "moves if it starts",
        ServerAction::Move => "moves",
        ServerAction::Reference => "stays in the repository",
        ServerAction::Merge => "leaves the client",
        ServerAction::Keep => "stays",
        ServerAction::Ignore => "is Limbeck",
    }
}

fn client_words(client: &ClientPlan) -> String {
    match client.action {
        ClientAction::Write => {
            let removed = client.removed.len();
            let added = usize::from(client.added.is_some());
            format!("-{removed} +{added}")
        }
        ClientAction::Unchanged => "has Limbeck".to_owned(),
        ClientAction::Skip => "not changed".to_owned(),
        ClientAction::Refuse => "cannot be changed".to_owned(),
        ClientAction::Print => "read-only".to_owned(),
    }
}

/// Prints what was done.
pub(super) fn done(invocation: &Invocation, plan: &SetupPlan, done: &SetupDone) {
    let printer = &invocation.printer;
    for (path, reason) in &done.failed {
        let reason = clean_line(reason, CELL_BYTES_MAX);
        printer.error(&format!(
            "{} is not changed: {reason}",
            short(invocation, path)
        ));
    }
    let moved = plan.servers.iter();
    let moved = moved.filter(|server| server.action == ServerAction::Move);
    printer.note(&format!(
        "{} moved to Limbeck; {} written",
        counted(moved.count(), "server"),
        counted(done.written.len(), "file")
    ));
    let written = |client: &&ClientPlan| {
        client.action == ClientAction::Write && done.written.contains(&client.path)
    };
    let titles: Vec<&str> = plan
        .clients
        .iter()
        .filter(written)
        .map(|client| client.title)
        .collect();
    if !titles.is_empty() {
        printer.note(&format!("restart {}", titles.join(", ")));
    }
}

/// JSON of a plan.
pub(super) fn report(plan: &SetupPlan) -> Value {
    let clients: Vec<Value> = plan.clients.iter().map(client_report).collect();
    let servers = plan.servers.iter().map(|server| {
        json!({
            "name": server.name,
            "from": server.from,
            "action": server.action.word(),
            "reason": server.reason,
        })
    });
    json!({
        "clients": clients,
        "servers": servers.collect::<Vec<_>>(),
        "secrets": plan.secrets,
    })
}

fn client_report(client: &ClientPlan) -> Value {
    let mut diff: Vec<String> = client
        .removed
        .iter()
        .map(|name| format!("- {name}"))
        .collect();
    diff.extend(
        client
            .added
            .iter()
            .map(|entry| format!("+ limbeck: {entry}")),
    );
    json!({
        "id": client.id,
        "path": client.path,
        "action": client.action.word(),
        "reason": client.reason,
        "diff": (!diff.is_empty()).then_some(diff),
    })
}

/// Prints what an undo did.
pub(super) fn undone(invocation: &Invocation, id: &str, files: &[UndoneFile]) {
    let mut table = TextTable::with_header(["file", "what"]);
    for file in files {
        let what = match &file.state {
            UndoneState::Restored => "as it was".to_owned(),
            UndoneState::Removed => "removed".to_owned(),
            UndoneState::Merged => "taken back; your later changes stay".to_owned(),
            UndoneState::Unchanged => "was so already".to_owned(),
            UndoneState::Conflict(reason) => {
                format!("stays: {}", clean_line(reason, CELL_BYTES_MAX))
            }
        };
        table.row([&*short(invocation, &file.path), &*what]);
    }
    invocation.printer.table(&table);
    let is_conflict = |file: &UndoneFile| matches!(file.state, UndoneState::Conflict(_));
    if !files.iter().any(is_conflict) {
        invocation
            .printer
            .note(&format!("setup {id} is taken back"));
    }
}

/// JSON of one file of an undo.
pub(super) fn undone_report(file: &UndoneFile) -> Value {
    let reason = match &file.state {
        UndoneState::Conflict(reason) => Some(reason),
        _ => None,
    };
    json!({"path": file.path, "state": file.state.word(), "reason": reason})
}

fn short(invocation: &Invocation, path: &Path) -> String {
    let path = short_place(&invocation.world, &path.display().to_string());
    clean_line(&path, CELL_BYTES_MAX)
}
