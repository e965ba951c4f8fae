//! Makes the guests ready to run: unpacked, checked, and compiled ahead of time.
//!
//! In: `guests/guest-*.wasm.zst` and `guests/guest-*.json`, made by `cargo xtask guests`.
//! Out: `OUT_DIR/guest-*.cwasm`, machine code for the target, and `OUT_DIR/guest-*.sha256`, the hash of
//! what was compiled. The hash names the guest's behaviour and not its machine code, so a journal
//! written on one machine replays on another.
//!
//! Compiling takes a minute. What was made is kept in `OUT_DIR` with a key of what it was made from,
//! so that a change of one guest does not compile the other.

use std::path::Path;

use wasmtime::{Engine, OptLevel};

#[path = "build/artifact.rs"]
mod artifact;
#[path = "src/engine_config.rs"]
mod engine_config;
#[path = "build/javascript.rs"]
mod javascript;
#[path = "build/python.rs"]
mod python;

fn main() {
    for input in ["build.rs", "build", "src/engine_config.rs", "guests"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let target = target_engine();
    javascript::make(&target);
    python::make(&target);
}

/// The compiler for the machine the product will run on.
fn target_engine() -> Engine {
    let mut config = host_config();
    // Naming the target also keeps features of the build machine's processor out.
    config
        .target(&artifact::setting("TARGET"))
        .expect("the engine supports the target");
    // Windows walks the stack through every frame, and the engine insists on what it needs for that;
    // `engine_config` knows but the machine it runs on.
    config.native_unwind_info(artifact::setting("CARGO_CFG_TARGET_OS") == "windows");
    Engine::new(&config).expect("the settings fit the target")
}

/// Settings of an engine that runs on the build machine and does what the product's will do.
fn host_config() -> wasmtime::Config {
    let mut config = engine_config::engine_config();
    config.cranelift_opt_level(OptLevel::Speed);
    // A replay on another architecture must see the same bits.
    config.cranelift_nan_canonicalization(true);
    config
}

/// Where a file of this build goes.
fn out(name: &str) -> std::path::PathBuf {
    Path::new(&artifact::setting("OUT_DIR")).join(name)
}
