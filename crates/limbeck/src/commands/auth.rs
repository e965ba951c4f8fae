//! `limbeck auth`: sign-in to servers, sign-out, status.
//!
//! Only `login` opens a browser, and only on a desktop. It always prints the address, as the only line on standard
//! output. When the browser is on another machine, the user pastes the address that the browser was redirected to.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_gateway::LOCAL_PRINCIPAL;
use limbeck_setup::{Configuration, ServerEntry, Transport};
use limbeck_upstream::oauth::{
    AuthorizationResponse, OAuthError, PendingLogin, RecordLocation, ServerAuth, SignInOutcome,
    SignInState, SignInStatus,
};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, stdin};

use crate::cli::{AuthCommand, LoginArgs, StatusArgs};
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::shell::quoted;
use crate::sign_in::server_auth;
use crate::table::TextTable;
use crate::wiring::{configuration, unreadable};

/// Wrong addresses that a user may paste.
const PASTES_MAX: usize = 5;
/// Longest name of a server that an error shows, in bytes.
const NAME_BYTES_SHOWN: usize = 80;
/// Longest pasted line in bytes.
const LINE_BYTES_MAX: u64 = 32 << 10;

/// Runs `login`, `logout` or `status`.
pub(super) async fn auth(
    invocation: &Invocation,
    command: &AuthCommand,
) -> Result<ExitStatus, CommandError> {
    let configuration = configuration(invocation)?;
    match command {
        AuthCommand::Login(arguments) => {
            let auth = server_sign_in(invocation, &configuration, &arguments.server)?;
            refuse_beside_header(&configuration, &arguments.server)?;
            let auth = sign_in_of(auth, arguments.principal.as_deref());
            login(invocation, &auth, arguments).await
        }
        AuthCommand::Logout { server, principal } => {
            let auth = sign_in_of(
                server_sign_in(invocation, &configuration, server)?,
                principal.as_deref(),
            );
            logout(&invocation.printer, &auth, server, principal.as_deref()).await
        }
        AuthCommand::Status(arguments) => status(invocation, &configuration, arguments).await,
    }
}

/// Sign-in of a principal, or of the user who runs the gateway.
fn sign_in_of(auth: Arc<ServerAuth>, principal: Option<&str>) -> Arc<ServerAuth> {
    match principal {
        Some(principal) if principal != LOCAL_PRINCIPAL => auth.for_principal(principal),
        Some(_) | None => auth,
    }
}

/// Refuses to sign in to a server whose entry has the header that a sign-in sets: the entry's own one is sent.
fn refuse_beside_header(configuration: &Configuration, name: &str) -> Result<(), CommandError> {
    let mut servers = configuration.servers.iter();
    let Some(entry) = servers.find(|entry| entry.name.as_str() == name) else {
        return Ok(());
    };
    let Ok(Transport::Http { headers, .. }) = &entry.definition else {
        return Ok(());
    };
    let is_own = |(header, _): &&(String, String)| header.eq_ignore_ascii_case("authorization");
    let Some((header, _)) = headers.iter().find(is_own) else {
        return Ok(());
    };
    let error = anyhow!(
        "the entry of server `{}` has a header `{header}` of its own, which is sent instead of a sign-in",
        clean_line(name, NAME_BYTES_SHOWN)
    );
    Err(CommandError::usage(error).with_hint(format!(
        "to sign in, remove the header `{header}` from the entry ({})",
        entry.origin
    )))
}

/// Sign-in to the server with this name.
fn server_sign_in(
    invocation: &Invocation,
    configuration: &Configuration,
    name: &str,
) -> Result<Arc<ServerAuth>, CommandError> {
    let mut servers = configuration.servers.iter();
    let Some(entry) = servers.find(|entry| entry.name.as_str() == name) else {
        let error = anyhow!(
            "no server is called `{}`",
            clean_line(name, NAME_BYTES_SHOWN)
        );
        return Err(CommandError::usage(error)
            .with_hint(unreadable(configuration).unwrap_or_else(|| {
                "run `limbeck tools` to list the configured servers".to_owned()
            })));
    };
    if let Err(fault) = &entry.definition {
        return Err(CommandError::usage(anyhow!(
            "the entry of server `{name}` is not valid: {fault}"
        )));
    }
    server_auth(invocation, entry)?.ok_or_else(|| {
        CommandError::usage(match entry.oauth.disabled {
            true => anyhow!("the entry of server `{name}` disables `oauth`"),
            false => anyhow!("server `{name}` is a local program, which has no sign-in"),
        })
    })
}

async fn login(
    invocation: &Invocation,
    auth: &Arc<ServerAuth>,
    arguments: &LoginArgs,
) -> Result<ExitStatus, CommandError> {
    let printer = &invocation.printer;
    let name = &arguments.server;
    let principal = arguments.principal.as_deref();
    let failed = |error: OAuthError| failure(error, name, principal, &arguments.scope);
    // Client credentials need no user, so there is no address to open.
    if auth.is_unattended() {
        let signed_in = auth.sign_in_unattended().await.map_err(failed)?;
        print_signed_in(printer, name, &signed_in);
        return Ok(ExitStatus::Completed);
    }
    let pending = match auth.begin(&arguments.scope).await {
        Ok(pending) => pending,
        Err(error @ OAuthError::NotAsked { .. }) => {
            printer.note(&format!("{error}; Limbeck uses the server without sign-in"));
            return Ok(ExitStatus::Completed);
        }
        Err(error) => return Err(failed(error)),
    };
    print_address(invocation, &pending, arguments);
    let limit = Duration::from_secs(arguments.timeout);
    let redirect = tokio::time::timeout(limit, redirect_or_paste(printer, &pending)).await;
    let redirect = redirect.unwrap_or(Err(OAuthError::TimedOut {
        seconds: arguments.timeout,
    }));
    let signed_in = pending.finish(redirect.map_err(failed)?).await;
    print_signed_in(printer, name, &signed_in.map_err(failed)?);
    Ok(ExitStatus::Completed)
}

/// Error of a command about the sign-in of `principal`. A hint that signs in again has the options of this command: without
/// them it would sign in the user who runs the gateway.
fn failure(
    error: OAuthError,
    name: &str,
    principal: Option<&str>,
    scopes: &[String],
) -> CommandError {
    let exit = match &error {
        OAuthError::TimedOut { .. } => ExitStatus::TimedOut,
        OAuthError::Settings { .. } => ExitStatus::Usage,
        OAuthError::File { .. } | OAuthError::Locked { .. } => ExitStatus::Fault,
        _ => ExitStatus::Failed,
    };
    let hint = error.hint(name);
    let failure = CommandError::new(exit, error);
    match hint {
        Some(hint) => failure.with_hint(with_options(&hint, principal, scopes)),
        None => failure,
    }
}

/// `text` with the options of a sign-in at the command that it names.
fn with_options(text: &str, principal: Option<&str>, scopes: &[String]) -> String {
    const LOGIN: &str = "`limbeck auth login";
    let principal = principal.map(|principal| format!(" --principal={}", quoted(principal)));
    let scopes = scopes
        .iter()
        .map(|scope| format!(" --scope={}", quoted(scope)));
    let options: String = principal.into_iter().chain(scopes).collect();
    text.replacen(LOGIN, &format!("{LOGIN}{options}"), 1)
}

/// Prints the address of the sign-in, and opens it on a desktop.
fn print_address(invocation: &Invocation, pending: &PendingLogin, arguments: &LoginArgs) {
    let printer = &invocation.printer;
    if !pending.scopes().is_empty() {
        let scopes = pending.scopes().join(", ");
        printer.note(&format!("`{}` asks for: {scopes}", arguments.server));
    }
    printer.note("open this address in a browser:");
    printer.data_line(pending.url().as_str());
    if !arguments.no_browser && is_desktop(invocation) {
        // The address is `https`, or `http` on this machine, and is not passed through a shell.
        if let Err(error) = open::that_detached(pending.url().as_str()) {
            printer.warning(&format!("the browser could not be opened: {error}"));
        }
    }
    printer.note(&format!(
        "if the browser is redirected to an address it cannot open (`{}…`), paste that address here",
        pending.redirect_uri()
    ));
}

/// Whether a browser would open on the screen of the user.
fn is_desktop(invocation: &Invocation) -> bool {
    let variable = |name| invocation.world.nonempty_variable(name).is_some();
    cfg!(any(windows, target_os = "macos")) || variable("DISPLAY") || variable("WAYLAND_DISPLAY")
}

/// Waits for the redirect of the browser or for a pasted address.
async fn redirect_or_paste(
    printer: &Printer,
    pending: &PendingLogin,
) -> Result<AuthorizationResponse, OAuthError> {
    tokio::select! {
        redirect = pending.redirected() => redirect,
        redirect = pasted(printer, pending) => redirect,
    }
}

/// Reads lines of standard input until one is a redirect of this sign-in. At the end of the input it waits forever: the
/// browser may still be redirected.
async fn pasted(
    printer: &Printer,
    pending: &PendingLogin,
) -> Result<AuthorizationResponse, OAuthError> {
    let mut input = BufReader::new(stdin());
    let mut attempts = 0;
    loop {
        let mut line = String::new();
        let read = (&mut input).take(LINE_BYTES_MAX).read_line(&mut line).await;
        // At the end of the input only the browser can answer; returning would end the sign-in.
        if !matches!(read, Ok(1..)) {
            std::future::pending::<()>().await;
        }
        if line.trim().is_empty() {
            continue;
        }
        match pending.pasted(&line) {
            // A wrong paste is common; other errors mean that the sign-in itself failed.
            Err(error @ OAuthError::Redirect { .. }) if attempts + 1 < PASTES_MAX => {
                attempts += 1;
                printer.warning(&error.to_string());
            }
            decided => return decided,
        }
    }
}

fn print_signed_in(printer: &Printer, name: &str, signed_in: &SignInOutcome) {
    printer.note(&format!("signed in to `{name}`"));
    if !signed_in.scopes.is_empty() {
        printer.note(&format!("  scopes: {}", signed_in.scopes.join(", ")));
    }
    if !signed_in.denied.is_empty() {
        printer.warning(&format!(
            "the server did not grant: {}",
            signed_in.denied.join(", ")
        ));
    }
    printer.note(&format!(
        "  {}",
        validity(printer, signed_in.expires_at, signed_in.renewable)
    ));
    let place = match &signed_in.stored {
        RecordLocation::File(file) => format!("{} (readable only by you)", file.display()),
        RecordLocation::Earlier(file) => file.display().to_string(),
    };
    printer.note(&format!("  tokens are in {place}"));
}

fn validity(printer: &Printer, expires_at: Option<u64>, renewable: bool) -> String {
    let until = match expires_at {
        Some(seconds) => {
            let end = printer.time(seconds.saturating_mul(1_000_000));
            format!("valid until {end}")
        }
        None => "valid until it is revoked".to_owned(),
    };
    match renewable {
        true => format!("{until}, renewed automatically"),
        false => until,
    }
}

async fn logout(
    printer: &Printer,
    auth: &ServerAuth,
    name: &str,
    principal: Option<&str>,
) -> Result<ExitStatus, CommandError> {
    let done = auth
        .sign_out()
        .await
        .map_err(|error| failure(error, name, principal, &[]))?;
    // Not an error: the state that the user wants is reached.
    if !done.had_tokens {
        printer.note(&format!("no tokens of `{name}` are stored"));
        return Ok(ExitStatus::Completed);
    }
    printer.note(&match &done.revoked {
        Some(Ok(())) => format!("signed out of `{name}`; the server revoked its tokens"),
        Some(Err(_)) | None => format!("signed out of `{name}`"),
    });
    match &done.revoked {
        Some(Ok(())) => {}
        Some(Err(error)) => printer.warning(&format!(
            "the tokens are deleted here, but the server may still accept them: {error}"
        )),
        None => {
            printer.note("  the server cannot revoke tokens; they stay valid until they expire")
        }
    }
    Ok(ExitStatus::Completed)
}

async fn status(
    invocation: &Invocation,
    configuration: &Configuration,
    arguments: &StatusArgs,
) -> Result<ExitStatus, CommandError> {
    let mut found = Vec::new();
    let principal = arguments.principal.as_deref();
    match &arguments.server {
        Some(name) => {
            let auth = sign_in_of(server_sign_in(invocation, configuration, name)?, principal);
            let status = auth.status().await;
            found.push(status.map_err(|error| failure(error, name, principal, &[]))?);
        }
        None => {
            for entry in configuration.servers.iter().filter(|entry| is_http(entry)) {
                found.extend(status_of(invocation, entry, principal).await);
            }
        }
    }
    if arguments.json {
        invocation.printer.json(&json!({"servers": found}))?;
    } else {
        print(&invocation.printer, &found, principal);
    }
    Ok(ExitStatus::Completed)
}

fn is_http(entry: &ServerEntry) -> bool {
    matches!(entry.definition, Ok(Transport::Http { .. }))
}

/// Status of one of several servers; an error is printed as a warning.
async fn status_of(
    invocation: &Invocation,
    entry: &ServerEntry,
    principal: Option<&str>,
) -> Option<SignInStatus> {
    let auth = match server_auth(invocation, entry) {
        Ok(auth) => sign_in_of(auth?, principal),
        Err(failure) => {
            invocation.printer.warning(&failure.error.to_string());
            return None;
        }
    };
    match auth.status().await {
        Ok(status) => Some(status),
        Err(error) => {
            invocation
                .printer
                .warning(&format!("`{}`: {error}", entry.name));
            None
        }
    }
}

fn print(printer: &Printer, found: &[SignInStatus], principal: Option<&str>) {
    if found.is_empty() {
        printer.note("no server is configured that uses HTTP");
        return;
    }
    let mut table = TextTable::with_header(["server", "sign-in", "scopes", "token", "stored in"]);
    for status in found {
        let scopes = match status.scopes.is_empty() {
            true => "-".to_owned(),
            false => status.scopes.join(" "),
        };
        let token = match status.storage {
            Some(_) => validity(printer, status.expires_at, status.renewable),
            None => "-".to_owned(),
        };
        let place = match (status.storage, &status.file) {
            (Some(_), Some(file)) => file,
            _ => "-",
        };
        table.row([
            &*status.server,
            state_text(status.state),
            &*scopes,
            &*token,
            place,
        ]);
    }
    printer.table(&table);
    for status in found {
        if status.state == SignInState::MoreScopesWanted {
            let grant = format!("grant them with `limbeck auth login {}`", status.server);
            printer.note(&format!(
                "server `{}` asks for more scopes: {}; {}",
                status.server,
                status.wanted.join(", "),
                with_options(&grant, principal, &[])
            ));
        }
    }
}

fn state_text(state: SignInState) -> &'static str {
    match state {
        SignInState::SignedIn => "signed in",
        SignInState::MoreScopesWanted => "more scopes wanted",
        SignInState::Expired => "expired",
        SignInState::SignedOut => "signed out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_signs_in_the_same_principal_with_the_same_scopes() {
        let expired = |principal, scopes: &[String]| {
            failure(OAuthError::Expired, "docs", principal, scopes)
                .hint
                .unwrap()
        };
        assert_eq!(
            expired(Some("token:alice"), &["read".to_owned()]),
            "start again: `limbeck auth login --principal='token:alice' --scope=read docs`"
        );
        // The control: the user who runs the gateway.
        assert_eq!(expired(None, &[]), "start again: `limbeck auth login docs`");
    }
}
