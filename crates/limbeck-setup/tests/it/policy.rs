//! `[policy]`: what is read, what is refused, and what holds when it cannot be read.

use limbeck_domain::{CompactArguments, EffectClass, ToolId};
use limbeck_policy::rules::{
    AskOptions, Channel, Channels, Effect, Layer, OnExpiry, Preset, Remember,
};
use limbeck_policy::{Denied, Facts, KeyPlace, Scope, ToolCall, decide};
use limbeck_setup::{ConfigError, Configuration, Severity};

use crate::TestProject;

const RULES: &str = r#"
[policy]
preset = "readonly"
trust_annotations = ["github"]

[policy.classes]
"files.read_*" = "read"

[[policy.rule]]
id = "mail-outside"
effect = "ask"
tools = ["mail.send_*", "mcp__crm__export"]
except = ["mail.send_draft"]
class = ["write", "destructive", "unknown"]
args = { "to[*]" = { not_glob = "*@example.com" }, amount = { gt = 100 } }
who = ["group:sales", "user:anna"]
reason = "mail leaves the company"

[[policy.rule]]
id = "drafts"
effect = "allow"
tools = ["mail.send_draft"]
"#;

fn user_file(text: &str) -> TestProject {
    TestProject::new().file("home/.config/limbeck/config.toml", text)
}

/// The first denial of a call, or nothing when it is allowed.
fn denial(found: &Configuration, server: &str, tool: &str, arguments: &str) -> Option<String> {
    let policy = found.settings.policy.policy(Preset::Observe);
    let call = ToolCall {
        tool: ToolId::new(server, tool),
        arguments: CompactArguments::parse(arguments).unwrap().0,
        effect: EffectClass::Unknown,
    };
    let facts = Facts {
        scope: &Scope::everything(),
        policy: &policy,
        who: &["user:anna"],
        now_us: 0,
    };
    decide(call, &facts).err().map(|denied| match denied {
        Denied::ByPolicy(denial) => denial.to_string(),
        Denied::OutOfScope { .. } => unreachable!("the scope is everything"),
    })
}

#[test]
fn rules_classes_and_the_preset_are_read_and_decide() {
    let found = user_file(RULES).load(&[]).unwrap();
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let policy = &found.settings.policy;
    assert!(policy.is_set && policy.fault.is_none());
    assert_eq!(policy.rules.len(), 2);
    assert_eq!(
        (policy.rules[0].effect, policy.rules[0].layer),
        (Effect::Ask, Layer::User)
    );
    assert!(
        policy.rules[0].origin.ends_with("config.toml:9"),
        "{}",
        policy.rules[0].origin
    );
    let outside = r#"{"to":["a@x.org"],"amount":500}"#;
    assert_eq!(
        denial(&found, "mail", "send_all", outside).as_deref(),
        Some(
            "`mail.send_all` has to be approved first, by rule `mail-outside`: mail leaves the company"
        )
    );
    assert_eq!(denial(&found, "mail", "send_draft", outside), None);
    assert_eq!(denial(&found, "files", "read_text", "{}"), None);
    assert_eq!(
        denial(&found, "files", "write", "{}").as_deref(),
        Some("the policy `readonly` denies calls of `files.write`, whose class is `unknown`")
    );
}

#[test]
fn a_slip_of_the_pen_stops_every_call_but_known_reads_and_names_its_line() {
    let wrong = [
        ("id = \"drafts\"", "id = \"mail-outside\"", "config.toml:19"),
        ("effect = \"allow\"", "effect = \"alow\"", "config.toml:21"),
        ("reason =", "because =", "config.toml:17"),
        ("not_glob", "not_glub", "config.toml:15"),
        ("amount =", "\"a[\" =", "config.toml:15"),
        ("\"user:anna\"", "\"anna\"", "config.toml:16"),
        (
            "preset = \"readonly\"",
            "preset = \"readonli\"",
            "config.toml:3",
        ),
        (
            "\"files.read_*\" = \"read\"",
            "\"files.read_*\" = \"reads\"",
            "config.toml:7",
        ),
        (
            "tools = [\"mail.send_draft\"]",
            "tools = []",
            "config.toml:22",
        ),
        ("effect = \"ask\"\n", "", "config.toml:9"),
        // Not TOML at all.
        ("[policy.classes]", "[policy.classes", "config.toml"),
    ];
    for (right, slip, place) in wrong {
        let text = RULES.replacen(right, slip, 1);
        assert_ne!(text, RULES, "{right}");
        let found = user_file(&text).load(&[]).unwrap();
        let fault = found.settings.policy.fault.clone().unwrap_or_default();
        assert!(fault.contains(place), "{slip}: {fault}");
        // Programs read it, and no path of the machine reaches them.
        assert!(fault.starts_with("config.toml:"), "{slip}: {fault}");
        let message = denial(&found, "files", "write", "{}").unwrap_or_default();
        assert!(message.contains(&fault), "{slip}: {message}");
        assert_eq!(
            found.diagnostics.len(),
            1,
            "{slip}: {:?}",
            found.diagnostics
        );
        // What the section says about reads holds where the mistake is elsewhere.
        let reads = denial(&found, "files", "read_text", "{}");
        let is_about_classes = slip.contains("reads") || slip.contains("[policy.classes");
        assert_eq!(reads.is_some(), is_about_classes, "{slip}: {reads:?}");
        // A file that was named ends the command.
        let named = TestProject::new().file("project/rules.toml", &text);
        assert!(
            matches!(
                named.load(&["rules.toml"]),
                Err(ConfigError::Invalid { .. })
            ),
            "{slip}"
        );
    }
    let control = user_file(RULES).load(&[]).unwrap();
    assert_eq!(control.settings.policy.fault, None);
    // A file of which nothing is known may have rules too.
    let other_encoding = TestProject::new();
    let own = other_encoding.path("home/.config/limbeck");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), b"[policy]\n# \xff\n").unwrap();
    let found = other_encoding.load(&[]).unwrap();
    assert!(denial(&found, "files", "read_text", "{}").is_some());
    // A broken file without rules is no fault of the policy.
    let other = user_file("[limits\n").load(&[]).unwrap();
    assert_eq!(other.settings.policy.fault, None);
}

#[test]
fn a_repository_asks_and_denies_and_never_allows() {
    let repository = |text: &str| {
        TestProject::new()
            .file("home/.config/limbeck/config.toml", RULES)
            .file("project/limbeck.toml", text)
            .load(&[])
            .unwrap()
    };
    let denying = repository(
        "[[policy.rule]]\nid = 'no-drafts'\neffect = 'deny'\ntools = ['mail.send_draft']",
    );
    let message = denial(&denying, "mail", "send_draft", "{}").unwrap();
    assert_eq!(message, "`mail.send_draft` is denied by rule `no-drafts`");
    for loosening in [
        "[[policy.rule]]\nid = 'all'\neffect = 'allow'\ntools = ['*']",
        "[policy.classes]\n'*' = 'read'",
        "[policy]\ntrust_annotations = ['files']",
        "[policy]\nunknown = 1",
    ] {
        let found = repository(loosening);
        assert_eq!(found.settings.policy.fault, None, "{loosening}");
        assert_eq!(found.diagnostics.len(), 1, "{loosening}");
        assert_eq!(
            found.diagnostics[0].severity,
            Severity::Error,
            "{loosening}"
        );
        assert!(
            denial(&found, "files", "write", "{}").is_some(),
            "{loosening}"
        );
        assert_eq!(
            denial(&found, "files", "read_text", "{}"),
            None,
            "{loosening}"
        );
    }
    // A looser preset changes nothing, and neither does a stricter one that is not stricter than the user's.
    let observing = repository("[policy]\npreset = 'observe'");
    assert!(denial(&observing, "files", "write", "{}").is_some());
}

/// A rule that asks, with `ask` on line 6.
fn asking(ask: &str) -> String {
    format!(
        "[policy]\n[[policy.rule]]\nid = 'a'\neffect = 'ask'\ntools = ['mail.*']\nask = {{ {ask} }}\n"
    )
}

#[test]
fn how_a_person_is_asked_is_read() {
    let all = "approvers = ['group:leads', 'user:anna'], quorum = 2, not_requester = true, channels = ['browser', 'cli'], \
               expires = '90s', on_expiry = 'deny', remember = 'run', edit = ['subject']";
    let read = |ask: &str| {
        let found = user_file(&asking(ask)).load(&[]).unwrap();
        assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
        found.settings.policy.rules[0].ask.clone().unwrap()
    };
    let options = read(all);
    assert!(options.approvers.admits(&["group:leads"]));
    assert!(!options.approvers.admits(&["user:bob"]));
    assert_eq!(options.quorum, 2);
    assert!(options.not_requester);
    let named = Channels::of([Channel::Cli, Channel::Browser]);
    assert_eq!(options.channels, Some(named));
    assert_eq!(options.expires_s, 90);
    assert_eq!(options.on_expiry, OnExpiry::Deny);
    assert_eq!(options.remember, Remember::Run);
    assert_eq!(options.edit, ["subject"]);
    for (name, remember) in [
        ("never", Remember::None),
        ("session", Remember::Session),
        ("8h", Remember::For(28_800)),
        ("30d", Remember::For(2_592_000)),
        ("always", Remember::Always),
    ] {
        assert_eq!(read(&format!("remember = '{name}'")).remember, remember);
    }
    assert_eq!(read(""), AskOptions::default());
    for (time, seconds) in [("1s", 1), ("15m", 900), ("24h", 86_400), ("30d", 2_592_000)] {
        assert_eq!(read(&format!("expires = '{time}'")).expires_s, seconds);
    }
}

#[test]
fn a_mistake_in_how_a_person_is_asked_names_its_line() {
    for wrong in [
        "approver = ['group:leads']",
        "approvers = ['leads']",
        "approvers = []",
        "quorum = 0",
        "quorum = 11",
        "quorum = '1'",
        "not_requester = 1",
        "channels = ['mail']",
        "channels = []",
        "expires = '0s'",
        "expires = '31d'",
        "expires = '24'",
        "expires = '+1h'",
        "expires = '99999999999d'",
        "expires = 24",
        "on_expiry = 'allow'",
        "remember = 'forever'",
        "remember = '7h'",
        "remember = '31d'",
        "remember = true",
        "edit = 'subject'",
        "edit = ['']",
    ] {
        let found = user_file(&asking(wrong)).load(&[]).unwrap();
        let fault = found.settings.policy.fault.unwrap_or_default();
        // The bounds of names are those of the rule.
        let line = if wrong == "edit = ['']" { 2 } else { 6 };
        assert!(
            fault.starts_with(&format!("config.toml:{line}")),
            "{wrong}: {fault}"
        );
    }
    // Only a rule that asks says how.
    let denying = asking("quorum = 1").replacen("'ask'", "'deny'", 1);
    let found = user_file(&denying).load(&[]).unwrap();
    let fault = found.settings.policy.fault.unwrap_or_default();
    assert!(fault.contains("its effect is `deny`"), "{fault}");
}

/// A word about calls in doubt, with `word` on line 2.
fn in_doubt(word: &str) -> String {
    format!("[policy.in_doubt]\n{word}\n")
}

#[test]
fn what_the_operator_says_about_calls_in_doubt_is_read() {
    let text = in_doubt(
        "'files.put' = { idempotent = true }\n'mail.send' = { idempotency = { argument = 'request_id' } }\n\
         'bank.pay' = { idempotency = { header = 'Idempotency-Key' }, verify = { tool = 'bank.find', \
         args = { reference = '$key' }, found = { 'items[*].reference' = { eq = '$key' } } } }",
    );
    let found = user_file(&text).load(&[]).unwrap();
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let policy = found.settings.policy.policy(Preset::Observe);
    let of = |server: &str, tool: &str| policy.in_doubt.of(&ToolId::new(server, tool));
    let put = of("files", "put").unwrap();
    assert!(put.is_idempotent && put.key.is_none() && put.verify.is_none());
    assert!(put.origin.ends_with("config.toml:2"), "{}", put.origin);
    let send = of("mail", "send").unwrap();
    assert!(!send.is_idempotent);
    assert_eq!(send.key, Some(KeyPlace::Argument("request_id".to_owned())));
    let pay = of("bank", "pay").unwrap();
    let verify = pay.verify.as_ref().unwrap();
    assert_eq!(verify.tool, ToolId::new("bank", "find"));
    assert_eq!(of("bank", "find"), None);
}

#[test]
fn a_mistake_in_a_word_about_calls_in_doubt_names_its_line() {
    for wrong in [
        "'mail.*' = { idempotent = true }",
        "'mail' = { idempotent = true }",
        "'mail.send' = { idempotent = 'yes' }",
        "'mail.send' = { idempotant = true }",
        "'mail.send' = { idempotency = {} }",
        "'mail.send' = { idempotency = { argument = 'a', meta = 'b' } }",
        "'mail.send' = { idempotency = { body = 'a' } }",
        "'mail.send' = { idempotency = { argument = '' } }",
        "'mail.send' = { idempotency = { header = 'Authorization' } }",
        "'mail.send' = { verify = { found = { id = { present = true } } } }",
        "'mail.send' = { verify = { tool = 'mail.find' } }",
        "'mail.send' = { verify = { tool = 'mail.*', found = { id = { present = true } } } }",
        "'mail.send' = { verify = { tool = 'mail.find', found = { id = { equals = 1 } } } }",
        "'mail.send' = { verify = { tool = 'mail.find', found = { 'a..b' = 'x' } } }",
        "'mail.send' = { verify = { tool = 'mail.find', args = { id = '$kye' }, found = { id = 'x' } } }",
    ] {
        let found = user_file(&in_doubt(wrong)).load(&[]).unwrap();
        let fault = found.settings.policy.fault.unwrap_or_default();
        assert!(fault.starts_with("config.toml:2"), "{wrong}: {fault}");
    }
    // The control.
    let found = user_file(&in_doubt("'mail.send' = { idempotent = true }"));
    assert_eq!(found.load(&[]).unwrap().settings.policy.fault, None);
    // A repository says nothing of the kind, and its word does not count.
    let project = user_file("").file(
        "project/limbeck.toml",
        &in_doubt("'mail.send' = { idempotent = true }"),
    );
    let found = project.load(&[]).unwrap();
    assert_eq!(found.diagnostics.len(), 1, "{:?}", found.diagnostics);
    assert!(found.settings.policy.in_doubt.is_empty());
}
