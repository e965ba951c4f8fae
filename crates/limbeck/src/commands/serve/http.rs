//! `limbeck serve --http`: MCP clients over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::anyhow;
use limbeck_launcher::process;
use limbeck_server::http::{
    Authentication, BearerTokens, BearerTokensError, HttpBounds, HttpError, HttpListener,
    HttpOptions, HttpServer, Issuer, Security, TlsFiles,
};
use limbeck_server::surface::CompatOptions;
#[cfg(unix)]
use limbeck_server::surface::McpServer;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::signals::EndSignals;
use super::{connected_first, log_sandbox_state};
use crate::cli::HttpArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::printer::Printer;
use crate::wiring::{ConfigurationFiles, GatewayLifetime, GatewaySession, WayIn, state_file};

/// File of the generated token, beside the store.
const TOKEN_FILE: &str = "http-token";

/// Authentication of requests, and the notice about the token.
struct HttpAccess {
    authentication: Authentication,
    token: TokenNotice,
}

/// Where clients get their bearer token.
enum TokenNotice {
    /// From an identity provider.
    OfIssuer,
    /// From the user's token file.
    Supplied(PathBuf),
    /// The token of an earlier start is used.
    Kept(PathBuf),
    /// A new token was generated.
    Made(PathBuf),
}

/// Serves until a signal arrives and running programs have ended; a second signal ends without waiting for them.
pub(super) async fn serve(
    invocation: &Invocation,
    address: SocketAddr,
    arguments: &HttpArgs,
    compat: CompatOptions,
) -> Result<ExitStatus, CommandError> {
    let mut signals = EndSignals::listen()?;
    let security = security(address, arguments)?;
    // Wrong options and token files must fail before any server is started, and a port in use before a token is
    // generated, which is announced once.
    let supplied = supplied_access(invocation, arguments)?;
    let listener = HttpListener::bind(address).await.map_err(serve_error)?;
    // The generated token is the user's own; tokens that were brought are of several principals.
    let (access, lifetime) = match supplied {
        Some(access) => (access, GatewayLifetime::SharedByClients),
        None => (own_token(invocation)?, GatewayLifetime::Client),
    };
    let files = ConfigurationFiles::of(invocation);
    let connected_first = compat.connected_first.clone();
    let way_in = WayIn::Http.or_earlier_system(!compat.listed.is_empty());
    let session = GatewaySession::open_serving(invocation, lifetime, way_in).await?;
    session.gateway.keep_timers();
    // After configuration and tokens were read: paths like `/dev/fd/63` cannot be opened afterwards.
    process::refuse_dumps();
    let options = HttpOptions {
        authentication: access.authentication,
        allow_hosts: arguments.allow_host.clone(),
        allow_origins: arguments.allow_origin.clone(),
        security,
        bounds: HttpBounds::default(),
        compat,
    };
    let face = match HttpServer::on(listener, session.gateway.clone(), options) {
        Ok(face) => face,
        Err(error) => {
            session.close().await;
            return Err(serve_error(error));
        }
    };
    let url = face.url().map_err(CommandError::fault)?;
    #[cfg(unix)]
    let _answering = answer_health(invocation, &session, &url).await;
    print_access(&invocation.printer, &url, &access.token);
    let drain = CancellationToken::new();
    let asked_to_end = async {
        signals.received().await;
        invocation
            .printer
            .note(&stopping_text(session.gateway.load()));
        // Stops accepting connections; running programs are still answered.
        drain.cancel();
        signals.received().await;
    };
    tokio::select! {
        () = face.serve(drain.clone()) => {}
        () = asked_to_end => {}
        never = log_sandbox_state(&session.gateway) => match never {},
        never = connected_first::connect(connected_first, &session.gateway) => match never {},
        never = files.follow(invocation, &session) => match never {},
    }
    session.close().await;
    Ok(ExitStatus::Completed)
}

/// Answers `limbeck health` on a socket until it is dropped. Nothing depends on it.
#[cfg(unix)]
async fn answer_health(
    invocation: &Invocation,
    session: &GatewaySession,
    url: &str,
) -> Option<limbeck_server::sharing::OfferedGateway> {
    use limbeck_server::sharing::Joined;
    match crate::wiring::health_place(invocation, url)?.join().await {
        Joined::Elected(offer) => {
            let offered = offer.accept();
            let server = McpServer::new(session.gateway.clone()).at(url);
            offered.serve(server);
            Some(offered)
        }
        Joined::Gateway { .. } | Joined::Alone { .. } => None,
    }
}

/// What a signal does, for the person who sent it. `load` is the number of running programs and of those that wait.
fn stopping_text((running, waiting): (usize, usize)) -> String {
    match running + waiting {
        0 => "stopping".to_owned(),
        count => format!(
            "stopping when {} ended; a second signal (Ctrl-C) stops at once",
            match count {
                1 => "the running program has".to_owned(),
                count => format!("the {count} running programs have"),
            }
        ),
    }
}

fn security(address: SocketAddr, arguments: &HttpArgs) -> Result<Security, CommandError> {
    match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Ok(Security::Tls(TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        })),
        _ if arguments.behind_tls_proxy => Ok(Security::TlsProxy),
        _ if address.ip().is_loopback() => Ok(Security::Loopback),
        // Rejected before a server is started or a token is generated.
        _ => Err(serve_error(HttpError::ClearText(address))),
    }
}

/// Authentication by the tokens of a file, of an issuer, or both; `None` without either.
fn supplied_access(
    invocation: &Invocation,
    arguments: &HttpArgs,
) -> Result<Option<HttpAccess>, CommandError> {
    let issuer = match (&arguments.jwt_issuer, &arguments.jwt_audience) {
        (Some(url), Some(audience)) => Some(Issuer::new(url, audience).map_err(|error| {
            CommandError::usage(error).with_hint(
                "use the value of `iss` in the tokens, for example `--jwt-issuer https://id.example.com`",
            )
        })?),
        _ => None,
    };
    let brought = arguments.token_file.as_deref().map(|path| {
        let path = invocation.world.cwd.join(path);
        BearerTokens::read(&path, invocation.redaction.secrets()).map_err(token_error)
    });
    let authentication = match (brought.transpose()?, issuer) {
        (Some(tokens), None) => Authentication::by_tokens(tokens),
        (Some(tokens), Some(issuer)) => Authentication::by_tokens(tokens).and_issuer(issuer),
        (None, Some(issuer)) => Authentication::by_issuer(issuer),
        (None, None) => return Ok(None),
    };
    let token = match &arguments.token_file {
        Some(file) => TokenNotice::Supplied(file.clone()),
        None => TokenNotice::OfIssuer,
    };
    Ok(Some(HttpAccess {
        authentication,
        token,
    }))
}

/// Authentication by a token of our own, generated at the first start.
fn own_token(invocation: &Invocation) -> Result<HttpAccess, CommandError> {
    let Some(store) = state_file(invocation) else {
        let error = anyhow!(
            "a token cannot be stored: {}",
            invocation.world.home_problem()
        );
        let hint =
            "set a state directory with `--state-dir DIR`, or pass tokens with `--token-file FILE`";
        return Err(CommandError::usage(error).with_hint(hint));
    };
    let file = store.with_file_name(TOKEN_FILE);
    let own = BearerTokens::own(&file, invocation.redaction.secrets()).map_err(token_error)?;
    Ok(HttpAccess {
        authentication: Authentication::by_tokens(own.tokens),
        token: match own.made {
            Some(_) => TokenNotice::Made(file),
            None => TokenNotice::Kept(file),
        },
    })
}

fn token_error(error: BearerTokensError) -> CommandError {
    let hint = error.hint();
    CommandError::usage(error).with_hint(hint)
}

fn serve_error(error: HttpError) -> CommandError {
    let hint = error.hint();
    CommandError::usage(error).with_hint(hint)
}

/// Prints the address, where the token is, and the entry of a client. Never the token: standard error of a service is
/// a log that others read.
fn print_access(printer: &Printer, url: &str, token: &TokenNotice) {
    printer.note(&format!("serving MCP at {url}"));
    let notice = match token {
        TokenNotice::OfIssuer => "clients send tokens of the identity provider".to_owned(),
        TokenNotice::Supplied(file) => format!("clients send a token of {}", file.display()),
        TokenNotice::Kept(file) => format!("the bearer token is in {}", file.display()),
        TokenNotice::Made(file) => format!(
            "a bearer token was generated and stored in {}, readable only by you",
            file.display()
        ),
    };
    let client = json!({"mcpServers": {"limbeck": {
        "type": "http",
        "url": url,
        "headers": {"Authorization": "Bearer TOKEN"},
    }}});
    printer.note(&format!(
        "{notice}.\nEntry for the configuration of a client, with the token in the place of TOKEN:\n{client:#}"
    ));
}
