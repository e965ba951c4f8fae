//! SHA-256 of what a person is asked about, in the form that people and journals read.

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
