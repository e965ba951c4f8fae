//! Recognition of entries that start Limbeck itself, which would make the gateway call itself.

use std::path::{Path, PathBuf};

use crate::entry::{ServerEntry, Transport};
use crate::world::World;

/// Name of the product, as a key and as a program.
const NAME: &str = "limbeck";
/// Programs whose last argument may be the package they run.
const RUNNERS: &[&str] = &[
    "bunx", "cargo", "docker", "env", "npm", "npx", "pipx", "pnpm", "podman", "uv", "uvx", "yarn",
];

/// Gateways to MCP servers that came before Limbeck, by the name of their package and program. They read the same
/// files and start every server in them.
const EARLIER_GATEWAYS: &[&str] = &["code-executor-mcp", "mcp-server-code-execution-mode"];

/// The directory of a third one, which has no package.
const EARLIER_SCRIPT: &str = "code-executor";

/// Command of an entry.
struct LaunchCommand<'a> {
    command: &'a Path,
    args: &'a [String],
    env: &'a [(String, String)],
    cwd: &'a Path,
}

/// Whether an entry is Limbeck as a gateway, by its key or by its command.
pub(crate) fn is_own_entry(world: &World, entry: &ServerEntry) -> bool {
    is_product_name(entry.name.as_str()) || is_own_command(world, entry)
}

/// Whether the command of an entry starts Limbeck as a gateway, under any key.
pub(crate) fn is_own_command(world: &World, entry: &ServerEntry) -> bool {
    match &entry.definition {
        Ok(Transport::Stdio {
            command,
            args,
            env,
            cwd,
        }) => {
            let launch = LaunchCommand {
                command,
                args,
                env,
                cwd: cwd.as_deref().unwrap_or(&entry.start_directory),
            };
            starts_limbeck(world, &launch)
        }
        Ok(Transport::Http { .. }) | Err(_) => false,
    }
}

/// Whether the key of an entry is the product's name, with any command.
fn is_product_name(key: &str) -> bool {
    key.eq_ignore_ascii_case(NAME)
}

/// Whether the command starts Limbeck as a gateway: directly, through links or with a package runner.
///
/// Other subcommands than `serve` do not count: `limbeck demo` runs its sample server with one.
fn starts_limbeck(world: &World, launch: &LaunchCommand<'_>) -> bool {
    if program_name(launch.command) == NAME || is_same_file(world, launch) {
        let word = launch.args.first().map(String::as_str);
        return word.is_none_or(|word| word == "serve" || word.starts_with('-'));
    }
    launch.args.iter().enumerate().any(|(index, arg)| {
        let serves = launch.args.get(index + 1).map(String::as_str) == Some("serve");
        let last = index + 1 == launch.args.len();
        let package = arg.split_once('@').map_or(arg.as_str(), |(name, _)| name);
        (serves && program_name(Path::new(arg)) == NAME)
            || ((serves || last)
                && package == NAME
                && RUNNERS.contains(&program_name(launch.command).as_str()))
    })
}

/// The earlier gateway that a command starts: directly, with a package runner, or as a script in a directory of its name.
pub(crate) fn earlier_gateway(command: &Path, args: &[String]) -> Option<&'static str> {
    // Its name is too common for that of a package.
    if args.iter().any(|arg| is_script_of(arg, EARLIER_SCRIPT)) {
        return Some(EARLIER_SCRIPT);
    }
    EARLIER_GATEWAYS.iter().copied().find(|name| {
        let is_module = |pair: &[String]| {
            pair.first().is_some_and(|option| option == "-m")
                && pair
                    .get(1)
                    .is_some_and(|module| module.replace('_', "-") == *name)
        };
        if args.windows(2).any(is_module) {
            return true;
        }
        let is_runner = RUNNERS.contains(&program_name(command).as_str());
        program_name(command) == *name
            || args.iter().any(|arg| {
                // Of a package only the name counts: `name@1.2`, `name==1.2`, `git+https://host/owner/name@main`.
                let package = arg.rsplit('/').next().unwrap_or(arg);
                let package = package
                    .split(['@', '=', '<', '>', '['])
                    .next()
                    .unwrap_or("");
                (is_runner && !is_path(arg) && package.trim_end_matches(".git") == *name)
                    || is_script_of(arg, name)
            })
    })
}

/// Whether `arg` is a path and not the name or address of a package.
fn is_path(arg: &str) -> bool {
    arg.starts_with(['/', '.', '~'])
}

/// Whether `arg` is the path of a script in a directory `name`, as in `node …/NAME/dist/index.js`, or of a script `name`.
fn is_script_of(arg: &str, name: &str) -> bool {
    let path = Path::new(arg);
    let is_script = path.extension().is_some_and(|suffix| {
        ["js", "mjs", "cjs", "py", "ts"]
            .iter()
            .any(|known| suffix == *known)
    });
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .replace('_', "-");
    is_script && (stem == name || path.components().any(|part| part.as_os_str() == name))
}

/// File name in lower case, without the suffixes of Windows.
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

fn is_same_file(world: &World, launch: &LaunchCommand<'_>) -> bool {
    let canonical = |path: &Path| world.on_disk(path).canonicalize().ok();
    let Some(executable) = world.executable.as_deref().and_then(canonical) else {
        return false;
    };
    candidates(world, launch)
        .iter()
        .find_map(|path| canonical(path))
        .is_some_and(|command| command == executable)
}

/// Paths at which the system looks for the command, in order.
fn candidates(world: &World, launch: &LaunchCommand<'_>) -> Vec<PathBuf> {
    if launch.command.components().count() > 1 {
        return vec![launch.cwd.join(launch.command)];
    }
    let path = launch.env.iter().find(|(name, _)| name == "PATH");
    path.map_or_else(Vec::new, |(_, path)| {
        let directories = world.search_path(path);
        directories
            .iter()
            .map(|directory| directory.join(launch.command))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::world::OperatingSystem;

    fn world() -> World {
        World::new(OperatingSystem::CURRENT, "/", BTreeMap::new())
    }

    fn is_limbeck(command: &str, args: &[&str]) -> bool {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let launch = LaunchCommand {
            command: Path::new(command),
            args: &args,
            env: &[],
            cwd: Path::new("/"),
        };
        starts_limbeck(&world(), &launch)
    }

    #[test]
    fn limbeck_is_recognized_by_key_by_program_and_behind_a_runner() {
        assert!(is_product_name("limbeck"));
        assert!(is_product_name("Limbeck"));
        assert!(is_limbeck("limbeck", &[]));
        assert!(is_limbeck(
            "/opt/limbeck/bin/limbeck",
            &["serve", "--compat", "s0"]
        ));
        assert!(is_limbeck("limbeck.exe", &["--config", "x.json"]));
        assert!(is_limbeck("npx", &["-y", "limbeck"]));
        assert!(is_limbeck("npx", &["-y", "limbeck@1.2", "serve"]));
        assert!(is_limbeck(
            "nice",
            &["-n", "5", "/usr/bin/limbeck", "serve"]
        ));
    }

    #[test]
    fn other_programs_are_not_recognized_as_limbeck() {
        assert!(!is_product_name("limbeck-docs"));
        assert!(!is_limbeck("limbeck", &["demo-server"]));
        assert!(!is_limbeck(
            "npx",
            &["-y", "server-filesystem", "/src/limbeck"]
        ));
        assert!(!is_limbeck("mcp-server-git", &["--repository", "limbeck"]));
        assert!(!is_limbeck("limbeckd", &[]));
    }

    #[test]
    fn earlier_gateways_are_recognized_however_they_are_started() {
        let found = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            earlier_gateway(Path::new(&words[0]), &words[1..])
        };
        for line in [
            "npx -y code-executor-mcp",
            "npx -y code-executor-mcp@1.0.5 --flag",
            "/usr/local/bin/code-executor-mcp",
            "node /opt/code-executor-mcp/dist/index.js",
            "uvx mcp-server-code-execution-mode",
            "uvx --from git+https://github.com/x/mcp-server-code-execution-mode@main run",
            "python3 /src/mcp_server_code_execution_mode.py",
            "python -m mcp_server_code_execution_mode run",
            "node /src/mcp/code-executor/dist/index.js",
        ] {
            assert!(found(line).is_some(), "{line}");
        }
        for line in [
            "npx -y server-filesystem /src/code-executor-mcp",
            "npx -y my-code-executor-mcp",
            "npx -y code-executor",
            "node /src/my-code-executor/index.js",
            "node /opt/other/dist/index.js",
            "limbeck demo-upstream",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn limbeck_is_recognized_through_links_and_the_search_path() {
        let home = tempfile::tempdir().unwrap();
        let exe = home.path().join("the-binary");
        std::fs::write(&exe, "").unwrap();
        std::os::unix::fs::symlink(&exe, home.path().join("gate")).unwrap();
        std::fs::write(home.path().join("other"), "").unwrap();
        let path = format!("/nowhere:{}", home.path().display());
        let env = [("PATH".to_owned(), path)];
        let world = World {
            executable: Some(exe.clone()),
            ..world()
        };
        let found = |command: &str| {
            let launch = LaunchCommand {
                command: Path::new(command),
                args: &[],
                env: &env,
                cwd: home.path(),
            };
            starts_limbeck(&world, &launch)
        };
        assert!(found("gate"));
        assert!(found("./gate"));
        assert!(found(&exe.display().to_string()));
        assert!(!found("other"));
        assert!(!found("missing"));
    }
}
