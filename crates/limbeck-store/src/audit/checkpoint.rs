//! Signed checkpoints: the number and hash of a record, in the form of a C2SP signed note.
//!
//! ```text
//! limbeck-audit
//! 812
//! 5b0c…
//! time 1732723200000000
//!
//! — limbeck-audit Az3grl…=
//! ```
//!
//! The first line is what the note is about, the second the number of the newest record, the third its hash. The last
//! line is the name of the key and, in base64, the first four bytes of the key's hash and the signature over everything before
//! the empty line. This crate has no key: the program that opens a store has it, signs with it and checks signatures.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use super::chain::{AuditFault, AuditFaultKind, Link, hex, link_of_hex};
use super::newest::Newest;

/// First line of each note.
const ORIGIN: &str = "limbeck-audit";
/// What a signature's line begins with.
const SIGNATURE: &str = "\u{2014} ";
/// Longest line of a file of notes, in bytes.
const LINE_BYTES_MAX: usize = 1_024;
/// Size at which the older half of the notes beside the store is removed.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Notes of a file that are compared, the newest.
const NOTES_MAX: usize = 200_000;

/// Signs the text of a note, and returns the rest of the note: the lines of signatures.
pub type NoteSigner = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Where signed checkpoints go.
pub struct Checkpoints {
    /// Signs each.
    pub sign: NoteSigner,
    /// A second file, on another disk or of another user, to which each is appended.
    pub anchor: Option<PathBuf>,
}

/// Writes checkpoints of one writer.
pub(crate) struct CheckpointFiles {
    checkpoints: Checkpoints,
    /// The file beside the store.
    beside: PathBuf,
    has_failed: bool,
}

impl CheckpointFiles {
    pub(crate) fn new(checkpoints: Checkpoints, store: &Path) -> Self {
        Self {
            checkpoints,
            beside: notes_file(store),
            has_failed: false,
        }
    }

    /// Signs and writes a checkpoint. Where a file cannot be written, the log says so once.
    pub(super) fn write(&mut self, newest: &Newest, time_us: u64) {
        let text = note_text(newest, time_us);
        let note = format!("{text}\n{}", (self.checkpoints.sign)(&text));
        let anchor = self.checkpoints.anchor.as_deref();
        for path in [Some(self.beside.as_path()), anchor].into_iter().flatten() {
            if let Err(error) = append(path, &note)
                && !self.has_failed
            {
                self.has_failed = true;
                tracing::error!(
                    path = %path.display(),
                    error = &error as &dyn std::error::Error,
                    "a checkpoint of the audit trail could not be written"
                );
            }
        }
        if let Err(error) = shorten(&self.beside) {
            tracing::warn!("checkpoints could not be shortened: {error}");
        }
    }
}

/// File of the checkpoints beside a store, which exists where they are signed.
pub fn notes_file(store: &Path) -> PathBuf {
    store.with_extension("audit.notes")
}

fn note_text(newest: &Newest, time_us: u64) -> String {
    // Hexadecimal, as everywhere else in the audit trail.
    let hash = hex(&newest.hash);
    format!("{ORIGIN}\n{}\n{hash}\ntime {time_us}\n", newest.seq)
}

/// Appends a note at once, so that those of two processes do not mix.
fn append(path: &Path, note: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
        .open(path)?
        .write_all(format!("{note}\n").as_bytes())
}

/// Removes the older half of the notes beside the store when they are many.
fn shorten(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.len() <= FILE_BYTES_MAX {
        return Ok(());
    }
    let text = std::fs::read_to_string(path)?;
    let half = text.len() / 2;
    let begins = format!("\n{ORIGIN}\n");
    let mut places = text.match_indices(&begins);
    let Some((at, _)) = places.find(|(at, _)| *at >= half) else {
        return Ok(());
    };
    let scratch = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&scratch, &text[at + 1..])?;
    std::fs::rename(&scratch, path)
}

/// Checkpoints that were read from files, by the number of their record.
#[derive(Debug, Default)]
pub struct KnownCheckpoints {
    pub(super) hashes: BTreeMap<u64, Link>,
    /// The first that is not what was signed, or that contradicts another: the number of its record.
    pub(super) bad: Option<AuditFault>,
}

impl KnownCheckpoints {
    /// Number of checkpoints.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether no checkpoint was read.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether one is not what was signed.
    pub fn has_bad(&self) -> bool {
        self.bad.is_some()
    }

    /// Adds the notes of a file. `verify` says whether the lines of signatures belong to the text before them.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn read(&mut self, path: &Path, verify: &dyn Fn(&str, &str) -> bool) -> io::Result<()> {
        let mut lines = BufReader::new(File::open(path)?).lines();
        let mut text = String::new();
        while let Some(line) = lines.next() {
            let line = line?;
            if line.len() > LINE_BYTES_MAX || text.len() > 4 * LINE_BYTES_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if line.is_empty() && text.is_empty() {
                continue;
            }
            if !line.is_empty() {
                text.push_str(&line);
                text.push('\n');
                continue;
            }
            let signature = match lines.next() {
                Some(signature) => signature?,
                None => String::new(),
            };
            self.add(&text, &signature, verify);
            text.clear();
        }
        Ok(())
    }

    fn add(&mut self, text: &str, signature: &str, verify: &dyn Fn(&str, &str) -> bool) {
        let mut lines = text.lines();
        let (origin, seq, hash) = (lines.next(), lines.next(), lines.next());
        let seq = seq.and_then(|seq| seq.parse::<u64>().ok()).unwrap_or(0);
        let hash = hash.and_then(link_of_hex);
        let is_signed = signature.starts_with(SIGNATURE) && verify(text, signature);
        let (origin, Some(hash), true) = (origin, hash, is_signed) else {
            return self.find_bad(seq, AuditFaultKind::Signature);
        };
        if origin != Some(ORIGIN) {
            return self.find_bad(seq, AuditFaultKind::Signature);
        }
        // Two signed hashes of one number: after the first was signed the chain was set back and written again.
        if self.hashes.get(&seq).is_some_and(|known| *known != hash) {
            return self.find_bad(seq, AuditFaultKind::Forked);
        }
        self.hashes.insert(seq, hash);
        if self.hashes.len() > NOTES_MAX {
            self.hashes.pop_first();
        }
    }

    fn find_bad(&mut self, seq: u64, kind: AuditFaultKind) {
        if self.bad.is_none_or(|bad| seq < bad.seq) {
            self.bad = Some(AuditFault { seq, kind });
        }
    }

    /// Number of the newest record that a checkpoint covers.
    pub fn newest(&self) -> Option<u64> {
        self.hashes.last_key_value().map(|(seq, _)| *seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> NoteSigner {
        Box::new(|text| format!("{SIGNATURE}limbeck-audit {}\n", text.len()))
    }

    fn verify(text: &str, signature: &str) -> bool {
        signature == format!("{SIGNATURE}limbeck-audit {}", text.len())
    }

    #[test]
    fn notes_are_read_again_and_a_change_of_one_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("state.db");
        let anchor = directory.path().join("anchor");
        let checkpoints = Checkpoints {
            sign: signer(),
            anchor: Some(anchor.clone()),
        };
        let mut files = CheckpointFiles::new(checkpoints, &store);
        for seq in [1, 2, 30] {
            let hash = [u8::try_from(seq).unwrap(); 32];
            files.write(&Newest { seq, hash }, 5);
        }
        for path in [notes_file(&store), anchor.clone()] {
            let mut known = KnownCheckpoints::default();
            known.read(&path, &verify).unwrap();
            assert_eq!(
                (known.len(), known.newest(), known.bad),
                (3, Some(30), None)
            );
            assert_eq!(known.hashes[&2], [2; 32]);
        }
        let text = std::fs::read_to_string(&anchor).unwrap();
        for (from, to) in [
            ("\n2\n", "\n20\n"),
            ("time 5\n\n", "time 55\n\n"),
            ("\u{2014} ", "- "),
        ] {
            std::fs::write(&anchor, text.replacen(from, to, 1)).unwrap();
            let mut known = KnownCheckpoints::default();
            known.read(&anchor, &verify).unwrap();
            assert!(known.bad.is_some(), "{from}");
        }
    }
}
