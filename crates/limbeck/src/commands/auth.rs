//! `limbeck auth`: sign in to servers, see how that stands, sign out again.
//!
//! Only `login` ever opens a browser, and only because somebody ran it on a desktop. The address is
//! printed in any case: the only line on standard output. Where the browser is on another machine, the
//! address it ends up at is pasted here.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_gateway::LOCAL;
use limbeck_gateway::upstream::oauth::{
    OAuthError, PendingLogin, Redirect, ServerAuth, SignInState, SignedIn, Status, Stored,
};
use limbeck_setup::{Configuration, ServerEntry, Transport};
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, stdin};

use super::Invocation;
use crate::cli::{AuthCommand, LoginArgs, StatusArgs};
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::signin::server_auth;
use crate::table::Table;
use crate::wiring::configuration;

/// Times something wrong may be pasted.
const PASTES_MAX: usize = 5;
/// Bytes of a pasted line.
const LINE_BYTES_MAX: u64 = 32 << 10;

/// Runs one of the three.
pub(super) async fn auth(invocation: &Invocation, command: &AuthCommand) -> Result<Exit, Failure> {
    let configuration = configuration(invocation)?;
    match command {
        AuthCommand::Login(arguments) => {
            let auth = named(invocation, &configuration, &arguments.server)?;
            let auth = of(auth, arguments.principal.as_deref());
            login(invocation, &auth, arguments).await
        }
        AuthCommand::Logout { server, principal } => {
            let auth = of(
                named(invocation, &configuration, server)?,
                principal.as_deref(),
            );
            logout(&invocation.printer, &auth, server).await
        }
        AuthCommand::Status(arguments) => status(invocation, &configuration, arguments).await,
    }
}

/// The sign-in of a principal; of the user who runs the gateway, when none is named.
fn of(auth: Arc<ServerAuth>, principal: Option<&str>) -> Arc<ServerAuth> {
    match principal {
        Some(principal) if principal != LOCAL => auth.for_principal(principal),
        Some(_) | None => auth,
    }
}

/// The sign-in to the server of that name.
fn named(
    invocation: &Invocation,
    configuration: &Configuration,
    name: &str,
) -> Result<Arc<ServerAuth>, Failure> {
    let mut servers = configuration.servers.iter();
    let Some(entry) = servers.find(|entry| entry.name.as_str() == name) else {
        let error = anyhow!("no server named `{name}` is configured");
        return Err(Failure::usage(error).with_hint("`limbeck tools` lists the configured servers"));
    };
    if let Err(fault) = &entry.definition {
        return Err(Failure::usage(anyhow!("the entry of `{name}`: {fault}")));
    }
    server_auth(invocation, entry)?.ok_or_else(|| {
        Failure::usage(match entry.oauth.disabled {
            true => anyhow!("the entry of `{name}` has `oauth` switched off"),
            false => anyhow!("`{name}` is a program on this machine, and nobody signs in to it"),
        })
    })
}

async fn login(
    invocation: &Invocation,
    auth: &Arc<ServerAuth>,
    arguments: &LoginArgs,
) -> Result<Exit, Failure> {
    let printer = &invocation.printer;
    let name = &arguments.server;
    let failed = |error: OAuthError| failure(error, name);
    if auth.is_unattended() {
        let signed_in = auth.sign_in_unattended().await.map_err(failed)?;
        say_signed_in(printer, name, &signed_in);
        return Ok(Exit::Completed);
    }
    let pending = match auth.begin(&arguments.scope).await {
        Ok(pending) => pending,
        Err(error @ OAuthError::NotAsked { .. }) => {
            printer.note(&format!("{error}; it is used as it is"));
            return Ok(Exit::Completed);
        }
        Err(error) => return Err(failed(error)),
    };
    invite(invocation, &pending, arguments);
    let limit = Duration::from_secs(arguments.timeout);
    let redirect = tokio::time::timeout(limit, answer(printer, &pending)).await;
    let redirect = redirect.unwrap_or(Err(OAuthError::TimedOut {
        seconds: arguments.timeout,
    }));
    let signed_in = pending.finish(redirect.map_err(failed)?).await;
    say_signed_in(printer, name, &signed_in.map_err(failed)?);
    Ok(Exit::Completed)
}

fn failure(error: OAuthError, name: &str) -> Failure {
    let exit = match &error {
        OAuthError::TimedOut { .. } => Exit::TimedOut,
        OAuthError::Settings { .. } => Exit::Usage,
        OAuthError::File { .. } | OAuthError::Locked { .. } => Exit::Fault,
        _ => Exit::Failed,
    };
    let hint = error.hint(name);
    let failure = Failure::new(exit, error);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Says where to go, and goes there when this is a desktop.
fn invite(invocation: &Invocation, pending: &PendingLogin, arguments: &LoginArgs) {
    let printer = &invocation.printer;
    if !pending.scopes().is_empty() {
        let scopes = pending.scopes().join(", ");
        printer.note(&format!("`{}` asks for: {scopes}", arguments.server));
    }
    printer.note("open this address in a browser:");
    printer.data_line(pending.url().as_str());
    if !arguments.no_browser && is_desktop(invocation) {
        // The address is `https`, or `http` on this machine, and goes to no shell.
        if let Err(error) = open::that_detached(pending.url().as_str()) {
            printer.warning(&format!("no browser could be opened: {error}"));
        }
    }
    printer.note(&format!(
        "when the browser ends at an address it cannot open, `{}…`, paste that address here",
        pending.redirect_uri()
    ));
}

/// Whether a browser would open where the person is.
fn is_desktop(invocation: &Invocation) -> bool {
    let variable = |name| invocation.environment.variable(name).is_some();
    cfg!(any(windows, target_os = "macos")) || variable("DISPLAY") || variable("WAYLAND_DISPLAY")
}

/// What comes first: the browser, or a pasted address.
async fn answer(printer: &Printer, pending: &PendingLogin) -> Result<Redirect, OAuthError> {
    tokio::select! {
        redirect = pending.redirected() => redirect,
        redirect = pasted(printer, pending) => redirect,
    }
}

/// Reads standard input until something fits. At its end the browser alone is left.
async fn pasted(printer: &Printer, pending: &PendingLogin) -> Result<Redirect, OAuthError> {
    let mut input = BufReader::new(stdin());
    let mut attempts = 0;
    loop {
        let mut line = String::new();
        let read = (&mut input).take(LINE_BYTES_MAX).read_line(&mut line).await;
        if !matches!(read, Ok(1..)) {
            std::future::pending::<()>().await;
        }
        if line.trim().is_empty() {
            continue;
        }
        match pending.pasted(&line) {
            Err(error @ OAuthError::Redirect { .. }) if attempts + 1 < PASTES_MAX => {
                attempts += 1;
                printer.warning(&error.to_string());
            }
            decided => return decided,
        }
    }
}

fn say_signed_in(printer: &Printer, name: &str, signed_in: &SignedIn) {
    printer.note(&format!("signed in to `{name}`"));
    if !signed_in.scopes.is_empty() {
        printer.note(&format!("  scopes: {}", signed_in.scopes.join(", ")));
    }
    if !signed_in.denied.is_empty() {
        printer.warning(&format!("not granted: {}", signed_in.denied.join(", ")));
    }
    printer.note(&format!(
        "  {}",
        life(signed_in.expires_at, signed_in.renewable)
    ));
    let place = match &signed_in.stored {
        Stored::File(file) => format!("in {}, readable by you alone", file.display()),
        Stored::Earlier(file) => format!("in {}", file.display()),
    };
    printer.note(&format!("  kept {place}"));
}

fn life(expires_at: Option<u64>, renewable: bool) -> String {
    let until = match expires_at.map(when) {
        Some(end) => format!("valid until {end}"),
        None => "valid until it is revoked".to_owned(),
    };
    match renewable {
        true => format!("{until}, renewed by itself"),
        false => until,
    }
}

/// RFC 3339, or the number where no calendar has it.
fn when(seconds: u64) -> String {
    let date = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    date.and_then(|date| date.format(&Rfc3339).ok())
        .unwrap_or_else(|| seconds.to_string())
}

async fn logout(printer: &Printer, auth: &ServerAuth, name: &str) -> Result<Exit, Failure> {
    let done = auth
        .sign_out()
        .await
        .map_err(|error| failure(error, name))?;
    if !done.had_tokens {
        printer.note(&format!("nobody was signed in to `{name}`"));
        return Ok(Exit::Completed);
    }
    printer.note(&match &done.revoked {
        Some(Ok(())) => format!("signed out of `{name}`; its tokens are revoked"),
        Some(Err(_)) | None => format!("signed out of `{name}`"),
    });
    match &done.revoked {
        Some(Ok(())) => {}
        Some(Err(error)) => printer.warning(&format!(
            "the tokens are forgotten here and may still be good there: {error}"
        )),
        None => printer.note("  the server revokes no tokens on request; they end by themselves"),
    }
    Ok(Exit::Completed)
}

async fn status(
    invocation: &Invocation,
    configuration: &Configuration,
    arguments: &StatusArgs,
) -> Result<Exit, Failure> {
    let mut found = Vec::new();
    let principal = arguments.principal.as_deref();
    match &arguments.server {
        Some(name) => {
            let auth = of(named(invocation, configuration, name)?, principal);
            let status = auth.status().await;
            found.push(status.map_err(|error| failure(error, name))?);
        }
        None => {
            for entry in configuration.servers.iter().filter(|entry| is_http(entry)) {
                found.extend(one(invocation, entry, principal).await);
            }
        }
    }
    if arguments.json {
        invocation.printer.json(&json!({"servers": found}))?;
    } else {
        print(&invocation.printer, &found);
    }
    Ok(Exit::Completed)
}

fn is_http(entry: &ServerEntry) -> bool {
    matches!(entry.definition, Ok(Transport::Http { .. }))
}

/// One of many: what is wrong with it is a warning, and the others are shown.
async fn one(
    invocation: &Invocation,
    entry: &ServerEntry,
    principal: Option<&str>,
) -> Option<Status> {
    let auth = match server_auth(invocation, entry) {
        Ok(auth) => of(auth?, principal),
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

fn print(printer: &Printer, found: &[Status]) {
    if found.is_empty() {
        printer.note("no server is reached over HTTP");
        return;
    }
    let mut table = Table::with_header(["server", "sign-in", "scopes", "token", "kept in"]);
    for status in found {
        let scopes = match status.scopes.is_empty() {
            true => "-".to_owned(),
            false => status.scopes.join(" "),
        };
        let token = match status.storage {
            Some(_) => life(status.expires_at, status.renewable),
            None => "-".to_owned(),
        };
        let place = match (status.storage, &status.file) {
            (Some(_), Some(file)) => file,
            _ => "-",
        };
        table.row([
            &*status.server,
            word(status.state),
            &*scopes,
            &*token,
            place,
        ]);
    }
    printer.data(&table.text());
    for status in found {
        if status.state == SignInState::MoreScopesWanted {
            printer.note(&format!(
                "`{}` asks for more: {}; give it with `limbeck auth login {}`",
                status.server,
                status.wanted.join(", "),
                status.server
            ));
        }
    }
}

fn word(state: SignInState) -> &'static str {
    match state {
        SignInState::SignedIn => "signed in",
        SignInState::MoreScopesWanted => "wants more",
        SignInState::Expired => "expired",
        SignInState::SignedOut => "signed out",
    }
}
