//! Recognises our own entry in a client's configuration, which would make us call ourselves.

use std::path::{Path, PathBuf};

/// The name of the product, as a key and as a program.
const NAME: &str = "limbeck";
/// Programs whose last argument may be the package they run.
const RUNNERS: &[&str] = &[
    "bunx", "cargo", "docker", "env", "npm", "npx", "pipx", "pnpm", "podman", "uv", "uvx", "yarn",
];

/// A server to start, as far as it matters here.
pub(crate) struct Start<'a> {
    pub(crate) command: &'a Path,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a [(String, String)],
    pub(crate) cwd: &'a Path,
}

/// Whether the key of an entry is our name, however it reaches us.
pub(crate) fn has_our_name(key: &str) -> bool {
    key.eq_ignore_ascii_case(NAME)
}

/// Whether the command starts us as a gateway, directly, through links or behind a package runner.
///
/// Our program with a word other than `serve` is not that: `limbeck demo` runs sample servers so.
pub(crate) fn starts_us(start: &Start<'_>, self_exe: Option<&Path>) -> bool {
    let ours = program_name(start.command) == NAME || is_same_file(start, self_exe);
    if ours {
        let word = start.args.first().map(String::as_str);
        return word.is_none_or(|word| word == "serve" || word.starts_with('-'));
    }
    start.args.iter().enumerate().any(|(index, arg)| {
        let serves = start.args.get(index + 1).map(String::as_str) == Some("serve");
        let last = index + 1 == start.args.len();
        let package = arg.split_once('@').map_or(arg.as_str(), |(name, _)| name);
        (serves && program_name(Path::new(arg)) == NAME)
            || ((serves || last)
                && package == NAME
                && RUNNERS.contains(&program_name(start.command).as_str()))
    })
}

/// File name without the suffixes of Windows, in lower case.
fn program_name(path: &Path) -> String {
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().to_lowercase());
    for suffix in [".exe", ".cmd", ".bat"] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return stem.to_owned();
        }
    }
    name
}

fn is_same_file(start: &Start<'_>, self_exe: Option<&Path>) -> bool {
    let Some(ours) = self_exe.and_then(|path| path.canonicalize().ok()) else {
        return false;
    };
    candidates(start)
        .into_iter()
        .find_map(|path| path.canonicalize().ok())
        .is_some_and(|command| command == ours)
}

/// Where the command may be, in the order a start looks for it.
fn candidates(start: &Start<'_>) -> Vec<PathBuf> {
    if start.command.components().count() > 1 {
        return vec![start.cwd.join(start.command)];
    }
    let path = start.env.iter().find(|(name, _)| name == "PATH");
    path.map_or_else(Vec::new, |(_, path)| {
        std::env::split_paths(path)
            .map(|directory| directory.join(start.command))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(command: &str, args: &[&str]) -> bool {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let start = Start {
            command: Path::new(command),
            args: &args,
            env: &[],
            cwd: Path::new("/"),
        };
        starts_us(&start, None)
    }

    #[test]
    fn we_are_found_by_key_by_program_and_behind_a_runner() {
        assert!(has_our_name("limbeck"));
        assert!(has_our_name("Limbeck"));
        assert!(ours("limbeck", &[]));
        assert!(ours(
            "/opt/limbeck/bin/limbeck",
            &["serve", "--compat", "s0"]
        ));
        assert!(ours("limbeck.exe", &["--config", "x.json"]));
        assert!(ours("npx", &["-y", "limbeck"]));
        assert!(ours("npx", &["-y", "limbeck@1.2", "serve"]));
        assert!(ours("nice", &["-n", "5", "/usr/bin/limbeck", "serve"]));
    }

    #[test]
    fn others_are_not_taken_for_us() {
        assert!(!has_our_name("limbeck-docs"));
        assert!(!ours("limbeck", &["demo-server"]));
        assert!(!ours("npx", &["-y", "server-filesystem", "/src/limbeck"]));
        assert!(!ours("mcp-server-git", &["--repository", "limbeck"]));
        assert!(!ours("limbeckd", &[]));
    }

    #[cfg(unix)]
    #[test]
    fn we_are_found_through_links_and_the_search_path() {
        let home = tempfile::tempdir().unwrap();
        let exe = home.path().join("the-binary");
        std::fs::write(&exe, "").unwrap();
        std::os::unix::fs::symlink(&exe, home.path().join("gate")).unwrap();
        std::fs::write(home.path().join("other"), "").unwrap();
        let path = format!("/nowhere:{}", home.path().display());
        let env = [("PATH".to_owned(), path)];
        let found = |command: &str| {
            let start = Start {
                command: Path::new(command),
                args: &[],
                env: &env,
                cwd: home.path(),
            };
            starts_us(&start, Some(&exe))
        };
        assert!(found("gate"));
        assert!(found("./gate"));
        assert!(found(&exe.display().to_string()));
        assert!(!found("other"));
        assert!(!found("missing"));
    }
}
