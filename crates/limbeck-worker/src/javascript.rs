//! JavaScript: QuickJS as a WebAssembly module, from the source of a program to its end.
//!
//! The guest runs in slices. A slice begins when the gateway's answers are delivered and ends when the program
//! waits or has ended. Calls and printed lines of a slice are sent at its end, in one write.

mod guest;
mod imports;
mod numbers;
mod script;
mod state;

use std::sync::Arc;

use limbeck_analysis::typescript::{self, Positions};
use limbeck_domain::{Language, Mode};
use limbeck_wire::{Delivery, Fault, Start};
use wasmtime::{Engine, Module};

use self::guest::{Guest, GuestStart, RunStatus};
use self::script::Script;
use self::state::GuestEnd;
use crate::engine::LanguageEngine;
use crate::fault::{self, LanguageTerms};
use crate::host::Host;
use crate::outcome::{RunEnd, start_globals};

/// QuickJS with a guest that is ready for one program.
pub(crate) struct JavascriptEngine {
    guest: Guest,
    /// Whether a warning of a number that lost digits was given; one is enough.
    warned_of_digits: bool,
}

impl JavascriptEngine {
    /// Makes a guest of a loaded module.
    pub(crate) fn new(engine: &Engine, module: &Module) -> wasmtime::Result<Self> {
        let module = imports::linker(engine)?.instantiate_pre(module)?;
        let guest = crate::instance::first(|| Guest::new(&module))?;
        typescript::warm_up();
        Ok(Self {
            guest,
            warned_of_digits: false,
        })
    }

    /// Warns of a whole number that the engine reads as another one.
    fn warn_of_digits(&mut self, json: &str) {
        if self.warned_of_digits {
            return;
        }
        let Some((written, read)) = numbers::first_inexact(json) else {
            return;
        };
        self.warned_of_digits = true;
        let warning = format!(
            "a result has the number `{written}`, which JavaScript reads as `{read}`: its numbers hold 16 digits; a Python \
             program keeps them all"
        );
        self.host_mut().warn(warning.as_bytes());
    }

    /// Reports that the guest waits, and waits for answers.
    fn wait(&mut self) -> Result<Delivery, RunEnd> {
        let wake_at = self.guest.wake_at();
        let wake_at_us = self.or_end(wake_at)?;
        let delivery = self.host_mut().wait(wake_at_us);
        self.or_end(delivery.map_err(Into::into))
    }

    fn deliver(&mut self, delivery: &Delivery) -> wasmtime::Result<RunStatus> {
        for answer in &delivery.results {
            if let Ok(json) = &answer.result {
                self.warn_of_digits(json);
            }
            self.guest.deliver(answer.id.0, &answer.result)?;
        }
        self.guest.pump(delivery.now_us)
    }

    fn result(&self, end: GuestEnd, positions: &Positions) -> Result<Option<String>, Fault> {
        match end {
            GuestEnd::Value(value) => Ok(value),
            GuestEnd::NotSerialisable(why) => Err(fault::not_serialisable(
                why,
                "return plain objects, arrays, strings, numbers, booleans or null",
            )),
            GuestEnd::Threw(error) => {
                let host = &self.guest.state().host;
                let full = host.memory_bytes() >= host.limits.memory_bytes / 8 * 7;
                let position = positions.of_stack(&error.stack);
                Err(fault::from_javascript(error, &host.limits, full, position))
            }
            GuestEnd::Syntax(error) => {
                let position = positions.of_stack(&error.stack);
                Err(fault::from_javascript_syntax(error, position))
            }
        }
    }

    fn or_end<T>(&self, result: wasmtime::Result<T>) -> Result<T, RunEnd> {
        let host = &self.guest.state().host;
        result.map_err(|error| RunEnd::from_guest(error, host, LanguageTerms::JAVASCRIPT))
    }
}

impl LanguageEngine for JavascriptEngine {
    fn language(&self) -> Language {
        Language::Typescript
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.guest.state_mut().host
    }

    fn warm_up(&mut self) -> wasmtime::Result<()> {
        self.guest.wake_at()?;
        self.guest.touch_pages();
        Ok(())
    }

    fn execute(
        &mut self,
        start: &Start,
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, RunEnd> {
        let terms = LanguageTerms::JAVASCRIPT;
        let script = match &start.recorded {
            Some(recorded) => Script::recorded(recorded, self.host_mut(), terms, warnings)?,
            None => Script::erased(&start.program, self.host_mut(), terms, warnings)?,
        };
        let start = &start.program;
        if start.mode != Mode::Run {
            return Ok(None);
        }
        let positions = Arc::new(script.positions);
        self.guest.state_mut().positions = Some(Arc::clone(&positions));
        let guest_start = GuestStart {
            seed: &start.seed,
            now_us: start.now_us,
            globals: &start_globals(start, &script.full_names),
            memory_bytes: start.limits.memory_bytes,
        };
        let first = self
            .guest
            .start(&guest_start)
            .and_then(|()| self.guest.run(&script.text));
        let mut status = self.or_end(first)?;
        loop {
            if let Some(end) = self.guest.state_mut().end.take() {
                return Ok(self.result(end, &positions)?);
            }
            // The guest calls `host.done` before it reports that it has finished.
            if status == RunStatus::Finished {
                return Err(fault::no_result().into());
            }
            let delivery = self.wait()?;
            let slice = self.deliver(&delivery);
            status = self.or_end(slice)?;
        }
    }
}
