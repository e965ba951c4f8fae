//! Bearer tokens from files, and the principal of each.
//!
//! Only hashes are kept in memory. The hash of a presented token is compared with every one of them in
//! constant time, so the response time reveals nothing about the tokens.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use limbeck_domain::limits::{
    PRINCIPAL_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_CHARS_MIN, TOKEN_FILE_BYTES_MAX, TOKENS_MAX,
};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use limbeck_gateway::LOCAL_PRINCIPAL;

/// Accepted tokens, as hashes.
#[derive(Debug)]
pub struct BearerTokens(Vec<NamedToken>);

#[derive(Debug)]
struct NamedToken {
    principal: Arc<str>,
    hash: [u8; 32],
}

/// Token of a gateway that was started without one.
#[derive(Debug)]
pub struct GeneratedToken {
    /// The accepted tokens: this one alone.
    pub tokens: BearerTokens,
    /// The token itself, when this start generated it.
    pub made: Option<String>,
}

/// Failure to read or generate tokens.
#[derive(Debug, thiserror::Error)]
pub enum BearerTokensError {
    /// The file cannot be read.
    #[error("token file {} cannot be read", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The file of the generated token cannot be written.
    #[error("token file {} cannot be written", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Every user of the machine can change the file.
    #[error("token file {} has mode {mode:03o}, so every user of this machine can change it", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A line is malformed.
    #[error("token file {}, line {line}: {problem}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it, without the token.
        problem: String,
    },
    /// The file holds no token.
    #[error("token file {} holds no token", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    Random(getrandom::Error),
}

impl BearerTokensError {
    /// Next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "name a file that this user can read: `--token-file FILE`",
            Self::Write { .. } => {
                "choose another `--state-dir`, or bring a token: `--token-file FILE`"
            }
            Self::Line { .. } | Self::Empty { .. } => {
                "write one token, or lines of `name token`; `openssl rand -hex 32` makes a token"
            }
            Self::Open { .. } => "replace its tokens, then run `chmod 600` on it",
            Self::Random(_) => "check that /dev/urandom is readable",
        }
    }
}

impl BearerTokens {
    /// Reads a file with one token, or with lines of `name token`. Empty lines and lines that begin with
    /// `#` are ignored. The principal of a named token is `token:NAME`, of a single token `token:default`.
    ///
    /// # Errors
    ///
    /// Every [`BearerTokensError`] except those of writing.
    pub fn read(path: &Path) -> Result<Self, BearerTokensError> {
        let text = read_bounded(path)?;
        let wrong = |line: usize, problem: String| BearerTokensError::Line {
            path: path.to_owned(),
            line,
            problem,
        };
        let mut tokens: Vec<NamedToken> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_ascii_whitespace();
            let (name, token) = match (words.next(), words.next(), words.next()) {
                (Some(token), None, _) => ("default", token),
                (Some(name), Some(token), None) => (name, token),
                _ => {
                    return Err(wrong(
                        line_number,
                        "the line has more than a name and a token".to_owned(),
                    ));
                }
            };
            check_name(name).map_err(|problem| wrong(line_number, problem))?;
            check_token(token).map_err(|problem| wrong(line_number, problem))?;
            let named = NamedToken {
                principal: format!("token:{name}").into(),
                hash: hash(token),
            };
            if tokens
                .iter()
                .any(|other| other.principal == named.principal)
            {
                return Err(wrong(
                    line_number,
                    format!("another token is named `{name}` already"),
                ));
            }
            if tokens.iter().any(|other| other.hash == named.hash) {
                return Err(wrong(
                    line_number,
                    "the token is the same as in a line above".to_owned(),
                ));
            }
            if tokens.len() == TOKENS_MAX {
                return Err(wrong(line_number, format!("more than {TOKENS_MAX} tokens")));
            }
            tokens.push(named);
        }
        if tokens.is_empty() {
            return Err(BearerTokensError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(Self(tokens))
    }

    /// Reads the token in `path`. Generates one of 256 bits when the file does not exist, readable by its
    /// owner only.
    ///
    /// # Errors
    ///
    /// [`BearerTokensError`]
    pub fn own(path: &Path) -> Result<GeneratedToken, BearerTokensError> {
        close_to_group(path);
        match read_bounded(path) {
            Ok(text) => Self::kept(path, text.trim()),
            Err(BearerTokensError::Read { error, .. })
                if error.kind() == io::ErrorKind::NotFound =>
            {
                Self::make(path)
            }
            Err(error) => Err(error),
        }
    }

    fn kept(path: &Path, token: &str) -> Result<GeneratedToken, BearerTokensError> {
        check_token(token).map_err(|problem| BearerTokensError::Line {
            path: path.to_owned(),
            line: 1,
            problem,
        })?;
        Ok(GeneratedToken {
            tokens: Self::of_owner(token),
            made: None,
        })
    }

    fn make(path: &Path) -> Result<GeneratedToken, BearerTokensError> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(BearerTokensError::Random)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        match write_owner_only(path, &token) {
            Ok(()) => {}
            // Another gateway created the file between the read and this write: use its token.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = read_bounded(path)?;
                return Self::kept(path, text.trim());
            }
            Err(error) => {
                return Err(BearerTokensError::Write {
                    path: path.to_owned(),
                    error,
                });
            }
        }
        Ok(GeneratedToken {
            tokens: Self::of_owner(&token),
            made: Some(token),
        })
    }

    fn of_owner(token: &str) -> Self {
        Self(vec![NamedToken {
            // The user who started the gateway, as over standard input.
            principal: LOCAL_PRINCIPAL.into(),
            hash: hash(token),
        }])
    }

    /// Principal of `presented`. Compares with every token, also after a match: timing must not tell which
    /// one it was.
    pub(crate) fn principal(&self, presented: &str) -> Option<Arc<str>> {
        let presented = hash(presented);
        let mut found = None;
        for named in &self.0 {
            if bool::from(named.hash.ct_eq(&presented)) {
                found = Some(&named.principal);
            }
        }
        found.map(Arc::clone)
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn check_name(name: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    if name.len() > PRINCIPAL_BYTES_MAX || !name.bytes().all(allowed) {
        return Err("a name consists of letters, digits and `-_.@`".to_owned());
    }
    Ok(())
}

fn check_token(token: &str) -> Result<(), String> {
    if token.len() < TOKEN_CHARS_MIN {
        return Err(format!(
            "the token has {} characters, at least {TOKEN_CHARS_MIN} are needed",
            token.len()
        ));
    }
    if token.len() > TOKEN_BYTES_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "a token is at most {TOKEN_BYTES_MAX} printable ASCII characters without spaces"
        ));
    }
    Ok(())
}

/// Reads a file of secrets. Its permissions are those of the opened file, so the file cannot be swapped in between.
fn read_bounded(path: &Path) -> Result<String, BearerTokensError> {
    let failed = |error| BearerTokensError::Read {
        path: path.to_owned(),
        error,
    };
    let file = std::fs::File::open(path).map_err(failed)?;
    match exposure(&file).map_err(failed)? {
        FileExposure::Private => {}
        FileExposure::Readable { mode } => tracing::warn!(
            file = %path.display(),
            mode = format_args!("{mode:03o}"),
            "other users of this machine can read a token file; run `chmod 600` on it"
        ),
        FileExposure::Writable { mode } => {
            return Err(BearerTokensError::Open {
                path: path.to_owned(),
                mode,
            });
        }
    }
    let mut text = String::new();
    let limit = TOKEN_FILE_BYTES_MAX as u64 + 1;
    file.take(limit).read_to_string(&mut text).map_err(failed)?;
    if text.len() > TOKEN_FILE_BYTES_MAX {
        let message = format!("it has more than {TOKEN_FILE_BYTES_MAX} bytes");
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, message)));
    }
    Ok(text)
}

/// Takes the permissions to read away from others, as for files of sign-ins. One that others may change is left for
/// [`read_bounded`] to refuse.
#[cfg(unix)]
fn close_to_group(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let readable = std::fs::File::open(path).and_then(|file| Ok((exposure(&file)?, file)));
    if let Ok((FileExposure::Readable { .. }, file)) = readable {
        // When it fails, the next read logs a warning.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o600));
    }
}

#[cfg(not(unix))]
fn close_to_group(_: &Path) {}

/// What other users of the machine can do with a file of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileExposure {
    /// Nothing, or it is a pipe (`/dev/fd/63`), whose permission bits mean nothing.
    Private,
    /// Its group or everybody may read it, or its group may change it.
    Readable {
        /// Its permission bits.
        mode: u32,
    },
    /// Everybody may change it.
    Writable {
        /// Its permission bits.
        mode: u32,
    },
}

#[cfg(unix)]
pub(super) fn exposure(file: &std::fs::File) -> io::Result<FileExposure> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o777;
    Ok(match mode {
        _ if !metadata.is_file() => FileExposure::Private,
        mode if mode & 0o002 != 0 => FileExposure::Writable { mode },
        mode if mode & 0o064 != 0 => FileExposure::Readable { mode },
        _ => FileExposure::Private,
    })
}

#[cfg(not(unix))]
pub(super) fn exposure(_: &std::fs::File) -> io::Result<FileExposure> {
    Ok(FileExposure::Private)
}

/// Creates a file with owner-only permissions from the start. Fails when the file exists.
fn write_owner_only(path: &Path, token: &str) -> io::Result<()> {
    let mut directories = DirBuilder::new();
    directories.recursive(true);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        directories.mode(0o700);
        options.mode(0o600);
    }
    if let Some(directory) = path.parent() {
        directories.create(directory)?;
    }
    let mut file = options.open(path)?;
    file.write_all(token.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}
