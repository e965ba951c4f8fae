//! The client of the official conformance suite: the pool with its OAuth, and a person who says yes.
//!
//! The suite starts it with a server's address as last argument, and with what a person would have
//! configured in `MCP_CONFORMANCE_CONTEXT`. It lists the tools and calls each once; where the pool says
//! that a sign-in is needed it signs in as `limbeck auth login` does, with the redirect followed here and
//! pasted, and goes on. Exit code 0 means that every call was answered.

use std::error::Error;
use std::sync::Arc;

use limbeck_domain::{EffectClass, ServerName, ToolId};
use limbeck_policy::{Scope, ToolCall, decide};
use limbeck_upstream::http::NetworkRules;
use limbeck_upstream::http::guard::Client;
use limbeck_upstream::oauth::{Grant, KeyAlgorithm, OAuthSettings, Secret, ServerAuth, TokenStore};
use limbeck_upstream::{
    CallContext, Credentials, HttpSpec, Pool, ServerSpec, TransportSpec, UpstreamError,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use url::Url;

type Failed = Box<dyn Error + Send + Sync>;

const SERVER: &str = "conformance";
/// The document the suite expects to be named; nobody fetches it.
const METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
/// Sign-ins for one call. The product has bounds of its own; this one is the person's patience.
const SIGN_INS_MAX: usize = 4;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let url = std::env::args().next_back().ok_or("no address")?;
    let home = tempfile::tempdir()?;
    let client = Client::new(&Url::parse(&url)?, NetworkRules::default())?;
    let store = TokenStore::new(home.path().join("oauth"));
    let auth = ServerAuth::new(
        ServerName::new(SERVER),
        Url::parse(&url)?,
        settings(&variable("MCP_CONFORMANCE_CONTEXT")),
        &store,
        client,
    );
    let mut http = HttpSpec::new(&url)?;
    http.credentials = Some(auth.clone() as Arc<dyn Credentials>);
    let spec = ServerSpec::new(SERVER, TransportSpec::Http(Box::new(http)));
    let pool = Pool::new(vec![spec]);
    let played = play(&pool, &auth).await;
    pool.shutdown().await;
    played
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is a program, and the suite speaks to it so"
)]
fn variable(name: &str) -> Value {
    let text = std::env::var(name).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The entry a person would have written.
fn settings(context: &Value) -> OAuthSettings {
    let text = |key: &str| context[key].as_str();
    let grant = match (text("private_key_pem"), text("client_secret")) {
        (Some(key), _) => Grant::PrivateKey {
            key: Secret::from(key),
            algorithm: KeyAlgorithm::from_name(text("signing_algorithm").unwrap_or("ES256"))
                .unwrap_or(KeyAlgorithm::Es256),
        },
        // The suite tells the two grants apart by whether there is an issuer to sign in with.
        (None, Some(_)) if context["issuer"].is_null() => Grant::ClientSecret,
        (None, _) => Grant::AuthorizationCode,
    };
    OAuthSettings {
        client_id: text("client_id").map(str::to_owned),
        client_secret: text("client_secret").map(Secret::from),
        client_metadata_url: Some(METADATA_URL.to_owned()),
        grant,
        ..OAuthSettings::default()
    }
}

async fn play(pool: &Pool, auth: &Arc<ServerAuth>) -> Result<(), Failed> {
    let server = ServerName::new(SERVER);
    let list = signed_in(auth, async || pool.list_tools(&server).await).await?;
    // Twice, because a server may change its mind about who may sign in.
    for tool in list.tools.iter().chain(&list.tools) {
        let name = &tool.id.tool;
        signed_in(auth, async || {
            let call = ToolCall {
                tool: ToolId::new(SERVER, &**name),
                arguments: json!({}).to_string(),
                effect: EffectClass::Unknown,
            };
            let scope = Scope::parse(["*"]).expect("the pattern is one");
            let permit = decide(call, &scope).expect("everything is allowed");
            let context = CallContext::new(CancellationToken::new());
            pool.call(permit, context).await
        })
        .await?;
    }
    Ok(())
}

/// Does `work`, and signs in and does it again when that is what it takes.
async fn signed_in<T>(
    auth: &Arc<ServerAuth>,
    work: impl AsyncFn() -> Result<T, UpstreamError>,
) -> Result<T, Failed> {
    for _ in 0..SIGN_INS_MAX {
        match work().await {
            Err(UpstreamError::SignInNeeded { .. }) => sign_in(auth).await?,
            other => return Ok(other?),
        }
    }
    Err("the server is never content".into())
}

async fn sign_in(auth: &Arc<ServerAuth>) -> Result<(), Failed> {
    let pending = auth.begin(&[]).await?;
    let back = visit(pending.url()).await?;
    let redirect = pending.pasted(&back)?;
    pending.finish(redirect).await?;
    Ok(())
}

/// Opens `url` as a browser would, and says where it was sent.
async fn visit(url: &Url) -> Result<String, Failed> {
    let host = url.host_str().ok_or("no host")?;
    let port = url.port_or_known_default().ok_or("no port")?;
    let mut stream = tokio::net::TcpStream::connect((host, port)).await?;
    let target = &url[url::Position::BeforePath..];
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let location = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location")
            .then(|| value.to_owned())
    });
    location.ok_or_else(|| "the sign-in page sends nobody back".into())
}
