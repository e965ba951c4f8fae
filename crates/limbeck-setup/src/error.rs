//! Errors of whole configuration files.

use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::ValueError;
use crate::escaped_text::shown_path;

/// Error that ends loading. Only files named with `--config` cause it.
///
/// No variant quotes a value: a file holds secrets.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file does not exist.
    #[error("configuration file {} does not exist", shown_path(file))]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// The file exists and cannot be read.
    #[error("configuration file {} cannot be read", shown_path(file))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The file is not a text file of an accepted size.
    #[error("configuration file {} {problem}", shown_path(file))]
    Unusable {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, a fragment that follows the file's name.
        problem: String,
    },
    /// A value in the file is not of the accepted form.
    #[error("{}:{line}:{column}: {error}", shown_path(file))]
    Invalid {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
        /// The error of the value.
        error: Box<ValueError>,
    },
}

/// End of the problem of a path that is a directory, a pipe or a device.
pub(crate) const NOT_A_FILE: &str = ", not a file";

impl ConfigError {
    /// What is wrong, without the name of the file.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Missing { .. } => "does not exist".to_owned(),
            Self::Unreadable { source, .. } => format!("cannot be read: {source}"),
            Self::Unusable { problem, .. } => problem.clone(),
            Self::Invalid { error, .. } => error.to_string(),
        }
    }

    /// The error with the name of its file alone, for readers who learn no path of the machine.
    pub fn without_directory(&self) -> String {
        let (file, at) = match self {
            Self::Missing { file }
            | Self::Unreadable { file, .. }
            | Self::Unusable { file, .. } => (file, String::new()),
            Self::Invalid {
                file, line, column, ..
            } => (file, format!("{line}:{column}:")),
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        format!("{name}:{at} {}", self.problem())
    }

    /// Next step for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { .. } => {
                "`--config` takes any file with an `mcpServers` object".to_owned()
            }
            Self::Unreadable { file, .. } => {
                format!("make the file readable: `chmod u+r '{}'`", shown_path(file))
            }
            Self::Unusable { problem, .. } if problem.ends_with(NOT_A_FILE) => {
                "give a file".to_owned()
            }
            Self::Unusable { problem, .. } if problem.starts_with("is larger") => {
                "write the servers into a smaller file".to_owned()
            }
            Self::Unusable { .. } => "give a text file in UTF-8".to_owned(),
            // The file as a whole: it is no JSON or TOML, or lacks its servers.
            Self::Invalid {
                file, line, error, ..
            } if error.key.is_empty() && error.hint.is_none() => {
                format!("correct line {line}; {}", accepted_form(file, false))
            }
            Self::Invalid { file, error, .. } => match error.hint {
                Some(hint) => hint.to_owned(),
                None => match form_of_settings(file, &error.key) {
                    Some(form) => form.to_owned(),
                    None => accepted_form(file, is_of_http(&error.key)),
                },
            },
        }
    }
}

/// Accepted form of the part of a `limbeck.toml` that `key` leads to; `None` for servers, and for the file as a whole.
fn form_of_settings(file: &Path, key: &str) -> Option<&'static str> {
    let section = key.split('.').next().filter(|_| is_toml(file))?;
    match section {
        "" | "servers" | "mcp_servers" => None,
        "limits" => Some("the accepted form is [limits] wall_ms = 60000"),
        "sandbox" => Some(r#"the accepted form is [sandbox] minimum_tier = "strict""#),
        "observe" => Some("the accepted form is `observe = false` above the first table"),
        "search" => Some(
            r#"the accepted form is [search.embeddings] url = "https://…/v1", model = "…", key = "env:NAME""#,
        ),
        "llm" => Some(crate::load::LLM_FORM),
        "notify" => Some(
            r#"the accepted form is [notify] desktop = true, webhook = { url = "https://…", secret = "env:NAME" }"#,
        ),
        "audit" => Some(
            r#"the accepted form is [audit] key = "~/.config/limbeck/audit.key", anchor = "/…", segments = "/…", records = 500000, fail_closed = true"#,
        ),
        "redaction" => Some(
            r#"the accepted form is [[redaction.rule]] shapes = ["email"], to_model = "mask", to_servers = "block", logs = "mask""#,
        ),
        "retention" => Some("the accepted form is [retention] executions = 1000, days = 30"),
        _ => Some(
            "the file has the tables [servers.NAME], [policy], [[budget]], [llm], [notify], [limits], [sandbox], [search.embeddings], [redaction], [audit] and [retention], and the key `observe`",
        ),
    }
}

fn is_toml(file: &Path) -> bool {
    let suffix = file.extension();
    suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("toml"))
}

/// Accepted form of a server's entry.
fn accepted_form(file: &Path, of_http: bool) -> String {
    let form = match (is_toml(file), of_http) {
        (true, false) => r#"[servers.NAME] command = "…", args = ["…"], env = { KEY = "…" }"#,
        (true, true) => r#"[servers.NAME] url = "https://…", headers = { NAME = "…" }"#,
        (false, false) => {
            r#"{"mcpServers": {"NAME": {"command": "…", "args": ["…"], "env": {"KEY": "…"}}}}"#
        }
        (false, true) => {
            r#"{"mcpServers": {"NAME": {"url": "https://…", "headers": {"NAME": "…"}}}}"#
        }
    };
    format!("the accepted form is {form}")
}

/// Keys that only an entry of an HTTP server has.
const HTTP_KEYS: &[&str] = &["headers", "httpUrl", "serverUrl", "uri", "url"];

/// Whether a key path leads into an entry of an HTTP server.
fn is_of_http(key: &str) -> bool {
    key.split('.').skip(2).any(|part| HTTP_KEYS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_of_an_unknown_table_has_every_table() {
        let hint = form_of_settings(Path::new("limbeck.toml"), "polici").unwrap();
        let known = [
            "[servers.NAME]",
            "[policy]",
            "[llm]",
            "[[budget]]",
            "[notify]",
            "[limits]",
            "[sandbox]",
        ];
        for table in known
            .into_iter()
            .chain(["[search.embeddings]", "`observe`"])
        {
            assert!(hint.contains(table), "{table}: {hint}");
        }
    }
}
