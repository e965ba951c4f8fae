//! The guarded client on real sockets.

use std::time::Duration;

use limbeck_upstream::http::NetworkRules;
use limbeck_upstream::http::guard::{GuardError, GuardedClient, RedirectPolicy};
use url::Url;

use crate::http::fake_server::{FakeReply, FakeServer, modern};

fn client(home: &str) -> GuardedClient {
    GuardedClient::new(&Url::parse(home).unwrap(), NetworkRules::default()).unwrap()
}

async fn fetch(client: &GuardedClient, url: &str) -> Result<(u16, String), GuardError> {
    let request = http::Request::get(url).body(Vec::new()).unwrap();
    let response = client
        .fetch(request, RedirectPolicy::SameOrigin, Duration::from_secs(5))
        .await?;
    let body = String::from_utf8_lossy(response.body()).into_owned();
    Ok((response.status().as_u16(), body))
}

#[tokio::test]
async fn a_public_server_leads_to_no_address_of_this_machine_however_it_is_spelled() {
    let peer = FakeServer::start(|_| FakeReply::typed(200, "text/plain", "here")).await;
    let port = Url::parse(&peer.origin()).unwrap().port().unwrap();
    // The control: for a server on this machine the same address is fine.
    assert_eq!(
        fetch(&client(&peer.origin()), &peer.url()).await.unwrap(),
        (200, "here".to_owned())
    );
    let reached = peer.seen().len();
    let public = client("https://mcp.example.com/");
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "0.0.0.0",
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "169.254.169.254",
        "10.0.0.1",
    ] {
        for scheme in ["http", "https"] {
            let error = fetch(&public, &format!("{scheme}://{host}:{port}/"))
                .await
                .unwrap_err();
            assert!(
                matches!(error, GuardError::Address(_) | GuardError::Clear { .. }),
                "{scheme}://{host}: {error}"
            );
        }
    }
    assert_eq!(peer.seen().len(), reached);
}

#[tokio::test]
async fn only_https_and_http_are_asked_and_never_with_a_password() {
    let local = client("http://127.0.0.1:1/");
    for url in ["http://user:secret@127.0.0.1:1/", "http://example.com/"] {
        let error = fetch(&local, url).await.unwrap_err();
        assert!(
            matches!(error, GuardError::Url { .. } | GuardError::Clear { .. }),
            "{error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let home = Url::parse("http://intranet:8080/mcp").unwrap();
    assert!(matches!(
        GuardedClient::new(&home, NetworkRules::default()),
        Err(GuardError::Clear { .. })
    ));
    let rules = NetworkRules {
        clear: true,
        ..NetworkRules::default()
    };
    assert!(GuardedClient::new(&home, rules).is_ok());
}

#[tokio::test]
async fn metadata_may_be_redirected_inside_its_origin_and_nowhere_else() {
    let elsewhere = FakeServer::start(modern).await;
    let target = elsewhere.url();
    let peer = FakeServer::start(move |seen| match seen.path.as_str() {
        "/near" => FakeReply::status(302).with("Location", "/there"),
        "/there" => FakeReply::typed(200, "text/plain", "metadata"),
        "/far" => FakeReply::status(307).with("Location", &target),
        "/file" => FakeReply::status(302).with("Location", "file:///etc/passwd"),
        "/metadata" => FakeReply::status(302).with("Location", "http://169.254.169.254/latest"),
        _ => FakeReply::status(308).with("Location", &format!("{}x", seen.path)),
    })
    .await;
    let client = client(&peer.origin());
    let at = |path: &str| format!("{}{path}", peer.origin());
    assert_eq!(fetch(&client, &at("/near")).await.unwrap().1, "metadata");
    for (path, named) in [
        ("/far", "127.0.0.1"),
        ("/file", "`file:`"),
        ("/metadata", "a link-local address"),
        ("/loop", "127.0.0.1"),
    ] {
        let error = fetch(&client, &at(path)).await.unwrap_err();
        assert!(
            matches!(error, GuardError::Redirect { .. }),
            "{path}: {error}"
        );
        assert!(error.to_string().contains(named), "{path}: {error}");
    }
    assert_eq!(elsewhere.seen().len(), 0);
    assert_eq!(
        peer.seen()
            .iter()
            .filter(|it| it.path.starts_with("/loop"))
            .count(),
        4
    );
}

#[tokio::test]
async fn a_name_that_is_not_localhost_never_leads_here() {
    // Resolved by the system's hosts file, as a rebound name would be.
    let hostname = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let name = hostname
        .lines()
        .filter_map(|line| line.strip_prefix("127."))
        .flat_map(|line| {
            line.split_whitespace()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .find(|name| name != "localhost" && !name.starts_with('#'));
    let Some(name) = name else {
        return;
    };
    let error = fetch(
        &client(&format!("https://{name}/")),
        &format!("https://{name}/"),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, GuardError::Address(_)), "{error}");
}
