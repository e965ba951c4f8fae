//! `limbeck serve --http`: tokens, principals, shutdown, and many clients at once.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use limbeck_testkit::http_load::{self, Client, LoadSpec};
use serde_json::{Value, json};

use crate::world::World;

/// Time after which a condition counts as one that never holds.
const HANG: Duration = Duration::from_secs(60);

/// Gateway that listens, and the lines of its standard error.
pub(crate) struct Served {
    child: Child,
    lines: Receiver<String>,
    pub(crate) address: SocketAddr,
}

impl Served {
    /// Starts a gateway on a free port.
    pub(crate) fn start(world: &World, arguments: &[&str]) -> Self {
        let mut command = world.command(["serve", "--http", "127.0.0.1:0"]);
        let mut child = command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut served = Self {
            child,
            lines,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let line = served.line("serving MCP at http://");
        served.address = line.split('/').nth(2).unwrap().parse().unwrap();
        served
    }

    /// Waits for the next line that starts with `begins`.
    fn line(&self, begins: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(HANG).unwrap();
            if line.starts_with(begins) {
                return line;
            }
        }
    }

    /// Waits for the next line with `part` in it.
    fn line_with(&self, part: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(HANG).unwrap();
            if line.contains(part) {
                return line;
            }
        }
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::connect(self.address, token).unwrap()
    }

    fn signal(&self) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Exit code of the gateway; asserts that standard output is empty.
    fn ended(mut self) -> Option<i32> {
        let limit = Instant::now() + HANG;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < limit, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let stdout = self.child.stdout.take().unwrap();
        assert_eq!(BufReader::new(stdout).lines().count(), 0);
        status.code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A token file with two principals.
pub(crate) fn tokens(world: &World) -> (String, [String; 2]) {
    let tokens = ["a", "b"].map(|letter| letter.repeat(64));
    let text = format!("alice {}\nbob {}\n", tokens[0], tokens[1]);
    let path = world.file("tokens", &text);
    (path.display().to_string(), tokens)
}

fn executions(world: &World) -> Vec<Value> {
    let listed = world.limbeck(["executions", "--json"]).ends_with(0).json();
    listed["executions"].as_array().unwrap().clone()
}

#[test]
fn a_token_is_made_on_the_first_start_and_never_shown_and_the_shown_entry_works_with_it() {
    let world = World::empty();
    let served = Served::start(&world, &[]);
    served.line("a bearer token was generated");
    let mut config = String::new();
    while serde_json::from_str::<Value>(&config).is_err() {
        let line = served.lines.recv_timeout(HANG).unwrap();
        if !line.starts_with("Entry for") {
            config.push_str(&line);
        }
    }
    let file = world.home().join(".local/state/limbeck/http-token");
    let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(!config.contains(&token));
    let config: Value = serde_json::from_str(&config).unwrap();
    let entry = &config["mcpServers"]["limbeck"];
    assert_eq!(entry["url"], format!("http://{}/mcp", served.address));
    assert_eq!(entry["headers"]["Authorization"], "Bearer TOKEN");
    let envelope = served.client(&token).execute("return 6 * 7").unwrap();
    assert_eq!(envelope["value"], 42);
    assert!(served.client("no").execute("return 1").is_err());
    // The principal of the token is the user of the command line.
    assert_eq!(executions(&world)[0]["principal"], "local");

    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let arguments = std::fs::read(format!("/proc/{}/cmdline", served.child.id())).unwrap();
    assert!(!String::from_utf8_lossy(&arguments).contains(&token));
    served.signal();
    assert_eq!(served.line("stopping"), "stopping", "no program runs");
    let again = Served::start(&world, &[]);
    again.line("the bearer token is in");
    assert_eq!(
        again.client(&token).execute("return 1").unwrap()["value"],
        1
    );
    again.signal();
    let rest: Vec<String> = again.lines.iter().collect();
    assert!(!rest.join("\n").contains(&token), "{rest:?}");
}

#[test]
fn a_port_in_use_makes_no_token_and_a_token_file_is_named_with_the_entry_of_a_client() {
    let world = World::empty();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = world.limbeck(["serve", "--http", &address]).ends_with(2);
    assert!(refused.stderr.contains("in use"), "{refused:?}");
    let file = world.home().join(".local/state/limbeck/http-token");
    assert!(!file.exists());
    drop(taken);
    let (tokens, _) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &tokens]);
    served.line("clients send a token of");
    served.line("Entry for the configuration of a client");
    assert!(!file.exists());
}

#[test]
fn a_rule_that_is_added_holds_for_clients_over_http() {
    let world = World::with_shop();
    let (file, [alice, _]) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &file]);
    let customer = "return (await tools.shop.get_customer({ id: 'cus_0001' })).id";
    let envelope = served.client(&alice).execute(customer).unwrap();
    assert_eq!(envelope["value"], "cus_0001");
    world.file(
        "limbeck.toml",
        "[[policy.rule]]\nid = 'no-details'\neffect = 'deny'\ntools = ['shop.get_customer']\n",
    );
    served.line_with("the configuration was read again: the policy changed");
    let envelope = served.client(&alice).execute(customer).unwrap();
    assert_eq!(envelope["error"]["code"], "denied", "{envelope}");
}

#[test]
fn what_would_be_unsafe_is_refused_with_the_next_step() {
    let world = World::empty();
    let refused = world.limbeck(["serve", "--http", "0.0.0.0:0"]).ends_with(2);
    assert!(refused.stderr.contains("clear text"), "{refused:?}");
    assert!(refused.stderr.contains("--behind-tls-proxy"), "{refused:?}");
    assert!(
        !world
            .home()
            .join(".local/state/limbeck/http-token")
            .exists()
    );
    world.file("weak", "password\n");
    let weak = world
        .limbeck(["serve", "--http", "0", "--token-file", "weak"])
        .ends_with(2);
    assert!(
        weak.stderr.contains("at least 32") && weak.stderr.contains("openssl rand"),
        "{weak:?}"
    );
    assert!(!weak.stderr.contains("password"), "{weak:?}");
    for arguments in [
        vec!["serve", "--token-file", "weak"],
        vec!["serve", "--http", "0", "--tls-cert", "x"],
        vec!["serve", "--http", "0", "--jwt-issuer", "https://id.example"],
        vec![
            "serve",
            "--http",
            "0",
            "--jwt-issuer",
            "http://id.example",
            "--jwt-audience",
            "x",
        ],
        vec!["serve", "--http", "0", "--allow-host", "https://x"],
        vec!["serve", "--http", "x"],
    ] {
        let output = world.command(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_changed_token_file_is_read_again_and_a_broken_one_changes_nothing() {
    let world = World::empty();
    let (file, [alice, bob]) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &file]);
    let runs = |token: &str| served.client(token).execute("return 1").is_ok();
    world.file("tokens", "alice too short\n");
    let logged = served.line_with("changed token file cannot be used");
    assert!(
        logged.contains("line 1") && !logged.contains("short"),
        "{logged}"
    );
    assert!(runs(&alice) && runs(&bob));
    let carol = "c".repeat(64);
    world.file("tokens", &format!("carol {carol}\n"));
    let limit = Instant::now() + HANG;
    while !runs(&carol) {
        assert!(Instant::now() < limit, "the new token is not accepted");
    }
    assert!(!runs(&alice) && !runs(&bob));
}

#[test]
fn durations_of_executions_and_calls_are_in_the_metrics() {
    let world = World::empty();
    let (file, [alice, _]) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &file]);
    let sample = |name: &str| {
        let mut stream = TcpStream::connect(served.address).unwrap();
        let address = served.address;
        let request = format!(
            "GET /metrics HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {alice}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let line = answer
            .lines()
            .find(|line| line.split(' ').next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {answer}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(
        sample("limbeck_executions_total{status=\"completed\"}"),
        0.0
    );
    let program = "await store.set('a', 1); await new Promise(done => setTimeout(done, 60))";
    served.client(&alice).execute(program).unwrap();
    assert_eq!(
        sample("limbeck_executions_total{status=\"completed\"}"),
        1.0
    );
    assert_eq!(sample("limbeck_execution_seconds_count"), 1.0);
    assert_eq!(sample("limbeck_execution_seconds_bucket{le=\"0.05\"}"), 0.0);
    assert_eq!(sample("limbeck_execution_seconds_bucket{le=\"+Inf\"}"), 1.0);
    assert!(sample("limbeck_execution_seconds_sum") > 0.05);
    assert_eq!(sample("limbeck_call_seconds_count"), 1.0);
    assert!(sample("limbeck_call_seconds_sum") > 0.0);
}

#[test]
fn what_one_principal_keeps_another_does_not_see() {
    let world = World::empty();
    let (file, [alice, bob]) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &file]);
    let keep = |who: &str| format!("await store.set('key', '{who}'); return 1");
    let look = "return await store.get('key') ?? 'nothing'";
    served.client(&alice).execute(&keep("of alice")).unwrap();
    assert_eq!(
        served.client(&bob).execute(look).unwrap()["value"],
        "nothing"
    );
    served.client(&bob).execute(&keep("of bob")).unwrap();
    assert_eq!(
        served.client(&alice).execute(look).unwrap()["value"],
        "of alice"
    );
    let mut principals: Vec<_> = executions(&world)
        .iter()
        .map(|row| row["principal"].clone())
        .collect();
    principals.sort_by_key(Value::to_string);
    assert_eq!(
        json!(principals),
        json!(["token:alice", "token:alice", "token:bob", "token:bob"])
    );
}

#[test]
fn a_client_over_http_stays_below_the_time_limit_of_the_user() {
    let world = World::empty();
    let own = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), "[limits]\nwall_ms = 700\n").unwrap();
    let (file, [alice, _]) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &file]);
    let endless = json!({"code": "while (true) {}", "timeout_ms": 60_000});
    let ended = served.client(&alice).execute_with(&endless).unwrap();
    assert_eq!(ended["error"]["kind"], "timeout", "{ended}");
    let message = ended["error"]["message"].as_str().unwrap();
    assert!(message.contains("700 ms"), "{ended}");
    drop(served);
    // The control: where the user allows it, the same client may take longer than that.
    std::fs::write(own.join("config.toml"), "[limits]\nwall_ms = 60000\n").unwrap();
    let served = Served::start(&world, &["--token-file", &file]);
    let code = "await new Promise(done => setTimeout(done, 900)); return 1";
    let longer = json!({"code": code, "timeout_ms": 60_000});
    let ended = served.client(&alice).execute_with(&longer).unwrap();
    assert_eq!(ended["value"], 1, "{ended}");
}

#[test]
fn names_in_a_result_of_one_principal_are_not_shown_to_another() {
    let world = World::empty();
    let entry = json!({"command": "sh", "args": ["-c", crate::learn::SERVER]});
    let config = json!({"mcpServers": {"s": entry}}).to_string();
    world.file(".mcp.json", &config);
    let (file, [alice, bob]) = tokens(&world);
    // A tool without an output schema, whose result has names of its own.
    let learn = "return await tools.s.report({})";
    let look = "return (await describe('s', 'report')).signature";
    let served = Served::start(&world, &["--token-file", &file]);
    let called = served.client(&alice).execute(learn).unwrap();
    assert_eq!(called["status"], "completed", "{called}");
    let before = served.client(&bob).execute(look).unwrap()["value"].clone();
    for _ in 0..3 {
        served.client(&alice).execute(learn).unwrap();
    }
    let after = served.client(&bob).execute(look).unwrap()["value"].clone();
    assert_eq!(before, after);
    assert!(!after.to_string().contains("observed"), "{after}");
    drop(served);
    // The control: the user of the gateway, who is alone, learns.
    for _ in 0..2 {
        world.envelope(learn);
    }
    let own = world.envelope(look);
    assert!(own["value"].to_string().contains("observed"), "{own}");
}

#[test]
fn a_client_that_hangs_up_ends_its_program() {
    let world = World::empty();
    let (file, [alice, _]) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &file]);
    let mut client = served.client(&alice);
    client
        .send_execute("await new Promise(done => setTimeout(done, 50_000)); return 1")
        .unwrap();
    let status = || executions(&world).first().map(|row| row["status"].clone());
    let is = |wanted: &str| {
        let limit = Instant::now() + HANG;
        while status() != Some(json!(wanted)) {
            assert!(Instant::now() < limit, "it is {:?}, not {wanted}", status());
        }
    };
    is("running");
    drop(client);
    is("cancelled");
}

#[test]
fn asked_to_end_it_waits_for_programs_and_asked_twice_it_does_not() {
    let world = World::empty();
    let (file, [alice, _]) = tokens(&world);
    let wait =
        |ms: u32| format!("await new Promise(done => setTimeout(done, {ms})); return 'done'");
    let running = || {
        executions(&world)
            .iter()
            .filter(|row| row["status"] == "running")
            .count()
    };
    let until_running = || {
        let limit = Instant::now() + HANG;
        while running() == 0 {
            assert!(Instant::now() < limit, "nothing runs");
        }
    };
    let served = Served::start(&world, &["--token-file", &file]);
    let mut client = served.client(&alice);
    client.send_execute(&wait(5_000)).unwrap();
    until_running();
    served.signal();
    served.line(
        "stopping when the running program has ended; a second signal (Ctrl-C) stops at once",
    );
    let (status, body) = client.receive().unwrap();
    assert!(status == 200 && body.contains("done"), "{status} {body}");
    assert!(TcpStream::connect(served.address).is_err());
    assert_eq!(served.ended(), Some(0));

    let served = Served::start(&world, &["--token-file", &file]);
    let mut client = served.client(&alice);
    client.send_execute(&wait(55_000)).unwrap();
    until_running();
    served.signal();
    served.line(
        "stopping when the running program has ended; a second signal (Ctrl-C) stops at once",
    );
    let asked = Instant::now();
    served.signal();
    assert_eq!(served.ended(), Some(0));
    assert!(
        asked.elapsed() < Duration::from_secs(40),
        "{:?}",
        asked.elapsed()
    );
    let last = executions(&world).remove(0);
    assert_ne!(last["status"], "running", "{last}");
}

#[test]
fn two_thousand_programs_of_fifty_clients_each_get_their_own_value_and_leave_nothing() {
    let world = World::empty();
    let (file, tokens) = tokens(&world);
    let served = Served::start(&world, &["--token-file", &file]);
    let load = |requests| LoadSpec {
        address: served.address,
        tokens: tokens.to_vec(),
        clients: 50,
        requests,
    };
    let size = || {
        let base = format!("/proc/{}", served.child.id());
        let status = std::fs::read_to_string(format!("{base}/status")).unwrap();
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let kib: usize = resident.trim().split(' ').next().unwrap().parse().unwrap();
        (
            kib,
            std::fs::read_dir(format!("{base}/fd")).unwrap().count(),
        )
    };
    let warm = http_load::run(&load(500));
    assert_eq!((warm.right, &warm.wrong), (500, &Vec::new()));
    let before = size();
    let outcome = http_load::run(&load(2_000));
    assert_eq!((outcome.right, &outcome.wrong), (2_000, &Vec::new()));
    let pairs = http_load::interleaved(&load(0), 100);
    assert_eq!((pairs.right, &pairs.wrong), (100, &Vec::new()));
    let after = size();
    assert!(
        after.0 < before.0 + (16 << 10),
        "{before:?} KiB and descriptors, then {after:?}"
    );
    assert!(
        after.1 < before.1 + 16,
        "{before:?} KiB and descriptors, then {after:?}"
    );
}
