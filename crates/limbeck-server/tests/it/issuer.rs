//! JSON web tokens of an identity provider (H03), and the metadata that leads clients to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use limbeck_server::http::{Authentication, Issuer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::support::{Ask, Server, until_part};

const AUDIENCE: &str = "https://limbeck.example/mcp";

/// Identity provider that serves its metadata and keys, and counts the requests for keys.
struct Provider {
    url: String,
    asked: Arc<AtomicUsize>,
}

/// Key pair with its published part.
fn key(id: &str) -> (EncodingKey, Value) {
    let pair = rcgen::KeyPair::generate().unwrap();
    let key = EncodingKey::from_ec_der(pair.serialized_der());
    let public = Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap();
    let mut public = serde_json::to_value(public).unwrap();
    public["kid"] = json!(id);
    (key, public)
}

impl Provider {
    async fn start(keys: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = until_part(&mut stream, "\r\n\r\n").await;
                let (status, body) = match request.split(' ').nth(1).unwrap() {
                    "/.well-known/openid-configuration" => ("200 OK", metadata.to_string()),
                    "/keys" => {
                        counter.fetch_add(1, Ordering::SeqCst);
                        ("200 OK", json!({"keys": keys}).to_string())
                    }
                    _ => ("404 Not Found", String::new()),
                };
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, asked }
    }

    async fn server(&self) -> Server {
        let issuer = Issuer::new(&self.url, AUDIENCE).unwrap();
        Server::with(|options| options.authentication = Authentication::by_issuer(issuer)).await
    }

    fn claims(&self) -> Value {
        let now = get_current_timestamp();
        json!({"iss": self.url, "aud": AUDIENCE, "sub": "alice", "exp": now + 600, "nbf": now - 10})
    }
}

fn sign(key: &EncodingKey, id: Option<&str>, claims: &Value) -> String {
    let mut header = Header::new(Algorithm::ES256);
    header.kid = id.map(str::to_owned);
    encode(&header, claims, key).unwrap()
}

async fn status(server: &Server, token: &str) -> u16 {
    server
        .send(&Ask::modern(token, "tools/list", json!({})))
        .await
        .status
}

#[tokio::test]
async fn h03_only_a_valid_token_of_the_issuer_for_this_audience_is_accepted() {
    let (good, public) = key("one");
    let (foreign, _) = key("one");
    let encryption = json!({"kty": "EC", "use": "enc", "kid": "enc", "crv": "P-256", "x": public["x"], "y": public["y"]});
    let provider = Provider::start(vec![json!({"kty": "odd"}), public, encryption]).await;
    let server = provider.server().await;
    let claims = provider.claims();
    assert_eq!(
        status(&server, &sign(&good, Some("one"), &claims)).await,
        200
    );
    let mut several = claims.clone();
    several["aud"] = json!(["other", AUDIENCE]);
    assert_eq!(
        status(&server, &sign(&good, Some("one"), &several)).await,
        200
    );

    let now = get_current_timestamp();
    for (member, value) in [
        ("aud", json!("https://other.example")),
        ("aud", Value::Null),
        ("iss", json!("https://attacker.example")),
        ("iss", json!(format!("{}/", provider.url))),
        ("exp", json!(now - 120)),
        ("exp", Value::Null),
        ("nbf", json!(now + 120)),
        ("sub", Value::Null),
        ("sub", json!("")),
        ("sub", json!("a\nb")),
        ("sub", json!("x".repeat(300))),
    ] {
        let mut wrong = claims.clone();
        match &value {
            Value::Null => wrong.as_object_mut().unwrap().remove(member),
            _ => wrong
                .as_object_mut()
                .unwrap()
                .insert(member.to_owned(), value.clone()),
        };
        assert_eq!(
            status(&server, &sign(&good, Some("one"), &wrong)).await,
            401,
            "{member}: {value}"
        );
    }
    let token = sign(&good, Some("one"), &claims);
    let (head, rest) = token.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    let by_secret = {
        // The public key as an HMAC secret, which verifiers accept that do not check the algorithm.
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("one".to_owned());
        encode(&header, &claims, &EncodingKey::from_secret(b"one")).unwrap()
    };
    for (what, token) in [
        (
            "a foreign key under a known name",
            sign(&foreign, Some("one"), &claims),
        ),
        ("an unknown key", sign(&good, Some("two"), &claims)),
        ("a key for encryption", sign(&good, Some("enc"), &claims)),
        ("no signature", format!("{head}.{payload}.")),
        (
            "no algorithm",
            format!("eyJhbGciOiJub25lIiwia2lkIjoib25lIn0.{payload}."),
        ),
        ("a secret", by_secret),
        ("another payload", format!("{head}.{payload}x.{signature}")),
        (
            "too large",
            format!("{head}.{}.{signature}", "x".repeat(20_000)),
        ),
        ("dots", "..".to_owned()),
    ] {
        assert_eq!(status(&server, &token).await, 401, "{what}");
    }
    // A token without a key id is verified when one key fits.
    assert_eq!(status(&server, &sign(&good, None, &claims)).await, 200);
    // Many tokens with unknown keys cause one request to the issuer.
    assert_eq!(provider.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn each_subject_is_a_principal_of_its_own() {
    let (good, public) = key("one");
    let provider = Provider::start(vec![public]).await;
    let server = provider.server().await;
    let token = |subject: &str| {
        let mut claims = provider.claims();
        claims["sub"] = json!(subject);
        sign(&good, Some("one"), &claims)
    };
    let (alice, bob) = (token("alice"), token("bob"));
    let session = server.session(&alice).await;
    let list = |token: &str| Ask::within(token, &session, "tools/list", json!({}));
    assert_eq!(server.send(&list(&bob)).await.status, 404);
    assert_eq!(server.send(&list(&alice)).await.status, 200);
    // A new token of the same subject may use the session.
    let mut claims = provider.claims();
    claims["jti"] = json!("another");
    assert_eq!(
        server
            .send(&list(&sign(&good, Some("one"), &claims)))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn protected_resource_metadata_names_the_issuer() {
    let (_, public) = key("one");
    let provider = Provider::start(vec![public]).await;
    let server = provider.server().await;
    let refused = server
        .send(&Ask::modern("no", "tools/list", json!({})))
        .await;
    let metadata = format!(
        "http://{}/.well-known/oauth-protected-resource/mcp",
        server.address
    );
    let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, Some(&*challenge))
    );
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
    ] {
        let reply = server.send(&Ask::new("GET", path)).await;
        assert_eq!(reply.status, 200);
        let metadata = reply.json();
        assert_eq!(metadata["resource"], AUDIENCE);
        assert_eq!(metadata["authorization_servers"], json!([provider.url]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    }
}

#[tokio::test]
async fn without_a_reachable_issuer_of_the_configured_name_no_token_is_accepted() {
    let (good, public) = key("one");
    let provider = Provider::start(vec![public]).await;
    let nowhere = Issuer::new("http://127.0.0.1:1", AUDIENCE).unwrap();
    let server =
        Server::with(|options| options.authentication = Authentication::by_issuer(nowhere)).await;
    let mut claims = provider.claims();
    claims["iss"] = json!("http://127.0.0.1:1");
    assert_eq!(
        status(&server, &sign(&good, Some("one"), &claims)).await,
        401
    );
    // The provider's metadata names another issuer than the configured URL.
    let other_name = format!("{}/", provider.url);
    let issuer = Issuer::new(&other_name, AUDIENCE).unwrap();
    let server =
        Server::with(|options| options.authentication = Authentication::by_issuer(issuer)).await;
    claims["iss"] = json!(other_name);
    assert_eq!(
        status(&server, &sign(&good, Some("one"), &claims)).await,
        401
    );
    assert!(Issuer::new("http://id.example", AUDIENCE).is_err());
    assert!(Issuer::new(&provider.url, "").is_err());
}

#[tokio::test]
async fn h03_tokens_that_are_not_for_access_are_refused() {
    let (key, public) = key("one");
    let provider = Provider::start(vec![public]).await;
    let server = provider.server().await;
    let signed = |kind: Option<&str>, more: Value| {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some("one".to_owned());
        header.typ = kind.map(str::to_owned);
        let mut claims = provider.claims();
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        encode(&header, &claims, &key).unwrap()
    };
    for (kind, more) in [
        (None, json!({})),
        (Some("JWT"), json!({"typ": "Bearer"})),
        (Some("at+jwt"), json!({})),
        (Some("application/at+JWT"), json!({})),
    ] {
        assert_eq!(status(&server, &signed(kind, more)).await, 200, "{kind:?}");
    }
    for (kind, more) in [
        (Some("id+jwt"), json!({})),
        (Some("logout+jwt"), json!({})),
        (Some("JWT"), json!({"typ": "ID"})),
        (Some("JWT"), json!({"typ": "Refresh"})),
        (Some("JWT"), json!({"nonce": "n"})),
        (Some("JWT"), json!({"at_hash": "h"})),
        (Some("JWT"), json!({"events": {}})),
        // Bound to a key of which the request has no proof.
        (Some("at+jwt"), json!({"cnf": {"jkt": "k"}})),
        (Some("at+jwt"), json!({"cnf": {"x5t#S256": "c"}})),
    ] {
        let shown = format!("{kind:?} {more}");
        assert_eq!(status(&server, &signed(kind, more)).await, 401, "{shown}");
    }
}
