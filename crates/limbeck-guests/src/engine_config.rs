//! Settings of the WebAssembly engine that must be the same where a guest is compiled and where it runs.
//!
//! `compiler/` includes this file by path. Machine code compiled under other settings is refused when it
//! is loaded.

use wasmtime::Config;

/// Native stack that guest code may use. QuickJS needs about 1 KiB per JavaScript frame, so the
/// engine's own limit on frames is reached before this one, and its error is the clearer one.
pub const WASM_STACK_BYTES: usize = 32 << 20;

/// Returns the settings that the compiler and the worker share.
pub fn engine_config() -> Config {
    let mut config = Config::new();
    // Every loop and function of the guest checks the epoch, so native loops of the JavaScript
    // engine stop as surely as loops of the program.
    config.epoch_interruption(true);
    config.max_wasm_stack(WASM_STACK_BYTES);
    // Nothing here is asynchronous, but the engine requires this to be at least as large.
    config.async_stack_size(WASM_STACK_BYTES);
    // The initialised heap is mapped copy-on-write: a page costs memory once it is written to.
    config.memory_init_cow(true);
    // WebAssembly frames are never shown; JavaScript positions come from the guest itself.
    config.wasm_backtrace_max_frames(None);
    config.generate_address_map(false);
    if !cfg!(windows) {
        config.native_unwind_info(false);
    }
    config
}
