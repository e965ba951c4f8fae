//! The Python guest. It was already initialised when its component was built.

use wasmtime::Engine;

use crate::Output;
use crate::artifact::sha256;
use crate::symbols::without_symbols;

/// Writes machine code and hash of `component`.
pub(crate) fn compile(target: &Engine, component: &[u8], out: &Output) {
    let machine_code = target
        .precompile_component(component)
        .expect("the guest compiles");
    out.write("code.cwasm", without_symbols(&machine_code));
    out.write("sha256", sha256(component));
}
