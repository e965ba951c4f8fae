//! `limbeck serve` takes up its configuration when a file of it changes.

use std::io::{BufRead, BufReader};
use std::process::{ChildStderr, Command, Stdio};

use serde_json::{Value, json};

use crate::serve::Client;
use crate::world::{CommandOutcome, LIMBECK, World, processes_in};

const RULES: &str = r#"
[policy]
preset = "observe"

[[policy.rule]]
id = "no-details"
effect = "deny"
tools = ["shop.get_customer"]
args = { id = "cus_0001" }
"#;

/// A client, and the lines that its gateway writes to standard error.
struct Served {
    client: Client,
    stderr: BufReader<ChildStderr>,
    requests: u32,
}

impl Served {
    fn start(mut command: Command) -> Self {
        let mut client = Client::silent(command.stderr(Stdio::piped()));
        let stderr = BufReader::new(client.child.stderr.take().unwrap());
        client.shake_hands();
        Self {
            client,
            stderr,
            requests: 1,
        }
    }

    /// Waits until the gateway says that it took up `news`.
    fn takes_up(&mut self, news: &str) {
        let mut all = String::new();
        loop {
            let before = all.len();
            self.stderr.read_line(&mut all).unwrap();
            assert!(before < all.len(), "it ended: {all}");
            if all[before..].contains("the configuration was read again") {
                assert!(all[before..].contains(news), "{all}");
                return;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        self.client.ask(self.requests, method, params)
    }

    /// Envelope of a program.
    fn execute(&mut self, code: &str) -> Value {
        self.requests += 1;
        self.client.execute(self.requests, code)
    }

    /// Envelope of a program that reads one customer of the shop.
    fn customer(&mut self, number: u32) -> Value {
        self.execute(&format!(
            "return (await tools.shop.get_customer({{ id: 'cus_000{number}' }})).id"
        ))
    }
}

/// Writes the user's own file in one step, as editors do.
fn own_file(world: &World, text: &str) {
    let directory = world.home().join(".config/limbeck");
    std::fs::create_dir_all(&directory).unwrap();
    let fresh = directory.join("fresh");
    std::fs::write(&fresh, text).unwrap();
    std::fs::rename(fresh, directory.join("config.toml")).unwrap();
}

#[test]
fn rules_hold_once_the_gateway_says_that_it_read_them() {
    let world = World::with_shop();
    let mut served = Served::start(world.command(["serve"]));
    assert_eq!(served.customer(1)["value"], "cus_0001");

    own_file(&world, RULES);
    served.takes_up("the policy changed");
    let denied = served.customer(1);
    assert_eq!(denied["error"]["code"], "denied", "{denied}");
    assert_eq!(served.customer(2)["value"], "cus_0002");

    own_file(&world, "[policy]\npresett = \"readonly\"\n");
    served.takes_up("the policy changed");
    let stopped = served.customer(2)["error"]["message"].to_string();
    assert!(stopped.contains("config.toml:2"), "{stopped}");
    assert!(!stopped.contains(".config/limbeck"), "{stopped}");
    // Not even TOML. The shop is of another file.
    own_file(&world, "[policy\n");
    served.takes_up("the policy changed");
    let stopped = served.customer(2)["error"]["message"].to_string();
    assert!(stopped.contains("config.toml:"), "{stopped}");

    std::fs::remove_file(world.home().join(".config/limbeck/config.toml")).unwrap();
    served.takes_up("the policy changed");
    assert_eq!(served.customer(1)["value"], "cus_0001");
}

#[test]
fn a_mistake_loosens_no_rule_and_ends_no_server_of_the_user() {
    let world = World::empty();
    let entry = format!("[servers.shop]\ncommand = '{LIMBECK}'\nargs = ['demo-upstream']\n");
    let reads = "[policy.classes]\n'shop.get_*' = 'read'\n";
    own_file(&world, &format!("{entry}{reads}{RULES}"));
    let mut served = Served::start(world.command(["serve"]));
    assert_eq!(served.customer(1)["error"]["code"], "denied");
    assert_eq!(served.customer(2)["value"], "cus_0002");

    // The rule is lost with the section, and the class is not.
    own_file(&world, &format!("{entry}{reads}{RULES}\nefect = 'deny'\n"));
    served.takes_up("the policy changed");
    assert_eq!(served.customer(1)["error"]["code"], "denied");
    assert_eq!(served.customer(2)["value"], "cus_0002");
    let list = served.execute("return await tools.shop.list_customers({})");
    assert_eq!(list["error"]["code"], "denied", "{list}");

    // Everything is lost with the file, the word `policy` too, and the server is known all the same.
    own_file(&world, "[[pol");
    served.takes_up("the policy changed");
    let stopped = served.customer(2);
    assert_eq!(stopped["error"]["code"], "denied", "{stopped}");

    // The control: the file as it should be, with another rule.
    own_file(&world, &format!("{entry}{}", RULES.replace("0001", "0002")));
    served.takes_up("the policy changed");
    assert_eq!(served.customer(1)["value"], "cus_0001");
    assert_eq!(served.customer(2)["error"]["code"], "denied");
}

/// The processes of the server in the working directory.
fn servers(world: &World) -> Vec<u32> {
    let mut found = processes_in(&world.work());
    found.retain(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("demo-upstream")
    });
    found
}

#[test]
fn a_server_that_is_trusted_is_used_and_one_whose_trust_is_taken_back_ends() {
    let world = World::with_shop();
    let limbeck = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env_remove("LIMBECK_TRUST_PROJECT");
        command
    };
    let run = |arguments: &[&str]| CommandOutcome::of(limbeck(arguments).output().unwrap());
    let mut served = Served::start(limbeck(&["serve"]));
    let waiting = served.customer(1).to_string();
    assert!(waiting.contains("not trusted"), "{waiting}");
    assert!(servers(&world).is_empty());

    let listed = run(&["trust", "--json"]).ends_with(0).json();
    let hash = listed["servers"][0]["sha256"].as_str().unwrap().to_owned();
    let trusted = run(&["trust", "shop", "--hash", &hash]).ends_with(0);
    assert!(
        trusted
            .stderr
            .contains("a gateway that runs takes it up within seconds"),
        "{trusted:?}"
    );
    served.takes_up("1 server changed");
    assert_eq!(served.customer(1)["value"], "cus_0001");
    assert_eq!(servers(&world).len(), 1);

    run(&["trust", "--revoke", "shop"]).ends_with(0);
    served.takes_up("1 server changed");
    assert!(servers(&world).is_empty());
    let revoked = served.customer(1).to_string();
    assert!(revoked.contains("not trusted"), "{revoked}");
}

#[test]
fn the_tools_of_a_server_that_is_added_are_listed_while_it_is_there() {
    let world = World::with_shop();
    let entry_of = |name: &str| {
        format!(
            "[servers.{name}]\ncommand = '{LIMBECK}'\nargs = ['demo-upstream']\nexpose = 'direct'\n"
        )
    };
    let mut served = Served::start(world.command(["serve"]));
    assert_eq!(served.customer(1)["value"], "cus_0001");
    let names = |list: &Value| -> Vec<String> {
        let tools = list["result"]["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let is_of_own = |name: &String| name.ends_with("get_customer");
    let listed = names(&served.ask("tools/list", &json!({})));
    assert!(!listed.iter().any(is_of_own), "{listed:?}");
    let before = servers(&world);

    own_file(&world, &entry_of("own"));
    served.takes_up("1 server added");
    let listed = served.ask("tools/list", &json!({}));
    let listed = names(&listed);
    assert!(listed.iter().any(is_of_own), "{listed:?}");

    own_file(&world, "");
    served.takes_up("1 server removed");
    let listed = names(&served.ask("tools/list", &json!({})));
    assert!(!listed.iter().any(is_of_own), "{listed:?}");
    // The servers whose entries are as they were are the same processes.
    assert_eq!(served.customer(1)["value"], "cus_0001");
    assert_eq!(servers(&world), before);
}
