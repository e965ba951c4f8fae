//! The key that signs checkpoints of the audit trail (Ed25519), and the signatures of signed notes.
//!
//! The key is in a file of its own that only its owner can read, outside of the state directory. Beside it is the file `.pub` with the
//! verifier key, a line of text that every user may have: `limbeck-audit+HASH+KEY`.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use limbeck_store::NoteSigner;
use sha2::{Digest as _, Sha256};

/// Name of the key in notes.
const NAME: &str = "limbeck-audit";
/// What marks a key and a signature of Ed25519.
const ED25519_MARK: u8 = 1;
/// Longest file of a key.
const FILE_BYTES_MAX: u64 = 4_096;

/// A key that signs.
pub(crate) struct AuditKey(Ed25519KeyPair);

impl AuditKey {
    /// Reads the key in `path`. Makes one when the file does not exist, and the file of its verifier key.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let key = match fs::File::open(path) {
            Ok(file) => Self::read(path, file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(path)?,
            Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
        };
        let public = public_file(path);
        if !public.exists() {
            let text = format!("{}\n", key.verifier());
            fs::write(&public, text).with_context(|| format!("write {}", public.display()))?;
        }
        Ok(key)
    }

    fn read(path: &Path, file: fs::File) -> anyhow::Result<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = file.metadata()?.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                bail!(
                    "{} has mode {mode:03o}, so others can read the key: run `chmod 600` on it",
                    path.display()
                );
            }
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        let document = STANDARD.decode(text.trim());
        let document = document.map_err(|_| anyhow!("{} has no key", path.display()))?;
        let pair = Ed25519KeyPair::from_pkcs8(&document);
        let pair = pair.map_err(|_| anyhow!("{} has no key", path.display()))?;
        Ok(Self(pair))
    }

    fn make(path: &Path) -> anyhow::Result<Self> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let document = document.map_err(|_| anyhow!("the system gave no random bytes"))?;
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let written = options.open(path).and_then(|mut file| {
            file.write_all(format!("{}\n", STANDARD.encode(document.as_ref())).as_bytes())
        });
        match written {
            // Another process was first: its key is used.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::read(path, fs::File::open(path)?)
            }
            written => {
                written.with_context(|| format!("write {}", path.display()))?;
                let pair = Ed25519KeyPair::from_pkcs8(document.as_ref());
                Ok(Self(
                    pair.map_err(|_| anyhow!("the new key cannot be used"))?,
                ))
            }
        }
    }

    /// The verifier key: name, hash and public key.
    fn verifier(&self) -> String {
        let public = marked(self.0.public_key().as_ref());
        let hash: String = key_hash(&public)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{NAME}+{hash}+{}", STANDARD.encode(public))
    }

    /// Signs the texts of notes.
    pub(crate) fn signer(self) -> NoteSigner {
        Box::new(move |text| {
            let mut signed = key_hash(&marked(self.0.public_key().as_ref())).to_vec();
            signed.extend_from_slice(self.0.sign(text.as_bytes()).as_ref());
            format!("\u{2014} {NAME} {}\n", STANDARD.encode(signed))
        })
    }
}

/// File of the verifier key beside the key.
fn public_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

fn marked(public: &[u8]) -> Vec<u8> {
    [&[ED25519_MARK], public].concat()
}

/// First four bytes of the hash of a name and a key, which say in a signature which key it is of.
fn key_hash(public: &[u8]) -> [u8; 4] {
    let hash = Sha256::digest([NAME.as_bytes(), b"\n", public].concat());
    [hash[0], hash[1], hash[2], hash[3]]
}

/// A key that checks signatures.
pub(crate) struct VerifierKey(Vec<u8>);

impl VerifierKey {
    /// Reads a file with a verifier key.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let mut text = String::new();
        let file = fs::File::open(path).with_context(|| format!("read {}", path.display()))?;
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Self::parse(text.trim()).ok_or_else(|| {
            anyhow!(
                "{} has no verifier key: it is the file `.pub` beside the key",
                path.display()
            )
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '+');
        let (name, _, public) = (parts.next()?, parts.next()?, parts.next()?);
        let public = STANDARD.decode(public).ok()?;
        (name == NAME && public.len() == 33 && public[0] == ED25519_MARK).then_some(Self(public))
    }

    /// Whether `signature`, a line of a note, is this key's for `text`.
    pub(crate) fn verifies(&self, text: &str, signature: &str) -> bool {
        let encoded = signature.strip_prefix(&format!("\u{2014} {NAME} "));
        let signed = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
        let Some((hash, signature)) = signed.as_deref().and_then(|it| it.split_at_checked(4))
        else {
            return false;
        };
        let key = UnparsedPublicKey::new(&ED25519, &self.0[1..]);
        hash == key_hash(&self.0) && key.verify(text.as_bytes(), signature).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_for_its_owner_and_signs_what_its_verifier_checks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys/audit.key");
        let sign = AuditKey::open(&path).unwrap().signer();
        let again = AuditKey::open(&path).unwrap().signer();
        let verifier = VerifierKey::read(&public_file(&path)).unwrap();
        let (note, other) = (sign("a\n1\n"), again("a\n1\n"));
        assert_eq!(note, other, "the key is read again");
        assert!(verifier.verifies("a\n1\n", note.trim_end()));
        assert!(!verifier.verifies("a\n2\n", note.trim_end()));
        let foreign = AuditKey::open(&directory.path().join("other"))
            .unwrap()
            .signer();
        assert!(!verifier.verifies("a\n1\n", foreign("a\n1\n").trim_end()));
        assert!(
            VerifierKey::read(&path).is_err(),
            "the key is no verifier key"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            assert!(AuditKey::open(&path).is_err());
        }
    }
}
