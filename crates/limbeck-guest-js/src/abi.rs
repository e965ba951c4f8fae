//! Exports and imports: the only place where raw pointers are seen.

#![expect(
    unsafe_code,
    reason = "pointers cross the module boundary here and nowhere else"
)]

use std::cell::RefCell;
use std::ptr;

use crate::clock;
use crate::engine::Engine;
use crate::random;

mod import {
    #[link(wasm_import_module = "host")]
    unsafe extern "C" {
        pub(super) fn call(
            id: u32,
            op: u32,
            head: *const u8,
            head_len: usize,
            body: *const u8,
            body_len: usize,
        );
        pub(super) fn log(stream: u32, text: *const u8, len: usize);
        pub(super) fn done(kind: u32, text: *const u8, len: usize);
    }
}

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

/// Hands one host call to the host, which copies both texts.
pub(crate) fn host_call(id: u32, op: u32, head: &str, body: &str) {
    // SAFETY: both ranges are live for the call and the host only reads them.
    unsafe { import::call(id, op, head.as_ptr(), head.len(), body.as_ptr(), body.len()) }
}

/// Prints one line on stdout (0) or stderr (1).
pub(crate) fn host_log(stream: u32, text: &str) {
    // SAFETY: the range is live for the call and the host only reads it.
    unsafe { import::log(stream, text.as_ptr(), text.len()) }
}

/// Ends the program; `kind` as in the crate's documentation.
pub(crate) fn host_done(kind: u32, text: &str) {
    // SAFETY: the range is live for the call and the host only reads it.
    unsafe { import::done(kind, text.as_ptr(), text.len()) }
}

/// Reserves one byte more than asked: the engine wants its sources NUL-terminated, and so the text
/// of a large answer is parsed where the host wrote it.
#[unsafe(no_mangle)]
extern "C" fn alloc(len: usize) -> *mut u8 {
    let mut buffer: Vec<u8> = Vec::new();
    if buffer.try_reserve_exact(len.saturating_add(1)).is_err() {
        return ptr::null_mut();
    }
    debug_assert_eq!(buffer.capacity(), len + 1);
    let pointer = buffer.as_mut_ptr();
    std::mem::forget(buffer);
    pointer
}

/// Takes back a buffer the host has filled.
fn take(pointer: *mut u8, len: usize) -> Vec<u8> {
    // SAFETY: the host passes a pointer it got from `alloc(len)` and passes it once; `alloc` made it
    // with exactly this capacity, and the host has written `len` bytes.
    unsafe { Vec::from_raw_parts(pointer, len, len + 1) }
}

fn with_engine<R>(body: impl FnOnce(&Engine) -> R) -> R {
    ENGINE.with_borrow(|engine| {
        body(
            engine
                .as_ref()
                .expect("`wizer-initialize` ran at build time"),
        )
    })
}

#[unsafe(export_name = "wizer-initialize")]
extern "C" fn initialize() {
    ENGINE.set(Some(Engine::new()));
}

#[unsafe(no_mangle)]
extern "C" fn start(
    seed: *mut u8,
    now_us: u64,
    globals: *mut u8,
    globals_len: usize,
    memory_bytes: usize,
) {
    let seed = take(seed, random::SEED_BYTES);
    random::seed(seed.try_into().expect("a seed of SEED_BYTES"));
    clock::set(now_us);
    with_engine(|engine| engine.start(take(globals, globals_len), memory_bytes));
}

#[unsafe(no_mangle)]
extern "C" fn run(source: *mut u8, len: usize) -> i32 {
    with_engine(|engine| engine.run(take(source, len))).into()
}

#[unsafe(no_mangle)]
extern "C" fn deliver(id: u32, ok: i32, text: *mut u8, len: usize) {
    with_engine(|engine| engine.deliver(id, ok != 0, take(text, len)));
}

#[unsafe(no_mangle)]
extern "C" fn pump(now_us: u64) -> i32 {
    clock::set(now_us);
    with_engine(Engine::pump).into()
}

#[unsafe(no_mangle)]
extern "C" fn wake_at() -> i64 {
    clock::wake_at().map_or(-1, |deadline| i64::try_from(deadline).unwrap_or(i64::MAX))
}

/// The clock of the engine's own `Date`. rquickjs declares it as an import; defined here it is the
/// guest clock, and the module needs nothing from outside.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    clock::now_us() as f64
}
