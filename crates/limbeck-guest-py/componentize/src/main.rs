//! Makes a component of the Python guest: CPython, its standard library and our prelude, run up to
//! the moment before a program arrives, and stored as they are then.
//!
//! `limbeck-componentize WIT OUT PATH...`: the world, the file to write, and the directories Python
//! looks for modules in; the one with `app.py` is among them.
//!
//! The work is done by `componentize-py`, which runs Python under WASI and stores its memory. What
//! Python sees of this machine while that happens ends up in the memory, so [`still`] shows it a
//! machine where nothing differs from one build to the next.

#![forbid(unsafe_code)]

mod still;

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use componentize_py::{ComponentGenerator, Ctx};
use tokio::runtime;
use wasmtime::component::Linker;

/// Module that is imported before the memory is stored and answers afterwards.
const APP: &str = "app";
/// Our world's own imports. Nothing can answer them yet.
const OF_THE_GATEWAY: [&str; 3] = ["call", "log", "wait"];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [wit, out, paths @ ..] = arguments.as_slice() else {
        bail!("usage: limbeck-componentize WIT OUT PATH...");
    };
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let no_names = HashMap::new();
    let generator = ComponentGenerator {
        wit_paths: &[Path::new(wit)],
        worlds: &[],
        features: &[],
        all_features: false,
        world_module: None,
        python_path: &paths,
        module_worlds: &[],
        app_name: APP,
        output_path: Path::new(out),
        add_to_linker: Some(&link),
        stub_wasi: false,
        import_interface_names: &no_names,
        export_interface_names: &no_names,
        full_names: false,
        intersect_world: None,
    };
    // Files are read on this very thread or on one that is waited for: one thing at a time.
    runtime::Builder::new_current_thread()
        .build()?
        .block_on(generator.generate())
        .with_context(|| format!("component of {wit}"))
}

fn link(linker: &mut Linker<Ctx>) -> anyhow::Result<()> {
    still::add_to_linker(linker)?;
    for name in OF_THE_GATEWAY {
        linker.root().func_new(name, move |_, _, _, _| {
            wasmtime::bail!("`{name}` was called while the guest was being built")
        })?;
    }
    Ok(())
}
