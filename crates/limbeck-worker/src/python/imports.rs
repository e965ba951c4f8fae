//! The gateway, as `world.wit` of the guest names it.

use limbeck_wire::domain::HostOp;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, WasmStr};

use super::State;
use crate::host::{Stop, check_call, stream_of};

/// Answers of one `wait`: id, whether the call succeeded, JSON text.
type Answers = Vec<(u32, bool, String)>;

pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut root = linker.root();
    root.func_wrap("call", call)?;
    root.func_wrap("log", log)?;
    root.func_wrap("wait", wait)
}

fn call(
    mut store: StoreContextMut<'_, State>,
    (id, op, head, body): (u32, u32, WasmStr, WasmStr),
) -> wasmtime::Result<()> {
    let op = HostOp::from_number(op).ok_or(Stop::Misuse("unknown host call"))?;
    // Both are still the guest's memory here; they are copied when their sizes are known.
    let (head, body) = (head.to_str(&store)?, body.to_str(&store)?);
    check_call(id, head.len(), body.len())?;
    let (head, body) = (head.into_owned(), body.into_owned());
    Ok(store.data_mut().host.call(id, op, head, body)?)
}

fn log(
    mut store: StoreContextMut<'_, State>,
    (stream, text): (u32, WasmStr),
) -> wasmtime::Result<()> {
    let stream = stream_of(stream)?;
    let text = text.to_str(&store)?;
    // What is beyond the bound of the log is not copied out of the guest.
    let line = limbeck_wire::domain::text::cut(&text, store.data().host.limits.log_bytes);
    let (line, cut) = (line.to_owned(), text.len() - line.len());
    let state = store.data_mut();
    state.log(stream, &line)?;
    state.host.log_bytes_dropped += cut as u64;
    Ok(())
}

fn wait(
    mut store: StoreContextMut<'_, State>,
    (wake_at_us,): (i64,),
) -> wasmtime::Result<(Answers,)> {
    let state = store.data_mut();
    if state.answers.is_empty() {
        state.turn(u64::try_from(wake_at_us).ok())?;
    }
    let answers = state.answers.drain(..).map(|answer| match answer.result {
        Ok(json) => (answer.id.0, true, json),
        Err(json) => (answer.id.0, false, json),
    });
    Ok((answers.collect(),))
}
