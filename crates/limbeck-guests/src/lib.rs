//! The two guests as machine code, and the settings of the engine that runs them.
//!
//! `artifacts/` holds each guest as WebAssembly, compressed, with a record of what it was built from;
//! `cargo xtask guests` writes both. The build script has `compiler/` turn them into machine code for the
//! target, and [`image`] embeds the result.

mod engine_config;
mod image;

pub use engine_config::{WASM_STACK_BYTES, engine_config};
pub use image::{WRITTEN_PAGE_BYTES, WRITTEN_PAGES, guest_hash, load_javascript, load_python};
