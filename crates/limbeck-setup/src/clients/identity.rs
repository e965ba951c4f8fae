//! Which entries are the same server, so that the same one in three clients becomes one.

use std::path::Path;

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Table};

use crate::world::World;

/// Keys that do not make another server: words for people, limits and the switch.
const COSMETIC: &[&str] = &[
    "concurrency",
    "description",
    "disabled",
    "idle_timeout_ms",
    "observe",
    "start_timeout_ms",
    "timeout_ms",
];
/// Package runners, whose answer to a question is no part of what they run.
const RUNNERS: &[&str] = &["bunx", "npm", "npx", "pnpm", "pnpx", "yarn"];

/// What two entries share when they are the same server with the same secrets, settings and rules about tools. It holds
/// secrets and is never shown.
///
/// `resolved` replaces a value of a variable or header by what it refers to, where that is known.
pub(super) fn identity(
    world: &World,
    table: &Table,
    resolved: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let text = DocumentMut::from(table.clone()).to_string();
    let mut entry: Map<String, Value> = toml::from_str(&text).ok()?;
    entry.retain(|key, _| !COSMETIC.contains(&key.as_str()));
    if let Some(Value::String(command)) = entry.get("command").cloned() {
        let is_runner = RUNNERS.contains(&file_stem(&command).as_str());
        if is_runner && let Some(Value::Array(args)) = entry.get_mut("args") {
            args.retain(|arg| arg != "-y" && arg != "--yes");
        }
        entry.insert("command".to_owned(), program(world, &command).into());
    }
    if let Some(Value::Array(args)) = entry.get("args")
        && args.is_empty()
    {
        entry.remove("args");
    }
    if let Some(Value::String(url)) = entry.get("url") {
        let url = normalized_url(url);
        entry.insert("url".to_owned(), url.into());
        // Each client has another word for the usual transport.
        if entry.get("type") != Some(&Value::from("sse")) {
            entry.remove("type");
        }
    }
    for key in ["env", "headers"] {
        if let Some(Value::Object(pairs)) = entry.remove(key) {
            let pairs = pairs.into_iter().map(|(name, value)| {
                let name = if key == "headers" {
                    name.to_ascii_lowercase()
                } else {
                    name
                };
                let value = value.as_str().map(|value| {
                    let value = resolved(value).unwrap_or_else(|| value.to_owned());
                    value.replace("${env:", "${")
                });
                (name, Value::from(value))
            });
            let pairs: Map<String, Value> = pairs.collect();
            if !pairs.is_empty() {
                entry.insert(key.to_owned(), sorted(pairs));
            }
        }
    }
    Some(sorted(entry).to_string())
}

/// An object whose members are in the order of their keys, with or without a map that keeps another order.
fn sorted(map: Map<String, Value>) -> Value {
    let mut members: Vec<(String, Value)> = map.into_iter().collect();
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    Value::Object(members.into_iter().collect())
}

/// The real path of a program where it is found, or the word.
fn program(world: &World, command: &str) -> String {
    let real = |path: &Path| world.on_disk(path).canonicalize().ok();
    let found = if command.contains(['/', '\\']) {
        real(Path::new(command))
    } else {
        let path = world.variable("PATH").unwrap_or_default();
        let mut directories = world.search_path(path).into_iter();
        directories.find_map(|directory| real(&directory.join(command)))
    };
    found.map_or_else(
        || command.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

fn file_stem(command: &str) -> String {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(".cmd").or(name.strip_suffix(".exe"));
    stem.unwrap_or(&name).to_owned()
}

/// Scheme and host in lower case, and no slash at the end.
fn normalized_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::OperatingSystem;

    fn of(text: &str) -> String {
        let world = World::new(OperatingSystem::CURRENT, "/", Default::default());
        let document: DocumentMut = text.parse().unwrap();
        identity(&world, document.as_table(), &|_| None).unwrap()
    }

    #[test]
    fn the_same_server_is_written_in_several_ways() {
        for (one, other) in [
            (
                "command = 'npx'\nargs = ['-y', 'a']\ntimeout_ms = 5",
                "command = 'npx'\nargs = ['a']\ndescription = 'x'",
            ),
            (
                "url = 'https://A.example/mcp/'\ntype = 'http'\nheaders = {X-Key = 'v'}",
                "url = 'https://a.example/mcp'\nheaders = {x-key = 'v'}",
            ),
            (
                "command = 'a'\nenv = {A = '${env:X}', B = 'b'}",
                "command = 'a'\nenv = {B = 'b', A = '${X}'}",
            ),
        ] {
            assert_eq!(of(one), of(other), "{one}");
        }
        for (one, other) in [
            (
                "command = 'a'\nenv = {T = '1'}",
                "command = 'a'\nenv = {T = '2'}",
            ),
            ("command = 'a'\nargs = ['-y']", "command = 'a'"),
            ("url = 'https://a.example/a'", "url = 'https://a.example/A'"),
            (
                "url = 'https://a.example'",
                "url = 'https://a.example'\ntype = 'sse'",
            ),
            ("command = 'a'", "command = 'a'\ndisabled_tools = ['x']"),
        ] {
            assert_ne!(of(one), of(other), "{one}");
        }
    }
}
