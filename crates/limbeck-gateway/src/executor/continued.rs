//! The part of a run that is in the journal already, when an execution is continued.
//!
//! The guest is given what it was given before, and every call that it makes has to be the one in the journal. Nothing is sent and
//! nothing is written meanwhile. When the journal has no further delivery and the guest waits, the run goes on from there.

use std::collections::BTreeMap;
use std::sync::Arc;

use limbeck_domain::{CallId, Delivered, ErrorKind, HostCall, HostOp, ProgramError, Settlement};

use super::playback::Playback;

/// How far a continued run has repeated its journal.
#[derive(Debug)]
pub(super) struct Continued {
    playback: Arc<Playback>,
    /// Deliveries repeated so far.
    repeated: usize,
    /// Calls made again whose results were not delivered yet.
    undelivered: BTreeMap<CallId, HostCall>,
    /// The newest call.
    newest: CallId,
}

/// What is done with a call of the journal whose result the guest does not have.
#[derive(Debug)]
pub(super) enum OpenCall {
    /// Its outcome is in the journal.
    Answered(HostCall),
    /// A person said what happened to it.
    Settled(HostCall, Settlement),
    /// It is made, or made again: it has not reached a server, or only reads, or a person is asked about it.
    Make(HostCall),
}

impl OpenCall {
    pub(super) fn id(&self) -> CallId {
        match self {
            Self::Answered(call) | Self::Settled(call, _) | Self::Make(call) => call.id,
        }
    }
}

impl Continued {
    pub(super) fn new(playback: Arc<Playback>) -> Self {
        Self {
            playback,
            repeated: 0,
            undelivered: BTreeMap::new(),
            newest: CallId::default(),
        }
    }

    pub(super) fn playback(&self) -> &Arc<Playback> {
        &self.playback
    }

    /// Takes a call that the guest makes again.
    ///
    /// # Errors
    ///
    /// When the journal has another call in its place.
    pub(super) fn made(&mut self, call: HostCall) -> Result<(), ProgramError> {
        if let Some(recorded) = self.playback.calls.get(&call.id)
            && *recorded != call
        {
            return Err(diverged(&format!("call {} differs", call.id)));
        }
        self.newest = call.id;
        self.undelivered.insert(call.id, call);
        Ok(())
    }

    /// The next delivery of the journal, and the calls that it answers.
    pub(super) fn next(&mut self) -> Option<(Delivered, Vec<HostCall>)> {
        let delivered = self.playback.delivered.get(self.repeated)?.clone();
        self.repeated += 1;
        let calls = delivered.calls.iter();
        let calls = calls.filter_map(|id| self.undelivered.remove(id)).collect();
        Some((delivered, calls))
    }

    /// Whether the guest has done all that the journal says, when it ends or waits.
    ///
    /// # Errors
    ///
    /// When deliveries or calls of the journal are left.
    pub(super) fn check_end(&self) -> Result<(), ProgramError> {
        if self.repeated < self.playback.delivered.len() {
            return Err(diverged(
                "it ended before it had all results of its journal",
            ));
        }
        match self.playback.calls.keys().next_back() {
            Some(last) if *last > self.newest => {
                Err(diverged(&format!("it did not make call {last}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The calls whose results the guest waits for.
    ///
    /// # Errors
    ///
    /// When one of them is in doubt: nothing goes on before a person said what happened to it.
    pub(super) fn open(self) -> Result<Vec<OpenCall>, ProgramError> {
        let playback = &self.playback;
        let calls = self.undelivered.into_values();
        calls
            .map(|call| {
                let id = call.id;
                if playback.result(id).is_some() {
                    return Ok(OpenCall::Answered(call));
                }
                if let Some(how) = playback.settled.get(&id) {
                    return Ok(OpenCall::Settled(call, how.clone()));
                }
                match playback.sent.get(&id) {
                    Some(effect) if effect.may_write() => Err(in_doubt(id)),
                    Some(_) | None => Ok(OpenCall::Make(call)),
                }
            })
            .collect()
    }
}

/// Whether a call adds to what the client gets beside the value, which no journal has.
pub(super) fn emits(call: &HostCall) -> bool {
    call.op == HostOp::Emit
}

fn diverged(how: &str) -> ProgramError {
    ProgramError::new(
        ErrorKind::Diverged,
        format!("the program did something else than its journal says when it was continued: {how}; nothing was sent"),
    )
    .with_hint("run the program again, after checking with the journal what it has done: `limbeck executions ID`")
}

fn in_doubt(id: CallId) -> ProgramError {
    ProgramError::new(
        ErrorKind::Gateway,
        format!("call {id} may have happened, so the execution is not continued"),
    )
    .with_hint("say what happened to it with `limbeck reconcile`")
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{CallError, EffectClass, JournalEntry};

    use super::*;

    fn call(id: u32, body: &str) -> HostCall {
        HostCall {
            id: CallId(id),
            op: HostOp::Tool,
            head: String::new(),
            body: body.to_owned(),
        }
    }

    fn intent(id: u32, effect: EffectClass) -> JournalEntry {
        JournalEntry::Call {
            call: call(id, "{}"),
            tool: None,
            arguments_removed: None,
            key: None,
            sent_us: None,
            effect,
            sent: true,
            plan_line: None,
        }
    }

    fn outcome(id: u32) -> JournalEntry {
        JournalEntry::Outcome {
            id: CallId(id),
            result: Ok::<_, CallError>("1".to_owned()),
            took_us: 1,
            not_sent: false,
        }
    }

    fn continued(journal: Vec<JournalEntry>) -> Continued {
        Continued::new(Arc::new(Playback::read(journal)))
    }

    #[test]
    fn another_call_than_that_of_the_journal_ends_the_run_and_the_same_does_not() {
        let mut run = continued(vec![intent(1, EffectClass::Write), outcome(1)]);
        assert!(run.made(call(1, "{}")).is_ok());
        assert!(run.check_end().is_ok());
        let mut run = continued(vec![intent(1, EffectClass::Write), outcome(1)]);
        let error = run.made(call(1, "{\"a\":1}")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Diverged);
    }

    #[test]
    fn a_run_that_leaves_out_a_call_or_a_delivery_diverged() {
        let delivered = JournalEntry::Delivered(Delivered {
            now_us: 1,
            calls: vec![CallId(1)],
        });
        let run = continued(vec![
            intent(1, EffectClass::Read),
            outcome(1),
            delivered.clone(),
        ]);
        assert_eq!(run.check_end().unwrap_err().kind, ErrorKind::Diverged);
        let run = continued(vec![intent(1, EffectClass::Read), outcome(1)]);
        assert_eq!(run.check_end().unwrap_err().kind, ErrorKind::Diverged);
    }

    #[test]
    fn open_calls_are_answered_made_again_or_in_doubt() {
        let journal = vec![
            intent(1, EffectClass::Write),
            outcome(1),
            intent(2, EffectClass::Read),
        ];
        let mut run = continued(journal);
        for id in 1..=3 {
            run.made(call(id, "{}")).unwrap();
        }
        let open = run.open().unwrap();
        assert!(matches!(
            open.as_slice(),
            [OpenCall::Answered(_), OpenCall::Make(_), OpenCall::Make(_)]
        ));
        let mut run = continued(vec![intent(1, EffectClass::Unknown)]);
        run.made(call(1, "{}")).unwrap();
        assert!(run.open().is_err());
        let settled = JournalEntry::Settled {
            call: CallId(1),
            how: Settlement::GiveUp,
        };
        let mut run = continued(vec![intent(1, EffectClass::Unknown), settled]);
        run.made(call(1, "{}")).unwrap();
        let open = run.open().unwrap();
        assert!(matches!(
            open.as_slice(),
            [OpenCall::Settled(_, Settlement::GiveUp)]
        ));
    }
}
