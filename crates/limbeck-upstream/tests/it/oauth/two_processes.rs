//! Two gateway processes with one token file.

use std::io::{BufRead as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use limbeck_upstream::oauth::{OAuthSettings, TokenStore};
use serde_json::{Value, json};

use crate::oauth::world::{World, auth_at, sign_in, token};

/// Marks the lines of a child that are meant for its parent.
const MARK: &str = "CHILD ";

/// Body of each child process of the test below. It reads the location of the tokens from standard input.
#[tokio::test]
#[ignore = "run by two_processes_refresh_once"]
async fn child() {
    let mut lines = std::io::stdin().lock().lines();
    let reported: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let url = reported["url"].as_str().unwrap().parse().unwrap();
    let store = TokenStore::new(reported["directory"].as_str().unwrap());
    let auth = auth_at("files", &url, OAuthSettings::default(), &store);
    println!("\n{MARK}ready");
    assert_eq!(lines.next().unwrap().unwrap(), "go");
    println!("\n{MARK}{}", token(&auth).await.unwrap());
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
}

impl Process {
    fn start(place: &Value) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "oauth::two_processes::child",
                "--ignored",
                "--nocapture",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{place}").unwrap();
        let output = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            output,
        }
    }

    fn says(&mut self) -> String {
        loop {
            let line = self.output.next().unwrap().unwrap();
            if let Some(said) = line.strip_prefix(MARK) {
                return said.to_owned();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_refresh_once() {
    let world = World::new().await;
    sign_in(&world.auth()).await.unwrap();
    world.age(4000);
    let place = json!({"url": world.url(), "directory": world.directory()});
    let work = tokio::task::spawn_blocking(move || {
        let mut processes: Vec<Process> = (0..4).map(|_| Process::start(&place)).collect();
        for process in &mut processes {
            assert_eq!(process.says(), "ready");
        }
        for process in &mut processes {
            writeln!(process.input, "go").unwrap();
        }
        let tokens: Vec<String> = processes.iter_mut().map(Process::says).collect();
        for process in &mut processes {
            assert!(process.child.wait().unwrap().success());
        }
        tokens
    });
    let tokens = tokio::time::timeout(Duration::from_secs(60), work).await;
    let tokens = tokens.unwrap().unwrap();
    assert_eq!(tokens.len(), 4);
    assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    assert_eq!(world.grants("refresh_token").len(), 1);
    assert_eq!(json!(tokens[0]), world.record()["tokens"]["access"]);
}
