//! One instance of the guest: its exports as methods.

use wasmtime::Store;
use wasmtime::component::{InstancePre, TypedFunc};

use super::state::GuestState;

/// A guest and everything it can reach.
pub(super) struct Guest {
    store: Store<GuestState>,
    warm_up: TypedFunc<(), ()>,
    run: TypedFunc<(String, String), ((u32, String),)>,
}

impl Guest {
    /// Makes an instance. Its heap is as it was when the component was made: Python is initialised
    /// and everything a program imports is there.
    pub(super) fn new(component: &InstancePre<GuestState>) -> wasmtime::Result<Self> {
        let mut store = Store::new(component.engine(), GuestState::new());
        store.limiter(|state| &mut state.host);
        store.set_epoch_deadline(1);
        let instance = component.instantiate(&mut store)?;
        Ok(Self {
            warm_up: instance.get_typed_func(&mut store, "warm-up")?,
            run: instance.get_typed_func(&mut store, "run")?,
            store,
        })
    }

    pub(super) fn state_mut(&mut self) -> &mut GuestState {
        self.store.data_mut()
    }

    /// Does once what every program does, so that the pages it needs are there, and copied where it
    /// writes to them, before one comes. What that leaves behind is the same in every instance.
    pub(super) fn warm_up(&mut self) -> wasmtime::Result<()> {
        self.warm_up.call(&mut self.store, ())
    }

    /// Runs a program; once in the life of an instance.
    pub(super) fn run(&mut self, program: &str, globals: &str) -> wasmtime::Result<(u32, String)> {
        let params = (program.to_owned(), globals.to_owned());
        let (end,) = self.run.call(&mut self.store, params)?;
        Ok(end)
    }
}
