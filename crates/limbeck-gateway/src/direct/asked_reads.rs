//! Reads of resources and prompts that a client makes and that a person has to approve: recorded, paused and continued as direct
//! calls are. All other reads have no record.

use std::sync::Arc;

use limbeck_domain::{ReadMethod, ServerName};
use limbeck_policy::{DecidedRead, ReadRequest, Requester, Scope};
use limbeck_upstream::{CallContext, UpstreamError};

use super::called::Called;
use super::{DirectCalls, DirectError, MadeCall};

impl DirectCalls {
    /// Reads one resource or prompt for a client, as far as no person has to be asked first; `params` is JSON text.
    pub(crate) async fn read_for_client(
        &self,
        principal: &Arc<str>,
        server: &ServerName,
        method: ReadMethod,
        params: String,
        context: CallContext,
    ) -> Result<MadeCall, DirectError> {
        let asked = Called::read(server, method)
            .filter(|_| self.is_asked_about(principal, server, method, &params));
        let Some(called) = asked else {
            let read = self.read(principal, server, method, params, context).await;
            return read.map(MadeCall::Ended);
        };
        let _place = tokio::select! {
            place = self.admission.enter(principal) => place.map_err(|busy| {
                self.refused_as_busy(principal, busy.to_string())
            })?,
            () = context.cancel.cancelled() => return Err(UpstreamError::Cancelled.into()),
        };
        self.record_and_make(Arc::clone(principal), called, params, context)
            .await
    }

    /// Whether a person has to approve a read before it is sent.
    fn is_asked_about(
        &self,
        principal: &str,
        server: &ServerName,
        method: ReadMethod,
        params: &str,
    ) -> bool {
        let request = ReadRequest {
            server: server.clone(),
            method,
            params: params.to_owned(),
        };
        let requester = Requester::of_principal(principal);
        let by = self.broker.policy.newest();
        let decided = by.decide_read_or_ask(request, &Scope::everything(), &requester, None);
        matches!(decided, Ok(DecidedRead::Ask(_)))
    }
}
