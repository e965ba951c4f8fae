//! Imports of a JavaScript guest: three functions.
//!
//! Nothing a guest passes is trusted: every pointer is checked against its memory, every length
//! against a bound before a byte is copied, every number against what it may be.

use limbeck_analysis::typescript::Positions;
use limbeck_domain::HostOp;
use wasmtime::{Caller, Engine, Extern, Linker};

use super::state::{GuestEnd, GuestState};
use crate::fault::GuestError;
use crate::host::{HostError, LineTarget, check_call};

/// Error texts of the guest, as JSON: five of 8 KiB, escaped at worst six to one.
const ERROR_BYTES_MAX: u32 = 256 << 10;

/// Bytes of a printed text in which stacks are looked for: a text of one is short, and a program may print a gigabyte.
const STACK_BYTES_MAX: usize = 16 << 10;

/// Links the imports of the guest, and nothing else.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<GuestState>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "call", call)?;
    linker.func_wrap("host", "log", log)?;
    linker.func_wrap("host", "done", done)?;
    Ok(linker)
}

fn call(
    mut caller: Caller<'_, GuestState>,
    id: u32,
    op: u32,
    head: u32,
    head_bytes: u32,
    body: u32,
    body_bytes: u32,
) -> wasmtime::Result<()> {
    let op = HostOp::from_number(op).ok_or(HostError::Misuse("unknown host call"))?;
    check_call(id, head_bytes as usize, body_bytes as usize)?;
    let (memory, state) = memory_and_state(&mut caller)?;
    let head = text(memory, head, head_bytes)?;
    let body = text(memory, body, body_bytes)?;
    Ok(state.host.call(id, op, head, body)?)
}

fn log(
    mut caller: Caller<'_, GuestState>,
    stream: u32,
    at: u32,
    bytes: u32,
) -> wasmtime::Result<()> {
    let target = LineTarget::from_number(stream)?;
    let (memory, state) = memory_and_state(&mut caller)?;
    let line = slice(memory, at, bytes)?;
    match target {
        LineTarget::Printed(stream) => match with_places(state.positions.as_deref(), line) {
            Some(line) => state.host.log(stream, line.as_bytes())?,
            None => state.host.log(stream, line)?,
        },
        LineTarget::Warnings => state.host.warn(line),
        LineTarget::GivenUp => state.host.give_up(line),
    }
    Ok(())
}

/// A printed stack with the places of the model's text. `None` for other texts.
fn with_places(positions: Option<&Positions>, printed: &[u8]) -> Option<String> {
    let is_short = printed.len() <= STACK_BYTES_MAX;
    let positions = positions.filter(|_| is_short && Positions::may_have_frame(printed))?;
    positions.in_frames(std::str::from_utf8(printed).ok()?)
}

fn done(
    mut caller: Caller<'_, GuestState>,
    kind: u32,
    at: u32,
    bytes: u32,
) -> wasmtime::Result<()> {
    let (memory, state) = memory_and_state(&mut caller)?;
    if state.end.is_some() {
        return Err(HostError::Misuse("the program ended twice").into());
    }
    if kind == 0 {
        state.host.check_value(bytes as usize)?;
    } else if bytes > ERROR_BYTES_MAX {
        return Err(HostError::Misuse("error text above its bound").into());
    }
    let text = text(memory, at, bytes)?;
    state.end = Some(match kind {
        0 => GuestEnd::Value(Some(text).filter(|text| !text.is_empty())),
        1 => GuestEnd::Threw(GuestError::read(&text)?),
        2 => GuestEnd::NotSerialisable(text),
        3 => GuestEnd::Syntax(GuestError::read(&text)?),
        _ => return Err(HostError::Misuse("unknown end of the program").into()),
    });
    Ok(())
}

fn memory_and_state<'c>(
    caller: &'c mut Caller<'_, GuestState>,
) -> Result<(&'c [u8], &'c mut GuestState), HostError> {
    match caller.get_export("memory") {
        Some(Extern::Memory(memory)) => {
            let (memory, state) = memory.data_and_store_mut(caller);
            Ok((memory, state))
        }
        _ => Err(HostError::Misuse("the guest has no memory")),
    }
}

/// Copies text out of the guest. Guests write UTF-8; what is not is replaced, not refused.
fn text(memory: &[u8], at: u32, bytes: u32) -> Result<String, HostError> {
    Ok(String::from_utf8_lossy(slice(memory, at, bytes)?).into_owned())
}

fn slice(memory: &[u8], at: u32, bytes: u32) -> Result<&[u8], HostError> {
    let at = at as usize;
    at.checked_add(bytes as usize)
        .and_then(|end| memory.get(at..end))
        .ok_or(HostError::Misuse("text outside the guest's memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_inside_the_memory_and_refused_outside() {
        let memory = b"abcdef";
        assert_eq!(text(memory, 1, 3).unwrap(), "bcd");
        assert_eq!(text(memory, 6, 0).unwrap(), "");
        for (at, bytes) in [(0, 7), (6, 1), (7, 0), (u32::MAX, 1), (1, u32::MAX)] {
            assert!(text(memory, at, bytes).is_err(), "{at} {bytes}");
        }
        assert_eq!(text(b"a\xffb", 0, 3).unwrap(), "a\u{fffd}b");
    }
}
