//! Requests of callers to a server: a tool call, or a read of prompts and resources.

use std::sync::Arc;

use limbeck_domain::ReadMethod;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CompleteRequest, GetPromptRequest,
    InputResponses, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ReadResourceRequest,
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::call_context::RequestKey;
use crate::error::UpstreamError;
use crate::rpc::pending::RawArguments;

/// A request that can be sent again with the input that the server requested.
pub(crate) enum UpstreamRequest {
    /// `tools/call`.
    Tool {
        name: String,
        arguments: Arc<RawValue>,
        key: Option<RequestKey>,
    },
    /// Any other request; the params are JSON text.
    Read { method: ReadMethod, params: String },
}

/// Additional parameters of a request that is sent again.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryParams {
    pub(crate) responses: Option<InputResponses>,
    /// State of the server, sent back unchanged.
    pub(crate) state: Option<String>,
}

impl UpstreamRequest {
    /// Bytes of the caller's arguments.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Tool { arguments, .. } => arguments.get().len(),
            Self::Read { params, .. } => params.len(),
        }
    }

    /// Builds the request that `rmcp` sends.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::InvalidArguments`] when the params do not fit the method.
    pub(crate) fn request(&self, retry: RetryParams) -> Result<ClientRequest, UpstreamError> {
        Ok(match self {
            Self::Tool {
                name,
                arguments,
                key,
            } => {
                let mut params = CallToolRequestParams::new(name.clone());
                params.input_responses = retry.responses;
                params.request_state = retry.state;
                let mut request = CallToolRequest::new(params);
                request.extensions.insert(RawArguments(arguments.clone()));
                if let Some(key) = key {
                    request.extensions.insert(key.clone());
                }
                ClientRequest::CallToolRequest(request)
            }
            Self::Read { method, params } => read(*method, params, retry)?,
        })
    }
}

fn read(
    method: ReadMethod,
    params: &str,
    retry: RetryParams,
) -> Result<ClientRequest, UpstreamError> {
    Ok(match method {
        ReadMethod::ListResources => ClientRequest::ListResourcesRequest(ListResourcesRequest {
            params: Some(parse(params)?),
            ..Default::default()
        }),
        ReadMethod::ListResourceTemplates => {
            ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest {
                params: Some(parse(params)?),
                ..Default::default()
            })
        }
        ReadMethod::ListPrompts => ClientRequest::ListPromptsRequest(ListPromptsRequest {
            params: Some(parse(params)?),
            ..Default::default()
        }),
        ReadMethod::ReadResource => {
            let mut request = ReadResourceRequest::new(parse(params)?);
            request.params.input_responses = retry.responses;
            request.params.request_state = retry.state;
            ClientRequest::ReadResourceRequest(request)
        }
        ReadMethod::GetPrompt => {
            let mut request = GetPromptRequest::new(parse(params)?);
            request.params.input_responses = retry.responses;
            request.params.request_state = retry.state;
            ClientRequest::GetPromptRequest(request)
        }
        ReadMethod::Complete => {
            ClientRequest::CompleteRequest(CompleteRequest::new(parse(params)?))
        }
    })
}

fn parse<T: DeserializeOwned>(params: &str) -> Result<T, UpstreamError> {
    serde_json::from_str(params).map_err(|error| UpstreamError::InvalidArguments {
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_that_do_not_fit_the_method_are_refused_before_anything_is_sent() {
        let ask = |method, params: &str| {
            let params = params.to_owned();
            UpstreamRequest::Read { method, params }.request(RetryParams::default())
        };
        assert!(ask(ReadMethod::ReadResource, r#"{"uri":"x:1"}"#).is_ok());
        assert!(ask(ReadMethod::ListResources, "{}").is_ok());
        for (method, params) in [
            (ReadMethod::ReadResource, "{}"),
            (ReadMethod::ReadResource, r#"{"uri":5}"#),
            (ReadMethod::GetPrompt, r#"{"name":"a","arguments":[]}"#),
            (ReadMethod::ListPrompts, r#"{"cursor":5}"#),
        ] {
            let error = ask(method, params).unwrap_err();
            assert!(matches!(error, UpstreamError::InvalidArguments { .. }));
        }
    }
}
