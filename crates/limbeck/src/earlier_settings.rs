//! Settings that users of earlier systems have: variables of S0 and S2, and the files of S0.
//!
//! A value that cannot be used follows the rule of its system: S0 did not start and named the variable; S2's users get the
//! default and a warning.

use anyhow::anyhow;
use limbeck_server::surface::{EarlierSettings, ExecutionLog, Rate, Times};
use limbeck_setup::{EarlierFiles, World, earlier_files};
use serde_json::Value;

use crate::exit::CommandError;
use crate::printer::Printer;

/// Milliseconds that a program may be given, in the systems and here.
const TIMES_MS: std::ops::RangeInclusive<u64> = 1_000..=600_000;
/// Numbers that S0 read of variables and checked, with their bounds. What they bounded is bounded by Limbeck's own limits.
const CHECKED: [(&str, u64, u64); 3] = [
    ("POOL_MAX_CONCURRENT", 1, 1_000),
    ("POOL_QUEUE_SIZE", 1, 1_000),
    ("POOL_QUEUE_TIMEOUT_MS", 1_000, 300_000),
];
/// Window of a rate that a variable has in requests per minute.
const MINUTE_MS: u64 = 60_000;

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct EarlierReading {
    pub(crate) settings: EarlierSettings,
    /// The log of executions that S0's files turn on.
    pub(crate) execution_log: Option<ExecutionLog>,
    warnings: Vec<String>,
}

impl EarlierReading {
    /// Reads what `world` has.
    ///
    /// # Errors
    ///
    /// A variable of S0 that cannot be used.
    pub(crate) fn of(world: &World) -> Result<Self, CommandError> {
        let files = earlier_files(world);
        let mut reading = Self {
            warnings: files.problems.clone(),
            ..Self::default()
        };
        reading.settings.s0_times = Times {
            default_ms: match number(world, "CODE_EXECUTOR_TIMEOUT_MS", (1_000, 600_000))? {
                Some(ms) => Some(ms),
                None => reading.time(&files, "defaultTimeoutMs"),
            },
            max_ms: reading.time(&files, "maxTimeoutMs"),
        };
        for (name, least, most) in CHECKED {
            number(world, name, (least, most))?;
        }
        reading.read_tools(&files);
        reading.read_rate(world, &files)?;
        reading.read_python(world, &files);
        reading.read_log(world, &files);
        reading.settings.s2_times = Times {
            default_ms: reading.seconds(world, "MCP_BRIDGE_TIMEOUT"),
            max_ms: reading.seconds(world, "MCP_BRIDGE_MAX_TIMEOUT"),
        };
        let runtime = world.nonempty_variable("MCP_BRIDGE_RUNTIME");
        reading.settings.runtime = runtime.map(|name| limbeck_domain::text::clean_line(name, 120));
        Ok(reading)
    }

    /// Warns of values that are not used.
    pub(crate) fn warn(&self, printer: &Printer) {
        for warning in &self.warnings {
            printer.warning(warning);
        }
    }

    fn time(&mut self, files: &EarlierFiles, key: &str) -> Option<u64> {
        let value = section(files, "security")?.get(key)?;
        let ms = value.as_u64().filter(|ms| TIMES_MS.contains(ms));
        if ms.is_none() {
            self.warnings.push(format!(
                "`security.{key}` of .code-executor.json is not used: it is a number of milliseconds from 1000 to 600000"
            ));
        }
        ms
    }

    fn read_tools(&mut self, files: &EarlierFiles) {
        let Some(list) = section(files, "security").and_then(|it| it.get("allowedTools")) else {
            return;
        };
        let names: Option<Vec<String>> = list.as_array().and_then(|list| {
            let names = list.iter().map(|name| name.as_str().map(str::to_owned));
            names.collect()
        });
        match names {
            // An empty list was no list.
            Some(names) => self.settings.s0_tools = Some(names).filter(|names| !names.is_empty()),
            None => {
                // Nothing is allowed by a list that cannot be read.
                self.settings.s0_tools = Some(vec!["mcp__none__none".to_owned()]);
                self.warnings.push(
                    "`security.allowedTools` of .code-executor.json is no list of names, so S0's tools may call nothing".to_owned(),
                );
            }
        }
    }

    fn read_rate(&mut self, world: &World, files: &EarlierFiles) -> Result<(), CommandError> {
        if let Some(limit) = section(files, "security").and_then(|it| it.get("rateLimit"))
            && limit["enabled"] == true
        {
            let read =
                |key: &str, default: u64| limit.get(key).map_or(Some(default), Value::as_u64);
            let rate = read("maxRequests", 30).zip(read("windowMs", MINUTE_MS));
            let usable = rate.filter(|(requests, window)| *requests >= 1 && *window >= 1_000);
            self.settings.rate = usable.map(|(requests, window_ms)| Rate {
                requests_max: u32::try_from(requests).unwrap_or(u32::MAX),
                window_ms,
            });
            if usable.is_none() {
                self.warnings.push(
                    "`security.rateLimit` of .code-executor.json is not used: `maxRequests` is at least 1 and `windowMs` at least 1000".to_owned(),
                );
            }
        }
        if let Some(requests) = number(world, "CODE_EXECUTOR_RATE_LIMIT_RPM", (1, 100_000))? {
            self.settings.rate = Some(Rate {
                requests_max: u32::try_from(requests).unwrap_or(u32::MAX),
                window_ms: MINUTE_MS,
            });
        }
        Ok(())
    }

    fn read_python(&mut self, world: &World, files: &EarlierFiles) {
        let off = |name: &str| matches!(world.variable(name), Some("false" | "0"));
        let names = ["PYTHON_SANDBOX_READY", "PYTHON_ENABLED"];
        self.settings.python_off = names
            .into_iter()
            .find(|name| off(name))
            .map(|name| format!("`{name}` is false"));
        let python = section(files, "executors").and_then(|it| it.get("python"));
        if python.is_some_and(|python| python["enabled"] == false) {
            self.settings.python_off =
                Some("`executors.python.enabled` of .code-executor.json is false".to_owned());
        }
    }

    fn read_log(&mut self, world: &World, files: &EarlierFiles) {
        let Some(security) = section(files, "security") else {
            return;
        };
        if security.get("enableAuditLog") != Some(&Value::Bool(true)) {
            return;
        }
        let path = security.get("auditLogPath").and_then(Value::as_str);
        let is_foreign = ["security.auditLogPath", "security.enableAuditLog"]
            .iter()
            .any(|key| files.of_project.iter().any(|of| of == key));
        if is_foreign && path.is_some() {
            self.warnings.push(
                "`security.auditLogPath` of a file of the repository is not used: it would choose a file to write".to_owned(),
            );
        }
        let path = path.filter(|_| !is_foreign).unwrap_or("audit.log");
        let path = match (path.strip_prefix("~/"), &world.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => world.cwd.join(path),
        };
        self.execution_log = Some(ExecutionLog::new(path));
    }

    /// A time of S2, in seconds or with its unit, in milliseconds.
    fn seconds(&mut self, world: &World, name: &str) -> Option<u64> {
        let text = world.nonempty_variable(name)?;
        let ms = duration_ms(text).filter(|ms| (1..=3_600_000).contains(ms));
        if ms.is_none() {
            let text = limbeck_domain::text::clean_line(text, 40);
            self.warnings.push(format!(
                "{name} is `{text}`, which is no time such as 60, `60s` or `2m`; the default is used"
            ));
        }
        ms
    }
}

fn section<'f>(files: &'f EarlierFiles, name: &str) -> Option<&'f serde_json::Map<String, Value>> {
    files.values.get(name)?.as_object()
}

/// A number that a variable has.
fn number(
    world: &World,
    name: &str,
    (least, most): (u64, u64),
) -> Result<Option<u64>, CommandError> {
    let Some(text) = world.nonempty_variable(name) else {
        return Ok(None);
    };
    match text.trim().parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => {
            let text = limbeck_domain::text::clean_line(text, 40);
            let error = anyhow!("{name} is `{text}`; it is a whole number from {least} to {most}");
            Err(CommandError::usage(error).with_hint(format!("change or unset {name}")))
        }
    }
}

/// A time such as `60`, `60s`, `1500ms` or `2m`; a number alone is seconds.
fn duration_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "s" | "sec" => 1_000,
        "ms" => 1,
        "m" | "min" => 60_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use limbeck_setup::OperatingSystem;

    use super::*;

    fn world(home: &std::path::Path, variables: &[(&str, &str)]) -> World {
        let variables: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        World {
            home: Some(home.to_owned()),
            ..World::new(OperatingSystem::CURRENT, home.join("work"), variables)
        }
    }

    #[test]
    fn files_of_the_user_and_variables_are_read_and_a_stranger_chooses_no_file() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
        write(
            "work/.code-executor.json",
            r#"{"security": {"allowedTools": ["mcp__a__b"], "auditLogPath": "/etc/x", "enableAuditLog": true}}"#,
        );
        write(
            ".code-executor.json",
            r#"{"security": {"allowedTools": ["mcp__c__d"], "defaultTimeoutMs": 5000, "maxTimeoutMs": 7,
                "rateLimit": {"enabled": true, "maxRequests": 2}}, "executors": {"python": {"enabled": false}}}"#,
        );
        let world = world(
            home.path(),
            &[
                ("MCP_BRIDGE_TIMEOUT", "60s"),
                ("MCP_BRIDGE_MAX_TIMEOUT", "soon"),
            ],
        );
        let EarlierReading {
            settings,
            execution_log,
            warnings,
        } = EarlierReading::of(&world).unwrap();
        assert_eq!(settings.s0_tools, Some(vec!["mcp__a__b".to_owned()]));
        let times = (settings.s0_times.default_ms, settings.s0_times.max_ms);
        assert_eq!(times, (Some(5_000), None));
        let rate = Rate {
            requests_max: 2,
            window_ms: 60_000,
        };
        assert_eq!(settings.rate, Some(rate));
        assert!(settings.python_off.is_some());
        let expected = ExecutionLog::new(world.cwd.join("audit.log"));
        assert_eq!(execution_log, Some(expected));
        let times = (settings.s2_times.default_ms, settings.s2_times.max_ms);
        assert_eq!(times, (Some(60_000), None));
        assert_eq!(warnings.len(), 3, "{warnings:?}");
    }

    #[test]
    fn a_wrong_variable_of_the_first_system_is_named() {
        let home = tempfile::tempdir().unwrap();
        for name in ["POOL_MAX_CONCURRENT", "CODE_EXECUTOR_RATE_LIMIT_RPM"] {
            let world = world(home.path(), &[(name, "many")]);
            let failure = EarlierReading::of(&world).unwrap_err();
            assert!(failure.error.to_string().starts_with(name), "{failure:?}");
        }
    }
}
