//! Native functions of the prelude. They are properties of one object that only the prelude holds;
//! a program cannot name it.

use std::cell::{Cell, RefCell};

use rquickjs::function::IntoJsFunc;
use rquickjs::{Ctx, Function, Object, String as JsString};

use crate::{clock, imports, random};

mod answers;
mod bytes;
mod collate;
mod json;
mod text;
mod url;

thread_local! {
    static FINISHED: Cell<bool> = const { Cell::new(false) };
    static CALLS: Cell<u32> = const { Cell::new(0) };
    static SOURCE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Whether `done` was called.
pub(crate) fn is_finished() -> bool {
    FINISHED.get()
}

/// Keeps the program's source, to name what an error is about.
pub(crate) fn set_source(source: &[u8]) {
    SOURCE.set(source.to_vec());
}

/// Ends the program with the error of an exhausted memory, without the engine's help.
pub(crate) fn out_of_memory() {
    if !is_finished() {
        FINISHED.set(true);
        imports::host_done(
            1,
            r#"{"name":"InternalError","message":"out of memory","stack":""}"#,
        );
    }
}

/// Makes the object with all natives.
pub(crate) fn object<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let natives = Object::new(ctx.clone())?;
    add(&natives, "call", call)?;
    add(&natives, "log", log)?;
    add(&natives, "done", done)?;
    add(&natives, "exhausted", out_of_memory)?;
    add(&natives, "nowUs", || clock::now_us() as f64)?;
    add(&natives, "startTimer", |id: u32, delay_us: f64| {
        clock::start_timer(id, delay_us as u64);
    })?;
    add(&natives, "stopTimer", clock::stop_timer)?;
    add(&natives, "random", random::unit)?;
    add(&natives, "sourceLine", source_line)?;
    answers::add_to(&natives)?;
    bytes::add_to(&natives)?;
    collate::add_to(&natives)?;
    text::add_to(&natives)?;
    url::add_to(&natives)?;
    Ok(natives)
}

/// Adds one native under `name`.
fn add<'js, P, F>(natives: &Object<'js>, name: &str, function: F) -> rquickjs::Result<()>
where
    F: IntoJsFunc<'js, P> + 'js,
{
    natives.set(
        name,
        Function::new(natives.ctx().clone(), function)?.with_name(name)?,
    )
}

/// Sends a host call and returns its id; 0 once the program has ended.
fn call(op: u32, head: JsString<'_>, body: JsString<'_>) -> rquickjs::Result<u32> {
    if is_finished() {
        return Ok(0);
    }
    let id = CALLS.get() + 1;
    let (head, body) = (head.to_cstring()?, body.to_cstring()?);
    CALLS.set(id);
    imports::host_call(id, op, &json::well_formed(&head), &json::well_formed(&body));
    Ok(id)
}

fn log(stream: u32, line: JsString<'_>) -> rquickjs::Result<()> {
    if !is_finished() {
        imports::host_log(stream, &line.to_cstring()?);
    }
    Ok(())
}

fn done(kind: u32, text: JsString<'_>) -> rquickjs::Result<()> {
    if !is_finished() {
        let text = text.to_cstring()?;
        FINISHED.set(true);
        imports::host_done(kind, &json::well_formed(&text));
    }
    Ok(())
}

/// Line `number` of the program, counted from 1.
fn source_line(number: usize) -> Option<String> {
    SOURCE.with_borrow(|source| {
        let line = source
            .split(|&byte| byte == b'\n')
            .nth(number.checked_sub(1)?)?;
        Some(String::from_utf8_lossy(line).into_owned())
    })
}
