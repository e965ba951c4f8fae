//! Texts of the gateway in the words of the command line.
//!
//! The gateway writes hints for programs: "try `tools.shop.list_orders`". A user of `limbeck call` needs the words of the
//! command line, "try `limbeck call shop list_orders`", which a shell accepts as they are. It names arguments of `execute`,
//! `timeout_ms`, where a user of `limbeck run` gives an option, `--timeout-ms`.

use crate::shell::quoted;

/// The hint of a call that the policy denies: a model leaves the call, and a user can look at the rules.
const DENIED: (&str, &str) = (
    "do not try it again in another way: the user decides what is called; tell the user what you wanted to do",
    "`limbeck policy explain SERVER.TOOL` names what decides, and `limbeck policy check` mistakes in the files",
);

/// Beginnings of texts that name an argument of `execute`, with the option of `run`.
const BEGINNINGS: &[(&str, &str)] = &[
    ("`tools` limits ", "`--tools` limits "),
    ("`tools` has ", "`--tools` has "),
    ("over max_output_tokens ", "over `--max-output-tokens` "),
    (
        "add the tool to the `tools` patterns ",
        "add the tool to the `--tools` patterns ",
    ),
    DENIED,
];
/// Ends of such texts. What is between beginning and end may quote the program, so it is not searched.
const ENDS: &[(&str, &str)] = &[
    ("raise `max_output_tokens`", "raise `--max-output-tokens`"),
    (
        "a time limit is `timeout_ms` of `execute`",
        "a time limit is `--timeout-ms`",
    ),
    (
        "raise `timeout_ms`, or do less in one program",
        "raise `--timeout-ms`, or do less in one program",
    ),
    (
        "raise `timeout_ms`, or request less data at once",
        "raise `--timeout-ms`, or request less data at once",
    ),
    ("send `language: \"python\"`", "use `--language py`"),
    ("send `language: \"typescript\"`", "use `--language ts`"),
];

/// Whole hints that are for a model behind a client, with the words for a user of the command line, whose next command
/// reads the configuration again.
const WHOLE: &[(&str, &str)] = &[
    (
        "the user adds one with `limbeck add` or `limbeck import FILE`",
        "add one with `limbeck add`, or copy those of a client with `limbeck import FILE`",
    ),
    DENIED,
];

/// `text` of an error, a warning or a hint with the option of `run` where it names an argument of `execute`. That the sentences
/// are those of the gateway is tested with the executable: `tests/it/run.rs`.
pub(crate) fn option_form(text: &str) -> String {
    if let Some(hint) = whole(text) {
        return hint.to_owned();
    }
    let mut text = text.to_owned();
    for (argument, option) in BEGINNINGS {
        if let Some(rest) = text.strip_prefix(argument) {
            text = format!("{option}{rest}");
            break;
        }
    }
    for (argument, option) in ENDS {
        if let Some(rest) = text.strip_suffix(argument) {
            return format!("{rest}{option}");
        }
    }
    text
}

/// `hint` with each callable expression in backticks as a command. What is not exactly such an expression stays.
pub(crate) fn command_form(hint: &str) -> String {
    if let Some(hint) = whole(hint) {
        return hint.to_owned();
    }
    let mut parts = hint.split('`');
    let mut text = parts.next().unwrap_or_default().to_owned();
    // Every second part is between backticks.
    for (index, part) in parts.enumerate() {
        let command = if index % 2 == 0 { command(part) } else { None };
        text.push('`');
        text.push_str(command.as_deref().unwrap_or(part));
    }
    text
}

fn whole(hint: &str) -> Option<&'static str> {
    let found = WHOLE.iter().find(|(gateway, _)| *gateway == hint);
    found.map(|(_, command_line)| *command_line)
}

/// Command for `tools.server.tool` or `tools.server.tool(args: TYPE)`, without the backtick at each end.
fn command(expression: &str) -> Option<String> {
    let (server, rest) = member(expression.strip_prefix("tools")?)?;
    let (tool, rest) = member(rest)?;
    let call = format!("limbeck call {} {}", quoted(&server), quoted(&tool));
    let parameters = match rest {
        "" => "",
        _ => rest.strip_prefix('(')?.strip_suffix(')')?,
    };
    let parameters = parameters
        .strip_prefix("args: ")
        .or_else(|| parameters.strip_prefix("args?: "))
        .unwrap_or(parameters);
    Some(if parameters.is_empty() {
        call
    } else {
        format!("{call} JSON` with JSON of the type `{parameters}")
    })
}

/// Name of the member that `text` begins with, `.name` or `["name"]`, and what follows it.
fn member(text: &str) -> Option<(String, &str)> {
    if let Some(text) = text.strip_prefix('.') {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    }
    let text = text.strip_prefix('[')?;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let name = values.next()?.ok()?;
    let rest = text.get(values.byte_offset()..)?.strip_prefix(']')?;
    Some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::{command_form, option_form};

    #[test]
    fn an_argument_of_a_client_becomes_an_option_and_a_quoted_one_stays() {
        for (text, expected) in [
            (
                "`tools` limits this execution, and no tool matches `tools`",
                "`--tools` limits this execution, and no tool matches `tools`",
            ),
            (
                "the program was sent as typescript and is python; send `language: \"python\"`",
                "the program was sent as typescript and is python; use `--language py`",
            ),
            (
                "return less, or raise `max_output_tokens`",
                "return less, or raise `--max-output-tokens`",
            ),
            // One at each end.
            (
                "over max_output_tokens (1000): value; raise `max_output_tokens`",
                "over `--max-output-tokens` (1000): value; raise `--max-output-tokens`",
            ),
        ] {
            assert_eq!(option_form(text), expected);
        }
        let quoted = "the program printed \"`tools` limits \"";
        assert_eq!(option_form(quoted), quoted);
    }

    #[test]
    fn a_call_in_a_hint_becomes_a_command_and_other_code_stays() {
        for (hint, expected) in [
            (
                "try `tools.shop.list_orders`, `tools.shop.get`",
                "try `limbeck call shop list_orders`, `limbeck call shop get`",
            ),
            (
                r#"try `tools["my server"]["get-sum"]`"#,
                "try `limbeck call 'my server' get-sum`",
            ),
            (
                "call it as `tools.time.now(args: { zone: string })`",
                "call it as `limbeck call time now JSON` with JSON of the type `{ zone: string }`",
            ),
            (
                "call it as `tools.shop.list(args?: { page?: number })`",
                "call it as `limbeck call shop list JSON` with JSON of the type `{ page?: number }`",
            ),
            (
                "call it as `tools.t.wait()`",
                "call it as `limbeck call t wait`",
            ),
        ] {
            assert_eq!(command_form(hint), expected);
        }
        for other in [
            "configured servers: `every`, `tools`",
            "did you mean `timezone`?",
            "tools.shop.list is not in backticks",
            "`tools.shop`, `tools[shop].list`, `tools.shop.list.more`, `tools.shop.list(x`",
            "an open `tools.shop",
            "",
        ] {
            assert_eq!(command_form(other), other);
        }
    }
}
