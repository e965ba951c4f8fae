//! Expansion of `${…}` references, as the clients do whose files are read.
//!
//! Accepted are `${NAME}` and `${env:NAME}`, each with an optional `:-default`, and the editors'
//! `${workspaceFolder}` and `${userHome}`. Any other reference is an error that names it: left as it is, it
//! would reach a server as a wrong secret or path. Values are not expanded again, and `$NAME` without braces
//! stays as it is.

use crate::world::World;

/// Words in the name of a variable that holds a secret.
const SECRET_WORDS: &[&str] = &["KEY", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];

/// Values that references are replaced with.
#[derive(Clone, Copy)]
pub(crate) struct Variables<'a> {
    pub(crate) world: &'a World,
}

impl Variables<'_> {
    /// Replaces every reference in `text`.
    ///
    /// # Errors
    ///
    /// The problem of the first reference that cannot be replaced; it names the variable and no value.
    pub(crate) fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("${") {
            let Some((reference, after)) = from.split_once('}') else {
                return Err("`${` is not closed by `}`".to_owned());
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
            "workspaceFolder" => return Ok(self.world.cwd.to_string_lossy().into_owned()),
            "userHome" => {
                let home = self.world.home.as_ref();
                let home = home.ok_or("there is no home directory")?;
                return Ok(home.to_string_lossy().into_owned());
            }
            name => name.strip_prefix("env:").unwrap_or(name),
        };
        if !is_variable(name) {
            return Err(format!(
                "`${{{reference}}}` is not a supported reference; use `${{NAME}}` or `${{NAME:-default}}`"
            ));
        }
        match (self.world.variable(name), default) {
            // As in a shell, `:-` also replaces an empty value.
            (Some(""), Some(default)) => Ok(default.to_owned()),
            (Some(value), _) => Ok(value.to_owned()),
            (None, Some(default)) => Ok(default.to_owned()),
            (None, None) => {
                let default = if is_secret(name) {
                    String::new()
                } else {
                    format!(", or write `${{{name}:-default}}`")
                };
                Err(format!(
                    "the environment variable `{name}` is not set; export it in the environment of the client{default}"
                ))
            }
        }
    }
}

/// Whether a variable of this name holds a secret, which has no default.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
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
    use crate::world::OperatingSystem;

    fn expand(text: &str) -> Result<String, String> {
        let variables = [
            ("TOKEN", "s3cret"),
            ("EMPTY", ""),
            ("NESTED", "${TOKEN}"),
            (OperatingSystem::CURRENT.home_variable(), "/home/me"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let world = World::new(OperatingSystem::CURRENT, "/src", variables.into());
        Variables { world: &world }.expand(text)
    }

    #[test]
    fn references_are_replaced_once() {
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
    fn references_that_cannot_be_replaced_are_errors_that_name_them() {
        for (text, named) in [
            ("${NONE}", "`NONE` is not set"),
            ("${TOKEN", "not closed"),
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

    #[test]
    fn a_secret_that_is_not_set_has_no_default_to_write() {
        let problem = expand("${API_TOKEN}").unwrap_err();
        assert!(
            problem.ends_with("export it in the environment of the client"),
            "{problem}"
        );
        // The control: another variable.
        let problem = expand("${REGION}").unwrap_err();
        assert!(
            problem.ends_with(", or write `${REGION:-default}`"),
            "{problem}"
        );
    }
}
