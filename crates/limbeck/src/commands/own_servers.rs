//! `limbeck add`, `limbeck remove` and `limbeck import`: the user's own servers, in `~/.config/limbeck/config.toml`.

mod import;
mod paths;

use std::path::Path;

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_setup::{Existing, NewServer, OwnFile, OwnFileError, Transport};
use limbeck_upstream::StdioSpec;

use crate::cli::{AddArgs, RemoveArgs};
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::shell::quoted;
use crate::wiring::read_configuration;

pub(super) use import::import;

/// Longest command or url of a server in a listing, in bytes.
const TARGET_BYTES_MAX: usize = 200;
/// Longest warning about an entry, in bytes.
const WARNING_BYTES_MAX: usize = 1 << 10;
/// Paths of one server that a warning names.
const PATHS_MAX: usize = 8;
/// Words in the name of a variable or a header whose value is a secret.
const SECRET_WORDS: &[&str] = &[
    "AUTHORIZATION",
    "COOKIE",
    "KEY",
    "PASSWORD",
    "PASSWD",
    "SECRET",
    "TOKEN",
];
/// Beginnings of a value that names where a secret is, such as `env:TOKEN`.
const REFERENCES: &[&str] = &["env:", "exec:", "file:", "keychain:"];

/// Adds a server.
pub(super) fn add(
    invocation: &Invocation,
    arguments: &AddArgs,
) -> Result<ExitStatus, CommandError> {
    let server = new_server(arguments)?;
    refuse_whole_directory(invocation, &server)?;
    let own = OwnFile::of(&invocation.world).map_err(failure)?;
    let added = own
        .add(&arguments.name, &server, existing(arguments.replace))
        .map_err(|error| add_failure(error, &arguments.name, &server))?;
    let name = clean_line(&arguments.name, TARGET_BYTES_MAX);
    let printer = &invocation.printer;
    printer.note(&format!("server `{name}` is in {}", own.path().display()));
    note_reload(printer);
    warn(printer, &name, &added.warnings);
    if let NewServer::Stdio {
        command,
        args,
        env,
        cwd,
    } = &server
    {
        let start = &added.entry.start_directory;
        if cwd.is_none() && *start != invocation.world.cwd {
            warn_of_paths(invocation, &name, command, args, start);
        }
        warn_of_secrets(printer, env);
    }
    if let NewServer::Http { headers, .. } = &server {
        warn_of_headers(invocation, &name, headers);
    }
    if let Ok(transport) = &added.entry.definition {
        let problem = program_problem(transport, Some(&added.entry.start_directory));
        warn(printer, &name, problem.as_slice());
    }
    printer.hint(&format!(
        "run `limbeck tools {}` to try it",
        quoted(&arguments.name)
    ));
    Ok(ExitStatus::Completed)
}

/// Error of adding a server. A command in one word with its arguments is the mistake of a user who quoted them.
fn add_failure(error: OwnFileError, name: &str, server: &NewServer) -> CommandError {
    let failure = failure(error);
    match server {
        NewServer::Stdio { command, args, .. }
            if failure.hint.is_none() && args.is_empty() && command.contains(' ') =>
        {
            let words: Vec<String> = command.split_whitespace().map(quoted).collect();
            failure.with_hint(format!(
                "give the words one by one: `limbeck add {} -- {}`",
                quoted(name),
                words.join(" ")
            ))
        }
        NewServer::Stdio { .. } | NewServer::Http { .. } => failure,
    }
}

/// Removes a server.
pub(super) fn remove(
    invocation: &Invocation,
    arguments: &RemoveArgs,
) -> Result<ExitStatus, CommandError> {
    let mut own = OwnFile::of(&invocation.world).map_err(failure)?;
    if let Err(error) = own.remove(&arguments.name) {
        // Setup moves servers into a file of its own.
        let imported = OwnFile::imported(&invocation.world).map_err(failure)?;
        let is_missing = matches!(error, OwnFileError::Missing { .. });
        if !is_missing || imported.remove(&arguments.name).is_err() {
            return Err(match error {
                OwnFileError::Missing { .. } => not_own(invocation, &arguments.name, error),
                error => failure(error),
            });
        }
        own = imported;
    }
    let name = clean_line(&arguments.name, TARGET_BYTES_MAX);
    invocation.printer.note(&format!(
        "server `{name}` is removed from {}",
        own.path().display()
    ));
    note_reload(&invocation.printer);
    Ok(ExitStatus::Completed)
}

/// Says that no client has to be restarted.
pub(super) fn note_reload(printer: &Printer) {
    printer.note("a gateway that runs takes it up within seconds");
}

/// Error of removing a server that the user's own file does not have; it names the file that has it.
fn not_own(invocation: &Invocation, name: &str, error: OwnFileError) -> CommandError {
    let configuration = read_configuration(invocation).ok();
    let servers = configuration.iter().flat_map(|found| &found.servers);
    let mut elsewhere = servers.filter(|entry| entry.name.as_str() == name);
    match elsewhere.next() {
        Some(entry) => CommandError::usage(error).with_hint(format!(
            "the server is in {}, which Limbeck does not change: remove it there",
            entry.origin
        )),
        None => failure(error),
    }
}

/// Prints what reading an entry reports.
fn warn(printer: &Printer, name: &str, warnings: &[String]) {
    for warning in warnings {
        let warning = format!("server `{name}`: {warning}");
        printer.warning(&clean_line(&warning, WARNING_BYTES_MAX));
    }
}

/// Whether the value of a variable or a header with this name is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Warns of headers whose value is a secret that the file has now, or a variable that is not set.
fn warn_of_headers(invocation: &Invocation, server: &str, headers: &[(String, String)]) {
    for (name, value) in headers {
        let header = clean_line(name, TARGET_BYTES_MAX);
        let reference = value.split(' ').next_back().unwrap_or_default();
        let is_reference = REFERENCES
            .iter()
            .any(|beginning| reference.starts_with(beginning));
        if let Some(variable) = reference.strip_prefix("env:") {
            if invocation.world.nonempty_variable(variable).is_none() {
                invocation.printer.warning(&format!(
                    "server `{server}`: header `{header}`: the environment variable `{}` is not set; set it for Limbeck",
                    clean_line(variable, TARGET_BYTES_MAX)
                ));
            }
        } else if is_secret(name) && !value.is_empty() && !value.contains("${") && !is_reference {
            invocation.printer.warning(&format!(
                "server `{server}`: the value of header `{header}` is in the file; to keep it out, set a variable for Limbeck and write `env:NAME` in its place",
            ));
        }
    }
}

/// Warns of variables whose value is a secret that the file has now.
fn warn_of_secrets(printer: &Printer, env: &[(String, String)]) {
    for (name, value) in env {
        if is_secret(name) && !value.is_empty() && !value.contains("${") {
            let name = clean_line(name, TARGET_BYTES_MAX);
            printer.warning(&format!(
                "the value of `{name}` is in the file; to keep it out, set the variable for Limbeck and write `--env '{name}=${{{name}}}'`"
            ));
        }
    }
}

/// Refuses an argument that would be the whole home directory, in which a server without `cwd` starts, where the user
/// means the working directory.
fn refuse_whole_directory(invocation: &Invocation, server: &NewServer) -> Result<(), CommandError> {
    let NewServer::Stdio {
        args, cwd: None, ..
    } = server
    else {
        return Ok(());
    };
    let world = &invocation.world;
    let Some(home) = world.home.as_ref().filter(|home| **home != world.cwd) else {
        return Ok(());
    };
    let Some(argument) = args
        .iter()
        .find(|argument| paths::is_whole_directory(argument))
    else {
        return Ok(());
    };
    let error = anyhow!(
        "`{}` would be of {}, where the server starts",
        clean_line(argument, TARGET_BYTES_MAX),
        clean_line(&home.display().to_string(), TARGET_BYTES_MAX)
    );
    Err(CommandError::usage(error).with_hint(format!(
        "add `--cwd .` to start the server in {}, or write an absolute path",
        clean_line(&world.cwd.display().to_string(), TARGET_BYTES_MAX)
    )))
}

/// Warns of a command and of arguments that are looked for where a server without `cwd` starts.
fn warn_of_paths(
    invocation: &Invocation,
    name: &str,
    command: &str,
    args: &[String],
    start: &Path,
) {
    let cwd = &invocation.world.cwd;
    let is_path =
        |argument: &&String| paths::is_relative(argument) || paths::is_found_in(argument, cwd);
    let command = Some(command).filter(|command| paths::is_relative_command(command));
    let args = args.iter().filter(is_path).map(String::as_str);
    for path in command.into_iter().chain(args).take(PATHS_MAX) {
        invocation.printer.warning(&format!(
            "server `{name}`: `{}` is looked for in {}, where the server starts; write `{}`, or add `--cwd .` to start it here",
            clean_line(path, TARGET_BYTES_MAX),
            start.display(),
            clean_line(&absolute(cwd, path), TARGET_BYTES_MAX)
        ));
    }
}

/// A relative path, or the one behind an option, below the working directory.
fn absolute(cwd: &Path, argument: &str) -> String {
    let path = paths::path_of(argument);
    let option = argument.strip_suffix(path).unwrap_or_default();
    format!("{option}{}", cwd.join(path).display())
}

/// Why the program of a local server cannot be started now; `None` for a server that can be started and a remote one.
fn program_problem(transport: &Transport, start: Option<&Path>) -> Option<String> {
    let Transport::Stdio {
        command,
        args,
        env,
        cwd,
    } = transport
    else {
        return None;
    };
    // A missing start directory is replaced at the start.
    let start = start.filter(|start| start.is_dir());
    let spec = StdioSpec {
        command: command.clone(),
        args: args.clone(),
        env: env.clone(),
        cwd: cwd.clone().or_else(|| start.map(Path::to_owned)),
    };
    Some(spec.program().err()?.to_string())
}

fn new_server(arguments: &AddArgs) -> Result<NewServer, CommandError> {
    let wrong = |text: &str, hint: &str| {
        let error = anyhow!("`{}` is not of the accepted form", clean_line(text, 80));
        CommandError::usage(error).with_hint(hint)
    };
    match (&arguments.url, arguments.command.split_first()) {
        (_, Some((command, args))) => {
            let pair = |text: &String| match text.split_once('=') {
                Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
                _ => Err(wrong(text, "write `--env NAME=VALUE`")),
            };
            Ok(NewServer::Stdio {
                command: command.clone(),
                args: args.to_vec(),
                env: arguments.env.iter().map(pair).collect::<Result<_, _>>()?,
                cwd: arguments.cwd.clone(),
            })
        }
        (Some(url), None)
            if (url.starts_with("https://") || url.starts_with("http://"))
                && arguments.words.is_empty() =>
        {
            let pair = |text: &String| match text.split_once(':') {
                Some((name, value)) if !name.is_empty() => {
                    Ok((name.trim().to_owned(), value.trim().to_owned()))
                }
                _ => Err(wrong(text, "write `--header 'NAME: VALUE'`")),
            };
            Ok(NewServer::Http {
                url: url.clone(),
                headers: arguments
                    .header
                    .iter()
                    .map(pair)
                    .collect::<Result<_, _>>()?,
            })
        }
        (Some(url), None) if url.contains("://") => match arguments.words.first() {
            Some(word) => Err(wrong(
                word,
                "nothing follows the url of a server but options",
            )),
            None => Err(wrong(url, "a url starts with `https://` or `http://`")),
        },
        (Some(word), None) if arguments.words.is_empty() && is_address(word) => Err(wrong(
            word,
            &format!(
                "write `limbeck add {} {}`",
                quoted(&arguments.name),
                quoted(&format!("https://{word}"))
            ),
        )),
        (Some(word), None) => {
            let words = std::iter::once(word).chain(&arguments.words);
            let words: Vec<String> = words.map(|word| quoted(word)).collect();
            Err(wrong(
                word,
                &format!(
                    "write a command after `--`: `limbeck add {} -- {}`",
                    quoted(&arguments.name),
                    words.join(" ")
                ),
            ))
        }
        (None, None) => Err(wrong("", "give a url, or a command after `--`")),
    }
}

/// Whether a word is an address without its scheme, such as `example.com/mcp`.
fn is_address(word: &str) -> bool {
    let Some((host, _)) = word.split_once('/') else {
        return false;
    };
    let host = host.split(':').next().unwrap_or_default();
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.contains('.') && host.split('.').all(is_part)
}

fn existing(replace: bool) -> Existing {
    if replace {
        Existing::Replace
    } else {
        Existing::Keep
    }
}

fn failure(error: OwnFileError) -> CommandError {
    let hint = error.hint();
    let mut failure = CommandError::usage(error);
    failure.hint = hint;
    failure
}
