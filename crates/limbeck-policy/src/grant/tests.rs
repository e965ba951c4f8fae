use std::collections::HashSet;

use limbeck_domain::CompactArguments;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, json};

use super::*;
use crate::rules::{ArgumentPath, Condition, Effect, Layer, Rule, RuleSet};
use crate::{ClassSource, Classes, Policy, Scope, decide_or_ask};

fn call(tool: &str, arguments: &Value) -> ToolCall {
    ToolCall {
        tool: ToolId::new("mail", tool),
        arguments: CompactArguments::parse(&arguments.to_string()).unwrap().0,
        effect: EffectClass::Write,
    }
}

fn line(tool: &str, constants: &Value, open: &[&str], count: PlanCount) -> PlanLine {
    let constants = constants.as_object().unwrap().iter();
    PlanLine {
        tool: ToolId::new("mail", tool),
        pin: Some("p1".to_owned()),
        constants: constants
            .map(|(name, value)| PlanConstant {
                name: name.clone(),
                json: value.to_string(),
            })
            .collect(),
        open: open.iter().map(|name| (*name).to_owned()).collect(),
        complete: true,
        count,
        class: EffectClass::Write,
        line: 1,
        ticked_singly: false,
    }
}

fn rule(effect: Effect, argument: Option<&str>) -> Rule {
    let condition = Condition::from_value(&json!({ "gt": 100 })).unwrap();
    let argument = argument.map(|path| (ArgumentPath::parse(path).unwrap(), condition));
    Rule {
        id: "rule".to_owned(),
        effect,
        tools: Scope::parse(["mail.*"]).unwrap(),
        except: None,
        classes: None,
        arguments: argument.into_iter().collect(),
        who: None,
        reason: None,
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: String::new(),
    }
}

fn policy(rules: Vec<Rule>, preset: Preset, class: EffectClass) -> Policy {
    let every = Scope::parse(["mail.*"]).unwrap();
    Policy {
        rules: RuleSet::new(rules, &[], preset).unwrap(),
        classes: Classes::new(vec![(every, class)], HashSet::new()).unwrap(),
        ..Policy::default()
    }
}

/// The line on which the call is sent, when it is.
fn sent_by(policy: &Policy, grant: &Grant, call: ToolCall, pin: Option<&str>) -> Option<usize> {
    let facts = Facts {
        scope: &Scope::everything(),
        policy,
        who: &["user:anna"],
        now_us: 0,
    };
    let Ok(Decided::Ask(question)) = decide_or_ask(call, &facts) else {
        return None;
    };
    match question.covered(&facts, grant, pin, None) {
        Decided::Permit(permit) => Some(permit.plan_line().expect("no rule allows it")),
        Decided::Ask(_) => None,
    }
}

#[test]
fn forty_equal_writes_are_one_question_and_the_next_is_asked() {
    let balanced = policy(Vec::new(), Preset::Balanced, EffectClass::Write);
    let forty = line(
        "send",
        &json!({ "to": "#eng" }),
        &["text"],
        PlanCount::AtMost(40),
    );
    let grant = Grant::new(vec![forty]).unwrap();
    let sent = |number: u32| {
        let arguments = json!({ "to": "#eng", "text": format!("release {number}") });
        sent_by(&balanced, &grant, call("send", &arguments), Some("p1"))
    };
    assert!((0..40).all(|number| sent(number) == Some(0)));
    assert_eq!(sent(40), None);
    assert_eq!(grant.used(), [40]);
    // After a restart the calls that were made count.
    let resumed = Grant::resumed(grant.lines().to_vec(), &[39]).unwrap();
    let last = call("send", &json!({ "to": "#eng" }));
    assert_eq!(
        sent_by(&balanced, &resumed, last.clone(), Some("p1")),
        Some(0)
    );
    assert_eq!(sent_by(&balanced, &resumed, last, Some("p1")), None);
}

#[test]
fn what_no_line_shows_is_asked() {
    let balanced = policy(Vec::new(), Preset::Balanced, EffectClass::Write);
    let lines = vec![line(
        "send",
        &json!({ "to": "#eng", "amount": 9_007_199_254_740_993_u64 }),
        &["text"],
        PlanCount::Many(MANY_DEFAULT),
    )];
    let grant = Grant::new(lines).unwrap();
    let shown = json!({ "amount": 9_007_199_254_740_993_u64, "to": "#eng", "text": 1 });
    let changed = |name: &str, value: Value| {
        let mut arguments = shown.clone();
        arguments[name] = value;
        arguments
    };
    let is_sent = |call, pin| sent_by(&balanced, &grant, call, pin).is_some();
    assert!(is_sent(call("send", &shown), Some("p1")));
    assert!(!is_sent(call("send", &shown), Some("p2")));
    assert!(!is_sent(call("send", &shown), None));
    assert!(!is_sent(call("send_all", &shown), Some("p1")));
    for arguments in [
        changed("to", json!("#all")),
        changed("to", json!(null)),
        changed("amount", json!(9_007_199_254_740_992_u64)),
        changed("bcc", json!("x")),
        json!({ "to": "#eng", "text": 1 }),
        json!({}),
    ] {
        assert!(
            !is_sent(call("send", &arguments), Some("p1")),
            "{arguments}"
        );
    }
}

#[test]
fn numbers_that_are_read_as_one_are_not_the_same() {
    for (value, constant) in [
        ("9007199254740993", "9007199254740993"),
        (r#"{"a":"\u00e9"}"#, "{\"a\":\"é\"}"),
        ("0.10", "0.10"),
    ] {
        assert!(is_same_json(value, constant), "{value}");
    }
    for (value, constant) in [
        ("0.1", "0.10000000000000000001"),
        ("1", "1.0"),
        ("18446744073709551617", "18446744073709551616"),
        ("[1,2]", "[2,1]"),
        ("null", "\"null\""),
    ] {
        assert!(!is_same_json(value, constant), "{value}");
    }
}

#[test]
fn a_destructive_line_covers_only_when_it_was_accepted_on_its_own() {
    let destructive = policy(Vec::new(), Preset::Balanced, EffectClass::Destructive);
    let deleting = |ticked_singly| PlanLine {
        class: EffectClass::Destructive,
        ticked_singly,
        ..line("delete", &json!({ "id": 7 }), &[], PlanCount::Once)
    };
    let sent = |line, policy: &Policy| {
        let grant = Grant::new(vec![line]).unwrap();
        sent_by(
            policy,
            &grant,
            call("delete", &json!({ "id": 7 })),
            Some("p1"),
        )
        .is_some()
    };
    assert!(sent(deleting(true), &destructive));
    assert!(!sent(deleting(false), &destructive));
    // A tool whose class changed is not the one that was shown.
    let write = policy(Vec::new(), Preset::Balanced, EffectClass::Write);
    assert!(!sent(deleting(true), &write));
    let as_write = PlanLine {
        class: EffectClass::Write,
        ..deleting(true)
    };
    assert!(!sent(as_write.clone(), &destructive));
    assert!(sent(as_write, &write));
    // Other presets ask about each call.
    let strict = policy(Vec::new(), Preset::Strict, EffectClass::Destructive);
    assert!(!sent(deleting(true), &strict));
}

#[test]
fn a_rule_that_asks_denies_or_names_a_computed_argument_is_not_answered_by_a_plan() {
    let send = || {
        line(
            "send",
            &json!({ "to": "#eng" }),
            &["amount"],
            PlanCount::Once,
        )
    };
    let sent = |rules: Vec<Rule>, line: PlanLine| {
        let policy = policy(rules, Preset::Balanced, EffectClass::Write);
        let grant = Grant::new(vec![line]).unwrap();
        let call = call("send", &json!({ "to": "#eng", "amount": 5 }));
        sent_by(&policy, &grant, call, Some("p1")).is_some()
    };
    assert!(sent(Vec::new(), send()));
    assert!(!sent(vec![rule(Effect::Ask, None)], send()));
    assert!(!sent(vec![rule(Effect::Deny, None)], send()));
    // The condition does not hold for this call, and the approver did not see the amount.
    for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
        assert!(
            !sent(vec![rule(effect, Some("amount"))], send()),
            "{effect}"
        );
    }
    let incomplete = PlanLine {
        complete: false,
        ..line("send", &json!({ "to": "#eng" }), &[], PlanCount::Once)
    };
    assert!(sent(Vec::new(), incomplete.clone()));
    assert!(!sent(vec![rule(Effect::Deny, Some("amount"))], incomplete));
    // The controls: the amount is a constant, and the rule is about other people.
    let constant = line(
        "send",
        &json!({ "to": "#eng", "amount": 5 }),
        &[],
        PlanCount::Once,
    );
    assert!(sent(vec![rule(Effect::Deny, Some("amount"))], constant));
    let of_bob = Rule {
        who: Some(vec!["user:bob".to_owned()]),
        ..rule(Effect::Deny, Some("amount"))
    };
    assert!(sent(vec![of_bob], send()));
}

#[test]
fn the_line_that_says_the_most_about_a_call_is_counted() {
    let lines = vec![
        line("send", &json!({}), &["to"], PlanCount::Once),
        line("send", &json!({ "to": "#eng" }), &[], PlanCount::Once),
    ];
    let grant = Grant::new(lines).unwrap();
    let balanced = policy(Vec::new(), Preset::Balanced, EffectClass::Write);
    let sent = |to: &str| {
        let call = call("send", &json!({ "to": to }));
        sent_by(&balanced, &grant, call, Some("p1"))
    };
    assert_eq!(sent("#eng"), Some(1));
    assert_eq!(sent("#all"), Some(0));
    assert_eq!(sent("#eng"), None);
}

#[test]
fn calls_that_are_decided_at_the_same_time_do_not_share_the_last_count() {
    let lines = vec![line("send", &json!({}), &[], PlanCount::AtMost(100))];
    let grant = Grant::new(lines).unwrap();
    let balanced = policy(Vec::new(), Preset::Balanced, EffectClass::Write);
    let sent = || {
        let calls = (0..50).filter(|_| {
            let call = call("send", &json!({}));
            sent_by(&balanced, &grant, call, Some("p1")).is_some()
        });
        calls.count()
    };
    let total: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(sent)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(total, 100);
}

#[test]
fn a_call_that_is_decided_again_is_counted_once_and_on_its_line_alone() {
    let balanced = policy(Vec::new(), Preset::Balanced, EffectClass::Write);
    let lines = vec![
        line("send", &json!({ "to": "#eng" }), &[], PlanCount::Once),
        line("send", &json!({}), &["to"], PlanCount::Once),
    ];
    let grant = Grant::new(lines).unwrap();
    let facts = Facts {
        scope: &Scope::everything(),
        policy: &balanced,
        who: &[],
        now_us: 0,
    };
    let sent = |pin, counted| {
        let call = call("send", &json!({ "to": "#eng" }));
        let Ok(Decided::Ask(question)) = decide_or_ask(call, &facts) else {
            panic!("the preset asks");
        };
        match question.covered(&facts, &grant, Some(pin), counted) {
            Decided::Permit(permit) => permit.plan_line(),
            Decided::Ask(_) => None,
        }
    };
    assert_eq!(sent("p1", None), Some(0));
    assert_eq!(sent("p1", Some(0)), Some(0));
    assert_eq!(sent("p2", Some(0)), None);
    assert_eq!(grant.used(), [1, 0]);
    assert_eq!(sent("p1", None), Some(1));
    assert_eq!(sent("p1", None), None);
}

#[test]
fn a_plan_has_the_calls_that_the_preset_asks_about_and_no_others() {
    let class = ToolClass {
        class: EffectClass::Write,
        source: ClassSource::Operator,
    };
    let planned = |rules: Vec<Rule>, preset, line: &PlanLine| {
        let policy = policy(rules, preset, EffectClass::Write);
        let facts = Facts {
            scope: &Scope::parse(["mail.send"]).unwrap(),
            policy: &policy,
            who: &["user:anna"],
            now_us: 0,
        };
        facts.plans(line, class)
    };
    let open = line("send", &json!({}), &["amount"], PlanCount::Once);
    assert!(planned(Vec::new(), Preset::Balanced, &open));
    for preset in [Preset::Observe, Preset::Strict, Preset::Unattended] {
        assert!(!planned(Vec::new(), preset, &open), "{preset}");
    }
    let elsewhere = line("delete", &json!({}), &[], PlanCount::Once);
    assert!(!planned(Vec::new(), Preset::Balanced, &elsewhere));
    for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
        let rules = |argument| vec![rule(effect, argument)];
        assert!(!planned(rules(None), Preset::Balanced, &open), "{effect}");
        assert!(!planned(rules(Some("amount")), Preset::Balanced, &open));
        // Where the argument is a constant, the rule is known to be about the call or not.
        let constant = |amount| {
            let constants = json!({ "amount": amount });
            line("send", &constants, &[], PlanCount::Once)
        };
        assert!(planned(
            rules(Some("amount")),
            Preset::Balanced,
            &constant(5)
        ));
        assert!(!planned(
            rules(Some("amount")),
            Preset::Balanced,
            &constant(500)
        ));
    }
}

#[test]
fn a_grant_has_bounds() {
    let lines = |count| vec![line("send", &json!({}), &[], PlanCount::Once); count];
    assert_eq!(
        Grant::new(lines(GRANT_LINES_MAX + 1)).unwrap_err(),
        GrantError::TooManyLines {
            lines: GRANT_LINES_MAX + 1
        }
    );
    assert!(Grant::new(lines(GRANT_LINES_MAX)).is_ok());
    assert_eq!(
        Grant::resumed(lines(1), &[]).unwrap_err(),
        GrantError::OtherCounts {
            counts: 0,
            lines: 1
        }
    );
}

fn values() -> impl Strategy<Value = Value> {
    select(vec![
        json!(0),
        json!("a"),
        json!(["a", 1]),
        json!(null),
        json!(0.5),
    ])
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    let name = select(vec!["to", "text", "amount"]).prop_map(str::to_owned);
    proptest::collection::vec((name, values()), 0..3)
        .prop_map(|members| members.into_iter().collect())
}

fn pins() -> impl Strategy<Value = Option<String>> {
    select(vec![None, Some("p1".to_owned()), Some("p2".to_owned())])
}

fn classes() -> impl Strategy<Value = EffectClass> {
    select(vec![
        EffectClass::Write,
        EffectClass::Unknown,
        EffectClass::Destructive,
    ])
}

fn counts() -> impl Strategy<Value = PlanCount> {
    prop_oneof![
        Just(PlanCount::Once),
        (0..3_u32).prop_map(PlanCount::AtMost),
        (0..3_u32).prop_map(PlanCount::Many),
    ]
}

fn plan_lines() -> impl Strategy<Value = PlanLine> {
    let tool = select(vec!["send", "delete"]);
    let open = select(vec![vec![], vec!["to"], vec!["text", "amount"]]);
    let flags = (any::<bool>(), any::<bool>());
    (tool, pins(), arguments(), open, flags, counts(), classes()).prop_map(
        |(tool, pin, constants, open, (complete, ticked_singly), count, class)| PlanLine {
            pin,
            complete,
            class,
            ticked_singly,
            ..line(tool, &Value::Object(constants), &open, count)
        },
    )
}

/// What the approver was shown, written independently of how grants are searched.
fn is_shown(line: &PlanLine, call: &ToolCall, class: EffectClass, pin: Option<&str>) -> bool {
    let arguments: Map<String, Value> = serde_json::from_str(call.arguments.as_str()).unwrap();
    let constants: Map<String, Value> = line
        .constants
        .iter()
        .map(|constant| {
            (
                constant.name.clone(),
                serde_json::from_str(&constant.json).unwrap(),
            )
        })
        .collect();
    let has_constants = constants
        .iter()
        .all(|(name, value)| arguments.get(name) == Some(value));
    let has_no_other = arguments
        .keys()
        .all(|name| constants.contains_key(name) || line.open.contains(name));
    line.tool == call.tool
        && line.class == class
        && line.pin.as_deref() == pin
        && has_constants
        && (has_no_other || !line.complete)
        && (class != EffectClass::Destructive || line.ticked_singly)
}

proptest! {
    #[test]
    fn no_call_outside_the_shown_lines_is_sent(
        lines in proptest::collection::vec(plan_lines(), 0..5),
        calls in proptest::collection::vec((select(vec!["send", "delete"]), arguments(), pins()), 1..12),
        class in classes(),
        conditioned in select(vec![None, Some("to"), Some("amount")]),
    ) {
        let rules = conditioned.map(|name| rule(Effect::Deny, Some(name)));
        let policy = policy(rules.into_iter().collect(), Preset::Balanced, class);
        let grant = Grant::new(lines.clone()).unwrap();
        let mut sent = vec![0_u32; lines.len()];
        for (tool, arguments, pin) in calls {
            let call = call(tool, &Value::Object(arguments));
            let pin = pin.as_deref();
            let shown = |line: &PlanLine| {
                let is_open = |name: &str| {
                    let is_constant = line.constants.iter().any(|one| one.name == name);
                    let is_listed = line.open.iter().any(|open| open == name);
                    !is_constant && (is_listed || !line.complete)
                };
                is_shown(line, &call, class, pin) && !conditioned.is_some_and(is_open)
            };
            let by_line = sent_by(&policy, &grant, call.clone(), pin);
            if let Some(at) = by_line {
                prop_assert!(shown(&lines[at]));
                sent[at] += 1;
                prop_assert!(sent[at] <= lines[at].count.most());
            } else if conditioned.is_none() {
                // The control: what is asked about is not shown, or used up.
                let has_room = |(at, line): (usize, &PlanLine)| shown(line) && sent[at] < line.count.most();
                prop_assert!(!lines.iter().enumerate().any(has_room));
            }
        }
        prop_assert_eq!(grant.used(), sent);
    }
}
