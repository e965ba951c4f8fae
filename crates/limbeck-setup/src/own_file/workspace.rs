//! Directory that a client's file belongs to: a project, or none when the file is the user's for every project.

use std::path::{Component, Path, PathBuf};

use crate::world::World;

/// Directories below the home directory in which clients keep files for every project.
const CLIENT_DIRECTORIES: &[&str] = &["AppData", "Library"];

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
        // `.vscode`, `.cursor` and the like are in the directory of the project.
        let directory = match parent.parent() {
            Some(above) if is_hidden(parent) => above,
            Some(_) | None => parent,
        };
        let is_of_project = file.ends_with(".mcp.json") || parent.ends_with(".vscode");
        let homes = world.home.iter().flat_map(|home| {
            // The working directory has no links, and the home directory may have some.
            let real = world.on_disk(home).canonicalize().ok();
            std::iter::once(normalized(home)).chain(real)
        });
        for home in homes {
            let Ok(below) = directory.strip_prefix(&home) else {
                continue;
            };
            match below.components().next() {
                None => return None,
                Some(first) if !is_of_project && is_of_clients(first) => return None,
                Some(_) => {}
            }
        }
        let configuration = world.config_directory();
        if !is_of_project && configuration.is_some_and(|place| directory.starts_with(place)) {
            return None;
        }
        Some(Self {
            directory: directory.to_owned(),
        })
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

fn is_of_clients(first: Component<'_>) -> bool {
    let name = first.as_os_str().to_string_lossy();
    name.starts_with('.') || CLIENT_DIRECTORIES.contains(&&*name)
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
        ] {
            assert_eq!(workspace(file), Some(PathBuf::from(directory)), "{file}");
        }
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
