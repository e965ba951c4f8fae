//! Directory that a client's file belongs to: a project, or none when the file is the user's for every project.

use std::path::{Component, Path, PathBuf};

use super::client_files::is_of_client;
use crate::world::World;

/// Directory of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workspace {
    pub(super) directory: PathBuf,
}

impl Workspace {
    /// The workspace that `file` belongs to, such as that of `.vscode/mcp.json`; `None` for a file of the user, such as
    /// `~/.cursor/mcp.json`.
    pub(super) fn of(world: &World, file: &Path) -> Option<Self> {
        let file = normalized(file);
        let parent = file.parent()?;
        if is_of_user(world, &file, parent) {
            return None;
        }
        // `.vscode`, `.cursor` and the like are in the directory of the project.
        let directory = match parent.parent() {
            Some(above) if is_hidden(parent) => above,
            Some(_) | None => parent,
        };
        Some(Self {
            directory: directory.to_owned(),
        })
    }

    /// The directory as it is written into a file.
    pub(super) fn path(&self) -> Result<String, String> {
        text(&self.directory)
    }

    /// The `cwd` of an imported entry, absolute: the user's own file is read in every directory.
    pub(super) fn start_directory(&self, cwd: Option<&str>) -> Result<String, String> {
        let Some(cwd) = cwd else {
            return text(&self.directory);
        };
        if is_absolute_when_read(cwd) {
            return Ok(cwd.to_owned());
        }
        text(&self.directory)?;
        Ok(absolute(&self.directory, cwd))
    }
}

/// A `cwd` as it is written into the user's own file, which is read in every directory.
pub(super) fn absolute(base: &Path, cwd: &str) -> String {
    if is_absolute_when_read(cwd) {
        return cwd.to_owned();
    }
    normalized(&base.join(cwd)).to_string_lossy().into_owned()
}

/// Whether a path is absolute, or becomes so when its references are replaced.
fn is_absolute_when_read(path: &str) -> bool {
    path.starts_with("~/") || path.starts_with("${") || Path::new(path).is_absolute()
}

fn text(directory: &Path) -> Result<String, String> {
    match directory.to_str() {
        Some(text) if !text.contains("${") => Ok(text.to_owned()),
        Some(_) | None => {
            Err("is of a directory whose path cannot be written into a file".to_owned())
        }
    }
}

fn is_hidden(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with('.')
}

/// Whether `file`, in the directory `parent`, is the user's for every project: in the home directory itself or a client's
/// own, with no checkout of a repository between it and the home directory.
fn is_of_user(world: &World, file: &Path, parent: &Path) -> bool {
    let homes = paths(world, world.home.clone());
    let is_home = |directory: &Path| homes.iter().any(|home| home == directory);
    if is_home(parent) {
        return true;
    }
    let configurations = paths(world, world.config_directory());
    // What `.git` is does not matter: of a worktree it is a file.
    let is_checkout = |directory: &Path| {
        world
            .on_disk(&directory.join(".git"))
            .symlink_metadata()
            .is_ok()
    };
    let mut above = parent
        .ancestors()
        .take_while(|directory| !is_home(directory));
    is_of_client(file, &homes, &configurations) && !above.any(is_checkout)
}

/// The paths of a directory: the working directory has no links, and this one may have some.
fn paths(world: &World, directory: Option<PathBuf>) -> Vec<PathBuf> {
    let both = |directory: PathBuf| {
        let real = world.on_disk(&directory).canonicalize().ok();
        std::iter::once(normalized(&directory)).chain(real)
    };
    directory.into_iter().flat_map(both).collect()
}

/// `path` without `.` and `..`. Links are not followed: a link to a file is where its user sees it.
fn normalized(path: &Path) -> PathBuf {
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

#[cfg(all(test, unix))]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::world::OperatingSystem;

    fn workspace(file: &str) -> Option<PathBuf> {
        let world = World {
            home: Some(PathBuf::from("/home/me")),
            ..World::new(OperatingSystem::Linux, "/src", BTreeMap::new())
        };
        Workspace::of(&world, Path::new(file)).map(|found| found.directory)
    }

    #[test]
    fn a_file_is_of_its_project_unless_it_is_of_a_client_in_the_home_directory() {
        for file in [
            "/home/me/.claude.json",
            "/home/me/clients.json",
            "/home/me/.codex/config.toml",
            "/home/me/.cursor/mcp.json",
            "/home/me/.gemini/antigravity/mcp_config.json",
            "/home/me/.config/Code/User/mcp.json",
            "/home/me/Library/Application Support/Claude/claude_desktop_config.json",
            "/src/../home/me/.cursor/mcp.json",
        ] {
            assert_eq!(workspace(file), None, "{file}");
        }
        for (file, directory) in [
            ("/src/.vscode/mcp.json", "/src"),
            ("/src/./a/.mcp.json", "/src/a"),
            ("/src/.cursor/mcp.json", "/src"),
            ("/home/me/work/.vscode/mcp.json", "/home/me/work"),
            (
                "/home/me/.dotfiles/work/.mcp.json",
                "/home/me/.dotfiles/work",
            ),
            ("/src/servers.json", "/src"),
            (
                "/home/me/.cursor/worktrees/repo/.cursor/mcp.json",
                "/home/me/.cursor/worktrees/repo",
            ),
            (
                "/home/me/.codex/worktrees/ab12/repo/.codex/config.toml",
                "/home/me/.codex/worktrees/ab12/repo",
            ),
            (
                "/home/me/.vscode/extensions/evil/mcp.json",
                "/home/me/.vscode/extensions/evil",
            ),
            ("/home/me/.npm/_npx/x/mcp.json", "/home/me/.npm/_npx/x"),
            ("/home/me/.config/other/mcp.json", "/home/me/.config/other"),
            ("/home/me/.dotfiles/mcp.json", "/home/me"),
        ] {
            assert_eq!(workspace(file), Some(PathBuf::from(directory)), "{file}");
        }
    }

    #[test]
    fn a_checkout_below_the_home_directory_is_not_of_the_user() {
        let home = tempfile::tempdir().unwrap();
        let world = World {
            home: Some(home.path().to_owned()),
            ..World::new(OperatingSystem::Linux, "/src", BTreeMap::new())
        };
        let file = home.path().join(".config/Code/User/mcp.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let is_of_user = || Workspace::of(&world, &file).is_none();
        assert!(is_of_user());
        // The home directory itself may be one.
        std::fs::create_dir(home.path().join(".git")).unwrap();
        assert!(is_of_user());
        std::fs::write(home.path().join(".config/.git"), "gitdir: elsewhere").unwrap();
        assert!(!is_of_user());
    }

    #[test]
    fn a_relative_directory_becomes_absolute_and_a_reference_stays() {
        let base = Path::new("/src");
        for (cwd, written) in [
            (".", "/src"),
            ("../a", "/a"),
            ("/b", "/b"),
            ("~/c", "~/c"),
            ("${workspaceFolder}/d", "${workspaceFolder}/d"),
        ] {
            assert_eq!(absolute(base, cwd), written, "{cwd}");
        }
        let odd = Workspace {
            directory: PathBuf::from("/a${HOME}"),
        };
        assert!(odd.start_directory(None).is_err());
    }
}
