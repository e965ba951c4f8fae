use limbeck_catalog::ServerTools;
use limbeck_domain::{ServerName, ToolDefinition, ToolId};
use limbeck_policy::rules::{ArgumentPath, Condition, Preset, RuleSet};
use limbeck_policy::{Classes, Scope};
use serde_json::{Value, json};

use super::*;

fn catalog() -> Catalog {
    let send = json!({
        "type": "object",
        "required": ["to"],
        "properties": {
            "to": { "type": "string" },
            "amount": { "type": "integer" },
            "rate": { "type": "number" },
            "message": { "type": "object", "properties": { "subject": { "type": "string" } } },
        },
    });
    let tools = [
        ("send", send.clone()),
        ("read", json!({ "type": "object" })),
        ("wipe", send),
    ];
    let definitions = tools.map(|(tool, input_schema)| ToolDefinition {
        id: ToolId::new("mail", tool),
        title: None,
        description: None,
        input_schema,
        output_schema: None,
        annotations: Default::default(),
    });
    let name = ServerName::from("mail");
    Catalog::new(vec![ServerTools::new(name, definitions.into(), None)])
}

fn rule(id: &str, effect: Effect, tools: &str, conditions: &[(&str, Value)]) -> Rule {
    let condition = |(path, value): &(&str, Value)| {
        let path = ArgumentPath::parse(path).unwrap();
        (path, Condition::from_value(value).unwrap())
    };
    Rule {
        id: id.to_owned(),
        effect,
        tools: Scope::parse([tools]).unwrap(),
        except: None,
        classes: None,
        arguments: conditions.iter().map(condition).collect(),
        who: None,
        reason: None,
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: "limbeck.toml:1".to_owned(),
    }
}

fn export(rules: Vec<Rule>, preset: Preset) -> Exported {
    let class = |tool: &str, class| (Scope::parse([tool]).unwrap(), class);
    let classes = vec![
        class("mail.read", EffectClass::Read),
        class("mail.send", EffectClass::Write),
        class("mail.wipe", EffectClass::Destructive),
    ];
    let policy = Policy {
        rules: RuleSet::new(rules, &[], preset).unwrap(),
        classes: Classes::new(classes, Default::default()).unwrap(),
        ..Policy::default()
    };
    exported(&policy, &catalog())
}

/// The policies without comments and line breaks.
fn policies(rules: Vec<Rule>, preset: Preset) -> Vec<String> {
    let text = export(rules, preset).policies;
    let lines = text.lines().filter(|line| !line.starts_with("//"));
    let text = lines.collect::<Vec<_>>().join(" ");
    let policies = text.split(';').map(str::split_whitespace);
    let policies = policies.map(|words| words.collect::<Vec<_>>().join(" "));
    policies.filter(|policy| !policy.is_empty()).collect()
}

const SEND: &str = "action == Limbeck::Action::\"mail.send\"";

#[test]
fn rules_classes_and_preset_become_policies_about_the_known_tools() {
    let anna = Rule {
        who: Some(vec!["user:anna".to_owned(), "group:ops".to_owned()]),
        reason: Some("her \"own\"".to_owned()),
        ..rule(
            "own",
            Effect::Allow,
            "mail.send",
            &[("to", json!("*@x.org"))],
        )
    };
    let who = "(principal == Limbeck::User::\"anna\" || principal in Limbeck::Group::\"ops\")";
    let to = "context[\"arguments\"] has \"to\" && context[\"arguments\"][\"to\"] like \"*@x.org\"";
    let found = policies(vec![anna], Preset::Balanced);
    let own = format!(
        "@id(\"own\") @reason(\"her \\\"own\\\"\") permit ( principal, {SEND}, resource ) when {{ {who} && {to} }}"
    );
    assert_eq!(found[0], own);
    // A rule that allows is stronger than a preset that asks.
    let program = format!(
        "@id(\"preset:balanced:ask-program\") @effect(\"ask\") @unit(\"program\") permit ( principal, {SEND}, resource ) unless {{ (action in [Limbeck::Action::\"mail.send\"] && {who} && {to}) }}"
    );
    assert!(found.contains(&program), "{found:#?}");
    assert!(
        found
            .iter()
            .any(|it| it.starts_with("@id(\"preset:balanced:allow\") permit"))
    );
    assert_eq!(found.len(), 4);
}

#[test]
fn what_is_unknown_matches_a_rule_that_denies_and_not_one_that_allows() {
    let large = |effect| {
        rule(
            "large",
            effect,
            "mail.send",
            &[("amount", json!({ "gt": 100 }))],
        )
    };
    let given = "context[\"arguments\"] has \"amount\"";
    let above = "context[\"arguments\"][\"amount\"] > 100";
    let when = |effect| {
        let found = policies(vec![large(effect)], Preset::Readonly);
        let (_, when) = found[0].split_once("when { ").unwrap();
        when.to_owned()
    };
    assert_eq!(
        when(Effect::Deny),
        format!("(if {given} then {above} else true) }}")
    );
    assert_eq!(when(Effect::Allow), format!("{given} && {above} }}"));
    // A text is no number: the rule that denies is about every call, the other about none.
    let text = |effect| rule("text", effect, "mail.send", &[("to", json!({ "gt": 100 }))]);
    let denied = policies(vec![text(Effect::Deny)], Preset::Readonly);
    let all = format!("@id(\"text\") forbid ( principal, {SEND}, resource )");
    assert_eq!(denied[0], all);
    let allowed = policies(vec![text(Effect::Allow)], Preset::Readonly);
    assert!(
        allowed.iter().all(|policy| !policy.contains("\"text\"")),
        "{allowed:?}"
    );
    let nested = rule(
        "n",
        Effect::Allow,
        "mail.send",
        &[("message.subject", json!({ "eq": "x" }))],
    );
    let found = policies(vec![nested], Preset::Readonly);
    assert!(
        found[0].contains("has \"message\" && context[\"arguments\"][\"message\"] has \"subject\"")
    );
}

#[test]
fn what_cedar_cannot_say_allows_less_and_is_named() {
    let regex = |effect| {
        rule(
            "r",
            effect,
            "mail.send",
            &[("to", json!({ "regex": "^a" }))],
        )
    };
    for (effect, expected) in [
        (Effect::Allow, None),
        (Effect::Ask, Some("forbid")),
        (Effect::Deny, Some("forbid")),
    ] {
        let found = policies(vec![regex(effect)], Preset::Observe);
        let of_rule: Vec<_> = found
            .iter()
            .filter(|it| it.starts_with("@id(\"r\")"))
            .collect();
        assert_eq!(of_rule.len(), usize::from(expected.is_some()), "{effect}");
        assert!(
            of_rule
                .iter()
                .all(|it| expected.is_some_and(|verb| it.contains(verb)))
        );
        let missing = export(vec![regex(effect)], Preset::Observe).not_expressed;
        assert!(missing[0].contains("regular expression"), "{missing:?}");
    }
    let fraction = rule(
        "f",
        Effect::Deny,
        "mail.send",
        &[("rate", json!({ "gt": 1 }))],
    );
    assert_eq!(
        export(vec![fraction], Preset::Observe).not_expressed.len(),
        1
    );
    // The control: nothing is missing.
    let plain = rule(
        "p",
        Effect::Deny,
        "mail.send",
        &[("to", json!({ "eq": "x" }))],
    );
    assert!(
        export(vec![plain], Preset::Observe)
            .not_expressed
            .is_empty()
    );
}

#[test]
fn the_schema_has_an_action_for_each_tool_with_the_types_of_its_arguments() {
    let schema = export(Vec::new(), Preset::Observe).schema;
    let send = schema.split("action \"mail.send\"").nth(1).unwrap();
    for line in [
        "\"to\": String,",
        "\"amount\"?: Long,",
        "// left out: rate",
        "\"subject\"?: String,",
    ] {
        assert!(send.contains(line), "{line}: {send}");
    }
    assert!(schema.contains("action \"mail.read\""));
    assert!(
        schema.contains("context: { \"arguments\": {} }"),
        "{schema}"
    );
}
