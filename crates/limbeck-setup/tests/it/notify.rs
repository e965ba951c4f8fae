//! The section `[notify]`.

use limbeck_setup::{NotifySettings, Severity};

use crate::TestProject;

const NOTIFY: &str = "[notify]\ndesktop = true\nescalate = { after = '2h', to = ['group:leads'] }\nwebhook = { url = 'https://hooks.example/x', secret = 'env:HOOK' }\n";

#[test]
fn who_is_notified_is_read_from_the_users_file_and_not_from_a_repositorys() {
    let own = TestProject::new().file("home/.config/limbeck/config.toml", NOTIFY);
    let found = own.load(&[]).unwrap();
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let notify = found.settings.notify;
    let webhook = notify.webhook.unwrap();
    assert!(notify.desktop && webhook.secret == "env:HOOK");
    let escalate = notify.escalate.unwrap();
    assert_eq!((escalate.after_s, &*escalate.to[0]), (7_200, "group:leads"));
    assert!(!format!("{webhook:?}").contains("hooks.example"));
    let repository = TestProject::new().file("project/limbeck.toml", NOTIFY);
    let found = repository.load(&[]).unwrap();
    assert_eq!(found.settings.notify, NotifySettings::default());
    let warned = found.diagnostics.iter();
    let mut warned = warned.filter(|finding| finding.severity == Severity::Warning);
    assert!(warned.any(|finding| finding.to_string().contains("notify")));
}

#[test]
fn a_webhook_needs_a_secret_that_is_a_reference_and_an_encrypted_address() {
    for wrong in [
        "desktop = 'yes'",
        "webhook = { url = 'https://hooks.example/x' }",
        "webhook = { url = 'https://hooks.example/x', secret = 'plain' }",
        "webhook = { url = 'http://hooks.example/x', secret = 'env:HOOK' }",
        "webhook = { url = 'https://a:b@hooks.example/x', secret = 'env:HOOK' }",
        "webhook = { url = 'https://hooks.example/x', secret = 'env:HOOK', more = 1 }",
        "mail = 'anna@example.org'",
        "escalate = { after = '2h' }",
        "escalate = { after = '2h', to = [] }",
        "escalate = { after = 'soon', to = ['group:leads'] }",
        "escalate = { after = '2h', to = ['leads'] }",
    ] {
        let text = format!("[notify]\n{wrong}\n");
        let project = TestProject::new().file("home/.config/limbeck/config.toml", &text);
        let found = project.load(&[]).unwrap();
        assert_eq!(found.settings.notify, NotifySettings::default(), "{wrong}");
        assert!(!found.diagnostics.is_empty(), "{wrong}");
    }
}
