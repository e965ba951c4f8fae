//! Makes the guest ready to run: unpacked, checked, pre-initialised and compiled ahead of time.
//!
//! In: `guests/guest-js.wasm.zst` and `guests/guest-js.json`, made by `cargo xtask guests`.
//! Out: `OUT_DIR/guest-js.cwasm`, machine code for the target; `LIMBECK_GUEST_HASH`, the SHA-256 of
//! the pre-initialised module; and `OUT_DIR/guest-js-written-pages.rs`, the pages of its heap that
//! every program writes to. The hash names the guest's behaviour and not its machine code, so a
//! journal written on one machine replays on another.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sha2::{Digest, Sha256};
use wasmtime::{Engine, Instance, Linker, Module, OptLevel, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

#[path = "src/engine_config.rs"]
mod engine_config;

const GUEST: &str = "guests/guest-js.wasm.zst";
const MANIFEST: &str = "guests/guest-js.json";
/// Name the guest gives its initialisation function.
const INITIALIZE: &str = "wizer-initialize";
/// Pages that are compared; `WRITTEN_PAGE_BYTES` in `src/image.rs` says the same.
const PAGE_BYTES: usize = 4096;
/// Bound of the unpacked guest; it is about 2 MB.
const GUEST_BYTES_MAX: usize = 64 << 20;

fn main() {
    for input in ["build.rs", "src/engine_config.rs", GUEST, MANIFEST] {
        println!("cargo::rerun-if-changed={input}");
    }
    let wasm = unpack();
    let initialized = initialize(&wasm);
    let machine_code = compile(&initialized);
    fs::write(out_path("guest-js.cwasm"), machine_code).expect("OUT_DIR is writable");
    let pages = format!("&{:?}", written_pages(&initialized));
    fs::write(out_path("guest-js-written-pages.rs"), pages).expect("OUT_DIR is writable");
    println!(
        "cargo::rustc-env=LIMBECK_GUEST_HASH={}",
        sha256(&initialized)
    );
}

fn unpack() -> Vec<u8> {
    let packed = fs::read(GUEST).unwrap_or_else(|error| panic!("{GUEST}: {error}"));
    let wasm = zstd::bulk::decompress(&packed, GUEST_BYTES_MAX)
        .unwrap_or_else(|error| panic!("{GUEST}: {error}"));
    let manifest = fs::read(MANIFEST).unwrap_or_else(|error| panic!("{MANIFEST}: {error}"));
    let manifest: serde_json::Value =
        serde_json::from_slice(&manifest).unwrap_or_else(|error| panic!("{MANIFEST}: {error}"));
    let expected = manifest["sha256"]
        .as_str()
        .unwrap_or_else(|| panic!("{MANIFEST}: no `sha256`"));
    let actual = sha256(&wasm);
    assert_eq!(
        actual, expected,
        "{GUEST} is not the module {MANIFEST} describes"
    );
    wasm
}

/// Runs the guest's initialisation and stores the resulting heap in the module. No import has an
/// implementation here, so an initialisation that asks for the time or for anything else fails
/// the build instead of being frozen into it.
fn initialize(wasm: &[u8]) -> Vec<u8> {
    let mut wizer = Wizer::new();
    wizer.init_func(INITIALIZE);
    let (context, instrumented) = wizer
        .instrument(wasm)
        .expect("the guest can be instrumented");
    let engine = Engine::new(&host_config()).expect("the engine supports the build machine");
    let module = Module::new(&engine, instrumented).expect("the instrumented guest compiles");
    let mut store = Store::new(&engine, ());
    store.set_epoch_deadline(1);
    let mut linker = Linker::new(&engine);
    linker
        .define_unknown_imports_as_traps(&module)
        .expect("imports can be stubbed");
    let instance = linker
        .instantiate(&mut store, &module)
        .expect("the guest instantiates");
    instance
        .get_typed_func::<(), ()>(&mut store, INITIALIZE)
        .and_then(|function| function.call(&mut store, ()))
        .expect("the guest initialises");
    let mut state = Initialized { store, instance };
    ready(wizer.snapshot(&context, &mut state)).expect("the initialised guest can be stored")
}

fn compile(wasm: &[u8]) -> Vec<u8> {
    let target = setting("TARGET");
    let mut config = host_config();
    // Naming the target also keeps features of the build machine's processor out.
    config
        .target(&target)
        .expect("the engine supports the target");
    Engine::new(&config)
        .expect("the settings fit the target")
        .precompile_module(wasm)
        .expect("the guest compiles")
}

/// Runs the smallest program and compares the memory before and after, page by page.
fn written_pages(wasm: &[u8]) -> Vec<usize> {
    let engine = Engine::new(&host_config()).expect("the engine supports the build machine");
    let module = Module::new(&engine, wasm).expect("the initialised guest compiles");
    let mut store = Store::new(&engine, ());
    store.set_epoch_deadline(1);
    let mut linker = Linker::new(&engine);
    linker
        .func_wrap("host", "done", |_: u32, _: u32, _: u32| {})
        .and_then(|linker| linker.define_unknown_imports_as_traps(&module))
        .expect("imports can be stubbed");
    let instance = linker
        .instantiate(&mut store, &module)
        .expect("the initialised guest instantiates");
    let memory = instance
        .get_memory(&mut store, "memory")
        .expect("the guest has a memory");
    let before = memory.data(&store).to_vec();
    run_smallest_program(&mut store, &instance).expect("the smallest program runs");
    let pages = |memory: &[u8]| {
        memory
            .chunks(PAGE_BYTES)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    let (before, after) = (pages(&before), pages(memory.data(&store)));
    (0..before.len())
        .filter(|page| before[*page] != after[*page])
        .collect()
}

fn run_smallest_program(store: &mut Store<()>, instance: &Instance) -> wasmtime::Result<()> {
    let memory = instance
        .get_memory(&mut *store, "memory")
        .expect("the guest has a memory");
    let alloc = instance.get_typed_func::<u32, u32>(&mut *store, "alloc")?;
    let put = |store: &mut Store<()>, bytes: &[u8]| -> wasmtime::Result<(u32, u32)> {
        let length = u32::try_from(bytes.len())?;
        let at = alloc.call(&mut *store, length)?;
        memory.write(store, at as usize, bytes)?;
        Ok((at, length))
    };
    let (seed, _) = put(store, &[0; 32])?;
    let (globals, bytes) = put(store, br#"{"input":null,"servers":[],"limits":{}}"#)?;
    let start = instance.get_typed_func::<(u32, u64, u32, u32, u32), ()>(&mut *store, "start")?;
    start.call(&mut *store, (seed, 0, globals, bytes, 256 << 20))?;
    let script = put(store, b"(async function () { return 1; })")?;
    let run = instance.get_typed_func::<(u32, u32), i32>(&mut *store, "run")?;
    run.call(store, script).map(drop)
}

fn host_config() -> wasmtime::Config {
    let mut config = engine_config::engine_config();
    config.cranelift_opt_level(OptLevel::Speed);
    // A replay on another architecture must see the same bits.
    config.cranelift_nan_canonicalization(true);
    config
}

struct Initialized {
    store: Store<()>,
    instance: Instance,
}

impl InstanceState for Initialized {
    async fn global_get(&mut self, name: &str, _type: ValType) -> SnapshotVal {
        let global = self
            .instance
            .get_global(&mut self.store, name)
            .expect("wizer asks only for globals it exported");
        match global.get(&mut self.store) {
            Val::I32(value) => SnapshotVal::I32(value),
            Val::I64(value) => SnapshotVal::I64(value),
            Val::F32(value) => SnapshotVal::F32(value),
            Val::F64(value) => SnapshotVal::F64(value),
            other => panic!("global `{name}` holds {other:?}, which a snapshot cannot"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self
            .instance
            .get_memory(&mut self.store, name)
            .expect("wizer asks only for memories it exported");
        contents(memory.data(&self.store));
    }
}

/// Runs a future that never waits: [`Initialized`] answers at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("nothing in a snapshot waits"),
    }
}

fn sha256(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        write!(hex, "{byte:02x}").expect("a String takes everything");
    }
    hex
}

fn out_path(name: &str) -> PathBuf {
    Path::new(&setting("OUT_DIR")).join(name)
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo speaks to a build script through its environment"
)]
fn setting(name: &str) -> String {
    env::var(name).expect("cargo sets it for every build script")
}
