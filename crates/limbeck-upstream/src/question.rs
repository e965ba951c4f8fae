//! What is asked of a server for somebody: a call of a tool, or a read of what else it offers.

use std::sync::Arc;

use limbeck_domain::ReadMethod;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CompleteRequest, GetPromptRequest,
    InputResponses, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ReadResourceRequest,
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::UpstreamError;
use crate::stdio::tap::RawArguments;

/// The result of a [`limbeck_policy::ReadRequest`], a JSON object, in the text the server sent.
#[derive(Clone, Debug)]
pub struct RawResult(pub Box<RawValue>);

impl RawResult {
    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

/// A question in a form that can be asked again with what the server wanted to know.
pub(crate) enum Question {
    /// `tools/call`; the arguments are a JSON object on one line.
    Tool {
        name: String,
        arguments: Arc<RawValue>,
    },
    /// Anything else; the params are JSON text.
    Read { method: ReadMethod, params: String },
}

/// What goes with a question that is asked again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retry {
    pub(crate) responses: Option<InputResponses>,
    /// The server's own, given back as it came.
    pub(crate) state: Option<String>,
}

impl Question {
    /// The question as `rmcp` sends it.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::InvalidArguments`] when the params do not fit the method.
    pub(crate) fn request(&self, retry: Retry) -> Result<ClientRequest, UpstreamError> {
        Ok(match self {
            Self::Tool { name, arguments } => {
                let mut params = CallToolRequestParams::new(name.clone());
                params.input_responses = retry.responses;
                params.request_state = retry.state;
                let mut request = CallToolRequest::new(params);
                request.extensions.insert(RawArguments(arguments.clone()));
                ClientRequest::CallToolRequest(request)
            }
            Self::Read { method, params } => read(*method, params, retry)?,
        })
    }
}

fn read(method: ReadMethod, params: &str, retry: Retry) -> Result<ClientRequest, UpstreamError> {
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
            Question::Read { method, params }.request(Retry::default())
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
