//! Secrets that an entry names instead of holding.

use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::keychain;

/// A secret's length, in bytes.
const SECRET_BYTES_MAX: usize = 16 << 10;
/// Time for the command of an `exec:` reference, and for a keychain; either may ask its user.
const EXEC_LIMIT: Duration = Duration::from_secs(60);

/// Where a secret is kept.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretReference {
    /// `env:NAME`: a variable of the gateway's environment.
    Variable(String),
    /// `file:PATH`: a file's content without the newline at its end; `~/` is the home directory.
    File(PathBuf),
    /// `keychain:SERVICE/ACCOUNT`: an entry of the system's keychain.
    Keychain {
        /// Before the first slash.
        service: String,
        /// Behind it.
        account: String,
    },
    /// `exec:COMMAND`: what a program prints. The words of its command line; no shell is involved.
    Command(Vec<String>),
}

/// Names where it is, and of a command only the program: its arguments may be somebody's secret too.
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
    /// Reads a reference; `None` when `text` has no scheme of one.
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
                Some(words) if !words.is_empty() => Ok(Self::Command(words)),
                _ => Err("`exec:` needs a command whose quotes are closed".to_owned()),
            },
            _ => return None,
        };
        Some(reference)
    }
}

/// Looks secrets up, each time they are needed.
pub trait SecretResolver: Send + Sync + 'static {
    /// The secret, or why there is none, in words without any part of it.
    fn resolve<'a>(
        &'a self,
        reference: &'a SecretReference,
    ) -> BoxFuture<'a, Result<SecretString, String>>;
}

/// Looks secrets up on this machine.
#[derive(Clone, Default)]
pub struct LocalSecrets {
    environment: Vec<(String, String)>,
}

impl fmt::Debug for LocalSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LocalSecrets({} variables)", self.environment.len())
    }
}

impl LocalSecrets {
    /// With the variables that references name and that commands are started with.
    pub fn new(environment: Vec<(String, String)>) -> Self {
        Self { environment }
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

    async fn file(&self, path: PathBuf) -> Result<String, String> {
        let path = match (path.strip_prefix("~"), self.variable("HOME")) {
            (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
            _ => path,
        };
        let shown = path.display().to_string();
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(path)?;
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
        let mut command = Command::new(program);
        command
            .args(words.iter().skip(1))
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
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
        Box::pin(async move { self.look_up(reference).await.map(SecretString::from) })
    }
}

/// The secret in `bytes`: one line, whose newline does not belong to it.
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
            ("keychain:limbeck-test-nowhere/nobody", "the keychain"),
            ("keychain:a", "expected `keychain:SERVICE/ACCOUNT`"),
        ] {
            let problem = resolve(reference).await.unwrap_err();
            assert!(problem.contains(expected), "{reference}: {problem}");
        }
        assert!(SecretReference::parse("Bearer x").is_none());
        assert!(SecretReference::parse("https://x").is_none());
    }
}
