//! A committed guest, and whether it has been compiled before.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sha2::{Digest, Sha256};
use wasmtime::Engine;

use crate::out;

/// Bound of an unpacked guest; Python's is about 31 MB.
const GUEST_BYTES_MAX: usize = 128 << 20;

/// One guest as it was committed.
pub(crate) struct Artifact {
    name: &'static str,
    packed: Vec<u8>,
    sha256: String,
}

impl Artifact {
    /// Reads `guests/NAME.wasm.zst` and its record.
    pub(crate) fn read(name: &'static str) -> Self {
        let record = format!("guests/{name}.json");
        let text = fs::read(&record).unwrap_or_else(|error| panic!("{record}: {error}"));
        let value: serde_json::Value =
            serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{record}: {error}"));
        let sha256 = value["sha256"]
            .as_str()
            .unwrap_or_else(|| panic!("{record}: no `sha256`"));
        let path = format!("guests/{name}.wasm.zst");
        Self {
            name,
            packed: fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")),
            sha256: sha256.to_owned(),
        }
    }

    /// Unpacks it and checks that it is what its record describes.
    pub(crate) fn unpack(&self) -> Vec<u8> {
        let name = self.name;
        let wasm = zstd::bulk::decompress(&self.packed, GUEST_BYTES_MAX)
            .unwrap_or_else(|error| panic!("guests/{name}.wasm.zst: {error}"));
        assert_eq!(
            sha256(&wasm),
            self.sha256,
            "guests/{name}.wasm.zst is not the module guests/{name}.json describes"
        );
        wasm
    }

    /// Calls `make` unless it was done before with this artifact, this engine and this `maker`, the
    /// source text of who makes it. `make` has to leave all it makes in files of `OUT_DIR`.
    pub(crate) fn once(&self, engine: &Engine, maker: &str, make: impl FnOnce()) {
        let mut settings = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        let key = sha256(
            format!(
                "{} {} {:x} {maker}",
                sha256(&self.packed),
                self.sha256,
                settings.finish()
            )
            .as_bytes(),
        );
        let path = out(&format!("{}.key", self.name));
        if fs::read_to_string(&path).is_ok_and(|made| made == key) {
            return;
        }
        make();
        fs::write(path, key).expect("OUT_DIR is writable");
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").expect("a String takes everything");
    }
    hex
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo speaks to a build script through its environment"
)]
pub(crate) fn setting(name: &str) -> String {
    env::var(name).expect("cargo sets it for every build script")
}
