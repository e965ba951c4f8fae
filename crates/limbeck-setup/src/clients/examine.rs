//! Findings of `doctor` about clients' files and Limbeck's own, each with a stable code and one remedy. Nothing is started
//! and nothing is written; [`ClientFinding::fix`] says what a caller may do about one.

mod exposed;
mod repository;

use std::path::{Path, PathBuf};

use limbeck_domain::text::clean_line;

use super::apply::SetupState;
use super::found::ClientFile;
use super::model::SetupRequest;
use super::plan::FoundClients;
use super::sync::{DriftAction, DriftKind, SyncRequest};
use super::table::CLIENTS;
use crate::escaped_text::shown_path;
use crate::file_content::OF_DIRECTORY;
use crate::world::{OperatingSystem, World};

/// Longest name, path or reason in a finding, in bytes.
const TEXT_BYTES_MAX: usize = 300;

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFinding {
    /// Stable code.
    pub code: &'static str,
    /// Id of the client that it is about.
    pub client: Option<&'static str>,
    /// What was found, a sentence without a full stop.
    pub finding: String,
    /// What to do: a command when there is a fix or [`ClientFinding::is_command`], else a sentence.
    pub remedy: String,
    /// Whether the remedy is a command.
    pub is_command: bool,
    /// What does the remedy.
    pub fix: Option<FindingFix>,
}

/// What does the remedy of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingFix {
    /// A sync that repairs.
    Sync,
    /// A setup that only adds Limbeck to the client.
    Install,
    /// A setup of the client.
    Setup,
    /// The rights of other users to these files are taken away.
    Restrict(Vec<PathBuf>),
}

impl ClientFinding {
    fn of(code: &'static str, finding: String, remedy: impl Into<String>) -> Self {
        Self {
            code,
            client: None,
            finding,
            remedy: remedy.into(),
            is_command: false,
            fix: None,
        }
    }

    fn about(self, client: &'static str) -> Self {
        let client = Some(client);
        Self { client, ..self }
    }

    fn fixed_by(self, fix: FindingFix) -> Self {
        Self {
            is_command: true,
            fix: Some(fix),
            ..self
        }
    }
}

impl SetupState<'_> {
    /// Findings about the files of clients, and about Limbeck's own.
    pub fn findings(&self) -> Vec<ClientFinding> {
        let mut findings = Vec::new();
        if let Ok(found) = FoundClients::read(self.world, SetupRequest::default()) {
            for file in found.files() {
                findings.extend(of_file(self.world, file));
            }
            findings.extend(beside(self.world, &found));
            findings.extend(repository::findings(self.world, found.files()));
        }
        self.find_drift(&mut findings);
        findings.extend(exposed::finding(self.world, &self.directory));
        findings.extend(other_limbeck(self.world));
        findings.sort_by_key(|finding| finding.code);
        findings
    }

    fn find_drift(&self, findings: &mut Vec<ClientFinding>) {
        let Ok(plan) = self.drift(&SyncRequest::default()) else {
            return;
        };
        for drift in plan.drift {
            if !matches!(drift.kind, DriftKind::Wiped | DriftKind::Changed) {
                continue;
            }
            let fix = match drift.action {
                DriftAction::Repair => Some(FindingFix::Sync),
                DriftAction::Stop => Some(FindingFix::Install),
                DriftAction::Report | DriftAction::Respect | DriftAction::Adopt => None,
            };
            let remedy = drift.remedy.unwrap_or_default();
            let finding = ClientFinding::of("C02", drift.finding, remedy).about(drift.id);
            findings.push(match fix {
                Some(fix) => finding.fixed_by(fix),
                None => finding,
            });
        }
    }
}

/// A file that cannot be read, or whose entry starts Limbeck by a path that does not last.
fn of_file(world: &World, file: &ClientFile) -> Option<ClientFinding> {
    let (id, title) = (file.client.id, file.client.title);
    let path = short(world, &file.path);
    match &file.entries {
        Err(reason) if file.is_exposed => {
            let finding = format!(
                "{path} of {title} is not used: it {}, who may have written commands into it",
                clean(reason)
            );
            // No command does this: with the rights alone, what another user wrote would count as the person's own.
            let place = match reason.starts_with(OF_DIRECTORY) {
                true => file.path.parent().unwrap_or(&file.path),
                false => &file.path,
            };
            let remedy = format!(
                "read {path}, take out what you do not know, then: chmod go-w {}",
                short(world, place)
            );
            Some(ClientFinding::of("S02", finding, remedy).about(id))
        }
        Err(reason) => {
            let finding = format!("{path} of {title} cannot be read: {}", clean(reason));
            let remedy = "correct the file there; nothing was written".to_owned();
            Some(ClientFinding::of("C01", finding, remedy).about(id))
        }
        Ok(_) => {
            let (_, own) = file.own_entry()?;
            let (stale, command) = (own.stale.as_ref()?, own.command.as_ref()?);
            let command = clean(&command.display().to_string());
            let finding = format!("{title} starts Limbeck by {command}, in {path}: {stale}");
            let remedy = format!("limbeck setup --install-only --client {id} --yes");
            let finding = ClientFinding::of("C03", finding, remedy).about(id);
            Some(finding.fixed_by(FindingFix::Install))
        }
    }
}

/// Clients that start servers beside Limbeck.
fn beside(world: &World, found: &FoundClients<'_>) -> Vec<ClientFinding> {
    let of_client = |client: super::model::ServersBeside| {
        let names: Vec<String> = client
            .servers
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let finding = format!(
            "{} starts servers beside Limbeck, in {}: {}",
            client.title,
            short(world, &client.path),
            clean(&names.join(", "))
        );
        let remedy = format!("limbeck setup --client {}", client.id);
        let finding = ClientFinding::of("C04", finding, remedy).about(client.id);
        finding.fixed_by(FindingFix::Setup)
    };
    found.beside().into_iter().map(of_client).collect()
}

/// Another Limbeck on `PATH`: programs that start it by its name may get that one.
fn other_limbeck(world: &World) -> Option<ClientFinding> {
    let own = world.executable.as_deref()?;
    let real = |path: &Path| world.on_disk(path).canonicalize().ok();
    let own_real = real(own)?;
    let name = match world.system {
        OperatingSystem::Windows => "limbeck.exe",
        OperatingSystem::Linux | OperatingSystem::MacOs => "limbeck",
    };
    let bytes = |path: &Path| std::fs::read(path).ok();
    let length = |path: &Path| std::fs::metadata(path).ok().map(|found| found.len());
    let directories = world.search_path(world.variable("PATH").unwrap_or_default());
    let mut paths = directories
        .into_iter()
        .map(|directory| directory.join(name));
    let other = paths.find(|path| {
        real(path).is_some_and(|real| {
            let is_copy = length(&real) == length(&own_real) && bytes(&real) == bytes(&own_real);
            real != own_real && !is_copy
        })
    })?;
    let (own, other) = (short(world, own), short(world, &other));
    let finding =
        format!("PATH has another Limbeck than the one that runs: {other}, and {own} runs");
    let remedy = format!("remove the one that you do not want, {other} or {own}");
    Some(ClientFinding::of("U01", finding, remedy))
}

/// A path for people, with `~` for the home directory.
fn short(world: &World, path: &Path) -> String {
    let below = world
        .home
        .as_ref()
        .and_then(|home| path.strip_prefix(home).ok());
    shown_path(&match below {
        Some(rest) => Path::new("~").join(rest),
        None => path.to_owned(),
    })
}

fn clean(text: &str) -> String {
    clean_line(text, TEXT_BYTES_MAX)
}

/// The title of a client for a finding that names it.
fn title_of(id: &str) -> &'static str {
    let client = CLIENTS.iter().find(|client| client.id == id);
    client.map_or("a client", |client| client.title)
}
