//! A call for a client instead of a program: the same way, with the server's own words at the end of it.

use std::time::Instant;

use limbeck_domain::{CallError, EffectClass, Effects, HostCall, ToolTarget};
use limbeck_upstream::RawToolResult;
use serde_json::value::RawValue;

use super::{Broker, Ready};
use crate::direct::Failure;

impl Broker {
    /// Makes one call and gives the result as the server sent it, with what it may have done.
    ///
    /// Journalled as a program's call is: for a call that may write the intent is on disk before it leaves,
    /// and the outcome before anybody hears of it.
    pub(crate) async fn call_through(
        &self,
        call: HostCall,
        target: &ToolTarget,
    ) -> (Result<Box<RawValue>, Failure>, Effects) {
        let (id, started) = (call.id, Instant::now());
        let Ready { tool, permit, .. } = match self.prepare(target, &call.body).await {
            Ok(ready) => ready,
            Err(refused) => {
                let error = refused.error.clone();
                self.refuse(call, refused.tool, refused.error, started)
                    .await;
                return (Err(error.into()), Effects::default());
            }
        };
        let effect = permit.call().effect;
        if let Err(error) = self.journal.intent(call, tool.id(), effect).await {
            return (Err(error.into()), Effects::default());
        }
        let cancel = self.cancel.child_token();
        let sent = self
            .shared
            .upstreams
            .call(permit, self.context(cancel))
            .await;
        let noted: Result<String, CallError> = match &sent {
            Ok(RawToolResult(raw)) => Ok(raw.get().to_owned()),
            Err(error) => Err(error.to_call_error(tool.id())),
        };
        let outcome = self.journal.outcome_of(id, noted, effect, started).await;
        self.shared.catalogue.refresh_later(&tool.id().server);
        if let (Ok(_), Ok(RawToolResult(raw))) = (&outcome, &sent) {
            // Errors of the tool are told apart where the result is read.
            let bytes = raw.get().len();
            self.shared.learning.result(&tool, bytes, || raw.clone());
            self.contradiction(&tool, raw);
        }
        let result = match (outcome, sent) {
            (Err(error), _) => Err(error.into()),
            (Ok(_), Ok(RawToolResult(raw))) => Ok(raw),
            (Ok(_), Err(error)) => Err(error.into()),
        };
        let effects = match effect {
            EffectClass::Read => Effects {
                reads: 1,
                writes: 0,
            },
            EffectClass::Write | EffectClass::Destructive | EffectClass::Unknown => Effects {
                reads: 0,
                writes: 1,
            },
        };
        (result, effects)
    }
}
