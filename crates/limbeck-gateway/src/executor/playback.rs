//! The journal of an execution, by what the worker asks for: what it is given again.

use std::collections::{BTreeMap, VecDeque};

use limbeck_domain::{
    ApprovalId, ArtifactId, CallError, CallId, Delivered, EffectClass, ErasedProgram, ExecutionId,
    HostCall, JournalEntry, Settlement, ToolId, Verdict,
};
use limbeck_store::{Store, StoreError};
use limbeck_wire::{CallResult, CheckRequest, CheckVerdict, Delivery, RecordedProgram, ToWorker};

use super::erasure;
use super::messages::verdict_json;
use crate::approvals::PlanRecord;
use crate::broker::{Opened, part_again};

/// Journal of an execution, by what the worker asks for.
#[derive(Debug)]
pub(super) struct Playback {
    pub(super) check: Option<(CheckRequest, Verdict)>,
    /// The program as the guest ran it; absent in journals of earlier releases, and for Python.
    erased: Option<ErasedProgram>,
    pub(super) calls: BTreeMap<CallId, HostCall>,
    pub(super) outcomes: BTreeMap<CallId, Result<String, CallError>>,
    /// Calls that were answered with a part of an artifact.
    pub(super) parts: BTreeMap<CallId, ArtifactId>,
    artifacts: BTreeMap<ArtifactId, Opened>,
    pub(super) delivered: VecDeque<Delivered>,
    /// Calls that were sent to a server, with their effect; those that had none there after all are left out.
    pub(super) sent: BTreeMap<CallId, EffectClass>,
    /// Tools of the calls that were sent.
    pub(super) tools: BTreeMap<CallId, ToolId>,
    /// Questions to people, by their call.
    pub(super) asked: BTreeMap<CallId, ApprovalId>,
    /// What the journal has of the program's plan.
    pub(super) plan: PlanRecord,
    /// Questions that people decided, each with the number of its first decision.
    decided: BTreeMap<ApprovalId, usize>,
    /// What happened to calls that were in doubt, as long as they were not sent again.
    pub(super) settled: BTreeMap<CallId, Settlement>,
    /// Whether the program is damaged, or retention removed arguments, the value or printed text that this run would be
    /// compared with.
    is_cut: bool,
}

impl Playback {
    pub(super) fn read(journal: Vec<JournalEntry>) -> Self {
        let mut playback = Self {
            check: None,
            erased: None,
            calls: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            parts: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            delivered: VecDeque::new(),
            sent: BTreeMap::new(),
            tools: BTreeMap::new(),
            asked: BTreeMap::new(),
            plan: PlanRecord::default(),
            decided: BTreeMap::new(),
            settled: BTreeMap::new(),
            is_cut: false,
        };
        for entry in journal {
            match entry {
                JournalEntry::Check { sites, verdict, .. } => {
                    playback.check = Some((CheckRequest { sites }, verdict));
                }
                JournalEntry::Erased(recorded) => {
                    playback.erased = erasure::read(recorded);
                    // A script that is not the one it began with would do something else.
                    playback.is_cut |= playback.erased.is_none();
                }
                JournalEntry::Call {
                    call,
                    arguments_removed,
                    effect,
                    sent,
                    tool,
                    plan_line,
                    ..
                } => {
                    playback.plan.counted(plan_line);
                    if let Some(tool) = tool {
                        playback.tools.insert(call.id, tool);
                    }
                    playback.is_cut |= arguments_removed.is_some();
                    if sent {
                        playback.sent.insert(call.id, effect);
                        // Sent again by the word of a person.
                        playback.settled.remove(&call.id);
                    }
                    playback.calls.insert(call.id, call);
                }
                JournalEntry::Outcome {
                    id,
                    result,
                    not_sent,
                    ..
                } => {
                    if not_sent {
                        playback.sent.remove(&id);
                    }
                    playback.outcomes.insert(id, result);
                }
                JournalEntry::Part { id, artifact, .. } => {
                    playback.parts.insert(id, artifact);
                }
                JournalEntry::Delivered(delivered) => playback.delivered.push_back(delivered),
                JournalEntry::Asked { call, approval, .. } => {
                    playback.asked.insert(call.id, approval);
                    playback.calls.entry(call.id).or_insert(call);
                }
                JournalEntry::PlanAsked { approval } => playback.plan.asked(approval),
                JournalEntry::PlanSettled { approval, lines } => {
                    playback.plan.settled(approval, lines);
                }
                JournalEntry::Settled { call, how } => {
                    playback.settled.insert(call, how);
                }
                JournalEntry::Ended { is_cut, .. } => playback.is_cut |= is_cut,
                JournalEntry::Decided { approval, .. } => {
                    let number = playback.decided.len();
                    playback.decided.entry(approval).or_insert(number);
                }
                // Results that are missing are found by a check of their own. Which process owns an execution is not part of
                // what the guest did.
                JournalEntry::Removed { .. } | JournalEntry::Took { .. } => {}
            }
        }
        playback
    }

    /// Reads the contents that parts are read from again, each once. Returns whether every result is there that the
    /// program received, all arguments and the whole end: retention removes them from large journals of executions that wrote.
    pub(super) async fn read_artifacts(
        &mut self,
        store: &Store,
        id: &ExecutionId,
    ) -> Result<bool, StoreError> {
        for artifact in self.parts.values() {
            if self.artifacts.contains_key(artifact) {
                continue;
            }
            let Some((media_type, content)) = store.journalled_artifact(id, artifact).await? else {
                return Ok(false);
            };
            let opened = Opened {
                id: artifact.clone(),
                media_type,
                content,
            };
            self.artifacts.insert(artifact.clone(), opened);
        }
        if self.is_cut {
            return Ok(false);
        }
        let mut received = self.delivered.iter().flat_map(|delivered| &delivered.calls);
        Ok(received.all(|id| self.outcomes.contains_key(id) || self.parts.contains_key(id)))
    }

    /// The result of a call, as the guest received it.
    pub(super) fn result(&self, id: CallId) -> Option<Result<String, CallError>> {
        if let Some(result) = self.outcomes.get(&id) {
            return Some(result.clone());
        }
        let opened = self.artifacts.get(self.parts.get(&id)?)?;
        part_again(&self.calls.get(&id)?.body, opened)
    }

    /// What the journal has of the plan, and whether the program has gone on beyond its question.
    pub(super) fn plan_record(&self) -> PlanRecord {
        let has_gone_on = !self.calls.is_empty() || !self.delivered.is_empty();
        self.plan.clone().gone_on(has_gone_on)
    }

    /// Whether the program started: no question about its plan was left without an answer that lets it.
    pub(super) fn has_started(&self) -> bool {
        !self.plan.is_open()
    }

    /// The program as the guest ran it, for a worker that is to run it again.
    pub(super) fn program(&self) -> Option<RecordedProgram> {
        let sites = self.check.as_ref().map(|(check, _)| check.sites.clone());
        let erased = self.erased.clone()?;
        Some(RecordedProgram { erased, sites })
    }

    /// Whether the guest may not have begun: it has made no call and received nothing.
    pub(super) fn is_before_begin(&self) -> bool {
        self.erased.is_none() && self.calls.is_empty() && self.delivered.is_empty()
    }

    /// The place of a call among those that people decided about.
    pub(super) fn decided_at(&self, call: CallId) -> Option<usize> {
        self.decided.get(self.asked.get(&call)?).copied()
    }

    /// The recorded verdict. Executions recorded before programs were checked have none, so they are let run.
    pub(super) fn verdict(&self) -> ToWorker {
        let verdict = match &self.check {
            Some((_, verdict)) => verdict_json(verdict),
            None => verdict_json(&Verdict::default()),
        };
        ToWorker::Verdict(CheckVerdict { verdict })
    }

    pub(super) fn delivery(&self, delivered: &Delivered) -> Delivery {
        let results = delivered.calls.iter().filter_map(|id| {
            Some(CallResult {
                id: *id,
                result: self
                    .result(*id)?
                    .map_err(|error| serde_json::to_string(&error).unwrap_or_default()),
            })
        });
        Delivery {
            now_us: delivered.now_us,
            results: results.collect(),
        }
    }
}
