//! One QuickJS runtime with one context and the prelude's hooks.

use rquickjs::allocator::RustAllocator;
use rquickjs::context::EvalOptions;
use rquickjs::function::IntoArgs;
use rquickjs::{Context, Ctx, Error, Function, Object, Persistent, Runtime, Value};

use crate::clock;
use crate::natives;

/// Stack of the module as the linker lays it out; `-z stack-size` in `xtask/src/guests.rs` says the same.
const STACK_BYTES: usize = STACK_BYTES_MAX + (512 << 10);
/// What the engine may use of it: the rest is for native code that runs above a full stack.
/// Almost 11,000 plain frames; the host's own stack holds them in 12 MiB.
const STACK_BYTES_MAX: usize = 4 << 20;
/// Allocated bytes before the first cycle collection. Most programs end before it.
const GC_THRESHOLD_BYTES: usize = 8 << 20;
/// Memory that is neither stack nor the engine's heap: code tables, the texts of answers, slack.
const OVERHEAD_BYTES: usize = 4 << 20;

/// Name of the prelude in stack traces; the prelude removes its own frames by it.
const PRELUDE_NAME: &str = "limbeck";
/// Name of the program in stack traces.
const PROGRAM_NAME: &str = "program";

/// The prelude: one function of the natives. Its parts share one scope and are evaluated in this order.
const PRELUDE: &str = concat!(
    "(native) => { 'use strict';\n",
    include_str!("../prelude/intrinsics.js"),
    include_str!("../prelude/warnings.js"),
    include_str!("../prelude/errors.js"),
    include_str!("../prelude/inspect.js"),
    include_str!("../prelude/json.js"),
    include_str!("../prelude/answers.js"),
    include_str!("../prelude/calls.js"),
    include_str!("../prelude/tools.js"),
    include_str!("../prelude/servers.js"),
    include_str!("../prelude/artifacts.js"),
    include_str!("../prelude/compat.js"),
    include_str!("../prelude/skills.js"),
    include_str!("../prelude/workspace.js"),
    include_str!("../prelude/llm.js"),
    include_str!("../prelude/console.js"),
    include_str!("../prelude/timers.js"),
    include_str!("../prelude/clone.js"),
    include_str!("../prelude/abort.js"),
    include_str!("../prelude/tail.js"),
    include_str!("../prelude/tail-timers.js"),
    include_str!("../prelude/encoding.js"),
    include_str!("../prelude/crypto.js"),
    include_str!("../prelude/url.js"),
    include_str!("../prelude/intl.js"),
    include_str!("../prelude/intl-number.js"),
    include_str!("../prelude/intl-date.js"),
    include_str!("../prelude/hints.js"),
    include_str!("../prelude/main.js"),
    "}",
);

/// Whether the program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Waiting,
    Finished,
}

impl From<Status> for i32 {
    fn from(status: Status) -> Self {
        match status {
            Status::Waiting => 0,
            Status::Finished => 1,
        }
    }
}

type Hook = Persistent<Function<'static>>;

/// The prelude's functions that the engine calls; `prelude/main.js` returns them.
struct Hooks {
    /// `(globals)`: what differs from program to program.
    begin: Hook,
    /// `(returned)`: what the program returned; sees to its end.
    watch: Hook,
    /// `(error)`: the program threw before it returned.
    fail: Hook,
    /// `(error)`: the source cannot be parsed.
    refuse: Hook,
    /// `(id, ok, value)`: an answer.
    settle: Hook,
    /// `(id)`: a timer.
    fire: Hook,
    /// `()`: no job is left; returns whether there is one now.
    rest: Hook,
    /// `(promise, reason, handled)`: a rejection found or lost its handler.
    reject: Hook,
}

/// The engine of one instance.
pub(crate) struct Engine {
    runtime: Runtime,
    context: Context,
    hooks: Hooks,
}

impl Engine {
    /// Makes the engine and evaluates the prelude. Runs at build time: a failure fails the build.
    pub(crate) fn new() -> Self {
        // Not the C library's allocator: on this target the engine cannot ask it for the size of a
        // block, and a block without a size escapes the memory limit.
        let runtime = Runtime::new_with_alloc(RustAllocator).expect("memory for a runtime");
        runtime.set_max_stack_size(STACK_BYTES_MAX);
        runtime.set_gc_threshold(GC_THRESHOLD_BYTES);
        let context = Context::full(&runtime).expect("memory for a context");
        let hooks = context.with(|ctx| match boot(&ctx) {
            Ok(hooks) => hooks,
            Err(error) => panic!("prelude: {error}: {:?}", ctx.catch()),
        });
        let engine = Self {
            runtime,
            context,
            hooks,
        };
        engine.track_rejections();
        engine.runtime.run_gc();
        engine
    }

    fn track_rejections(&self) {
        let hook = self.hooks.reject.clone();
        self.runtime
            .set_host_promise_rejection_tracker(Some(Box::new(
                move |ctx, promise, reason, handled| {
                    // The hook can only fail for want of memory, and then a line of log is missing.
                    let _ = call(&ctx, &hook, (promise, reason, handled));
                },
            )));
    }

    /// Sets what differs from program to program. `memory_bytes` is the size of the linear memory.
    pub(crate) fn start(&self, globals: Vec<u8>, memory_bytes: usize) {
        let heap = memory_bytes.saturating_sub(STACK_BYTES + OVERHEAD_BYTES);
        self.runtime.set_memory_limit(heap.max(1));
        self.context.with(|ctx| {
            let begun = ctx
                .json_parse(globals)
                .and_then(|globals| call(&ctx, &self.hooks.begin, (globals,)));
            give_up_on(&ctx, begun);
        });
    }

    /// Evaluates `source` to a function and calls it.
    ///
    /// It is called from here and not by the prelude, so that a stack trace a program prints shows
    /// its own frames alone.
    pub(crate) fn run(&self, source: Vec<u8>) -> Status {
        self.context.with(|ctx| {
            if natives::is_finished() {
                return;
            }
            natives::set_source(&source);
            let mut options = EvalOptions::default();
            options.strict = false;
            options.filename = Some(PROGRAM_NAME.to_owned());
            let ended = match ctx.eval_with_options::<Function, _>(source, options) {
                Err(error) => call(&ctx, &self.hooks.refuse, (thrown(&ctx, error),)),
                Ok(program) => match program.call::<_, Value>(()) {
                    Err(error) => call(&ctx, &self.hooks.fail, (thrown(&ctx, error),)),
                    Ok(returned) => call(&ctx, &self.hooks.watch, (returned,)),
                },
            };
            give_up_on(&ctx, ended);
        });
        self.run_jobs();
        self.status()
    }

    /// Settles the promise of call `id`. Text that is not JSON is a fault of the host; the program
    /// sees the engine's `SyntaxError`.
    pub(crate) fn deliver(&self, id: u32, ok: bool, text: Vec<u8>) {
        self.context.with(|ctx| {
            let (ok, value) = match ctx.json_parse(text) {
                Ok(value) => (ok, value),
                Err(error) => (false, thrown(&ctx, error)),
            };
            give_up_on(&ctx, call(&ctx, &self.hooks.settle, (id, ok, value)));
        });
    }

    /// Fires every timer that is due and runs the jobs after each.
    pub(crate) fn pump(&self) -> Status {
        self.run_jobs();
        while !natives::is_finished()
            && let Some(timer) = clock::take_due()
        {
            self.context.with(|ctx| {
                give_up_on(&ctx, call(&ctx, &self.hooks.fire, (timer,)));
            });
            self.run_jobs();
        }
        self.status()
    }

    /// Runs all jobs. A program that has returned ends here, when it has nothing else to wait for.
    fn run_jobs(&self) {
        loop {
            self.run_queued_jobs();
            if natives::is_finished() || !self.rest() {
                return;
            }
        }
    }

    /// A job that throws is out of memory or stack: what a program throws becomes a rejection.
    fn run_queued_jobs(&self) {
        while !natives::is_finished() {
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => self.context.with(|ctx| {
                    let error = ctx.catch();
                    give_up_on(&ctx, call(&ctx, &self.hooks.fail, (error,)));
                }),
            }
        }
    }

    /// Reports to the prelude that no job is left. Returns whether it made one.
    fn rest(&self) -> bool {
        self.context.with(|ctx| {
            let rest = self.hooks.rest.clone().restore(&ctx);
            match rest.and_then(|rest| rest.call::<_, bool>(())) {
                Ok(made_one) => made_one,
                Err(error) => {
                    give_up_on(&ctx, Err(error));
                    false
                }
            }
        })
    }

    /// Whether the program ended. The host ends a program that waits for something that never settles, because
    /// the host knows the calls in flight.
    fn status(&self) -> Status {
        if natives::is_finished() {
            Status::Finished
        } else {
            Status::Waiting
        }
    }
}

fn boot(ctx: &Ctx<'_>) -> rquickjs::Result<Hooks> {
    let mut options = EvalOptions::default();
    options.filename = Some(PRELUDE_NAME.to_owned());
    let prelude: Function = ctx.eval_with_options(PRELUDE, options)?;
    let hooks: Object = prelude.call((natives::object(ctx)?,))?;
    let hook = |name: &str| -> rquickjs::Result<Hook> {
        Ok(Persistent::save(ctx, hooks.get::<_, Function>(name)?))
    };
    Ok(Hooks {
        begin: hook("begin")?,
        watch: hook("watch")?,
        fail: hook("fail")?,
        refuse: hook("refuse")?,
        settle: hook("settle")?,
        fire: hook("fire")?,
        rest: hook("rest")?,
        reject: hook("reject")?,
    })
}

fn call<'js, A: IntoArgs<'js>>(ctx: &Ctx<'js>, hook: &Hook, args: A) -> rquickjs::Result<()> {
    hook.clone().restore(ctx)?.call(args)
}

/// Ends the program when a hook failed. The hooks throw nothing of their own, so it is the memory
/// limit, and there is too little left to describe it any better.
fn give_up_on(ctx: &Ctx<'_>, called: rquickjs::Result<()>) {
    if called.is_err() {
        ctx.catch();
        natives::out_of_memory();
    }
}

/// The value behind `error`: what was thrown, or a text for a failure of the binding itself.
fn thrown<'js>(ctx: &Ctx<'js>, error: Error) -> Value<'js> {
    match error {
        Error::Exception => ctx.catch(),
        other => rquickjs::Exception::from_message(ctx.clone(), &other.to_string())
            .map_or_else(|_| ctx.catch(), |exception| exception.into_value()),
    }
}
