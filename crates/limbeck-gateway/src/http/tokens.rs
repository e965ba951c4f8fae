//! Bearer tokens that were given to clients, and whom each stands for.
//!
//! Only hashes are kept. A presented token is hashed and compared with every one of them in constant
//! time, so how long the answer takes tells nothing about a token or about which one it was.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use limbeck_domain::limits::{
    PRINCIPAL_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_CHARS_MIN, TOKEN_FILE_BYTES_MAX, TOKENS_MAX,
};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::LOCAL;

/// Tokens by their hashes.
#[derive(Debug)]
pub struct Tokens(Vec<Named>);

#[derive(Debug)]
struct Named {
    principal: Arc<str>,
    hash: [u8; 32],
}

/// The token of a gateway that was given none.
#[derive(Debug)]
pub struct OwnToken {
    /// What requests are checked against.
    pub tokens: Tokens,
    /// The token itself when it was made just now.
    pub made: Option<String>,
}

/// Why there are no tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
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
    /// A line is not what it must be.
    #[error("token file {}, line {line}: {problem}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong; never holds the token.
        problem: String,
    },
    /// There is no token in it.
    #[error("token file {} holds no token", .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    Random(getrandom::Error),
}

impl TokensError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "name a file that this user can read: `--token-file FILE`",
            Self::Write { .. } => {
                "choose another `--state-dir`, or bring a token: `--token-file FILE`"
            }
            Self::Line { .. } | Self::Empty { .. } => {
                "write one token, or lines of `name token`; `openssl rand -hex 32` makes a token"
            }
            Self::Random(_) => "check that /dev/urandom is readable",
        }
    }
}

impl Tokens {
    /// Reads a file with one token in it, or with lines of `name token`. Empty lines and those that
    /// begin with `#` count for nothing. The principal of a named token is `token:NAME`, of a single
    /// one `token:default`.
    ///
    /// # Errors
    ///
    /// Every [`TokensError`] but those of writing.
    pub fn read(path: &Path) -> Result<Self, TokensError> {
        let text = read_bounded(path)?;
        let wrong = |line: usize, problem: String| TokensError::Line {
            path: path.to_owned(),
            line,
            problem,
        };
        let mut tokens: Vec<Named> = Vec::new();
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
                        "more than a name and a token".to_owned(),
                    ));
                }
            };
            check_name(name).map_err(|problem| wrong(line_number, problem))?;
            check_token(token).map_err(|problem| wrong(line_number, problem))?;
            let named = Named {
                principal: format!("token:{name}").into(),
                hash: hash(token),
            };
            if tokens
                .iter()
                .any(|other| other.principal == named.principal)
            {
                return Err(wrong(line_number, format!("a second token named `{name}`")));
            }
            if tokens.iter().any(|other| other.hash == named.hash) {
                return Err(wrong(
                    line_number,
                    "the same token as in a line above".to_owned(),
                ));
            }
            if tokens.len() == TOKENS_MAX {
                return Err(wrong(line_number, format!("more than {TOKENS_MAX} tokens")));
            }
            tokens.push(named);
        }
        if tokens.is_empty() {
            return Err(TokensError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(Self(tokens))
    }

    /// The token kept in `path`, which is made, 256 bits, with nobody but its owner allowed to read it,
    /// when it is not there.
    ///
    /// # Errors
    ///
    /// [`TokensError`]
    pub fn own(path: &Path) -> Result<OwnToken, TokensError> {
        match read_bounded(path) {
            Ok(text) => Self::kept(path, text.trim()),
            Err(TokensError::Read { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Self::make(path)
            }
            Err(error) => Err(error),
        }
    }

    fn kept(path: &Path, token: &str) -> Result<OwnToken, TokensError> {
        check_token(token).map_err(|problem| TokensError::Line {
            path: path.to_owned(),
            line: 1,
            problem,
        })?;
        Ok(OwnToken {
            tokens: Self::of_owner(token),
            made: None,
        })
    }

    fn make(path: &Path) -> Result<OwnToken, TokensError> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(TokensError::Random)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        match write_owner_only(path, &token) {
            Ok(()) => {}
            // Another gateway was faster; its token is everybody's.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = read_bounded(path)?;
                return Self::kept(path, text.trim());
            }
            Err(error) => {
                return Err(TokensError::Write {
                    path: path.to_owned(),
                    error,
                });
            }
        }
        Ok(OwnToken {
            tokens: Self::of_owner(&token),
            made: Some(token),
        })
    }

    fn of_owner(token: &str) -> Self {
        Self(vec![Named {
            // It belongs to the user who started the gateway, who is the same over standard input.
            principal: LOCAL.into(),
            hash: hash(token),
        }])
    }

    /// Whom `presented` stands for. Looks at every token whatever it finds.
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
        return Err("a name has letters, digits and `-_.@`".to_owned());
    }
    Ok(())
}

fn check_token(token: &str) -> Result<(), String> {
    if token.len() < TOKEN_CHARS_MIN {
        return Err(format!(
            "a token of {} characters, at least {TOKEN_CHARS_MIN} are needed",
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

fn read_bounded(path: &Path) -> Result<String, TokensError> {
    let read = || {
        let file = std::fs::File::open(path)?;
        let mut text = String::new();
        let limit = TOKEN_FILE_BYTES_MAX as u64 + 1;
        file.take(limit).read_to_string(&mut text)?;
        if text.len() > TOKEN_FILE_BYTES_MAX {
            let message = format!("it has more than {TOKEN_FILE_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(text)
    };
    read().map_err(|error| TokensError::Read {
        path: path.to_owned(),
        error,
    })
}

/// Makes a file that nobody but its owner can read, not even for a moment, and fails when it is there.
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
