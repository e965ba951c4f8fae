//! Exports of the module: what the host calls in its guest.

#![expect(
    unsafe_code,
    reason = "exports have fixed symbol names and take pointers from the host"
)]

use std::cell::RefCell;
use std::ptr;

use crate::clock;
use crate::engine::Engine;
use crate::random;

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
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
