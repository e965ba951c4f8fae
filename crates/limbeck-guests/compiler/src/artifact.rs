//! A committed guest: the compressed module and its record.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;
use sha2::{Digest, Sha256};

/// Bound of an unpacked guest; Python's has about 31 MB.
const GUEST_BYTES_MAX: u64 = 128 << 20;

/// Reads and unpacks `NAME.wasm.zst` in `dir` and checks it against the hash in `NAME.json`.
pub(crate) fn read(dir: &Path, name: &str) -> Vec<u8> {
    let record_path = dir.join(format!("{name}.json"));
    let record =
        fs::read(&record_path).unwrap_or_else(|error| panic!("{}: {error}", record_path.display()));
    let record: serde_json::Value = serde_json::from_slice(&record)
        .unwrap_or_else(|error| panic!("{}: {error}", record_path.display()));
    let path = dir.join(format!("{name}.wasm.zst"));
    let packed = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let module = unpack(&packed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(
        Some(&*sha256(&module)),
        record["sha256"].as_str(),
        "{} is not the module that {} describes",
        path.display(),
        record_path.display()
    );
    module
}

fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let decoder = StreamingDecoder::new(packed).map_err(io::Error::other)?;
    let mut module = Vec::new();
    decoder.take(GUEST_BYTES_MAX).read_to_end(&mut module)?;
    Ok(module)
}

/// SHA-256 of `bytes` in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").expect("writing to a string never fails");
    }
    hex
}
