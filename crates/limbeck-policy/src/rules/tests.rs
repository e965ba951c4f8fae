use limbeck_domain::{EffectClass, ToolId};
use serde_json::{Value, json};

use super::*;
use crate::Scope;

mod outlook;
mod questions;

fn rule(id: &str, effect: Effect, tools: &[&str]) -> Rule {
    Rule {
        id: id.to_owned(),
        effect,
        tools: Scope::parse(tools).unwrap(),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: None,
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: String::new(),
    }
}

fn with_argument(rule: Rule, path: &str, condition: &Value) -> Rule {
    let path = ArgumentPath::parse(path).unwrap();
    let condition = Condition::from_value(condition).unwrap();
    Rule {
        arguments: vec![(path, condition)],
        ..rule
    }
}

fn set(rules: Vec<Rule>) -> RuleSet {
    RuleSet::new(rules, &[], Preset::Balanced).unwrap()
}

/// Effect and name of what decided.
fn decided(
    set: &RuleSet,
    tool: &ToolId,
    class: EffectClass,
    arguments: &Value,
) -> (Effect, String) {
    let decision = set.decide(&CallFacts {
        tool,
        subject: crate::Subject::Tool,
        class,
        class_by_operator: false,
        arguments,
        who: &["user:anna", "group:sales"],
    });
    let by = match decision.by {
        DecidedBy::Rule(rule) => rule.id.clone(),
        DecidedBy::Preset { preset, .. } => preset.to_string(),
    };
    (decision.effect, by)
}

fn of(set: &RuleSet, server: &str, tool: &str, arguments: &Value) -> (Effect, String) {
    decided(
        set,
        &ToolId::new(server, tool),
        EffectClass::Unknown,
        arguments,
    )
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// A rule of a small world, so that many rules match the same calls.
fn random_rule(numbers: &mut Numbers, id: usize) -> Rule {
    let effect = [Effect::Allow, Effect::Ask, Effect::Deny][numbers.below(3)];
    let tools = [
        "*",
        "mail",
        "mail.send",
        "mail.s*",
        "*.send",
        "crm.*",
        "mcp__mail__send",
        "a.b.c",
    ];
    let mut rule = rule(
        &format!("r{id}"),
        effect,
        &[tools[numbers.below(tools.len())]],
    );
    if numbers.below(4) == 0 {
        rule.except = Some(Scope::parse([tools[numbers.below(tools.len())]]).unwrap());
    }
    if numbers.below(3) == 0 {
        rule.classes = Some(vec![
            [EffectClass::Read, EffectClass::Unknown][numbers.below(2)],
        ]);
    }
    if numbers.below(3) == 0 {
        rule.who = Some(vec![["user:anna", "user:bob"][numbers.below(2)].to_owned()]);
    }
    rule.layer = [Layer::Managed, Layer::User, Layer::File, Layer::Project][numbers.below(4)];
    if rule.layer == Layer::Managed {
        rule.is_default = numbers.below(2) == 0;
    }
    if rule.layer == Layer::Project && effect == Effect::Allow {
        rule.effect = Effect::Ask;
    }
    match numbers.below(3) {
        0 => with_argument(rule, "to[*]", &json!("*@example.com")),
        1 => with_argument(rule, "amount", &json!({ "gt": 100 })),
        _ => rule,
    }
}

fn random_call(numbers: &mut Numbers) -> (ToolId, EffectClass, Value) {
    let tools = [
        ("mail", "send"),
        ("mail", "list"),
        ("crm", "send"),
        ("a.b", "c"),
        ("a", "b.c"),
    ];
    let (server, tool) = tools[numbers.below(tools.len())];
    let class = [EffectClass::Read, EffectClass::Unknown][numbers.below(2)];
    let arguments = [
        json!({}),
        json!({ "to": ["a@example.com"] }),
        json!({ "to": ["a@x.org"], "amount": 3 }),
        json!({ "amount": "many" }),
        json!({ "amount": 101 }),
    ];
    (
        ToolId::new(server, tool),
        class,
        arguments[numbers.below(arguments.len())].clone(),
    )
}

#[test]
fn the_order_of_rules_never_matters() {
    let mut numbers = Numbers(1);
    let mut effects = std::collections::BTreeSet::new();
    for _ in 0..10_000 {
        let count = 1 + numbers.below(8);
        let mut rules: Vec<Rule> = (0..count).map(|id| random_rule(&mut numbers, id)).collect();
        let (tool, class, arguments) = random_call(&mut numbers);
        let first = decided(&set(rules.clone()), &tool, class, &arguments);
        numbers.shuffle(&mut rules);
        assert_eq!(decided(&set(rules), &tool, class, &arguments), first);
        effects.insert(first.0);
    }
    // The calls met every effect.
    assert_eq!(effects.len(), 3);
}

#[test]
fn explain_agrees_with_decide_and_the_index_with_a_search_of_all_rules() {
    let mut numbers = Numbers(2);
    for _ in 0..1000 {
        let rules = set((0..12).map(|id| random_rule(&mut numbers, id)).collect());
        let (tool, class, arguments) = random_call(&mut numbers);
        let call = CallFacts {
            tool: &tool,
            subject: crate::Subject::Tool,
            class,
            class_by_operator: false,
            arguments: &arguments,
            who: &["user:anna"],
        };
        let explanation = rules.explain(&call);
        assert_eq!(explanation.decision, rules.decide(&call));
        let matches = |rule: &&Rule| rule.first_failed(&call).is_none();
        let is_sure = |rule: &Rule| rule.is_surely_of(&tool, crate::Subject::Tool);
        let users = |rule: &&Rule| matches!(rule.layer, Layer::User | Layer::File) && is_sure(rule);
        let matching: Vec<&Rule> = rules.rules().iter().filter(matches).collect();
        let yields = matching.iter().any(users);
        let strictest = matching
            .iter()
            .filter(|rule| !(rule.is_default && yields))
            .map(|rule| rule.effect)
            .max();
        let mut of_others = matching.iter();
        let of_others = of_others.any(|rule| rule.layer != Layer::Project && is_sure(rule));
        let preset = (!of_others).then(|| rules.by_preset(&call).effect);
        let expected = strictest.max(preset).unwrap();
        assert_eq!(explanation.decision.effect, expected);
        for (rule, failed) in &explanation.others {
            assert_eq!(
                *failed == FailedCondition::Weaker,
                matching.iter().any(|other| other.id == rule.id)
            );
        }
    }
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow_within_a_layer_and_across_layers() {
    let rules = |layers: [Layer; 3]| {
        let mut rules = vec![
            rule("allow", Effect::Allow, &["mail"]),
            rule("ask", Effect::Ask, &["mail.send*"]),
            rule("deny", Effect::Deny, &["mail.send_all"]),
        ];
        for (rule, layer) in rules.iter_mut().zip(layers) {
            rule.layer = layer;
        }
        set(rules)
    };
    for layers in [
        [Layer::User; 3],
        [Layer::Managed; 3],
        [Layer::User, Layer::Project, Layer::Project],
        [Layer::Managed, Layer::User, Layer::File],
        [Layer::File, Layer::Managed, Layer::Managed],
    ] {
        let set = rules(layers);
        let arguments = json!({});
        assert_eq!(
            of(&set, "mail", "list", &arguments),
            (Effect::Allow, "allow".into())
        );
        assert_eq!(
            of(&set, "mail", "send", &arguments),
            (Effect::Ask, "ask".into())
        );
        assert_eq!(
            of(&set, "mail", "send_all", &arguments),
            (Effect::Deny, "deny".into())
        );
        assert_eq!(
            of(&set, "crm", "send", &arguments),
            (Effect::Ask, "balanced".into())
        );
    }
}

#[test]
fn a_managed_default_yields_to_rules_of_the_user_and_others_do_not() {
    let managed = |is_default| Rule {
        layer: Layer::Managed,
        is_default,
        ..rule("managed", Effect::Deny, &["mail"])
    };
    let user = || rule("user", Effect::Allow, &["mail.send"]);
    let yielding = set(vec![managed(true), user()]);
    assert_eq!(
        of(&yielding, "mail", "send", &json!({})),
        (Effect::Allow, "user".into())
    );
    assert_eq!(
        of(&yielding, "mail", "list", &json!({})),
        (Effect::Deny, "managed".into())
    );
    let firm = set(vec![managed(false), user()]);
    assert_eq!(
        of(&firm, "mail", "send", &json!({})),
        (Effect::Deny, "managed".into())
    );
    // A project is not the user.
    let project = Rule {
        layer: Layer::Project,
        ..rule("project", Effect::Ask, &["mail.send"])
    };
    let of_project = set(vec![managed(true), project]);
    assert_eq!(
        of(&of_project, "mail", "send", &json!({})),
        (Effect::Deny, "managed".into())
    );
}

#[test]
fn an_argument_that_is_missing_or_of_another_type_stops_an_allow_and_fires_an_ask() {
    let small = json!({ "le": 100 });
    let allow = set(vec![with_argument(
        rule("small", Effect::Allow, &["pay"]),
        "amount",
        &small,
    )]);
    let ask = set(vec![
        rule("all", Effect::Allow, &["pay"]),
        with_argument(
            rule("large", Effect::Ask, &["pay"]),
            "amount",
            &json!({ "gt": 100 }),
        ),
    ]);
    for (arguments, allowed, asked) in [
        (json!({ "amount": 50 }), "small", "all"),
        (json!({ "amount": 500 }), "balanced", "large"),
        (json!({ "amount": "50" }), "balanced", "large"),
        (json!({}), "balanced", "large"),
    ] {
        assert_eq!(
            of(&allow, "pay", "send", &arguments).1,
            allowed,
            "{arguments}"
        );
        assert_eq!(of(&ask, "pay", "send", &arguments).1, asked, "{arguments}");
    }
}

#[test]
fn class_who_and_except_limit_a_rule() {
    let limited = Rule {
        classes: Some(vec![EffectClass::Destructive]),
        ..rule("class", Effect::Deny, &["*"])
    };
    let limited = set(vec![limited]);
    let tool = ToolId::new("mail", "send");
    let by = |class| decided(&limited, &tool, class, &json!({})).1;
    assert_eq!(by(EffectClass::Destructive), "class");
    assert_eq!(by(EffectClass::Write), "balanced");

    let who = |who: &str| {
        let limited = Rule {
            who: Some(vec![who.to_owned()]),
            ..rule("who", Effect::Deny, &["*"])
        };
        of(&set(vec![limited]), "mail", "send", &json!({})).1
    };
    assert_eq!(who("group:sales"), "who");
    assert_eq!(who("user:anna"), "who");
    assert_eq!(who("user:bob"), "balanced");

    let except = Rule {
        except: Some(Scope::parse(["mail.send_draft"]).unwrap()),
        ..rule("except", Effect::Deny, &["mail.send_*"])
    };
    let except = set(vec![except]);
    assert_eq!(of(&except, "mail", "send_all", &json!({})).1, "except");
    assert_eq!(of(&except, "mail", "send_draft", &json!({})).1, "balanced");
}

#[test]
fn rules_that_cannot_be_used_are_refused() {
    let new = |rules| RuleSet::new(rules, &[], Preset::Balanced).map(drop);
    let same = vec![
        rule("a", Effect::Deny, &["x"]),
        rule("a", Effect::Ask, &["y"]),
    ];
    assert_eq!(new(same), Err(RuleError::DuplicateId { id: "a".into() }));
    let project = Rule {
        layer: Layer::Project,
        ..rule("a", Effect::Allow, &["x"])
    };
    assert_eq!(
        new(vec![project]),
        Err(RuleError::ProjectAllows { id: "a".into() })
    );
    let default = Rule {
        is_default: true,
        ..rule("a", Effect::Deny, &["x"])
    };
    assert_eq!(
        new(vec![default]),
        Err(RuleError::DefaultOutsideManaged { id: "a".into() })
    );
    for id in ["", "a b", "é", "\u{1b}[1m"] {
        assert_eq!(
            new(vec![rule(id, Effect::Deny, &["x"])]),
            Err(RuleError::InvalidId),
            "{id:?}"
        );
    }
    let long = Rule {
        reason: Some("x".repeat(1025)),
        ..rule("a", Effect::Deny, &["x"])
    };
    assert_eq!(
        new(vec![long]),
        Err(RuleError::LongReason { id: "a".into() })
    );
    let many = (0..=RULES_MAX)
        .map(|id| rule(&format!("r{id}"), Effect::Deny, &["x"]))
        .collect();
    assert_eq!(
        new(many),
        Err(RuleError::TooMany {
            rules: RULES_MAX + 1
        })
    );
    assert_eq!(new(vec![rule("a-1.b:c_d", Effect::Allow, &["x"])]), Ok(()));
}

#[test]
fn a_rule_that_may_mean_other_tools_denies_and_never_allows() {
    let servers = ["x", "x.y"].map(limbeck_domain::ServerName::from).into();
    let of = |effect, pattern: &str, preset, server: &str, tool: &str| {
        let rules = vec![rule("r", effect, &[pattern])];
        let set = RuleSet::new(rules, &[], preset).unwrap().resolved(&servers);
        super::tests::of(&set, server, tool, &json!({})).0
    };
    use Preset::{Observe, Readonly};
    // By its name alone a server is denied, also where the name has a dot.
    assert_eq!(of(Effect::Deny, "x.y", Observe, "x.y", "z"), Effect::Deny);
    assert_eq!(of(Effect::Deny, "x", Observe, "x", "z"), Effect::Deny);
    assert_eq!(of(Effect::Deny, "x", Observe, "x.y", "z"), Effect::Allow);
    for (server, tool) in [("x.y", "z"), ("x", "y.z")] {
        assert_eq!(
            of(Effect::Deny, "x.y.z", Observe, server, tool),
            Effect::Deny
        );
        assert_eq!(
            of(Effect::Allow, "x.y.z", Readonly, server, tool),
            Effect::Deny
        );
        // Nor does its question take the place of a denial, as that of a clear rule does.
        assert_eq!(
            of(Effect::Ask, "x.y.z", Readonly, server, tool),
            Effect::Deny
        );
        let exact = format!("mcp__{server}__{tool}");
        assert_eq!(
            of(Effect::Allow, &exact, Readonly, server, tool),
            Effect::Allow
        );
        assert_eq!(of(Effect::Ask, &exact, Readonly, server, tool), Effect::Ask);
    }
}
