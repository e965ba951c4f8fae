//! References to secrets, and their lookup.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::keychain;
use crate::known_secrets::KnownSecrets;
use crate::spec::StdioSpec;

/// Longest secret, in bytes.
const SECRET_BYTES_MAX: usize = 16 << 10;
/// Time limit of an `exec:` command and of a keychain; either may ask the user.
const EXEC_LIMIT: Duration = Duration::from_secs(60);

/// Reference to a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretReference {
    /// `env:NAME`: a variable of the gateway's environment.
    Variable(String),
    /// `file:PATH`: a file's content without the newline at its end; `~/` is the home directory.
    File(PathBuf),
    /// `keychain:SERVICE/ACCOUNT`: an entry of the system's keychain.
    Keychain {
        /// Part before the first slash.
        service: String,
        /// Part after it.
        account: String,
    },
    /// `exec:COMMAND`: the output of a program. These are the words of its command line; no shell is involved. The
    /// first one is an absolute path, a path in the home directory (`~/bin/token`), or a name that is searched in the
    /// absolute directories of `PATH`.
    Command(Vec<String>),
}

/// Shows the reference, and of a command only the program: its arguments may be secret.
impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Keychain { service, account } => write!(f, "keychain:{service}/{account}"),
            Self::Command(words) => write!(f, "exec:{}", words.first().map_or("", String::as_str)),
        }
    }
}

impl fmt::Debug for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl SecretReference {
    /// Parses a reference; `None` when `text` has no known scheme.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let (scheme, rest) = text.split_once(':')?;
        let reference = match scheme {
            "env" if rest.is_empty() => Err("`env:` needs the name of a variable".to_owned()),
            "env" => Ok(Self::Variable(rest.to_owned())),
            "file" if rest.is_empty() => Err("`file:` needs a path".to_owned()),
            "file" => Ok(Self::File(rest.into())),
            "keychain" => match rest.split_once('/') {
                Some((service, account)) if !service.is_empty() && !account.is_empty() => {
                    Ok(Self::Keychain {
                        service: service.to_owned(),
                        account: account.to_owned(),
                    })
                }
                _ => Err("expected `keychain:SERVICE/ACCOUNT`".to_owned()),
            },
            "exec" => match shlex::split(rest) {
                Some(words) if words.first().is_some_and(|word| is_relative(word)) => Err(
                    "`exec:` needs the absolute path of its program, or a name in PATH".to_owned(),
                ),
                Some(words) if !words.is_empty() => Ok(Self::Command(words)),
                _ => Err("`exec:` needs a command whose quotes are closed".to_owned()),
            },
            _ => return None,
        };
        Some(reference)
    }
}

/// Whether a program is a path that depends on the working directory, which may be a stranger's repository.
fn is_relative(program: &str) -> bool {
    let is_path = program.is_empty() || program.contains(std::path::is_separator);
    let is_named = program == "." || program == "..";
    is_named || is_path && !Path::new(program).is_absolute() && !program.starts_with("~/")
}

/// Lookup of secrets, each time they are needed.
pub trait SecretResolver: Send + Sync + 'static {
    /// Returns the secret, or the reason why it could not be read, without any part of it.
    fn resolve<'a>(
        &'a self,
        reference: &'a SecretReference,
    ) -> BoxFuture<'a, Result<SecretString, String>>;
}

/// Lookup of secrets on this machine.
#[derive(Clone, Default)]
pub struct LocalSecrets {
    environment: Vec<(String, String)>,
    known: KnownSecrets,
}

impl fmt::Debug for LocalSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalSecrets({} variables)", self.environment.len())
    }
}

impl LocalSecrets {
    /// Creates a lookup with the variables that references name and that commands are started with.
    pub fn new(environment: Vec<(String, String)>) -> Self {
        Self {
            environment,
            known: KnownSecrets::default(),
        }
    }

    /// Adds each secret that is looked up to `known`.
    #[must_use]
    pub fn known_to(self, known: KnownSecrets) -> Self {
        Self { known, ..self }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(taken, _)| taken == name)?;
        Some(&found.1)
    }

    async fn look_up(&self, reference: &SecretReference) -> Result<String, String> {
        match reference {
            SecretReference::Variable(name) => self
                .variable(name)
                .map(str::to_owned)
                .ok_or_else(|| format!("the environment variable `{name}` is not set")),
            SecretReference::File(path) => self.file(path.clone()).await,
            SecretReference::Keychain { service, account } => {
                self.keychain(service.clone(), account.clone()).await
            }
            SecretReference::Command(words) => self.command(words).await,
        }
    }

    /// `path` with the home directory for `~/` at its start.
    fn at_home(&self, path: PathBuf) -> PathBuf {
        match (path.strip_prefix("~"), self.variable("HOME")) {
            (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
            _ => path,
        }
    }

    /// Directory in which a command starts: never the gateway's own, which may be a repository whose files decide what
    /// a program does.
    fn start_directory(&self) -> PathBuf {
        let home = self.variable("HOME").map(PathBuf::from);
        home.filter(|home| home.is_absolute() && home.is_dir())
            .unwrap_or_else(std::env::temp_dir)
    }

    async fn file(&self, path: PathBuf) -> Result<String, String> {
        let path = self.at_home(path);
        let shown = path.display().to_string();
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path)?;
            // One byte more than allowed, to detect a longer file without reading all of it.
            file.take(SECRET_BYTES_MAX as u64 + 1)
                .read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        });
        match read.await {
            Ok(Ok(bytes)) => text(bytes).map_err(|problem| format!("`{shown}` {problem}")),
            Ok(Err(error)) => Err(format!("`{shown}` could not be read: {error}")),
            Err(_) => Err(format!("`{shown}` could not be read")),
        }
    }

    async fn keychain(&self, service: String, account: String) -> Result<String, String> {
        let read = tokio::task::spawn_blocking(move || keychain::read(&service, &account));
        match timeout(EXEC_LIMIT, read).await {
            Ok(Ok(found)) => text(found?.into_bytes()).map_err(|problem| format!("it {problem}")),
            Ok(Err(_)) => Err("the keychain could not be read".to_owned()),
            Err(_) => Err(format!(
                "the keychain took longer than {} s",
                EXEC_LIMIT.as_secs()
            )),
        }
    }

    async fn command(&self, words: &[String]) -> Result<String, String> {
        let program = words.first().map_or("", String::as_str);
        let found = StdioSpec {
            command: self.at_home(program.into()),
            args: Vec::new(),
            env: self.environment.clone(),
            cwd: None,
        };
        let path = found.program().map_err(|error| error.to_string())?;
        let mut command = Command::new(path);
        command
            .current_dir(self.start_directory())
            .args(words.iter().skip(1))
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // Error output may contain the secret and must not reach the terminal or a log.
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let run = async {
            let mut child = command.spawn().map_err(|error| error.to_string())?;
            let mut bytes = Vec::new();
            if let Some(stdout) = child.stdout.take() {
                let mut stdout = stdout.take(SECRET_BYTES_MAX as u64 + 1);
                let read = stdout.read_to_end(&mut bytes).await;
                read.map_err(|error| error.to_string())?;
            }
            if bytes.len() > SECRET_BYTES_MAX {
                return text(bytes);
            }
            let status = child.wait().await.map_err(|error| error.to_string())?;
            if !status.success() {
                return Err(format!("ended with {status}"));
            }
            text(bytes)
        };
        match timeout(EXEC_LIMIT, run).await {
            Ok(done) => done.map_err(|problem| format!("`{program}`: {problem}")),
            Err(_) => Err(format!(
                "`{program}` took longer than {} s",
                EXEC_LIMIT.as_secs()
            )),
        }
    }
}

impl SecretResolver for LocalSecrets {
    fn resolve<'a>(
        &'a self,
        reference: &'a SecretReference,
    ) -> BoxFuture<'a, Result<SecretString, String>> {
        Box::pin(async move {
            let secret = self.look_up(reference).await?;
            self.known.add_secret(&reference.to_string(), &secret);
            Ok(SecretString::from(secret))
        })
    }
}

/// Reads the secret in `bytes`, without the newline at its end.
fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() > SECRET_BYTES_MAX {
        return Err(format!("has more than {SECRET_BYTES_MAX} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    async fn resolve(reference: &str) -> Result<String, String> {
        let secrets = LocalSecrets::new(vec![
            ("TOKEN".to_owned(), "s3cret".to_owned()),
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ]);
        let reference = SecretReference::parse(reference).unwrap()?;
        let secret = secrets.resolve(&reference).await?;
        Ok(secret.expose_secret().to_owned())
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_runs_neither_in_the_working_directory_nor_from_it() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("token");
        std::fs::write(&own, "#!/bin/sh\npwd -P\n").unwrap();
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
        let secrets = |path: &str| {
            LocalSecrets::new(vec![
                ("HOME".to_owned(), home.path().display().to_string()),
                ("PATH".to_owned(), path.to_owned()),
            ])
        };
        let expected = home.path().canonicalize().unwrap().display().to_string();
        let resolved = async |path: &str, reference: &str| {
            let reference = SecretReference::parse(reference).unwrap().unwrap();
            let secret = secrets(path).resolve(&reference).await;
            secret.map(|secret| secret.expose_secret().to_owned())
        };
        assert_eq!(resolved("", "exec:~/token").await, Ok(expected.clone()));
        let in_path = home.path().display().to_string();
        assert_eq!(resolved(&in_path, "exec:token").await, Ok(expected));
        // A name is not searched in directories that depend on the working directory.
        for path in [".", "", "bin:."] {
            assert!(resolved(path, "exec:Cargo.toml").await.is_err(), "{path}");
        }
    }

    #[tokio::test]
    async fn each_kind_of_reference_is_looked_up_and_no_error_holds_a_value() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, "from-file\n").unwrap();
        assert_eq!(resolve("env:TOKEN").await.unwrap(), "s3cret");
        assert_eq!(
            resolve(&format!("file:{}", file.display())).await.unwrap(),
            "from-file"
        );
        assert_eq!(
            resolve("exec:printf '%s' 'two words; $TOKEN'")
                .await
                .unwrap(),
            "two words; $TOKEN"
        );
        for (reference, expected) in [
            ("env:NONE", "`NONE` is not set"),
            ("env:", "needs the name"),
            ("file:/nowhere", "could not be read"),
            ("exec:false", "`false`: ended with exit status: 1"),
            ("exec:printf ''", "`printf`: is empty"),
            ("exec:head -c 20000 /dev/zero", "more than 16384 bytes"),
            ("exec:'open", "quotes are closed"),
            ("exec:./get-token", "absolute path"),
            ("exec:bin/get-token", "absolute path"),
            ("exec:'' x", "absolute path"),
            (
                "exec:no-such-program",
                "`no-such-program` was not found in PATH",
            ),
            ("keychain:limbeck-test-nowhere/no-account", "the keychain"),
            ("keychain:a", "expected `keychain:SERVICE/ACCOUNT`"),
        ] {
            let problem = resolve(reference).await.unwrap_err();
            assert!(problem.contains(expected), "{reference}: {problem}");
        }
        assert_eq!(resolve("exec:/bin/echo x").await.unwrap(), "x");
        assert!(SecretReference::parse("Bearer x").is_none());
        assert!(SecretReference::parse("https://x").is_none());
    }
}
