//! The path under which clients start Limbeck: one that the next upgrade keeps.

use std::path::{Path, PathBuf};

use crate::world::{OperatingSystem, World};

/// Parts of paths that an upgrade or a clean-up removes, each with what to do.
const SHORT_LIVED: &[(&str, &str)] = &[
    ("/Cellar/", "put Homebrew's `bin` on PATH"),
    ("/_npx/", "install it: `npm install -g limbeck`"),
    ("/.cache/uv/", "install it: `uv tool install limbeck`"),
    ("/uv/archive-v0/", "install it: `uv tool install limbeck`"),
    ("/nix/store/", "install it into a profile that is on PATH"),
    ("/.mount_", "put the AppImage itself on PATH as `limbeck`"),
];

/// The path: the first `limbeck` on `PATH` that is the running program, or else the program's own.
///
/// # Errors
///
/// Why there is no such path, and what to do.
pub(super) fn own_program(world: &World) -> Result<String, String> {
    let running = world.executable.as_deref();
    let running = running.and_then(|path| world.on_disk(path).canonicalize().ok());
    let Some(running) = running else {
        return Ok("limbeck".to_owned());
    };
    let name = match world.system {
        OperatingSystem::Windows => "limbeck.exe",
        OperatingSystem::Linux | OperatingSystem::MacOs => "limbeck",
    };
    let path = world.variable("PATH").unwrap_or_default();
    let is_running = |path: &PathBuf| {
        let real = world.on_disk(path).canonicalize();
        world.is_absolute(&path.to_string_lossy()) && real.is_ok_and(|real| real == running)
    };
    let mut on_path = world
        .search_path(path)
        .into_iter()
        .map(|directory| directory.join(name))
        .filter(is_running);
    let found = on_path
        .find(|path| remedy(path).is_none())
        .unwrap_or(running);
    match remedy(&found) {
        Some(remedy) => Err(format!(
            "{} is a path that does not last; {remedy}, then run setup again",
            found.display()
        )),
        None => Ok(found.to_string_lossy().into_owned()),
    }
}

/// Why clients cannot go on starting Limbeck by the path `command`: a file that is not there, or a path that the next upgrade
/// removes. A name without a directory is looked up by the client.
pub(super) fn why_stale(world: &World, command: &Path) -> Option<String> {
    if !world.is_absolute(&command.to_string_lossy()) {
        return None;
    }
    if !world.on_disk(command).exists() {
        return Some("there is no such file".to_owned());
    }
    remedy(command).map(|_| "the next upgrade removes this path".to_owned())
}

fn remedy(path: &Path) -> Option<&'static str> {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut parts = SHORT_LIVED.iter();
    let found = parts.find(|(part, _)| text.contains(part));
    found.map(|(_, remedy)| *remedy)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_one_that_an_upgrade_keeps() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let cellar = root.join("Cellar/limbeck/1.0/bin");
        let bin = root.join("bin");
        std::fs::create_dir_all(&cellar).unwrap();
        std::fs::create_dir_all(&bin).unwrap();
        let program = cellar.join("limbeck");
        std::fs::write(&program, "").unwrap();
        let world = |path: &str| World {
            executable: Some(program.clone()),
            ..World::new(
                OperatingSystem::CURRENT,
                "/",
                [("PATH".to_owned(), path.to_owned())].into(),
            )
        };
        let both = format!("{}:{}", cellar.display(), bin.display());
        assert!(own_program(&world(&both)).unwrap_err().contains("Homebrew"));
        std::os::unix::fs::symlink(&program, bin.join("limbeck")).unwrap();
        let found = own_program(&world(&both)).unwrap();
        assert_eq!(PathBuf::from(found), bin.join("limbeck"));
    }
}
