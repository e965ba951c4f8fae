//! Directories, configuration and environment of the gateways under attack, and the texts that no output may contain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::corpus::{Language, Step};
use super::session::{Outcome, Session, read_all};
use super::upstream;
use crate::tools::{self, Profile};

/// Environment variable of the gateway whose value is a canary.
const VARIABLE: &str = "LIMBECK_ATTACK_CANARY";
/// Time after a program's time limit after which `limbeck run` is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Facts that programs may know, and texts that they must not get into an output.
pub(super) struct Facts {
    /// A canary that a control gets as its input, to show that canaries are detected.
    given: String,
    /// The path of a file with a canary. A program may know the path.
    canary_file: PathBuf,
    /// Texts that no output may contain, each with its name in reports.
    secrets: Vec<(String, &'static str)>,
    /// Further texts, which show where a gateway runs or was built.
    places: Vec<(String, &'static str)>,
}

impl Facts {
    /// Replaces the placeholders in the text of a program.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("{{canary}}", &self.given)
            .replace("{{canary_variable}}", VARIABLE)
            .replace("{{canary_file}}", &self.canary_file.to_string_lossy())
    }

    /// Names of the secrets and places that `output` contains.
    pub(super) fn leaks(&self, output: &str) -> Vec<&'static str> {
        found_in(output, self.secrets.iter().chain(&self.places))
    }

    /// Names of the secrets in a log, and `a panic` for one. The log of an operator may name places.
    pub(super) fn leaks_of_log(&self, log: &str) -> Vec<&'static str> {
        let panic = [("panicked at".to_owned(), "a panic")];
        found_in(log, self.secrets.iter().chain(&panic))
    }
}

/// Names of the `forbidden` texts that `text` contains.
fn found_in<'a>(
    text: &str,
    forbidden: impl Iterator<Item = &'a (String, &'static str)>,
) -> Vec<&'static str> {
    let mut found: Vec<_> = forbidden
        .filter(|(part, _)| text.contains(part.as_str()))
        .map(|(_, name)| *name)
        .collect();
    found.dedup();
    found
}

/// Directories, configuration and the executable under attack.
pub(super) struct World {
    pub(super) facts: Facts,
    binary: PathBuf,
    directory: TempDir,
    variable: String,
    /// Directory whose path programs and users may know.
    elsewhere: TempDir,
}

impl World {
    /// Writes canaries and configuration.
    pub(super) fn new(root: &Path, binary: Option<&Path>) -> anyhow::Result<Self> {
        let binary = match binary {
            Some(path) => path.to_owned(),
            None => root.join("target/release/limbeck"),
        };
        let binary = binary
            .canonicalize()
            .with_context(|| format!("{} is not built", binary.display()))?;
        let directory = tempfile::tempdir()?;
        let elsewhere = tempfile::tempdir()?;
        let place = directory.path();
        for name in ["home", "work"] {
            fs::create_dir(place.join(name))?;
        }

        let canary = |of: &str| canary(of, place);
        let (variable, file, setting, given) = (
            canary("variable"),
            canary("file"),
            canary("setting"),
            canary("given"),
        );
        let canary_file = elsewhere.path().join("secret.json");
        let text = json!({ "secret": file }).to_string();
        for path in [
            canary_file.clone(),
            place.join("home/secret.json"),
            place.join("work/secret.json"),
        ] {
            fs::write(path, &text)?;
        }
        fs::write(
            place.join("servers.json"),
            servers(&binary, &setting)?.to_string(),
        )?;

        let facts = Facts {
            given: given.clone(),
            canary_file,
            secrets: vec![
                (variable.clone(), "the canary of the environment"),
                (file, "the canary of a file"),
                (setting, "the canary of a server's settings"),
                (given, "the canary a control was given"),
            ],
            places: vec![
                (shown(place), "a path of the gateway"),
                (shown(root), "the path of our sources"),
                ("/.cargo/".to_owned(), "a path of a build"),
                ("/rustc/".to_owned(), "a path of a build"),
                (".rs:".to_owned(), "a place in our sources"),
                ("crates/limbeck".to_owned(), "a place in our sources"),
                ("limbeck_guest/".to_owned(), "a place in our sources"),
            ],
        };
        Ok(Self {
            facts,
            binary,
            directory,
            variable,
            elsewhere,
        })
    }

    /// Starts gateway `number`.
    pub(super) fn session(&self, number: usize) -> anyhow::Result<Session> {
        let mut command = self.command(&format!("state-{number}"));
        command.arg("serve");
        Session::start(command)
    }

    /// Runs one program with `limbeck run --json`.
    pub(super) fn run(&self, step: &Step) -> anyhow::Result<Outcome> {
        // The user who runs a program knows where it is, so its path is not among the secret ones.
        let program = tempfile::NamedTempFile::new_in(self.elsewhere.path())?;
        fs::write(program.path(), &step.program)?;
        let mut command = self.command("state-run");
        command
            .args(["run", "--json", "--timeout-ms"])
            .arg(step.timeout_ms.to_string());
        if step.language == Language::Python {
            command.args(["--language", "py"]);
        }
        if let Some(input) = &step.input {
            command.arg("--input").arg(input.to_string());
        }
        for pattern in step.tools.iter().flatten() {
            command.arg("--tools").arg(pattern);
        }
        command.arg(program.path());
        to_end(command, Duration::from_millis(step.timeout_ms) + PATIENCE)
    }

    fn command(&self, state: &str) -> Command {
        let place = self.directory.path();
        let mut command = Command::new(&self.binary);
        command
            .arg("--no-discover")
            .arg("--config")
            .arg(place.join("servers.json"))
            .arg("--state-dir")
            .arg(place.join(state))
            .env_clear()
            .env("HOME", place.join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env(VARIABLE, &self.variable)
            .current_dir(place.join("work"));
        command
    }
}

/// The two upstreams. The second has a secret in its settings, as servers do.
///
/// It is the `xtask` in the target directory and not the running one: `check` builds the workspace before, which links
/// it again with other features, and then the file of the running one is deleted.
fn servers(binary: &Path, secret: &str) -> anyhow::Result<Value> {
    let probe = tools::built(Profile::Dev, "xtask")?;
    ensure!(probe.is_file(), "{} is not built", probe.display());
    Ok(json!({"mcpServers": {
        "shop": {"command": binary, "args": ["demo-upstream"]},
        "probe": {"command": probe, "args": [upstream::COMMAND], "env": {"PROBE_TOKEN": secret}},
    }}))
}

/// A text that occurs nowhere else: it differs in every run, so it cannot be in the corpus.
fn canary(of: &str, place: &Path) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let hash = Sha256::digest(format!(
        "{of} {now} {} {}",
        std::process::id(),
        place.display()
    ));
    let hex: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("canary-{hex}")
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn to_end(mut command: Command, limit: Duration) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("start {command:?}"))?;
    let stdout = child.stdout.take().expect("it is piped");
    let stderr = child.stderr.take().expect("it is piped");
    let stdout = std::thread::spawn(move || read_all(stdout));
    let stderr = std::thread::spawn(move || read_all(stderr));
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("`limbeck run` did not end within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let elapsed = started.elapsed();
    let stdout = stdout.join().expect("reading an output does not panic");
    let stderr = stderr.join().expect("reading an output does not panic");
    let envelope: Option<Value> = serde_json::from_str(&stdout).ok();
    if let Some(envelope) = &envelope {
        let expected = match envelope["error"]["kind"].as_str() {
            None => 0,
            Some("timeout") => 124,
            Some(_) => 1,
        };
        ensure!(
            status.code() == Some(expected),
            "{status}, expected code {expected}"
        );
    }
    Ok(Outcome {
        output: stdout + &stderr,
        is_error: !status.success(),
        envelope,
        elapsed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_places_are_noticed_in_an_output_and_secrets_in_a_log() {
        let world = World::new(
            Path::new("/nowhere"),
            Some(&std::env::current_exe().unwrap()),
        );
        let facts = world.unwrap().facts;
        assert_eq!(facts.leaks("nothing"), Vec::<&str>::new());
        let given = facts.fill("a {{canary}} b");
        assert_eq!(facts.leaks(&given), ["the canary a control was given"]);
        assert_eq!(facts.leaks("at lib.rs:7"), ["a place in our sources"]);
        assert_eq!(facts.leaks_of_log("at lib.rs:7"), Vec::<&str>::new());
        assert_eq!(
            facts.leaks_of_log(&given),
            ["the canary a control was given"]
        );
    }
}
