//! Findings of `doctor`: for each code a machine that has it, and that its remedy clears it.

use limbeck_setup::{ClientFinding, FindingFix, SetupSteps, SyncRequest};

use super::{Machine, TWO};

impl Machine {
    fn findings(&self) -> Vec<ClientFinding> {
        self.setups().findings()
    }

    /// The only finding, which has this code.
    #[track_caller]
    fn finding(&self, code: &str) -> ClientFinding {
        let mut findings = self.findings();
        assert_eq!(findings.len(), 1, "{findings:?}");
        let finding = findings.remove(0);
        assert_eq!(finding.code, code, "{finding:?}");
        finding
    }

    #[track_caller]
    fn is_clear(&self) {
        assert_eq!(self.findings(), []);
    }
}

#[test]
fn a_machine_without_clients_and_one_after_a_setup_have_no_finding() {
    let machine = Machine::new();
    machine.is_clear();
    machine.write(".cursor/mcp.json", TWO);
    machine.is_clear();
    machine.setup();
    machine.is_clear();
}

#[test]
fn c01_names_the_place_in_a_malformed_file() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", "{\"mcpServers\": {\n  oops");
    let finding = machine.finding("C01");
    assert!(
        finding
            .finding
            .contains("~/.cursor/mcp.json of Cursor cannot be read: 2:"),
        "{finding:?}"
    );
    assert_eq!((finding.client, finding.fix), (Some("cursor"), None));
    machine.write(".cursor/mcp.json", "{\"mcpServers\": {}}");
    machine.is_clear();
}

#[test]
fn c02_is_a_lost_entry_and_sync_writes_it_again() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    machine.write(".cursor/mcp.json", "{}");
    let finding = machine.finding("C02");
    assert_eq!(finding.remedy, "limbeck sync --apply");
    assert_eq!(finding.fix, Some(FindingFix::Sync));
    machine.setups().repair(&SyncRequest::default()).unwrap();
    machine.is_clear();
    // A removal of the entry alone is the user's choice, and no finding.
    let text = machine.read(".cursor/mcp.json");
    assert_eq!(
        text,
        "{\"mcpServers\": {\"limbeck\": {\"command\": \"limbeck\", \"args\": [\"serve\"]}}}"
    );
}

#[test]
fn c02_after_a_second_loss_leads_to_setup() {
    let mut machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    machine.setup();
    for _ in 0..2 {
        machine.write(".cursor/mcp.json", "{}");
        machine.setups().repair(&SyncRequest::default()).unwrap();
    }
    let finding = machine.finding("C02");
    assert_eq!(
        finding.remedy,
        "limbeck setup --install-only --client cursor --yes"
    );
    assert_eq!(finding.fix, Some(FindingFix::Install));
    machine.request.clients = vec!["cursor".to_owned()];
    machine.request.steps = SetupSteps::InstallOnly;
    machine.setup();
    machine.is_clear();
}

#[test]
fn c03_is_a_path_that_is_gone_and_an_installation_replaces_it() {
    let mut machine = Machine::new();
    let entry = |command: &str| {
        format!(
            "{{\"mcpServers\": {{\"limbeck\": {{\"command\": \"{command}\", \"args\": [\"serve\"]}}}}}}"
        )
    };
    machine.write(".cursor/mcp.json", entry("/opt/limbeck-1.0/limbeck"));
    let finding = machine.finding("C03");
    assert_eq!(
        finding.remedy,
        "limbeck setup --install-only --client cursor --yes"
    );
    assert!(
        finding.finding.contains("/opt/limbeck-1.0/limbeck"),
        "{finding:?}"
    );
    machine.request.clients = vec!["cursor".to_owned()];
    machine.request.steps = SetupSteps::InstallOnly;
    machine.setup();
    assert_eq!(machine.read(".cursor/mcp.json"), entry("limbeck"));
    machine.is_clear();
    // A path of one version is there until the next upgrade.
    let cellar = "/opt/Cellar/limbeck/1.0/bin/limbeck";
    let on_disk = machine.world.on_disk(std::path::Path::new(cellar));
    std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
    std::fs::write(on_disk, "").unwrap();
    machine.write(".cursor/mcp.json", entry(cellar));
    let finding = machine.finding("C03");
    assert!(
        finding.finding.contains("the next upgrade removes"),
        "{finding:?}"
    );
    machine.setup();
    machine.is_clear();
}

#[test]
fn c04_is_a_server_beside_limbeck_and_a_setup_moves_it() {
    let machine = Machine::new();
    machine.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"limbeck\": {\"command\": \"limbeck\"}, \"git\": {\"command\": \"git\"}}}",
    );
    let finding = machine.finding("C04");
    assert_eq!(finding.remedy, "limbeck setup --client cursor");
    assert!(
        finding.finding.ends_with("in ~/.cursor/mcp.json: `git`"),
        "{finding:?}"
    );
    machine.setup();
    machine.is_clear();
}

#[test]
fn c05_is_the_entry_in_the_files_of_the_user_and_of_the_project() {
    let machine = Machine::new();
    let own = "{\"mcpServers\": {\"limbeck\": {\"command\": \"limbeck\"}}}";
    machine.write(".cursor/mcp.json", own);
    let project = machine
        .world
        .on_disk(std::path::Path::new("/work/.cursor/mcp.json"));
    std::fs::create_dir_all(project.parent().unwrap()).unwrap();
    std::fs::write(&project, own).unwrap();
    let finding = machine.finding("C05");
    assert_eq!(
        finding.remedy,
        "remove the entry `limbeck` from /work/.cursor/mcp.json"
    );
    std::fs::write(&project, "{\"mcpServers\": {}}").unwrap();
    machine.is_clear();
}

#[test]
fn s01_is_a_secret_in_a_file_that_git_tracks() {
    let machine = Machine::new();
    let work = machine.world.on_disk(std::path::Path::new("/work"));
    std::fs::create_dir_all(&work).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        let done = git.args(arguments).current_dir(&work).env("HOME", &work);
        assert!(done.output().unwrap().status.success(), "{arguments:?}");
    };
    let text =
        "{\"mcpServers\": {\n\"g\": {\"command\": \"g\", \"env\": {\n\"G_TOKEN\": \"canary\"}}}}";
    std::fs::write(work.join(".mcp.json"), text).unwrap();
    git(&["init", "-q"]);
    // The control: a file that is not tracked is the user's own.
    machine.is_clear();
    git(&["add", ".mcp.json"]);
    let finding = machine.finding("S01");
    assert!(
        finding.finding.contains("`G_TOKEN` in /work/.mcp.json:3"),
        "{finding:?}"
    );
    assert!(!format!("{finding:?}").contains("canary"));
    std::fs::write(work.join(".mcp.json"), text.replace("canary", "${G_TOKEN}")).unwrap();
    machine.is_clear();
}

#[cfg(unix)]
#[test]
fn s02_is_a_file_with_secrets_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt as _;

    let machine = Machine::new();
    machine.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"g\": {\"command\": \"g\", \"env\": {\"G_TOKEN\": \"canary\"}}}}",
    );
    machine.setup();
    machine.is_clear();
    let mode = |path: &std::path::Path, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    };
    let secret = machine.home(".config/limbeck/secrets/g.G_TOKEN");
    mode(&secret, 0o644);
    let finding = machine.finding("S02");
    assert_eq!(
        finding.remedy,
        "chmod go-rwx ~/.config/limbeck/secrets/g.G_TOKEN"
    );
    mode(&secret, 0o600);
    machine.is_clear();
    // A client's file that others could have written is not used.
    mode(&machine.home(".cursor/mcp.json"), 0o666);
    let finding = machine.findings().remove(0);
    assert_eq!(finding.code, "S02");
    // With the rights alone, what another user wrote would count as the person's own: no command does that.
    assert_eq!(
        finding.remedy,
        "read ~/.cursor/mcp.json, take out what you do not know, then: chmod go-w ~/.cursor/mcp.json"
    );
    assert!(finding.fix.is_none(), "{finding:?}");
    assert!(
        finding.finding.contains("can be written by every user"),
        "{finding:?}"
    );
    mode(&machine.home(".cursor/mcp.json"), 0o644);
    machine.is_clear();
    // Nor is one that others could replace.
    mode(&machine.home(".cursor"), 0o777);
    let finding = machine.findings().remove(0);
    assert_eq!(finding.code, "S02");
    assert!(
        finding.remedy.ends_with("then: chmod go-w ~/.cursor"),
        "{finding:?}"
    );
    mode(&machine.home(".cursor"), 0o755);
    machine.is_clear();
}

#[cfg(unix)]
#[test]
fn u01_is_another_limbeck_on_the_search_path() {
    let mut machine = Machine::new();
    for (directory, text) in [("new", "new"), ("same", "new"), ("old", "old")] {
        machine.write(&format!("{directory}/limbeck"), text);
    }
    machine.world.executable = Some("/home/me/new/limbeck".into());
    let path = |list: &str| ("PATH".to_owned(), list.to_owned());
    machine
        .world
        .variables
        .extend([path("/home/me/old:/home/me/new")]);
    let finding = machine.finding("U01");
    assert!(
        finding
            .finding
            .contains("~/old/limbeck, and ~/new/limbeck runs"),
        "{finding:?}"
    );
    // The control: copies of the same program.
    machine
        .world
        .variables
        .extend([path("/home/me/same:/home/me/new")]);
    machine.is_clear();
}
