//! Errors of the argument parser in the words and the form of all other errors.

use anyhow::anyhow;
use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;
use crate::exit::CommandError;
use crate::shell::quoted;

/// Commands of other programs, and what does the same here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("config", "limbeck doctor"),
    ("connect", "limbeck import FILE"),
    ("describe", "limbeck tools SERVER"),
    ("history", "limbeck executions"),
    ("init", "limbeck import FILE"),
    ("install", "limbeck add NAME -- COMMAND"),
    ("login", "limbeck auth login SERVER"),
    ("logout", "limbeck auth logout SERVER"),
    ("logs", "limbeck executions"),
    ("setup", "limbeck import FILE"),
    ("start", "limbeck serve"),
    ("stats", "limbeck ledger"),
    ("version", "limbeck --version"),
];
/// Most single-letter differences between a mistyped command and its name.
const MISTAKES_MAX: usize = 2;

/// The error as all commands report theirs; `None` when it is help or a version, which are printed as they are.
///
/// `arguments` are those of the process, its own name left out. The error does not have them, and a hint names them.
pub(crate) fn usage_error(error: &clap::Error, arguments: &[String]) -> Option<CommandError> {
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
            // A mistyped option is hardly ever meant as a value.
            if !tip.starts_with("to pass ") {
                tips.push(in_backticks(tip));
            }
        } else if let (Some(values), Some(last)) = (possible_values(line), message.last_mut()) {
            last.push_str(&format!(": accepted: {values}"));
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            message.push(format!("  usage: {usage}"));
        } else if !line.is_empty() && !line.starts_with("For more information") {
            message.push(in_backticks(line));
        }
    }
    let hint = subcommand_hint(error, arguments)
        .or_else(|| tips.into_iter().next())
        .or_else(|| missing_hint(error, arguments))
        .unwrap_or_else(|| help_hint(&message, arguments));
    Some(CommandError::usage(anyhow!("{}", message.join("\n"))).with_hint(hint))
}

/// Values of an option with a fixed set of them, in the line that the parser writes below its message.
fn possible_values(line: &str) -> Option<&str> {
    let values = line.trim_start().strip_prefix("[possible values: ")?;
    values.strip_suffix(']')
}

/// The parser quotes names with apostrophes, and passes on what the standard library says of a number.
fn in_backticks(text: &str) -> String {
    let text = text
        .replace('\'', "`")
        .replace("invalid digit found in string", "it is not a whole number");
    // `invalid value `0` for `--limit <N>`: 0 is not in 1..=50`
    let range = text.split_once(" is not in ").and_then(|(what, range)| {
        let (what, _) = what.rsplit_once(": ")?;
        let (least, most) = range.split_once("..=")?;
        Some(format!("{what}: accepted: {least} to {most}"))
    });
    range.unwrap_or(text)
}

/// The form in which the arguments that are missing are given, where a user is likely to have meant another one.
fn missing_hint(error: &clap::Error, arguments: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let mut words = arguments.iter().map(String::as_str);
    let command = words.find(|word| ["add", "call"].contains(word))?;
    let first = words.next().filter(|word| !word.starts_with('-'));
    match (command, first.and_then(|word| word.split_once('.'))) {
        ("add", _) => {
            let name = first.map_or_else(|| "NAME".to_owned(), quoted);
            Some(format!(
                "write `limbeck add {name} URL`, or `limbeck add {name} -- COMMAND`"
            ))
        }
        (_, Some((server, tool))) if !server.is_empty() && !tool.is_empty() => Some(format!(
            "did you mean `limbeck call {} {}`?",
            quoted(server),
            quoted(tool)
        )),
        (_, _) => None,
    }
}

/// Where the options of the command are described. `message` has its usage where arguments are missing.
fn help_hint(message: &[String], arguments: &[String]) -> String {
    let cli = Cli::command();
    let usage = message
        .iter()
        .find_map(|line| line.trim_start().strip_prefix("usage: limbeck "))
        .filter(|usage| {
            usage
                .split(' ')
                .any(|word| cli.find_subcommand(word).is_some())
        });
    let words: Vec<&str> = match usage {
        Some(usage) => usage.split_whitespace().collect(),
        // An error of a value has no usage. Options of every command may be before the command.
        None => arguments
            .iter()
            .map(String::as_str)
            .skip_while(|word| cli.find_subcommand(word).is_none())
            .collect(),
    };
    let mut command = &cli;
    let mut names = String::new();
    for word in words {
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

/// The command that was probably meant, among those of the group in which it was looked for, such as `policy`.
fn subcommand_hint(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let cli = Cli::command();
    let (mut group, mut path) = (&cli, String::new());
    for word in arguments.iter().take_while(|word| *word != asked) {
        if let Some(command) = group.find_subcommand(word) {
            path = format!("{path} {}", command.get_name());
            group = command;
        }
    }
    let other = OTHER_NAMES.iter().find(|(name, _)| name == asked);
    if let (Some((_, command)), "") = (other, &*path) {
        return Some(format!("run `{command}`"));
    }
    let names = group
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let nearest = names
        .map(|command| (distance(asked, command.get_name()), command.get_name()))
        .min()
        .filter(|(distance, name)| *distance <= MISTAKES_MAX && *distance < name.len());
    Some(match nearest {
        Some((_, name)) => format!("did you mean `limbeck{path} {name}`?"),
        None => format!("run `limbeck help{path}` to list the commands"),
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
        let words: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let arguments = std::iter::once(&"limbeck").chain(arguments);
        let error = Cli::try_parse_from(arguments).unwrap_err();
        let failure = usage_error(&error, &words).unwrap();
        (failure.error.to_string(), failure.hint.unwrap())
    }

    #[test]
    fn a_mistyped_command_has_the_nearest_one_as_hint() {
        for (asked, expected) in [
            ("rn", "`limbeck run`"),
            ("excutions", "`limbeck executions`"),
            ("serach", "`limbeck search`"),
            ("login", "`limbeck auth login SERVER`"),
            ("describe", "`limbeck tools SERVER`"),
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
    fn a_mistyped_command_of_a_group_has_the_nearest_one_of_that_group_as_hint() {
        for (arguments, expected) in [
            (
                &["policy", "chek"][..],
                "did you mean `limbeck policy check`?",
            ),
            (
                &["--log", "error", "auth", "lgin", "docs"][..],
                "did you mean `limbeck auth login`?",
            ),
            // The name of a command of another group, and one that is like no command.
            (
                &["policy", "login"][..],
                "run `limbeck help policy` to list the commands",
            ),
            (
                &["auth", "frobnicate"][..],
                "run `limbeck help auth` to list the commands",
            ),
        ] {
            assert_eq!(failure(arguments).1, expected, "{arguments:?}");
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
            (&["ledger", "--since", "x"][..], "`limbeck help ledger` "),
            (
                &["--log", "loud", "auth", "status"][..],
                "`limbeck help auth status` ",
            ),
            (&["run", "x.ts", "--bogus"][..], "`limbeck help run` "),
            (&["--log", "loud"][..], "`limbeck help COMMAND` "),
        ] {
            let (_, hint) = failure(arguments);
            assert!(hint.contains(expected), "{arguments:?}: {hint}");
        }
        let (message, _) = failure(&["executions", "--limit", "ten"]);
        assert!(message.ends_with(": it is not a whole number"), "{message}");
        let (message, _) = failure(&["search", "x", "--limit", "0"]);
        assert!(message.ends_with(": accepted: 1 to 50"), "{message}");
        let (message, _) = failure(&["run", "x", "--language", "cobol"]);
        assert!(message.ends_with("`: accepted: ts, py"), "{message}");
    }

    #[test]
    fn what_is_missing_is_named_with_the_words_that_were_given() {
        for (arguments, expected) in [
            (
                &["call", "time.now"][..],
                "did you mean `limbeck call time now`?",
            ),
            (
                &["add", "my server"][..],
                "write `limbeck add 'my server' URL`, or `limbeck add 'my server' -- COMMAND`",
            ),
        ] {
            assert_eq!(failure(arguments).1, expected, "{arguments:?}");
        }
        // The control: what was meant is not known.
        assert!(failure(&["call", "time"]).1.contains("`limbeck help call`"));
    }

    #[test]
    fn a_transposition_is_one_mistake() {
        assert_eq!(distance("gti", "git"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("run", "run"), 0);
    }
}
