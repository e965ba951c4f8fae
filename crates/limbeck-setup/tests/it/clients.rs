//! Setup: servers move out of clients' files of every form and system, and come back.

mod files;
mod findings;
mod forms;
mod moves;
mod places;
mod sync;
mod undo;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use limbeck_setup::{
    ClientAction, FoundClients, OperatingSystem, ProbeOutcomes, ServerAction, SetupDone, SetupPlan,
    SetupRequest, SetupState, World,
};

/// A machine of its own below a temporary directory, whose system need not be the one that runs.
struct Machine {
    root: tempfile::TempDir,
    world: World,
    outcomes: ProbeOutcomes,
    request: SetupRequest,
}

impl Machine {
    fn of(system: OperatingSystem) -> Self {
        let root = tempfile::tempdir().unwrap();
        let home = match system {
            OperatingSystem::Windows => r"C:\Users\me",
            OperatingSystem::MacOs => "/Users/me",
            OperatingSystem::Linux => "/home/me",
        };
        let variables = [(system.home_variable().to_owned(), home.to_owned())];
        let cwd = match system {
            OperatingSystem::Windows => r"C:\work",
            OperatingSystem::Linux | OperatingSystem::MacOs => "/work",
        };
        let world = World {
            root: Some(root.path().to_owned()),
            ..World::new(system, cwd, variables.into())
        };
        let machine = Self {
            root,
            world,
            outcomes: BTreeMap::new(),
            request: SetupRequest::default(),
        };
        std::fs::create_dir_all(machine.home("")).unwrap();
        machine
    }

    fn new() -> Self {
        Self::of(OperatingSystem::Linux)
    }

    /// A path below the home directory, on disk.
    fn home(&self, path: &str) -> PathBuf {
        let home = self.world.home.clone().unwrap();
        self.world.on_disk(&home).join(path)
    }

    fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.home(path)).unwrap()
    }

    fn imported(&self) -> String {
        let path = self.home(".config/limbeck/imported.toml");
        std::fs::read_to_string(path).unwrap_or_default()
    }

    fn plan(&self) -> SetupPlan {
        let found = FoundClients::read(&self.world, self.request.clone()).unwrap();
        let mut plan = found.plan(&self.outcomes).unwrap();
        plan.explain(&self.outcomes);
        plan
    }

    fn setups(&self) -> SetupState<'_> {
        SetupState::of(&self.world, self.state())
    }

    fn setup(&self) -> SetupDone {
        self.setups().recover().unwrap();
        self.setups().apply(self.plan()).unwrap()
    }

    /// `action name` of every server, and `action id` of every file.
    fn actions(&self) -> (Vec<String>, Vec<String>) {
        let plan = self.plan();
        let servers = plan.servers.iter();
        let servers = servers.map(|server| format!("{} {}", server.action.word(), server.name));
        let clients = plan.clients.iter();
        let clients = clients.map(|client| format!("{} {}", client.action.word(), client.id));
        (servers.collect(), clients.collect())
    }

    /// Every file below the machine, but for the records of setup.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let state = self.state();
        collect(self.root.path(), &state, &mut files);
        files
    }
}

fn collect(directory: &Path, left_out: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path != left_out {
            collect(&path, left_out, files);
        } else if path.is_file() && !path.ends_with(".gitignore") {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

const TWO: &str = r#"{
  // mine
  "theme": "dark", // stays
  "mcpServers": {
    // the first
    "git": {"command": "uvx", "args": ["mcp-server-git"]},
    "files": {
      "command": "npx", // runs
      "args": ["-y", "files"],
    }, // behind
  },
  "n": 12345678901234567890.0
}
"#;

#[test]
fn setup_moves_servers_once_and_a_second_setup_writes_nothing() {
    let machine = Machine::new();
    let file = machine.write(".cursor/mcp.json", TWO);
    let done = machine.setup();
    assert!(done.failed.is_empty(), "{done:?}");
    insta::assert_snapshot!(machine.read(".cursor/mcp.json"), @r#"
    {
      // mine
      "theme": "dark", // stays
      "mcpServers": {
        // the first
        "limbeck": {"command": "limbeck", "args": ["serve"]},
        // behind
      },
      "n": 12345678901234567890.0
    }
    "#);
    insta::assert_snapshot!(machine.imported(), @r#"
    [servers.git]
    # from Cursor (/home/me/.cursor/mcp.json)
    command = "uvx"
    args = ["mcp-server-git"]

    [servers.files]
    # from Cursor (/home/me/.cursor/mcp.json)
    command = "npx"
    args = ["-y", "files"]
    "#);
    let (before, time) = (
        machine.files(),
        file.metadata().unwrap().modified().unwrap(),
    );
    let again = machine.setup();
    assert_eq!((again.id, again.written.len()), (None, 0));
    assert_eq!(machine.files(), before);
    assert_eq!(file.metadata().unwrap().modified().unwrap(), time);
    let (servers, clients) = machine.actions();
    assert_eq!(servers, ["ignore limbeck"]);
    assert_eq!(clients, ["unchanged cursor"]);
    // What was moved is what Limbeck reads from now on.
    let found = limbeck_setup::load(&limbeck_setup::Discovery {
        world: &machine.world,
        config_files: &[],
        discover: true,
        managed: None,
        trust_policy: limbeck_setup::TrustPolicy::Everything,
    });
    let names: Vec<String> = found
        .unwrap()
        .servers
        .iter()
        .map(|s| s.name.to_string())
        .collect();
    assert_eq!(names, ["git", "files"]);
}

#[test]
fn a_plan_starts_and_writes_nothing() {
    let machine = Machine::new();
    machine.write(".cursor/mcp.json", TWO);
    let before = machine.files();
    let plan = machine.plan();
    assert_eq!(machine.files(), before);
    assert!(!machine.state().exists());
    let actions: Vec<ServerAction> = plan.servers.iter().map(|server| server.action).collect();
    assert_eq!(actions, [ServerAction::Move, ServerAction::Move]);
    assert_eq!(plan.clients[0].action, ClientAction::Write);
    assert_eq!(plan.paths().count(), 2);
}
