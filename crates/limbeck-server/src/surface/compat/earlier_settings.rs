//! Settings of the earlier systems that the calls of their tools keep: times, allowed tools, rates, and languages that are
//! turned off.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use limbeck_domain::{Language, ToolId};
use limbeck_policy::Scope;
use tokio::time::Instant;

use super::alias_arguments::{AliasProgram, ArgumentMistake};
use super::predecessor::Predecessor;

/// Clients whose executions are counted. Of more, the one that was idle longest is forgotten.
const CLIENTS_MAX: usize = 1_000;

/// Settings for the calls of the earlier systems' tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierSettings {
    /// Time of a program of S0 that asks for none, and the most that one may ask for.
    pub s0_times: Times,
    /// The same of S2.
    pub s2_times: Times,
    /// Patterns of the tools that programs of S0 may call, beside what the policy allows.
    pub s0_tools: Option<Vec<String>>,
    /// Executions of one client.
    pub rate: Option<Rate>,
    /// Why `executePython` is turned off.
    pub python_off: Option<String>,
    /// Container runtime that S2's user asks for.
    pub runtime: Option<String>,
}

/// Time limits of programs, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Of a program that asks for none.
    pub default_ms: Option<u64>,
    /// Most that one gets.
    pub max_ms: Option<u64>,
}

/// So many executions in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Executions.
    pub requests_max: u32,
    /// Time in milliseconds.
    pub window_ms: u64,
}

impl EarlierSettings {
    /// Applies the settings of `system` to a program that was read. `has_time` is whether its arguments have a time.
    pub(super) fn apply(
        &self,
        system: Predecessor,
        program: &mut AliasProgram,
        has_time: bool,
    ) -> Result<(), ArgumentMistake> {
        let times = match system {
            Predecessor::S0 => self.s0_times,
            Predecessor::S2 => self.s2_times,
            Predecessor::S1 => Times::default(),
        };
        if let Some(default_ms) = times.default_ms.filter(|_| !has_time) {
            program.timeout_ms = default_ms;
        }
        if let Some(max_ms) = times.max_ms {
            program.timeout_ms = program.timeout_ms.min(max_ms);
        }
        if system == Predecessor::S2
            && let Some(runtime) = &self.runtime
        {
            return Err(ArgumentMistake::TurnedOff(format!(
                "MCP_BRIDGE_RUNTIME asks for the container runtime `{runtime}`, and this version runs programs in its own sandbox alone; unset the variable to use that"
            )));
        }
        if system != Predecessor::S0 {
            return Ok(());
        }
        if program.language == Language::Python
            && let Some(reason) = &self.python_off
        {
            return Err(ArgumentMistake::TurnedOff(format!(
                "Python is turned off: {reason}"
            )));
        }
        match &self.s0_tools {
            Some(allowed) => narrow(program, allowed),
            None => Ok(()),
        }
    }
}

/// Narrows the tools of a program to those that the server's list allows.
fn narrow(program: &mut AliasProgram, allowed: &[String]) -> Result<(), ArgumentMistake> {
    let scope = Scope::parse(allowed)
        .map_err(|error| ArgumentMistake::Allowlist(format!("security.allowedTools: {error}")))?;
    let Some(asked) = program.scope.patterns() else {
        program.scope = scope;
        return Ok(());
    };
    let is_allowed = |pattern: &&String| {
        allowed.contains(pattern) || full_name(pattern).is_some_and(|tool| scope.covers(&tool))
    };
    let refused: Vec<&str> = asked
        .iter()
        .filter(|pattern| !is_allowed(pattern))
        .map(String::as_str)
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(ArgumentMistake::ServerPolicy(format!(
        "Tools not allowed by server policy: {}",
        refused.join(", ")
    )))
}

/// The tool that a full name without wildcards means, its server without `__`.
fn full_name(pattern: &str) -> Option<ToolId> {
    let (server, tool) = pattern.strip_prefix("mcp__")?.split_once("__")?;
    (!pattern.contains('*')).then(|| ToolId::new(server, tool))
}

/// Counts the executions of each client within the window of a rate.
#[derive(Clone, Debug, Default)]
pub(in crate::surface) struct RateCounts(Arc<Mutex<BTreeMap<String, VecDeque<Instant>>>>);

impl RateCounts {
    /// Counts an execution of `client`, or returns the seconds to wait before one is counted.
    pub(super) fn take(&self, rate: Rate, client: &str) -> Result<(), u64> {
        self.take_at(rate, client, Instant::now())
    }

    fn take_at(&self, rate: Rate, client: &str, now: Instant) -> Result<(), u64> {
        let window = Duration::from_millis(rate.window_ms);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !counts.contains_key(client) && counts.len() >= CLIENTS_MAX {
            let idle = counts.iter().min_by_key(|(_, times)| times.back().copied());
            if let Some(idle) = idle.map(|(name, _)| name.clone()) {
                counts.remove(&idle);
            }
        }
        let times = counts.entry(client.to_owned()).or_default();
        while times
            .front()
            .is_some_and(|first| now.duration_since(*first) >= window)
        {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= rate.requests_max as usize => {
                let left = window.saturating_sub(now.duration_since(*first));
                Err(left.as_secs() + u64::from(left.subsec_nanos() > 0))
            }
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use limbeck_gateway::ModelsRequest;

    use super::*;

    fn program(patterns: Option<&[&str]>) -> AliasProgram {
        AliasProgram {
            code: String::new(),
            language: Language::Python,
            timeout_ms: 30_000,
            scope: patterns.map_or_else(Scope::everything, |patterns| {
                Scope::parse(patterns.iter().copied()).unwrap()
            }),
            servers: Vec::new(),
            models: ModelsRequest::default(),
        }
    }

    #[test]
    fn the_list_of_the_server_narrows_what_a_program_may_call() {
        let settings = EarlierSettings {
            s0_tools: Some(vec!["mcp__fs__read".to_owned(), "mcp__git__*".to_owned()]),
            ..EarlierSettings::default()
        };
        let mut all = program(None);
        settings.apply(Predecessor::S0, &mut all, true).unwrap();
        assert!(all.scope.covers(&ToolId::new("fs", "read")));
        assert!(!all.scope.covers(&ToolId::new("fs", "write")));
        for allowed in ["mcp__fs__read", "mcp__git__push", "mcp__git__*"] {
            let mut some = program(Some(&[allowed]));
            settings.apply(Predecessor::S0, &mut some, true).unwrap();
        }
        let mut other = program(Some(&["mcp__fs__read", "mcp__fs__write", "mcp__*"]));
        let refused = settings
            .apply(Predecessor::S0, &mut other, true)
            .unwrap_err();
        let expected = "Tools not allowed by server policy: mcp__fs__write, mcp__*";
        assert_eq!(refused, ArgumentMistake::ServerPolicy(expected.to_owned()));
        // The list is of one system.
        settings.apply(Predecessor::S2, &mut other, true).unwrap();
    }

    #[test]
    fn times_are_the_default_and_a_bound() {
        let settings = EarlierSettings {
            s2_times: Times {
                default_ms: Some(60_000),
                max_ms: Some(90_000),
            },
            ..EarlierSettings::default()
        };
        for (asked, has_time, expected) in [
            (30_000, false, 60_000),
            (30_000, true, 30_000),
            (120_000, true, 90_000),
        ] {
            let mut one = program(None);
            one.timeout_ms = asked;
            settings.apply(Predecessor::S2, &mut one, has_time).unwrap();
            assert_eq!(one.timeout_ms, expected);
        }
    }

    #[test]
    fn a_client_waits_until_its_oldest_execution_leaves_the_window() {
        let counts = RateCounts::default();
        let rate = Rate {
            requests_max: 2,
            window_ms: 60_000,
        };
        let begin = Instant::now();
        let at = |seconds: u64, client: &str| {
            counts.take_at(rate, client, begin + Duration::from_secs(seconds))
        };
        assert_eq!(at(0, "a"), Ok(()));
        assert_eq!(at(10, "a"), Ok(()));
        assert_eq!(at(10, "a"), Err(50));
        assert_eq!(at(10, "b"), Ok(()));
        assert_eq!(at(60, "a"), Ok(()));
        assert_eq!(at(61, "a"), Err(9));
    }
}
