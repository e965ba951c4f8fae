//! Calls that a program which completes has made, as far as its text shows: those that were not made are in code that nothing calls,
//! iterates or waits for, or were refused where the program catches that.

use limbeck_domain::{Reach, Sites, ToolId, ToolTarget};

use crate::catalog::Catalog;
use crate::check::target;
use crate::resolve::{self, Suggest};

/// A call that no condition of the program decides about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCall {
    /// Its line, from 1.
    pub line: u32,
    /// The tool.
    pub tool: ToolId,
    /// The tool as programs write it.
    pub expression: String,
    /// Whether the program means to make it in every run.
    pub is_certain: bool,
}

impl Catalog {
    /// The calls of a program that no condition decides about, in the order of the text. Names that resolve to no tool are left out.
    pub fn written_calls(&self, sites: &Sites) -> Vec<WrittenCall> {
        let known = sites.sites.iter().filter(|site| site.reach != Reach::Open);
        let written = known.filter_map(|site| {
            let resolved = resolve::resolve(self, &target(site), Suggest::Nothing).ok()?;
            Some(WrittenCall {
                line: site.line,
                tool: resolved.tool.id().clone(),
                expression: resolved.tool.call_expression(),
                is_certain: site.reach == Reach::Always,
            })
        });
        written.collect()
    }

    /// The tool that a call of a running program names.
    pub fn called_tool(&self, target: &ToolTarget) -> Option<ToolId> {
        let resolved = resolve::resolve(self, target, Suggest::Nothing).ok()?;
        Some(resolved.tool.id().clone())
    }
}
