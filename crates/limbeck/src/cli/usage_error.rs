//! Errors of the argument parser in the words and the form of all other errors.

use anyhow::anyhow;
use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;
use crate::exit::CommandError;

/// Commands of other programs, and what does the same here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("connect", "limbeck import FILE"),
    ("install", "limbeck add NAME -- COMMAND"),
    ("login", "limbeck auth login SERVER"),
    ("logout", "limbeck auth logout SERVER"),
    ("setup", "limbeck import FILE"),
    ("start", "limbeck serve"),
    ("version", "limbeck --version"),
];
/// Most single-letter differences between a mistyped command and its name.
const MISTAKES_MAX: usize = 2;

/// The error as all commands report theirs; `None` when it is help or a version, which are printed as they are.
pub(crate) fn usage_error(error: &clap::Error) -> Option<CommandError> {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        return None;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let mut message: Vec<String> = Vec::new();
    let mut tips = Vec::new();
    for line in text.lines() {
        if let Some(tip) = line.trim_start().strip_prefix("tip: ") {
            tips.push(in_backticks(tip));
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            message.push(format!("  usage: {usage}"));
        } else if !line.is_empty() && !line.starts_with("For more information") {
            message.push(in_backticks(line));
        }
    }
    let hint = subcommand_hint(error)
        .or_else(|| tips.into_iter().next())
        .unwrap_or_else(|| help_hint(&message));
    Some(CommandError::usage(anyhow!("{}", message.join("\n"))).with_hint(hint))
}

/// The parser quotes names with apostrophes, and passes on what the standard library says of a number.
fn in_backticks(text: &str) -> String {
    text.replace('\'', "`")
        .replace("invalid digit found in string", "it is not a whole number")
}

/// Where the options of the command are described. `message` has its usage where arguments are missing.
fn help_hint(message: &[String]) -> String {
    let usage = message
        .iter()
        .find_map(|line| line.trim_start().strip_prefix("usage: limbeck "));
    let cli = Cli::command();
    let mut command = &cli;
    let mut names = String::new();
    for word in usage.into_iter().flat_map(str::split_whitespace) {
        let Some(subcommand) = command.find_subcommand(word) else {
            break;
        };
        names.push(' ');
        names.push_str(subcommand.get_name());
        command = subcommand;
    }
    match names.as_str() {
        "" => "run `limbeck help` to list the commands, and `limbeck help COMMAND` for the options of one".to_owned(),
        names => format!("run `limbeck help{names}` for its arguments and options"),
    }
}

/// The command that was probably meant.
fn subcommand_hint(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    if let Some((_, command)) = OTHER_NAMES.iter().find(|(name, _)| name == asked) {
        return Some(format!("run `{command}`"));
    }
    let cli = Cli::command();
    let names = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let nearest = names
        .map(|command| (distance(asked, command.get_name()), command.get_name()))
        .min()
        .filter(|(distance, name)| *distance <= MISTAKES_MAX && *distance < name.len());
    Some(match nearest {
        Some((_, name)) => format!("did you mean `limbeck {name}`?"),
        None => "run `limbeck help` to list the commands".to_owned(),
    })
}

/// Number of letters to insert, remove, replace or exchange with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn failure(arguments: &[&str]) -> (String, String) {
        let arguments = std::iter::once(&"limbeck").chain(arguments);
        let error = Cli::try_parse_from(arguments).unwrap_err();
        let failure = usage_error(&error).unwrap();
        (failure.error.to_string(), failure.hint.unwrap())
    }

    #[test]
    fn a_mistyped_command_has_the_nearest_one_as_hint() {
        for (asked, expected) in [
            ("rn", "`limbeck run`"),
            ("excutions", "`limbeck executions`"),
            ("serach", "`limbeck search`"),
            ("login", "`limbeck auth login SERVER`"),
            ("version", "`limbeck --version`"),
            ("frobnicate", "`limbeck help`"),
        ] {
            let (message, hint) = failure(&[asked]);
            assert_eq!(
                message,
                format!("unrecognized subcommand `{asked}`\n  usage: limbeck [OPTIONS] [COMMAND]")
            );
            assert!(hint.contains(expected), "{asked}: {hint}");
        }
    }

    #[test]
    fn errors_of_the_parser_use_backticks_and_one_hint() {
        let (message, hint) = failure(&["tools", "--jsn"]);
        assert!(
            message.starts_with("unexpected argument `--jsn` found"),
            "{message}"
        );
        assert!(hint.contains("`--json`"), "{hint}");
        let (message, _) = failure(&["run"]);
        assert!(
            !message.contains('\'') && !message.contains("For more"),
            "{message}"
        );
    }

    #[test]
    fn the_hint_names_the_help_of_the_command() {
        for (arguments, expected) in [
            (&["run"][..], "`limbeck help run` "),
            (&["auth", "login"][..], "`limbeck help auth login` "),
            (&["call", "shop"][..], "`limbeck help call` "),
            (&["ledger", "--since", "x"][..], "`limbeck help COMMAND` "),
        ] {
            let (_, hint) = failure(arguments);
            assert!(hint.contains(expected), "{arguments:?}: {hint}");
        }
        let (message, _) = failure(&["executions", "--limit", "ten"]);
        assert!(message.ends_with(": it is not a whole number"), "{message}");
    }

    #[test]
    fn a_transposition_is_one_mistake() {
        assert_eq!(distance("gti", "git"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("run", "run"), 0);
    }
}
