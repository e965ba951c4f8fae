//! The answer as its reader gets it: binary content kept as artifacts, the rest fitted into its token budget, and
//! rendered once.

use std::sync::Arc;

use limbeck_domain::Envelope;
use limbeck_store::StoreError;
use serde_json::value::RawValue;

use super::budget::{self, Fitted};
use super::paused::with_next_step;
use crate::admission::ExecutionSlot;
use crate::artifacts::{ArtifactStore, UnsavedArtifact, binary};
use crate::broker::ToolCalls;
use crate::computing::Computing;
use crate::models::ModelCalls;
use crate::render::{self, Render};
use crate::store_errors::log_fault;

/// Answers above this are fitted in the turns of their principal: they are rendered and counted several times.
const LARGE_BYTES: usize = 16 << 10;

/// An answer and its text.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What is in the answer.
    pub envelope: Envelope,
    /// The answer in the notation that was asked for.
    pub text: String,
    /// Calls of tools that the execution made; empty for an answer that is read from the store.
    pub tool_calls: ToolCalls,
    /// Questions to models that the execution put; empty for an answer that is read from the store.
    pub model_calls: ModelCalls,
}

impl Shown {
    /// Renders `envelope`.
    pub(super) fn of(envelope: Envelope, render: Render) -> Self {
        let envelope = with_next_step(envelope);
        Self {
            text: render::text(&envelope, render),
            envelope,
            tool_calls: ToolCalls::default(),
            model_calls: ModelCalls::default(),
        }
    }
}

impl ArtifactStore {
    /// The answer within `budget` tokens. What is left out of it becomes artifacts of `principal`. `place` is the
    /// execution's; large answers are fitted by `computing`.
    pub(super) async fn shown(
        &self,
        envelope: Envelope,
        principal: &str,
        budget: usize,
        render: Render,
        place: &Arc<ExecutionSlot>,
        computing: &Computing,
    ) -> Shown {
        let envelope = with_next_step(envelope);
        let envelope = self.without_binaries(envelope, principal, computing).await;
        let fitted = if bytes_of(&envelope) > LARGE_BYTES {
            let unfitted = envelope.clone();
            // Held until the work has ended, also when this future is dropped.
            let place = Arc::clone(place);
            let fitted = computing.run(principal, move |_| {
                let fitted = budget::fit(envelope, budget, render);
                drop(place);
                fitted
            });
            // When the work panicked, its envelope is lost, and the copy is not.
            fitted
                .await
                .unwrap_or_else(|_| budget::nothing_shown(unfitted))
        } else {
            budget::fit(envelope, budget, render)
        };
        let Fitted {
            mut envelope,
            mut text,
            kept,
        } = fitted;
        for kept in kept {
            let artifact = UnsavedArtifact {
                id: kept.id.clone(),
                media_type: kept.media_type.to_owned(),
                name: Some(format!("{} of {}", kept.what, envelope.execution_id)),
                content: kept.content,
            };
            if let Err(error) = self.keep(principal, artifact).await {
                not_kept(&error);
                budget::not_kept(&mut envelope, &kept.id);
                text = None;
            }
        }
        match text {
            Some(text) => Shown {
                envelope,
                text,
                tool_calls: ToolCalls::default(),
                model_calls: ModelCalls::default(),
            },
            None => Shown::of(envelope, render),
        }
    }

    /// The answer with handles in place of binary content that the program returned.
    async fn without_binaries(
        &self,
        mut envelope: Envelope,
        principal: &str,
        computing: &Computing,
    ) -> Envelope {
        let value = envelope.value.as_ref().map_or("", |value| value.get());
        let replaced = if value.len() > LARGE_BYTES {
            let value = value.to_owned();
            let replaced = computing.run(principal, move |_| binary::without_content(&value));
            // Work that panicked leaves the value as it is.
            replaced.await.unwrap_or_default()
        } else {
            binary::without_content(value)
        };
        let Some((value, artifacts)) = replaced else {
            return envelope;
        };
        for artifact in artifacts {
            if let Err(error) = self.keep(principal, artifact).await {
                not_kept(&error);
                return envelope;
            }
        }
        if let Ok(value) = RawValue::from_string(value) {
            envelope.value = Some(value);
            envelope.warnings.push(
                "binary content of the value was kept as artifacts; `emit(handle)` shows one"
                    .to_owned(),
            );
        }
        envelope
    }
}

/// Bytes of the parts of an answer that can be large.
fn bytes_of(envelope: &Envelope) -> usize {
    let value = envelope.value.as_ref().map_or(0, |value| value.get().len());
    let emitted = envelope.emitted.iter();
    let emitted = emitted.map(|block| block.text.as_ref().map_or(0, String::len));
    value + envelope.stdout.len() + envelope.stderr.len() + emitted.sum::<usize>()
}

fn not_kept(error: &StoreError) {
    log_fault(error, "an artifact could not be kept");
}
