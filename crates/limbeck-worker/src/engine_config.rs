//! Settings of the WebAssembly engine that must be the same where the guest is compiled and where
//! it runs. `build.rs` takes this file in by path: a module compiled under other settings is
//! refused when it is loaded.

use wasmtime::Config;

/// Native stack that guest code may use. QuickJS needs about 1 KiB per JavaScript frame, so this
/// is room for more frames than the engine's own limit allows: its error comes first.
pub(crate) const WASM_STACK_BYTES: usize = 32 << 20;

/// The settings both sides share.
pub(crate) fn engine_config() -> Config {
    let mut config = Config::new();
    // Every loop and function of the guest checks the epoch, so native loops of the JavaScript
    // engine stop as surely as loops of the program.
    config.epoch_interruption(true);
    config.max_wasm_stack(WASM_STACK_BYTES);
    // Nothing here is asynchronous; the engine wants this to be at least as large all the same.
    config.async_stack_size(WASM_STACK_BYTES);
    // The initialised heap is mapped copy-on-write: a page costs memory when it is written to.
    config.memory_init_cow(true);
    // Nobody reads wasm frames; JavaScript positions come from the guest itself.
    config.wasm_backtrace_max_frames(None);
    config.generate_address_map(false);
    if !cfg!(windows) {
        config.native_unwind_info(false);
    }
    config
}
