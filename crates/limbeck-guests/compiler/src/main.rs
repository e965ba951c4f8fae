//! Compiles one guest to machine code: `limbeck-guest-compiler GUEST TARGET TARGET_OS ARTIFACTS OUT`.
//!
//! In: `ARTIFACTS/GUEST.wasm.zst` and `ARTIFACTS/GUEST.json`, written by `cargo xtask guests`.
//! Out: `OUT/code.cwasm`, machine code for TARGET, and `OUT/sha256`, the hash of the WebAssembly that was
//! compiled; for JavaScript also `OUT/written-pages.rs`. The build script of `limbeck-guests` runs this
//! program and keeps its output.

use std::fs;
use std::path::{Path, PathBuf};

use wasmtime::{Engine, OptLevel};

mod artifact;
#[path = "../../src/engine_config.rs"]
#[allow(dead_code, reason = "the product uses more of it")]
mod engine_config;
mod javascript;
mod python;
mod symbols;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [guest, target, target_os, artifacts, out] = &arguments[..] else {
        panic!("usage: limbeck-guest-compiler GUEST TARGET TARGET_OS ARTIFACTS OUT");
    };
    let engine = target_engine(target, target_os);
    let module = artifact::read(Path::new(artifacts), guest);
    let out = Output(PathBuf::from(out));
    match guest.as_str() {
        "guest-js" => javascript::compile(&engine, &module, &out),
        "guest-py" => python::compile(&engine, &module, &out),
        other => panic!("unknown guest `{other}`"),
    }
}

/// The directory that the compiled guest is written to.
struct Output(PathBuf);

impl Output {
    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The compiler for the machine the product will run on.
fn target_engine(target: &str, target_os: &str) -> Engine {
    let mut config = host_config();
    // Naming the target also keeps features of the build machine's processor out.
    config
        .target(target)
        .expect("the engine supports the target");
    // Windows walks the stack through every frame, and the engine requires what it needs for that;
    // `engine_config` only knows the system it was compiled for, which is the build machine's.
    config.native_unwind_info(target_os == "windows");
    Engine::new(&config).expect("the settings fit the target")
}

/// Settings of an engine that runs on the build machine and behaves like the product's.
fn host_config() -> wasmtime::Config {
    let mut config = engine_config::engine_config();
    config.cranelift_opt_level(OptLevel::Speed);
    // A replay on another architecture must see the same bits.
    config.cranelift_nan_canonicalization(true);
    config
}
