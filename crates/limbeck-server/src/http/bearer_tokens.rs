//! Bearer tokens from files, and the principal of each.
//!
//! The hash of a presented token is compared with every accepted one in constant time, so the response time reveals nothing
//! about the tokens. The tokens themselves are known secrets of this process, so that no answer has one.
//!
//! A file that changes is read again. When it is not usable any more, the error is logged and the last tokens stay: half
//! a file must not lock every client out.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use limbeck_domain::limits::{
    PRINCIPAL_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_CHARS_MIN, TOKEN_FILE_BYTES_MAX, TOKENS_MAX,
};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use limbeck_gateway::LOCAL_PRINCIPAL;
use limbeck_upstream::KnownSecrets;

use super::secret_files::{FileExposure, close_to_group, exposure, write_owner_only};
use crate::followed_files::{self, FileStamp, stamp};

/// Accepted tokens, as hashes, and the file they come from.
#[derive(Debug)]
pub struct BearerTokens {
    path: PathBuf,
    form: TokenFileForm,
    /// Stamp of the file before it was read; `None` for a pipe, which cannot be read again.
    stamp: Option<FileStamp>,
    accepted: RwLock<Vec<NamedToken>>,
    known: KnownSecrets,
}

/// What a token file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenFileForm {
    /// Tokens that the operator brought.
    Brought,
    /// The token that a gateway generated.
    Generated,
}

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
    pub fn read(path: &Path, known: &KnownSecrets) -> Result<Self, BearerTokensError> {
        // Before the content is read: a change in between is a change to be read.
        let stamp = stamp(path);
        let accepted = brought(path, known)?;
        Ok(Self::of(
            path,
            TokenFileForm::Brought,
            stamp,
            accepted,
            known,
        ))
    }

    fn of(
        path: &Path,
        form: TokenFileForm,
        stamp: Option<FileStamp>,
        accepted: Vec<NamedToken>,
        known: &KnownSecrets,
    ) -> Self {
        Self {
            path: path.to_owned(),
            form,
            stamp,
            accepted: RwLock::new(accepted),
            known: known.clone(),
        }
    }

    /// Reads the token in `path`. Generates one of 256 bits when the file does not exist, readable by its
    /// owner only.
    ///
    /// # Errors
    ///
    /// [`BearerTokensError`]
    pub fn own(path: &Path, known: &KnownSecrets) -> Result<GeneratedToken, BearerTokensError> {
        close_to_group(path);
        let before = stamp(path);
        let (stamp, (accepted, made)) = match generated(path, known) {
            Ok(accepted) => (before, (accepted, None)),
            Err(BearerTokensError::Read { error, .. })
                if error.kind() == io::ErrorKind::NotFound =>
            {
                let generated = generate(path, known)?;
                (stamp(path), generated)
            }
            Err(error) => return Err(error),
        };
        Ok(GeneratedToken {
            tokens: Self::of(path, TokenFileForm::Generated, stamp, accepted, known),
            made,
        })
    }

    /// Reads the file again whenever it changes; never returns.
    pub(crate) async fn follow(&self) {
        let look = || stamp(&self.path);
        followed_files::follow(self.stamp, look, || match self.reload() {
            Ok(tokens) => tracing::info!(tokens, "token file was read again"),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "changed token file cannot be used; the last tokens stay"
            ),
        })
        .await;
    }

    /// Reads the file again and returns the number of its tokens. After an error the last tokens stay.
    fn reload(&self) -> Result<usize, BearerTokensError> {
        if stamp(&self.path).is_none() {
            return Err(BearerTokensError::Read {
                path: self.path.clone(),
                error: io::Error::new(io::ErrorKind::NotFound, "it is missing or not a file"),
            });
        }
        let accepted = match self.form {
            TokenFileForm::Brought => brought(&self.path, &self.known)?,
            TokenFileForm::Generated => generated(&self.path, &self.known)?,
        };
        let count = accepted.len();
        *self
            .accepted
            .write()
            .unwrap_or_else(PoisonError::into_inner) = accepted;
        Ok(count)
    }

    /// Principal of `presented`. Compares with every token, also after a match: timing must not tell which
    /// one it was.
    pub(crate) fn principal(&self, presented: &str) -> Option<Arc<str>> {
        let presented = hash(presented);
        let mut found = None;
        let accepted = self.accepted.read().unwrap_or_else(PoisonError::into_inner);
        for named in accepted.iter() {
            if bool::from(named.hash.ct_eq(&presented)) {
                found = Some(&named.principal);
            }
        }
        found.map(Arc::clone)
    }
}

/// Reads the file of a generated token.
fn generated(path: &Path, known: &KnownSecrets) -> Result<Vec<NamedToken>, BearerTokensError> {
    let text = read_bounded(path)?;
    let token = text.trim();
    check_token(token).map_err(|problem| BearerTokensError::Line {
        path: path.to_owned(),
        line: 1,
        problem,
    })?;
    make_known(path, token, known);
    Ok(of_owner(token))
}

fn make_known(path: &Path, token: &str, known: &KnownSecrets) {
    known.add_secret(&path.to_string_lossy(), token);
}

/// Generates a token, unless another gateway creates the file first: then that one is used.
fn generate(
    path: &Path,
    known: &KnownSecrets,
) -> Result<(Vec<NamedToken>, Option<String>), BearerTokensError> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(BearerTokensError::Random)?;
    let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    match write_owner_only(path, &token) {
        Ok(()) => {
            make_known(path, &token, known);
            Ok((of_owner(&token), Some(token)))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok((generated(path, known)?, None))
        }
        Err(error) => Err(BearerTokensError::Write {
            path: path.to_owned(),
            error,
        }),
    }
}

/// The token of the user who started the gateway, with the same principal as over standard input.
fn of_owner(token: &str) -> Vec<NamedToken> {
    vec![NamedToken {
        principal: LOCAL_PRINCIPAL.into(),
        hash: hash(token),
    }]
}

/// Reads the tokens of a file that the operator brought.
fn brought(path: &Path, known: &KnownSecrets) -> Result<Vec<NamedToken>, BearerTokensError> {
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
        make_known(path, token, known);
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
    Ok(tokens)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_change_that_cannot_be_used_the_last_tokens_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let token = |letter: &str| letter.repeat(64);
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write(&format!("alice {}\n", token("a")));
        let tokens = BearerTokens::read(&path, &KnownSecrets::default()).unwrap();
        let who = |letter: &str| tokens.principal(&token(letter));
        for broken in [String::new(), "alice\n".to_owned(), "a b c\n".to_owned()] {
            write(&broken);
            tokens.reload().unwrap_err();
            assert_eq!(who("a").as_deref(), Some("token:alice"), "{broken:?}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        tokens.reload().unwrap_err();
        std::fs::remove_dir(&path).unwrap();
        tokens.reload().unwrap_err();
        assert!(who("a").is_some());
        // The control: what can be used is used, and nothing else is.
        write(&format!("bob {}\ncarol {}\n", token("b"), token("c")));
        assert_eq!(tokens.reload().unwrap(), 2);
        assert_eq!(who("b").as_deref(), Some("token:bob"));
        assert_eq!(who("a"), None);

        let own = BearerTokens::own(&directory.path().join("own"), &KnownSecrets::default())
            .unwrap()
            .tokens;
        std::fs::write(&own.path, token("d")).unwrap();
        own.reload().unwrap();
        assert_eq!(own.principal(&token("d")).as_deref(), Some(LOCAL_PRINCIPAL));
    }
}
