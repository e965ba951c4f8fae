//! Bearer tokens (H03) and their files.

use std::path::Path;

use limbeck_server::http::{Authentication, BearerTokens};
use limbeck_upstream::KnownSecrets;
use serde_json::json;

use crate::support::{ALICE, Ask, BOB, Server, until};

#[tokio::test]
async fn h03_without_a_good_token_every_answer_is_the_same() {
    let server = Server::start().await;
    let good = Ask::modern(ALICE, "tools/list", json!({}));
    assert_eq!(server.send(&good).await.status, 200);
    let lower = format!("bearer {ALICE}");
    assert_eq!(
        server
            .send(good.clone().set("authorization", &lower))
            .await
            .status,
        200
    );

    let almost = format!("Bearer {}", &ALICE[..63]);
    let longer = format!("Bearer {ALICE}0");
    let two = format!("Bearer {ALICE} {BOB}");
    let long = format!("Bearer {}", "x".repeat(20_000));
    let unsigned = "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.";
    let mut answers = Vec::new();
    for value in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some(&*almost),
        Some(&*longer),
        Some(&*two),
        Some(&*long),
        Some(unsigned),
        Some(ALICE),
        Some("Basic YWxpY2U6cGFzc3dvcmQ="),
    ] {
        let mut ask = good.clone();
        ask.remove("authorization");
        if let Some(value) = value {
            ask.set("authorization", value);
        }
        // Not sent: the server responds before the body.
        ask.set("content-length", "5000");
        ask.body.clear();
        let mut reply = server.send(&ask).await;
        assert_eq!(reply.status, 401, "{value:?}: {reply:?}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        reply.headers.retain(|(name, _)| name != "date");
        answers.push(format!("{reply:?}"));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");

    let mut twice = good.clone();
    twice.add("authorization", &format!("Bearer {BOB}"));
    assert_eq!(server.send(&twice).await.status, 401);
    let mut in_query = good.clone();
    in_query.remove("authorization").target = format!("/mcp?access_token={ALICE}");
    assert_eq!(server.send(&in_query).await.status, 404);
    let mut cookie = good.clone();
    cookie
        .remove("authorization")
        .set("cookie", &format!("token={ALICE}"));
    assert_eq!(server.send(&cookie).await.status, 401);
}

fn read(text: &str) -> Result<BearerTokens, String> {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("tokens");
    std::fs::write(&path, text).unwrap();
    BearerTokens::read(&path, &KnownSecrets::default()).map_err(|error| error.to_string())
}

#[test]
fn a_token_file_holds_one_token_or_named_tokens() {
    for text in [
        format!("{ALICE}\n"),
        format!("# ours\n\nalice {ALICE}\nbob@example.com\t{BOB}"),
    ] {
        read(&text).unwrap();
    }
    for (text, says) in [
        (String::new(), "holds no token"),
        ("# nothing\n".to_owned(), "holds no token"),
        (
            "short".to_owned(),
            "line 1: the token has 5 characters, at least 32",
        ),
        (
            format!("alice {ALICE} x"),
            "line 1: the line has more than a name and a token",
        ),
        (format!("a/b {ALICE}"), "line 1: a name consists of"),
        (
            format!("alice {ALICE}\nalice {BOB}"),
            "line 2: another token is named `alice` already",
        ),
        (
            format!("alice {ALICE}\nbob {ALICE}"),
            "line 2: the token is the same",
        ),
        (format!("{}\u{e4}", &ALICE[..63]), "printable ASCII"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(says), "{error}");
        assert!(
            !error.contains(ALICE) && !error.contains("short"),
            "{error}"
        );
    }
    assert!(BearerTokens::read(Path::new("/nonexistent"), &KnownSecrets::default()).is_err());
}

#[tokio::test]
async fn a_token_is_made_once_for_its_owner_alone_and_works() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("state/http-token");
    let first = BearerTokens::own(&path, &KnownSecrets::default()).unwrap();
    let made = first.made.unwrap();
    assert!(made.len() == 64 && made.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), made);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
    let again = BearerTokens::own(&path, &KnownSecrets::default()).unwrap();
    assert!(again.made.is_none());
    let server =
        Server::with(|options| options.authentication = Authentication::by_tokens(again.tokens))
            .await;
    assert_eq!(
        server
            .send(&Ask::modern(&made, "tools/list", json!({})))
            .await
            .status,
        200
    );
    assert_eq!(
        server
            .send(&Ask::modern(ALICE, "tools/list", json!({})))
            .await
            .status,
        401
    );
    let other = BearerTokens::own(&files.path().join("other"), &KnownSecrets::default()).unwrap();
    assert_ne!(other.made.unwrap(), made);
}

#[cfg(unix)]
#[test]
fn a_token_file_that_everybody_may_change_is_refused_and_our_own_is_closed_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("tokens");
    std::fs::write(&path, format!("{ALICE}\n")).unwrap();
    let set = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).unwrap();
    };
    for (mode, accepted) in [
        (0o600, true),
        (0o440, true),
        (0o644, true),
        (0o666, false),
        (0o602, false),
    ] {
        set(mode);
        let read =
            BearerTokens::read(&path, &KnownSecrets::default()).map_err(|error| error.to_string());
        assert_eq!(read.is_ok(), accepted, "{mode:o}: {read:?}");
        assert_eq!(
            BearerTokens::own(&path, &KnownSecrets::default()).is_ok(),
            accepted,
            "{mode:o}"
        );
    }
    set(0o644);
    BearerTokens::own(&path, &KnownSecrets::default()).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_changed_token_file_is_used_without_a_restart() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("tokens");
    std::fs::write(&path, format!("alice {ALICE}\n")).unwrap();
    let tokens = BearerTokens::read(&path, &KnownSecrets::default()).unwrap();
    let server =
        Server::with(|options| options.authentication = Authentication::by_tokens(tokens)).await;
    let status = async |token| {
        let ask = Ask::modern(token, "tools/list", json!({}));
        server.send(&ask).await.status
    };
    assert_eq!((status(ALICE).await, status(BOB).await), (200, 401));
    std::fs::write(&path, format!("bob {BOB}\n")).unwrap();
    until("the new token", || async { status(BOB).await == 200 }).await;
    assert_eq!(status(ALICE).await, 401);
}
