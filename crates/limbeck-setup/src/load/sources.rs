//! Files to read, in order.

use std::path::PathBuf;

use limbeck_domain::limits::CONFIG_BYTES_MAX;

use super::earlier_systems;
use crate::configuration::Discovery;
use crate::diagnostic::ValueError;
use crate::document::Syntax;
use crate::entry::EntryScope;

/// `~/.claude.json` also holds the client's state of every project and grows with it.
pub(crate) const CLIENT_STATE_BYTES_MAX: usize = 64 << 20;

/// One file to read.
pub(super) struct ConfigSource {
    pub(super) path: PathBuf,
    pub(super) scope: EntryScope,
    pub(super) role: FileRole,
}

/// Expected content of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRole {
    /// `~/.claude.json`.
    ClaudeState,
    /// `.mcp.json`.
    Repository,
    /// `limbeck.toml` and `config.toml`.
    Limbeck,
    /// The administrator's file of rules.
    Managed,
    /// Of a gateway that came before Limbeck.
    Earlier,
    /// Named with `--config`; its suffix and content decide.
    Named,
}

impl ConfigSource {
    /// Whether its servers are started without a question: it is a file of the user, and not one of a repository, whose servers wait
    /// for trust.
    pub(super) fn is_started_unasked(&self) -> bool {
        matches!(self.scope, EntryScope::User)
    }

    pub(super) fn bytes_max(&self) -> usize {
        match self.role {
            // It may be the same file under another name.
            FileRole::ClaudeState | FileRole::Earlier => CLIENT_STATE_BYTES_MAX,
            FileRole::Repository | FileRole::Limbeck | FileRole::Managed | FileRole::Named => {
                CONFIG_BYTES_MAX
            }
        }
    }

    pub(super) fn syntax(&self) -> Syntax {
        match self.path.extension() {
            Some(suffix) if suffix.eq_ignore_ascii_case("toml") => Syntax::Toml,
            _ => Syntax::Json,
        }
    }
}

impl ConfigSource {
    /// An error of the parser, with the format of the file where it is not one of the two that are read.
    pub(super) fn explained(&self, mut error: ValueError) -> ValueError {
        let suffix = self.path.extension().unwrap_or_default();
        if suffix.eq_ignore_ascii_case("yaml") || suffix.eq_ignore_ascii_case("yml") {
            error
                .problem
                .push_str("; YAML is not read, write JSON or TOML");
        }
        error
    }
}

/// The files, weakest first.
pub(super) fn sources(discovery: &Discovery<'_>) -> Vec<ConfigSource> {
    let world = discovery.world;
    let mut sources = if discovery.discover {
        earlier_systems::weak_sources(world)
    } else {
        Vec::new()
    };
    let mut add = |path: PathBuf, scope, role| sources.push(ConfigSource { path, scope, role });
    if discovery.discover {
        if let Some(home) = &world.home {
            let path = home.join(".claude.json");
            add(path, EntryScope::User, FileRole::ClaudeState);
        }
        let path = world.cwd.join(".mcp.json");
        add(path, EntryScope::Repository, FileRole::Repository);
        let strong = earlier_systems::strong_sources(world).into_iter();
        strong.for_each(|source| add(source.path, source.scope, source.role));
        if let Some(directory) = world.config_directory() {
            for name in ["imported.toml", "config.toml"] {
                let path = directory.join("limbeck").join(name);
                add(path, EntryScope::User, FileRole::Limbeck);
            }
        }
        let path = world.cwd.join("limbeck.toml");
        add(path, EntryScope::Repository, FileRole::Limbeck);
    }
    for path in discovery.config_files {
        add(world.cwd.join(path), EntryScope::Given, FileRole::Named);
    }
    sources
}
