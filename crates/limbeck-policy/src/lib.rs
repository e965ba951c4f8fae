//! Decides whether one tool call, or one read of a resource or prompt, may leave the gateway.
//!
//! A [`ToolCall`] names a tool that the catalogue resolved, but a guest asked for it, so nothing in
//! it is trusted. The answer is a [`Permit`], and a permit is the only thing the upstream pool
//! accepts, so there is no second way out.
//!
//! Two things hold here and are tested below:
//! - A call outside the execution's [`Scope`] is denied, and an empty scope allows nothing.
//! - Deciding does no I/O and reads no clock: same inputs, same answer.
//!
//! Start reading at [`decide`].

#![forbid(unsafe_code)]

mod read;
mod scope;

use limbeck_domain::{EffectClass, ToolId};

pub use read::{ReadPermit, ReadRequest, decide_read};
pub use scope::{PatternError, Scope};

/// One call of one tool, arguments already validated and in the bytes that will be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool.
    pub tool: ToolId,
    /// JSON text of the arguments, an object.
    pub arguments: String,
    /// What the call may do.
    pub effect: EffectClass,
}

/// Proof that one call was allowed. Only [`decide`] makes one.
#[derive(Debug)]
#[must_use = "a permit is spent by sending the call it was issued for"]
pub struct Permit {
    call: ToolCall,
}

impl Permit {
    /// The call that was allowed.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Spends the permit: the call, to be sent once.
    pub fn spend(self) -> ToolCall {
        self.call
    }
}

/// Why a call must not leave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The execution was narrowed to other tools.
    #[error("`{tool}` is outside the tools this execution may use")]
    OutOfScope {
        /// The tool that was asked for.
        tool: ToolId,
    },
}

/// Allows `call` when `scope` covers its tool.
///
/// # Errors
///
/// [`Denied::OutOfScope`] when no pattern of the scope matches.
pub fn decide(call: ToolCall, scope: &Scope) -> Result<Permit, Denied> {
    if scope.covers(&call.tool) {
        Ok(Permit { call })
    } else {
        Err(Denied::OutOfScope { tool: call.tool })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(server: &str, tool: &str) -> ToolCall {
        ToolCall {
            tool: ToolId::new(server, tool),
            arguments: "{}".to_owned(),
            effect: EffectClass::Unknown,
        }
    }

    #[test]
    fn a_call_outside_the_scope_is_denied_and_one_inside_is_not() {
        let scope = Scope::parse(["files.read_*"]).unwrap();
        let permit = decide(call("files", "read_file"), &scope).unwrap();
        assert_eq!(permit.spend(), call("files", "read_file"));
        assert_eq!(
            decide(call("files", "delete"), &scope).unwrap_err(),
            Denied::OutOfScope {
                tool: ToolId::new("files", "delete")
            }
        );
    }
}
