//! Files of Limbeck's own that have secrets, and that other users can read or write.

use std::path::{Path, PathBuf};

use super::{ClientFinding, FindingFix, short};
use crate::world::World;

/// Files in the directory of secrets that are looked at.
const SECRETS_MAX: usize = 1000;

/// The files, in one finding with one command.
pub(super) fn finding(world: &World, state: &Path) -> Option<ClientFinding> {
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Some(config) = world.config_directory() {
        let own = config.join("limbeck");
        paths.push(own.join("imported.toml"));
        let secrets = own.join("secrets");
        let names = std::fs::read_dir(world.on_disk(&secrets))
            .into_iter()
            .flatten();
        let names = names.flatten().take(SECRETS_MAX);
        let mut files: Vec<PathBuf> = names
            .map(|name| secrets.join(name.file_name()))
            .filter(|path| path.file_name().is_some_and(|name| name != ".gitignore"))
            .collect();
        files.sort_unstable();
        paths.push(secrets);
        paths.extend(files);
    }
    let of_state = ["state.db", "trust.json", "setup"].iter();
    let of_state: Vec<PathBuf> = of_state.map(|name| state.join(name)).collect();
    let open_of_state = of_state.into_iter().filter(|path| is_open(path));
    let mut open: Vec<PathBuf> = paths
        .into_iter()
        .filter(|path| is_open(&world.on_disk(path)))
        .collect();
    open.extend(open_of_state);
    let first = open.first()?;
    let names: Vec<String> = open.iter().map(|path| short(world, path)).collect();
    let finding = match names.len() {
        1 => format!(
            "other users can read {}, which has secrets",
            short(world, first)
        ),
        count => format!(
            "other users can read {count} files and directories with secrets, such as {}",
            short(world, first)
        ),
    };
    let remedy = format!("chmod go-rwx {}", names.join(" "));
    Some(ClientFinding::of("S02", finding, remedy).fixed_by(FindingFix::Restrict(open)))
}

#[cfg(unix)]
fn is_open(on_disk: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::symlink_metadata(on_disk);
    found.is_ok_and(|found| !found.is_symlink() && found.mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open(_: &Path) -> bool {
    false
}
