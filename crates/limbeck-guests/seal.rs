//! Seal of a directory with the machine code of a guest: a hash of its files and of what they were made from.
//!
//! The build script writes it when the directory is complete and uses no directory without the right one. So one that was
//! copied from elsewhere, changed, or cleaned in part is compiled again instead of being embedded.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// The file that holds it.
const NAME: &str = "seal";

/// Seals a directory that is complete. `key` is the hash of what its files were made from.
pub(crate) fn write(dir: &Path, key: &str) -> io::Result<()> {
    fs::write(dir.join(NAME), of(dir, key)?)
}

/// Whether a directory has the files that were sealed under `key`, and no others.
pub(crate) fn holds(dir: &Path, key: &str) -> bool {
    let written = fs::read_to_string(dir.join(NAME));
    written.is_ok_and(|written| of(dir, key).is_ok_and(|now| now == written))
}

/// Hash over the key and over names and contents of all files but the seal.
fn of(dir: &Path, key: &str) -> io::Result<String> {
    let mut entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut hash = Sha256::new();
    hash.update(format!("{key}\n"));
    for entry in entries {
        let name = entry.file_name();
        if name == NAME {
            continue;
        }
        // What a link leads to may change without it.
        if !entry.file_type()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let bytes = fs::read(entry.path())?;
        hash.update(format!("{}\n{}\n", name.display(), bytes.len()));
        hash.update(&bytes);
    }
    Ok(hex(&hash.finalize()))
}

/// Bytes as lower-case digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string never fails");
        text
    })
}
