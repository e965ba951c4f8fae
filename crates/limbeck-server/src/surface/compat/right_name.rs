//! The tool that a client means by a name that no tool has.

use limbeck_domain::text::clean_line;
use rmcp::ErrorData;

use super::alias;
use super::options::{CompatOptions, listed};
use crate::surface::built_in_tools::BuiltInTool;

/// Bytes of a name in an error.
const NAME_SHOWN_BYTES: usize = 128;
/// Words of a name by which clients run programs.
const RUNNING: [&str; 4] = ["execute", "run", "exec", "eval"];
/// Words of a name by which clients find tools.
const FINDING: [&str; 4] = ["search", "find", "discover", "lookup"];

/// Error of a call of a tool that does not exist. It names the right one.
pub(in crate::surface) fn unknown_tool(name: &str, options: &CompatOptions) -> ErrorData {
    let shown = clean_line(name, NAME_SHOWN_BYTES);
    let step = match meant_by(name, options) {
        Some(meant) => format!("it is `{meant}` here"),
        None => {
            let run = names_listed(options);
            format!("call {run}, and call the tools of other servers inside a program")
        }
    };
    ErrorData::invalid_params(format!("unknown tool `{shown}`; {step}"), None)
}

/// The tool that a name is another spelling of, or that does what its words say.
fn meant_by(name: &str, options: &CompatOptions) -> Option<String> {
    if name.len() > NAME_SHOWN_BYTES {
        return None;
    }
    let own = BuiltInTool::ALL.into_iter().map(BuiltInTool::name);
    // A client may have put its own name for the gateway before the tool's.
    let last = name.rsplit("__").next().unwrap_or(name);
    let folded = folded(last);
    let spelled = own
        .chain(alias::names())
        .find(|known| self::folded(known) == folded);
    if let Some(known) = spelled {
        return Some(known.to_owned());
    }
    let words = words(last);
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let program_words = [
        "code",
        "python",
        "typescript",
        "javascript",
        "js",
        "ts",
        "program",
        "script",
    ];
    if has(&RUNNING) && has(&program_words) {
        let own = BuiltInTool::Execute.name();
        return Some(match (options.lists_own(), has(&["python"])) {
            (true, true) => format!("{own}` with `language: \"python\""),
            (true, false) => own.to_owned(),
            (false, _) => return None,
        });
    }
    let finds = has(&FINDING) && (has(&["tool", "tools"]) || words.len() == 1);
    (finds && options.lists_own()).then(|| BuiltInTool::Search.name().to_owned())
}

/// The tools that are listed, or the two of the gateway.
fn names_listed(options: &CompatOptions) -> String {
    let listed = listed(options);
    if listed.is_empty() {
        return "`search` or `execute`".to_owned();
    }
    let names: Vec<String> = listed
        .iter()
        .map(|tool| format!("`{}`", tool.name))
        .collect();
    names.join(" or ")
}

/// A name without the letter case and the separators that clients change.
fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Words of a name in any style.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || after_lower && c.is_uppercase();
        if begins {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::options::Predecessor;
    use super::*;

    #[test]
    fn a_wrong_name_gets_the_right_one() {
        let own = CompatOptions::default();
        for (name, named) in [
            ("executeTypeScript", "it is `executeTypescript` here"),
            ("execute_python", "it is `executePython` here"),
            ("mcp__limbeck__execute", "it is `execute` here"),
            (
                "mcp__code-executor__run-typescript-code",
                "it is `run-typescript-code` here",
            ),
            ("Search", "it is `search` here"),
            ("run_code", "it is `execute` here"),
            ("runJavascript", "it is `execute` here"),
            (
                "exec_python_script",
                "it is `execute` with `language: \"python\"` here",
            ),
            ("find_tools", "it is `search` here"),
            (
                "read_file",
                "call `search` or `execute`, and call the tools of other servers",
            ),
        ] {
            let error = unknown_tool(name, &own).message.to_string();
            assert!(error.contains(named), "{name}: {error}");
        }
        let s1 = CompatOptions {
            listed: vec![Predecessor::S1],
            ..CompatOptions::default()
        };
        let error = unknown_tool("read_file", &s1).message.to_string();
        assert!(
            error.contains("call `execute_code` or `search_tools` or"),
            "{error}"
        );
        let long = "run_code".repeat(100_000);
        assert!(unknown_tool(&long, &own).message.len() < 400);
    }
}
