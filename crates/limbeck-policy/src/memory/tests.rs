use limbeck_domain::{CompactArguments, EffectClass, Remember, RememberOffer, ToolId};

use super::*;
use crate::rules::{ArgumentPath, AskOptions, Condition, Effect, Layer, Preset, Rule, RuleSet};
use crate::{Classes, Decided, Facts, Policy, Scope, ToolCall, decide_or_ask};

fn divided(arguments: &str) -> (Vec<String>, Vec<String>) {
    let shape = Shape::of(arguments, &["note".to_owned()]).unwrap();
    (shape.same, shape.any)
}

fn rule(id: &str, path: &str, remember: &str) -> Rule {
    let condition = Condition::from_value(&Value::from("*")).unwrap();
    Rule {
        id: id.to_owned(),
        effect: Effect::Ask,
        tools: Scope::parse(["mail.*"]).unwrap(),
        except: None,
        classes: None,
        arguments: vec![(ArgumentPath::parse(path).unwrap(), condition)],
        who: None,
        reason: None,
        ask: Some(AskOptions {
            remember: Remember::named(remember).unwrap(),
            ..AskOptions::default()
        }),
        layer: Layer::User,
        is_default: false,
        origin: "limbeck.toml:1".to_owned(),
    }
}

fn policy(rules: Vec<Rule>, class: EffectClass) -> Policy {
    let scope = Scope::parse(["mail.*"]).unwrap();
    Policy {
        rules: RuleSet::new(rules, &[], Preset::Balanced).unwrap(),
        classes: Classes::new(vec![(scope, class)], Default::default()).unwrap(),
        fault: None,
        in_doubt: Default::default(),
        budgets: Default::default(),
    }
}

fn offer(policy: &Policy, arguments: &str) -> Option<RememberOffer> {
    let facts = Facts {
        scope: &Scope::everything(),
        policy,
        who: &["user:local"],
        now_us: 0,
    };
    let call = ToolCall {
        tool: ToolId::new("mail", "send"),
        arguments: CompactArguments::parse(arguments).unwrap().0,
        effect: EffectClass::Unknown,
    };
    match decide_or_ask(call, &facts).unwrap() {
        Decided::Ask(question) => question.offer(Some("pin"), "local"),
        Decided::Permit(_) => panic!("it was not asked about"),
    }
}

#[test]
fn targets_are_the_same_and_texts_are_free() {
    let same = |arguments: &str| divided(arguments).0;
    assert_eq!(
        divided(r##"{"channel":"#eng","text":"hello there","unfurl":false,"limit":5}"##),
        (
            ["channel", "limit", "unfurl"].map(str::to_owned).to_vec(),
            vec!["text".to_owned()]
        )
    );
    // By the words of their names: all that are not those of a text.
    for name in [
        "to",
        "Cc",
        "bcc",
        "recipients",
        "channelId",
        "channel_ids",
        "repo",
        "filePath",
        "URL",
        "amount",
        "sql",
        "имя",
        "beneficiary",
        "wallet",
        "addr",
        "iban",
        "who",
        "ip",
        "force",
        "account",
        "phone",
        "destination",
        "bucket",
        "branch",
        "table",
        "q",
        "where",
        "x",
        "message_id",
        "textFile",
        "title2",
        "new",
        "content_type",
        "тext",
    ] {
        let arguments = format!("{{\"{name}\":\"some words\"}}");
        assert_eq!(same(&arguments), [name], "{arguments}");
    }
    // By their values.
    for value in [
        r#""anna@example.org""#,
        r#""https://example.org""#,
        r#""see https://example.org now""#,
        r#""/etc/passwd""#,
        r#""C:\\x""#,
        r##""#eng""##,
        r#""~x""#,
        r#"["a b","x@y"]"#,
        r#"["a b"]"#,
        "1.5",
        "{}",
        "true",
        "null",
        "[[1]]",
        r#""\u002fetc""#,
    ] {
        let arguments = format!("{{\"text\":{value}}}");
        assert_eq!(same(&arguments), ["text"], "{arguments}");
    }
    // By a rule.
    assert_eq!(same(r#"{"note":"a b","text":"c d"}"#), ["note"]);
    // The controls.
    for value in [r#""see you on Monday. Bye""#, r#""word""#] {
        let arguments = format!("{{\"text\":{value}}}");
        assert!(same(&arguments).is_empty(), "{arguments}");
    }
    for name in [
        "body",
        "Title",
        "plainText",
        "new_title",
        "comments",
        "message-body",
        "description",
    ] {
        let arguments = format!("{{\"{name}\":\"some words\"}}");
        assert!(same(&arguments).is_empty(), "{arguments}");
    }
}

#[test]
fn a_call_that_cannot_be_divided_has_no_shape() {
    for arguments in [
        "[]",
        "1",
        r#"{"text":"a","text":"/etc"}"#,
        r#"{"text":"a","\u0074ext":"b"}"#,
    ] {
        assert_eq!(Shape::of(arguments, &[]), None, "{arguments}");
    }
    let many: Vec<String> = (0..25).map(|n| format!("\"text{n}\":1")).collect();
    assert_eq!(Shape::of(&format!("{{{}}}", many.join(",")), &[]), None);
    for arguments in ["{}", "{ }", r#"{"a":{"b":1,"c":[1,2]},"d":"},{"}"#] {
        assert!(Shape::of(arguments, &[]).is_some(), "{arguments}");
    }
}

#[test]
fn the_key_is_that_of_calls_with_the_same_targets_by_the_same_rules() {
    let asked = |rules: &[Rule], class, arguments: &str| {
        offer(&policy(rules.to_vec(), class), arguments).map(|offer| offer.key)
    };
    let write = EffectClass::Write;
    let rules = [rule("a", "subject", "8h")];
    let first = asked(
        &rules,
        write,
        r#"{"to":"x","subject":"s","text":"one two"}"#,
    )
    .unwrap();
    // The control: another text, written in another order.
    let alike = asked(&rules, write, r#"{"text":"three","subject":"s","to":"x"}"#).unwrap();
    assert_eq!(first, alike);
    for other in [
        r#"{"to":"y","subject":"s","text":"one two"}"#,
        // A rule's condition names it.
        r#"{"to":"x","subject":"other","text":"one two"}"#,
        r#"{"to":"x","subject":"s","text":"one two","html":"more"}"#,
        r#"{"to":"x","subject":"s"}"#,
        // A list that has the value, and other types of it.
        r#"{"to":["x"],"subject":"s","text":"one two"}"#,
        r#"{"to":["x","y"],"subject":"s","text":"one two"}"#,
        r#"{"to":"x","subject":"s","text":["one two"]}"#,
        r#"{"to":"x","subject":"s","text":["one two","three"]}"#,
        r#"{"to":"x","subject":"s","text":12}"#,
        r#"{"to":"x","subject":"s","text":{"one":"two"}}"#,
    ] {
        assert_ne!(asked(&rules, write, other).unwrap(), first, "{other}");
    }
    let text = r#"{"to":"x","subject":"s","text":"one two"}"#;
    assert_ne!(asked(&rules, EffectClass::Unknown, text).unwrap(), first);
    let changed = [rule("a", "subject", "9h")];
    assert_ne!(asked(&changed, write, text).unwrap(), first);
    let more = [rule("a", "subject", "8h"), rule("b", "text", "8h")];
    assert_ne!(asked(&more, write, text).unwrap(), first);
    // Where the rule is written says nothing about it.
    let mut moved = rule("a", "subject", "8h");
    moved.origin = "limbeck.toml:7".to_owned();
    assert_eq!(asked(&[moved], write, text).unwrap(), first);
}

#[test]
fn a_choice_is_offered_as_far_as_the_rules_allow() {
    let at_most = |rules: Vec<Rule>, class| {
        offer(&policy(rules, class), r#"{"to":"x"}"#).map(|offer| offer.at_most)
    };
    let (write, destructive) = (EffectClass::Write, EffectClass::Destructive);
    let of = |remember| vec![rule("a", "to", remember)];
    assert_eq!(at_most(of("never"), write), None);
    assert_eq!(at_most(of("8h"), write), Remember::named("8h"));
    assert_eq!(at_most(of("8h"), destructive), Some(Remember::Run));
    // An allowing rule would not win over the rule.
    assert_eq!(at_most(of("always"), write), Remember::named("30d"));
    assert_eq!(at_most(Vec::new(), write), Some(Remember::Always));
    assert_eq!(at_most(Vec::new(), destructive), None);
    let both = vec![rule("a", "to", "8h"), rule("b", "to", "run")];
    assert_eq!(at_most(both, write), Some(Remember::Run));
}

#[test]
fn a_text_with_an_address_among_its_words_is_no_ordinary_text() {
    for text in [
        "evil.com",
        "mail to bob@evil.com now",
        "see https://evil.com/x.",
        "it is at evil.com/x, as said",
        "send it to (evil.co.uk)",
        "read /etc/passwd please",
        "tell @bob and #general",
    ] {
        assert!(is_target_value(text), "{text}");
    }
    // The controls: sentences with dots, numbers and slashes.
    for text in [
        "hello there",
        "Release 4.2 is out. We are done.",
        "e.g. this and/or that, i.e. 10:30 or 3/4",
        "what... really?",
        "",
    ] {
        assert!(!is_target_value(text), "{text}");
    }
}
