//! Package runners: commands that download what they run, and whether they name a version.

use std::path::Path;

/// A package runner and the options that matter to find the package.
struct PackageRunner {
    program: &'static str,
    /// Arguments that follow the program; empty for a program that only runs packages.
    verb: &'static [&'static str],
    /// Options whose value names the package to run.
    package: &'static [&'static str],
    /// Other options with a value.
    valued: &'static [&'static str],
}

const RUNNERS: &[PackageRunner] = &[
    npm("npx", &[]),
    npm("npm", &["exec"]),
    npm("npm", &["x"]),
    npm("pnpx", &[]),
    npm("pnpm", &["dlx"]),
    npm("yarn", &["dlx"]),
    npm("bunx", &[]),
    npm("bun", &["x"]),
    uv("uvx", &[]),
    uv("uv", &["tool", "run"]),
    PackageRunner {
        program: "pipx",
        verb: &["run"],
        package: &["--spec"],
        valued: &["--python", "--index-url", "-i", "--pip-args"],
    },
];

const fn npm(program: &'static str, verb: &'static [&'static str]) -> PackageRunner {
    PackageRunner {
        program,
        verb,
        package: &["-p", "--package"],
        valued: &["-c", "--call", "-w", "--workspace", "--registry"],
    }
}

const fn uv(program: &'static str, verb: &'static [&'static str]) -> PackageRunner {
    PackageRunner {
        program,
        verb,
        package: &["--from"],
        valued: &[
            "--with",
            "--python",
            "-p",
            "--index",
            "--index-url",
            "-i",
            "--extra-index-url",
            "--directory",
            "--project",
            "--config-file",
            "--env-file",
        ],
    }
}

/// The package that a command runs in the newest version; `None` when it names a version or is not a package
/// runner.
pub(crate) fn unpinned_package(command: &str, args: &[&str]) -> Option<String> {
    let program = Path::new(command).file_stem()?.to_str()?;
    let runner = RUNNERS
        .iter()
        .find(|runner| runner.program == program && args.starts_with(runner.verb))?;
    let package = runner.package_of(&args[runner.verb.len()..])?;
    (!is_pinned(package)).then(|| package.to_owned())
}

impl PackageRunner {
    /// The argument that names the package.
    fn package_of<'a>(&self, args: &[&'a str]) -> Option<&'a str> {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with('-') => (name, Some(value)),
                _ => (*arg, None),
            };
            if self.package.contains(&name) {
                return value.or_else(|| args.next().copied());
            }
            if self.valued.contains(&name) {
                if value.is_none() {
                    args.next();
                }
                continue;
            }
            if !arg.starts_with('-') {
                return Some(arg);
            }
        }
        None
    }
}

/// Whether a package is named with one version (`name@1.2.3`, `@scope/name@1.2.3`, `name==1.2.3`), or is a path
/// or address outside of the registry.
fn is_pinned(package: &str) -> bool {
    if package.starts_with(['.', '/', '~']) || package.contains("://") {
        return true;
    }
    let version = match package.split_once("==") {
        Some((_, version)) => version,
        None => package.rsplit_once('@').map_or("", |(name, version)| {
            // The leading `@` belongs to a scope, not to a version.
            if name.is_empty() { "" } else { version }
        }),
    };
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    numbers.split('.').count() >= 2
        && numbers
            .split('.')
            .all(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<String> {
        let words: Vec<&str> = line.split(' ').collect();
        unpinned_package(words[0], &words[1..])
    }

    #[test]
    fn d28_a_runner_without_a_version_names_its_package_and_one_with_a_version_does_not() {
        for (line, package) in [
            ("npx -y @scope/server", "@scope/server"),
            ("npx server@latest --flag", "server@latest"),
            ("npx server@1", "server@1"),
            (
                "/usr/bin/npx --yes --package=server@^1.2.0 run",
                "server@^1.2.0",
            ),
            ("npx --registry https://r.example server", "server"),
            ("npm exec -- server", "server"),
            ("pnpm dlx server", "server"),
            ("bunx server", "server"),
            ("uvx mcp-server-git", "mcp-server-git"),
            (
                "uvx --python 3.12 --from server[cli]>=1 run",
                "server[cli]>=1",
            ),
            ("uv tool run server", "server"),
            ("pipx run --spec server==1.* run", "server==1.*"),
        ] {
            assert_eq!(found(line).as_deref(), Some(package), "{line}");
        }
        for line in [
            "npx -y @scope/server@1.2.3",
            "npx server@2.0.0-beta.1",
            "uvx mcp-server-git==2026.10.19",
            "uvx --from ./server run",
            "uvx server@1.2.3",
            "npm run server",
            "uv run server.py",
            "node server.js",
            "limbeck demo-upstream",
            "npx",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
