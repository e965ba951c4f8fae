//! One instance of the guest: its export as a method.

use wasmtime::component::{InstancePre, TypedFunc};
use wasmtime::{Store, ensure};

use super::State;

/// A program that does what every program does.
const SMALLEST_PROGRAM: &str = "x = [str(i) for i in range(3)]\nlen(x)";

/// A guest and everything it can reach.
pub(crate) struct Guest {
    store: Store<State>,
    run: TypedFunc<(String, String), ((u32, String),)>,
}

impl Guest {
    /// Makes an instance. Its heap is as it was when the component was made: Python is initialised
    /// and everything a program imports is there.
    pub(crate) fn new(component: &InstancePre<State>) -> wasmtime::Result<Self> {
        let mut store = Store::new(component.engine(), State::new());
        store.limiter(|state| &mut state.host);
        store.set_epoch_deadline(1);
        let instance = component.instantiate(&mut store)?;
        let run = instance.get_typed_func(&mut store, "run")?;
        Ok(Self { store, run })
    }

    pub(crate) fn state_mut(&mut self) -> &mut State {
        self.store.data_mut()
    }

    /// Runs the smallest program, so that the pages every program needs are there, and copied where
    /// it writes to them, before one comes.
    pub(crate) fn warm_up(&mut self) -> wasmtime::Result<()> {
        let (kind, text) = self.run(
            SMALLEST_PROGRAM,
            r#"{"input":null,"servers":[],"limits":{}}"#,
        )?;
        ensure!(kind == 0, "the smallest program failed: {text}");
        Ok(())
    }

    /// Runs a program; once in the life of an instance.
    pub(crate) fn run(&mut self, program: &str, globals: &str) -> wasmtime::Result<(u32, String)> {
        let params = (program.to_owned(), globals.to_owned());
        let (end,) = self.run.call(&mut self.store, params)?;
        Ok(end)
    }
}
