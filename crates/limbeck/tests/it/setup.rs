//! `setup` as a user runs it: plan, probe, move, undo; and the finding of `doctor`.

use serde_json::json;

use crate::approvals::terminal::on_terminal_of;
use crate::world::{CommandOutcome, LIMBECK, World};

const CURSOR: &str = ".cursor/mcp.json";

/// A client with a server that works and has a secret, and one that does not start.
fn world_with_cursor() -> (World, String) {
    let world = World::empty();
    let text = format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"shop\": {{\"command\": {LIMBECK:?}, \"args\": [\"demo-upstream\"], \"env\": {{\"SHOP_TOKEN\": \"canary\"}}}},\n    \"gone\": {{\"command\": \"no-such-program-4711\"}}\n  }}\n}}\n"
    );
    let file = world.home().join(CURSOR);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, &text).unwrap();
    (world, text)
}

fn cursor(world: &World) -> String {
    std::fs::read_to_string(world.home().join(CURSOR)).unwrap()
}

#[test]
fn without_a_terminal_and_without_yes_the_plan_is_shown_and_nothing_is_written() {
    let (world, text) = world_with_cursor();
    let plan = world.limbeck(["setup", "--dry-run", "--json"]).ends_with(0);
    let report = plan.json();
    assert_eq!(report["clients"][0]["id"], "cursor");
    assert_eq!(report["clients"][0]["action"], "write");
    assert_eq!(report["servers"][0]["action"], "move");
    let refused = world.limbeck(["setup"]).ends_with(2);
    assert!(refused.stdout.contains("shop"), "{refused:?}");
    assert!(
        refused.stderr.contains("`limbeck setup --yes`"),
        "{refused:?}"
    );
    let json = world.limbeck(["setup", "--json"]).ends_with(2);
    for outcome in [plan, refused, json] {
        assert!(!format!("{outcome:?}").contains("canary"), "{outcome:?}");
    }
    assert_eq!(cursor(&world), text);
    assert!(!world.home().join(".config").exists());
    assert!(!world.home().join(".local").exists());
    let unknown = world.limbeck(["setup", "--client", "nano"]).ends_with(2);
    assert!(
        unknown.stderr.contains("known clients: claude-code, "),
        "{unknown:?}"
    );
}

#[test]
fn a_server_that_works_moves_with_its_secret_and_one_that_does_not_start_stays() {
    let (world, text) = world_with_cursor();
    let done = world.limbeck(["setup", "--yes", "--json"]).ends_with(0);
    let report = done.json();
    assert_eq!(report["servers"][0]["action"], "move", "{report}");
    assert_eq!(report["servers"][1]["action"], "keep");
    let reason = report["servers"][1]["reason"].as_str().unwrap();
    assert!(reason.starts_with("does not start: "), "{reason}");
    assert!(!format!("{done:?}").contains("canary"), "{done:?}");
    let now = cursor(&world);
    assert!(
        now.contains("// mine") && now.contains("no-such-program-4711"),
        "{now}"
    );
    assert!(
        now.contains("\"limbeck\": {\"command\"") && !now.contains("canary"),
        "{now}"
    );
    // Limbeck has the server now.
    let called = world.limbeck(["call", "shop", "list_customers", "{\"page\": 1}"]);
    called.ends_with(0);
    // The one that stayed is a finding of `doctor`, with its remedy.
    let doctor = CommandOutcome::of(world.command(["doctor", "--json"]).output().unwrap());
    let findings = doctor.json()["findings"].clone();
    assert_eq!(findings[0]["code"], "C04", "{findings}");
    assert_eq!(findings[0]["remedy"], "limbeck setup --client cursor");
    assert!(findings[0]["finding"].as_str().unwrap().contains("`gone`"));
    // A second setup has nothing to write.
    let again = world
        .limbeck(["setup", "--yes", "--json"])
        .ends_with(0)
        .json();
    assert_eq!(again.get("id"), None, "{again}");
    let undo = report["undo"].as_str().unwrap();
    let words: Vec<&str> = undo.split(' ').skip(1).collect();
    CommandOutcome::of(world.command(words).output().unwrap()).ends_with(0);
    assert_eq!(cursor(&world), text);
    assert!(!world.home().join(".config/limbeck/imported.toml").exists());
    let nothing = world.limbeck(["setup", "--undo"]).ends_with(2);
    assert!(
        nothing.stderr.contains("there is no setup to undo"),
        "{nothing:?}"
    );
}

#[test]
fn a_file_that_cannot_be_changed_is_named_and_the_exit_code_is_one() {
    let (world, text) = world_with_cursor();
    let broken = world.home().join(".kiro/settings/mcp.json");
    std::fs::create_dir_all(broken.parent().unwrap()).unwrap();
    std::fs::write(&broken, "{\"mcpServers\": {\n  oops").unwrap();
    let done = world.limbeck(["setup", "--yes", "--no-probe"]).ends_with(1);
    assert!(
        done.stderr
            .contains("~/.kiro/settings/mcp.json is not changed: 2:"),
        "{done:?}"
    );
    assert!(cursor(&world).contains("\"limbeck\""));
    // Without a probe every server moves; `remove` takes one out again.
    world.limbeck(["remove", "gone"]).ends_with(0);
    let undone = world
        .limbeck(["setup", "--undo", "--json"])
        .ends_with(0)
        .json();
    let states: Vec<&str> = undone["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["removed", "removed", "restored"]);
    assert_eq!(undone["files"][2]["reason"], json!(null));
    // The secret, the file of moved servers, and the client's file.
    assert_eq!(cursor(&world), text);
}

#[test]
fn a_plan_says_which_servers_it_has_not_started() {
    let (world, _) = world_with_cursor();
    let plan = world.limbeck(["setup", "--dry-run"]).ends_with(0).stdout;
    let row = |name: &str| {
        let mut lines = plan.lines().filter(|line| line.starts_with(name));
        lines.next().unwrap_or_default().to_owned()
    };
    for name in ["shop", "gone"] {
        assert!(row(name).contains("moves if it starts"), "{plan}");
    }
    // The control: with `--no-probe` they move without a start.
    let plan = world.limbeck(["setup", "--dry-run", "--no-probe"]);
    let plan = plan.ends_with(0).stdout;
    assert!(
        plan.contains("moves") && !plan.contains("if it starts"),
        "{plan}"
    );
}

#[test]
fn ctrl_c_at_the_question_changes_nothing_and_ends_with_130() {
    let (world, text) = world_with_cursor();
    let question = "write these files? [y/N] ";
    let (code, shown) = on_terminal_of(&world, &["setup"], &[(question, "\u{3}")]);
    assert_eq!(code, 130, "{shown}");
    assert_eq!(cursor(&world), text);
    assert!(!world.home().join(".config/limbeck/imported.toml").exists());
    // The control: the same question, accepted.
    let (code, shown) = on_terminal_of(&world, &["setup"], &[(question, "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert!(cursor(&world).contains("\"limbeck\""), "{shown}");
}

#[test]
fn an_undo_that_would_lose_a_server_names_the_order() {
    let (world, text) = world_with_cursor();
    let setup = || {
        let done = world.limbeck(["setup", "--yes", "--no-probe", "--json"]);
        done.ends_with(0).json()["id"].as_str().unwrap().to_owned()
    };
    let one = setup();
    let kiro = world.home().join(".kiro/settings/mcp.json");
    std::fs::create_dir_all(kiro.parent().unwrap()).unwrap();
    std::fs::write(&kiro, &text).unwrap();
    let two = setup();
    let refused = world
        .limbeck(["setup", "--undo", one.as_str()])
        .ends_with(1);
    let order = format!("`limbeck setup --undo {two}`, `limbeck setup --undo {one}`");
    assert!(refused.stderr.contains(&order), "{refused:?}");
    // The control: in that order.
    world
        .limbeck(["setup", "--undo", two.as_str()])
        .ends_with(0);
    world
        .limbeck(["setup", "--undo", one.as_str()])
        .ends_with(0);
    assert_eq!(cursor(&world), text);
    assert_eq!(std::fs::read_to_string(kiro).unwrap(), text);
}
