//! Sign-ins to servers: whose tokens an entry uses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::world::World;

/// A server that wants a sign-in, and everything that it was sent.
struct SignInServer {
    url: String,
    received: Arc<Mutex<String>>,
}

impl SignInServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(String::new()));
        let log = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = log.clone();
                std::thread::spawn(move || refuse(stream, &log));
            }
        });
        Self { url, received }
    }

    /// What arrives while `limbeck tools` asks the configured servers for their tools.
    fn receives_from(&self, world: &World, directory: &Path) -> String {
        self.received.lock().unwrap().clear();
        let mut command = world.command(["tools"]);
        let output = command.current_dir(directory).output().unwrap();
        // The server refuses every token, so the command reports a failure.
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let received = self.received.lock().unwrap().clone();
        assert!(received.contains("POST /mcp"), "{received}");
        received
    }
}

/// Reads one request, logs it, and answers that a sign-in is needed.
fn refuse(stream: TcpStream, log: &Mutex<String>) {
    let mut stream = BufReader::new(stream);
    let mut text = String::new();
    let mut length = 0;
    loop {
        let begin = text.len();
        if stream.read_line(&mut text).unwrap_or(0) == 0 {
            return;
        }
        let line = text[begin..].trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    if stream.read_exact(&mut body).is_ok() {
        text.push_str(&String::from_utf8_lossy(&body));
    }
    // Before the answer, after which the client may end and the test look.
    log.lock().unwrap().push_str(&text);
    let answer = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\n\
                  content-length: 0\r\nconnection: close\r\n\r\n";
    let _ = stream.get_mut().write_all(answer.as_bytes());
}

fn hex(hash: Sha256) -> String {
    let bytes = &hash.finalize()[..10];
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores tokens of the server `docs` in a directory of token files, all with `owner` in them.
fn store(directory: &Path, url: &str, owner: &str) {
    let mut hash = Sha256::new();
    hash.update(4_u64.to_le_bytes());
    hash.update("docs");
    hash.update(url);
    let record = json!({
        "version": 1, "server": "docs", "url": url,
        "client": {"id": format!("client-{owner}"), "secret": format!("secret-{owner}")},
        "tokens": {"access": format!("access-{owner}"), "refresh": format!("refresh-{owner}"), "received_at": 1},
    });
    std::fs::create_dir_all(directory).unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(directory, 0o700);
    let file = directory.join(format!("docs-{}.json", hex(hash)));
    std::fs::write(&file, record.to_string()).unwrap();
    mode(&file, 0o600);
}

/// States of the sign-ins by name.
fn states(world: &World, directory: &Path) -> Vec<(String, String)> {
    let mut command = world.command(["auth", "status", "--json"]);
    let output = command.current_dir(directory).output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |server: &Value, key: &str| server[key].as_str().unwrap().to_owned();
    let servers = status["servers"].as_array().unwrap().iter();
    let mut states: Vec<_> = servers
        .map(|server| (text(server, "server"), text(server, "state")))
        .collect();
    states.sort();
    states
}

fn pairs(expected: [(&str, &str); 2]) -> Vec<(String, String)> {
    expected
        .map(|(name, state)| (name.to_owned(), state.to_owned()))
        .to_vec()
}

#[test]
fn sign_ins_of_a_repository_are_kept_apart_from_those_of_the_user_and_of_other_repositories() {
    let world = World::empty();
    let server = SignInServer::start();
    let state = world.home().join(".local/state/limbeck");
    store(&state.join("oauth"), &server.url, "of-the-user");
    let earlier = world.home().join(".claude/mcp-tokens");
    std::fs::create_dir_all(&earlier).unwrap();
    let tokens = json!({"tokens": {"access_token": "access-of-an-earlier-client"}});
    std::fs::write(earlier.join("notes.json"), tokens.to_string()).unwrap();

    let entry = json!({"type": "http", "url": server.url});
    let entries = json!({"mcpServers": {"docs": entry, "notes": entry}}).to_string();
    let other = world.home().join("other-repository");
    std::fs::create_dir(&other).unwrap();

    // The control: entries of the user use the tokens of the user.
    let own = world.home().join(".claude.json");
    std::fs::write(&own, &entries).unwrap();
    let signed_in = pairs([("docs", "signed_in"), ("notes", "signed_in")]);
    assert_eq!(states(&world, &other), signed_in);
    let received = server.receives_from(&world, &other);
    assert!(received.contains("Bearer access-of-the-user"), "{received}");
    let earlier = "Bearer access-of-an-earlier-client";
    assert!(received.contains(earlier), "{received}");
    std::fs::remove_file(&own).unwrap();

    // Entries of a repository with the same names and the same url have none of them.
    let file = world.file(".mcp.json", &entries);
    let signed_out = pairs([("docs", "signed_out"), ("notes", "signed_out")]);
    assert_eq!(states(&world, &world.work()), signed_out);
    let received = server.receives_from(&world, &world.work());
    assert!(!received.contains("of-the-user"), "{received}");
    assert!(!received.contains("of-an-earlier-client"), "{received}");

    // What the repository signs in to is its own, and neither another repository's nor the user's.
    let mut hash = Sha256::new();
    let file = file.canonicalize().unwrap();
    hash.update(file.as_os_str().as_encoded_bytes());
    let directory = state.join("oauth-of-repositories").join(hex(hash));
    store(&directory, &server.url, "of-the-repository");
    let received = server.receives_from(&world, &world.work());
    assert!(
        received.contains("Bearer access-of-the-repository"),
        "{received}"
    );
    assert!(!received.contains("of-the-user"), "{received}");
    std::fs::write(other.join(".mcp.json"), &entries).unwrap();
    let received = server.receives_from(&world, &other);
    assert!(!received.contains("access-of-"), "{received}");
    std::fs::remove_file(other.join(".mcp.json")).unwrap();
    std::fs::write(&own, &entries).unwrap();
    store(&state.join("oauth"), &server.url, "of-the-user");
    let received = server.receives_from(&world, &other);
    assert!(received.contains("Bearer access-of-the-user"), "{received}");
    assert!(!received.contains("of-the-repository"), "{received}");
}
