//! Fills in `${…}` references the way the clients do whose files we read.
//!
//! Accepted: `${NAME}` and `${env:NAME}`, each with an optional `:-default`, and the editors'
//! `${workspaceFolder}` and `${userHome}`. Everything else in such braces is refused by name: left
//! alone it would reach a server as a wrong secret or a wrong path. One pass: what a variable holds
//! is never looked at again. `$NAME` without braces stays as it is.

use std::path::Path;

/// Where references are looked up.
pub(crate) struct Variables<'a> {
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
}

impl Variables<'_> {
    /// `text` with every reference filled in.
    ///
    /// # Errors
    ///
    /// What is wrong with the first reference that cannot be, naming the variable and no value.
    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("${") {
            let Some((reference, after)) = from.split_once('}') else {
                return Err("`${` is never closed by `}`".to_owned());
            };
            expanded.push_str(before);
            expanded.push_str(&self.look_up(reference)?);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn look_up(&self, reference: &str) -> Result<String, String> {
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference, None),
        };
        let name = match name {
            "workspaceFolder" => return Ok(self.cwd.to_string_lossy().into_owned()),
            "userHome" => {
                let home = self.home.ok_or("there is no home directory")?;
                return Ok(home.to_string_lossy().into_owned());
            }
            name => name.strip_prefix("env:").unwrap_or(name),
        };
        if !is_variable(name) {
            return Err(format!(
                "`${{{reference}}}` is not a reference that can be resolved; use `${{NAME}}` or `${{NAME:-default}}`"
            ));
        }
        match ((self.env)(name), default) {
            // As in a shell: `:-` also stands in for an empty value.
            (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
            (Some(value), _) => Ok(value),
            (None, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(format!(
                "the environment variable `{name}` is not set; set it or write `${{{name}:-default}}`"
            )),
        }
    }
}

fn is_variable(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str) -> Result<String, String> {
        let env = |name: &str| match name {
            "TOKEN" => Some("s3cret".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${TOKEN}".to_owned()),
            _ => None,
        };
        Variables {
            env: &env,
            cwd: Path::new("/src"),
            home: Some(Path::new("/home/me")),
        }
        .expand(text)
    }

    #[test]
    fn references_are_filled_in_once() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a${TOKEN}b${TOKEN}", "as3cretbs3cret"),
            ("${env:TOKEN}", "s3cret"),
            ("${NONE:-x:-y}", "x:-y"),
            ("${NONE:-}", ""),
            ("${EMPTY}|${EMPTY:-d}", "|d"),
            ("${env:NONE:-d}", "d"),
            ("${NESTED}", "${TOKEN}"),
            ("$TOKEN $$ {TOKEN} }", "$TOKEN $$ {TOKEN} }"),
            ("${workspaceFolder}/x:${userHome}", "/src/x:/home/me"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_filled_in_is_refused_by_name() {
        for (text, named) in [
            ("${NONE}", "`NONE` is not set"),
            ("${TOKEN", "never closed"),
            ("${file:/etc/shadow}", "`${file:/etc/shadow}` is not"),
            ("${input:token}", "`${input:token}` is not"),
            ("${}", "`${}` is not"),
            ("${A${TOKEN}}", "`${A${TOKEN}` is not"),
            ("${1A}", "`${1A}` is not"),
        ] {
            let problem = expand(text).unwrap_err();
            assert!(problem.contains(named), "{text}: {problem}");
            assert!(!problem.contains("s3cret"));
        }
    }
}
