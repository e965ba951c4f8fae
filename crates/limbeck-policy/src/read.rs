//! Decision whether a read of a resource or prompt may be sent to a server.

use limbeck_domain::{ReadMethod, ServerName, ToolId};

use crate::policy::Answer;
use crate::{Denied, Facts, ToolClass};

/// One read of a resource, prompt or completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// The server.
    pub server: ServerName,
    /// The method.
    pub method: ReadMethod,
    /// JSON text of the params, an object.
    pub params: String,
}

/// Proof that one read was allowed. Only [`decide_read`] creates one.
#[derive(Debug)]
#[must_use = "a permit is spent by sending the request it was issued for"]
pub struct ReadPermit {
    request: ReadRequest,
}

impl ReadPermit {
    /// The request that was allowed.
    pub fn request(&self) -> &ReadRequest {
        &self.request
    }

    /// Spends the permit and returns the request, to be sent once.
    pub fn spend(self) -> ReadRequest {
        self.request
    }
}

/// Allows `request` when the scope covers its method as if it were a tool of the server, and the policy allows that tool: the
/// patterns `files` and `files.*` cover it, `files.resources/*` does for resources alone, and `files.read_file` does not.
///
/// # Errors
///
/// [`Denied`].
pub fn decide_read(request: ReadRequest, facts: &Facts<'_>) -> Result<ReadPermit, Denied> {
    let tool = ToolId::new(request.server.clone(), request.method.as_str());
    facts.scope.allows(&tool)?;
    let class = ToolClass::READ_METHOD;
    match facts
        .policy
        .answer(&tool, class, &request.params, facts.who)
    {
        Answer::Allow => Ok(ReadPermit { request }),
        Answer::Ask { cause, .. } => Err(Denied::needs_approval(tool, cause)),
        Answer::Deny(cause) => Err(Denied::by_policy(tool, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Policy, Scope};

    #[test]
    fn a_scope_of_single_tools_covers_no_resource_and_one_of_the_server_does() {
        let read = |pattern: &str, method| {
            let request = ReadRequest {
                server: "files".into(),
                method,
                params: "{}".to_owned(),
            };
            let facts = Facts {
                scope: &Scope::parse([pattern]).unwrap(),
                policy: &Policy::default(),
                who: &[],
                now_us: 0,
            };
            decide_read(request, &facts).is_ok()
        };
        for pattern in [
            "*",
            "files",
            "files.*",
            "files.resources/*",
            "mcp__files__*",
        ] {
            assert!(read(pattern, ReadMethod::ReadResource), "{pattern}");
        }
        for pattern in [
            "files.read_file",
            "files.r*_file",
            "other",
            "files.prompts/*",
        ] {
            assert!(!read(pattern, ReadMethod::ReadResource), "{pattern}");
        }
        assert!(!read("files.resources/*", ReadMethod::GetPrompt));
    }
}
