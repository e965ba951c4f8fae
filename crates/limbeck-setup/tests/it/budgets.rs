//! `[[budget]]`: what is read, what is refused, and what holds when it cannot be read.

use limbeck_policy::budget::{Bound, Dimension, OnExceed, Period, Rate, Unit};
use limbeck_policy::rules::{Layer, Preset};
use limbeck_setup::{Configuration, Severity};

use crate::TestProject;

const BUDGETS: &str = r#"
[[budget]]
id = "mail-a-day"
tools = ["mail.*"]
except = ["mail.draft"]
class = ["write", "unknown"]
who = ["user:local"]
each = ["principal", "tool"]
per = "day"
calls = 100
bytes_sent = 1_000_000
on_exceed = "ask"
reason = "people read mail"

[[budget]]
id = "github"
tools = ["github"]
each = ["server"]
rate = "60/min"
burst = 5
on_exceed = "queue"

[[budget]]
id = "work"
per = "month"
cpu = "2h"
tokens = 5_000_000
"#;

fn user_file(text: &str) -> TestProject {
    TestProject::new().file("home/.config/limbeck/config.toml", text)
}

fn ids(found: &Configuration) -> Vec<&str> {
    let budgets = found.settings.policy.budgets.iter();
    budgets.map(|budget| &*budget.id).collect()
}

#[test]
fn budgets_are_read_with_their_bounds_and_change_no_preset() {
    let found = user_file(BUDGETS).load(&[]).unwrap();
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    let policy = &found.settings.policy;
    // They are no wish to be asked.
    assert!(!policy.is_set && !policy.is_operators);
    let [mail, github, work] = policy.budgets.as_slice() else {
        panic!("{:?}", policy.budgets)
    };
    assert_eq!(mail.each, [Dimension::Principal, Dimension::Tool]);
    let limits = vec![(Unit::Calls, 100), (Unit::BytesSent, 1_000_000)];
    let per = Period::Day;
    assert_eq!(mail.bound, Bound::Total { per, limits });
    assert_eq!((mail.on_exceed, mail.layer), (OnExceed::Ask, Layer::User));
    assert!(mail.origin.ends_with("config.toml:2"), "{}", mail.origin);
    let rate = Rate {
        calls: 60,
        per_s: 60,
        burst: 5,
    };
    assert_eq!(github.bound, Bound::Rate(rate));
    let limits = vec![(Unit::Cpu, 7_200_000), (Unit::Tokens, 5_000_000)];
    let per = Period::Month;
    assert_eq!(work.bound, Bound::Total { per, limits });
    assert_eq!(policy.policy(Preset::Observe).budgets.all().len(), 3);
}

#[test]
fn a_slip_of_the_pen_stops_calls_and_names_its_line() {
    let wrong = [
        ("id = \"github\"", "id = \"mail-a-day\"", "config.toml:15"),
        ("calls = 100", "cals = 100", "config.toml:10"),
        ("calls = 100", "calls = -1", "config.toml:10"),
        ("per = \"day\"\n", "", "config.toml:2"),
        ("per = \"day\"", "per = \"week\"", "config.toml:9"),
        ("\"60/min\"", "\"60\"", "config.toml:19"),
        ("burst = 5", "burst = 0", "config.toml:20"),
        ("burst = 5", "per = \"day\"", "config.toml:19"),
        ("\"2h\"", "7200", "config.toml:26"),
        (
            "on_exceed = \"ask\"",
            "on_exceed = \"queue\"",
            "config.toml:2",
        ),
        ("[\"server\"]", "[\"host\"]", "config.toml:18"),
    ];
    for (right, slip, place) in wrong {
        let text = BUDGETS.replacen(right, slip, 1);
        assert_ne!(text, BUDGETS, "{right}");
        let found = user_file(&text).load(&[]).unwrap();
        let fault = found.settings.policy.fault.clone().unwrap_or_default();
        assert!(fault.starts_with(place), "{slip}: {fault}");
        assert_eq!(
            found.diagnostics.len(),
            1,
            "{slip}: {:?}",
            found.diagnostics
        );
        // Whole or not at all.
        assert_eq!(ids(&found), Vec::<&str>::new(), "{slip}");
    }
    // The control.
    let right = user_file(BUDGETS).load(&[]).unwrap();
    assert_eq!(right.settings.policy.fault, None);
}

#[test]
fn a_repository_adds_budgets_of_its_own_and_its_mistakes_stop_nothing() {
    let repository = |text: &str| {
        TestProject::new()
            .file("home/.config/limbeck/config.toml", BUDGETS)
            .file("project/limbeck.toml", text)
            .load(&[])
            .unwrap()
    };
    let tighter = "[[budget]]\nid = 'few'\ntools = ['mail.*']\nper = 'run'\ncalls = 1";
    let found = repository(tighter);
    assert_eq!(ids(&found), ["mail-a-day", "github", "work", "few"]);
    let few = &found.settings.policy.budgets[3];
    assert_eq!(few.layer, Layer::Project);
    // Its counters are not those of another repository.
    assert!(few.counter.starts_with("few /"), "{}", few.counter);
    for wrong in [
        // It cannot take the name, and so the counters, of a budget of the user.
        "[[budget]]\nid = 'github'\nrate = '1000/s'",
        "[[budget]]\nid = 'x'\nper = 'day'",
    ] {
        let found = repository(wrong);
        assert_eq!(ids(&found), ["mail-a-day", "github", "work"], "{wrong}");
        assert_eq!(found.settings.policy.fault, None, "{wrong}");
        assert_eq!(found.diagnostics.len(), 1, "{wrong}");
        assert_eq!(found.diagnostics[0].severity, Severity::Error, "{wrong}");
    }
}
