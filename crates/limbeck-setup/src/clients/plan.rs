//! What setup would do: which servers move, and the new bytes of every file.

use std::collections::HashSet;
use std::path::PathBuf;

use super::found::{ClientFile, EntryKind, FoundEntry};
use super::model::{
    ClientAction, ClientPlan, FileChange, FileKind, PlannedFile, ProbeOutcomes, ServerAction,
    ServerPlan, ServersBeside, SetupError, SetupPlan, SetupRequest, SetupSecrets, SetupSteps,
};
use super::own_program::own_program;
use super::own_text::{own_file_text, section};
use super::problem::{FileProblem, problem_of};
use super::repository::repository_servers;
use super::same::{DistinctServer, distinct};
use super::secrets::{self, SecretFile};
use super::splice::{self, Change};
use super::table::{CLAUDE_CODE, CLIENTS, Client, client_of};
use super::verify::is_as_intended;
use crate::entry::ServerEntry;
use crate::world::World;

/// Name of the entry that starts Limbeck.
const OWN_NAME: &str = "limbeck";

/// Files of clients with their servers, and which of these are the same.
#[derive(Debug)]
pub struct FoundClients<'w> {
    world: &'w World,
    request: SetupRequest,
    files: Vec<ClientFile>,
    /// Why the servers of a file stay in it, by the place of the file in `files`.
    problems: Vec<Option<FileProblem>>,
    servers: Vec<DistinctServer>,
    own_text: String,
    own_path: PathBuf,
}

impl<'w> FoundClients<'w> {
    /// Reads the files of the clients that `request` names, or of all.
    ///
    /// # Errors
    ///
    /// A client that is not known, or files of Limbeck's own that cannot be read.
    pub fn read(world: &'w World, request: SetupRequest) -> Result<Self, SetupError> {
        let named: Vec<_> = request
            .clients
            .iter()
            .map(|id| client_of(id).ok_or_else(|| SetupError::UnknownClient { id: id.clone() }))
            .collect::<Result<_, _>>()?;
        let directory = world.config_directory().ok_or(SetupError::NoHome)?;
        let own_path = directory.join("limbeck").join("imported.toml");
        let own_text = own_file_text(world, &own_path)?;
        let mut files = Vec::new();
        for client in CLIENTS {
            let is_named = named.iter().any(|named| named.id == client.id);
            if !named.is_empty() && !is_named {
                continue;
            }
            let paths = client.paths(world);
            let before = files.len();
            let read = |path: &PathBuf| ClientFile::read(world, client, path.clone());
            files.extend(paths.iter().filter_map(read));
            if is_named && files.len() == before {
                let first = paths.into_iter().next();
                files.extend(first.map(|path| ClientFile::absent(client, path)));
            }
        }
        let is_wanted = |file: &ClientFile| {
            request.steps == SetupSteps::InstallOnly
                || request.clients.iter().any(|id| id == file.client.id)
        };
        let problems = files.iter();
        let problems = problems.map(|file| problem_of(world, file, is_wanted(file)));
        let problems = problems.collect();
        let mut found = Self {
            world,
            request,
            files,
            problems,
            servers: Vec::new(),
            own_text,
            own_path,
        };
        let config = directory.join("limbeck").join("config.toml");
        let config = own_file_text(world, &config)?;
        // Limbeck reads this file also when no server of it moves.
        let state = client_of(CLAUDE_CODE);
        let is_left_out =
            |client: &&Client| !found.files.iter().any(|file| file.client.id == client.id);
        let elsewhere: Vec<ClientFile> = state
            .filter(is_left_out)
            .into_iter()
            .flat_map(|client| {
                let paths = client.paths(world).into_iter();
                paths.filter_map(move |path| ClientFile::read(world, client, path))
            })
            .collect();
        let own = [config.as_str(), found.own_text.as_str()];
        let readable: Vec<&ClientFile> = found.files.iter().collect();
        found.servers = distinct(
            world,
            &readable,
            |index| found.problems[index].is_none(),
            own,
            &elsewhere,
        );
        Ok(found)
    }

    /// Servers that would move, under the names that they would have: those whose start decides.
    pub fn candidates(&self) -> Vec<&ServerEntry> {
        if self.request.steps == SetupSteps::InstallOnly {
            return Vec::new();
        }
        let is_candidate = |server: &&DistinctServer| !server.is_known && !server.is_disabled;
        let servers = self.servers.iter().filter(is_candidate);
        servers.map(|server| &server.entry).collect()
    }

    /// The files that were read.
    pub(super) fn files(&self) -> &[ClientFile] {
        &self.files
    }

    /// Clients that start Limbeck and other servers.
    pub fn beside(&self) -> Vec<ServersBeside> {
        let files = self.files.iter().filter(|file| file.has_own_entry());
        let beside = files.map(|file| {
            let entries = file.entries.as_deref().unwrap_or_default().iter();
            let is_server = |entry: &&FoundEntry| matches!(entry.kind, EntryKind::Server(_));
            ServersBeside {
                id: file.client.id,
                title: file.client.title,
                path: file.path.clone(),
                servers: entries
                    .filter(is_server)
                    .map(|entry| entry.name.clone())
                    .collect(),
            }
        });
        beside.filter(|client| !client.servers.is_empty()).collect()
    }

    /// The plan. A server whose start failed stays where it is; one without an outcome was not started.
    ///
    /// # Errors
    ///
    /// When there is no path under which clients could start Limbeck.
    pub fn plan(mut self, outcomes: &ProbeOutcomes) -> Result<SetupPlan, SetupError> {
        let program = own_program(self.world).map_err(|problem| SetupError::Program { problem })?;
        let mut plan = SetupPlan::default();
        let actions: Vec<ServerAction> = self
            .servers
            .iter()
            .map(|server| self.action(server, outcomes))
            .collect();
        self.move_servers(&actions, &mut plan);
        for (index, file) in self.files.iter().enumerate() {
            let leaves = |name: &str| {
                let mut servers = self.servers.iter().zip(&actions);
                servers.any(|(server, action)| {
                    let place = |(at, entry): &(usize, String)| *at == index && entry == name;
                    matches!(action, ServerAction::Move | ServerAction::Merge)
                        && server.from.iter().any(place)
                })
            };
            let (client, change) = self.change_of(index, file, &program, &leaves);
            plan.clients.push(client);
            plan.files.extend(change);
            let adopted = self.adopted(index, file, &program);
            self.report_others(index, file, adopted.map(|(name, _)| name), &mut plan);
        }
        plan.servers.extend(repository_servers(self.world));
        Ok(plan)
    }

    fn action(&self, server: &DistinctServer, outcomes: &ProbeOutcomes) -> ServerAction {
        let failed = outcomes.get(server.entry.name.as_str());
        match (self.request.steps, failed) {
            (SetupSteps::InstallOnly, _) => ServerAction::Keep,
            (_, _) if server.is_known => ServerAction::Merge,
            (_, Some(Err(_))) if !server.is_disabled => ServerAction::Keep,
            (_, _) => ServerAction::Move,
        }
    }

    /// Writes the servers that move into the plan: their entries, and the files with their secrets.
    fn move_servers(&mut self, actions: &[ServerAction], plan: &mut SetupPlan) {
        let outcomes_of = |server: &DistinctServer, action: ServerAction| ServerPlan {
            name: server.entry.name.as_str().to_owned(),
            from: server
                .from
                .iter()
                .map(|(at, _)| self.files[*at].client.id)
                .collect(),
            action,
            reason: match action {
                ServerAction::Merge => Some("Limbeck has it already".to_owned()),
                ServerAction::Move if server.from.len() > 1 => {
                    Some(format!("the same in {} files", server.from.len()))
                }
                _ => None,
            },
        };
        for (server, action) in self.servers.iter().zip(actions) {
            let outcome = outcomes_of(server, *action);
            if *action == ServerAction::Merge {
                plan.relies_on.push(outcome.name.clone());
            }
            plan.servers.push(outcome);
        }
        let mut text = self.own_text.clone();
        let mut added = Vec::new();
        let mut taken: HashSet<PathBuf> = existing_secrets(self.world);
        for (server, action) in self.servers.iter_mut().zip(actions) {
            if *action != ServerAction::Move {
                continue;
            }
            let name = server.entry.name.as_str().to_owned();
            if self.request.secrets == SetupSecrets::File {
                let files = secrets::move_out(self.world, &name, &mut server.table, &mut taken);
                plan.secrets += files.len();
                plan.files.extend(files.into_iter().map(secret_change));
            }
            let origin = &self.files[server.from[0].0];
            let section = section(&name, &server.table, origin);
            if !text.is_empty() {
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push('\n');
            }
            text.push_str(&section);
            added.push(name);
        }
        if added.is_empty() {
            return;
        }
        let before = (!self.own_text.is_empty()).then(|| self.own_text.clone());
        plan.files.push(PlannedFile {
            path: self.own_path.clone(),
            kind: FileKind::Own,
            has_mark: false,
            before,
            after: text,
            change: FileChange {
                removed: Vec::new(),
                added: added
                    .into_iter()
                    .map(|name| (name, String::new()))
                    .collect(),
            },
        });
    }

    /// The plan of one file, and its new text.
    fn change_of(
        &self,
        index: usize,
        file: &ClientFile,
        program: &str,
        leaves: &dyn Fn(&str) -> bool,
    ) -> (ClientPlan, Option<PlannedFile>) {
        let entries = file.entries.as_deref().unwrap_or_default();
        let mut client = ClientPlan {
            id: file.client.id,
            title: file.client.title,
            path: file.path.clone(),
            link: std::fs::read_link(self.world.on_disk(&file.path)).ok(),
            action: ClientAction::Skip,
            removed: Vec::new(),
            left: entries.iter().map(|entry| entry.name.clone()).collect(),
            added: None,
            reason: None,
        };
        if let Some(problem) = &self.problems[index] {
            client.action = problem.action;
            client.reason = Some(problem.reason.clone());
            if problem.action == ClientAction::Print && !file.has_own_entry() {
                client.added = Some(splice::own_entry(file.client.form, program, &["serve"]));
            }
            return (client, None);
        }
        if self.request.steps == SetupSteps::ImportOnly {
            client.reason = Some("not changed by `--import-only`".to_owned());
            return (client, None);
        }
        let names = entries.iter().map(|entry| entry.name.as_str());
        let removed: Vec<&str> = names.filter(|name| leaves(name)).collect();
        let is_named = self.request.clients.iter().any(|id| id == file.client.id);
        let is_installed = file.has_own_entry();
        let form = file.client.form;
        let own = splice::own_entry(form, program, &["serve"]);
        let installs = self.request.steps == SetupSteps::InstallOnly || is_named;
        let adopted = self.adopted(index, file, program);
        let renews = self.request.steps == SetupSteps::InstallOnly;
        let renewed = renews.then(|| renewed(file, program)).flatten();
        let adopted = adopted.or(renewed);
        if removed.is_empty() && adopted.is_none() && (is_installed || !installs) {
            client.action = match (is_installed, entries.is_empty()) {
                (true, _) => ClientAction::Unchanged,
                (false, _) => ClientAction::Skip,
            };
            return (client, None);
        }
        let has_name = entries.iter().any(|entry| entry.name == OWN_NAME);
        let mut removed = removed;
        let added = match adopted {
            Some((name, text)) => {
                removed.push(name);
                vec![(name, text)]
            }
            None if is_installed || has_name => Vec::new(),
            None => vec![(OWN_NAME, own.clone())],
        };
        // The text of an entry that was taken over has variables, which may be secrets.
        client.added = (!added.is_empty()).then_some(own);
        let change = Change {
            removed: removed.clone(),
            added,
        };
        let before = file.text.clone();
        let after = splice::changed(before.as_deref().unwrap_or_default(), form, &change);
        let after = after.and_then(|after| {
            let text = before.as_deref().unwrap_or_default();
            is_as_intended(text, &after, form, &change).map(|()| after)
        });
        client.removed = removed.iter().map(|&name| name.to_owned()).collect();
        client.left.retain(|name| !client.removed.contains(name));
        match after {
            Ok(after) => {
                client.action = ClientAction::Write;
                let planned = PlannedFile {
                    path: file.path.clone(),
                    kind: FileKind::Client(file.client.id),
                    has_mark: file.has_mark,
                    before,
                    after,
                    change: FileChange {
                        removed: client.removed.clone(),
                        added: change
                            .added
                            .iter()
                            .map(|(name, text)| ((*name).to_owned(), text.clone()))
                            .collect(),
                    },
                };
                (client, Some(planned))
            }
            Err(problem) => {
                client.action = ClientAction::Refuse;
                client.reason = Some(problem);
                (client, None)
            }
        }
    }

    /// The entry of an earlier gateway that becomes Limbeck's: it keeps its name, which permissions of the client may have,
    /// and its variables, in which that gateway had the paths of its files.
    fn adopted<'f>(
        &self,
        index: usize,
        file: &'f ClientFile,
        program: &str,
    ) -> Option<(&'f str, String)> {
        let is_changed = self.problems[index].is_none() && self.request.steps == SetupSteps::All;
        if !is_changed || file.has_own_entry() {
            return None;
        }
        let mut entries = file.entries.as_deref().unwrap_or_default().iter();
        let entry = entries.find(|entry| matches!(entry.kind, EntryKind::Earlier(_)))?;
        let text = file.text.as_deref().unwrap_or_default();
        let form = file.client.form;
        let adopted = splice::adopted_entry(text, form, &entry.name, program)?;
        Some((&entry.name, adopted))
    }

    /// Entries that are not servers that could move.
    fn report_others(
        &self,
        index: usize,
        file: &ClientFile,
        adopted: Option<&str>,
        plan: &mut SetupPlan,
    ) {
        let mut report = |name: &str, action, reason: String| {
            plan.servers.push(ServerPlan {
                name: name.to_owned(),
                from: vec![file.client.id],
                action,
                reason: Some(reason),
            });
        };
        for entry in file.entries.as_deref().unwrap_or_default() {
            match &entry.kind {
                EntryKind::Own(_) => report(
                    &entry.name,
                    ServerAction::Ignore,
                    "it is Limbeck".to_owned(),
                ),
                EntryKind::Earlier(gateway) if adopted == Some(entry.name.as_str()) => report(
                    &entry.name,
                    ServerAction::Merge,
                    format!("Limbeck takes the place of `{gateway}`, with its variables"),
                ),
                EntryKind::Earlier(gateway) => report(
                    &entry.name,
                    ServerAction::Keep,
                    format!(
                        "it is the gateway `{gateway}`, which starts servers of its own: remove it when Limbeck has them"
                    ),
                ),
                EntryKind::Unusable(reason) => {
                    report(&entry.name, ServerAction::Keep, reason.clone());
                }
                EntryKind::Server(_) => {
                    if let Some(problem) = &self.problems[index] {
                        let reason = format!("its file is not changed: {}", problem.reason);
                        report(&entry.name, ServerAction::Keep, reason);
                    }
                }
            }
        }
        for name in &file.of_projects {
            report(
                name,
                ServerAction::Keep,
                "it is for one project alone".to_owned(),
            );
        }
    }
}

/// The entry for Limbeck with a path that lasts, when the one that it has does not.
fn renewed<'f>(file: &'f ClientFile, program: &str) -> Option<(&'f str, String)> {
    let (name, own) = file.own_entry()?;
    let stale = own.stale.as_ref().and(own.command.as_ref())?;
    let text = file.text.as_deref().unwrap_or_default();
    let old = stale.to_string_lossy();
    let renewed = splice::renewed_entry(text, file.client.form, name, &old, program)?;
    (old != program).then_some((name, renewed))
}

fn secret_change(file: SecretFile) -> PlannedFile {
    PlannedFile {
        path: file.path,
        kind: FileKind::Secret,
        has_mark: false,
        before: None,
        after: file.content,
        change: FileChange::default(),
    }
}

fn existing_secrets(world: &World) -> HashSet<PathBuf> {
    let Some(directory) = secrets::directory(world) else {
        return HashSet::new();
    };
    let names = std::fs::read_dir(world.on_disk(&directory));
    let names = names.into_iter().flatten().flatten();
    names.map(|name| directory.join(name.file_name())).collect()
}
