//! Files and variables of three gateways that came before Limbeck, whose users change the command of one entry and keep
//! the rest: S0 (`code-executor-mcp`), S1 (`code-executor`) and S2 (`mcp-server-code-execution-mode`).
//!
//! A file that a variable or a setting names is the user's, unless it is below the working directory: then it may be a
//! stranger's, like every other file there.

use std::path::{Component, Path, PathBuf};

use limbeck_domain::limits::CONFIG_BYTES_MAX;

use super::Loader;
use super::sources::{ConfigSource, FileRole};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{self, ConfigPlace, Syntax};
use crate::entry::EntryScope;
use crate::entry_reader::unknown_key;
use crate::file_content;
use crate::world::World;

/// S0 and S1: the file with the servers; S0 reads it on top of others.
const SERVERS_FILE: &str = "MCP_CONFIG_PATH";
/// S2: a file that adds servers whose names are not taken.
const MORE_SERVERS: &str = "MCP_SERVERS_CONFIG";
/// S2: the folder with the files of servers, in the place of `~/MCPs`.
const STATE_FOLDER: &str = "MCP_BRIDGE_STATE_DIR";
/// S0: its own settings, instead of those that are looked for.
const SETTINGS_FILE: &str = "CODE_EXECUTOR_CONFIG_PATH";
/// Keys of S0's settings.
const SETTINGS_KEYS: &[&str] = &[
    "version",
    "security",
    "executors",
    "sampling",
    "mcpConfigPath",
];
/// Files of `~/MCPs` that are read.
const FOLDER_FILES_MAX: usize = 256;

/// Sources that every other one is stronger than, weakest first.
pub(super) fn weak_sources(world: &World) -> Vec<ConfigSource> {
    let mut sources = Vec::new();
    if let Some(path) = named(world, MORE_SERVERS) {
        sources.push(source(world, path));
    }
    let Some(home) = &world.home else {
        return sources;
    };
    let state = named(world, STATE_FOLDER).unwrap_or_else(|| home.join("MCPs"));
    let mut folder = folder(world, &state);
    // Of two files with one name the first counts, so it comes last.
    folder.sort_unstable_by(|a, b| b.cmp(a));
    let config = world.config_directory();
    let config = config.map(|config| config.join("claude-code/mcp.json"));
    let paths = folder.into_iter().chain(config);
    sources.extend(
        paths
            .chain([home.join(".claude/.mcp.json")])
            .map(|path| source(world, path)),
    );
    sources
}

/// Sources that are stronger than the files of clients and of the repository, weakest first.
pub(super) fn strong_sources(world: &World) -> Vec<ConfigSource> {
    let paths = settings(world).and_then(|settings| settings.servers);
    let paths = paths.into_iter().chain(named(world, SERVERS_FILE));
    paths.map(|path| source(world, path)).collect()
}

/// What a file of S0's settings says here.
struct Settings {
    file: PathBuf,
    /// `mcpConfigPath`.
    servers: Option<PathBuf>,
    problem: Option<(Severity, String)>,
}

/// S0's settings as its users know them: all of its files, of which the first that has a key decides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EarlierFiles {
    /// The keys and their values, with `env:NAME` resolved.
    pub values: serde_json::Map<String, serde_json::Value>,
    /// Keys that a file of the repository decides. They may narrow what is allowed, and choose no file.
    pub of_project: Vec<String>,
    /// What is wrong with single keys.
    pub problems: Vec<String>,
}

/// Reads the settings of S0.
pub fn earlier_files(world: &World) -> EarlierFiles {
    let mut files = EarlierFiles::default();
    for path in settings_paths(world) {
        let Ok(Some(content)) = file_content::read(world, &path, CONFIG_BYTES_MAX) else {
            continue;
        };
        if content.exposure.is_some() {
            continue;
        }
        // A file that is no JSON was reported when the servers were read.
        let Ok(serde_json::Value::Object(mut values)) = serde_json::from_str(&content.text) else {
            continue;
        };
        resolve_variables(world, &mut values, "", &mut files.problems);
        let is_of_project = is_of_project(world, &path);
        merge(&mut files, values, is_of_project);
    }
    files
}

/// Adds the keys of a file that no earlier one has, those in `security` and the like one by one.
fn merge(
    files: &mut EarlierFiles,
    values: serde_json::Map<String, serde_json::Value>,
    is_of_project: bool,
) {
    use serde_json::Value;
    use serde_json::map::Entry;
    for (section, value) in values {
        let members = match (value, files.values.entry(section.clone())) {
            (Value::Object(members), Entry::Occupied(mut slot)) => {
                let Some(slot) = slot.get_mut().as_object_mut() else {
                    continue;
                };
                let new = members
                    .into_iter()
                    .filter(|(key, _)| !slot.contains_key(key));
                let new: Vec<(String, Value)> = new.collect();
                let names: Vec<String> = new.iter().map(|(key, _)| key.clone()).collect();
                slot.extend(new);
                names
            }
            (_, Entry::Occupied(_)) => continue,
            (value, Entry::Vacant(slot)) => {
                let names = value.as_object().map(|it| it.keys().cloned().collect());
                slot.insert(value);
                names.unwrap_or_default()
            }
        };
        if is_of_project {
            let names = members.iter().map(|key| format!("{section}.{key}"));
            files.of_project.extend(names);
        }
    }
}

/// Replaces `env:NAME`; a key whose variable is missing is left out.
fn resolve_variables(
    world: &World,
    values: &mut serde_json::Map<String, serde_json::Value>,
    within: &str,
    problems: &mut Vec<String>,
) {
    values.retain(|key, value| {
        if let serde_json::Value::Object(members) = value {
            resolve_variables(world, members, &format!("{within}{key}."), problems);
            return true;
        }
        let Some(name) = value.as_str().and_then(|text| text.strip_prefix("env:")) else {
            return true;
        };
        match world.variable(name) {
            Some(text) => {
                *value = text.into();
                true
            }
            None => {
                let name = limbeck_domain::text::clean_line(name, 80);
                let key = limbeck_domain::text::clean_line(key, 80);
                problems.push(format!(
                    "`{within}{key}` names the environment variable `{name}`, which is not set"
                ));
                false
            }
        }
    });
}

/// Reads the first file of S0's settings that exists.
fn settings(world: &World) -> Option<Settings> {
    settings_paths(world)
        .into_iter()
        .find_map(|path| read_settings(world, path))
}

/// Files of S0's settings, strongest first.
fn settings_paths(world: &World) -> Vec<PathBuf> {
    match named(world, SETTINGS_FILE) {
        Some(path) => vec![path],
        None => {
            let of_home = world.home.iter().flat_map(|home| {
                [".code-executor.json", ".code-executor/config.json"].map(|name| home.join(name))
            });
            let config = world.config_directory();
            let config = config.map(|config| config.join("code-executor/config.json"));
            let of_project = [world.cwd.join(".code-executor.json")];
            of_project
                .into_iter()
                .chain(of_home)
                .chain(config)
                .collect()
        }
    }
}

fn read_settings(world: &World, file: PathBuf) -> Option<Settings> {
    let mut found = Settings {
        servers: None,
        problem: None,
        file,
    };
    let text = match file_content::read(world, &found.file, CONFIG_BYTES_MAX) {
        Ok(None) => return None,
        Ok(Some(content)) if content.exposure.is_none() => content.text,
        Ok(Some(content)) => {
            let exposure = content.exposure.unwrap_or_default();
            found.problem = Some((Severity::Error, format!("{exposure}; it is ignored")));
            return Some(found);
        }
        Err(error) => {
            found.problem = Some((Severity::Error, error.problem()));
            return Some(found);
        }
    };
    let read = document::parse(&text, Syntax::Json).and_then(|root| {
        let root = ConfigPlace::root(&root);
        let unknown = root
            .entries()?
            .into_iter()
            .find(|(key, _)| !SETTINGS_KEYS.contains(key));
        if let Some((key, _)) = unknown {
            let key_problem = unknown_key(SETTINGS_KEYS, key);
            let key = limbeck_domain::text::clean_line(key, 80);
            found.problem = Some((Severity::Warning, format!("`{key}`: {key_problem}")));
        }
        let path = root.get("mcpConfigPath")?;
        path.map(|path| path.text().map(str::to_owned)).transpose()
    });
    match read {
        Ok(path) => {
            let path = path.map(|path| absolute(world, &path));
            // What a repository names outside of itself is the user's and not its own to choose.
            let is_foreign = path.as_ref().is_some_and(|path| {
                is_of_project(world, &found.file) && !is_of_project(world, path)
            });
            if is_foreign {
                let problem = "`mcpConfigPath` is outside of the repository, and is ignored";
                found.problem = Some((Severity::Warning, problem.to_owned()));
            } else {
                found.servers = path;
            }
        }
        Err(error) => found.problem = Some((Severity::Error, error.to_string())),
    }
    Some(found)
}

impl Loader<'_> {
    /// Reports what is wrong with the settings of S0 and with files that variables name.
    pub(super) fn report_earlier_systems(&mut self) {
        let world = self.discovery.world;
        if let Some(settings) = settings(world)
            && let Some((severity, problem)) = settings.problem
        {
            let finding = Diagnostic::of_file(&settings.file, severity, problem);
            self.found.diagnostics.push(finding);
        }
        for name in [SERVERS_FILE, MORE_SERVERS, SETTINGS_FILE] {
            let Some(path) = named(world, name) else {
                continue;
            };
            if !world.on_disk(&path).exists() {
                let problem = format!("does not exist, although {name} names it");
                let finding = Diagnostic::of_file(&path, Severity::Warning, problem);
                self.found.diagnostics.push(finding);
            }
        }
    }
}

/// The file that a variable names.
fn named(world: &World, name: &str) -> Option<PathBuf> {
    Some(absolute(world, world.nonempty_variable(name)?))
}

fn absolute(world: &World, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), &world.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => world.cwd.join(path),
    }
}

fn source(world: &World, path: PathBuf) -> ConfigSource {
    ConfigSource {
        scope: if is_of_project(world, &path) {
            EntryScope::Repository
        } else {
            EntryScope::User
        },
        role: FileRole::Earlier,
        path,
    }
}

/// Whether a file may have come with the repository of the working directory.
fn is_of_project(world: &World, path: &Path) -> bool {
    let real = |path: &Path| {
        let on_disk = world.on_disk(path);
        on_disk
            .canonicalize()
            .unwrap_or_else(|_| without_dots(&on_disk))
    };
    let cwd = real(&world.cwd);
    let home = world.home.as_deref().map(real);
    // In the home directory, or above it, everything is the user's.
    let is_home = home.is_some_and(|home| home.starts_with(&cwd));
    !is_home && real(path).starts_with(&cwd)
}

/// A path that does not exist, without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// JSON files of a folder.
fn folder(world: &World, directory: &Path) -> Vec<PathBuf> {
    let Ok(names) = std::fs::read_dir(world.on_disk(directory)) else {
        return Vec::new();
    };
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .take(FOLDER_FILES_MAX)
        .map(|name| directory.join(name))
        .collect()
}
