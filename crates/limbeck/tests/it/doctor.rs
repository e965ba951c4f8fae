//! `limbeck doctor`, and commands on a machine without a required sandbox layer.
//!
//! A system call filter around the command simulates such a machine: its kernel reports that it has no Landlock. The
//! tests of the strict tier need a kernel with every required layer.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use serde_json::Value;

use crate::world::{CommandOutcome, World};

/// Number of `landlock_create_ruleset` on every architecture.
const LANDLOCK: i64 = 444;
const ENOSYS: u32 = 38;

/// Starts `command` without Landlock. The filter applies to the calling thread and its children.
pub(crate) fn start_without_landlock(mut command: Command) -> Child {
    let start = move || {
        let arch = if cfg!(target_arch = "aarch64") {
            TargetArch::aarch64
        } else {
            TargetArch::x86_64
        };
        let rules = BTreeMap::from([(LANDLOCK, Vec::new())]);
        let denied = SeccompAction::Errno(ENOSYS);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        apply_filter(&program).unwrap();
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    std::thread::spawn(start).join().unwrap()
}

impl World {
    fn without_landlock<const N: usize>(&self, arguments: [&str; N]) -> CommandOutcome {
        let child = start_without_landlock(self.command(arguments));
        CommandOutcome::of(child.wait_with_output().unwrap())
    }

    /// Writes the configuration of the user.
    fn user_config(&self, text: &str) {
        let directory = self.home().join(".config/limbeck");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("config.toml"), text).unwrap();
    }
}

const WASM: &str = "[sandbox]\nminimum_tier = \"wasm\"\n";

fn layer<'a>(report: &'a Value, name: &str) -> &'a Value {
    let layers = report["layers"].as_array().unwrap();
    let mut of_name = layers.iter().filter(|layer| layer["layer"] == name);
    of_name.next().unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn the_sandbox_is_strict_and_every_attempt_from_inside_is_denied() {
    let world = World::empty();
    let report = world
        .limbeck(["doctor", "--sandbox", "--json"])
        .ends_with(0);
    let report = report.json();
    assert_eq!(report["tier"], "strict");
    assert_eq!(report["minimum_tier"], "strict");
    assert_eq!(report["ok"], true);
    let layers = report["layers"].as_array().unwrap();
    for layer in layers {
        assert!(
            layer["held"] == true || layer["required"] == false,
            "{layer}"
        );
    }
    let group = &report["memory_group"];
    let says_which = match group["state"].as_str().unwrap() {
        "group" => group["path"].as_str(),
        _ => group["reason"].as_str(),
    };
    assert!(says_which.is_some_and(|text| !text.is_empty()), "{group}");
    let probes = report["probes"].as_array().unwrap();
    assert!(probes.len() >= 10, "{report}");
    for probe in probes {
        let outcome = probe["outcome"].as_str().unwrap();
        assert!(["denied", "killed"].contains(&outcome), "{probe}");
    }

    let text = world.limbeck(["doctor", "--sandbox"]).ends_with(0).stdout;
    for part in [
        "tier          strict",
        "memory group  ",
        "landlock",
        "seccomp",
        "attempts from inside a worker, 0 succeeded",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let names = probes.iter().filter_map(|probe| probe["name"].as_str());
    for name in names {
        assert!(text.contains(&format!("\n{name} ")), "{name}: {text}");
    }
}

#[test]
fn doctor_says_where_it_looked_when_no_server_is_configured() {
    let world = World::empty();
    let doctor = world.limbeck(["doctor"]).ends_with(0);
    let places = "~/.claude.json, ./.mcp.json, ~/.config/limbeck/config.toml, ./limbeck.toml";
    let line = format!("servers        0; looked in {places}\n");
    assert!(doctor.stdout.ends_with(&line), "{doctor:?}");
    let json = world.limbeck(["doctor", "--json"]).ends_with(0).json();
    assert_eq!(json["looked_in"], places);
    // The control.
    let json = World::with_shop()
        .limbeck(["doctor", "--json"])
        .ends_with(0)
        .json();
    assert_eq!(json.get("looked_in"), None, "{json}");
}

#[test]
fn doctor_shows_state_files_settings_sandbox_and_servers() {
    let world = World::with_shop();
    world.user_config("[limits]\nwall_ms = 5000\n");
    let doctor = world.limbeck(["doctor"]).ends_with(0);
    for part in [
        concat!("limbeck        ", env!("CARGO_PKG_VERSION")),
        "state.db",
        "work/.mcp.json",
        "5 s (",
        "config.toml:2)",
        "strict (default)",
        "shop",
        "ready",
    ] {
        assert!(doctor.stdout.contains(part), "{part}: {doctor:?}");
    }
    let json = world.limbeck(["doctor", "--json"]).ends_with(0).json();
    assert_eq!(json["sandbox"]["tier"], "strict");
    assert_eq!(json["minimum_tier"]["source"], "default");
    assert_eq!(json["servers"][0]["name"], "shop");
    assert_eq!(json["state"]["usable"], true);
    assert_eq!(json["configuration"]["files"].as_array().unwrap().len(), 2);
    assert_eq!(json["ok"], true);

    world.file(
        ".mcp.json",
        r#"{"mcpServers": {"gone": {"command": "no-such-program-anywhere"}}}"#,
    );
    let doctor = world.limbeck(["doctor"]).ends_with(1);
    assert!(doctor.stderr.contains("server `gone`"), "{doctor:?}");
}

#[test]
fn without_a_layer_nothing_runs_and_the_error_says_which_why_and_what_to_do() {
    let world = World::empty();
    world.file("program.ts", "return 'ran'");
    let run = world.without_landlock(["run", "program.ts", "--json"]);
    let envelope = run.ends_with(4).json();
    assert_eq!(envelope["status"], "failed");
    assert_eq!(envelope["error"]["kind"], "gateway");
    assert_eq!(envelope.get("value"), None);
    let message = envelope["error"]["message"].as_str().unwrap();
    assert!(message.contains("`strict` is the minimum"), "{message}");
    assert!(message.contains("landlock ("), "{message}");
    let hint = envelope["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("limbeck doctor --sandbox"), "{hint}");
    // The control: the same program with every layer.
    let run = world.limbeck(["run", "program.ts"]).ends_with(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("ran\n", ""));
}

#[test]
fn doctor_names_the_missing_layer_and_ends_with_1_until_the_minimum_allows_it() {
    let world = World::empty();
    let doctor = world.without_landlock(["doctor", "--sandbox", "--json"]);
    let report = doctor.ends_with(1).json();
    assert_eq!(
        (&report["tier"], &report["ok"]),
        (&"wasm".into(), &false.into())
    );
    let landlock = layer(&report, "landlock");
    assert_eq!(landlock["held"], false);
    assert_eq!(landlock["required"], true);
    assert!(
        landlock["reason"]
            .as_str()
            .is_some_and(|why| !why.is_empty())
    );
    assert_eq!(layer(&report, "seccomp")["held"], true);

    let everything = world.without_landlock(["doctor"]).ends_with(1);
    assert!(
        everything.stdout.contains("missing: landlock"),
        "{everything:?}"
    );
    assert!(
        everything.stderr.contains("--minimum-tier wasm"),
        "{everything:?}"
    );

    let allowed = world.without_landlock(["doctor", "--minimum-tier", "wasm"]);
    let allowed = allowed.ends_with(0);
    assert!(
        allowed.stderr.contains("sandbox tier `wasm`"),
        "{allowed:?}"
    );
    assert!(
        allowed.stdout.contains("wasm (--minimum-tier)"),
        "{allowed:?}"
    );
}

#[test]
fn a_weaker_tier_that_was_allowed_is_in_every_result_and_in_the_journal() {
    let world = World::empty();
    world.file("program.ts", "return 'ran'");
    world.user_config(WASM);
    let run = world.without_landlock(["run", "program.ts", "--json"]);
    let envelope = run.ends_with(0).json();
    assert_eq!(envelope["value"], "ran");
    let warning =
        "sandbox tier `wasm`, not `strict`: without landlock; run `limbeck doctor --sandbox`";
    assert_eq!(envelope["warnings"], serde_json::json!([warning]));

    let id = envelope["execution_id"].as_str().unwrap();
    let json = world
        .limbeck(["executions", id, "--json"])
        .ends_with(0)
        .json();
    assert_eq!(json["envelope"]["warnings"], envelope["warnings"]);
    assert_eq!(json["sandbox"]["tier"], "wasm");
    let missing = json["sandbox"]["missing"].as_array().unwrap();
    assert!(
        missing.iter().any(|one| one["layer"] == "landlock"),
        "{json}"
    );
    let shown = world.limbeck(["executions", id]).ends_with(0).stdout;
    assert!(shown.contains("sandbox   wasm ("), "{shown}");

    // A replay runs the program too, so the same minimum applies.
    world.user_config("");
    let replay = world.without_landlock(["replay", id]).ends_with(4);
    assert!(
        replay.stderr.contains("`strict` is the minimum"),
        "{replay:?}"
    );
    assert!(
        replay.stderr.contains("limbeck doctor --sandbox"),
        "{replay:?}"
    );
    let replay = world.without_landlock(["replay", id, "--minimum-tier", "wasm"]);
    replay.ends_with(0);
}

#[test]
fn a_strict_execution_has_its_layers_in_the_journal_and_no_warning() {
    let world = World::empty();
    let envelope = world.envelope("return 1");
    assert_eq!(envelope.get("warnings"), None, "{envelope}");
    let id = envelope["execution_id"].as_str().unwrap();
    let json = world
        .limbeck(["executions", id, "--json"])
        .ends_with(0)
        .json();
    assert_eq!(json["sandbox"]["tier"], "strict");
    let held = json["sandbox"]["held"].as_array().unwrap();
    for layer in ["empty_root", "network_namespace", "landlock", "seccomp"] {
        assert!(held.contains(&layer.into()), "{layer}: {json}");
    }
    let shown = world.limbeck(["executions", id]).ends_with(0).stdout;
    assert!(shown.contains("sandbox   strict ("), "{shown}");
}

#[test]
fn a_repository_cannot_switch_the_sandbox_off() {
    let world = World::empty();
    world.file("program.ts", "return 'ran'");
    world.file("limbeck.toml", WASM);
    let run = world.without_landlock(["run", "program.ts"]).ends_with(4);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("limbeck.toml:2:"), "{run:?}");
    assert!(run.stderr.contains("can only raise it"), "{run:?}");

    // The control: the user can lower the tier, and the repository can then raise it again.
    world.user_config(WASM);
    let run = world.without_landlock(["run", "program.ts"]).ends_with(0);
    assert_eq!(run.stdout, "ran\n");
    world.file("limbeck.toml", &WASM.replace("wasm", "strict"));
    world.without_landlock(["run", "program.ts"]).ends_with(4);
}

#[test]
fn serve_says_in_its_log_that_the_tier_is_below_strict() {
    let world = World::empty();
    let warning = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.stdin(Stdio::piped());
        let mut child = start_without_landlock(command);
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        while !line.contains("sandbox") && stderr.read_line(&mut line).unwrap() > 0 {}
        // The client disconnects.
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        line
    };
    let allowed = warning(&["serve", "--minimum-tier", "wasm"]);
    assert!(allowed.contains("WARN"), "{allowed}");
    assert!(allowed.contains("without landlock"), "{allowed}");
    let refused = warning(&["serve"]);
    assert!(refused.contains("ERROR"), "{refused}");
}

#[test]
fn the_demo_shows_itself_in_any_sandbox_and_says_which() {
    let world = World::empty();
    let demo = world.without_landlock(["demo"]).ends_with(0);
    assert!(demo.stderr.contains("sandbox tier `wasm`"), "{demo:?}");
    let demo = world.without_landlock(["demo", "--minimum-tier", "strict"]);
    let demo = demo.ends_with(4);
    assert!(demo.stderr.contains("`strict` is the minimum"), "{demo:?}");
}

#[test]
fn a_tier_that_does_not_exist_is_refused_before_anything_runs() {
    let world = World::empty();
    world.file("program.ts", "return 'ran'");
    let none = world.limbeck(["run", "program.ts", "--minimum-tier", "none"]);
    let none = none.ends_with(2);
    assert!(none.stderr.contains("strict, wasm"), "{none:?}");
    world.file("own.toml", "[sandbox]\nminimum_tier = \"none\"\n");
    let none = world.limbeck(["run", "program.ts", "--config", "own.toml"]);
    let none = none.ends_with(2);
    assert!(none.stderr.contains("own.toml:2:16"), "{none:?}");
}
