//! Plan of a program: the calls it may make, found without running it.

use std::collections::BTreeMap;
use std::sync::Arc;

use limbeck_domain::{EffectClass, Repeat, Site, Sites};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::check::target;
use crate::resolve::{self, Suggest};
use crate::tool::Tool;

/// Most calls listed.
const CALLS_MAX: usize = 100;
/// Most flows listed.
const FLOWS_MAX: usize = 100;
/// Most positions listed at which an unknown tool may be called.
const UNKNOWN_MAX: usize = 20;
/// Most bytes of one constant, as JSON; a longer one is replaced by its length.
const VALUE_BYTES_MAX: usize = 200;
/// Most arguments listed for one call.
const ARGUMENTS_MAX: usize = 20;

/// Calls of a program, as far as they can be read from its text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// Tools that may be called, by name.
    pub tools: Vec<PlannedTool>,
    /// Calls by line and column, at most 100.
    pub calls: Vec<PlannedCall>,
    /// Number of calls that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_calls: usize,
    /// Results that are passed to tools that may write, at most 100.
    pub flows: Vec<PlannedFlow>,
    /// Positions at which a tool is called whose name is computed at run time, at most 20.
    pub unknown: Vec<PlannedUnknown>,
    /// Number of such positions.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown_total: usize,
    /// Calls of tools that were not read because the program has too many; the first is one of `unknown`.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread_calls: usize,
}

/// One tool of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedTool {
    /// `server.tool`.
    pub tool: String,
    /// What a call may do.
    pub effect: EffectClass,
    /// Number of its calls in the program's text.
    pub calls: usize,
}

/// One call of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedCall {
    /// Line in the program, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// `server.tool`, or the name in the program when no tool has it.
    pub tool: String,
    /// What the call may do; absent when the tool is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClass>,
    /// Number of times it is made: `once`, `at most N`, `many` or `unbounded`.
    pub times: String,
    /// Constant arguments. A long value is replaced by its size.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// Names of arguments that are computed at run time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub computed: Vec<String>,
    /// Whether there may be other arguments.
    #[serde(skip_serializing_if = "is_false")]
    pub more_arguments: bool,
    /// Reason why the call would be rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Result of one tool that is passed to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedFlow {
    /// Tool that returns the result, and the line of its call.
    pub from: String,
    /// Tool that receives it, and the line of its call.
    pub into: String,
}

/// Position at which an unknown tool may be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedUnknown {
    /// Line in the program, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// The server, when the text names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Catalog {
    /// Plan of a program from the call sites its parser found, in the order of the text.
    pub fn plan(&self, sites: &Sites) -> Plan {
        plan(self, sites)
    }

    /// The tool that a call in a program's text names; `None` where none is known by that name, or several are.
    pub fn tool_of(&self, site: &Site) -> Option<Arc<Tool>> {
        let resolved = resolve::resolve(self, &target(site), Suggest::Nothing);
        resolved.ok().map(|resolved| resolved.tool)
    }
}

fn plan(catalog: &Catalog, sites: &Sites) -> Plan {
    let calls: Vec<PlannedCall> = sites.sites.iter().map(|site| call(catalog, site)).collect();
    let mut tools: BTreeMap<&str, PlannedTool> = BTreeMap::new();
    for call in &calls {
        if let Some(effect) = call.effect {
            let tool = tools.entry(&call.tool).or_insert_with(|| PlannedTool {
                tool: call.tool.clone(),
                effect,
                calls: 0,
            });
            tool.calls += 1;
        }
    }
    let unread = sites.unread.map(|unread| PlannedUnknown {
        line: unread.line,
        column: unread.column,
        server: None,
    });
    let places = sites.dynamic.iter().map(|place| PlannedUnknown {
        line: place.line,
        column: place.column,
        server: place.server.as_deref().map(crate::check::shown),
    });
    let unknown_total = sites.dynamic.len() + usize::from(unread.is_some());
    let unknown = unread.into_iter().chain(places).take(UNKNOWN_MAX);
    let mut plan = Plan {
        tools: tools.into_values().collect(),
        flows: flows(sites, &calls),
        unknown: unknown.collect(),
        unknown_total,
        unread_calls: sites.unread.map_or(0, |unread| unread.count as usize),
        more_calls: calls.len().saturating_sub(CALLS_MAX),
        calls: Vec::new(),
    };
    plan.calls = calls;
    plan.calls.truncate(CALLS_MAX);
    plan
}

fn call(catalog: &Catalog, site: &Site) -> PlannedCall {
    let resolved = resolve::resolve(catalog, &target(site), Suggest::Nothing);
    let (tool, effect, problem) = match resolved {
        Ok(resolved) => {
            let tool = resolved.tool;
            (tool.id().to_string(), Some(tool.effect()), None)
        }
        Err(error) => {
            let written = match &site.server {
                Some(server) => format!("{server}.{}", site.tool),
                None => site.tool.clone(),
            };
            (crate::check::shown(&written), None, Some(error.to_string()))
        }
    };
    let mut arguments = Map::new();
    let mut computed = Vec::new();
    for argument in site.arguments.iter().take(ARGUMENTS_MAX) {
        let name = crate::check::shown(&argument.name);
        match &argument.value {
            Some(value) => {
                arguments.insert(name, bounded(value));
            }
            None => computed.push(name),
        }
    }
    PlannedCall {
        line: site.line,
        column: site.column,
        tool,
        effect,
        times: times(site.repeat),
        arguments,
        computed,
        more_arguments: !site.complete || site.arguments.len() > ARGUMENTS_MAX,
        problem,
    }
}

fn flows(sites: &Sites, calls: &[PlannedCall]) -> Vec<PlannedFlow> {
    let label = |call: &PlannedCall| format!("{} (line {})", call.tool, call.line);
    let into_writes = sites.sites.iter().zip(calls).filter(|(_, call)| {
        // An unknown tool may write.
        call.effect.is_none_or(EffectClass::may_write)
    });
    into_writes
        .flat_map(|(site, call)| {
            let sources = site.uses.iter();
            let sources = sources.filter_map(|index| calls.get(usize::try_from(*index).ok()?));
            sources.map(move |source| PlannedFlow {
                from: label(source),
                into: label(call),
            })
        })
        .take(FLOWS_MAX)
        .collect()
}

fn times(repeat: Repeat) -> String {
    match repeat {
        Repeat::Once => "once".to_owned(),
        Repeat::AtMost(count) => format!("at most {count}"),
        Repeat::Many => "many".to_owned(),
        Repeat::Endless => "unbounded".to_owned(),
    }
}

fn bounded(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= VALUE_BYTES_MAX {
        value.clone()
    } else {
        Value::String(format!("({} bytes)", text.len()))
    }
}
