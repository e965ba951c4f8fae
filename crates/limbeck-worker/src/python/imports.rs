//! Imports of a Python guest that reach the gateway, as `world.wit` of the guest declares them.

use limbeck_domain::HostOp;
use limbeck_domain::text::cut;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, WasmStr};

use super::state::GuestState;
use crate::host::{HostError, LineTarget, check_call};

/// Answers of one `wait`: id, whether the call succeeded, JSON text.
type Answers = Vec<(u32, bool, String)>;

pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    let mut root = linker.root();
    root.func_wrap("call", call)?;
    root.func_wrap("log", log)?;
    root.func_wrap("wait", wait)
}

fn call(
    mut store: StoreContextMut<'_, GuestState>,
    (id, op, head, body): (u32, u32, WasmStr, WasmStr),
) -> wasmtime::Result<()> {
    let op = HostOp::from_number(op).ok_or(HostError::Misuse("unknown host call"))?;
    // Both are still the guest's memory here; they are copied when their sizes are known.
    let (head, body) = (head.to_str(&store)?, body.to_str(&store)?);
    check_call(id, head.len(), body.len())?;
    let (head, body) = (head.into_owned(), body.into_owned());
    Ok(store.data_mut().host.call(id, op, head, body)?)
}

fn log(
    mut store: StoreContextMut<'_, GuestState>,
    (stream, text): (u32, WasmStr),
) -> wasmtime::Result<()> {
    let target = LineTarget::from_number(stream)?;
    let text = text.to_str(&store)?;
    // No more is copied out of the guest than can be kept: the beginning and the end.
    let log_bytes = store.data().host.limits.log_bytes;
    let (beginning, end) = match text.len() > 4 * log_bytes {
        true => (cut(&text, 2 * log_bytes), end_of(&text, 2 * log_bytes)),
        false => (&*text, ""),
    };
    let left_out = text.len() - beginning.len() - end.len();
    let text = [beginning, end].concat();
    let state = store.data_mut();
    match target {
        LineTarget::Printed(stream) => {
            state.log(stream, &text)?;
            state.host.printed.leave_out(stream, left_out);
        }
        LineTarget::Warnings => state.host.warn(text.as_bytes()),
        LineTarget::GivenUp => state.host.give_up(text.as_bytes()),
    }
    Ok(())
}

/// The end of a text in at most `bytes_max`.
fn end_of(text: &str, bytes_max: usize) -> &str {
    let from = text.len().saturating_sub(bytes_max);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}

fn wait(
    mut store: StoreContextMut<'_, GuestState>,
    (wake_at_us,): (i64,),
) -> wasmtime::Result<(Answers,)> {
    let state = store.data_mut();
    if state.answers.is_empty() {
        state.wait(u64::try_from(wake_at_us).ok())?;
    }
    let answers = state.answers.drain(..).map(|answer| match answer.result {
        Ok(json) => (answer.id.0, true, json),
        Err(json) => (answer.id.0, false, json),
    });
    Ok((answers.collect(),))
}
