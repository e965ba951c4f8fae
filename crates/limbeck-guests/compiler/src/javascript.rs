//! The JavaScript guest: runs its initialisation and stores the resulting heap in the module.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::{Engine, Instance, Linker, Module, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

use crate::artifact::sha256;
use crate::symbols::without_symbols;
use crate::{Output, host_config};

/// Name the guest gives its initialisation function.
const INITIALIZE: &str = "wizer-initialize";
/// Size of the pages that are compared; equal to `WRITTEN_PAGE_BYTES` in `src/image.rs`.
const PAGE_BYTES: usize = 4096;

/// Writes machine code and hash of the initialised module, and which pages of its heap every program
/// writes to.
pub(crate) fn compile(target: &Engine, module: &[u8], out: &Output) {
    let initialized = initialize(module);
    let machine_code = target
        .precompile_module(&initialized)
        .expect("the guest compiles");
    let pages = format!("&{:?}", written_pages(&initialized));
    out.write("code.cwasm", without_symbols(&machine_code));
    out.write("written-pages.rs", pages);
    out.write("sha256", sha256(&initialized));
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
