//! The guests as machine code in the executable's read-only data, run in place.
//!
//! The code is aligned to pages, and its text pages are made executable where they are. So no worker
//! copies it, and all workers of a gateway share its pages. On systems other than Linux the code is
//! copied, because pages of a signed executable may not change there.
//!
//! This is the only file of the crate with `unsafe` in it.

use limbeck_domain::Language;
use wasmtime::component::Component;
use wasmtime::{Config, Engine, Module};

/// Aligns its content to the largest page of the target.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct PageAligned<T: ?Sized>(T);

static JAVASCRIPT: &PageAligned<[u8]> = &PageAligned(*include_bytes!(concat!(
    env!("GUEST_JS_DIR"),
    "/code.cwasm"
)));
static PYTHON: &PageAligned<[u8]> = &PageAligned(*include_bytes!(concat!(
    env!("GUEST_PY_DIR"),
    "/code.cwasm"
)));

/// Granularity of [`WRITTEN_PAGES`]: the smallest page of any target.
pub const WRITTEN_PAGE_BYTES: usize = 4096;

/// Page numbers of the JavaScript guest's memory that the smallest program writes to, measured by
/// the build script.
pub static WRITTEN_PAGES: &[u32] = include!(concat!(env!("GUEST_JS_DIR"), "/written-pages.rs"));

/// SHA-256 of the guest that runs programs of `language`, in hex. It covers the WebAssembly and not
/// the machine code, so a journal written on one machine replays on another.
pub fn guest_hash(language: Language) -> &'static str {
    match language {
        Language::Typescript => include_str!(concat!(env!("GUEST_JS_DIR"), "/sha256")),
        Language::Python => include_str!(concat!(env!("GUEST_PY_DIR"), "/sha256")),
    }
}

/// Loads the JavaScript guest.
///
/// # Errors
///
/// When the processor lacks a feature that the code was compiled for, or the system refuses
/// executable pages.
pub fn load_javascript(config: &mut Config) -> wasmtime::Result<(Engine, Module)> {
    let engine = imp::engine(config)?;
    let module = imp::module(&engine, &JAVASCRIPT.0)?;
    Ok((engine, module))
}

/// Loads the Python guest.
///
/// # Errors
///
/// When the processor lacks a feature that the code was compiled for, or the system refuses
/// executable pages.
pub fn load_python(config: &mut Config) -> wasmtime::Result<(Engine, Component)> {
    let engine = imp::engine(config)?;
    let component = imp::component(&engine, &PYTHON.0)?;
    Ok((engine, component))
}

#[cfg(target_os = "linux")]
mod imp {
    use std::ptr::NonNull;
    use std::sync::Arc;

    use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};
    use wasmtime::component::Component;
    use wasmtime::{Config, CustomCodeMemory, Engine, Module};

    /// Changes the protection of pages of the binary itself.
    struct InPlace;

    impl InPlace {
        fn protect(text: *const u8, bytes: usize, flags: MprotectFlags) -> wasmtime::Result<()> {
            #[expect(unsafe_code, reason = "no safe interface changes page protection")]
            // SAFETY: wasmtime passes the text section of the module it was given: whole pages of a
            // static, which shares no page with other data because it is aligned to pages. The pages
            // stay readable and are never writable, so every reference to them remains valid.
            let result = unsafe { mprotect(text.cast_mut().cast(), bytes, flags) };
            result.map_err(wasmtime::Error::new)
        }

        /// Maps all of the code now, in one step, rather than a page at a time when it first runs.
        fn populate(text: *const u8, bytes: usize) {
            #[expect(unsafe_code, reason = "no safe interface gives advice on pages")]
            // SAFETY: reading pages in changes nothing that is visible through a reference to them.
            let result =
                unsafe { madvise(text.cast_mut().cast(), bytes, Advice::LinuxPopulateRead) };
            // Kernels before 5.14 do not know the advice, and the code runs without it.
            let _ = result;
        }
    }

    impl CustomCodeMemory for InPlace {
        fn required_alignment(&self) -> usize {
            rustix::param::page_size()
        }

        fn publish_executable(&self, text: *const u8, bytes: usize) -> wasmtime::Result<()> {
            Self::protect(text, bytes, MprotectFlags::READ | MprotectFlags::EXEC)?;
            Self::populate(text, bytes);
            Ok(())
        }

        fn unpublish_executable(&self, text: *const u8, bytes: usize) -> wasmtime::Result<()> {
            Self::protect(text, bytes, MprotectFlags::READ)
        }
    }

    pub(super) fn engine(config: &mut Config) -> wasmtime::Result<Engine> {
        config.with_custom_code_memory(Some(Arc::new(InPlace)));
        Engine::new(config)
    }

    pub(super) fn module(engine: &Engine, code: &'static [u8]) -> wasmtime::Result<Module> {
        #[expect(
            unsafe_code,
            reason = "precompiled code cannot be verified when it is loaded"
        )]
        // SAFETY: the build script of this crate wrote the bytes with `Engine::precompile_module` of
        // the same wasmtime release. They are a static, so they are never freed or written to.
        unsafe {
            Module::deserialize_raw(engine, NonNull::from(code))
        }
    }

    pub(super) fn component(engine: &Engine, code: &'static [u8]) -> wasmtime::Result<Component> {
        #[expect(
            unsafe_code,
            reason = "precompiled code cannot be verified when it is loaded"
        )]
        // SAFETY: as in `module`, with `Engine::precompile_component`.
        unsafe {
            Component::deserialize_raw(engine, NonNull::from(code))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use wasmtime::component::Component;
    use wasmtime::{Config, Engine, Module};

    pub(super) fn engine(config: &mut Config) -> wasmtime::Result<Engine> {
        Engine::new(config)
    }

    pub(super) fn module(engine: &Engine, code: &'static [u8]) -> wasmtime::Result<Module> {
        #[expect(
            unsafe_code,
            reason = "precompiled code cannot be verified when it is loaded"
        )]
        // SAFETY: the build script of this crate wrote the bytes with `Engine::precompile_module` of
        // the same wasmtime release.
        unsafe {
            Module::deserialize(engine, code)
        }
    }

    pub(super) fn component(engine: &Engine, code: &'static [u8]) -> wasmtime::Result<Component> {
        #[expect(
            unsafe_code,
            reason = "precompiled code cannot be verified when it is loaded"
        )]
        // SAFETY: as in `module`, with `Engine::precompile_component`.
        unsafe {
            Component::deserialize(engine, code)
        }
    }
}
