use super::*;

#[test]
fn a_question_of_a_repository_never_takes_the_place_of_a_stricter_preset() {
    let decided = |preset, users: bool| {
        let project = Rule {
            layer: Layer::Project,
            ..rule("project", Effect::Ask, &["mail"])
        };
        let user = rule("user", Effect::Allow, &["mail"]);
        let rules = [project].into_iter().chain(users.then_some(user)).collect();
        of(
            &RuleSet::new(rules, &[], preset).unwrap(),
            "mail",
            "send",
            &json!({}),
        )
    };
    let (ask, deny) = (Effect::Ask, Effect::Deny);
    assert_eq!(
        decided(Preset::Unattended, false),
        (deny, "unattended".into())
    );
    assert_eq!(decided(Preset::Strict, false), (deny, "strict".into()));
    // The controls: a looser preset, and a rule of the user that takes the place of the preset.
    assert_eq!(decided(Preset::Observe, false), (ask, "project".into()));
    assert_eq!(decided(Preset::Balanced, false), (ask, "project".into()));
    assert_eq!(decided(Preset::Unattended, true), (ask, "project".into()));
}

#[test]
fn a_question_is_asked_as_strictly_as_every_rule_that_asks_says() {
    let asking = |id: &str, layer, channels: &[Channel], quorum| Rule {
        layer,
        ask: Some(AskOptions {
            channels: Some(Channels::of(channels.iter().copied())),
            quorum,
            ..AskOptions::default()
        }),
        ..rule(id, Effect::Ask, &["mail.send"])
    };
    let options = |rules: Vec<Rule>, preset, class| {
        let set = RuleSet::new(rules, &[], preset).unwrap();
        set.ask_options(&CallFacts {
            tool: &ToolId::new("mail", "send"),
            subject: crate::Subject::Tool,
            class,
            class_by_operator: true,
            arguments: &json!({}),
            who: &[],
        })
    };
    let user = || asking("b", Layer::User, &[Channel::Browser, Channel::Cli], 2);
    // It is the first by id, and so it is named.
    let project = || asking("a", Layer::Project, &[Channel::Model, Channel::Cli], 1);
    let together = options(
        vec![user(), project()],
        Preset::Observe,
        EffectClass::Unknown,
    );
    assert_eq!(together.channels, Some(Channels::of([Channel::Cli])));
    assert_eq!(together.quorum, 2);
    let reversed = options(
        vec![project(), user()],
        Preset::Observe,
        EffectClass::Unknown,
    );
    assert_eq!(reversed, together);
    // A preset that asks in the browser alone still does.
    let destructive = EffectClass::Destructive;
    let strict = options(vec![project()], Preset::Strict, destructive);
    assert_eq!(strict.channels, Some(Channels::of([Channel::Browser])));
    assert!(strict.not_requester);
    // The controls: the rule alone, and a rule of the user in the place of the preset.
    let alone = options(vec![user()], Preset::Strict, destructive);
    assert_eq!(
        (alone.channels, alone.not_requester),
        (user().ask.unwrap().channels, false)
    );
    // A managed rule that yields asks nothing where the user's rule does.
    let yielding = Rule {
        is_default: true,
        ..asking("c", Layer::Managed, &[Channel::Browser], 3)
    };
    let yielded = options(vec![user(), yielding.clone()], Preset::Observe, destructive);
    assert_eq!(yielded.quorum, 2);
    let managed = options(vec![yielding], Preset::Observe, destructive);
    assert_eq!(managed.quorum, 3);
}

#[test]
fn options_of_a_question_have_bounds_and_belong_to_rules_that_ask() {
    let check = |effect, ask| {
        let rule = Rule {
            ask: Some(ask),
            ..rule("a", effect, &["x"])
        };
        rule.check()
    };
    assert_eq!(check(Effect::Ask, AskOptions::default()), Ok(()));
    for effect in [Effect::Allow, Effect::Deny] {
        assert!(matches!(
            check(effect, AskOptions::default()),
            Err(RuleError::AskWithoutQuestion { .. })
        ));
    }
    let default = AskOptions::default;
    for wrong in [
        AskOptions {
            quorum: 0,
            ..default()
        },
        AskOptions {
            quorum: QUORUM_MAX + 1,
            ..default()
        },
        AskOptions {
            expires_s: 0,
            ..default()
        },
        AskOptions {
            expires_s: EXPIRES_S_MAX + 1,
            ..default()
        },
        AskOptions {
            channels: Some(Channels::of([])),
            ..default()
        },
        AskOptions {
            approvers: Approvers::one_of(Vec::new()),
            ..default()
        },
        AskOptions {
            edit: vec![String::new()],
            ..default()
        },
        AskOptions {
            edit: vec!["x".to_owned(); 65],
            ..default()
        },
    ] {
        assert!(
            matches!(
                check(Effect::Ask, wrong.clone()),
                Err(RuleError::Ask { .. })
            ),
            "{wrong:?}"
        );
    }
}
