//! Findings about the files of clients in the working directory, which may be a repository.

use std::path::Path;

use super::{ClientFinding, clean, short, title_of};
use crate::clients::found::{ClientFile, EntryKind};
use crate::clients::secrets;
use crate::clients::table::client_of;
use crate::document::LineIndex;
use crate::world::World;

/// Files of projects, each with the client that reads it beside the file of its user.
const PROJECT_FILES: &[(&str, &str)] = &[
    ("claude-code", ".mcp.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".vscode/mcp.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("qwen", ".qwen/settings.json"),
    ("kiro", ".kiro/settings/mcp.json"),
];
/// Largest index of a repository that is read.
const INDEX_BYTES_MAX: u64 = 64 << 20;

/// Findings about each of them.
pub(super) fn findings(world: &World, of_users: &[ClientFile]) -> Vec<ClientFinding> {
    let mut findings = Vec::new();
    for (id, name) in PROJECT_FILES {
        let Some(client) = client_of(id) else {
            continue;
        };
        let path = world.cwd.join(name);
        if client.paths(world).contains(&path) {
            continue;
        }
        let Some(file) = ClientFile::read(world, client, path) else {
            continue;
        };
        findings.extend(twice(world, &file, of_users));
        findings.extend(tracked_secret(world, &file, name));
    }
    findings
}

/// The client starts Limbeck twice: from this file and from the file of its user.
fn twice(world: &World, file: &ClientFile, of_users: &[ClientFile]) -> Option<ClientFinding> {
    let (name, _) = file.own_entry()?;
    let mut same = of_users
        .iter()
        .filter(|user| user.client.id == file.client.id);
    let user = same.find(|user| user.has_own_entry())?;
    let (path, other) = (short(world, &file.path), short(world, &user.path));
    let finding = format!(
        "{} finds Limbeck in two files, {other} and {path}",
        title_of(file.client.id)
    );
    let remedy = format!("remove the entry `{}` from {path}", clean(name));
    Some(ClientFinding::of("C05", finding, remedy).about(file.client.id))
}

/// A secret that is written into a file which git tracks.
fn tracked_secret(world: &World, file: &ClientFile, name: &str) -> Option<ClientFinding> {
    let entries = file.entries.as_deref().ok()?;
    let (key, secret) = entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::Server(server) => secrets::literal(&server.table),
        EntryKind::Own(_) | EntryKind::Earlier(_) | EntryKind::Unusable(_) => None,
    })?;
    if !is_tracked(&world.on_disk(&world.cwd), Path::new(name)) {
        return None;
    }
    let text = file.text.as_deref()?;
    let line = text.find(&secret).map(|at| LineIndex::new(text).line(at));
    let path = short(world, &file.path);
    let place = line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
    let finding = format!("git tracks the secret `{}` in {place}", clean(&key));
    let remedy = format!(
        "write `${{{}}}` there instead of the value, set the variable, and replace the secret where it is issued",
        clean(&key)
    );
    Some(ClientFinding::of("S01", finding, remedy).about(file.client.id))
}

/// Whether git tracks `name` of `directory`, as far as the index of the repository has its path. git is not started: a
/// repository may configure programs that git runs.
fn is_tracked(directory: &Path, name: &Path) -> bool {
    let above = directory.ancestors();
    let Some(root) = above.into_iter().find(|above| above.join(".git").exists()) else {
        return false;
    };
    let Ok(below) = directory.strip_prefix(root) else {
        return false;
    };
    let path = below.join(name).to_string_lossy().replace('\\', "/");
    let index = root.join(".git").join("index");
    let is_small = std::fs::metadata(&index)
        .is_ok_and(|found| found.is_file() && found.len() <= INDEX_BYTES_MAX);
    let bytes = is_small.then(|| std::fs::read(index).ok()).flatten();
    // In the index a path ends with a zero byte, and two bytes with its length are before it.
    let length = u16::try_from(path.len())
        .unwrap_or(0xfff)
        .min(0xfff)
        .to_be_bytes();
    let entry = [&length[..], path.as_bytes(), b"\0"].concat();
    bytes.is_some_and(|bytes| bytes.windows(entry.len()).any(|found| found == entry))
}
