//! `limbeck serve --http`: many MCP clients over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::anyhow;
use limbeck_gateway::http::{
    Authentication, HttpBounds, HttpError, HttpFace, HttpOptions, Issuer, Security, TlsFiles,
    Tokens, TokensError,
};
use limbeck_gateway::launcher::process;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::{Invocation, signals::EndSignals};
use super::tell_of_sandbox;
use crate::cli::HttpArgs;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::wiring::{Lifetime, Session, state_file};

/// The token of a gateway that is given none, beside its store.
const TOKEN_FILE: &str = "http-token";

/// How requests are told apart, and what there is to say of it.
struct Access {
    authentication: Authentication,
    token: TokenNews,
}

/// What a person should be told of the token.
enum TokenNews {
    /// They brought their own.
    None,
    /// It is where it was.
    Kept(PathBuf),
    /// It was made just now.
    Made { file: PathBuf, token: String },
}

/// Serves until somebody asks us to end; a second time, and it is not waited for what still runs.
pub(super) async fn serve(
    invocation: &Invocation,
    address: SocketAddr,
    arguments: &HttpArgs,
) -> Result<Exit, Failure> {
    let mut signals = EndSignals::listen()?;
    let security = security(address, arguments)?;
    let access = access(invocation, arguments)?;
    let session = Session::open(invocation, Lifetime::Client).await?;
    process::refuse_dumps();
    let options = HttpOptions {
        authentication: access.authentication,
        allow_hosts: arguments.allow_host.clone(),
        allow_origins: arguments.allow_origin.clone(),
        security,
        bounds: HttpBounds::default(),
    };
    let face = match HttpFace::bind(session.gateway.clone(), address, options).await {
        Ok(face) => face,
        Err(error) => {
            session.close().await;
            return Err(refused(error));
        }
    };
    let url = face.url().map_err(Failure::fault)?;
    tell(&invocation.printer, &url, &access.token);
    let drain = CancellationToken::new();
    let asked_to_end = async {
        signals.received().await;
        let note = "ending when the programs that run have ended; once more ends at once";
        invocation.printer.note(note);
        drain.cancel();
        signals.received().await;
    };
    tokio::select! {
        () = face.serve(drain.clone()) => {}
        () = asked_to_end => {}
        never = tell_of_sandbox(&session.gateway) => match never {},
    }
    session.close().await;
    Ok(Exit::Completed)
}

fn security(address: SocketAddr, arguments: &HttpArgs) -> Result<Security, Failure> {
    match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Ok(Security::Tls(TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        })),
        _ if arguments.behind_tls_proxy => Ok(Security::TlsProxy),
        _ if address.ip().is_loopback() => Ok(Security::Loopback),
        // Before anything is started, or a token made.
        _ => Err(refused(HttpError::ClearText(address))),
    }
}

/// The tokens of a file, those of an issuer, or both; without either one of our own.
fn access(invocation: &Invocation, arguments: &HttpArgs) -> Result<Access, Failure> {
    let issuer = match (&arguments.jwt_issuer, &arguments.jwt_audience) {
        (Some(url), Some(audience)) => Some(Issuer::new(url, audience).map_err(|error| {
            Failure::usage(error).with_hint(
                "give the issuer as its tokens have it in `iss`, for example `--jwt-issuer https://id.example.com`",
            )
        })?),
        _ => None,
    };
    let brought = arguments.token_file.as_deref().map(|path| {
        let path = invocation.environment.cwd.join(path);
        Tokens::read(&path).map_err(bad_tokens)
    });
    let (authentication, token) = match (brought.transpose()?, issuer) {
        (Some(tokens), None) => (Authentication::by_tokens(tokens), TokenNews::None),
        (Some(tokens), Some(issuer)) => {
            let both = Authentication::by_tokens(tokens).and_issuer(issuer);
            (both, TokenNews::None)
        }
        (None, Some(issuer)) => (Authentication::by_issuer(issuer), TokenNews::None),
        (None, None) => own_token(invocation)?,
    };
    Ok(Access {
        authentication,
        token,
    })
}

fn own_token(invocation: &Invocation) -> Result<(Authentication, TokenNews), Failure> {
    let Some(store) = state_file(invocation) else {
        let error = anyhow!("there is no place for a token: HOME is not set");
        let hint =
            "name a state directory, `--state-dir DIR`, or bring a token, `--token-file FILE`";
        return Err(Failure::usage(error).with_hint(hint));
    };
    let file = store.with_file_name(TOKEN_FILE);
    let own = Tokens::own(&file).map_err(bad_tokens)?;
    let news = match own.made {
        Some(token) => TokenNews::Made { file, token },
        None => TokenNews::Kept(file),
    };
    Ok((Authentication::by_tokens(own.tokens), news))
}

fn bad_tokens(error: TokensError) -> Failure {
    let hint = error.hint();
    Failure::usage(error).with_hint(hint)
}

fn refused(error: HttpError) -> Failure {
    let hint = error.hint();
    Failure::usage(error).with_hint(hint)
}

/// Where we are reached, and once how.
fn tell(printer: &Printer, url: &str, token: &TokenNews) {
    printer.note(&format!("serving MCP at {url}"));
    match token {
        TokenNews::None => {}
        TokenNews::Kept(file) => {
            printer.note(&format!("its bearer token is in {}", file.display()));
        }
        TokenNews::Made { file, token } => {
            let client = json!({"mcpServers": {"limbeck": {
                "type": "http",
                "url": url,
                "headers": {"Authorization": format!("Bearer {token}")},
            }}});
            printer.note(&format!(
                "a bearer token was made and is kept in {}, which nobody else can read; it is shown this once.\n\
                 For a client's configuration:\n{client:#}",
                file.display()
            ));
        }
    }
}
