//! Which surfaces are listed, and what follows from variables that only one of the earlier systems read.

use limbeck_domain::ServerName;
use rmcp::model::Tool;

use super::alias;

pub use super::earlier_settings::{EarlierSettings, Rate, Times};
pub use super::execution_log::ExecutionLog;
pub use super::predecessor::Predecessor;

/// Form of the results of `run_python`, which its users choose by `MCP_BRIDGE_OUTPUT_MODE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadForm {
    /// What was printed, as plain text.
    #[default]
    Compact,
    /// The whole payload in TOON.
    Toon,
}

impl PayloadForm {
    /// The form of a value of `MCP_BRIDGE_OUTPUT_MODE`: any but `compact` is TOON, as it was.
    pub fn from_setting(value: &str) -> Self {
        match value.trim() {
            "" | "compact" => Self::Compact,
            _ => Self::Toon,
        }
    }
}

/// Surfaces that clients list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompatOptions {
    /// Systems whose tools are listed, each once; `search` and `execute` are listed when it is empty.
    pub listed: Vec<Predecessor>,
    /// Form of the results of `run_python`.
    pub payload: PayloadForm,
    /// Servers that S1's users have connected at the start, where they name some. Others are connected when they are needed.
    pub connected_first: Option<Vec<ServerName>>,
    /// Log of the executions that S0's tools ran, where it is turned on.
    pub execution_log: Option<ExecutionLog>,
    /// What else the calls of their tools keep.
    pub settings: EarlierSettings,
}

/// A value of `--compat` that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown surface `{0}`; write `s0`, `s1`, `s2`, several with commas, `all` or `none`")]
pub struct CompatError(String);

impl CompatOptions {
    /// The systems that a value of `--compat` names: `s0`, `s1`, `s2` with commas, `all` or `none`.
    ///
    /// # Errors
    ///
    /// [`CompatError`] names the part that is not understood.
    pub fn systems(text: &str) -> Result<Vec<Predecessor>, CompatError> {
        let mut systems = Vec::new();
        for part in text.split(',') {
            let part = part.trim().to_ascii_lowercase();
            match part.as_str() {
                "all" => systems.extend(Predecessor::ALL),
                "none" | "" => {}
                name => {
                    let known = Predecessor::ALL
                        .into_iter()
                        .find(|one| one.as_str() == name);
                    let unknown = || CompatError(limbeck_domain::text::clean_line(name, 32));
                    systems.push(known.ok_or_else(unknown)?);
                }
            }
        }
        systems.sort_unstable();
        systems.dedup();
        Ok(systems)
    }

    /// The systems that the names of environment variables point to, each with one of the variables that only it read.
    pub fn pointed_to<'n>(
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Vec<(Predecessor, &'n str)> {
        let found = Predecessor::ALL.into_iter().filter_map(|system| {
            let mut names = names.clone();
            names
                .find(|name| system.read_alone(name))
                .map(|name| (system, name))
        });
        found.collect()
    }

    /// Whether the tools of `system` are listed.
    pub fn lists(&self, system: Predecessor) -> bool {
        self.listed.contains(&system)
    }

    /// Whether the gateway's own `search` and `execute` are listed.
    pub fn lists_own(&self) -> bool {
        self.listed.is_empty()
    }
}

/// Definitions of the tools that are listed with these options, in the order of the files.
pub(in crate::surface) fn listed(options: &CompatOptions) -> Vec<Tool> {
    alias::definitions(|system| options.lists(system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_are_named_alone_together_all_or_none() {
        use Predecessor::{S0, S1, S2};
        for (text, systems) in [
            ("s0", vec![S0]),
            ("s2, S1", vec![S1, S2]),
            ("all", vec![S0, S1, S2]),
            ("s1,all", vec![S0, S1, S2]),
            ("none", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(CompatOptions::systems(text), Ok(systems), "{text}");
        }
        let error = CompatOptions::systems("s0,s3").unwrap_err().to_string();
        assert!(error.contains("unknown surface `s3`"), "{error}");
    }

    #[test]
    fn a_variable_points_to_the_one_system_that_read_it() {
        let pointed = |names: &[&'static str]| {
            let found = CompatOptions::pointed_to(names.iter().copied());
            let found = found.into_iter();
            found
                .map(|(system, name)| format!("{system} {name}"))
                .collect::<Vec<_>>()
        };
        for (name, found) in [
            ("CODE_EXECUTOR_AI_PROVIDER", "s0 CODE_EXECUTOR_AI_PROVIDER"),
            ("DENO_PATH", "s0 DENO_PATH"),
            ("PYTHON_SANDBOX_READY", "s0 PYTHON_SANDBOX_READY"),
            ("ALLOWED_PROJECTS", "s0 ALLOWED_PROJECTS"),
            ("CONNECTED_SERVERS", "s1 CONNECTED_SERVERS"),
            ("MCP_BRIDGE_TIMEOUT", "s2 MCP_BRIDGE_TIMEOUT"),
        ] {
            assert_eq!(pointed(&["PATH", name]), [found]);
        }
        // Two of the systems read it, and an ordinary environment points nowhere.
        assert_eq!(
            pointed(&["MCP_CONFIG_PATH", "HOME", "ANTHROPIC_API_KEY"]),
            [""; 0]
        );
        assert_eq!(pointed(&["MCP_BRIDGE_CPUS", "DENO_PATH"]).len(), 2);
    }
}
