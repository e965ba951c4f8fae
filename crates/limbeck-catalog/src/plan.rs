//! What a program may call, told without running it.

use std::collections::BTreeMap;

use limbeck_domain::{EffectClass, Repeat, Site, Sites};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::check::target;
use crate::resolve::{self, Suggest};

/// Calls that are listed.
const CALLS_MAX: usize = 100;
/// Flows that are listed.
const FLOWS_MAX: usize = 100;
/// Places listed where it is not known what is called.
const UNKNOWN_MAX: usize = 20;
/// Bytes of one constant, as JSON; a longer one is told by its length.
const VALUE_BYTES_MAX: usize = 200;
/// Constants listed of one call.
const ARGUMENTS_MAX: usize = 20;

/// The calls of a program, as far as its text says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// The tools that may be called, by name.
    pub tools: Vec<PlannedTool>,
    /// The calls, by line and column; at most 100.
    pub calls: Vec<PlannedCall>,
    /// Calls that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_calls: usize,
    /// Results that go into calls of tools that may write; at most 100.
    pub flows: Vec<PlannedFlow>,
    /// Places where a tool may be called whose name only the running program knows; at most 20.
    pub unknown: Vec<PlannedUnknown>,
    /// How many such places there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown_total: usize,
}

/// One tool of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedTool {
    /// `server.tool`.
    pub tool: String,
    /// What a call may do.
    pub effect: EffectClass,
    /// How many calls of it stand in the program.
    pub calls: usize,
}

/// One call of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedCall {
    /// Line in the program, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// `server.tool`, or as the program wrote it when there is none of that name.
    pub tool: String,
    /// What the call may do; absent when the tool is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClass>,
    /// How often it is made: `once`, `at most N`, `many` or `unbounded`.
    pub times: String,
    /// Arguments that are constants. A long one is told by its size.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// Names of arguments whose values only the running program knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub computed: Vec<String>,
    /// Whether there may be arguments besides.
    #[serde(skip_serializing_if = "is_false")]
    pub more_arguments: bool,
    /// Why the call would not be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One flow of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedFlow {
    /// The tool whose result it is, and the line of its call.
    pub from: String,
    /// The tool whose arguments it goes into, and the line of its call.
    pub into: String,
}

/// A place where it is not known what is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedUnknown {
    /// Line in the program, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// The server, when that much is written.
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

pub(crate) fn plan(catalog: &Catalog, sites: &Sites) -> Plan {
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
    let unknown = sites.dynamic.iter().take(UNKNOWN_MAX);
    let unknown = unknown.map(|place| PlannedUnknown {
        line: place.line,
        column: place.column,
        server: place.server.as_deref().map(crate::check::shown),
    });
    let mut plan = Plan {
        tools: tools.into_values().collect(),
        flows: flows(sites, &calls),
        unknown: unknown.collect(),
        unknown_total: sites.dynamic.len(),
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
        // What is not known may write.
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
