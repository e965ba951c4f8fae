//! The hashes of the two chains, and what can be wrong with a record.

use std::fmt;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a record and everything before it.
pub(crate) type Link = [u8; 32];

/// The hash before the first record.
pub(crate) const FIRST: Link = [0; 32];

/// The hash of the record `seq` after one with the hash `previous`.
pub(crate) fn link(previous: &Link, seq: u64, line: &str) -> Link {
    hash(b"limbeck-audit-v1", previous, seq, line)
}

/// The same in the chain of one principal.
pub(crate) fn principal_link(previous: &Link, seq: u64, line: &str) -> Link {
    hash(b"limbeck-audit-v1-principal", previous, seq, line)
}

fn hash(chain: &[u8], previous: &Link, seq: u64, line: &str) -> Link {
    let mut hash = Sha256::new();
    hash.update(chain);
    hash.update(previous);
    hash.update(seq.to_be_bytes());
    hash.update(line.as_bytes());
    hash.finalize().into()
}

/// A hash as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The reverse of [`hex`]; `None` for other text.
pub(crate) fn link_of_hex(text: &str) -> Option<Link> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut link = FIRST;
    for (byte, digits) in link.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(link)
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditFaultKind {
    /// Its line or its hash is not what was written.
    Edited,
    /// It is not there, although later ones are.
    Missing,
    /// It is in the place of another one.
    Reordered,
    /// It and all later ones are not there, although they once were.
    Truncated,
    /// The chain is whole, but it is not the one that was there before.
    Forked,
    /// A checkpoint of it is not what was signed.
    Signature,
}

impl AuditFaultKind {
    /// The kind as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edited => "edited",
            Self::Missing => "missing",
            Self::Reordered => "reordered",
            Self::Truncated => "truncated",
            Self::Forked => "forked",
            Self::Signature => "signature",
        }
    }
}

/// The first record that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFault {
    /// Its number.
    pub seq: u64,
    /// What is wrong with it.
    pub kind: AuditFaultKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_depends_on_everything_before_it_on_its_number_and_on_each_byte() {
        let base = link(&FIRST, 1, "{}");
        assert_eq!(base, link(&FIRST, 1, "{}"));
        for other in [
            link(&base, 1, "{}"),
            link(&FIRST, 2, "{}"),
            link(&FIRST, 1, "{ }"),
            principal_link(&FIRST, 1, "{}"),
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(link_of_hex(&hex(&base)), Some(base));
        assert_eq!(link_of_hex(&hex(&base)[1..]), None);
        assert_eq!(link_of_hex(&"é".repeat(32)), None);
        assert_eq!(link_of_hex(&"g".repeat(64)), None);
    }
}
